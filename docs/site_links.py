"""A hook of MkDocs: links that lead out of the folder `docs`, which the site does not have, name the file instead, and brackets
of optional arguments in headings are no references.
"""

from __future__ import annotations

import re
from typing import Any

_OUTWARD = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+(?:skills|examples|benchmarks|training|[A-Z]+\.md)[^)]*)\)")
_COMMAND = re.compile(r"^#+ hoptrail .*$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The page as the site needs it."""
    commands = _COMMAND.sub(lambda heading: heading[0].replace("[", r"\[").replace("]", r"\]"), markdown)
    return _OUTWARD.sub(lambda link: f"{link[1]} (`{link[2].lstrip('./')}` in the repository)", commands)
