"""Parses RTF into paragraphs, list items and table rows.

Fonts, pictures, instructions of fields, headers and hidden text are left out, as is what is struck out. Nothing is linked or
embedded.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from hoptrail.documents.blocks import DEEPEST_HEADING, Parsed, Piece, assemble
from hoptrail.documents.limits import ReadingLimits, Unreadable
from hoptrail.documents.markup import HIDDEN, STRUCK, bold_headings
from hoptrail.documents.office_text import TextRun, shown
from hoptrail.documents.sheet_rows import GridRow, grid_pieces
from hoptrail.text.lexicon import word_set
from hoptrail.types import BlockKind

_TOKEN = re.compile(
    rb"\\(?P<word>[A-Za-z]{1,32})(?P<number>-?\d{1,10})?[ ]?|\\'(?P<code>[0-9A-Fa-f]{2})|\\(?P<sign>[^A-Za-z'])"
    rb"|(?P<brace>[{}])|(?P<text>[^\\{}\r\n]+)|[\r\n]+",
    re.DOTALL,
)
_SKIPPED = word_set(
    "fonttbl colortbl stylesheet info pict object header headerl headerr headerf footer footerl footerr footerf fldinst "
    "themedata colorschememapping datastore latentstyles listtable listoverridetable rsidtbl generator xmlnstbl mmathPr "
    "nonshppict bkmkstart bkmkend pgdsctbl filetbl revtbl annotation atnid atnauthor private"
)
_SIGNS = {"line": "\n", "tab": "\t", "emdash": "—", "endash": "–", "bullet": "•", "emspace": " ", "enspace": " "}
_SIGNS |= {"lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”"}
_BULLET = re.compile(r"\s*(?:[•·▪◦o\uf0b7§-]|(?P<number>\(?\w{1,4}[.)]))\s*\Z")
_MOST_OPEN = 5000
"""Groups within groups."""


@dataclass(frozen=True, slots=True)
class _State:
    """What holds within a group. `why`, `shift` and `bold`: see `TextRun`. `skip`: bytes that stand for a character of Unicode in
    older programs. `level`: that of the paragraph in the outline, from 1; 0 outside it.
    """

    out: bool = False
    mark: bool = False
    why: str = ""
    shift: int = 0
    bold: bool = False
    skip: int = 1
    in_table: bool = False
    level: int = 0


def parse_rtf(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a file, without title or date. Raises: Unreadable: it is no RTF, or nests groups too deep."""
    if not data.lstrip(b"\xef\xbb\xbf \r\n").startswith(b"{\\rtf"):
        raise Unreadable("is not an RTF file: it does not begin with {\\rtf")
    if len(data) > limits.text:
        raise Unreadable(f"is larger than {limits.text} bytes: split it, or raise the limit `text`")
    reader = _Reader()
    pieces = bold_headings(reader.read(data))
    return assemble("", pieces, reader.notes, limits.text)


class _Reader:
    def __init__(self) -> None:
        self.notes: list[str] = []
        self._state = _State()
        self._open: list[_State] = []
        self._codec = "cp1252"
        self._bytes = bytearray()
        self._waiting = 0  # bytes to skip after a character of Unicode
        self._runs: list[TextRun] = []
        self._mark = ""  # the bullet or number of the paragraph
        self._cells: list[str] = []
        self._rows: list[GridRow] = []
        self._number = 0

    def read(self, data: bytes) -> Iterator[Piece]:
        starred = False
        for token in _TOKEN.finditer(data):
            if token["code"] or token["text"]:
                self._byte(token["text"] or bytes([int(token["code"], 16)]))
                continue
            self._flush()
            if token["brace"]:
                self._waiting = 0
                self._group(token["brace"])
            elif token["sign"]:
                starred = token["sign"] == b"*"
                sign = token["sign"].decode("ascii", "replace")
                self._text({"~": "\xa0", "_": "-", "-": "", "*": ""}.get(sign, sign))
                continue
            elif token["word"]:
                number = None if token["number"] is None else int(token["number"])
                yield from self._word(token["word"].decode(), number, starred)
            starred = False
        self._flush()
        yield from self._end()
        yield from self._table()

    def _group(self, brace: bytes) -> None:
        if brace == b"{":
            if len(self._open) >= _MOST_OPEN:
                raise Unreadable("nests groups too deep to be a document")
            self._open.append(self._state)
        elif self._open:
            self._state = self._open.pop()

    def _word(self, word: str, number: int | None, starred: bool) -> Iterator[Piece]:
        state = self._state
        if word in _SKIPPED or (starred and word not in ("shppict", "pn", "listtext")):
            self._state = replace(state, out=True)
        elif changes := _changes(word, number):
            self._state = replace(state, **changes)
        elif word in ("cell", "row", "par", "sect", "page"):
            yield from self._break(word)
        elif word in _SIGNS:
            self._text(_SIGNS[word])
        elif word == "u" and number is not None:
            self._waiting = 0
            self._text(chr(number % 65536))
            self._waiting = state.skip
        elif word == "ansicpg":
            with suppress(LookupError):
                self._codec = codecs.lookup(f"cp{number}").name

    def _byte(self, data: bytes) -> None:
        if self._waiting:
            data, self._waiting = data[self._waiting :], max(0, self._waiting - len(data))
        self._bytes += data

    def _flush(self) -> None:
        if self._bytes:
            self._text(self._bytes.decode(self._codec, "replace"))
            self._bytes.clear()

    def _text(self, text: str) -> None:
        if self._state.mark and not self._state.out:
            self._mark += text
        elif not self._state.out:
            self._runs.append(TextRun(text, self._state.why, self._state.shift, self._state.bold))

    def _break(self, word: str) -> Iterator[Piece]:
        if word == "cell":
            self._cells.append(shown(self._runs, self.notes)[0].strip())
            self._runs, self._mark = [], ""
        elif word == "row":
            self._number += any(self._cells)
            self._rows.append(GridRow(f"paragraph {self._number}", self._cells))
            self._cells = []
        elif self._state.in_table:
            self._text("\n")
        else:
            yield from self._end()

    def _end(self) -> Iterator[Piece]:
        """End the paragraph, and if it has text the table before it."""
        (text, bold), mark = shown(self._runs, self.notes), self._mark
        self._runs, self._mark = [], ""
        if not (text := text.strip()):
            return
        yield from self._table()
        self._number += 1
        place, listed = f"paragraph {self._number}", _BULLET.match(mark)
        if self._state.level:
            yield Piece(BlockKind.HEADING, text, self._state.level, place=place)
        elif listed:
            yield Piece(BlockKind.ITEM, text, 1, listed["number"] is not None and mark.strip() != "o", place=place)
        else:
            yield Piece(BlockKind.PARAGRAPH, text, bold=bold, place=place)

    def _table(self) -> Iterator[Piece]:
        rows, self._rows = self._rows, []
        return grid_pieces(rows)


@lru_cache(maxsize=1000)
def _changes(word: str, number: int | None) -> dict[str, Any]:
    """What a word changes in the state; empty if nothing."""
    on = number != 0
    known: dict[str, dict[str, Any]] = {
        **{one: {"mark": True} for one in ("listtext", "pntext")},
        **{one: {"why": STRUCK if on else ""} for one in ("strike", "striked", "deleted")},
        "v": {"why": HIDDEN if on else ""},
        "b": {"bold": on},
        "super": {"shift": int(on)},
        "sub": {"shift": -int(on)},
        "nosupersub": {"shift": 0},
        "plain": {"why": "", "shift": 0, "bold": False},
        "intbl": {"in_table": True},
        "pard": {"in_table": False, "level": 0},
        "uc": {"skip": max(0, min(number or 0, 16))},
        "outlinelevel": {"level": min((number or 0) + 1, DEEPEST_HEADING)},
    }
    return known.get(word, {})
