"""Where work is done: one function over many batches, the results in the order of the batches.

Whoever has work says *what* is done with a batch, an executor says *where*. Only the process that calls `map` writes anything:
the functions take a batch and give a result, and leave nothing behind, so that a batch may be done again elsewhere when its
worker is lost. Knows nothing of documents, encoders or indexes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, runtime_checkable

A = TypeVar("A")
B = TypeVar("B")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Work(Generic[A, B]):
    """What is done with every batch: `function` gives the same for the same batch wherever it runs.

    It and its batches are picklable: a function of a module, or such a one with its first arguments filled in
    (`functools.partial`), which an executor may send once and use for many batches. `doing` and `name`, which says what a
    batch is, stand in errors.
    """

    doing: str
    function: Callable[[A], B]
    name: Callable[[A], str]


class Executor(Protocol):
    """Does work somewhere."""

    def map(self, work: Work[A, B], batches: Iterable[A]) -> Iterator[B]:
        """One result a batch, in order. Batches are drawn as there is room for them, never all at once.

        Raises:
            WorkFailed: a batch was lost with every worker that tried it, or its function failed there; it is named.
            HoptrailError: what the function raised, as it was raised.
        """
        ...


class LocalExecutor:
    """In this process, one batch after the other, when its result is asked for."""

    def map(self, work: Work[A, B], batches: Iterable[A]) -> Iterator[B]:
        """See `Executor.map`. An error that is not ours comes as it is, with the batch in its notes."""
        for batch in batches:
            try:
                result = work.function(batch)
            except Exception as error:
                error.add_note(f"while {work.doing} {work.name(batch)}")
                raise
            yield result


LOCAL_EXECUTOR = LocalExecutor()


@runtime_checkable
class RemoteSafe(Protocol):
    """Something that may be sent to another process and does the same there: no secret, no ledger, no queue is in it."""

    @property
    def is_remote_safe(self) -> bool: ...


def is_remote_safe(thing: object) -> bool:
    """Whether a thing says of itself that it may be sent to another process."""
    return isinstance(thing, RemoteSafe) and thing.is_remote_safe


def batched(items: Iterable[T], most: int, size: Callable[[T], int] = lambda _: 0, room: int = 1) -> Iterator[list[T]]:
    """Runs of at most `most` items that end once their sizes together reach `room`: the same runs for the same items."""
    batch: list[T] = []
    held = 0
    for item in items:
        batch.append(item)
        held += size(item)
        if len(batch) >= most or held >= room:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


def from_to(names: Sequence[str]) -> str:
    """How a batch of named items is called in errors."""
    if len(names) <= NAMED:
        return ", ".join(names)
    return f"{len(names)} items, {names[0]} to {names[-1]}"


NAMED = 3
"""Items of a batch that are all named; of more only the first and the last."""
