"""Parses PDF files into headings, paragraphs, list items, code and tables in reading order, each with its page.

The structure is inferred from the positions of characters, because most files do not declare it. A line at the top or bottom of
a page is left out if the same words, apart from digits, stand at the same height on nearby pages, and a gap separates it from the
text; the only line of a page stays.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import islice, pairwise, repeat, takewhile
from typing import Any

from hoptrail.documents.blocks import DEEPEST_HEADING, Parsed, Piece, assemble
from hoptrail.documents.decoding import are_glued, is_broken
from hoptrail.documents.forms import reads_pictures
from hoptrail.documents.limits import ReadingLimits, Unreadable
from hoptrail.documents.markup import BOLD_SHARE, HYPHENS, joined_word, runs, vocabulary
from hoptrail.documents.pdf.drawn_tables import DrawnLine, grids_of, rules_of
from hoptrail.documents.pdf.fragments import Fragment, PdfTable, field_fragments, page_fragments
from hoptrail.documents.pdf.layout import LEADERS, lines_of
from hoptrail.documents.pdf.ocr import INSTALL, Ocr
from hoptrail.documents.pdf.parts import BULLET, LARGER, Part, Style, half_points, parts_of, plain_words
from hoptrail.documents.pdf.tables import fits
from hoptrail.documents.sheet_rows import SAMPLE, GridRow, grid_pieces, header_of, row_piece
from hoptrail.text.sentences import sentence_ends
from hoptrail.types import BlockKind

# Titles filled in by programs: a file name, or a default.
_MEANINGLESS = re.compile(
    r"\s*(\(?(untitled|anonymous|unspecified|title)\)?\W*\d*|microsoft (word|powerpoint|excel) - .*|document\d*"
    r"|(powerpoint )?(presentation|präsentation|présentation)\d*|(slide|folie|diapositive) ?\d*"
    r"|.*\.(docx?|pdf|tex|dvi|indd|rtf|odt|pptx?|xlsx?|html?))?\s*",
    re.IGNORECASE,
)
_MOST_BOOKMARKS = 5000
_TITLE_SIZE = 1.2  # of a heading that is the title, in sizes of the text


@dataclass(frozen=True, slots=True)
class _Page:
    number: int
    fragments: Sequence[Fragment]
    rules: Sequence[DrawnLine]


def parse_pdf(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a file: title (of its metadata if meaningful, else the largest heading of the first page) and blocks. Notes name
    pages that cannot be read, and count those without text, because nobody notices scanned pages among others.
    """
    if b"%PDF-" not in data[:1024]:
        raise Unreadable("is not a PDF file: it does not begin with %PDF-")
    document = open_pdf(data)
    limits.check_pages(len(document))
    pages, notes = _pages(document, limits)
    empty = sum(not page.fragments for page in pages)
    advice = "run OCR first" if reads_pictures() else INSTALL
    if empty == len(pages):
        why = "; ".join([f"no text found in {len(document)} pages: probably scanned", advice, *notes[:1]])
        raise Unreadable(why)
    scanned = [f"{empty} of {len(document)} pages hold no text: if they are scanned, {advice}"] if empty else []
    title = str(document.get_metadata_value("Title") or "")
    return _parsed(pages, [*scanned, *notes], limits, title, dict(_bookmarks(document, title)))


def parse_picture(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a PNG, JPEG or TIFF file like a scan, each picture in it as a page. Without text the document is empty."""
    from PIL import Image, ImageOps, ImageSequence

    ocr = Ocr(limits.parsing_seconds)
    try:
        with Image.open(BytesIO(data), formats=("PNG", "JPEG", "TIFF")) as file:
            frames = islice(ImageSequence.Iterator(file), limits.pages)
            pages = [_Page(n, ocr.lines(ImageOps.exif_transpose(one), n), ()) for n, one in enumerate(frames, 1)]
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise Unreadable(f"is a damaged picture, or too large a one ({error})") from error
    return _parsed(pages, ocr.notes(), limits)


def _parsed(
    pages: Sequence[_Page],
    notes: Iterable[str],
    limits: ReadingLimits,
    title: str = "",
    bookmarks: Mapping[tuple[int, str], int] = {},
) -> Parsed:
    style = _style(pages, bookmarks)
    remaining = zip(pages, _without_furniture([page.fragments for page in pages]), strict=True)
    parts = parts_of(((page.number, flow, grids_of(page.rules, flow)) for page, flow in remaining), style)
    return assemble(_title(title, parts, style), _pieces(parts, pages), (*notes, *_doubts(pages)), limits.text)


def open_pdf(data: bytes) -> Any:
    """The document of pypdfium2. Raises: Unreadable: it is encrypted or damaged."""
    from pypdfium2 import PdfDocument, PdfiumError

    try:
        document = PdfDocument(data)
        document.init_forms()
        return document
    except PdfiumError as error:
        if "password" in str(error).lower():
            raise Unreadable("is encrypted and needs a password: save it unencrypted") from error
        raise Unreadable(f"is damaged ({str(error).rstrip('.')}): open and save it again, or export it anew") from error


def _pages(document: Any, limits: ReadingLimits) -> tuple[list[_Page], list[str]]:
    from pypdfium2 import PdfiumError

    pages, notes = list[_Page](), list[str]()
    room, ocr = limits.text, Ocr(limits.parsing_seconds)
    for number in range(1, len(document) + 1):
        try:
            page = document[number - 1]
        except PdfiumError as error:
            notes.append(f"page {number} could not be read ({error})")
            continue
        fragments, backwards = page_fragments(page)
        fragments = fragments or ocr.fragments(page, number)
        if not backwards:
            fragments += field_fragments(document, page, fragments)
        pages.append(_Page(number, fragments, rules_of(page, backwards=backwards) if fragments else ()))
        page.close()
        room -= sum(len(fragment.text) for fragment in fragments)
        if room < 0:
            raise Unreadable(f"gives more than {limits.text} characters of text: split it, or raise the limit `text`")
    return pages, [*ocr.notes(), *notes]


def _style(pages: Sequence[_Page], bookmarks: Mapping[tuple[int, str], int]) -> Style:
    fragments = [fragment for page in pages for fragment in page.fragments]
    weights: Counter[float] = Counter()
    for fragment in fragments:
        weights[half_points(fragment.size)] += 0 if fragment.mono else len(fragment.text)
    body = weights.most_common(1)[0][0] if weights else 0.0
    larger = sorted((size for size in +weights if size >= LARGER * body), reverse=True)
    total = sum(len(fragment.text) for fragment in fragments)
    bold = sum(len(fragment.text) for fragment in fragments if fragment.bold)
    levels = {size: min(level, DEEPEST_HEADING) for level, size in enumerate(larger, 1)}
    return Style(body, levels, bold < BOLD_SHARE * total, bookmarks)


def _bookmarks(document: Any, title: str) -> Iterator[tuple[tuple[int, str], int]]:
    if words := plain_words(title):
        yield (1, words), 1
    for bookmark in islice(document.get_toc(), _MOST_BOOKMARKS):
        target, words = bookmark.get_dest(), plain_words(bookmark.get_title() or "")
        page = target.get_index() if target else None
        if page is not None and words:
            yield (page + 1, words), min(bookmark.level + 1, DEEPEST_HEADING)


def _title(title: str, parts: Sequence[Part], style: Style) -> str:
    """The title of the metadata if its words stand on the first page; else the largest heading there, else that title."""
    title = "" if _MEANINGLESS.fullmatch(title) else title
    first = [part for part in parts if part.page == 1]
    if title and plain_words(title) in plain_words(" ".join(line.text for part in first for line in part.lines)):
        return title
    largest = max((one for one in first if one.kind is BlockKind.HEADING), key=lambda one: one.size, default=None)
    return joined(largest.lines, frozenset()) if largest and largest.size >= _TITLE_SIZE * style.body else title


def _pieces(parts: Sequence[Part], pages: Sequence[_Page]) -> Iterator[Piece]:
    known = vocabulary(line.text for page in pages for line in lines_of(page.fragments))
    headers: Sequence[str] = ()
    for number, part in enumerate(parts):
        place = f"page {part.page}"
        if part.table is not None:
            before = parts[number - 1] if number else None
            continues = before is not None and before.table is not None and before.page == part.page - 1
            headers, pieces = _table(part.table, headers if continues else (), place)
            yield from pieces
        elif part.kind is BlockKind.CODE:
            yield Piece(part.kind, _code(part), place=place)
        else:
            text = joined(part.lines, known)
            if part.kind is BlockKind.ITEM:  # without its bullet
                text = LEADERS.sub(" … ", BULLET.sub("", text, count=1) if BULLET.match(text) else text)
            for page, on_page in _by_page(part, text, known):
                kind = part.kind if page == part.page else BlockKind.PARAGRAPH
                yield Piece(kind, on_page, part.level, part.ordered, place=f"page {page}")


def _by_page(part: Part, text: str, known: frozenset[str]) -> Iterator[tuple[int, str]]:
    """The text of a part on each of its pages. The sentence that goes on over a page stands where it begins."""
    start, page = 0, part.page
    for lines, following in part.turns:
        reached = len(joined(part.lines[:lines], known)) - 2  # a hyphen at its end may be gone
        end = next((end for end in sentence_ends(text) if end > reached), len(text))
        if start < end < len(text):
            yield page, text[start:end].strip()
            start, page = end, following
    yield page, text[start:].strip()


def _table(table: PdfTable, headers: Sequence[str], place: str) -> tuple[Sequence[str], Iterable[Piece]]:
    """The names of columns and the rows of a table. `headers`: those of the table that it may continue from the page before."""
    spans = map(dict, table.spans) if table.spans else repeat(None)
    rows = [GridRow(place, cells, wide) for cells, wide in zip(table.rows, spans, strict=False)]
    if table.headers is None and len(headers) == len(rows[0].cells):
        is_repeated = list(rows[0].cells) == list(headers)
        return headers, (row_piece(headers, row.cells, place) for row in rows[is_repeated:])
    names = header_of(rows[:SAMPLE])[1] if table.headers is None else []
    return names, grid_pieces(rows, table.headers)


def _code(part: Part) -> str:
    """Code with its indents and gaps as spaces, and its blank lines."""
    left = min(line.left for line in part.lines)
    code = ""
    for before, line in zip([None, *part.lines], part.lines, strict=False):
        char_width = max((piece.right - piece.left) / max(1, len(piece.text)) for piece in line.parts) or 1.0
        text = ""
        for piece in line.parts:
            indent = max(bool(text), round((piece.left - left) / char_width) - len(text))
            text += " " * indent + piece.text.replace("\xad", "-")
        is_after_gap = before is not None and line.base - before.base > 1.9 * line.size
        code += "\n" * ((before is not None) + is_after_gap) + text
    return code


def _doubts(pages: Sequence[_Page]) -> Iterator[str]:
    texts = [(page.number, " ".join(fragment.text for fragment in page.fragments)) for page in pages]
    for test, what in ((are_glued, "words run together"), (is_broken, "many characters cannot be read")):
        if numbers := [str(number) for number, text in texts if test(text)]:
            named = ", ".join([*numbers[:10], *["..."] * (len(numbers) > 10)])
            yield f"{what} on {'page' if len(numbers) == 1 else 'pages'} {named}: export the file anew"


def joined(lines: Sequence[Fragment], known: frozenset[str]) -> str:
    """The lines as one text, without the hyphens of words that were divided."""
    text = ""
    for line in (line.text for line in lines):
        if text.endswith(HYPHENS) and text[-2:-1].isalpha():
            head, tail = text[:-1].rsplit(" ", 1)[-1], line.split(" ", 1)[0]
            text = f"{text[: -len(head) - 1]}{joined_word(head, tail, known)}{line[len(tail) :]}"
        else:
            text = f"{text} {line}" if text else line
    # A soft hyphen at the end or before white space becomes a hyphen; elsewhere it is removed.
    return re.sub(r"\xad(?=\s|$)", "-", text).replace("\xad", "")


_EDGE = 3
"""Lines examined at the top and at the bottom. A page that numbers its lines has five times as many; fewer may be a list."""
_NEAR = 6  # pages examined before and after: a running head changes with the chapter
_GAP = 1.6  # minimal gap to the text, in font sizes
_HEIGHT = 4.0  # points by which its height may vary
_NUMBER = re.compile(r"\d+|(?<![^\W\d_])[ivxlc]+(?![^\W\d_])", re.IGNORECASE)
_PAGE_NUMBER = re.compile(
    r"(?:page|p\.|seite|s\.|página|pagina)? ?[-–—|]? ?(?P<page>\d{1,4}) ?[-–—|]?(?: ?(?:of|von|de|/) ?\d{1,4})?",
    re.IGNORECASE,
)

_PRINTED = re.compile(r"(?:https?|file)://\S* \d{1,4}/\d{1,4}")
"""The last line of a page that a browser printed; the first one has the time of that, and the title."""

_Key = tuple[str, int]


def _without_furniture(pages: Sequence[Sequence[Fragment]]) -> list[list[Fragment]]:
    lines = [list(lines_of(page)) for page in pages]
    pages_by_key: dict[_Key, list[int]] = defaultdict(list)
    for number, rows in enumerate(lines):
        for key in {key for line in (*rows[:_EDGE], *rows[-_EDGE:]) for key in _keys(line)}:
            pages_by_key[key].append(number)
    numbers = _line_numbers(lines)
    remaining = []
    for number, (page, rows) in enumerate(zip(pages, lines, strict=True)):
        repeated = [_is_repeated(number, line, pages_by_key, len(pages)) for line in rows]
        dropped = {*_edge(rows, repeated), *_edge(rows[::-1], repeated[::-1])} | numbers
        if len(rows) > 2 and _PRINTED.fullmatch(rows[-1].text):
            dropped.update(rows[-1].parts, rows[0].parts if rows[0].text[0].isdigit() else ())
        remaining.append([fragment for fragment in page if fragment not in dropped])
    return remaining


def _edge(lines: Sequence[Fragment], repeated: Sequence[bool]) -> Iterator[Fragment]:
    """The fragments of repeated lines before a gap and further text, given the lines from an edge of the page."""
    count = sum(1 for _ in takewhile(bool, repeated[: min(_EDGE, len(lines) - 1)]))
    while count and abs(lines[count].base - lines[count - 1].base) < _GAP * lines[count].size:
        count -= 1
    return (part for line in lines[:count] for part in line.parts)


def _line_numbers(pages: Sequence[Sequence[Fragment]]) -> set[Fragment]:
    """The numbers of lines in the margin: they count on each page, on some of which they are many, and prose is beside them."""

    def counts_on(run: Sequence[Fragment], line: Fragment) -> bool:
        return int(line.parts[0].text) == int(run[-1].parts[0].text) + 1

    found = (runs((line for line in lines if line.parts[0].text.isdecimal()), counts_on) for lines in pages)
    numbered = [run for of_page in found for run in of_page if len(run) > _EDGE and _is_prose(run)]
    most = max(map(len, numbered), default=0)
    return {line.parts[0] for run in numbered for line in run if most >= 5 * _EDGE}


def _is_prose(run: Sequence[Fragment]) -> bool:
    """Whether sentences go on beside these numbers, and most lines end where the next word would not have fitted."""
    lines = [line.parts[1] for line in run if len(line.parts) == 2 and line.text.count(" ") > 3]
    edge = max((line.right for line in lines), default=0.0)
    full = sum(not fits(above, below, edge) for above, below in pairwise(lines))
    return 3 * full >= 2 * (len(run) - 1) and len(run) <= 4 * sum(line.text[0].islower() for line in lines)


def _keys(line: Fragment) -> tuple[_Key, _Key]:
    """The words of a line, sorted, as left and right pages differ in order; and its height, so that near ones share a key."""
    words = " ".join(sorted(_NUMBER.sub("#", line.text).split()))
    return (words, round(line.base / _HEIGHT)), (words, round(line.base / _HEIGHT + 0.5) + 1_000_000)


def _is_repeated(number: int, line: Fragment, pages_by_key: dict[_Key, list[int]], pages: int) -> bool:
    """Whether a line is the number of its page (counted from 0), or nearby pages repeat it. In a document of two pages it must
    then have a number, as two letters may begin alike.
    """
    if (match := _PAGE_NUMBER.fullmatch(line.text)) and int(match["page"]) == number + 1:
        return True
    near = max(sum(abs(page - number) <= _NEAR for page in pages_by_key[key]) for key in _keys(line))
    return near >= 3 or (near == pages == 2 and _NUMBER.search(line.text) is not None)
