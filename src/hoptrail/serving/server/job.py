"""A job: what changes an index in the background, with a state for each of its documents."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from threading import Event
from typing import Any

from hoptrail.corpus.journal import ItemRecord, JobRecord
from hoptrail.serving.server.uploads import Upload
from hoptrail.serving.server.wire import progress_json, shown
from hoptrail.structures.course import Progress


class State(StrEnum):
    """Of a job, and of each of its documents."""

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
    """One document of a job: an upload, the id of a document to remove, or the recipe to build for. `documents` are what became
    of an upload: ids by their sources.
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

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.name,
            "state": self.state.value,
            "reason": self.reason,
            "documents": list(self.documents.values()),
            "notes": list(self.notes),
        }

    def record(self) -> ItemRecord:
        whole_name, ending = (self.upload.whole_name, self.upload.ending) if self.upload else ("", "")
        return ItemRecord(
            self.id, shown(self.name), self.state, whole_name, ending, self.reason, self.documents, self.notes
        )


@dataclass(slots=True)
class Job:
    """Written by the thread that does it, read by whoever asks; each field is replaced as a whole. `client` is whose it is."""

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
    """Documents that are indexed together next, at the most."""

    @property
    def is_left(self) -> bool:
        """Whether something is left to do, unless it was cancelled."""
        return any(item.is_left for item in self.items)

    @property
    def is_finished(self) -> bool:
        """Whether nobody has to do anything any more: it may be forgotten."""
        return self.state in OVER and (self.cancelled or not self.is_left)

    def note_progress(self, progress: Progress) -> None:
        self.progress = progress

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "kind": self.kind,
            "state": self.state.value,
            "progress": progress_json(self.progress),
            "error": self.error,
            "items": [item.as_json() for item in self.items],
        }

    def record(self) -> JobRecord:
        return JobRecord(self.id, self.client, self.kind, self.cancelled, tuple(item.record() for item in self.items))
