"""Converts pages in child processes, in order: the parser cannot be interrupted, and some texts would occupy it for hours.

A batch that ends its process, or takes too much of it, is repeated page by page, so that only the page at fault is lost. A child
ends with its pipe, thus with its parent.
"""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from multiprocessing import get_context
from multiprocessing.connection import Connection

from hoptrail.documents.decoding import cleaned
from hoptrail.documents.limits import MIB
from hoptrail.text.words import words_in
from hoptrail_papers.hirag.wikipedia.dump import WikiPage
from hoptrail_papers.hirag.wikipedia.wikitext import Pair, converted, lists_namesakes, without_unseen

SECONDS = 10  # CPU seconds for a page, or for a batch
MEMORY = 1024 * MIB  # address space of a child
_PATIENCE = 20  # seconds of the clock for each CPU second: the machine may be busy


class PageForm(StrEnum):
    """What a page is."""

    ENTITY = "entity"
    REDIRECT = "redirect"
    DISAMBIGUATION = "disambiguation"
    LEFT_OUT = "left out"
    FAULT = "fault"


@dataclass(frozen=True, slots=True)
class Converted:
    """A converted page. `detail`: the target of a redirect, or why a page is left out or at fault."""

    page: WikiPage
    form: PageForm
    text: str = ""
    pairs: tuple[Pair, ...] = ()
    words: int = 0
    detail: str = ""


def convert(page: WikiPage, names: Sequence[str]) -> Converted:
    """Convert a page. `names`: the wiki's own names for files and categories. Errors become a result of the form FAULT."""
    if page.namespace != "0":
        return Converted(page, PageForm.LEFT_OUT, detail="in another namespace than articles")
    if page.redirect:
        return Converted(page, PageForm.REDIRECT, detail=page.redirect.partition("#")[0].replace("_", " ").strip())
    if page.fault:
        return Converted(page, PageForm.FAULT, detail=page.fault)
    if page.model != "wikitext":
        return Converted(page, PageForm.LEFT_OUT, detail=f"no wikitext but {page.model}")
    wikitext = without_unseen(page.text)
    if lists_namesakes(page.title, wikitext):
        return Converted(page, PageForm.DISAMBIGUATION)
    try:
        text, pairs = converted(wikitext, names)
    except Exception as error:  # noqa: BLE001 - a parser of another's, on text from anywhere: any error costs this page only
        return Converted(page, PageForm.FAULT, detail=f"cannot be parsed ({type(error).__name__}: {error})"[:300])
    text = cleaned(text).text
    if not text:
        return Converted(page, PageForm.LEFT_OUT, detail="without text")
    return Converted(page, PageForm.ENTITY, text, tuple(pairs), words_in(text))


@dataclass
class Child:
    """One process, which is started on first use, and again after it was lost."""

    names: Sequence[str]
    seconds: int = SECONDS
    _batch: Sequence[WikiPage] = ()
    _pipe: Connection | None = None

    def send(self, batch: Sequence[WikiPage]) -> None:
        self._batch = batch
        if self._pipe is None:
            context = get_context("spawn")
            self._pipe, far = context.Pipe()
            self._process = context.Process(target=_serve, args=(far, tuple(self.names), self.seconds), daemon=True)
            self._process.start()
            far.close()
        with suppress(OSError):  # it has ended, which `receive` finds
            self._pipe.send(batch)

    def receive(self) -> list[Converted]:
        pipe, batch = self._pipe, self._batch
        try:
            if pipe is not None and pipe.poll(_PATIENCE * self.seconds):
                result: list[Converted] = pipe.recv()
                return result
        except (EOFError, OSError):
            pass
        self.end()
        if len(batch) > 1:
            results = []
            for page in batch:
                self.send([page])
                results += self.receive()
            return results
        reason = f"takes more than {self.seconds} seconds or too much memory to parse"
        return [Converted(page, PageForm.FAULT, detail=reason) for page in batch]

    def end(self) -> None:
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None
            self._process.kill()
            self._process.join()


def convert_all(batches: Iterable[Sequence[WikiPage]], children: Sequence[Child]) -> Iterator[list[Converted]]:
    """Yield the converted batches in their order; each child has at most one at a time."""
    free, busy = deque(children), deque[Child]()
    try:
        for batch in batches:
            if not free:
                yield (done := busy.popleft()).receive()
                free.append(done)
            busy.append(free.popleft())
            busy[-1].send(batch)
        while busy:
            yield busy.popleft().receive()
    finally:
        for child in children:
            child.end()


def _serve(pipe: Connection, names: Sequence[str], seconds: int) -> None:
    """In the child: convert batches until the pipe ends. The system ends the process that uses up its seconds."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent answers it
    with suppress(ImportError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with suppress(EOFError, OSError):
        while True:
            batch = pipe.recv()
            _limit_time(seconds)
            results = [convert(page, names) for page in batch]
            _limit_time(0)
            pipe.send(results)


def _limit_time(seconds: int) -> None:
    if hasattr(signal, "setitimer"):  # not on Windows, where the parent's clock is the limit
        signal.setitimer(signal.ITIMER_PROF, seconds)
