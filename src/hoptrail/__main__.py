"""`python -m hoptrail` is the command `hoptrail`."""

from hoptrail.serving.cli import main

main()
