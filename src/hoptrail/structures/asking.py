"""Asking the language about passages, once each: in document order, in batches that are kept, failures noted and asked again.

Knows nothing of what is asked, or of where the outputs are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, TypeVar

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.errors import TaskFailed
from hoptrail.executing.executor import travels
from hoptrail.language.tasks import Task
from hoptrail.structures.building import Workshop
from hoptrail.structures.encoding import kept_at_once
from hoptrail.types import Kind, Span, Unit

T = TypeVar("T")

BATCH = 256
"""Passages whose outputs are kept at a time at least."""


@dataclass(frozen=True, slots=True)
class Inquiry(Generic[T]):
    """What is asked about a passage and the one before it in its document, what keeps the outputs of a batch, and what this is
    called in reports and notes. Without `looks_back` nothing stands before a passage.
    """

    task: Callable[[Unit, Unit | None], Task[T]]
    keep: Callable[[Sequence[tuple[Unit, T]]], None]
    doing: str
    looks_back: bool = False


def in_document_order(passages: Iterable[tuple[str, Span]]) -> list[str]:
    """The ids of passages that are given with their places, by rising document id, then by place in the document.

    The document's id stands in for the order of the corpus, which an index that grows and shrinks does not have.
    """
    return [id_ for _, id_ in sorted((span, id_) for id_, span in passages)]


def passages_in_order(snapshot: Snapshot, ids: Collection[str] | None = None) -> list[Unit]:
    """Passages, all or those of `ids`, in the order of `in_document_order`."""
    return sorted(snapshot.units(Kind.PASSAGE, ids), key=lambda unit: unit.sources)


def passages_before(snapshot: Snapshot, passages: Collection[Unit]) -> dict[str, Unit]:
    """By the id of each passage that is not the first of its document: the one before it."""
    documents = {unit.document for unit in passages}
    ordered = sorted(snapshot.table.within(Kind.PASSAGE, documents), key=lambda unit: unit.sources)
    wanted = {unit.id for unit in passages}
    return {
        unit.id: before for before, unit in pairwise(ordered) if unit.id in wanted and before.document == unit.document
    }


def ask_about(workshop: Workshop, passages: Iterable[tuple[str, Span]], inquiry: Inquiry[T]) -> None:
    """Ask about passages, given by ids and places, in document order; nothing where the workshop has no language. One that
    travels (rules) is handed passages alone.

    Raises:
        EndpointRefused, EndpointBusy, BudgetExhausted, RecordingError: what was got until then is kept.
    """
    language = workshop.language
    if language is None:
        return
    snapshot = workshop.writer.snapshot()
    ordered = in_document_order(passages)
    size = kept_at_once(workshop, len(ordered), BATCH)
    for start in range(0, len(ordered), size):
        workshop.pause()
        got: list[tuple[Unit, T]] = []
        try:
            batch = passages_in_order(snapshot, ordered[start : start + size])
            before = passages_before(snapshot, batch) if inquiry.looks_back and not travels(language) else {}
            tasks = (inquiry.task(unit, before.get(unit.id)) for unit in batch)
            outputs = workshop.perform(language, tasks)
            for done, (unit, output) in enumerate(zip(batch, outputs, strict=True), start + 1):
                if isinstance(output, TaskFailed):
                    workshop.account.notes.append(_failed(inquiry.doing, unit, output))
                else:
                    got.append((unit, output))
                workshop.report(inquiry.doing, done, len(ordered))
        finally:  # it may have been paid for: kept, whatever stops the run
            inquiry.keep(got)
            workshop.writer.checkpoint()


def _failed(doing: str, passage: Unit, failure: TaskFailed) -> str:
    return (
        f"{doing}: passage {passage.id} of {passage.title!r}: {failure}. Run the same command again to ask once more."
    )
