"""Changes to an index in the background: the table of a workspace's jobs, and the worker by which its one thread performs them.

A stopped job keeps what was committed, which is whole documents, and its uploads, so that it can be resumed. The table is in
memory, and in the journal, which survives the process: the next one adopts the jobs of a process that has ended. A job is
recorded before it is acknowledged, and its outcome before its uploads are removed and the next job begins, so that a restart
never redoes a job after a newer one.

Clients take turns: the one that has waited longest since its last turn goes first, whatever the lengths of the queues. Documents
are committed in batches that double, so that the first can be queried at once and a thousand do not cost a thousand commits. A
batch ends early if reading takes long or its text is large; then it is another client's turn. Of a batch that is stopped nothing
is visible: its documents come, and the earlier versions that they replace go, when they are wholly indexed. Where nothing is left
to do, the thread erases removed text from the disk.

A document that uses up its parsing time halves the time for the next one of its client, down to one second; a document read in
time adds a second again. So a hundred endless documents cost minutes, not hours.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from threading import Condition, Event, Thread
from typing import BinaryIO

from hoptrail.corpus.journal import OVER, Item, JobRecord, Journal, State
from hoptrail.documents.limits import MIB
from hoptrail.errors import DocumentError, HoptrailError, Interrupted, StillRead, StorageError
from hoptrail.index.indexing import Watcher
from hoptrail.index.settings import ServerLimits
from hoptrail.serving.answer_text import one_line
from hoptrail.serving.server.metrics import Metrics
from hoptrail.serving.server.refusals import Refusal, as_refusal, not_found
from hoptrail.serving.server.uploads import LONGEST_NAME, Uploads
from hoptrail.serving.server.wire import progress_json
from hoptrail.serving.server.workspaces import Workspace
from hoptrail.structures.progress_tracker import Progress
from hoptrail.types import Document
from hoptrail.types.json_object import JsonObject

log = logging.getLogger("hoptrail.server")

KEPT_JOBS = 100
"""Finished or cancelled jobs of a workspace that are kept, also across restarts."""
SWEEP_SECONDS = 5.0
LONGEST_SWEEP_SECONDS = 300.0
"""Bounds of the doubling interval between attempts to erase text that a process still reads."""
LARGEST_BATCH = 64
SECOND = 1.0
WAIT_SECONDS = 0.5
"""Interval at which a job that waits to write checks whether it was stopped."""
TURN_SECONDS = 5.0
TURN_BYTES = MIB
"""Reading time and size of text in one turn, after which no further document is read."""


@dataclass(slots=True)
class Job(JobRecord):
    """A change to an index, with a state for each of its documents. Written by the thread that performs it, read by any; fields
    are only ever replaced. `client` is a fingerprint of its key.
    """

    state: State = State.WAITING
    progress: Progress = field(default_factory=Progress)
    error: dict[str, str] | None = None
    stop: Event = field(default_factory=Event)
    batch: int = 1  # the maximum number of documents in the next batch

    @property
    def left(self) -> list[Item]:
        """The items with something left to do; ignores cancellation."""
        return [item for item in self.items if item.is_left]

    @property
    def is_finished(self) -> bool:
        """Whether nothing more will happen, so that the job may be forgotten."""
        return self.state in OVER and (self.cancelled or not self.left)

    def set_left(self, state: State) -> None:
        """Give all items that are left to do this state."""
        for item in self.left:
            item.state = state

    def as_json(self) -> JsonObject:
        shown = ("id", "name", "state", "reason", "notes")
        items = [
            {name: getattr(item, name) for name in shown} | {"documents": list(item.documents.values())}
            for item in self.items
        ]
        about = {"id": self.id, "kind": self.kind, "state": self.state, "error": self.error}
        return {**about, "progress": progress_json(self.progress), "items": items}


class Jobs:
    """The jobs of one workspace in order of arrival. The thread that performs them starts with the first. Writing methods raise
    StorageError and IndexDamaged, and then have changed nothing.
    """

    def __init__(self, workspace: Workspace, limits: ServerLimits, metrics: Metrics) -> None:
        self._workspace = workspace
        self._most = limits.waiting_jobs
        self._uploads = Uploads(workspace.index.folder, limits, workspace.index.settings.reading)
        self._journal = Journal(workspace.index.folder)
        self._worker = Worker(workspace, self._uploads, self._journal, metrics)
        self._jobs: dict[str, Job] = {}
        self._taken_up = False
        self._turns: dict[str, float] = {}
        """When the last turn of each client ended."""
        self._thread: Thread | None = None
        self._changed = Condition()
        """Held while the jobs are read or changed. Notified when there may be one to do, and when no more are done: `_closed`."""
        self._closed = Event()

    def add(self, files: Sequence[tuple[str, BinaryIO]], client: str) -> Job:
        """Submit a job that indexes files, given by name and content. Those of no supported format are listed in it as failed.
        Raises: Refusal: no format is supported, too much is waiting, or the job is refused; then no file is stored.
        """
        self._workspace.check_changeable()
        stored, refused = list[Item](), list[Item]()
        try:
            for name, content in files:
                try:
                    stored.append(self._uploads.keep(name, content))
                except Refusal as refusal:
                    refused.append(Item("", one_line(name)[:LONGEST_NAME], State.FAILED, reason=refusal.detail))
                    if refusal.status_code != 415 or len(refused) == len(files):
                        raise
            self._uploads.settle()
            return self.submit(Job("add", stored + refused, client))
        except BaseException:
            self._uploads.discard(stored)
            raise

    def submit(self, job: Job) -> Job:
        """Accept a job: once this returns, it survives the process. Raises: Refusal: too many wait, or this is read-only."""
        self._workspace.check_changeable()
        with self._changed:
            self._begin()
            self.take_up()  # jobs accepted earlier go first
            if sum(not one.is_finished for one in self._jobs.values()) >= self._most:
                what_to_do, headers = "Wait, or discard some.", {"Retry-After": "60"}
                raise Refusal(429, "too_many", "Too many jobs are waiting in this workspace.", what_to_do, headers)
            self._uploads.hold()
            self._journal.append(job, self._uploads.mark)
            self._jobs[job.id] = job
            self._changed.notify()
            finished = [old for old in self._jobs.values() if old.is_finished]
            for old in finished[: max(0, len(finished) - KEPT_JOBS)]:
                self._forget(old)
        return job

    def take_up(self) -> None:
        """Once: adopt the jobs of processes that have ended, and remove files that no job names. Jobs and files of running
        processes, this one included, are untouched. Requests may come before the server is warm, so each of them calls it.
        """
        with self._changed:
            if self._taken_up or self._closed.is_set() or self._workspace.index.is_read_only:
                return
            if self._journal.exists or self._uploads.folder.is_dir():
                for one in self._uploads.adopt(self._journal):
                    job = Job(one.kind, one.items, one.client, one.id, one.cancelled)
                    left = State.STOPPED if job.cancelled else State.WAITING
                    job.set_left(left)
                    job.state = left if job.left else State.DONE
                    self._jobs[job.id] = job
            self._taken_up = True
            if any(job.state is State.WAITING for job in self._jobs.values()):
                self._begin()

    def all(self) -> list[Job]:
        """All jobs, newest first, including those of processes that have ended."""
        with self._changed:
            self.take_up()
            return list(reversed(self._jobs.values()))

    def get(self, name: str) -> Job:
        """The job with this id. Raises: Refusal: there is no such job here."""
        with self._changed:
            self.take_up()
            if name not in self._jobs:
                raise not_found("job")
            return self._jobs[name]

    def cancel(self, name: str) -> Job:
        """Stop a job at its next step, or before it begins. It stays cancelled across restarts."""
        with self._changed:
            job = self.get(name)
            if job.left:
                self._journal.set_cancelled(job.id, cancelled=True)
                job.cancelled = True
                job.stop.set()
        return job

    def resume(self, name: str) -> Job:
        """Continue a job that was stopped or failed. Raises: Refusal: there is none, it is not over, or nothing is left to do."""
        with self._changed:
            job = self.get(name)
            if job.state not in OVER or not job.left:
                raise Refusal(409, "not_stopped", "This job has nothing left to do.", "Look at its state.")
            self._begin()
            self._journal.set_cancelled(job.id, cancelled=False)
            job.set_left(State.WAITING)
            job.cancelled, job.stop, job.error, job.state = False, Event(), None, State.WAITING
            self._changed.notify()
        return job

    def discard(self, name: str) -> Job:
        """Forget a job, and its uploads that are not indexed. Raises: Refusal: there is no such job, or it is running."""
        with self._changed:
            job = self.get(name)
            if job.state is State.INDEXING:
                what_to_do = "Cancel it, and discard it once it has stopped."
                raise Refusal(409, "under_way", "This job is running.", what_to_do)
            self._forget(job)
            if job.state is State.WAITING:
                job.state = State.DISCARDED
        return job

    def _forget(self, job: Job) -> None:
        self._journal.forget(job.id)
        self._jobs.pop(job.id, None)
        self._uploads.discard(job.left)
        job.set_left(State.DISCARDED)

    def close(self, patience: float) -> None:
        """Stop the running job, keeping finished work, and wait up to `patience` seconds for it."""
        with self._changed:
            self._closed.set()
            self._changed.notify()
            for job in self._jobs.values():
                job.stop.set()
        if self._thread is not None:
            self._thread.join(patience)
        if self._thread is None or not self._thread.is_alive():
            self._uploads.release()

    def _begin(self) -> None:
        """Start the thread, again if it has died."""
        if self._closed.is_set():
            raise Refusal(503, "stopping", "The server is stopping.", "Try again when it is back.")
        if self._thread is None or not self._thread.is_alive():
            self._thread = Thread(target=self._work, name=f"jobs of {self._workspace.name}", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        wait: float | None = None  # seconds until the next attempt to erase text; None: there is none to erase
        while True:
            job = self._next(wait)
            if self._closed.is_set():
                return
            if job is not None:
                self._worker.take_turn(job)
                self._turns[job.client] = time.monotonic()
                if self._closed.is_set() or job.state not in OVER:
                    continue
            wait = SWEEP_SECONDS if job else min(2 * (wait or SWEEP_SECONDS), LONGEST_SWEEP_SECONDS)
            if self._swept():
                wait = None
            self._workspace.warm()

    def _next(self, wait: float | None) -> Job | None:
        """The next job to work on, of the client that has waited longest; None if none came within `wait` seconds. Its state says
        at once that it is being worked on, so that nobody discards it before its turn.
        """

        def firsts() -> Collection[Job]:  # the oldest of each client that has something to do
            return {job.client: job for job in reversed(self._jobs.values()) if job.state not in OVER}.values()

        with self._changed:
            self._changed.wait_for(lambda: self._closed.is_set() or firsts(), wait)
            job = min(firsts(), key=lambda job: self._turns.get(job.client, 0.0), default=None)
            if job and not self._closed.is_set():
                job.state = State.INDEXING
            return job

    def _swept(self) -> bool:
        """Erase removed and replaced text from the disk. Returns False while another process still reads it."""
        try:
            return self._workspace.clean()
        except HoptrailError:  # another process is writing: its commit sweeps, too
            return True
        except Exception as error:  # noqa: BLE001 - the border of the thread: later jobs must not wait forever
            self._workspace.log_failure("swept", error)
            return False


class Worker:
    """Performs the jobs of a workspace, a turn at a time."""

    def __init__(self, workspace: Workspace, uploads: Uploads, journal: Journal, metrics: Metrics) -> None:
        self._workspace = workspace
        self._uploads = uploads
        self._journal = journal
        self._metrics = metrics
        self._unrecorded: dict[str, Job] = {}  # jobs whose states the journal lacks, because it could not be written
        self._longest = workspace.index.settings.reading.parsing_seconds
        self._allowed: dict[str, int] = {}  # seconds for parsing the next document of a client, if not the longest time

    def take_turn(self, job: Job) -> None:
        """Run one turn of a job, once no other thread of this server writes, and record what came of it."""
        state = State.INDEXING
        error: Exception | None = None
        try:
            for unrecorded in list(self._unrecorded.values()):
                self._record(unrecorded)
            while not self._workspace.writing.acquire(timeout=WAIT_SECONDS):
                _check_stopped(job)
            try:
                self._turn(job)
            finally:
                self._workspace.writing.release()
            if not any(item.state is State.WAITING for item in job.items):
                state = State.DONE
                if job.left:
                    raise StorageError("the system did not let all uploads be read; their job can be resumed.")
        except Interrupted as stop:
            state, error = State.STOPPED, None if job.stop.is_set() else stop
        except Exception as failure:  # noqa: BLE001 - the border of the thread: a failure concerns only its job
            state, error = State.FAILED, failure
        self._end_turn(job, state, error)

    def _end_turn(self, job: Job, state: State, error: Exception | None) -> None:
        if state in OVER:
            job.progress = Progress()
            for item in job.items:
                item.state = item.state if item.state in OVER else State.STOPPED
        if error is not None:
            if not isinstance(error, HoptrailError):
                log.error("a job failed: %s", type(error).__name__)
            job.error = as_refusal(error).content["error"]
        try:
            self._record(job)
            self._uploads.discard(item for item in job.items if not item.is_left)
        except (HoptrailError, OSError) as failure:  # repeated before the next turn
            log.error("the outcome of a job could not be recorded: %s", type(failure).__name__)
        job.state = state

    def _record(self, job: Job) -> None:
        """Record the states of a job's items. If that fails, it is repeated before the next turn."""
        self._unrecorded[job.id] = job
        self._journal.set_items(job)
        del self._unrecorded[job.id]

    def _turn(self, job: Job) -> None:
        """One batch of a job. Raises: Interrupted: it was stopped. HoptrailError: the index cannot be written."""
        _check_stopped(job)
        index, done = self._workspace.index, [item for item in job.items if item.state is State.WAITING]
        names = [item.id for item in done]
        watcher = Watcher(stopped=job.stop.is_set, progress=partial(setattr, job, "progress"))
        with suppress(StillRead):  # done; the text leaves the files once `clean` succeeds
            if job.kind == "add":
                waiting, done = done[: job.batch], []
                job.batch = min(2 * job.batch, LARGEST_BATCH)
                # Read first: while they are added, no other process can write to the index.
                if documents := self._read_batch(job, waiting, done):
                    index.add([], self._workspace.recipes, watcher, documents=documents)
            elif job.kind == "build":
                index.add([], names, watcher)
            elif ids := self._workspace.existing_ids(names):  # others are removed already
                index.remove(sorted(ids))
        for item in done:
            item.state = State.DONE
            if job.kind == "add":
                self._metrics.documents.labels(State.DONE).inc()
                _displace(job.items[: job.items.index(item)], item)

    def _read_batch(self, job: Job, waiting: Sequence[Item], read: list[Item]) -> list[Document]:
        """Read documents, all with different names, and add their items to `read`, where something could be read."""
        names, documents, end = set[str](), list[Document](), time.monotonic() + TURN_SECONDS
        for item in waiting:
            size = sum(len(document.text) for document in documents)
            if item.whole_name in names or (read and (time.monotonic() > end or size > TURN_BYTES)):
                break
            names.add(item.whole_name)
            item.state, item.reason, item.documents = State.READING, "", {}
            try:
                documents += self._read(job, item)
                item.state = State.INDEXING
                read.append(item)
            except DocumentError as failure:
                item.state, item.reason = State.STOPPED if failure.temporary else State.FAILED, failure.reason
                self._metrics.documents.labels(item.state).inc()
                for other in job.left if failure.temporary else ():  # a later version is not to be replaced by this one
                    if other.whole_name == item.whole_name:
                        other.state, other.reason = item.state, item.reason
        return documents

    def _read(self, job: Job, item: Item) -> list[Document]:
        """The documents of an upload, the first of them read in the time that its client is allowed.
        Raises: DocumentError: none can be read, or not now. Interrupted: the job was stopped.
        """
        allowed, begun = self._allowed.get(job.client, self._longest), time.monotonic()
        documents = self._uploads.read(item, allowed, job.stop.is_set)
        try:
            found = list(islice(documents, 1))
        finally:
            used_up = time.monotonic() - begun >= allowed * SECOND
            self._allowed[job.client] = max(1, allowed // 2) if used_up else min(self._longest, allowed + 1)
        found += documents
        _check_stopped(job)
        return found


def _check_stopped(job: Job) -> None:
    """Raises: Interrupted: the job was stopped."""
    if job.stop.is_set():
        raise Interrupted("stopped; finished work is kept.")


def _displace(earlier: Sequence[Item], item: Item) -> None:
    """Mark earlier uploads of the same request whose sources a later one has taken over."""
    for other in earlier:
        remaining = {source: id_ for source, id_ in other.documents.items() if item.documents.get(source, id_) == id_}
        if replaced := len(other.documents) - len(remaining):
            reason = "replaced by a later one of the same name in the same request: give each a different name"
            other.documents, other.notes = remaining, (*other.notes, f"{replaced} documents were {reason}")
            if not remaining:
                other.state, other.reason = State.FAILED, f"it was {reason}"
