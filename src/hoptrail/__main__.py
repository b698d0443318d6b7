"""The command `hoptrail`, also as `python -m hoptrail`."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Run the command line.

    The products of a question are small: further threads of the linear algebra library would only wait for them and take time
    from other questions. Only building gains from them. The library reads the variable when NumPy is imported.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # until it is answered: an interrupted import would print a traceback
    from hoptrail.system import interrupts
    from hoptrail.system.environment_variables import set_default

    with interrupts.answered():
        if sys.argv[1:2] not in (["index"], ["shards"]):
            set_default("OPENBLAS_NUM_THREADS", "1")
        from hoptrail.serving import cli

        try:
            cli.main()
        except SystemExit as ended:  # an interrupt while the interpreter ends would print a traceback
            interrupts.leave(ended.code)


if __name__ == "__main__":
    main()
