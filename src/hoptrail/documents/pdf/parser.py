"""Parses PDF files into headings, paragraphs, list items, code and tables in reading order, each with its page.

The structure is inferred from the positions of characters, because most files do not declare it. Running heads, footers and page
numbers are left out; formulas are read character by character. Scanned pages are read if the program `tesseract` is installed.
Meant to run in the child process (see `child`): a hostile file can make any PDF parser use all the memory and time it gets.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hoptrail.documents.blocks import Parsed, Piece, assemble
from hoptrail.documents.decoding import Unreadable
from hoptrail.documents.doubts import are_glued, is_broken
from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.pdf.fragments import Fragment, page_fragments
from hoptrail.documents.pdf.furniture import without_furniture
from hoptrail.documents.pdf.layout import lines_of
from hoptrail.documents.pdf.line_joining import joined, vocabulary
from hoptrail.documents.pdf.ocr import Ocr
from hoptrail.documents.pdf.parts import (
    LARGER,
    Part,
    Style,
    half_points,
    item_text,
    parts_of,
    plain_words,
    sizes_by_weight,
)
from hoptrail.documents.pdf.rules import Rules, grids_of, rules_of
from hoptrail.documents.sheet_rows import has_header, header_piece, row_piece
from hoptrail.types import BlockKind

# Titles filled in by programs: a file name, or a default.
_MEANINGLESS = re.compile(
    r"\s*(untitled\W*\d*|microsoft (word|powerpoint|excel) - .*|document\d*"
    r"|.*\.(docx?|pdf|tex|dvi|indd|rtf|odt|pptx?|xlsx?|html?))?\s*",
    re.IGNORECASE,
)
_BOLD_SHARE = 0.3
"""If a larger share of all characters is bold, bold lines are not headings."""
_DEEPEST = 6
_MOST_BOOKMARKS = 5000


@dataclass(frozen=True, slots=True)
class _Page:
    number: int
    fragments: Sequence[Fragment]
    rules: Rules


def parse_pdf(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a file: title (of its metadata if meaningful, else the largest heading of the first page) and blocks.

    Pages that cannot be read are left out and named in the notes. The notes also count the pages without text, because nobody
    notices scanned pages among others.

    Raises: Unreadable: it is damaged, encrypted, without text, or beyond a limit.
    """
    if b"%PDF-" not in data[:1024]:
        raise Unreadable("is not a PDF file: it does not begin with %PDF-")
    document = _open(data)
    if len(document) > limits.pages:
        raise Unreadable(
            f"has {len(document)} pages, more than the limit of {limits.pages}: split it, or raise the limit `pages`"
        )
    pages, notes = _pages(document, limits)
    empty = sum(not page.fragments for page in pages)
    if empty == len(pages):
        first_note = f"; {notes[0]}" if notes else ""
        raise Unreadable(f"no text found in {len(document)} pages: probably scanned, run OCR first{first_note}")
    scanned = [f"{empty} of {len(document)} pages hold no text: if they are scanned, run OCR first"] if empty else []
    style = _style(document, pages)
    parts = _parts(pages, style)
    title = _title(document, parts, style)
    return assemble(title, _pieces(parts, pages), (*scanned, *notes, *_doubts(pages)), limits.text)


def _open(data: bytes) -> Any:
    from pypdfium2 import PdfDocument, PdfiumError

    try:
        return PdfDocument(data)
    except PdfiumError as error:
        if "password" in str(error).lower():
            raise Unreadable("is encrypted and needs a password: save it unencrypted") from error
        raise Unreadable(f"is damaged ({error}): open and save it again, or export it anew") from error


def _pages(document: Any, limits: ReadingLimits) -> tuple[list[_Page], list[str]]:
    from pypdfium2 import PdfiumError

    pages: list[_Page] = []
    notes: list[str] = []
    room = limits.text
    ocr = Ocr(limits.parsing_seconds)
    for number in range(1, len(document) + 1):
        try:
            page = document[number - 1]
        except PdfiumError as error:
            notes.append(f"page {number} could not be read ({error})")
            continue
        fragments = page_fragments(page) or ocr.fragments(page, number)
        pages.append(_Page(number, fragments, rules_of(page) if fragments else ((), ())))
        page.close()
        room -= sum(len(fragment.text) for fragment in fragments)
        if room < 0:
            raise Unreadable(f"gives more than {limits.text} characters of text: split it, or raise the limit `text`")
    return pages, [*ocr.notes(), *notes]


def _style(document: Any, pages: Sequence[_Page]) -> Style:
    fragments = [fragment for page in pages for fragment in page.fragments]
    weights: Counter[float] = Counter()
    for size, length in sizes_by_weight(fragment for fragment in fragments if not fragment.mono):
        weights[size] += length
    body = weights.most_common(1)[0][0] if weights else half_points(fragments[0].size)
    larger = sorted((size for size in weights if size >= LARGER * body), reverse=True)
    total = sum(len(fragment.text) for fragment in fragments)
    bold = sum(len(fragment.text) for fragment in fragments if fragment.bold)
    return Style(
        body,
        {size: min(level, _DEEPEST) for level, size in enumerate(larger, 1)},
        bold < _BOLD_SHARE * total,
        dict(_bookmarks(document)),
    )


def _bookmarks(document: Any) -> Iterator[tuple[tuple[int, str], int]]:
    for number, bookmark in enumerate(document.get_toc()):
        if number >= _MOST_BOOKMARKS:
            return
        target = bookmark.get_dest()
        page = target.get_index() if target else None
        words = plain_words(bookmark.get_title() or "")
        if page is not None and words:
            yield (page + 1, words), min(bookmark.level + 1, _DEEPEST)


def _parts(pages: Sequence[_Page], style: Style) -> list[Part]:
    remaining = zip(pages, without_furniture([page.fragments for page in pages]), strict=True)
    return parts_of(((page.number, flow, grids_of(page.rules, flow)) for page, flow in remaining), style)


def _title(document: Any, parts: Sequence[Part], style: Style) -> str:
    title = str(document.get_metadata_value("Title") or "")
    if not _MEANINGLESS.fullmatch(title):
        return title
    first = [part for part in parts if part.page == 1 and part.kind is BlockKind.HEADING]
    largest = max(first, key=lambda part: part.size, default=None)
    return joined(largest.lines, frozenset()) if largest is not None and largest.size >= 1.2 * style.body else ""


def _pieces(parts: Sequence[Part], pages: Sequence[_Page]) -> Iterator[Piece]:
    known = vocabulary(line.text for page in pages for line in lines_of(page.fragments))
    headers: Sequence[str] = ()
    for number, part in enumerate(parts):
        place = f"page {part.page}"
        if part.kind is BlockKind.ROW:
            before = parts[number - 1] if number else None
            continues = before is not None and before.kind is BlockKind.ROW and before.page == part.page - 1
            headers, pieces = _table(part, headers if continues else (), place)
            yield from pieces
        elif part.kind is BlockKind.CODE:
            yield Piece(part.kind, _code(part), place=place)
        else:
            text = joined(part.lines, known)
            if part.kind is BlockKind.ITEM:
                text = item_text(text)
            yield Piece(part.kind, text, part.level, part.ordered, place=place)


def _table(part: Part, headers: Sequence[str], place: str) -> tuple[Sequence[str], list[Piece]]:
    """The headers and rows of a table. `headers` are those of the table that it may continue from the page before."""
    rows = list(part.rows)
    pieces: list[Piece] = []
    if headers and rows[0] == tuple(headers):
        rows.pop(0)
    elif len(headers) != len(rows[0]):
        headers = ()
        if has_header(rows):
            headers = rows.pop(0)
            pieces.append(header_piece(headers, place))
    return headers, [*pieces, *(row_piece(headers, row, place) for row in rows)]


def _code(part: Part) -> str:
    """Code with its indents and gaps as spaces, and its blank lines."""
    left = min(line.left for line in part.lines)
    out: list[str] = []
    before = None
    for line in part.lines:
        char_width = max((piece.right - piece.left) / max(1, len(piece.text)) for piece in line.fragments) or 1.0
        if before is not None and line.base - before.base > 1.9 * line.size:
            out.append("")
        text = ""
        for piece in line.fragments:
            indent = max(bool(text), round((piece.left - left) / char_width) - len(text))
            text += " " * indent + piece.text.replace("\xad", "-")
        out.append(text)
        before = line
    return "\n".join(out)


def _doubts(pages: Sequence[_Page]) -> Iterator[str]:
    texts = [(page.number, " ".join(fragment.text for fragment in page.fragments)) for page in pages]
    for test, what in ((are_glued, "words run together"), (is_broken, "many characters cannot be read")):
        numbers = [str(number) for number, text in texts if test(text)]
        if numbers:
            more = ", ..." if len(numbers) > 10 else ""
            yield f"{what} on {'page' if len(numbers) == 1 else 'pages'} {', '.join(numbers[:10])}{more}: export the file anew"
