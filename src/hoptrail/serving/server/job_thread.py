"""The thread that runs the jobs of a workspace, and afterwards erases removed text from the disk.

Clients take turns: the one that has used the least time goes first, whatever the lengths of the queues.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from queue import Empty
from threading import Condition, Thread

from hoptrail.errors import HoptrailError, Interrupted
from hoptrail.serving.server.job import OVER, Job, State
from hoptrail.serving.server.job_book import JobBook
from hoptrail.serving.server.job_work import Performer
from hoptrail.serving.server.refusals import as_refusal
from hoptrail.serving.server.workspaces import Workspace
from hoptrail.structures.course import Progress

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

    def __init__(self, workspace: Workspace, book: JobBook, performer: Performer) -> None:
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
