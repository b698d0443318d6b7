"""A job: a change to an index in the background, with a state for each of its documents; and the table of a workspace's jobs.

The table is in memory, and in the journal, which survives the process. A job is recorded before it is acknowledged. Its outcome
is recorded before its uploads are removed and before the next job begins, so that a restart never redoes a job after a newer one.
"""

from __future__ import annotations

import logging
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from queue import Empty
from threading import Condition, Event, RLock

from hoptrail.corpus.journal import ItemRecord, JobRecord, Journal
from hoptrail.errors import HoptrailError
from hoptrail.serving.server.refusals import not_found
from hoptrail.serving.server.uploads import Upload, Uploads
from hoptrail.serving.server.wire import progress_json, shown
from hoptrail.structures.progress_tracker import Progress
from hoptrail.types.json_object import JsonObject


class State(StrEnum):
    """State of a job, or of one of its documents."""

    WAITING = "waiting"
    READING = "reading"
    INDEXING = "indexing"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"
    DISCARDED = "discarded"


OVER = frozenset({State.DONE, State.FAILED, State.STOPPED, State.DISCARDED})


@dataclass(slots=True)
class Item:
    """One item of a job: an upload, the id of a document to remove, or the recipe to build for. `documents` has the ids of the
    documents read from an upload, by source.
    """

    id: str
    name: str
    upload: Upload | None = None
    state: State = State.WAITING
    reason: str = ""
    documents: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def is_left(self) -> bool:
        """Whether something is left to do."""
        return self.state not in OVER or self.state is State.STOPPED

    def as_json(self) -> JsonObject:
        """The item as clients see it."""
        return {
            "id": self.id,
            "name": self.name,
            "state": self.state.value,
            "reason": self.reason,
            "documents": list(self.documents.values()),
            "notes": list(self.notes),
        }

    def record(self) -> ItemRecord:
        """The item as the journal stores it."""
        whole_name, ending = (self.upload.whole_name, self.upload.ending) if self.upload else ("", "")
        documents = {} if self.is_left else self.documents
        return ItemRecord(self.id, shown(self.name), self.state, whole_name, ending, self.reason, documents, self.notes)


@dataclass(slots=True)
class Job:
    """Written by the thread that runs it, read by any; fields are only ever replaced. `client` is a fingerprint of its key."""

    kind: str
    items: list[Item]
    client: str = ""
    id: str = field(default_factory=lambda: f"j{secrets.token_hex(10)}")
    state: State = State.WAITING
    cancelled: bool = False
    progress: Progress = field(default_factory=Progress)
    error: dict[str, str] | None = None
    stop: Event = field(default_factory=Event)
    batch: int = 1
    """Maximum number of documents in the next batch."""

    @property
    def is_left(self) -> bool:
        """Whether some item is left to do; ignores cancellation."""
        return any(item.is_left for item in self.items)

    @property
    def is_finished(self) -> bool:
        """Whether nothing more will happen, so that the job may be forgotten."""
        return self.state in OVER and (self.cancelled or not self.is_left)

    def note_progress(self, progress: Progress) -> None:
        """Replace the progress."""
        self.progress = progress

    def as_json(self) -> JsonObject:
        """The job as clients see it."""
        return {
            "id": self.id,
            "kind": self.kind,
            "state": self.state.value,
            "progress": progress_json(self.progress),
            "error": self.error,
            "items": [item.as_json() for item in self.items],
        }

    def record(self) -> JobRecord:
        """The job as the journal stores it."""
        return JobRecord(self.id, self.client, self.kind, self.cancelled, tuple(item.record() for item in self.items))


log = logging.getLogger("hoptrail.server")

KEPT_JOBS = 100
"""Finished or cancelled jobs of a workspace that are kept, also across restarts."""


class JobTable:
    """The jobs of one workspace in order of arrival. The thread that performs them takes them from here: the client that has used
    the least time goes first, whatever the lengths of the queues. Writing methods raise StorageError and IndexDamaged, and then
    have changed nothing.
    """

    def __init__(self, folder: Path, uploads: Uploads) -> None:
        self._journal = Journal(folder)
        self._uploads = uploads
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._unrecorded: dict[str, Job] = {}
        """Jobs whose outcome could not be recorded yet."""
        self._used: dict[str, float] = {}
        """Seconds used by each client with jobs to do; a newcomer starts with the least of these."""
        self.lock = RLock()
        self.changed = Condition(self.lock)
        """Notified when there may be a job to do, and when the table is closed."""
        self.closed = False

    def first(self, timeout: float | None) -> Job | None:
        """The next job to work on; None once the table is closed. Raises: Empty: nothing came within `timeout` seconds."""
        with self.changed:
            if not self.changed.wait_for(lambda: self.closed or any(map(_is_open, self._jobs.values())), timeout):
                raise Empty
            if self.closed:
                return None
            firsts = {job.client: job for job in reversed(self._jobs.values()) if _is_open(job)}
            self._used = {client: seconds for client, seconds in self._used.items() if client in firsts}
            newcomer = min(self._used.values(), default=0.0)
            return firsts[min(firsts, key=lambda one: self._used.setdefault(one, newcomer))]

    def used(self, client: str, seconds: float) -> None:
        """Record the seconds that a job of a client has used."""
        self._used[client] += seconds

    def take_up(self) -> None:
        """Adopt the jobs of processes that have ended, and remove files that no job names. Jobs and files of running
        processes, this one included, are untouched.
        """
        claims = self._uploads.claims
        if not self._journal.exists and not claims.marks():
            return
        claims.hold()
        with claims.claiming():
            ours = {mark for mark in claims.marks() | self._journal.owners() if claims.claim(mark)}
            jobs = [self._job(record) for record in self._journal.take_over(ours, claims.mark)]
            self._uploads.clear(ours, self._journal.open_items())
        with self.lock:
            self._jobs.update({job.id: job for job in jobs})
            self.changed.notify()

    def enter(self, job: Job) -> None:
        """Accept a job: once this returns, the job survives the process."""
        self._uploads.claims.hold()
        if any(item.upload for item in job.items):
            self._uploads.settle()
        with self.lock:
            self._journal.append(job.record(), self._uploads.claims.mark)
            self._jobs[job.id] = job
            self.changed.notify()
            finished = [old for old in self._jobs.values() if old.is_finished]
            for old in finished[: max(0, len(finished) - KEPT_JOBS)]:
                self.forget(old)

    def all(self) -> list[Job]:
        """All jobs, newest first."""
        with self.lock:
            return list(reversed(self._jobs.values()))

    def get(self, name: str) -> Job:
        """The job with this id. Raises: Refusal: there is no such job here."""
        with self.lock:
            if name not in self._jobs:
                raise not_found("job")
            return self._jobs[name]

    def note(self, job: Job) -> None:
        """Record the states of a job's items."""
        self._unrecorded[job.id] = job
        self._journal.set_items(job.id, [item.record() for item in job.items])
        del self._unrecorded[job.id]

    def note_end(self, job: Job) -> None:
        """Record the outcome and remove finished uploads. If recording fails, it is repeated before the next job begins."""
        try:
            self.note(job)
            self._uploads.discard(item.upload for item in job.items if item.upload and not item.is_left)
        except (HoptrailError, OSError) as error:
            log.error("the outcome of a job could not be recorded: %s", type(error).__name__)

    def catch_up(self) -> None:
        """Record the outcomes that could not be recorded before."""
        for job in list(self._unrecorded.values()):
            self.note(job)

    def note_cancelled(self, job: Job, *, cancelled: bool) -> None:
        """Record that a job was cancelled, or resumed."""
        self._journal.set_cancelled(job.id, cancelled=cancelled)
        job.cancelled = cancelled

    def forget(self, job: Job) -> None:
        """Forget a finished job, with its uploads."""
        with self.lock:
            self._journal.forget([job.id])
            self._jobs.pop(job.id, None)
            self._unrecorded.pop(job.id, None)
            self._uploads.discard(_uploads_left(job))
            for item in job.items:
                if item.is_left:
                    item.state = State.DISCARDED

    def give_up_oldest_cancelled(self) -> bool:
        """Free space: discard the uploads of the job cancelled first. Returns False if there is none."""
        with self.lock:
            for job in self._jobs.values():
                if job.is_finished and (uploads := _uploads_left(job)):
                    for item in job.items:
                        if item.is_left:
                            item.state = State.DISCARDED
                    self.note(job)
                    self._uploads.discard(uploads)
                    return True
        return False

    def _job(self, record: JobRecord) -> Job:
        state_left = State.STOPPED if record.cancelled else State.WAITING
        items = [
            Item(
                one.id,
                one.name,
                self._uploads.upload(one.id, one.name, one.whole_name, one.ending) if one.whole_name else None,
                state_left if one.is_open else State(one.state),
                one.reason,
                one.documents,
                one.notes,
            )
            for one in record.items
        ]
        job = Job(record.kind, items, record.client, record.id, cancelled=record.cancelled)
        job.state = state_left if job.is_left else State.DONE
        return job


def _is_open(job: Job) -> bool:
    return job.state not in OVER


def _uploads_left(job: Job) -> list[Upload]:
    return [item.upload for item in job.items if item.upload and item.is_left]
