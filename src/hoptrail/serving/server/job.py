"""A job: a change to an index in the background, with a state for each of its documents."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from threading import Event

from hoptrail.corpus.journal import ItemRecord, JobRecord
from hoptrail.json_object import JsonObject
from hoptrail.serving.server.uploads import Upload
from hoptrail.serving.server.wire import progress_json, shown
from hoptrail.structures.course import Progress


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
    documents read from an upload, by source; `begun` has those that indexing adds, until they are complete.
    """

    id: str
    name: str
    upload: Upload | None = None
    state: State = State.WAITING
    reason: str = ""
    documents: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    begun: frozenset[str] = frozenset()

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
        """The item as the journal stores it. Of one that is left, `documents` has those begun."""
        whole_name, ending = (self.upload.whole_name, self.upload.ending) if self.upload else ("", "")
        documents = self.documents
        if self.is_left:
            documents = {source: id_ for source, id_ in documents.items() if id_ in self.begun}
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
    def begun(self) -> frozenset[str]:
        """The ids of documents that are in the index in part."""
        return frozenset(id_ for item in self.items if item.is_left for id_ in item.begun)

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
