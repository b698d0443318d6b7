"""Converts pages in several child processes and yields them in order.

Even one worker needs a process: the parser cannot be interrupted, and some texts would occupy it for hours. A batch that times
out or ends its process is repeated page by page, so that only the faulty page is lost. A child ends when its parent does.
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
"""Wall-clock seconds allowed per CPU second, which the child counts: the machine may be busy."""


@dataclass
class _Child:
    """A process that is started on first use, and again after it was ended."""

    site: Site
    settings: WikipediaSettings
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def convert(self, batch: Batch) -> list[Converted]:
        """Convert the pages of a batch; pages with a fault become faults."""
        valid = [page.data for page in batch if not page.fault]
        results = iter(self._convert_valid(valid) if valid else [])
        return [Converted(Form.FAULT, page.title, detail=page.fault) if page.fault else next(results) for page in batch]

    def _convert_valid(self, pages: Sequence[bytes]) -> list[Converted]:
        results = self._request(pages)
        if results is not None:
            return results
        if len(pages) > 1:
            return [converted for page in pages for converted in self._convert_valid([page])]
        seconds = self.settings.seconds
        reason = f"cannot be parsed: it takes longer than {seconds} seconds, or ends its parser"
        return [Converted(Form.FAULT, title_of(pages[0]), detail=reason)]

    def _request(self, pages: Sequence[bytes]) -> list[Converted] | None:
        """Let the process convert pages. Returns None if it does not answer in time, or ends."""
        process = self.process = self.process or self._start()
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

    def _start(self) -> subprocess.Popen[bytes]:
        """A new session keeps Ctrl-C away from the child: the parent finishes the batches under way."""
        arguments = [json.dumps(asdict(self.site)), json.dumps(asdict(self.settings))]
        command = [sys.executable, "-P", "-m", "hoptrail.documents.wikipedia.child", *arguments]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)

    def end(self) -> None:
        """Kill the process, if it runs."""
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
    """A pool of `workers` processes that convert pages; they end with the `with` block."""
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


def _from_row(row: list[object]) -> Converted:
    values = dict(zip(FIELDS, row, strict=True))
    values["form"] = Form(str(values["form"]))
    for name in ("pairs", "dropped"):
        values[name] = tuple(map(tuple, values[name]))  # type: ignore[call-overload]
    return Converted(**values)  # type: ignore[arg-type]
