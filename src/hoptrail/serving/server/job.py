"""A job: a change to an index in the background, with a state for each of its documents."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from threading import Event

from hoptrail.corpus.journal import ItemRecord, JobRecord
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

    @classmethod
    def of(cls, record: JobRecord, uploads: Uploads) -> Job:
        """The job that the journal has stored, as it goes on in this process."""
        left = State.STOPPED if record.cancelled else State.WAITING
        items = [
            Item(
                one.id,
                one.name,
                uploads.upload(one.id, one.name, one.whole_name, one.ending) if one.whole_name else None,
                left if one.is_open else State(one.state),
                one.reason,
                one.documents,
                one.notes,
            )
            for one in record.items
        ]
        job = cls(record.kind, items, record.client, record.id, cancelled=record.cancelled)
        job.state = left if job.is_left else State.DONE
        return job

    @property
    def is_left(self) -> bool:
        """Whether some item is left to do; ignores cancellation."""
        return any(item.is_left for item in self.items)

    @property
    def is_finished(self) -> bool:
        """Whether nothing more will happen, so that the job may be forgotten."""
        return self.state in OVER and (self.cancelled or not self.is_left)

    @property
    def uploads_left(self) -> list[Upload]:
        """The uploads that are not indexed yet."""
        return [item.upload for item in self.items if item.upload and item.is_left]

    def set_left(self, state: State) -> None:
        """Give all items that are left to do this state."""
        for item in self.items:
            if item.is_left:
                item.state = state

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
