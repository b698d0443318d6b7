"""Making the summaries that are missing or out of date, and no others.

A summary is out of date when its sources are not those of its group's children: this one rule covers new, removed and
changed leaves, a stopped build, and a child whose summary failed before. A summary that is made again has other sources than
before, so those above it are out of date in turn.

Knows the store and the language task; does not know how groups are found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from hoptrail.errors import TaskFailed
from hoptrail.execution.executor import batched
from hoptrail.language.tasks import Language, Summarise
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.encoding import encode_texts, kept_at_once
from hoptrail.structures.tree_nodes import Members, Node, Nodes, in_order
from hoptrail.structures.tree_store import NodeSet, TreeStore
from hoptrail.types import Kind, Span, Unit

BATCH = 64
"""Summaries made at a time; so many are kept together at least,"""
SOURCES = 1 << 18
"""unless their sources, some 200 bytes each, are more: high up in a large tree a summary has tens of thousands."""
_NAMED = 3
"""Children that a note names."""


def stale(groups: Members, nodes: Nodes, made: Nodes) -> list[str]:
    """The groups over `nodes` whose summary is not among those `made`, or is out of date. A group without any finished child has
    nothing to say.
    """
    due = []
    for group, children in groups.items():
        of_children = dict.fromkeys(source for node in _finished(children, nodes) for source in node.sources)
        if of_children and (group not in made or made[group].sources != tuple(of_children)):
            due.append(group)
    return due


def _finished(children: Iterable[str], nodes: Nodes) -> list[Node]:
    """The children that have a text, in the order of what they were made from."""
    return in_order(nodes[child] for child in children if child in nodes)


@dataclass(frozen=True, slots=True)
class Summariser:
    """Makes the summaries of one tree, of at most `words` words each."""

    context: BuildContext
    language: Language
    tree: str
    words: int

    def bring_up_to_date(self, store: TreeStore, groups: Members, nodes: Nodes) -> None:
        """Make what is stale of groups over `nodes`, in batches that are each kept. Failures are noted and left for the next run.

        Raises:
            Interrupted, EndpointRefused, RecordingError: nothing more can be made now; what was made is kept.
        """

        def weight(group: str) -> int:
            return sum(len(nodes[child].sources) for child in groups[group] if child in nodes)

        waiting, done = stale(groups, nodes, store.nodes(NodeSet((Kind.SUMMARY,), groups.keys()))), 0
        for kept in batched(waiting, kept_at_once(self.context, len(waiting), BATCH), weight, SOURCES):
            with self._kept(store) as made:
                for some in batched(kept, BATCH, weight, SOURCES):
                    self._report(done, len(waiting))
                    children = {group: _finished(groups[group], nodes) for group in some}
                    units = store.units(node for own in children.values() for node in own)
                    asked = {group: tuple(units[node.id] for node in own) for group, own in children.items()}
                    for unit in self._made(asked):
                        made.append(unit)
                    done += len(some)
                    self.context.pause()
        if len(waiting):
            self._report(len(waiting), len(waiting))

    @contextmanager
    def _kept(self, store: TreeStore) -> Iterator[list[Unit]]:
        """Room for summaries, which may have been paid for: they are kept, whatever stops the run."""
        made: list[Unit] = []
        try:
            yield made
        finally:
            if made:
                store.put_summaries(made, encode_texts(self.context, [unit.searchable for unit in made]))
                self.context.writer.checkpoint()

    def _made(self, asked: Mapping[str, tuple[Unit, ...]]) -> Iterator[Unit]:
        """The summaries of groups that are given with their children, without those that fail."""
        tasks = (Summarise(units, self.words) for units in asked.values())
        replies = self.context.perform(self.language, tasks)
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
        self.context.account.notes.append(
            f"{self.tree}: no summary of {names}{more}: {reason}. Run the same command again to try once more."
        )

    def _report(self, done: int, total: int) -> None:
        self.context.report(f"summarising for the {self.tree}", done, total)


def _union(units: Sequence[Unit]) -> tuple[Span, ...]:
    return tuple(dict.fromkeys(span for unit in units for span in unit.sources))
