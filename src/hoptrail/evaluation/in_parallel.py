"""A threaded `map` that yields results as they are done.

If the work on an item raises, items under way are finished and yielded first, and no further item is begun.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import TypeVar

from hoptrail.errors import UsageError

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_threaded(items: Iterable[Item], work: Callable[[Item], Result], threads: int) -> Iterator[Result]:
    """Yield `work(item)` of every item in order of completion. With one thread, the calling thread does the work in order.

    An item is taken only when a thread is free, so that `items` may end the work early.

    Raises:
        UsageError: `threads` is below 1.
    """
    if threads < 1:
        raise UsageError(f"at least one thread is needed, not {threads}")
    return map(work, items) if threads == 1 else _threaded(iter(items), work, threads)


def _threaded(items: Iterator[Item], work: Callable[[Item], Result], threads: int) -> Iterator[Result]:
    failure: BaseException | None = None
    with ThreadPoolExecutor(threads, thread_name_prefix="hoptrail-question") as pool:
        under_way: set[Future[Result]] = {pool.submit(work, item) for item in islice(items, threads)}
        while under_way:
            done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
            for future in done:
                error = future.exception()
                failure = failure or error
                if error is None:
                    yield future.result()
            if failure is None:
                under_way |= {pool.submit(work, item) for item in islice(items, threads - len(under_way))}
    if failure is not None:
        raise failure
