"""Converts pages in child processes, several at once, and gives them back in order.

A process is needed even for one worker: the parser cannot be interrupted, and some texts would hold it for hours. A batch that
is not done in time, or that ends its process, is done again page by page, so that only the page to blame is lost. A child ends
with its parent, however that ends.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field

from hoptrail.documents.child import receive, send
from hoptrail.documents.wikipedia.child import FIELDS, LARGEST
from hoptrail.documents.wikipedia.converting import Converted, Form, WikipediaSettings
from hoptrail.documents.wikipedia.dump import RawPage, title_of
from hoptrail.documents.wikipedia.page import Site

Batch = Sequence[RawPage]
PATIENCE = 20
"""Seconds by the clock for one of CPU time, which the child counts: the machine may be busy."""


@dataclass
class _Child:
    """A process, started when it is first needed and again after it was ended."""

    site: Site
    settings: WikipediaSettings
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def converted(self, batch: Batch) -> list[Converted]:
        """What becomes of the pages; pages that are at fault already are passed through."""
        whole = [page.data for page in batch if not page.fault]
        made = iter(self._patiently(whole) if whole else [])
        return [Converted(Form.FAULT, page.title, detail=page.fault) if page.fault else next(made) for page in batch]

    def _patiently(self, pages: Sequence[bytes]) -> list[Converted]:
        made = self._ask(pages)
        if made is not None:
            return made
        if len(pages) > 1:
            return [one for page in pages for one in self._patiently([page])]
        seconds = self.settings.seconds
        reason = f"cannot be parsed: it takes longer than {seconds} seconds, or ends its parser"
        return [Converted(Form.FAULT, title_of(pages[0]), detail=reason)]

    def _ask(self, pages: Sequence[bytes]) -> list[Converted] | None:
        """None if the process did not answer in time, or ended."""
        process = self.process = self.process or self._started()
        clock = threading.Timer(PATIENCE * self.settings.seconds, process.kill)
        clock.start()
        try:
            send(process.stdin, {"sizes": [len(page) for page in pages]}, b"".join(pages))  # type: ignore[arg-type]
            reply = receive(process.stdout, LARGEST)  # type: ignore[arg-type]
        except (BrokenPipeError, ConnectionResetError):
            reply = None
        finally:
            clock.cancel()
        if reply is None:
            self.end()
            return None
        return [_from_row(row) for row in json.loads(reply[1])]

    def _started(self) -> subprocess.Popen[bytes]:
        """A session of its own keeps Ctrl-C away from it: the parent finishes what it has begun."""
        detail = [json.dumps(asdict(self.site)), json.dumps(asdict(self.settings))]
        command = [sys.executable, "-P", "-m", "hoptrail.documents.wikipedia.child", *detail]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)

    def end(self) -> None:
        process, self.process = self.process, None
        if process is None:
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        process.wait()


@contextmanager
def converting(site: Site, settings: WikipediaSettings, workers: int) -> Iterator[Pool]:
    """Somewhere to have pages converted by `workers` processes, which end with the body."""
    children = [_Child(site, settings) for _ in range(workers)]
    threads = ThreadPoolExecutor(workers)
    try:
        yield Pool(children, threads)
    finally:
        threads.shutdown(cancel_futures=True)
        for child in children:
            child.end()


@dataclass(frozen=True)
class Pool:
    """Children and the threads that wait for them. Use `converting`."""

    children: Sequence[_Child]
    threads: ThreadPoolExecutor

    def each(self, batches: Iterable[Batch]) -> Iterator[list[Converted]]:
        """The batches, converted, in order; at most two a child are held."""
        free = deque(self.children)

        def converted(batch: Batch) -> list[Converted]:
            child = free.popleft()  # there are as many threads as children
            try:
                return child.converted(batch)
            finally:
                free.append(child)

        waiting: deque[Future[list[Converted]]] = deque()
        for batch in batches:
            waiting.append(self.threads.submit(converted, batch))
            if len(waiting) >= 2 * len(self.children):
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _from_row(row: list[object]) -> Converted:
    given = dict(zip(FIELDS, row, strict=True))
    given["form"] = Form(str(given["form"]))
    for name in ("pairs", "dropped"):
        given[name] = tuple(map(tuple, given[name]))  # type: ignore[call-overload]
    return Converted(**given)  # type: ignore[arg-type]
