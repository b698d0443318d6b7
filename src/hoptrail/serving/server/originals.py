"""The file that a document was read from, for whoever wants to see it whole.

Served where the document's source is a file of its own which still reads as the document does: not for uploads, of which only
what was read is kept, not for lines of a file, which may hold what is not in the index, and not for files that have changed.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.marks import times_of
from hoptrail.documents.read_sources import read_sources
from hoptrail.types import Document

PDF = "application/pdf"


@dataclass(frozen=True, slots=True)
class Original:
    """A file to send: its name, its media type and what it holds."""

    name: str
    kind: str
    content: bytes


def has_original(document: Document) -> bool:
    return any(map(_is_file, document.sources))


def original_of(document: Document, limits: ReadingLimits) -> Original | None:
    """The file of a document, if it is there and unchanged; `limits` are those that it was read with."""
    for source in document.sources:
        if not _is_file(source):
            continue
        path = Path(source)
        before, content = times_of(path), path.read_bytes()
        read = read_sources([path], limits)
        if any(isinstance(one, Document) and one.id == document.id for one in read) and times_of(path) == before:
            kind = PDF if path.suffix.lower() == ".pdf" else "application/octet-stream"
            return Original(path.name, kind, content)
    return None


def _is_file(source: str) -> bool:
    """Whether a source is the absolute path of a plain file. Sources of uploads are relative."""
    try:
        return Path(source).is_absolute() and stat.S_ISREG(os.lstat(source).st_mode)
    except (OSError, ValueError):
        return False
