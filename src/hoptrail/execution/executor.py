"""Executors: apply a function to many batches somewhere, and return the results in the order of the batches.

`Work` says what is done with a batch, the executor where. Functions map a batch to a result and may be repeated elsewhere when
their worker is lost; only the process that calls `map` writes to its index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

A = TypeVar("A")
B = TypeVar("B")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Work(Generic[A, B]):
    """What is done with every batch: `function` returns the same result for the same batch wherever it runs.

    Function and batches are picklable. The function is one of a module, or a `functools.partial` of one, which an executor may
    send once for many batches. Errors contain `doing` and the batch's `name`.
    """

    doing: str
    function: Callable[[A], B]
    name: Callable[[A], str]


class Executor(Protocol):
    def map(self, work: Work[A, B], batches: Iterable[A]) -> Iterator[B]:
        """One result per batch, in order. Batches are consumed as there is room for them, never all at once.

        Raises:
            WorkFailed: a batch was lost with every worker that tried it, or its function failed there; the message names it.
            HoptrailError: the function's error, unchanged.
        """
        ...


class LocalExecutor:
    """Runs batches in this process, one after the other, when their results are requested."""

    def map(self, work: Work[A, B], batches: Iterable[A]) -> Iterator[B]:
        """See `Executor.map`. Other errors are raised unchanged, with the batch in their notes."""
        for batch in batches:
            try:
                result = work.function(batch)
            except Exception as error:  # re-raised with a note
                error.add_note(f"while {work.doing} {work.name(batch)}")
                raise
            yield result


LOCAL_EXECUTOR = LocalExecutor()


def is_remote_safe(thing: object) -> bool:
    """Whether a thing can be sent to another process and works the same there, by its own attribute of this name. It must have
    no secret, ledger or queue, and neither must its parts: a language may hold an encoder that is not remote-safe.
    """
    return getattr(thing, "is_remote_safe", False)


def batched(items: Iterable[T], most: int, size: Callable[[T], int] = lambda _: 0, room: int = 1) -> Iterator[list[T]]:
    """Runs of at most `most` items, each ending once the total size reaches `room`: the same runs for the same items."""
    batch: list[T] = []
    total = 0
    for item in items:
        batch.append(item)
        total += size(item)
        if len(batch) >= most or total >= room:
            yield batch
            batch, total = [], 0
    if batch:
        yield batch


def from_to(names: Sequence[str]) -> str:
    """The name of a batch of named items in errors: up to three names, or the first and the last."""
    if len(names) <= 3:
        return ", ".join(names)
    return f"{len(names)} items, {names[0]} to {names[-1]}"
