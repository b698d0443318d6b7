"""Several items worked on at once: results as they come, whatever the number of threads.

An item whose work raises stops the rest: what is under way is finished and given first, and none is begun. Knows nothing of
questions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import TypeVar

from hoptrail.errors import UsageError

Item = TypeVar("Item")
Result = TypeVar("Result")


def results_of(items: Iterable[Item], work: Callable[[Item], Result], threads: int) -> Iterator[Result]:
    """`work` of every item in the order in which they are done; one thread takes them in turn, and is this thread.

    An item is taken only when a thread is free for it, so that `items` may end the work early.

    Raises:
        UsageError: there is to be less than one thread.
    """
    if threads < 1:
        raise UsageError(f"at least one thread is needed, not {threads}")
    return map(work, items) if threads == 1 else _threaded(iter(items), work, threads)


def _threaded(items: Iterator[Item], work: Callable[[Item], Result], threads: int) -> Iterator[Result]:
    stopped: BaseException | None = None
    with ThreadPoolExecutor(threads, thread_name_prefix="hoptrail-question") as pool:
        under_way: set[Future[Result]] = {pool.submit(work, item) for item in islice(items, threads)}
        while under_way:
            done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
            for future in done:
                error = future.exception()
                stopped = stopped or error
                if error is None:
                    yield future.result()
            if stopped is None:
                under_way |= {pool.submit(work, item) for item in islice(items, threads - len(under_way))}
    if stopped is not None:
        raise stopped
