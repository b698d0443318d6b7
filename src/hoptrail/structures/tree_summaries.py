"""Making the summaries that are missing or out of date, and no others.

A summary is out of date when its sources are not those of its group's children: this one rule covers new, removed and
changed leaves, a stopped build, and a child whose summary failed before. A summary that is made again has other sources than
before, so those above it are out of date in turn.

Knows the store and the language task; does not know how groups are found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hoptrail.errors import TaskFailed
from hoptrail.language.tasks import Language, Summarise
from hoptrail.structures.building import Workshop
from hoptrail.structures.encoding import encode_texts
from hoptrail.structures.tree_nodes import Children, Grove
from hoptrail.types import Kind, Span, Unit

BATCH = 64
"""Summaries made, encoded and kept at a time."""
_NAMED = 3
"""Children that a note names."""


def stale(grove: Grove, groups: Children) -> list[str]:
    """The groups whose summary is missing or out of date, rising. One without any finished child has nothing to say."""
    found = []
    for group, children in sorted(groups.items()):
        lines = (line for child in _in_order(grove, children) for line in grove.nodes[child].places.split("\n"))
        places = "\n".join(dict.fromkeys(lines))
        summary = grove.nodes.get(group)
        if places and (summary is None or summary.places != places):
            found.append(group)
    return found


@dataclass(frozen=True, slots=True)
class Summariser:
    """Makes the summaries of one tree, of at most `words` words each."""

    workshop: Workshop
    language: Language
    tree: str
    words: int

    def bring_up_to_date(self, grove: Grove, groups: Children) -> None:
        """Make what is stale, in batches that are each kept. Failures are noted and left for the next run.

        Raises:
            Interrupted, EndpointRefused, RecordingError: nothing more can be made now; what was made is kept.
        """
        waiting = stale(grove, groups)
        for start in range(0, len(waiting), BATCH):
            self._report(start, len(waiting))
            batch = waiting[start : start + BATCH]
            children = {group: _in_order(grove, groups[group]) for group in batch}
            units = grove.units({child for some in children.values() for child in some})
            self._make(grove, {group: tuple(units[child] for child in some) for group, some in children.items()})
            self.workshop.pause()
        if waiting:
            self._report(len(waiting), len(waiting))

    def _make(self, grove: Grove, asked: Mapping[str, tuple[Unit, ...]]) -> None:
        made: list[Unit] = []
        try:
            for unit in self._made(asked):
                made.append(unit)  # noqa: PERF402 - one by one: those before an error count
        finally:  # it may have been paid for: kept, whatever stops the run
            if made:
                grove.put_summaries(made, encode_texts(self.workshop, [unit.searchable for unit in made]))
                self.workshop.writer.checkpoint()

    def _made(self, asked: Mapping[str, tuple[Unit, ...]]) -> Iterator[Unit]:
        """The summaries of groups that are given with their children, without those that fail."""
        tasks = (Summarise(units, self.words) for units in asked.values())
        replies = self.workshop.perform(self.language, tasks)
        for (group, units), reply in zip(asked.items(), replies, strict=True):
            if isinstance(reply, TaskFailed):
                self._note(units, str(reply))
            elif not reply.strip():
                self._note(units, "the reply was empty")
            else:
                yield Unit(group, Kind.SUMMARY, "", reply.strip(), _union(units))

    def _note(self, units: Sequence[Unit], reason: str) -> None:
        names = ", ".join(unit.title or unit.id for unit in units[:_NAMED])
        more = f" and {len(units) - _NAMED} more" if len(units) > _NAMED else ""
        self.workshop.account.notes.append(
            f"{self.tree}: no summary of {names}{more}: {reason}. Run the same command again to try once more."
        )

    def _report(self, done: int, total: int) -> None:
        self.workshop.report(f"summarising for the {self.tree}", done, total)


def _in_order(grove: Grove, children: Sequence[str]) -> list[str]:
    """The children that have a text, in the order of what they were made from: neighbours in a document stay together."""
    present = [child for child in children if child in grove.nodes]
    return sorted(present, key=lambda child: (grove.nodes[child].first, child))


def _union(units: Sequence[Unit]) -> tuple[Span, ...]:
    return tuple(dict.fromkeys(span for unit in units for span in unit.sources))
