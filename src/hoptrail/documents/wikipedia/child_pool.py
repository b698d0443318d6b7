"""Converts pages in several child processes and yields them in order.

Even one worker needs a process: the parser cannot be interrupted, and some texts would occupy it for hours. A batch that times
out or ends its process is repeated page by page, so that only the faulty page is lost. A child ends when its parent does.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from hoptrail.documents.child_process import ChildProcess
from hoptrail.documents.wikipedia.child import LARGEST
from hoptrail.documents.wikipedia.converting import Converted, Form, WikipediaSettings
from hoptrail.documents.wikipedia.dump import RawPage, title_of
from hoptrail.documents.wikipedia.page import Site
from hoptrail.json_object import JsonObject

Batch = Sequence[RawPage]
PATIENCE = 20
"""Wall-clock seconds allowed per CPU second, which the child counts: the machine may be busy."""


class _Child:
    """Converts pages in a process, which is started on first use, and again after it was ended."""

    def __init__(self, site: Site, settings: WikipediaSettings) -> None:
        self._seconds = settings.seconds
        self.process = ChildProcess("hoptrail.documents.wikipedia.child", asdict(site), asdict(settings))

    def convert(self, batch: Batch) -> list[Converted]:
        """Convert the pages of a batch; pages with a fault become faults."""
        valid = [page.data for page in batch if not page.fault]
        results = iter(self._convert_valid(valid) if valid else [])
        return [Converted(Form.FAULT, page.title, detail=page.fault) if page.fault else next(results) for page in batch]

    def _convert_valid(self, pages: Sequence[bytes]) -> list[Converted]:
        if (results := self._request(pages)) is not None:
            return results
        if len(pages) > 1:
            return [converted for page in pages for converted in self._convert_valid([page])]
        reason = f"cannot be parsed: it takes longer than {self._seconds} seconds, or ends its parser"
        return [Converted(Form.FAULT, title_of(pages[0]), detail=reason)]

    def _request(self, pages: Sequence[bytes]) -> list[Converted] | None:
        """Let the process convert pages. Returns None if it does not answer in time, or ends."""
        request = {"sizes": [len(page) for page in pages]}, b"".join(pages)
        started = self.process.start()
        reply = self.process.ask(request, PATIENCE * self._seconds, LARGEST) if started else None
        if reply is None:
            self.process.end()
            return None
        return [_converted(values) for values in json.loads(reply[1])]


@contextmanager
def converting(site: Site, settings: WikipediaSettings, workers: int) -> Iterator[Pool]:
    """A pool of `workers` processes that convert pages; they end with the `with` block."""
    children = [_Child(site, settings) for _ in range(workers)]
    threads = ThreadPoolExecutor(workers)
    try:
        yield Pool(children, threads)
    finally:
        threads.shutdown(cancel_futures=True)
        for child in children:
            child.process.end()


@dataclass(frozen=True)
class Pool:
    """Children and the threads that wait for them. Use `converting`."""

    children: Sequence[_Child]
    threads: ThreadPoolExecutor

    def each(self, batches: Iterable[Batch]) -> Iterator[list[Converted]]:
        """Yield the converted batches in order. At most two batches per child are in memory."""
        free = deque(self.children)

        def convert(batch: Batch) -> list[Converted]:
            child = free.popleft()  # there are as many threads as children
            try:
                return child.convert(batch)
            finally:
                free.append(child)

        pending: deque[Future[list[Converted]]] = deque()
        for batch in batches:
            pending.append(self.threads.submit(convert, batch))
            if len(pending) >= 2 * len(self.children):
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


def _converted(values: JsonObject) -> Converted:
    pairs, dropped = (tuple(map(tuple, values[name])) for name in ("pairs", "dropped"))
    return Converted(**{**values, "form": Form(values["form"]), "pairs": pairs, "dropped": dropped})
