"""The file that a document was read from.

It is served only if the source is a whole file whose content is unchanged: not for uploads, whose files are not kept, not for
lines of a JSONL file, which may hold more than the index, and not for changed files.
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
    """A file to send: name, media type and content."""

    name: str
    kind: str
    content: bytes


def has_original(document: Document) -> bool:
    """Whether a source of the document is a file; ignores whether it has changed."""
    return any(map(_is_file, document.sources))


def original_of(document: Document, limits: ReadingLimits) -> Original | None:
    """The file of a document, if it exists unchanged; `limits` are those that it was read with."""
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
    """Whether a source is the absolute path of a regular file. Sources of uploads are relative."""
    try:
        return Path(source).is_absolute() and stat.S_ISREG(os.lstat(source).st_mode)
    except (OSError, ValueError):
        return False
