"""What changes an index, in the background: one job at a time in a workspace, each with a state for every document.

Jobs of one client are done in the order in which they came; clients take turns, a batch of documents each. A job that is
stopped keeps what was committed; the batch it was in is kept too, unseen, and the job can be resumed. Jobs are in a journal
(`job_book`): those of a process that has ended are taken up by the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Event
from typing import BinaryIO

from hoptrail.serving.server.job import OVER, Item, Job, State
from hoptrail.serving.server.job_book import JobBook
from hoptrail.serving.server.job_thread import JobThread
from hoptrail.serving.server.job_work import Performer
from hoptrail.serving.server.metrics import Metrics
from hoptrail.serving.server.refusals import Refusal, stopping
from hoptrail.serving.server.uploads import NoRoom, Upload, Uploads
from hoptrail.serving.server.workspaces import Workspace


class Jobs:
    """The jobs of one workspace, done by one thread, which begins with the first. At most `most` wait."""

    def __init__(self, workspace: Workspace, uploads: Uploads, metrics: Metrics, most: int) -> None:
        self._uploads = uploads
        self._workspace = workspace
        self._most = most
        self._book = JobBook(workspace.index.folder, uploads)
        self._thread = JobThread(workspace, self._book, Performer(workspace, uploads, metrics, self._book.note))
        self._taken_up = False
        self._closed = False

    def keep(self, name: str, content: BinaryIO) -> Upload:
        """Keep a file that is to be added. Uploads of cancelled jobs make room for it.

        Raises:
            Refusal: its kind is not read, or too much is waiting already.
        """
        while True:
            try:
                return self._uploads.keep(name, content)
            except NoRoom:
                if not self._book.give_up_oldest_cancelled():
                    raise
                content.seek(0)

    def discard_uploads(self, uploads: Sequence[Upload]) -> None:
        """Clear away what was kept and is not to be added."""
        self._uploads.discard(uploads)

    def add(self, uploads: Sequence[Upload], refused: Mapping[str, str] | None = None, client: str = "") -> Job:
        """Have uploads indexed. What was `refused` (name to reason) is part of the job, for whoever watches it. Where that is
        refused, the uploads are gone.
        """
        items = [Item(upload.id, upload.name, upload) for upload in uploads]
        items += [Item("", name, state=State.FAILED, reason=reason) for name, reason in (refused or {}).items()]
        try:
            return self._submit(Job("add", items, client))
        except BaseException:
            self._uploads.discard(uploads)
            raise

    def remove(self, documents: Sequence[tuple[str, str]], client: str = "") -> Job:
        """Have documents removed, given by id and title, with everything derived from them alone."""
        return self._submit(Job("remove", [Item(name, title) for name, title in documents], client))

    def build(self, recipe: str, client: str = "") -> Job:
        """Have built what a recipe searches, for the documents that are there."""
        return self._submit(Job("build", [Item(recipe, recipe)], client))

    def take_up(self) -> None:
        """Go on with what processes that have ended have left."""
        with self._book.lock:
            waiting = [job for job in self._book.take_up() if job.state is State.WAITING]
            self._taken_up = True
            for job in waiting:
                self._thread.put(job)
            if waiting:
                self._thread.begin()

    def all(self) -> list[Job]:
        """The newest first; those of a process that has ended too."""
        self._have_taken_up()
        return self._book.all()

    def get(self, name: str) -> Job:
        """Raises: Refusal: there is no such job here."""
        self._have_taken_up()
        return self._book.get(name)

    def cancel(self, name: str) -> Job:
        """Stop a job at its next step; one that waits does not begin. It stays so over a restart."""
        job = self.get(name)
        with self._book.lock:
            if job.is_left:
                self._book.note_cancelled(job, cancelled=True)
                job.stop.set()
        return job

    def resume(self, name: str) -> Job:
        """Go on with a job that was stopped or failed.

        Raises:
            Refusal: there is no such job, or it is not over, or nothing of it is left to do.
        """
        job = self.get(name)
        with self._book.lock:
            if job.state not in OVER or not job.is_left:
                raise Refusal(409, "not_stopped", "This job has nothing left to do.", "Look at its state.")
            if self._closed:
                raise stopping()
            self._thread.begin()
            self._book.note_cancelled(job, cancelled=False)
            for item in job.items:
                if item.is_left:
                    item.state = State.WAITING
            job.stop, job.error, job.state = Event(), None, State.WAITING
            self._thread.put(job)
        return job

    def discard(self, name: str) -> Job:
        """Forget a job, and the uploads of it that are not indexed.

        Raises:
            Refusal: there is no such job, or it is being worked on.
        """
        job = self.get(name)
        with self._book.lock:
            if job.state is State.INDEXING:
                raise Refusal(
                    409, "under_way", "This job is being worked on.", "Cancel it, and discard it once it has stopped."
                )
            self._book.forget(job)
            if job.state is State.WAITING:
                job.state = State.DISCARDED
        return job

    def close(self, patience: float) -> None:
        """Stop what runs, keeping what is finished, and wait so many seconds for that."""
        with self._book.lock:
            self._closed = True
        for job in self._book.all():
            job.stop.set()
        if self._thread.close(patience):
            self._uploads.claims.release()

    def _submit(self, job: Job) -> Job:
        self._workspace.check_changeable()
        with self._book.lock:
            if self._closed:
                raise stopping()
            self._have_taken_up()  # what was accepted before goes first
            if sum(not one.is_finished for one in self._book.all()) >= self._most:
                raise Refusal(
                    429,
                    "too_many",
                    "Too many jobs wait in this workspace.",
                    "Wait, or discard some.",
                    {"Retry-After": "60"},
                )
            self._thread.begin()
            self._book.enter(job)
            self._thread.put(job)
        return job

    def _have_taken_up(self) -> None:
        """Somebody may ask before the server is warm."""
        with self._book.lock:
            if not (self._taken_up or self._closed or self._workspace.index.is_read_only):
                self.take_up()
