"""The files behind source strings: which file, whether it is gone, and the title that its name gives."""

from __future__ import annotations

import re
from pathlib import Path

from hoptrail.documents.file_contents import title_of_file

_LINES = re.compile(r"(.+?\.jsonl(?:\.gz)?)#", re.IGNORECASE | re.DOTALL)
"""The start of the source of a line of a JSONL file."""
_ESCAPED = re.compile(r"\\x([89a-f][0-9a-f])")
"""A byte of a file name that is not UTF-8, as `walking.shown` writes it."""


def file_of(source: str) -> str:
    match = _LINES.match(source)
    return match[1] if match else source


def title_of(source: str) -> str:
    """The title of a document without one of its own that was read at a source."""
    return title_of_file(Path(source))


def is_gone(source: str) -> bool:
    """Whether the file of a source is gone. False for uploads, which are no files, and if the system does not tell."""
    if not Path(source).is_absolute():
        return False
    names = {source, file_of(source)}
    names |= {_ESCAPED.sub(lambda byte: chr(0xDC00 + int(byte[1], 16)), name) for name in names}
    return not any(map(_may_exist, names))


def missing_folder(source: str) -> Path | None:
    """The outermost folder of a source that no longer exists; None if its folder is there."""
    missing = [folder for folder in Path(file_of(source)).parents if not _may_exist(str(folder))]
    return missing[-1] if missing else None


def _may_exist(name: str) -> bool:
    try:
        Path(name).stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return True
    return True
