"""The text of a PDF page as fragments: runs of characters on one line without a wide gap, with their place, size and look.

Places are in points from the top left corner of the page as it is read. Text that stands turned against most of its page (a
stamp in the margin, say) comes after the rest.
"""

from __future__ import annotations

import ctypes
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

WIDE_GAP = 1.2
"""A gap between two characters wider than this many times their size parts fragments."""
_BOLD = re.compile(r"bold|black|heavy|semib|demi|^(?:[A-Z]{6}\+)?(?:CM|SF|EC|LM)?(?:BX|ssbx)", re.IGNORECASE)
_MONO = re.compile(r"courier|mono|nimbusmon|consol|typewriter|menlo|(?:CM|SF|EC|LM)TT|[^a-z]code", re.IGNORECASE)
_FIXED_PITCH = 1
"""The flag of a font whose characters are of one width: PDF 32000-1, table 123."""
_BOLD_WEIGHT = 600
_HYPHENS = {0x02, 0xAD, 0xFFFE}
"""What PDFium gives for a hyphen that ends a line, and the soft hyphen."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """Text from `left` to `right` that stands on the line at `base`, which grows downwards; `size` is that of its font.

    `bold` and `mono` (of one width) hold where most of its characters look so.
    """

    text: str
    left: float
    right: float
    base: float
    size: float
    bold: bool = False
    mono: bool = False
    lefts: tuple[float, ...] = ()
    """Where each of its words begins."""


@dataclass(frozen=True, slots=True)
class _Look:
    """How the characters of a text object look. `turn` is in quarters of a circle."""

    size: float
    turn: int
    bold: bool
    mono: bool


@dataclass(frozen=True, slots=True)
class _Char:
    """A character, or several that stand beside each other and look alike."""

    text: str
    left: float
    right: float
    base: float
    look: _Look


def page_fragments(page: Any) -> list[Fragment]:
    """The fragments of a PDFium page in the order in which it draws them, those that stand turned at the end."""
    textpage = page.get_textpage()
    try:
        words = list(_words(textpage))
    finally:
        textpage.close()
    turns = Counter(word[0].look.turn for word in words for _ in word if word)
    if not turns:
        return []
    upright = turns.most_common(1)[0][0]
    fragments: list[Fragment] = []
    for turn in sorted(turns, key=lambda turn: (turn != upright, turn)):
        run = [word for word in words if word[0].look.turn == turn]
        fragments += _joined(run)
    return fragments


def _words(textpage: Any) -> Iterator[list[_Char]]:
    """Characters between white space; an empty word never comes."""
    reading = _CharReading(textpage)
    word: list[tuple[int, str]] = []
    for number in range(textpage.count_chars()):
        text = reading.text(number)
        if text:
            word.append((number, text))
        elif word:
            yield reading.word(word)
            word = []
    if word:
        yield reading.word(word)


class _CharReading:
    """Asks PDFium for one character after the other; how they look is asked once for each text object."""

    def __init__(self, textpage: Any) -> None:
        import pypdfium2.raw as pdfium

        self._pdfium = pdfium
        self._page = textpage.raw
        self._box = pdfium.FS_RECTF()
        self._x, self._y = ctypes.c_double(), ctypes.c_double()
        self._matrix = pdfium.FS_MATRIX()
        self._flags = ctypes.c_int()
        self._name = ctypes.create_string_buffer(256)
        self._looks: dict[int, _Look] = {}

    def text(self, number: int) -> str:
        """A character; empty for white space and what stands for none."""
        code = self._pdfium.FPDFText_GetUnicode(self._page, number)
        if code in _HYPHENS:
            return "\xad"
        none = code <= 0x20 or code in {0x7F, 0xA0, 0x200B, 0xFEFF} or 0xD800 <= code < 0xE000 or code > 0x10FFFF
        return "" if none else chr(code)

    def word(self, word: list[tuple[int, str]]) -> list[_Char]:
        """Its characters with their places. Only the ends are asked for where they tell that all stand between them."""
        first, last = self._char(*word[0]), self._char(*word[-1])
        size = first.look.size
        between = 0.1 < (last.right - first.left) / (size * len(word)) < 1.3 and last.left > first.left
        if len(word) > 2 and between and first.look == last.look and abs(first.base - last.base) < 0.1 * size:
            return [_Char("".join(text for _, text in word), first.left, last.right, first.base, first.look)]
        return [self._char(number, text) for number, text in word]

    def _char(self, number: int, text: str) -> _Char:
        look = self._look(number)
        self._pdfium.FPDFText_GetLooseCharBox(self._page, number, self._box)
        self._pdfium.FPDFText_GetCharOrigin(self._page, number, self._x, self._y)
        x, y, box = self._x.value, self._y.value, self._box
        if not look.turn:
            return _Char(text, min(box.left, x), box.right, -y, look)
        along, base = _turned(x, y, look.turn)
        one, other = _turned(box.left, box.bottom, look.turn)[0], _turned(box.right, box.top, look.turn)[0]
        return _Char(text, min(one, other, along), max(one, other), -base, look)

    def _look(self, number: int) -> _Look:
        thing = ctypes.cast(self._pdfium.FPDFText_GetTextObject(self._page, number), ctypes.c_void_p).value or 0
        found = self._looks.get(thing)
        if found is None or not thing:
            found = self._looks[thing] = self._asked(number)
        return found

    def _asked(self, number: int) -> _Look:
        pdfium = self._pdfium
        size = pdfium.FPDFText_GetFontSize(self._page, number)
        scale, turn = 1.0, 0
        if pdfium.FPDFText_GetMatrix(self._page, number, self._matrix):
            scale = math.hypot(self._matrix.b, self._matrix.d) or 1.0
            turn = round(math.atan2(self._matrix.b, self._matrix.a) / (math.pi / 2)) % 4
        pdfium.FPDFText_GetFontInfo(self._page, number, self._name, len(self._name), self._flags)
        name = self._name.value.decode("utf-8", "replace")
        bold = pdfium.FPDFText_GetFontWeight(self._page, number) >= _BOLD_WEIGHT or _BOLD.search(name) is not None
        mono = bool(self._flags.value & _FIXED_PITCH) or _MONO.search(name) is not None
        return _Look(abs(size) * scale or 1.0, turn, bold, mono)


def _turned(x: float, y: float, turn: int) -> tuple[float, float]:
    """Coordinates after the page is turned so that text with this turn stands upright."""
    return ((x, y), (y, -x), (-x, -y), (-y, x))[turn]


def _joined(words: list[list[_Char]]) -> Iterator[Fragment]:
    """Words that stand on one line beside each other, as fragments."""
    run: list[list[_Char]] = []
    for word in (part for whole in words for part in _unbroken(whole)):
        if run and not _goes_on(run[-1][-1], word[0]):
            yield _fragment(run)
            run = []
        run.append(word)
    if run:
        yield _fragment(run)


def _unbroken(word: list[_Char]) -> Iterator[list[_Char]]:
    """Parts of what PDFium takes for a word, parted where it jumps."""
    start = 0
    for place in range(1, len(word)):
        if not _goes_on(word[place - 1], word[place]):
            yield word[start:place]
            start = place
    yield word[start:]


def _goes_on(one: _Char, other: _Char) -> bool:
    size = max(one.look.size, other.look.size)
    forward = other.left > one.left - 0.3 * size  # the characters of a ligature have one place
    return abs(one.base - other.base) < 0.5 * size and forward and other.left - one.right < WIDE_GAP * size


def _fragment(words: list[list[_Char]]) -> Fragment:
    chars = [char for word in words for char in word]
    sizes: Counter[float] = Counter()
    for char in chars:
        sizes[char.look.size] += len(char.text)
    size = sizes.most_common(1)[0][0]
    half = sizes.total() / 2
    return Fragment(
        " ".join("".join(char.text for char in word) for word in words),
        min(char.left for char in chars),
        max(char.right for char in chars),
        next(char.base for char in chars if char.look.size == size),
        size,
        sum(len(char.text) for char in chars if char.look.bold) > half,
        sum(len(char.text) for char in chars if char.look.mono) > half,
        tuple(word[0].left for word in words),
    )
