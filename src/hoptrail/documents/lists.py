"""Tracks the open lists of a parser: which piece begins or continues an item, and which terms still need a definition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from hoptrail.documents.blocks import Piece
from hoptrail.types import BlockKind


@dataclass(slots=True)
class _List:
    """An open list. `is_fresh`: its last item has no text yet. `terms`: terms without a definition so far, with their places."""

    ordered: bool
    is_fresh: bool = False
    terms: list[tuple[str, str]] = field(default_factory=list)


@dataclass(slots=True)
class Lists:
    """The open lists of a document. A definition is an item: `term: definition`."""

    _open: list[_List] = field(default_factory=list)

    @property
    def depth(self) -> int:
        """The number of open lists."""
        return len(self._open)

    def begin(self, *, ordered: bool = False) -> None:
        """Begin a list within the innermost open one."""
        self._open.append(_List(ordered))

    def item(self) -> None:
        """Begin an item or a definition of the innermost list; outside lists do nothing."""
        if self._open:
            self._open[-1].is_fresh = True

    def end(self) -> None:
        """End the innermost list, if one is open."""
        if self._open:
            self._open.pop()

    def term(self, text: str, place: str = "") -> None:
        """Add a term for the next item of the innermost list, which defines all terms so far."""
        self._open[-1].terms.append((text, place))

    def waiting(self) -> Iterator[Piece]:
        """Take the terms without a definition so far, each as an item. To be called before any piece that is not text."""
        if self._open:
            terms, self._open[-1].terms = self._open[-1].terms, []
            for text, place in terms:
                yield self._item(text, place)

    def piece(self, kind: BlockKind, text: str, place: str = "") -> Piece:
        """A text of this kind. The first text of an item becomes the item; later text, and code, has the depth of the item."""
        if kind is BlockKind.CODE or not self._open or not self._open[-1].is_fresh:
            return Piece(kind, text, self.depth, place=place)
        terms, self._open[-1].terms = self._open[-1].terms, []
        if terms:
            defined = ", ".join(term for term, _ in terms)
            text = f"{defined} {text}" if defined.endswith(":") else f"{defined}: {text}"
            place = terms[0][1]
        return self._item(text, place)

    def _item(self, text: str, place: str) -> Piece:
        self._open[-1].is_fresh = False
        return Piece(BlockKind.ITEM, text, self.depth, self._open[-1].ordered, place=place)
