"""Making the summaries that are missing or out of date, and no others.

A summary is out of date when its sources are not those of its group's children: this one rule covers new, removed and
changed leaves, a stopped build, and a child whose summary failed before. A summary that is made again has other sources than
before, so those above it are out of date in turn.

Knows the store and the language task; does not know how groups are found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import Rows
from hoptrail.errors import TaskFailed
from hoptrail.executing.executor import batched
from hoptrail.language.tasks import Language, Summarise
from hoptrail.structures.building import Workshop
from hoptrail.structures.encoding import encode_texts, kept_at_once
from hoptrail.structures.tree_grove import Grove, summaries_of
from hoptrail.structures.tree_memberships import TOGETHER, Grouped, texts
from hoptrail.structures.tree_nodes import Nodes
from hoptrail.types import Kind, Span, Unit

BATCH = 64
"""Summaries made at a time; so many are kept together at least,"""
SOURCES = 1 << 18
"""unless their sources, some 200 bytes each, are more: high up in a large tree a summary has tens of thousands."""
_NAMED = 3
"""Children that a note names."""


def stale(groups: Grouped, nodes: Nodes, made: Nodes) -> Rows:
    """The numbers of the groups over `nodes` whose summary is not among those `made`, or is out of date. A group without any
    finished child has nothing to say.
    """
    due = [np.zeros(0, np.bool_)]
    for part in groups.parts(TOGETHER):
        finished = np.flatnonzero(made.rows_of(part.ids) >= 0)
        here = np.bincount(part.numbers[nodes.rows_of(part.members) >= 0], minlength=len(part)) > 0
        here[finished] &= _outdated(part.some(finished), nodes, made)
        due.append(here)
    return np.flatnonzero(np.concatenate(due)).astype(np.int32)


def _outdated(groups: Grouped, nodes: Nodes, made: Nodes) -> NDArray[np.bool_]:
    """Of groups that have a summary: whether its sources are not those of the children."""
    of_children = (_each_once(nodes.sources(rows)) for rows in _children(groups, nodes))
    own = (made.sources(row) for row in made.rows_of(groups.ids).reshape(-1, 1))
    return np.array([not np.array_equal(*both) for both in zip(of_children, own, strict=True)], np.bool_)


def _each_once(digests: NDArray[np.int64]) -> NDArray[np.int64]:
    """In the order in which they come first."""
    return digests[np.sort(np.unique(digests, return_index=True)[1])]


def _children(groups: Grouped, nodes: Nodes) -> list[Rows]:
    """Of each group the rows of the children that have a text, in the order of what they were made from."""
    rows, numbers = nodes.rows_of(groups.members), groups.numbers
    rows, numbers = rows[rows >= 0], numbers[rows >= 0]
    order = nodes.in_order(rows, numbers)
    return np.split(rows[order], np.searchsorted(numbers[order], np.arange(1, len(groups))))[: len(groups)]


def _weighed(groups: Grouped, nodes: Nodes, numbers: Rows) -> Iterator[tuple[int, int]]:
    """The numbers of some groups, each with how many sources its children have together."""
    for start in range(0, len(numbers), TOGETHER):
        here = numbers[start : start + TOGETHER]
        some = groups.some(here)
        rows = nodes.rows_of(some.members)
        counts = np.where(rows >= 0, nodes.count_sources(rows), 0)
        weights = np.bincount(some.numbers, counts, len(some)).astype(np.int64)
        yield from zip(here.tolist(), weights.tolist(), strict=True)


def _asked(groups: Grouped, grove: Grove, nodes: Nodes) -> dict[str, tuple[Unit, ...]]:
    """A few groups by id, with their children."""
    children = _children(groups, nodes)
    units = grove.units(nodes, np.concatenate(children))
    parts = (tuple(units[id_] for id_ in texts(nodes.ids[rows])) for rows in children)
    return dict(zip(texts(groups.ids), parts, strict=True))


@dataclass(frozen=True, slots=True)
class Summariser:
    """Makes the summaries of one tree, of at most `words` words each."""

    workshop: Workshop
    language: Language
    tree: str
    words: int

    def bring_up_to_date(self, grove: Grove, groups: Grouped, nodes: Nodes) -> None:
        """Make what is stale of groups over `nodes`, in batches that are each kept. Failures are noted and left for the next run.

        Raises:
            Interrupted, EndpointRefused, RecordingError: nothing more can be made now; what was made is kept.
        """
        waiting = stale(groups, nodes, grove.nodes(summaries_of(groups)))
        weight, done = itemgetter(1), 0
        at_once = kept_at_once(self.workshop, len(waiting), BATCH)
        for kept in batched(_weighed(groups, nodes, waiting), at_once, weight, SOURCES):
            with self._kept(grove) as made:
                for some in batched(kept, BATCH, weight, SOURCES):
                    self._report(done, len(waiting))
                    batch = groups.some(np.array([number for number, _ in some]))
                    for unit in self._made(_asked(batch, grove, nodes)):
                        made.append(unit)
                    done += len(some)
                    self.workshop.pause()
        if len(waiting):
            self._report(len(waiting), len(waiting))

    @contextmanager
    def _kept(self, grove: Grove) -> Iterator[list[Unit]]:
        """Room for summaries, which may have been paid for: they are kept, whatever stops the run."""
        made: list[Unit] = []
        try:
            yield made
        finally:
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


def _union(units: Sequence[Unit]) -> tuple[Span, ...]:
    return tuple(dict.fromkeys(span for unit in units for span in unit.sources))
