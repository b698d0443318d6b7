"""Extracts the text of a PDF page as fragments: runs of characters on one line without a wide gap, with position, size and style.

Positions are in points; y grows downwards, and x in the direction in which the page is written: on a page in Arabic or Hebrew to
the left, where it is negative. Text rotated against most of its page, such as a stamp in the margin, comes after the rest,
as do notes; fields and boxes stand beside their labels.
"""

from __future__ import annotations

import ctypes
import math
import re
import unicodedata
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import groupby, pairwise
from statistics import median
from typing import Any, NamedTuple

from hoptrail.documents.markup import lowered, raised, runs
from hoptrail.text.normal_forms import squeeze

WIDE_GAP = 1.2  # a gap between two characters wider than this many times their size separates fragments
MARK = re.compile(r"[•‣◦▪●○■□·*–—-]|\(?(?:\d{1,3}|[a-z]|[ivx]{1,4})[.)]")  # the bullet or number of a list item
_BOLD = re.compile(r"bold|black|heavy|semib|demi|^(?:[A-Z]{6}\+)?(?:CM|SF|EC|LM)?(?:BX|ssbx)", re.IGNORECASE)
_MONO = re.compile(r"courier|mono|nimbusmon|consol|typewriter|menlo|(?:CM|SF|EC|LM)TT|[^a-z]code", re.IGNORECASE)
_SMALL, _OFF = 0.85, 0.2
"""The most that raised and lowered characters have of the size of others, and how far off the line they are at least."""
_FIXED_PITCH = 1  # the flag of a font whose characters have one width: PDF 32000-1, table 123
_BOLD_WEIGHT = 600
_ALEFS = "اأإآ"
_HYPHENS = {0x02, 0xAD, 0xFFFE}  # PDFium's codes for a hyphen at the end of a line, and the soft hyphen


class PdfTable(NamedTuple):
    """A table: the texts of the cells of its rows. `headers`: how many rows name columns; None where their content decides.
    `spans`: for each row, the first column of each cell over several, and how many these are.
    """

    rows: tuple[tuple[str, ...], ...]
    headers: int | None = None
    spans: tuple[tuple[tuple[int, int], ...], ...] = ()


class Fragment(NamedTuple):
    """Text from `left` to `right` on the baseline `base`, which grows downwards: of a character, a part of a line, or a line.
    `size` is that of its font; `bold` and `mono` (monospaced) hold if they do for most of its characters. `turn`: quarters of a
    circle by which it is rotated, of a part of a line against most of its page.
    """

    text: str
    left: float
    right: float
    base: float
    size: float
    bold: bool = False
    mono: bool = False
    turn: int = 0
    lefts: tuple[float, ...] = ()  # the left edge of each word
    parts: tuple[Fragment, ...] = ()  # those of a line, from left to right
    is_filled_in: bool = False  # whether it is the content of a field
    table: PdfTable | None = None  # a table that stands here; the text is empty then


def page_fragments(page: Any) -> tuple[list[Fragment], bool]:
    """The fragments of a PDFium page in drawing order, rotated ones at the end; and whether it is written from right to left."""
    with closing(page.get_textpage()) as textpage:
        reader = _CharReader(textpage)
        chars = ((number, reader.text(number)) for number in range(textpage.count_chars()))
        words = [reader.word(list(word)) for is_word, word in groupby(chars, lambda char: bool(char[1])) if is_word]
    turns = Counter(word[0].turn for word in words for _ in word)
    if not turns:
        return [], False
    upright = turns.most_common(1)[0][0]
    letters = [character for word in words for char in word for character in char.text if character.isalpha()]
    backwards = 2 * sum(map(_is_backwards, letters)) > len(letters)
    fragments: list[Fragment] = []
    for turn in sorted(turns, key=lambda turn: (turn != upright, turn)):
        joined = _join_words(list(_in_order([word for word in words if word[0].turn == turn], backwards)))
        fragments += (fragment._replace(turn=turn - upright) for fragment in joined)
    return fragments, backwards


def _is_backwards(character: str) -> bool:
    return unicodedata.bidirectional(character) in ("R", "AL")


def _in_order(words: list[list[Fragment]], backwards: bool) -> Iterator[list[Fragment]]:
    """The words so that text grows to the right. Words that run against their page stay together, in the order of reading."""
    for backward, run in groupby(words, lambda word: any(_is_backwards(one) for char in word for one in char.text)):
        if not (backward or backwards):
            yield from run
            continue
        for together in runs(run, _are_near) if backward != backwards else ([word] for word in run):
            chars = [char for word in together for char in word]
            left, right = min(char.left for char in chars), max(char.right for char in chars)
            left, right = (-right, -left) if backwards else (left, right)
            yield [chars[0]._replace(text=" ".join(map(_read, together)), left=left, right=right)]


def _read(word: list[Fragment]) -> str:
    """The text of a word. PDFium gives the letters of an Arabic ligature, which share one place, in the wrong order."""
    texts = [char.text for char in word]
    for number, (one, other) in enumerate(pairwise(word)):
        if other.text == "ل" and one.text in _ALEFS and one.left == other.left:
            texts[number : number + 2] = other.text, one.text
    return "".join(texts)


def _are_near(known: list[list[Fragment]], word: list[Fragment]) -> bool:
    one, other = known[-1][-1], word[0]
    gap = max(one.left, other.left) - min(one.right, other.right)
    return abs(one.base - other.base) < 0.5 * one.size and gap < WIDE_GAP * one.size


class _CharReader:
    def __init__(self, textpage: Any) -> None:
        import pypdfium2.raw as pdfium

        self._pdfium, self._page = pdfium, textpage.raw
        self._box, self._matrix = pdfium.FS_RECTF(), pdfium.FS_MATRIX()
        self._x, self._y = ctypes.c_double(), ctypes.c_double()
        self._name, self._flags = ctypes.create_string_buffer(256), ctypes.c_int()
        self._styles: dict[int, tuple[float, bool, bool, int]] = {}

    def text(self, number: int) -> str:
        """The character with this number; empty for white space and codes without a character."""
        code = self._pdfium.FPDFText_GetUnicode(self._page, number)
        if code in _HYPHENS:
            return "\xad"
        if 0x80 <= code < 0xA0:  # no character, and in fonts of their own often a bullet
            return "•"
        is_none = code <= 0x20 or code in {0x7F, 0xA0, 0x200B, 0xFEFF} or 0xD800 <= code < 0xE000 or code > 0x10FFFF
        return "" if is_none else chr(code)

    def word(self, word: list[tuple[int, str]]) -> list[Fragment]:
        """The characters of a word. Only both ends are located if they show that the rest lies between them."""
        first, last = self._char(*word[0]), self._char(*word[-1])
        size = first.size
        between = 0.1 < (last.right - first.left) / (size * len(word)) < 1.3 and last.left > first.left
        mixed = len({text.isdecimal() for _, text in word[1:-1]} | {word[0][1].isdecimal()}) > 1  # as in H₂O
        alike = first[4:8] == last[4:8] and abs(first.base - last.base) < 0.1 * size
        if len(word) > 2 and between and alike and not mixed:
            return [first._replace(text="".join(text for _, text in word), right=last.right)]
        return [self._char(number, text) for number, text in word]

    def _char(self, number: int, text: str) -> Fragment:
        size, bold, mono, turn = self._style(number)
        self._pdfium.FPDFText_GetLooseCharBox(self._page, number, self._box)
        self._pdfium.FPDFText_GetCharOrigin(self._page, number, self._x, self._y)
        along, base = _turn_back(self._x.value, self._y.value, turn)
        one, _ = _turn_back(self._box.left, self._box.bottom, turn)
        other, _ = _turn_back(self._box.right, self._box.top, turn)
        return Fragment(text, min(one, other, along), max(one, other), -base, size, bold, mono, turn)

    def _style(self, number: int) -> tuple[float, bool, bool, int]:
        """Size, whether bold and monospaced, and turn: once for each text object."""
        pdfium = self._pdfium
        text_object = ctypes.cast(pdfium.FPDFText_GetTextObject(self._page, number), ctypes.c_void_p).value or 0
        if text_object and text_object in self._styles:
            return self._styles[text_object]
        scale, turn = 1.0, 0
        if pdfium.FPDFText_GetMatrix(self._page, number, self._matrix):
            scale = math.hypot(self._matrix.b, self._matrix.d) or 1.0
            turn = round(math.atan2(self._matrix.b, self._matrix.a) / (math.pi / 2)) % 4
        pdfium.FPDFText_GetFontInfo(self._page, number, self._name, len(self._name), self._flags)
        name = self._name.value.decode("utf-8", "replace")
        bold = pdfium.FPDFText_GetFontWeight(self._page, number) >= _BOLD_WEIGHT or _BOLD.search(name) is not None
        mono = bool(self._flags.value & _FIXED_PITCH) or _MONO.search(name) is not None
        size = abs(pdfium.FPDFText_GetFontSize(self._page, number)) * scale or 1.0
        self._styles[text_object] = size, bold, mono, turn
        return self._styles[text_object]


def _turn_back(x: float, y: float, turn: int) -> tuple[float, float]:
    """Coordinates after the page is rotated so that text with this turn is upright."""
    return ((x, y), (y, -x), (-x, -y), (-y, x))[turn]


def _join_words(words: list[list[Fragment]]) -> Iterator[Fragment]:
    """Join words beside each other on one line into fragments; a word of PDFium ends where its characters are not adjacent."""
    parts = (part for word in words for part in runs(word, lambda run, char: _are_adjacent(run[-1], char, WIDE_GAP)))
    pieces = list(runs(parts, lambda run, part: _are_adjacent(run[-1][-1], part[0], 0.5)))
    starts = _column_starts(pieces)

    def joins(run: list[int], place: int) -> bool:
        return place not in starts and _are_adjacent(pieces[run[-1]][-1][-1], pieces[place][0][0], WIDE_GAP)

    for run in runs(range(len(pieces)), joins):
        yield _fragment([word for place in run for word in pieces[place]])


class _Cell(NamedTuple):
    """What follows a gap on a line: its baseline, its place among the pieces, its edges, its size."""

    base: float
    place: int
    left: float
    right: float
    size: float

    def is_below(self, other: _Cell) -> bool:
        """Whether this one stands in the same column, on the next line."""
        near = 0.5 * self.size < self.base - other.base <= 3 * self.size
        return near and offset_between(self, other) < 0.35 * self.size


def offset_between(one: Fragment | _Cell, other: Fragment | _Cell) -> float:
    """How far two are from standing below each other, aligned on the left, on the right or in the middle."""
    left, right = one.left - other.left, one.right - other.right
    return min(abs(left), abs(right), abs(left + right) / 2)


def _column_starts(pieces: Sequence[list[list[Fragment]]]) -> set[int]:
    """The places of the pieces that begin a cell of a table after a narrow gap: three lines have one there, below one another."""
    cells = []
    for place, (before, piece) in enumerate(pairwise(pieces), 1):
        one, other, size = before[-1][-1], piece[0][0], piece[0][0].size
        beside = abs(one.base - other.base) < 0.5 * size and one.right < other.left and not other.mono
        gap = other.left - one.right  # as wide as the characters beside it: a space of a font that gives all one width
        spaces = (abs((char.right - char.left) / len(char.text) - gap) < 0.04 * size for char in (one, other))
        if beside and not all(spaces) and not MARK.fullmatch("".join(char.text for char in before[-1])):
            cells.append(_Cell(other.base, place, other.left, piece[-1][-1].right, size))
    cells.sort()
    above, below, pairs = dict.fromkeys(cells, 0), dict.fromkeys(cells, 0), []
    bases = [cell.base for cell in cells]
    for number, cell in enumerate(cells):
        end = bisect(bases, cell.base + 3 * cell.size, number)
        pairs += [(cell, one) for one in cells[number + 1 : end] if one.is_below(cell)]
    for upper, lower in pairs:
        above[lower] = max(above[lower], above[upper] + 1)
    for upper, lower in reversed(pairs):
        below[upper] = max(below[upper], below[lower] + 1)
    return {cell.place for cell in cells if above[cell] + below[cell] >= 2}


def _are_adjacent(one: Fragment, other: Fragment, widest: float) -> bool:
    size = max(one.size, other.size)
    forward = other.left > one.left - 0.3 * size  # the characters of a ligature share one position
    near = other.left - one.right < (widest if abs(one.base - other.base) < 0.5 * size else 0.3) * size
    level = 0.9 if min(one.size, other.size) <= _SMALL * size else 0.5
    return abs(one.base - other.base) < level * size and forward and near


def _fragment(words: list[list[Fragment]]) -> Fragment:
    chars = [char for word in words for char in word]
    sizes: Counter[float] = Counter()
    for char in chars:
        sizes[char.size] += len(char.text)
    size = sizes.most_common(1)[0][0]
    base = next(char.base for char in chars if char.size == size)
    text, half = " ".join(_with_raised(word, size, base) for word in words), sizes.total() / 2
    left, right = min(char.left for char in chars), max(char.right for char in chars)
    bold = sum(len(char.text) for char in chars if char.bold) > half
    mono = sum(len(char.text) for char in chars if char.mono) > half
    return Fragment(
        *(text, left, right, base, size, bold, mono),
        lefts=tuple(word[0].left for word in words for _ in range(1 + "".join(char.text for char in word).count(" "))),
    )


def _with_raised(word: list[Fragment], size: float, base: float) -> str:
    """The text of a word; small characters above or below its line are marked as raised or lowered."""
    text = ""
    for level, run in groupby(word, lambda char: _level(char, size, base)):
        part = "".join(char.text for char in run)
        if level > 0 and part.isdecimal() and text[-1:].isdigit() and not text.endswith("10"):
            text += f"[{part}]"  # more often the number of a note than a power
        else:
            text += raised(text, part) if level > 0 else lowered(part) if level < 0 else part
    return text


def _level(char: Fragment, size: float, base: float) -> int:
    above = (base - char.base) / size
    is_small = char.size <= _SMALL * size and char.text.isalnum()
    return (1 if above > _OFF else -1 if above < -0.5 * _OFF else 0) if is_small else 0


_MOST_NOTES = 2000  # annotations read per page
_USUAL_SIZE = 10.0  # of a font, where no text is beside
_LONGEST_VALUE = 20_000  # characters of a value


def field_fragments(document: Any, page: Any, fragments: Sequence[Fragment]) -> Iterator[Fragment]:
    """Yield what fields of a page hold, on the line of the text beside them, and a box as ☑ or ☐; notes come after the text."""
    import pypdfium2.raw as pdfium

    size = median(fragment.size for fragment in fragments) if fragments else _USUAL_SIZE
    rect = pdfium.FS_RECTF()
    for number in range(min(pdfium.FPDFPage_GetAnnotCount(page), _MOST_NOTES)):
        note = pdfium.FPDFPage_GetAnnot(page, number)
        if not note:
            continue
        try:
            kind = pdfium.FPDFAnnot_GetSubtype(note)
            hidden = pdfium.FPDFAnnot_GetFlags(note) & pdfium.FPDF_ANNOT_FLAG_HIDDEN
            is_field = kind == pdfium.FPDF_ANNOT_WIDGET
            if hidden or kind in (pdfium.FPDF_ANNOT_LINK, pdfium.FPDF_ANNOT_POPUP):
                continue
            text = _field_value(pdfium, document, note) if is_field else _note_text(pdfium, note)
            if text and pdfium.FPDFAnnot_GetRect(note, rect):
                ends = rect.left, max(rect.right, rect.left + 1)
                base = _base(fragments, rect) if is_field else 2 * size * number
                yield Fragment(text, *ends, base, size, turn=int(not is_field), lefts=ends[:1], is_filled_in=is_field)
        finally:
            pdfium.FPDFPage_CloseAnnot(note)


def _base(fragments: Sequence[Fragment], rect: Any) -> float:
    """The line of the nearest text beside a field; else one at its bottom."""
    beside = [one for one in fragments if not one.turn and -rect.top <= one.base <= -rect.bottom + 0.2 * one.size]
    nearest = min(beside, key=lambda one: min(abs(one.right - rect.left), abs(one.left - rect.right)), default=None)
    return nearest.base if nearest else -rect.bottom - 0.2 * min(_USUAL_SIZE, rect.top - rect.bottom)


def _field_value(pdfium: Any, document: Any, widget: Any) -> str:
    """The value of a field; of a box whether it is ticked, and nothing for a button."""
    form = document.formenv
    kind = pdfium.FPDF_FORMFIELD_UNKNOWN if form is None else pdfium.FPDFAnnot_GetFormFieldType(form, widget)
    if kind in (pdfium.FPDF_FORMFIELD_CHECKBOX, pdfium.FPDF_FORMFIELD_RADIOBUTTON):
        return "☑" if pdfium.FPDFAnnot_IsChecked(form, widget) else "☐"
    if kind in (pdfium.FPDF_FORMFIELD_PUSHBUTTON, pdfium.FPDF_FORMFIELD_SIGNATURE, pdfium.FPDF_FORMFIELD_UNKNOWN):
        return ""
    return squeeze(_wide_string(partial(pdfium.FPDFAnnot_GetFormFieldValue, form, widget), pdfium))


def _note_text(pdfium: Any, note: Any) -> str:
    read = partial(partial, pdfium.FPDFAnnot_GetStringValue, note)
    author, text = (squeeze(_wide_string(read(key), pdfium)) for key in (b"T", b"Contents"))
    return f"Note{f' by {author}' if author else ''}: {text}" if text else ""


def _wide_string(read: Callable[[Any, int], int], pdfium: Any) -> str:
    """A text of PDFium, which first tells the size of its UTF-16 in bytes."""
    size = min(read(None, 0), 2 * _LONGEST_VALUE)
    if size <= 2:
        return ""
    buffer = ctypes.create_string_buffer(size)
    read(ctypes.cast(buffer, ctypes.POINTER(pdfium.FPDF_WCHAR)), size)
    return buffer.raw[: size - 2].decode("utf-16-le", "replace").rstrip("\0")
