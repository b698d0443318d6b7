"""Which passages titles call: by the key of a title, the first passage of each document that has it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.structures.called import MOST_NAMESAKES, Openings, Place, can_be_found, first_passages
from hoptrail.types import Kind


class Titled(Openings):
    """Satisfies `Names`: a heading, which more than MOST_NAMESAKES documents have, is no name."""

    def __init__(self, passages: Mapping[str, Sequence[str]]) -> None:
        """By key of a title, ids of passages."""
        super().__init__(passages)
        self._passages = passages

    def __contains__(self, key: str, /) -> bool:
        return can_be_found(key) and bool(self.called(key))

    def called(self, key: str) -> Sequence[str]:
        """The passages of a title, by rising id; none where it is a heading."""
        found = self.having(key)
        return found if len(found) <= MOST_NAMESAKES else []

    def items(self) -> Iterable[tuple[str, Sequence[str]]]:
        """All titles with their passages, headings too."""
        return self._passages.items()

    def having(self, key: str) -> Sequence[str]:
        """As `called`, of headings too."""
        return self._passages.get(key, [])


def titled(snapshot: Snapshot) -> Titled:
    """What calls the passages of an index."""
    titles = dict(snapshot.table.titles(Kind.PASSAGE))
    places = snapshot.table.first_sources(Kind.PASSAGE)
    return Titled(first_passages(Place(span.document, span.start, id_, titles[id_]) for id_, span in places))
