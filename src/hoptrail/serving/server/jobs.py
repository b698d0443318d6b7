"""Changes to an index in the background: the table of a workspace's jobs, which one thread performs, one at a time.

A stopped job keeps what was committed, which is whole documents, and its uploads, so that it can be resumed. The table is in
memory, and in the journal, which survives the process: the next one adopts the jobs of a process that has ended. A job is
recorded before it is acknowledged, and its outcome before its uploads are removed and the next job begins, so that a restart
never redoes a job after a newer one.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event
from typing import BinaryIO

from hoptrail.corpus.journal import OVER, Item, State
from hoptrail.serving.answer_text import one_line
from hoptrail.serving.server.job_thread import Job, Worker
from hoptrail.serving.server.refusals import Refusal, not_found
from hoptrail.serving.server.uploads import LONGEST_NAME

KEPT_JOBS = 100
"""Finished or cancelled jobs of a workspace that are kept, also across restarts."""


class Jobs(Worker):
    """The jobs of one workspace in order of arrival. The thread that performs them starts with the first. Writing methods raise
    StorageError and IndexDamaged, and then have changed nothing.
    """

    def add(self, files: Sequence[tuple[str, BinaryIO]], client: str) -> Job:
        """Submit a job that indexes files, given by name and content. Those of no supported format are listed in it as failed.
        Raises: Refusal: no format is supported, too much is waiting, or the job is refused; then no file is stored.
        """
        self._workspace.check_changeable()
        stored: list[Item] = []
        refused: list[Item] = []
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
        """Continue a job that was stopped or failed.
        Raises: Refusal: there is no such job, it is not over, or nothing of it is left to do.
        """
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
