"""Structures with one language task per passage, stored in batches; failures are noted and retried by the next run."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Generic, TypeVar

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.errors import TaskFailed
from hoptrail.execution.executor import is_remote_safe
from hoptrail.language.tasks import Language, Task
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.declaration import Structure
from hoptrail.structures.encoding import kept_at_once
from hoptrail.types import Kind, Span, Unit

T = TypeVar("T")

BATCH = 256
"""The least number of passages whose outputs are stored at a time."""


def in_document_order(passages: Iterable[tuple[str, Span]]) -> list[str]:
    """The ids of passages, given with their places, by document id (for lack of another order), then by place."""
    return [id_ for _, id_ in sorted((span, id_) for id_, span in passages)]


class PassageTasks(Structure, Generic[T]):
    """A structure with one language task and one stored row per passage."""

    __slots__ = ()
    doing: str
    """The name of the work in reports and notes."""
    looks_back: bool
    """Whether the task of a passage gets the passage before it too."""

    def row_id(self, passage: str) -> str:
        """The id of the row of a passage."""
        return passage

    @abstractmethod
    def stored(self, snapshot: Snapshot) -> Iterable[str]:
        """The ids of the rows that are stored."""

    @abstractmethod
    def task(self, passage: Unit, before: Unit | None) -> Task[T]:
        """The task of a passage."""

    @abstractmethod
    def keep(self, context: BuildContext, got: Sequence[tuple[Unit, T]]) -> None:
        """Store the outputs for passages."""

    def missing(self, context: BuildContext) -> list[tuple[str, Span]]:
        """Ids and places of the passages without a row. Removes the rows of removed passages."""
        snapshot = context.writer.snapshot()
        if context.change:  # rows were removed with their documents
            return list(snapshot.table.first_sources(Kind.PASSAGE, context.change.added))
        places, stored = list(snapshot.table.first_sources(Kind.PASSAGE)), set(self.stored(snapshot))
        for kind in self.units:
            context.writer.remove_units(kind, stored.difference(self.row_id(id_) for id_, _ in places))
        return [(id_, place) for id_, place in places if self.row_id(id_) not in stored]

    def update(self, context: BuildContext) -> None:
        """Ask about the passages without a row, in document order; does nothing without a language.
        Raises: EndpointRefused, EndpointBusy, BudgetExhausted, RecordingError: earlier outputs are kept.
        """
        missing, language = self.missing(context), context.language
        if language is None:
            return
        ordered = in_document_order(missing)
        size = kept_at_once(context, len(ordered), BATCH)
        for start in range(0, len(ordered), size):
            context.pause()
            got: list[tuple[Unit, T]] = []
            outputs = self._asked(context, language, ordered[start : start + size])
            try:
                for done, (unit, output) in enumerate(outputs, start + 1):
                    if isinstance(output, TaskFailed):
                        where = f"{self.doing}: passage {unit.id} of {unit.title!r}"
                        context.account.notes.append(f"{where}: {output}. Run the same command again to ask once more.")
                    else:
                        got.append((unit, output))
                    context.report(self.doing, done, len(ordered))
            finally:  # whatever stops the run: the outputs may have been paid for
                self.keep(context, got)
                context.writer.checkpoint()

    def _asked(
        self, context: BuildContext, language: Language, passages: Sequence[str]
    ) -> Iterator[tuple[Unit, T | TaskFailed]]:
        snapshot = context.writer.snapshot()
        batch = list(snapshot.texts.in_order(passages))
        before: dict[str, Unit] = {}
        if self.looks_back and not is_remote_safe(language):  # the rules get the passages alone
            near = snapshot.table.within(Kind.PASSAGE, {unit.document for unit in batch})
            pairs = pairwise(sorted(near, key=lambda unit: unit.sources))
            before = {unit.id: prior for prior, unit in pairs if prior.document == unit.document}
        outputs = context.perform(language, (self.task(unit, before.get(unit.id)) for unit in batch))
        return zip(batch, outputs, strict=True)
