"""Parses RTF into headings, paragraphs, list items and table rows. Footnotes and comments follow their paragraph."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import Any

from hoptrail.documents.blocks import DEEPEST_HEADING, Parsed, Piece, assemble
from hoptrail.documents.limits import ReadingLimits, Unreadable
from hoptrail.documents.markup import HIDDEN, STRUCK, bold_headings
from hoptrail.documents.office_text import OfficeReader, TextRun, comment_head, shown
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
    "nonshppict bkmkstart bkmkend pgdsctbl filetbl revtbl atnid private nonesttables"
)
_STARRED = ("shppict", "listtext", "footnote", "annotation", "atnauthor")
"""Destinations that are read although older programs may skip them."""
_SIGNS = {"line": "\n", "tab": "\t", "emdash": "—", "endash": "–", "bullet": "•", "emspace": " ", "enspace": " "}
_SIGNS |= {"nestcell": " ", "nestrow": "\n", "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”"}
_CODECS = (
    "77=mac-roman 128=cp932 129=cp949 134=cp936 136=cp950 161=cp1253 162=cp1254 163=cp1258 177=cp1255 178=cp1256 "
    "186=cp1257 204=cp1251 222=cp874 238=cp1250 255=cp437"
)
"""The encodings of fonts by their character sets; others have that of the file."""
_NUMBER = re.compile(r"\(?\w{1,4}[.)]")
_MOST_OPEN = 5000  # groups within groups


@dataclass(frozen=True, slots=True)
class _State:
    """What holds within a group. `why`, `shift` and `bold`: see `TextRun`."""

    out: bool = False
    mark: bool = False
    why: str = ""
    shift: int = 0
    bold: bool = False
    skip: int = 1  # bytes that stand for a character of Unicode in older programs
    in_table: bool = False
    level: int = 0  # of the paragraph in the outline, from 1; 0 outside it
    depth: int = 1  # of its list
    font: int | None = None
    into: list[TextRun] | None = None  # the runs of the note that is read


def parse_rtf(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a file, without title or date. Raises: Unreadable: it is no RTF, or nests groups too deep."""
    data = data.lstrip(b"\xef\xbb\xbf \r\n")
    if not data.startswith(b"{\\rtf"):
        raise Unreadable("is not an RTF file: it does not begin with {\\rtf")
    if len(data) > limits.text:
        raise Unreadable(f"is larger than {limits.text} bytes: split it, or raise the limit `text`")
    reader = _Reader()
    pieces = bold_headings(reader.read(data))
    return assemble("", pieces, reader.notes, limits.text)


class _Reader(OfficeReader):
    def __init__(self) -> None:
        super().__init__([])
        self._state = _State()
        self._open: list[_State] = []
        self._codec, self._default = "cp1252", 0
        self._fonts: dict[int | None, str] = {}
        self._bytes = bytearray()
        self._waiting = 0  # bytes to skip after a character of Unicode
        self._mark = ""  # the bullet or number of the paragraph
        self._runs, self._author = list[TextRun](), list[TextRun]()
        self._cells, self._rows = list[str](), list[GridRow]()
        self._below: list[Piece] = []  # what stands apart from the rows

    def read(self, data: bytes) -> Iterator[Piece]:
        starred = False
        for token in _TOKEN.finditer(data):
            if token.lastgroup is None:  # the end of a line may stand between the bytes of a character
                continue
            if token["code"] or token["text"]:
                written = token["text"] or bytes([int(token["code"], 16)])
                self._bytes += written[self._waiting :]
                self._waiting = max(0, self._waiting - len(written))
                continue
            self._flush()
            if token["brace"]:
                self._waiting = 0
                self._group(token["brace"])
            elif token["sign"]:
                sign = token["sign"].decode("ascii", "replace")
                if sign in "\r\n":  # as TextEdit ends a paragraph
                    yield from self._break("par")
                else:
                    self._text({"~": "\xa0", "_": "-", "-": "", "*": ""}.get(sign, sign))
            elif token["word"]:
                number = None if token["number"] is None else int(token["number"])
                yield from self._word(token["word"].decode(), number, starred)
            starred = token["sign"] == b"*"
        self._flush()
        if self._cells:  # the file ends within a row
            self._rows.append(GridRow(self.place("paragraph"), self._cells))
        yield from (*self._end(), *self._table(), *self.apart())

    def _group(self, brace: bytes) -> None:
        if brace == b"{":
            if len(self._open) >= _MOST_OPEN:
                raise Unreadable("nests groups too deep to be a document")
            self._open.append(self._state)
        elif self._open:
            self._state = self._open.pop()

    def _word(self, word: str, number: int | None, starred: bool) -> Iterator[Piece]:
        state = self._state
        if word in _SKIPPED or (starred and word not in _STARRED):
            self._state = replace(state, out=True)
        elif word in _STARRED[2:]:
            self._begin_note(word)
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
        elif word == "fcharset" and (codec := re.search(rf"\b{number}=(\S+)", _CODECS)):
            self._fonts[state.font] = codec[1]
        elif word == "deff":
            self._default = number or 0
        elif word == "ansicpg":
            with suppress(LookupError):
                self._codec = codecs.lookup(f"cp{number}").name

    def _begin_note(self, word: str) -> None:
        """Begin a footnote, whose number stays in the text, a comment, or the name of its author before it."""
        runs = list[TextRun]()
        if word == "footnote":
            self._text(self.note(word, runs))
        elif word == "annotation":
            self.set_apart("comment", runs, f"{comment_head(self.text(self._author), '')}: ")
        else:
            self._author = runs
        self._state = replace(self._state, into=runs, mark=False)

    def text(self, styled: Iterable[TextRun]) -> str:
        """The text of runs, in which one character may be two numbers."""
        return super().text(styled).encode("utf-16", "surrogatepass").decode("utf-16", "replace").strip()

    def blocks(self, element: Any, place: str) -> Iterator[Piece]:
        yield Piece(BlockKind.PARAGRAPH, self.text(element), place=place)

    def _flush(self) -> None:
        if self._bytes:
            font = self._default if self._state.font is None else self._state.font
            self._text(self._bytes.decode(self._fonts.get(font, self._codec), "replace"))
            self._bytes.clear()

    def _text(self, text: str) -> None:
        state = self._state
        if state.mark and not state.out:
            self._mark += text
        elif not state.out:
            runs = self._runs if state.into is None else state.into
            runs.append(TextRun(text, state.why, state.shift, state.bold))

    def _break(self, word: str) -> Iterator[Piece]:
        if self._state.into is not None or (self._state.in_table and word not in ("cell", "row")):
            self._text("\n")
        elif word == "cell":
            self._cells.append(self.text(self._runs))
            self._runs, self._mark = [], ""
        elif word == "row":
            self._rows.append(GridRow(self.place("paragraph"), self._cells))
            self._cells = []
            self._below += self.apart()
        else:
            yield from self._end()

    def _end(self) -> Iterator[Piece]:
        """End the paragraph, and if it has text the table before it."""
        text, (_, bold), mark = self.text(self._runs), shown(self._runs, []), self._mark.strip()
        self._runs, self._mark = [], ""
        if not text:
            return
        yield from self._table()
        place = self.place("paragraph")
        if self._state.level:
            yield Piece(BlockKind.HEADING, text, self._state.level, place=place)
        elif mark:
            yield Piece(BlockKind.ITEM, text, self._state.depth, _NUMBER.fullmatch(mark) is not None, place=place)
        else:
            yield Piece(BlockKind.PARAGRAPH, text, bold=bold, place=place)
        yield from self.apart()

    def _table(self) -> Iterator[Piece]:
        rows, below, self._rows, self._below = self._rows, self._below, [], []
        return chain(grid_pieces(rows), below)


@lru_cache(maxsize=1000)
def _changes(word: str, number: int | None) -> dict[str, Any]:
    on = number != 0
    known: dict[str, dict[str, Any]] = {
        **{one: {"mark": True} for one in ("listtext", "pntext")},
        **{one: {"why": STRUCK if on else ""} for one in ("strike", "striked", "deleted")},
        "v": {"why": HIDDEN if on else ""},
        "b": {"bold": on},
        "super": {"shift": int(on)},
        "sub": {"shift": -int(on)},
        "nosupersub": {"shift": 0},
        "plain": {"why": "", "shift": 0, "bold": False, "font": None},
        "intbl": {"in_table": True},
        "pard": {"in_table": False, "level": 0, "depth": 1},
        "ilvl": {"depth": max(0, min(number or 0, DEEPEST_HEADING)) + 1},
        "f": {"font": number or 0},
        "uc": {"skip": max(0, min(number or 0, 16))},
        "outlinelevel": {"level": min((number or 0) + 1, DEEPEST_HEADING)},
    }
    return known.get(word, {})
