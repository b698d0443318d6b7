"""What changes an index, in the background: one job at a time in a workspace, each with a state for every document.

Documents are committed in batches that double, so that the first can be asked about at once and a thousand do not cost a
thousand commits. A job that is stopped keeps what was committed; the batch it was in is kept too, unseen, and the job can be
resumed. Jobs are forgotten with the process; uploads that were not indexed by then are taken up again by the next.
"""

from __future__ import annotations

import logging
import secrets
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from typing import Any

from hoptrail.errors import DocumentError, HoptrailError, Interrupted, StillRead
from hoptrail.indexing import Watcher
from hoptrail.serving.server.metrics import Metrics
from hoptrail.serving.server.refusals import Refusal, as_refusal, not_found, stopping
from hoptrail.serving.server.uploads import Upload, Uploads
from hoptrail.serving.server.workspaces import Workspace

log = logging.getLogger("hoptrail.server")

LARGEST_BATCH = 64
KEPT_JOBS = 100
"""Finished jobs that are remembered."""
SWEEP_SECONDS = 5.0
LONGEST_SWEEP_SECONDS = 300.0
"""Between attempts to clear away what somebody still reads: twice as long after each."""


class State(StrEnum):
    """Of a job, and of each of its documents."""

    WAITING = "waiting"
    READING = "reading"
    INDEXING = "indexing"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"


OVER = frozenset({State.DONE, State.FAILED, State.STOPPED})


@dataclass(slots=True)
class Item:
    """One document of a job: an upload, or the id of a document to remove. `documents` are what became of an upload: ids by
    their sources.
    """

    id: str
    name: str
    upload: Upload | None = None
    state: State = State.WAITING
    reason: str = ""
    documents: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.name,
            "state": self.state.value,
            "reason": self.reason,
            "documents": list(self.documents.values()),
            "notes": list(self.notes),
        }


@dataclass(slots=True)
class Job:
    """Written by the thread that does it, read by whoever asks; each field is replaced as a whole."""

    kind: str
    items: list[Item]
    id: str = field(default_factory=lambda: f"j{secrets.token_hex(10)}")
    state: State = State.WAITING
    progress: tuple[str, int, int] = ("", 0, 0)
    error: dict[str, str] | None = None
    stop: Event = field(default_factory=Event)

    def report(self, what: str, done: int, total: int) -> None:
        self.progress = (what, done, total)

    def as_json(self) -> dict[str, Any]:
        what, done, total = self.progress
        return {
            "id": self.id,
            "kind": self.kind,
            "state": self.state.value,
            "progress": {"what": what, "done": done, "total": total},
            "error": self.error,
            "items": [item.as_json() for item in self.items],
        }


class Jobs:
    """The jobs of one workspace, done in turn by one thread, which begins with the first."""

    def __init__(self, workspace: Workspace, uploads: Uploads, metrics: Metrics) -> None:
        self.uploads = uploads
        self._workspace = workspace
        self._metrics = metrics
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self._lock = Lock()
        self._thread: Thread | None = None
        self._closed = False

    def add(self, uploads: Sequence[Upload], refused: Mapping[str, str] | None = None) -> Job:
        """Have uploads indexed. What was `refused` (name to reason) is part of the job, for whoever watches it."""
        items = [Item(upload.id, upload.name, upload) for upload in uploads]
        items += [Item("", name, state=State.FAILED, reason=reason) for name, reason in (refused or {}).items()]
        return self._submit(Job("add", items))

    def remove(self, documents: Sequence[tuple[str, str]]) -> Job:
        """Have documents removed, given by id and title, with everything derived from them alone."""
        return self._submit(Job("remove", [Item(name, title) for name, title in documents]))

    def take_up(self) -> None:
        """Go on with what processes that have ended have left."""
        if unfinished := self.uploads.unfinished():
            self.add(unfinished)

    def all(self) -> list[Job]:
        """The newest first."""
        with self._lock:
            return list(reversed(self._jobs.values()))

    def get(self, name: str) -> Job:
        """Raises: Refusal: there is no such job here."""
        with self._lock:
            if name not in self._jobs:
                raise not_found("job")
            return self._jobs[name]

    def cancel(self, name: str) -> Job:
        """Stop a job at its next step; one that waits does not begin."""
        job = self.get(name)
        job.stop.set()
        return job

    def resume(self, name: str) -> Job:
        """Go on with a job that was stopped or failed.

        Raises:
            Refusal: there is no such job, or it is not over, or nothing of it is left to do.
        """
        job = self.get(name)
        with self._lock:
            left = [item for item in job.items if item.state is State.STOPPED]
            if job.state not in OVER or not left:
                raise Refusal(409, "not_stopped", "This job has nothing left to do.", "Look at its state.")
            for item in left:
                item.state = State.WAITING
            job.stop, job.error, job.state = Event(), None, State.WAITING
        self._enqueue(job)
        return job

    def close(self, patience: float) -> None:
        """Stop what runs, keeping what is finished, and wait so many seconds for that."""
        with self._lock:
            self._closed = True
            thread = self._thread
        for job in self.all():
            job.stop.set()
        self._queue.put(None)
        if thread is not None:
            thread.join(patience)
        if thread is None or not thread.is_alive():
            self.uploads.release()

    def _submit(self, job: Job) -> Job:
        self._workspace.check_changeable()
        with self._lock:
            self._jobs[job.id] = job
            over = [name for name, old in self._jobs.items() if old.state in OVER]
            for name in over[: max(0, len(over) - KEPT_JOBS)]:
                del self._jobs[name]
        self._enqueue(job)
        return job

    def _enqueue(self, job: Job) -> None:
        with self._lock:
            if self._closed:
                raise stopping()
            if self._thread is None or not self._thread.is_alive():
                self._thread = Thread(target=self._work, name=f"jobs of {self._workspace.name}", daemon=True)
                self._thread.start()
        self._queue.put(job)

    def _work(self) -> None:
        sweep_after: float | None = None
        while True:
            try:
                job = self._queue.get(timeout=sweep_after)
            except Empty:
                wait = min(2 * (sweep_after or SWEEP_SECONDS), LONGEST_SWEEP_SECONDS)
            else:
                if job is None:
                    return
                try:
                    self._do(job)
                except Exception as error:  # noqa: BLE001 - the border of the thread: a job's failure is that job's alone
                    self._end(job, State.FAILED, error)
                wait = SWEEP_SECONDS
            sweep_after = None if self._swept() else wait
            self._warm()

    def _swept(self) -> bool:
        """Whether nothing is left on the disk of what was removed or replaced; whoever reads may keep it a while."""
        if self._closed:
            return True
        try:
            return self._workspace.clean()
        except HoptrailError:  # somebody else writes: what he commits sweeps, too
            return True
        except Exception as error:  # noqa: BLE001 - the border of the thread: later jobs must not wait for ever
            log.error("workspace %s could not be swept: %s", self._workspace.name, type(error).__name__)
            return False

    def _warm(self) -> None:
        try:
            self._workspace.warm()
        except HoptrailError:
            pass  # who asks next is told what is wrong
        except Exception as error:  # noqa: BLE001 - as above
            log.error("workspace %s could not be made ready: %s", self._workspace.name, type(error).__name__)

    def _do(self, job: Job) -> None:
        job.state = State.INDEXING
        perform = self._add if job.kind == "add" else self._remove
        try:
            with suppress(StillRead):  # it is done, and out of all files when `clean` has succeeded
                perform(job)
        except Interrupted as stop:
            self._end(job, State.STOPPED, None if job.stop.is_set() else stop)
        else:
            self._end(job, State.DONE)

    def _end(self, job: Job, state: State, error: Exception | None = None) -> None:
        for item in job.items:
            if item.state not in OVER:
                item.state = State.STOPPED
        if error is not None:
            if not isinstance(error, HoptrailError):
                log.error("a job failed: %s", type(error).__name__)
            job.error = as_refusal(error).content["error"]
        job.progress = ("", 0, 0)
        job.state = state

    def _add(self, job: Job) -> None:
        waiting = [item for item in job.items if item.state is State.WAITING]
        size = 1
        while waiting:
            batch = self._together(waiting[:size])
            waiting = waiting[len(batch) :]
            with self.uploads.preparing():
                self._add_batch(job, batch)
            size = min(2 * size, LARGEST_BATCH)

    def _together(self, waiting: Sequence[Item]) -> Sequence[Item]:
        """The first of them, as many as have names of their own."""
        places = [self.uploads.prepared(item.upload) for item in waiting if item.upload]
        end = next((number for number, place in enumerate(places) if place in places[:number]), len(waiting))
        return waiting[:end]

    def _add_batch(self, job: Job, batch: Sequence[Item]) -> None:
        prepared = [(item, upload) for item in batch if (upload := item.upload) and self._prepare(job, item, upload)]
        if not prepared:
            return
        paths = [self.uploads.prepared(upload) for _, upload in prepared]
        watcher = Watcher(job.report, job.stop.is_set)
        limits = self.uploads.limits(upload for _, upload in prepared)
        # A line that could not be read is not among those that were prepared, and what it said before stays.
        report = self._workspace.index.add(paths, self._workspace.recipes, watcher, limits=limits, keep_lines=True)
        for item, upload in prepared:
            reason = self.uploads.lost(upload, report.failures)
            self.uploads.discard(upload)
            if reason:
                self._failed(item, reason)
            else:
                self._over(item, State.DONE)
                _displace(job.items[: job.items.index(item)], item)

    def _prepare(self, job: Job, item: Item, upload: Upload) -> bool:
        """Read one document; False if it could not be."""
        _check(job.stop.is_set)
        item.state = State.READING
        try:
            found = self.uploads.prepare(upload)
        except DocumentError as failure:
            self.uploads.discard(upload)
            self._failed(item, failure.reason)
            return False
        item.documents, item.notes, item.state = found.documents, found.notes, State.INDEXING
        return True

    def _failed(self, item: Item, reason: str) -> None:
        item.reason, item.documents = reason, {}
        self._over(item, State.FAILED)

    def _over(self, item: Item, state: State) -> None:
        item.state = state
        self._metrics.documents.labels(state.value).inc()

    def _remove(self, job: Job) -> None:
        _check(job.stop.is_set)
        left = [item for item in job.items if item.state is State.WAITING]
        self._workspace.index.remove([item.id for item in left])
        for item in left:
            item.state = State.DONE


def _displace(earlier: Sequence[Item], item: Item) -> None:
    """Tell what earlier uploads of the same request have lost to one that stands at the same sources now."""
    for other in earlier:
        left = {source: id_ for source, id_ in other.documents.items() if item.documents.get(source, id_) == id_}
        if gone := len(other.documents) - len(left):
            told = "taken by a later one of the same name in the same request: give each a name of its own"
            other.documents = left
            other.notes = (*other.notes, f"the place of {gone} documents was {told}")
            if not left:
                other.state, other.reason = State.FAILED, f"its place was {told}"


def _check(stopped: Callable[[], bool]) -> None:
    if stopped():
        raise Interrupted("stopped; what was finished is kept.")
