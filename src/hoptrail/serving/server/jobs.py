"""Changes to an index in the background: one job at a time in a workspace, with a state for every document.

Jobs of one client run in order of arrival; clients take turns, one batch of documents each. A stopped job keeps what was
committed, which is whole documents, and its uploads, so that it can be resumed. Jobs are in a journal (`job`): the next process
adopts those of a process that has ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event
from typing import BinaryIO

from hoptrail.serving.server.job import OVER, Item, Job, JobTable, State
from hoptrail.serving.server.job_thread import Worker
from hoptrail.serving.server.metrics import Metrics
from hoptrail.serving.server.refusals import Refusal, stopping, too_many
from hoptrail.serving.server.uploads import NoRoom, Upload, Uploads, WrongType
from hoptrail.serving.server.wire import shown
from hoptrail.serving.server.workspaces import Workspace


class Jobs:
    """The jobs of one workspace, run by one thread, which starts with the first job. At most `most` are unfinished."""

    def __init__(self, workspace: Workspace, uploads: Uploads, metrics: Metrics, most: int) -> None:
        self._uploads = uploads
        self._workspace = workspace
        self._most = most
        self._table = JobTable(workspace.index.folder, uploads)
        self._worker = Worker(workspace, self._table, uploads, metrics)
        self._taken_up = False

    def add(self, files: Sequence[tuple[str, BinaryIO]], client: str) -> Job:
        """Submit a job that indexes files, given by name and content. Those of no supported format are listed in it as failed.
        Raises: Refusal: no format is supported, too much is waiting, or the job is refused; then no file is stored.
        """
        self._workspace.check_changeable()
        uploads: list[Upload] = []
        refused: dict[str, str] = {}
        try:
            for name, content in files:
                try:
                    uploads.append(self._keep(name, content))
                except WrongType as refusal:
                    refused[shown(name)] = str(refusal)
                    if len(refused) == len(files):
                        raise
            items = [Item(upload.id, upload.name, upload) for upload in uploads]
            items += [Item("", name, state=State.FAILED, reason=reason) for name, reason in refused.items()]
            return self._submit(Job("add", items, client))
        except BaseException:
            self._uploads.discard(uploads)
            raise

    def _keep(self, name: str, content: BinaryIO) -> Upload:
        """Store a file, if necessary in place of uploads of cancelled jobs."""
        while True:
            try:
                return self._uploads.keep(name, content)
            except NoRoom:
                if not self._table.give_up_oldest_cancelled():
                    raise
                content.seek(0)

    def remove(self, documents: Sequence[tuple[str, str]], client: str) -> Job:
        """Submit a job that removes documents, given by id and title, with everything derived from them alone."""
        return self._submit(Job("remove", [Item(name, title) for name, title in documents], client))

    def build(self, recipe: str, client: str) -> Job:
        """Submit a job that builds what a recipe searches."""
        return self._submit(Job("build", [Item(recipe, recipe)], client))

    def take_up(self) -> None:
        """Continue the jobs of processes that have ended."""
        with self._table.lock:
            self._table.take_up()
            self._taken_up = True
            if any(job.state is State.WAITING for job in self._table.all()):
                self._worker.begin()

    def all(self) -> list[Job]:
        """All jobs, newest first, including those of processes that have ended."""
        self._ensure_taken_up()
        return self._table.all()

    def get(self, name: str) -> Job:
        """The job with this id. Raises: Refusal: there is no such job here."""
        self._ensure_taken_up()
        return self._table.get(name)

    def cancel(self, name: str) -> Job:
        """Stop a job at its next step, or before it begins. It stays cancelled across restarts."""
        job = self.get(name)
        with self._table.lock:
            if job.is_left:
                self._table.note_cancelled(job, cancelled=True)
                job.stop.set()
        return job

    def resume(self, name: str) -> Job:
        """Continue a job that was stopped or failed.
        Raises: Refusal: there is no such job, it is not over, or nothing of it is left to do.
        """
        job = self.get(name)
        with self._table.lock:
            if job.state not in OVER or not job.is_left:
                raise Refusal(409, "not_stopped", "This job has nothing left to do.", "Look at its state.")
            if self._table.closed:
                raise stopping()
            self._worker.begin()
            self._table.note_cancelled(job, cancelled=False)
            for item in job.items:
                if item.is_left:
                    item.state = State.WAITING
            job.stop, job.error, job.state = Event(), None, State.WAITING
            self._table.changed.notify()
        return job

    def discard(self, name: str) -> Job:
        """Forget a job, and its uploads that are not indexed. Raises: Refusal: there is no such job, or it is running."""
        job = self.get(name)
        with self._table.lock:
            if job.state is State.INDEXING:
                raise Refusal(
                    409, "under_way", "This job is running.", "Cancel it, and discard it once it has stopped."
                )
            self._table.forget(job)
            if job.state is State.WAITING:
                job.state = State.DISCARDED
        return job

    def close(self, patience: float) -> None:
        """Stop the running job, keeping finished work, and wait up to `patience` seconds for it."""
        with self._table.changed:
            self._table.closed = True
            self._table.changed.notify()
        for job in self._table.all():
            job.stop.set()
        if self._worker.ended(patience):
            self._uploads.claims.release()

    def _submit(self, job: Job) -> Job:
        self._workspace.check_changeable()
        with self._table.lock:
            if self._table.closed:
                raise stopping()
            self._ensure_taken_up()  # jobs accepted earlier go first
            if sum(not one.is_finished for one in self._table.all()) >= self._most:
                raise too_many("Too many jobs are waiting in this workspace.", "Wait, or discard some.", 60)
            self._worker.begin()
            self._table.enter(job)
        return job

    def _ensure_taken_up(self) -> None:
        """Adopt earlier jobs if that has not been done: requests may come before the server is warm."""
        with self._table.lock:
            if not (self._taken_up or self._table.closed or self._workspace.index.is_read_only):
                self.take_up()
