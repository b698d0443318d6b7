"""The thread that runs the jobs of a workspace, and afterwards erases removed text from the disk.

Clients take turns: the one that has used the least time goes first, whatever the lengths of the queues. Documents are committed
in batches that double, so that the first can be queried at once and a thousand do not cost a thousand commits. A batch ends early
if reading takes long or its text is large; then it is another client's turn. Of a batch that is stopped nothing is visible: its
documents come, and the earlier versions that they replace go, when they are wholly indexed.

A document that uses up its parsing time halves the time for the next one of its client, down to one second; a document read in
time adds a second again. So a hundred endless documents cost minutes, not hours.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from queue import Empty
from threading import Condition, Event, Thread

from hoptrail.corpus.journal import OVER, Item, JobRecord, Journal, State
from hoptrail.documents.limits import MIB
from hoptrail.errors import DocumentError, HoptrailError, Interrupted, StillRead
from hoptrail.index.indexing import Watcher
from hoptrail.serving.server.metrics import Metrics
from hoptrail.serving.server.refusals import as_refusal
from hoptrail.serving.server.uploads import Uploads
from hoptrail.serving.server.wire import progress_json
from hoptrail.serving.server.workspaces import Workspace
from hoptrail.structures.progress_tracker import Progress
from hoptrail.types import Document
from hoptrail.types.json_object import JsonObject

log = logging.getLogger("hoptrail.server")

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
    batch: int = 1
    """Maximum number of documents in the next batch."""

    @property
    def left(self) -> list[Item]:
        """The items with something left to do; ignores cancellation."""
        return [item for item in self.items if item.is_left]

    @property
    def is_finished(self) -> bool:
        """Whether nothing more will happen, so that the job may be forgotten."""
        return self.state in OVER and (self.cancelled or not self.left)

    @property
    def watcher(self) -> Watcher:
        """Stops its indexing and notes the progress."""
        return Watcher(stopped=self.stop.is_set, progress=partial(setattr, self, "progress"))

    def set_left(self, state: State) -> None:
        """Give all items that are left to do this state."""
        for item in self.left:
            item.state = state

    def as_json(self) -> JsonObject:
        """The job as clients see it."""
        items = [
            {
                "id": item.id,
                "name": item.name,
                "state": item.state.value,
                "reason": item.reason,
                "documents": list(item.documents.values()),
                "notes": list(item.notes),
            }
            for item in self.items
        ]
        about = {"id": self.id, "kind": self.kind, "state": self.state.value}
        return {**about, "progress": progress_json(self.progress), "error": self.error, "items": items}


class Worker:
    """The thread that performs `jobs` of one workspace. `begin` starts it, and starts it again if it has died."""

    def __init__(
        self, workspace: Workspace, jobs: dict[str, Job], journal: Journal, uploads: Uploads, metrics: Metrics
    ) -> None:
        self._workspace = workspace
        self._jobs = jobs
        self._journal = journal
        self._uploads = uploads
        self._metrics = metrics
        self._longest = workspace.index.settings.reading.parsing_seconds
        self._allowed: dict[str, int] = {}
        """Seconds allowed for parsing the next document of a client, if it is not the longest time."""
        self._used: dict[str, float] = {}
        """Seconds used by each client with jobs to do; a newcomer starts with the least of these."""
        self._thread: Thread | None = None
        self.unrecorded: dict[str, Job] = {}
        """Jobs whose outcome could not be recorded yet."""
        self.changed = Condition()
        """Held while the jobs are read or changed. Notified when there may be one to do, and when no more are done: `closed`."""
        self.closed = False

    def begin(self) -> None:
        """Start the thread if it does not run. Raises: RuntimeError: the system has no thread to give."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = Thread(target=self._work, name=f"jobs of {self._workspace.name}", daemon=True)
            self._thread.start()

    def ended(self, patience: float) -> bool:
        """Whether the thread ends within `patience` seconds; the jobs must be closed."""
        if self._thread is not None:
            self._thread.join(patience)
        return self._thread is None or not self._thread.is_alive()

    def _work(self) -> None:
        sweep_after: float | None = None
        while True:
            try:
                job = self._first(sweep_after)
            except Empty:
                wait = min(2 * (sweep_after or SWEEP_SECONDS), LONGEST_SWEEP_SECONDS)
            else:
                if job is None:
                    return
                begun = time.monotonic()
                over = self._take_turn(job)
                self._used[job.client] += time.monotonic() - begun
                if not over:
                    continue
                wait = SWEEP_SECONDS
            sweep_after = None if self._swept() else wait
            try:
                self._workspace.warm()
            except HoptrailError:
                pass  # the next question reports the error
            except Exception as error:  # noqa: BLE001 - the border of the thread: later jobs must not wait forever
                log.error("workspace %s could not be warmed: %s", self._workspace.name, type(error).__name__)

    def _first(self, timeout: float | None) -> Job | None:
        """The next job to work on; None once the jobs are closed. Raises: Empty: nothing came within `timeout` seconds."""
        with self.changed:
            if not self.changed.wait_for(lambda: self.closed or self._firsts(), timeout):
                raise Empty
            if self.closed:
                return None
            firsts = self._firsts()
        self._used = {client: seconds for client, seconds in self._used.items() if client in firsts}
        newcomer = min(self._used.values(), default=0.0)
        return firsts[min(firsts, key=lambda one: self._used.setdefault(one, newcomer))]

    def _firsts(self) -> dict[str, Job]:
        """The oldest job of each client that has something to do."""
        return {job.client: job for job in reversed(self._jobs.values()) if job.state not in OVER}

    def _swept(self) -> bool:
        """Erase removed and replaced text from the disk. Returns False while another process still reads it."""
        try:
            return self.closed or self._workspace.clean()
        except HoptrailError:  # another process is writing: its commit sweeps, too
            return True
        except Exception as error:  # noqa: BLE001 - as above
            log.error("workspace %s could not be swept: %s", self._workspace.name, type(error).__name__)
            return False

    def _take_turn(self, job: Job) -> bool:
        """Run one turn of a job, once no other thread of this server writes; returns whether the job is over."""
        try:
            for unrecorded in list(self.unrecorded.values()):
                self.note(unrecorded)
            with self.changed:
                if job.state in OVER:  # discarded while it waited
                    return True
                job.state = State.INDEXING
            while not self._workspace.writing.acquire(timeout=WAIT_SECONDS):
                _check_stopped(job)
            try:
                self._turn(job)
            finally:
                self._workspace.writing.release()
            if not any(item.state is State.WAITING for item in job.items):
                self._end(job, State.DONE)
        except Interrupted as stop:
            self._end(job, State.STOPPED, None if job.stop.is_set() else stop)
        except Exception as error:  # noqa: BLE001 - the border of the thread: a failure concerns only its job
            self._end(job, State.FAILED, error)
        return job.state in OVER

    def note(self, job: Job) -> None:
        """Record the states of a job's items. If that fails, it is repeated before the next turn."""
        self.unrecorded[job.id] = job
        self._journal.set_items(job)
        del self.unrecorded[job.id]

    def _end(self, job: Job, state: State, error: Exception | None = None) -> None:
        for item in job.items:
            if item.state not in OVER:
                item.state = State.STOPPED
        if error is not None:
            if not isinstance(error, HoptrailError):
                log.error("a job failed: %s", type(error).__name__)
            job.error = as_refusal(error).content["error"]
        try:
            self.note(job)
            self._uploads.discard(item for item in job.items if not item.is_left)
        except (HoptrailError, OSError) as failure:  # repeated before the next job begins
            log.error("the outcome of a job could not be recorded: %s", type(failure).__name__)
        job.progress = Progress()
        job.state = state

    def _turn(self, job: Job) -> None:
        """One batch of a job. Raises: Interrupted: it was stopped. HoptrailError: the index cannot be written."""
        _check_stopped(job)
        waiting = [item for item in job.items if item.state is State.WAITING]
        if job.kind == "add":
            self._add_batch(job, waiting)
            job.batch = min(2 * job.batch, LARGEST_BATCH)
            return
        names = [item.id for item in waiting]
        with suppress(StillRead):  # done; the text leaves the files once `clean` succeeds
            if job.kind == "build":
                self._workspace.index.add([], names, job.watcher)
            elif ids := self._workspace.existing_ids(names):  # others are removed already
                self._workspace.index.remove(sorted(ids))
        for item in waiting:
            item.state = State.DONE

    def _add_batch(self, job: Job, waiting: Sequence[Item]) -> None:
        read: list[Item] = []
        with suppress(StillRead):  # as above
            # Read first: while they are added, no other process can write to the index.
            if documents := list(self._read_batch(job, waiting, read)):
                self._workspace.index.add([], self._workspace.recipes, job.watcher, documents=documents)
        for item in read:
            self._finish(item, State.DONE)
            _displace(job.items[: job.items.index(item)], item)
        self.note(job)
        self._uploads.discard(item for item in waiting if not item.is_left)

    def _read_batch(self, job: Job, waiting: Sequence[Item], read: list[Item]) -> Iterator[Document]:
        """Read the next documents, all with different names, and add their items to `read`, where something could be read."""
        names, end, size = set[str](), time.monotonic() + TURN_SECONDS, 0
        for item in waiting[: job.batch]:
            if item.whole_name in names or (read and (time.monotonic() > end or size > TURN_BYTES)):
                break
            _check_stopped(job)
            names.add(item.whole_name)
            item.state = State.READING
            try:
                for document in self._begun(job.client, item):
                    _check_stopped(job)
                    size += len(document.text)
                    yield document
            except DocumentError as failure:
                self._finish(item, State.FAILED, failure.reason)
            else:
                item.state = State.INDEXING
                read.append(item)

    def _begun(self, client: str, item: Item) -> Iterator[Document]:
        """The documents of an upload, the first of them read in the time that its client is allowed.
        Raises: DocumentError: none can be read.
        """
        allowed, begun = self._allowed.get(client, self._longest), time.monotonic()
        documents = self._uploads.read(item, allowed)
        try:
            first = next(documents, None)
        finally:
            used_up = time.monotonic() - begun >= allowed * SECOND
            self._allowed[client] = max(1, allowed // 2) if used_up else min(self._longest, allowed + 1)
        return chain([first] if first else (), documents)

    def _finish(self, item: Item, state: State, reason: str = "") -> None:
        if state is State.FAILED:
            item.reason, item.documents = reason, {}
        item.state = state
        self._metrics.documents.labels(state.value).inc()


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
            other.documents = remaining
            other.notes = (*other.notes, f"{replaced} documents were {reason}")
            if not remaining:
                other.state, other.reason = State.FAILED, f"it was {reason}"
