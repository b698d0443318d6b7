"""What the parsers of marked-up text share: open lists with their items and terms, table rows with their headers, bold headings,
line breaks, words divided at the end of a line, raised and lowered text.

Where a line break is a space, it is kept after lines too short to have been wrapped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TypeVar

from hoptrail.documents.blocks import Piece, lead_in
from hoptrail.documents.sheet_rows import SAMPLE, GridRow, column_names, grid_pieces, header_of, heads_values
from hoptrail.text.lexicon import word_set
from hoptrail.text.sentences import FULL_LINE, is_labelled_pair, width_of
from hoptrail.types import BlockKind


@dataclass(slots=True)
class _List:
    """An open list. `is_fresh`: its last item has no text yet. `terms`: terms without a definition so far, with their places."""

    ordered: bool
    is_fresh: bool = False
    terms: list[tuple[str, str]] = field(default_factory=list)


@dataclass(slots=True)
class Flow:
    """The pieces of a document in the order in which its parser finds them. `quotes`: the number of open quotes. A definition is
    an item: `term: definition`; a term without one is an item of its own.
    """

    pieces: list[Piece] = field(default_factory=list)
    quotes: int = 0
    _lists: list[_List] = field(default_factory=list)

    @property
    def depth(self) -> int:
        """The number of open lists."""
        return len(self._lists)

    def begin_list(self, *, ordered: bool = False) -> None:
        """Begin a list within the innermost open one."""
        self.end_item()
        self._lists.append(_List(ordered))

    def end_list(self) -> None:
        """End the innermost list, if one is open."""
        self.end_item()
        del self._lists[-1:]

    def item(self) -> None:
        """Begin an item or a definition of the innermost list; outside lists do nothing."""
        if self._lists:
            self._lists[-1].is_fresh = True

    def end_item(self) -> None:
        """Write the terms without a definition so far, each as an item."""
        for text, place in self._take_terms():
            self._item(text, place)

    def term(self, text: str, place: str = "") -> None:
        """Add a term for the next item of the innermost list, which defines all terms so far."""
        self._lists[-1].terms.append((text, place))

    def text(self, text: str, place: str = "", *, bold: bool = False) -> None:
        """Write a paragraph or quote. The first text of an item becomes the item; later text has the depth of the item."""
        if self._lists and self._lists[-1].is_fresh:
            if terms := self._take_terms():
                defined = ", ".join(term for term, _ in terms)
                text = f"{defined} {text}" if defined.endswith(":") else f"{defined}: {text}"
                place = terms[0][1]
            self._item(text, place, bold=bold)
        else:
            kind = BlockKind.QUOTE if self.quotes else BlockKind.PARAGRAPH
            self.pieces.append(Piece(kind, text, self.depth, place=place, bold=bold))

    def code(self, text: str, place: str = "") -> None:
        """Write code; within an item it has the depth of the item."""
        self.add(Piece(BlockKind.CODE, text, self.depth, place=place))

    def add(self, piece: Piece) -> None:
        """Write what is no text of an item: a heading, a row."""
        self.end_item()
        self.pieces.append(piece)

    def _take_terms(self) -> list[tuple[str, str]]:
        if not self._lists:
            return []
        terms, self._lists[-1].terms = self._lists[-1].terms, []
        return terms

    def _item(self, text: str, place: str, *, bold: bool = False) -> None:
        self._lists[-1].is_fresh = False
        self.pieces.append(Piece(BlockKind.ITEM, text, self.depth, self._lists[-1].ordered, place=place, bold=bold))


STRUCK = "struck-out text was left out"
HIDDEN = "text that is not shown was left out"
"""Notes of formats in which text can be struck out or hidden."""
_RAISED = str.maketrans("0123456789+-−()", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁽⁾")
_LOWERED = str.maketrans("0123456789+-−()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₍₎")
_NUMBER = re.compile(r"[+−-]?\d{1,4}")
_SYMBOL = re.compile(r"(?<![^\W\d_])(?<!°)[^\W\d_]{1,2}\Z")  # of a variable or unit, behind which a power stands


def raised(before: str, text: str) -> str:
    """How superscript text is written behind the text `before`, so that it is no part of the number or word there: `10^6`, `m²`,
    `1st`, and `harbour[3]` for the number of a note.
    """
    text = text.strip()
    if _NUMBER.fullmatch(text):
        if before[-1:].isdigit():
            return f"^{text}"
        return text.translate(_RAISED) if _SYMBOL.search(before) else f"[{text}]"
    return f"^{text}" if len(text) == 1 and text.isalpha() and text.islower() and _SYMBOL.search(before) else text


def lowered(text: str) -> str:
    """How subscript text is written: `H₂O`."""
    return text.strip().translate(_LOWERED)


@dataclass(frozen=True, slots=True)
class TableCell:
    """A cell: whether it is marked as a header, and how many columns and rows it spans."""

    text: str
    is_header: bool = False
    columns: int = 1
    rows: int = 1


@dataclass(slots=True)
class OpenTable:
    """A table that is read row by row. A row of header cells alone is a header row, as is any row while `in_head`. The header of
    a column joins its cells in the last header rows, from the top down. `places`: where the pieces of its rows are, and whether
    they are bold, as far as its reader keeps this.
    """

    in_head: bool = False
    rows: list[GridRow] = field(default_factory=list)
    places: list[tuple[int, bool]] = field(default_factory=list)
    _heads: list[GridRow] = field(default_factory=list)
    _names: list[str] = field(default_factory=list)
    _named: int = 0  # columns of the header rows
    _spanning: dict[int, tuple[int, TableCell]] = field(default_factory=dict)

    def row(self, cells: Sequence[TableCell], place: str) -> Piece:
        """The piece of a row; a paragraph if it has one cell of several columns, or in a table without headers one filled cell.
        A cell that spans rows is repeated in each of them.
        """
        placed = list(self._placed(cells))
        is_header = self.in_head or all(cell.is_header for _, cell in placed)
        filled = [cell.text for _, cell in placed if cell.text]
        columns = self._named or (sum(cell.columns for _, cell in placed) if self.in_head else 0)
        if (len(placed) < 2 and columns != 1) or not (is_header or self._named or len(filled) > 1):
            return Piece(BlockKind.PARAGRAPH, " ".join(filled), place=place)
        spans = {column: cell.columns for column, cell in placed if cell.columns > 1}
        texts = {column: cell.text for column, cell in placed}
        width = max((column + cell.columns for column, cell in placed), default=0)
        row = [texts.get(column, "") for column in range(width)]
        self.rows.append(GridRow(place, row, spans))
        if is_header:
            self._named = max(width, self._named if self._heads else 0)
            self._heads.append(self.rows[-1])
        elif self._heads:
            self._names, self._heads = column_names(self._heads), []
        names = [*self._names, *[""] * len(row)]
        values = tuple(("" if is_header else names[column], text) for column, text in texts.items())
        return Piece(BlockKind.ROW, level=int(is_header), cells=values, place=place)

    def found_headers(self) -> Iterable[tuple[int, Piece]]:
        """The rows again after the numbers of their pieces, if the table has no header rows but its first rows look like them:
        the first is bold and the second is not, they have cells that span columns, or stand above values. (Of two columns the
        first may name what is in the second.)
        """
        bold = [is_bold for _, is_bold in self.places[:2]] == [True, False]
        sample = self.rows[:SAMPLE]
        count = 0 if self._named else header_of(sample)[0]
        above = count > 0 and len(sample[0].cells) > 2 and heads_values([row.cells for row in sample[count - 1 :]])
        pieces = grid_pieces(self.rows) if count and (bold or count > 1 or above) else ()
        return zip((number for number, _ in self.places), pieces, strict=False)

    def _placed(self, cells: Sequence[TableCell]) -> Iterator[tuple[int, TableCell]]:
        """Yield each cell with its column, including cells of earlier rows that span this one."""
        above, self._spanning = self._spanning, {}
        column = 0
        waiting = list(reversed(cells))
        while waiting or any(known >= column for known in above):
            remaining, cell = above.pop(column, (0, None))
            if cell is None:
                if not waiting:
                    column = min(known for known in above if known >= column)
                    continue
                cell = waiting.pop()
                remaining = cell.rows
            if remaining > 1:
                self._spanning[column] = (remaining - 1, cell)
            yield column, cell
            column += cell.columns


def table_rows(rows: Sequence[tuple[str, Sequence[TableCell]]], heads: int) -> Iterator[Piece]:
    """Yield the rows of a table, given with their places. The first `heads` are headers if there are others."""
    table = OpenTable()
    for number, (place, cells) in enumerate(rows):
        table.in_head = number < heads < len(rows)
        yield table.row(cells, place)


LONGEST_BOLD_HEADING = 100  # characters of a bold line that can be a heading
BOLD_SHARE = 0.3  # if a larger share of the text is bold, bold lines are not headings
_BOLD_LEVEL = 6  # below all other headings
_IN_CONTENTS = re.compile(r"\t\s*(?:\d+|[ivxlc]+)\Z")  # the number of a page, which ends a line of a list of contents


def bold_headings(pieces: Iterable[Piece]) -> list[Piece]:
    """Make bold lines headings of the plain text, list or table that follows, as people write them who do not use styles.
    Sentences and leads, which end with a full stop or a colon, stay paragraphs, and so does what a lead introduces.
    """
    before = list(pieces)
    body = [piece for piece in before if piece.kind is not BlockKind.HEADING]
    bold = sum(len(piece.text) for piece in body if piece.bold)
    length = sum(len(piece.text or " ".join(value for _, value in piece.cells)) for piece in body)
    if not bold or bold > BOLD_SHARE * length:
        return before
    around = zip([None, *before[:-1]], before, [*before[1:], None], strict=True)
    return [
        replace(piece, kind=BlockKind.HEADING, level=_BOLD_LEVEL)
        if _is_bold_line(piece)
        and not (last and last.kind is BlockKind.PARAGRAPH and lead_in(last.text))
        and (following and not following.bold and following.kind is not BlockKind.HEADING)
        else piece
        for last, piece, following in around
    ]


def _is_bold_line(piece: Piece) -> bool:
    text = piece.text.strip()
    is_short = len(text) <= LONGEST_BOLD_HEADING and "\n" not in text and not text.endswith((".", ":", ",", ";", "："))
    letters = sum(map(str.isalpha, text))
    is_worded = letters > sum(map(str.isdigit, text)) and not text.startswith("By ")
    is_worded = is_worded and not _IN_CONTENTS.search(text)
    return piece.bold and piece.kind is BlockKind.PARAGRAPH and not piece.level and is_short and is_worded


def line_break(line: str, following: str) -> str:
    """The separator between two lines: a line break, or if the first was wrapped a space (nothing in Chinese and Japanese). A
    line was wrapped if it is full and the two are not lines with labels.
    """
    if width_of(line[-FULL_LINE:]) < FULL_LINE or is_labelled_pair(f"{line}\n{following}", 0, len(line) + 1):
        return "\n"
    return "" if width_of(line[-1:]) == 2 == width_of(following[:1]) else " "


def unwrapped(text: str, source: str = "") -> str:
    """`text` with wrapped lines joined. `source` is its markup, whose line lengths decide if it has as many lines."""
    lines, source_lines = text.split("\n"), source.split("\n")
    deciding = source_lines if len(source_lines) == len(lines) else lines
    breaks = [line_break(*pair) for pair in pairwise(deciding)]
    return "".join(line + end for line, end in zip(lines, [*breaks, ""], strict=True))


HYPHENS = ("-", "\xad", "\u2010")
_DIVIDED = re.compile(r"(?<!\S)(?P<head>\S*[^\W\d_]{2})[-\u2010]\n(?P<indent>[ \t]*)(?P<tail>[^\W\d_]\S*)[ \t]?")
_COMPOUND = word_set("cross full half high long low quasi self short well")  # words that begin compounds with a hyphen
_ENDING = word_set("age bow er est evity fil fish hand ing ish itude ity land light ly most ness roads time way")
"""What follows on such a word without a hyphen: `highway`, `shortage`."""
_AROUND = ".,;:!?()[]“”\"'"


def vocabulary(lines: Iterable[str]) -> frozenset[str]:
    """The words of lines, including those with a hyphen. The last word of a line is left out, as it may be incomplete."""
    return frozenset(word.casefold().strip(_AROUND) for line in lines for word in line.split()[:-1])


def joined_word(head: str, tail: str, known: frozenset[str]) -> str:
    """The word of which a line ends with `head` and a hyphen, and the next begins with `tail`. The hyphen stays if `known` has
    the word with it, before a capital, and after what usually begins a compound.
    """
    whole, hyphenated = (f"{head}{mark}{tail}".casefold().strip(_AROUND) for mark in ("", "-"))
    begins = head.casefold().strip(_AROUND) in _COMPOUND and tail.casefold().strip(_AROUND) not in _ENDING
    keep = not tail[:1].islower() or (whole not in known and (hyphenated in known or "-" in head or begins))
    return f"{head}{'-' if keep else ''}{tail}"


def undivided(text: str) -> str:
    """A text with each divided word on the line where it begins, so that all lines keep their numbers."""
    if not any(f"{mark}\n" in text for mark in HYPHENS):
        return text
    known = vocabulary(text.splitlines())
    return _DIVIDED.sub(lambda part: f"{joined_word(part['head'], part['tail'], known)}\n{part['indent']}", text)


Item = TypeVar("Item")


def runs(items: Iterable[Item], joins: Callable[[list[Item], Item], bool]) -> Iterator[list[Item]]:
    """Yield the items in runs: an item that does not join the run before it begins the next."""
    run: list[Item] = []
    for item in items:
        if run and not joins(run, item):
            yield run
            run = []
        run.append(item)
    if run:
        yield run
