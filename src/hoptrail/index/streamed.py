"""An answer hop by hop: the work is done in a thread, which stops when nobody listens any more."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from queue import SimpleQueue
from threading import Event

from hoptrail.language.listener import Listener, ObservedLanguage
from hoptrail.language.tasks import Language
from hoptrail.types import Answer, Hop


def streamed(work: Callable[[Language], Answer], language: Language) -> Generator[Hop | Answer, None, None]:
    """The hops that `work` finds with `language`, then its answer. Raises: what `work` raises."""
    found: SimpleQueue[Hop | None] = SimpleQueue()
    left = Event()
    observed = ObservedLanguage(language, Listener(found=lambda hop, _: found.put(hop), stopped=left.is_set))
    with ThreadPoolExecutor(1, thread_name_prefix="answer") as pool:
        answer = pool.submit(copy_context().run, work, observed)
        answer.add_done_callback(lambda _: found.put(None))
        try:
            while (hop := found.get()) is not None:
                yield hop
            yield answer.result()
        finally:
            left.set()
