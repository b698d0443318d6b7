"""Making the summaries that are missing or out of date: whose sources differ from those of their group's children.

This rule covers new, removed and changed leaves, stopped builds, and children whose summaries failed before. A summary that is
made again has other sources, so the summaries above it are out of date too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hoptrail.errors import TaskFailed
from hoptrail.execution.executor import batched
from hoptrail.language.tasks import Language, Summarise
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.encoding import encode_texts, kept_at_once
from hoptrail.types import Kind, Unit
from hoptrail_papers.sirerag.tree_nodes import Members, Node, Nodes
from hoptrail_papers.sirerag.tree_store import TreeStore

BATCH = 64
"""Summaries made at a time, and the least number stored together,"""
SOURCES = 1 << 18
"""unless they have more sources, of some 200 bytes each: high up in a large tree a summary has tens of thousands."""
_NAMED = 3
"""Children that a note names."""


def stale(groups: Members, nodes: Nodes, summaries: Nodes) -> list[str]:
    """The groups with a finished child among `nodes` whose summary is not among `summaries` or is out of date."""
    due = []
    for group, children in groups.items():
        sources = dict.fromkeys(source for node in _finished(children, nodes) for source in node.sources)
        if sources and (group not in summaries or summaries[group].sources != tuple(sources)):
            due.append(group)
    return due


def _finished(children: Iterable[str], nodes: Nodes) -> list[Node]:
    """The children that have a text, by their first sources, so that neighbours in a document stay together."""
    return sorted((nodes[id_] for id_ in children if id_ in nodes), key=lambda node: (node.first, node.id))


@dataclass(frozen=True, slots=True)
class Summariser:
    """Makes the summaries of one tree, of at most `words` words each."""

    context: BuildContext
    language: Language
    tree: str
    words: int

    def bring_up_to_date(self, store: TreeStore, groups: Members, nodes: Nodes) -> None:
        """Make the stale summaries of groups over `nodes`, and store each batch. Failures are noted and left for the next run.
        Raises: Interrupted, EndpointRefused, RecordingError: no more summaries can be made now; finished ones are kept.
        """

        def weight(group: str) -> int:
            return sum(len(nodes[child].sources) for child in groups[group] if child in nodes)

        due, done = stale(groups, nodes, store.nodes(groups.keys())), 0
        for stored in batched(due, kept_at_once(self.context, len(due), BATCH), weight, SOURCES):
            summaries: list[Unit] = []
            try:
                for batch in batched(stored, BATCH, weight, SOURCES):
                    self._report(done, len(due))
                    children = {group: _finished(groups[group], nodes) for group in batch}
                    wanted = {child.id for own in children.values() for child in own}
                    units = {unit.id: unit for unit in store.units(wanted)}
                    texts = {group: tuple(units[node.id] for node in own) for group, own in children.items()}
                    self._summarise(texts, summaries)
                    done += len(batch)
                    self.context.pause()
            finally:  # whatever stops the run: they may have been paid for
                self._store(summaries)
        if due:
            self._report(len(due), len(due))

    def _store(self, summaries: Sequence[Unit]) -> None:
        if summaries:
            vectors = encode_texts(self.context, [unit.searchable for unit in summaries])
            self.context.writer.put_units(summaries, vectors)
            self.context.writer.checkpoint()

    def _summarise(self, children: Mapping[str, tuple[Unit, ...]], summaries: list[Unit]) -> None:
        """Add the summaries of groups, given with their children, one by one: the language may fail between two."""
        tasks = (Summarise(units, self.words) for units in children.values())
        replies = self.context.perform(self.language, tasks)
        for (group, units), reply in zip(children.items(), replies, strict=True):
            if isinstance(reply, TaskFailed):
                self._note(units, str(reply))
            elif not reply.strip():
                self._note(units, "the reply was empty")
            else:
                sources = tuple(dict.fromkeys(span for unit in units for span in unit.sources))
                summaries.append(Unit(group, Kind.SUMMARY, "", reply.strip(), sources))

    def _note(self, units: Sequence[Unit], reason: str) -> None:
        names = ", ".join(unit.title or unit.id for unit in units[:_NAMED])
        more = f" and {len(units) - _NAMED} more" if len(units) > _NAMED else ""
        self.context.account.notes.append(
            f"{self.tree}: no summary of {names}{more}: {reason}. Run the same command again to try once more."
        )

    def _report(self, done: int, total: int) -> None:
        self.context.report(f"summarising for the {self.tree}", done, total)
