"""The thread that runs the jobs of a workspace, and afterwards erases removed text from the disk.

Clients take turns: the one that has used the least time goes first, whatever the lengths of the queues. Documents are committed
in batches that double, so that the first can be queried at once and a thousand do not cost a thousand commits. A batch ends early
if reading takes long or its text is large; then it is another client's turn. Of a batch that is stopped nothing is visible: its
documents come, and the earlier versions that they replace go, when they are wholly indexed.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty
from threading import Condition, Thread

from hoptrail.documents.limits import MIB
from hoptrail.errors import DocumentError, HoptrailError, Interrupted, StillRead
from hoptrail.index.indexing import Watcher
from hoptrail.serving.server.job import OVER, Item, Job, JobBook, State
from hoptrail.serving.server.metrics import Metrics
from hoptrail.serving.server.refusals import as_refusal
from hoptrail.serving.server.uploads import Upload, Uploads
from hoptrail.serving.server.workspaces import Workspace
from hoptrail.structures.progress_tracker import Progress

log = logging.getLogger("hoptrail.server")

SWEEP_SECONDS = 5.0
LONGEST_SWEEP_SECONDS = 300.0
"""Bounds of the doubling interval between attempts to erase text that a process still reads."""


class FairQueue:
    """Jobs waiting by client, first in first out for each. For one consuming thread."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[Job]] = {}
        self._used: dict[str, float] = {}
        """Seconds used by each waiting client; a newcomer starts with the least of these."""
        self._closed = False
        self._changed = Condition()

    def put(self, client: str, job: Job) -> None:
        """Append a job to the queue of a client."""
        with self._changed:
            if client not in self._waiting:
                self._used[client] = min(self._used.values(), default=0.0)
                self._waiting[client] = deque()
            self._waiting[client].append(job)
            self._changed.notify()

    def first(self, timeout: float | None) -> Job | None:
        """The next job, which stays in the queue; None once the queue is closed.
        Raises: Empty: nothing came within `timeout` seconds.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: self._closed or bool(self._waiting), timeout):
                raise Empty
            if self._closed:
                return None
            return self._waiting[min(self._waiting, key=lambda one: self._used[one])][0]

    def used(self, client: str, seconds: float, *, over: bool) -> None:
        """Record the seconds used by the first job of a client, and remove the job if it is `over`."""
        with self._changed:
            self._used[client] += seconds
            if over:
                self._waiting[client].popleft()
            if not self._waiting[client]:
                del self._waiting[client], self._used[client]

    def close(self) -> None:
        """Give out no further job."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


class JobThread:
    """Takes jobs from a queue. `begin` starts the thread, and restarts it if it has died."""

    def __init__(self, workspace: Workspace, book: JobBook, performer: JobRunner) -> None:
        self._workspace = workspace
        self._book = book
        self._performer = performer
        self._queue = FairQueue()
        self._thread: Thread | None = None
        self._closed = False

    def begin(self) -> None:
        """Start the thread if it does not run. Raises: RuntimeError: the system has no thread to give."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = Thread(target=self._work, name=f"jobs of {self._workspace.name}", daemon=True)
            self._thread.start()

    def put(self, job: Job) -> None:
        """Queue a job until its client's turn comes."""
        self._queue.put(job.client, job)

    def close(self, patience: float) -> bool:
        """Start no further job, and wait up to `patience` seconds for the current one; returns whether it has ended."""
        self._closed = True
        self._queue.close()
        if self._thread is not None:
            self._thread.join(patience)
        return self._thread is None or not self._thread.is_alive()

    def _work(self) -> None:
        sweep_after: float | None = None
        while True:
            try:
                job = self._queue.first(sweep_after)
            except Empty:
                wait = min(2 * (sweep_after or SWEEP_SECONDS), LONGEST_SWEEP_SECONDS)
            else:
                if job is None:
                    return
                begun = time.monotonic()
                over = self._take_turn(job)
                self._queue.used(job.client, time.monotonic() - begun, over=over)
                if not over:
                    continue
                wait = SWEEP_SECONDS
            sweep_after = None if self._sweep() else wait
            self._warm()

    def _sweep(self) -> bool:
        """Erase removed and replaced text from the disk. Returns False while another process still reads it."""
        if self._closed:
            return True
        try:
            return self._workspace.clean()
        except HoptrailError:  # another process is writing: its commit sweeps, too
            return True
        except Exception as error:  # noqa: BLE001 - the border of the thread: later jobs must not wait forever
            log.error("workspace %s could not be swept: %s", self._workspace.name, type(error).__name__)
            return False

    def _warm(self) -> None:
        try:
            self._workspace.warm()
        except HoptrailError:
            pass  # the next question reports the error
        except Exception as error:  # noqa: BLE001 - as above
            log.error("workspace %s could not be warmed: %s", self._workspace.name, type(error).__name__)

    def _take_turn(self, job: Job) -> bool:
        """Run one turn of a job; returns whether the job is over."""
        try:
            self._book.catch_up()
            with self._book.lock:
                if job.state in OVER:  # discarded while it waited
                    return True
                job.state = State.INDEXING
            if self._performer.turn(job):
                self._end(job, State.DONE)
                return True
        except Interrupted as stop:
            self._end(job, State.STOPPED, None if job.stop.is_set() else stop)
            return True
        except Exception as error:  # noqa: BLE001 - the border of the thread: a failure concerns only its job
            self._end(job, State.FAILED, error)
            return True
        return False

    def _end(self, job: Job, state: State, error: Exception | None = None) -> None:
        for item in job.items:
            if item.state not in OVER:
                item.state = State.STOPPED
        if error is not None:
            if not isinstance(error, HoptrailError):
                log.error("a job failed: %s", type(error).__name__)
            job.error = as_refusal(error).content["error"]
        self._book.note_end(job)
        job.progress = Progress()
        job.state = state


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


class JobRunner:
    """Executes the jobs of one workspace, for a single thread. `note` records the state of a job."""

    def __init__(self, workspace: Workspace, uploads: Uploads, metrics: Metrics, note: Callable[[Job], None]) -> None:
        self._workspace = workspace
        self._uploads = uploads
        self._metrics = metrics
        self._note = note
        self._patience = ParsingAllowance(workspace.index.settings.reading.parsing_seconds)

    def turn(self, job: Job) -> bool:
        """Execute one batch of a job, once no other thread of this server writes. Returns whether the job is complete.

        Raises:
            Interrupted: the job was stopped.
            HoptrailError: the index cannot be written.
        """
        while not self._workspace.writing.acquire(timeout=WAIT_SECONDS):
            if job.stop.is_set():
                raise Interrupted("stopped; finished work is kept.")
        try:
            return self._turn(job)
        finally:
            self._workspace.writing.release()

    def _turn(self, job: Job) -> bool:
        if job.stop.is_set():
            raise Interrupted("stopped; finished work is kept.")
        if job.kind == "remove":
            self._remove(job)
        elif job.kind == "build":
            self._build(job)
        else:
            with self._uploads.preparing():
                self._add_batch(job)
            job.batch = min(2 * job.batch, LARGEST_BATCH)
        return not any(item.state is State.WAITING for item in job.items)

    def _remove(self, job: Job) -> None:
        """Remove documents. Missing ones were already removed by the process that accepted the job."""
        waiting = [item for item in job.items if item.state is State.WAITING]
        with suppress(StillRead):  # done; the text leaves the files once `clean` succeeds
            if ids := self._workspace.existing_ids([item.id for item in waiting]):
                self._workspace.index.remove(sorted(ids))
        for item in waiting:
            item.state = State.DONE

    def _build(self, job: Job) -> None:
        recipes = [item.id for item in job.items]
        with suppress(StillRead):  # done
            self._workspace.index.add([], recipes, Watcher(stopped=job.stop.is_set, progress=job.note_progress))
        for item in job.items:
            item.state = State.DONE

    def _add_batch(self, job: Job) -> None:
        before = [item for item in job.items if item.is_left]
        prepared = self._prepare_batch(job)
        failures = self._index(job, [upload for _, upload in prepared]) if prepared else ()
        for item, upload in prepared:
            if reason := self._uploads.lost(upload, failures):
                self._fail(item, reason)
            else:
                self._finish(item, State.DONE)
                _displace(job.items[: job.items.index(item)], item)
        self._note(job)
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
            if job.stop.is_set():
                raise Interrupted("stopped; finished work is kept.")
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
            self._fail(item, failure.reason)
            return False
        finally:
            self._patience.learn(job.client, time.monotonic() - begun)
        item.state = State.INDEXING
        return True

    def _fail(self, item: Item, reason: str) -> None:
        item.reason, item.documents = reason, {}
        self._finish(item, State.FAILED)

    def _finish(self, item: Item, state: State) -> None:
        item.state = state
        self._metrics.documents.labels(state.value).inc()


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
