"""The lists that a parser is within: which piece begins an item, which goes on it, and terms that wait for their definition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from hoptrail.documents.blocks import Piece
from hoptrail.types import BlockKind


@dataclass(slots=True)
class _List:
    """`is_fresh`: nothing of its last item is read yet. `terms`, with their places, wait for what defines them."""

    ordered: bool
    is_fresh: bool = False
    terms: list[tuple[str, str]] = field(default_factory=list)


@dataclass(slots=True)
class Lists:
    """Follows the lists of a document as they begin and end. A definition is an item: `term: definition`."""

    _open: list[_List] = field(default_factory=list)

    @property
    def depth(self) -> int:
        """How many lists are open."""
        return len(self._open)

    def begin(self, *, ordered: bool = False) -> None:
        """Begin a list, within the last one if that is still open."""
        self._open.append(_List(ordered))

    def item(self) -> None:
        """Begin an item or a definition of the last list; outside lists nothing happens."""
        if self._open:
            self._open[-1].is_fresh = True

    def end(self) -> None:
        """End the last list, if one is open."""
        if self._open:
            self._open.pop()

    def term(self, text: str, place: str = "") -> None:
        """What the next item of the last list defines; of several, all."""
        self._open[-1].terms.append((text, place))

    def waiting(self) -> Iterator[Piece]:
        """Terms whose definition does not begin with text, each an item; to be taken before anything that is no text."""
        if self._open:
            terms, self._open[-1].terms = self._open[-1].terms, []
            for text, place in terms:
                yield self._item(text, place)

    def piece(self, kind: BlockKind, text: str, place: str = "") -> Piece:
        """Text of this kind, with the depth of the item that it goes on; the first text of an item is the item, code aside."""
        if kind is BlockKind.CODE or not self._open or not self._open[-1].is_fresh:
            return Piece(kind, text, self.depth, place=place)
        terms, self._open[-1].terms = self._open[-1].terms, []
        if terms:
            said = ", ".join(term for term, _ in terms)
            text = f"{said} {text}" if said.endswith(":") else f"{said}: {text}"
            place = terms[0][1]
        return self._item(text, place)

    def _item(self, text: str, place: str) -> Piece:
        self._open[-1].is_fresh = False
        return Piece(BlockKind.ITEM, text, self.depth, self._open[-1].ordered, place=place)
