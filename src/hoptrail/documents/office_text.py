"""What the readers of Office files share: text as it is shown, signs of symbol fonts, what stands apart, the order of shapes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from typing import Any, NamedTuple, TypeVar

from hoptrail.documents.blocks import Piece
from hoptrail.documents.markup import lowered, raised, runs
from hoptrail.text.dates import find_date
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import BlockKind

_DEEPEST_STYLE = 20  # a chain of more styles is a cycle
ASIDES = ("drawing ", "text box ", "footnote ", "endnote ", "comment ")
"""How the places of asides begin, in the order in which those of a paragraph are read."""
PAGE_NUMBER = "\N{WORD JOINER}"  # stands for the number of a page; it is not stored
_FURNITURE = 3  # words beside a page number that do not make it a text: `Page 1 of 3`
_SPACES = re.compile(r"  +")
_TENS = ("", "x", "xx", "xxx", "xl", "l", "lx", "lxx", "lxxx", "xc")
_ONES = ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")

Item = TypeVar("Item")


class TextRun(NamedTuple):
    """Text of one style. `why`: the note that says why it is not shown. `shift`: above 0 if it is raised, below 0 if lowered."""

    text: str
    why: str = ""
    shift: int = 0
    bold: bool = False


def shown(styled: Iterable[TextRun], notes: list[str]) -> tuple[str, bool]:
    """The text of runs as a person sees it, and whether all of it is bold. Why some is not shown is added to `notes`."""
    text, bold, is_whole = "", [], True
    for (why, shift), group in groupby(styled, lambda run: (run.why, run.shift)):
        alike = list(group)
        part = "".join(run.text for run in alike)
        words = part.strip()
        if why:
            is_whole = False
            notes += [why] * bool(words and why not in notes)
            continue
        if shift and words:
            part = part.replace(words, raised(text, words) if shift > 0 else lowered(words), 1)
        text += part
        bold += [run.bold for run in alike if run.text.strip()]
    return text if is_whole else _SPACES.sub(" ", text), bool(bold) and all(bold)


class OfficeReader:
    """Reads text, and keeps what stands apart from a paragraph until that ends. The readers of formats derive from it."""

    def __init__(self, notes: list[str]) -> None:
        self.notes = notes
        self._apart: list[tuple[str, str, Any]] = []
        self._counts: Counter[str] = Counter()

    def blocks(self, element: Any, place: str) -> Iterator[Piece]:
        """Yield what is in an element. All of it stands at one place, unless that is empty."""
        raise NotImplementedError

    def text(self, styled: Iterable[TextRun]) -> str:
        return shown(styled, self.notes)[0]

    def place(self, kind: str, outer: str = "") -> str:
        """The place of the next paragraph or another kind; `outer` if that is the place of all that is around it."""
        self._counts[kind] += not outer
        return outer or f"{kind} {self._counts[kind]}"

    def set_apart(self, kind: str, element: Any, head: str = "") -> None:
        """Read this element after the paragraph, with the words `head` before its text."""
        self._apart.append((self.place(kind), head, element))

    def note(self, kind: str, element: Any, *, marked: bool = True) -> str:
        """Set a footnote or endnote apart. The mark that stands in the text and before the note, if it is `marked`."""
        number = self._counts[kind] + 1
        mark = f"[{roman(number) if kind == 'endnote' else number}]" if marked else ""
        self.set_apart(kind, element, f"{mark} " if marked else "")
        return mark

    def apart(self, outer: str = "", *, ended: bool = False) -> Iterator[Piece]:
        """Yield what stands apart from the text read so far, endnotes only when it has ended."""
        known, self._apart = self._apart, []
        for kind in ASIDES:
            for place, head, element in (one for one in known if one[0].startswith(kind)):
                if kind == "endnote " and not ended:
                    self._apart.append((place, head, element))
                    continue
                for piece in self.blocks(element, place if outer.startswith(ASIDES) else outer or place):
                    words = piece.text.strip()
                    yield replace(piece, text=head + words, bold=False) if words else piece
                    head = "" if words else head  # noqa: PLW2901 - stands before the first text only


def inherited(style: Item | None, parent: Callable[[Item], Item | None]) -> Iterator[Item]:
    """Yield a style and those that it inherits from."""
    for _ in range(_DEEPEST_STYLE):
        if style is None:
            return
        yield style
        style = parent(style)


def roman(number: int) -> str:
    """The number in small Roman numerals; from 100 on in digits."""
    return _TENS[number // 10] + _ONES[number % 10] if number < 100 else str(number)


def comment_head(author: str, date: str) -> str:
    """What stands before the text of a comment: `Comment by Ada Brun on 2024-03-05`."""
    by, on = squeeze(author), find_date(date[:10])
    return f"Comment{f' by {by}' if by else ''}{f' on {on}' if on else ''}"


def asides_after_lists(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Move asides within a list, or between a list and its lead, behind the list, so that the list stays whole."""
    waiting: list[Piece] = []
    before_list = False
    for piece in pieces:
        is_aside = piece.place.startswith(ASIDES)
        is_item = piece.kind is BlockKind.ITEM or (piece.kind is BlockKind.PARAGRAPH and piece.level > 0)
        if is_aside and before_list:
            waiting.append(piece)
            continue
        if not is_aside and not is_item:
            yield from waiting
            waiting = []
        yield piece
        before_list = not is_aside and (is_item or piece.text.endswith((":", "：")))
    yield from waiting


def below_no_heading(parts: Iterable[Iterable[Piece]]) -> Iterator[Piece]:
    """Yield the pieces of headers and footers, each part once, without page numbers and the few words beside them."""
    yield Piece(BlockKind.HEADING)
    known: set[str] = set()
    for part in parts:
        pieces = [piece for piece in part if (piece.text.strip() or piece.cells) and not _is_page_number(piece.text)]
        text = "\n".join(piece.text or "\t".join(value for _, value in piece.cells) for piece in pieces)
        yield from pieces if text not in known else ()
        known.add(text)


def _is_page_number(text: str) -> bool:
    few = len(text.replace(PAGE_NUMBER, "").split()) <= _FURNITURE
    return PAGE_NUMBER in text and few and not any(map(str.isdigit, text))


_SYMBOL_FONTS = {
    "symbol": str.maketrans(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
        "¡¢£¤¥¦§¨©ª«¬\xad®¯°±²³´µ¶·¸¹º»¼ÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖ×ØÙÚÛÜÝÞßàåò",
        "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖαβχδεφγηιϕκλμνοπθρστυϖωξψζ"
        "ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊∑∫",
    ),
    "wingdings": str.maketrans("oqr¨ûüýþ(*JLlnu§Øxßàáâèð", "☐☐☐☐✗✓☒☑☎✉☺☹●■◆▪➢☒←→↑↓➔⇨"),
    "wingdings 2": str.maketrans("OPQRST£", "✗✓☒☑☒☒☐"),
    "webdings": str.maketrans("acgr", "✓☐■✗"),
}
"""The signs of fonts that have them in place of letters."""

UNKNOWN_SIGN = "\N{REPLACEMENT CHARACTER}"


def symbols(text: str, font: str) -> str:
    """The signs that this text shows in a symbol font, `UNKNOWN_SIGN` for unknown ones; text in other fonts stays."""
    signs = _SYMBOL_FONTS.get(font.lower())
    if signs is None:
        return text
    keeps_ascii = font.lower() == "symbol"  # which has digits and signs of ASCII in their usual places

    def shown(code: str) -> str:
        if ord(code) in signs:
            return chr(signs[ord(code)])
        return code if code.isspace() or code > "\xff" or (keeps_ascii and code.isascii()) else UNKNOWN_SIGN

    return "".join(shown(chr(ord(one) & 0xFF) if "\uf000" <= one <= "\uf0ff" else one) for one in text)


_OVERLAP = 0.1  # the share of its size by which a box may reach into the next one


class Box(NamedTuple):
    """The edges of a shape, from the upper left corner of its page in any unit."""

    left: float
    top: float
    right: float
    bottom: float


def in_reading_order(shapes: Sequence[Item], box_of: Callable[[Item], Box | None]) -> list[Item]:
    """The shapes from top to bottom, those beside each other from left to right; as they are if the place of one is not known."""
    placed = [(box, shape) for shape in shapes if (box := box_of(shape)) is not None]
    return [shape for _, shape in _ordered(placed)] if len(placed) == len(shapes) else list(shapes)


def _ordered(placed: list[tuple[Box, Item]]) -> list[tuple[Box, Item]]:
    if len(placed) < 2:
        return placed
    columns, between_columns = _apart(placed, 0)
    rows, between_rows = _apart(placed, 1)
    parts = columns if len(rows) == 1 or (len(columns) > 1 and between_columns > between_rows) else rows
    if len(parts) == 1:
        return sorted(placed, key=lambda one: (one[0].top, one[0].left))
    return [one for part in parts for one in _ordered(part)]


def _apart(placed: list[tuple[Box, Item]], axis: int) -> tuple[list[list[tuple[Box, Item]]], float]:
    """The groups of boxes that no box joins in this direction (0 across, 1 down), and the widest gap between them."""

    def end(group: list[tuple[Box, Item]]) -> float:
        return max(box[axis + 2] for box, _ in group)

    def joins(group: list[tuple[Box, Item]], one: tuple[Box, Item]) -> bool:
        start, stop = one[0][axis], one[0][axis + 2]
        return start < end(group) - _OVERLAP * (stop - start)

    groups = list(runs(sorted(placed, key=lambda one: one[0][axis]), joins))
    return groups, max((after[0][0][axis] - end(group) for group, after in pairwise(groups)), default=float("-inf"))
