"""The thread that runs the jobs of a workspace, and afterwards erases removed text from the disk.

Clients take turns: the one that has used the least time goes first, whatever the lengths of the queues. Documents are committed
in batches that double, so that the first can be queried at once and a thousand do not cost a thousand commits. A batch ends early
if reading takes long or its text is large; then it is another client's turn. Of a batch that is stopped nothing is visible: its
documents come, and the earlier versions that they replace go, when they are wholly indexed.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from queue import Empty
from threading import Condition, Thread
from typing import Protocol

from hoptrail.documents.limits import MIB
from hoptrail.errors import DocumentError, HoptrailError, Interrupted, StillRead
from hoptrail.index.indexing import Watcher
from hoptrail.serving.server.job import OVER, Item, Job, State
from hoptrail.serving.server.metrics import Metrics
from hoptrail.serving.server.refusals import as_refusal
from hoptrail.serving.server.uploads import Upload, Uploads
from hoptrail.serving.server.workspaces import Workspace
from hoptrail.structures.progress_tracker import Progress

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


class ParsingAllowance:
    """The parsing time allowed for a client's documents. A document that uses it up halves the time for the next, down to one
    second; a document read in time adds a second again. So a hundred endless documents cost minutes, not hours.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._seconds: dict[str, int] = {}

    def of(self, client: str) -> int:
        """Seconds for the next document of a client."""
        return self._seconds.get(client, self._most)

    def learn(self, client: str, seconds: float) -> None:
        """Adapt to the parsing time of a client's last document."""
        allowed = self.of(client)
        self._seconds[client] = max(1, allowed // 2) if seconds >= allowed * SECOND else min(self._most, allowed + 1)


class JobTable(Protocol):
    """What the thread needs of `jobs.Jobs`, which starts it."""

    changed: Condition
    closed: bool

    def all(self) -> list[Job]: ...
    def note(self, job: Job) -> None: ...
    def catch_up(self) -> None: ...


class Worker:
    """The thread that performs the jobs of one workspace. `begin` starts it, and starts it again if it has died."""

    def __init__(self, workspace: Workspace, jobs: JobTable, uploads: Uploads, metrics: Metrics) -> None:
        self._workspace = workspace
        self._jobs = jobs
        self._uploads = uploads
        self._metrics = metrics
        self._patience = ParsingAllowance(workspace.index.settings.reading.parsing_seconds)
        self._used: dict[str, float] = {}
        """Seconds used by each client with jobs to do; a newcomer starts with the least of these."""
        self._thread: Thread | None = None

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
        with self._jobs.changed:
            if not self._jobs.changed.wait_for(lambda: self._jobs.closed or self._firsts(), timeout):
                raise Empty
            if self._jobs.closed:
                return None
            firsts = self._firsts()
        self._used = {client: seconds for client, seconds in self._used.items() if client in firsts}
        newcomer = min(self._used.values(), default=0.0)
        return firsts[min(firsts, key=lambda one: self._used.setdefault(one, newcomer))]

    def _firsts(self) -> dict[str, Job]:
        """The oldest job of each client that has something to do."""
        return {job.client: job for job in self._jobs.all() if job.state not in OVER}  # newest first: the oldest stays

    def _swept(self) -> bool:
        """Erase removed and replaced text from the disk. Returns False while another process still reads it."""
        try:
            return self._jobs.closed or self._workspace.clean()
        except HoptrailError:  # another process is writing: its commit sweeps, too
            return True
        except Exception as error:  # noqa: BLE001 - as above
            log.error("workspace %s could not be swept: %s", self._workspace.name, type(error).__name__)
            return False

    def _take_turn(self, job: Job) -> bool:
        """Run one turn of a job, once no other thread of this server writes; returns whether the job is over."""
        try:
            self._jobs.catch_up()
            with self._jobs.changed:
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

    def _end(self, job: Job, state: State, error: Exception | None = None) -> None:
        for item in job.items:
            if item.state not in OVER:
                item.state = State.STOPPED
        if error is not None:
            if not isinstance(error, HoptrailError):
                log.error("a job failed: %s", type(error).__name__)
            job.error = as_refusal(error).content["error"]
        try:
            self._jobs.note(job)
            self._uploads.discard(item.upload for item in job.items if item.upload and not item.is_left)
        except (HoptrailError, OSError) as failure:  # repeated before the next job begins
            log.error("the outcome of a job could not be recorded: %s", type(failure).__name__)
        job.progress = Progress()
        job.state = state

    def _turn(self, job: Job) -> None:
        """One batch of a job. Raises: Interrupted: it was stopped. HoptrailError: the index cannot be written."""
        _check_stopped(job)
        waiting = [item for item in job.items if item.state is State.WAITING]
        if job.kind == "add":
            with self._uploads.preparing():
                self._add_batch(job)
            job.batch = min(2 * job.batch, LARGEST_BATCH)
            return
        with suppress(StillRead):  # done; the text leaves the files once `clean` succeeds
            if job.kind == "build":
                recipes = [item.id for item in waiting]
                self._workspace.index.add([], recipes, Watcher(stopped=job.stop.is_set, progress=job.note_progress))
            elif ids := self._workspace.existing_ids([item.id for item in waiting]):  # others are removed already
                self._workspace.index.remove(sorted(ids))
        for item in waiting:
            item.state = State.DONE

    def _add_batch(self, job: Job) -> None:
        before = [item for item in job.items if item.is_left]
        prepared = self._prepare_batch(job)
        failures = self._index(job, [upload for _, upload in prepared]) if prepared else ()
        for item, upload in prepared:
            if reason := self._uploads.lost(upload, failures):
                self._finish(item, State.FAILED, reason)
            else:
                self._finish(item, State.DONE)
                _displace(job.items[: job.items.index(item)], item)
        self._jobs.note(job)
        self._uploads.discard(item.upload for item in before if item.upload and not item.is_left)

    def _index(self, job: Job, uploads: Sequence[Upload]) -> Sequence[DocumentError]:
        paths = [self._uploads.prepared(upload) for upload in uploads]
        watcher = Watcher(stopped=job.stop.is_set, progress=job.note_progress)
        limits = self._uploads.limits(uploads)
        try:
            # A prepared file lacks the lines that could not be read; their earlier documents stay.
            return self._workspace.index.add(paths, self._workspace.recipes, watcher, prepared=limits).failures
        except StillRead:  # done; replaced text leaves the files once `clean` succeeds
            return ()

    def _prepare_batch(self, job: Job) -> list[tuple[Item, Upload]]:
        """Read the next documents, all with different names; returns those that could be read."""
        end, size = time.monotonic() + TURN_SECONDS, 0
        found: list[tuple[Item, Upload]] = []
        waiting = [(item, item.upload) for item in job.items if item.state is State.WAITING and item.upload]
        for item, upload in waiting[: job.batch]:
            place = self._uploads.prepared(upload)
            if found and (time.monotonic() > end or size > TURN_BYTES):
                break
            if any(place == self._uploads.prepared(other) for _, other in found):
                break
            _check_stopped(job)
            if self._prepare(job, item, upload):
                found.append((item, upload))
                size += place.stat().st_size
        return found

    def _prepare(self, job: Job, item: Item, upload: Upload) -> bool:
        """Read one document; returns False if it cannot be read."""
        item.state, begun = State.READING, time.monotonic()
        try:
            item.documents, item.notes = self._uploads.prepare(upload, self._patience.of(job.client))
        except DocumentError as failure:
            self._finish(item, State.FAILED, failure.reason)
            return False
        finally:
            self._patience.learn(job.client, time.monotonic() - begun)
        item.state = State.INDEXING
        return True

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
