"""Sources: the places that documents were read from, as stored."""

from __future__ import annotations

import re
from pathlib import PurePath

UPLOADS = "uploads"  # the subfolder of an index in which a server's uploads wait to be indexed
UPLOADED = re.compile(rf"(.*/)?{UPLOADS}/n[0-9a-f]{{20}}\.jsonl#(?P<name>.*)", re.DOTALL)
"""The source of an uploaded document, with the name under which it was uploaded."""
_LINE = re.compile(r"(?P<path>.*?\.jsonl(\.gz)?)#(?P<line>.*)", re.DOTALL | re.IGNORECASE)
"""Only the sources of JSONL files name a line; any other # is part of a file or folder name."""


def file_name(source: str) -> str:
    """The name of a source's file without its folder; of a JSONL file also the line."""
    if uploaded := UPLOADED.fullmatch(source):
        return uploaded["name"]
    if found := _LINE.fullmatch(source):
        return f"{PurePath(found['path']).name}#{found['line']}"
    return PurePath(source).name
