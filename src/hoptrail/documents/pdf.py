"""The text of a PDF file, page by page, in the order in which the file draws it.

Reads text only: scanned pages have none and need OCR first. Tables, columns and formulas come as pypdf finds them. Meant to
run in the child process (see `child`): a hostile file can make any PDF parser use all the memory and time it gets.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.text import Parsed, Unreadable

if TYPE_CHECKING:
    from pypdf import PdfReader

# Titles that a program filled in: a file name, or the word for none.
_MEANINGLESS = re.compile(
    r"\s*(untitled\W*\d*|microsoft (word|powerpoint|excel) - .*|document\d*"
    r"|.*\.(docx?|pdf|tex|dvi|indd|rtf|odt|pptx?|xlsx?|html?))?\s*",
    re.IGNORECASE,
)


def parse_pdf(data: bytes, limits: ReadingLimits) -> Parsed:
    """Title (from the metadata, where it means something) and text, pages parted by a blank line.

    A page that cannot be read is named in the notes and left out; how many pages hold no text stands there too, for among pages
    with text nobody misses the scanned ones.

    Raises:
        Unreadable: damaged, encrypted, without text, or beyond a limit.
    """
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    if b"%PDF-" not in data[:1024]:
        raise Unreadable("is not a PDF file: it does not begin with %PDF-")
    try:
        reader = PdfReader(io.BytesIO(data))
        _unlock(reader)
        pages = _page_count(reader, limits)
        title = _title(reader)
    except (PyPdfError, RecursionError) as error:
        raise Unreadable(f"is damaged ({_first_line(error)}): open and save it again, or export it anew") from error
    texts, notes = _page_texts(reader, pages, limits)
    if not any(text.strip() for text in texts):
        failed = f"; {notes[0]}" if notes else ""
        raise Unreadable(f"no text found in {pages} pages: probably scanned, run OCR first{failed}")
    empty = sum(not text.strip() for text in texts)
    scanned = (f"{empty} of {pages} pages hold no text: if they are scanned, run OCR first",) if empty else ()
    return Parsed(title, "\n\n".join(texts), (*scanned, *notes))


def _unlock(reader: PdfReader) -> None:
    """Files that anybody may open (only printing or copying is locked) have an empty user password."""
    from pypdf.errors import DependencyError

    if not reader.is_encrypted:
        return
    try:
        opened = reader.decrypt("")
    except DependencyError:
        raise Unreadable("is encrypted with AES: install the package `cryptography`, or save it unencrypted") from None
    if not opened:
        raise Unreadable("is encrypted and needs a password: save it unencrypted")


def _page_count(reader: PdfReader, limits: ReadingLimits) -> int:
    """The number of pages; what the file says of itself is checked first, because listing them takes time."""
    from pypdf.generic import DictionaryObject

    root = reader.root_object["/Pages"]
    said = root.get("/Count", 0) if isinstance(root, DictionaryObject) else 0
    count = said if isinstance(said, int) and said > limits.pages else len(reader.pages)
    if count > limits.pages:
        raise Unreadable(
            f"has {count} pages, more than the limit of {limits.pages}: split it, or raise the limit `pages`"
        )
    return count


def _title(reader: PdfReader) -> str:
    title = reader.metadata.title if reader.metadata else None
    return "" if not isinstance(title, str) or _MEANINGLESS.fullmatch(title) else title


def _page_texts(reader: PdfReader, pages: int, limits: ReadingLimits) -> tuple[list[str], list[str]]:
    texts: list[str] = []
    notes: list[str] = []
    room = limits.text
    for number, text in _each_page(reader, pages):
        if isinstance(text, Exception):
            notes.append(f"page {number} could not be read ({_first_line(text)})")
            continue
        texts.append(text.strip("\n"))
        room -= len(text)
        if room < 0:
            raise Unreadable(f"gives more than {limits.text} characters of text: split it, or raise the limit `text`")
    return texts, notes


def _each_page(reader: PdfReader, pages: int) -> Iterator[tuple[int, str | Exception]]:
    for number in range(1, pages + 1):
        try:
            yield number, reader.pages[number - 1].extract_text()
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - pypdf raises whatever a broken page provokes; it costs that page only
            yield number, error


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
