"""The services of the routes, and the workspace of a request. Every route about documents depends on `Here`."""

from __future__ import annotations

import json
from collections import OrderedDict, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Annotated

from fastapi import Depends, Query, Request

from hoptrail.corpus.journal import Item
from hoptrail.index.settings import ServerLimits
from hoptrail.serving.server.job_thread import Job
from hoptrail.serving.server.jobs import Jobs
from hoptrail.serving.server.metrics import Metrics
from hoptrail.serving.server.question_threads import Desk
from hoptrail.serving.server.refusals import Refusal, not_found
from hoptrail.serving.server.workspaces import Workspace, by_name, limited
from hoptrail.types import Answer, Document, content_id

READING = frozenset({"GET", "HEAD"})
ASKING = frozenset({"/api/ask", "/api/search", "/v1/chat/completions", "/v1/responses", "/mcp"})
HISTORY = "/api/history"
"""A key that only reads may use these methods, and with any method these paths and those of its own history."""

KEPT = 200
"""Answers in memory: of each client, or of all agents that see the same."""


@dataclass(slots=True)
class KeptAnswers:
    """The latest answers by name, each as the last one of its conversation."""

    _conversations: OrderedDict[str, tuple[Answer, ...]] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def keep(self, answer: Answer, name: str = "", before: Sequence[Answer] = ()) -> str:
        """Store an answer and the ones before it. Returns its name: by default the same for the same answer."""
        content = {**answer.to_dict(), "usage": None}
        name = name or content_id("t", json.dumps(content, sort_keys=True))
        with self._lock:
            self._conversations[name] = (*before, answer)
            self._conversations.move_to_end(name)
            if len(self._conversations) > KEPT:
                self._conversations.popitem(last=False)
        return name

    def get(self, name: str, workspace: Workspace) -> Answer:
        """The answer of this name. Raises: Refusal: it is not, or no longer, here."""
        return self.conversation(name, workspace, "trail")[-1]

    def conversation(self, name: str, workspace: Workspace, what: str) -> tuple[Answer, ...]:
        """The answer of this name after the ones before it. Conversations with evidence from removed documents are forgotten,
        because they hold its text. Raises: Refusal: it is not, or no longer, here; says `what`.
        """
        self._forget_removed(workspace)
        with self._lock:
            if name not in self._conversations:
                raise not_found(what)
            return self._conversations[name]

    def all(self) -> list[tuple[str, Answer]]:
        """All answers with their names, newest first."""
        with self._lock:
            return [(name, answers[-1]) for name, answers in reversed(self._conversations.items())]

    def _forget_removed(self, workspace: Workspace) -> None:
        with self._lock:
            cited = {
                name: {item.document for answer in answers for item in answer.evidence}
                for name, answers in self._conversations.items()
            }
        documents = set[str]().union(*cited.values())
        existing = workspace.existing_ids(documents) if documents else documents
        with self._lock:
            for name, of in cited.items():
                if not existing.issuperset(of):
                    self._conversations.pop(name, None)


@dataclass(frozen=True, slots=True)
class Services:
    """The services of one app; workspaces and `jobs` are by workspace name."""

    workspaces: Mapping[str, Workspace]
    jobs: Mapping[str, Jobs]
    desk: Desk
    limits: ServerLimits
    metrics: Metrics
    responses: defaultdict[tuple[str, str], KeptAnswers] = field(default_factory=lambda: defaultdict(KeptAnswers))
    """The latest responses by workspace and client."""
    trails: defaultdict[tuple[str, frozenset[str] | None], KeptAnswers] = field(
        default_factory=lambda: defaultdict(KeptAnswers)
    )
    """The latest trails of agents by workspace and the labels that limit the key."""


def services_for(workspaces: Sequence[Workspace], limits: ServerLimits) -> Services:
    """The services for these workspaces. Raises: UsageError: no workspace, or two of one name or folder."""
    metrics, named = Metrics(), by_name(workspaces)
    jobs = {name: Jobs(one, limits, metrics) for name, one in named.items()}
    return Services(named, jobs, Desk(limits, metrics), limits, metrics)


@dataclass(frozen=True, slots=True)
class Place:
    """The workspace of a request, as its key sees it, and the client: a mark of the key. Over stdio there is no request."""

    workspace: Workspace
    served: Services
    client: str = ""
    request: Request | None = None

    @property
    def reads_only(self) -> bool:
        """Whether the key is limited to some labels: then it changes nothing and sees no jobs."""
        return self.workspace.labels is not None

    @property
    def jobs(self) -> Jobs:
        """Raises: Refusal: the key only reads."""
        if self.reads_only:
            raise Refusal(403, "forbidden", "This key only reads.", "Send a key that is not limited to labels.")
        return self.served.jobs[self.workspace.name]

    @property
    def trails(self) -> KeptAnswers:
        """The latest trails of agents that see the same."""
        return self.served.trails[self.workspace.name, self.workspace.labels]

    def submit(self, kind: str, items: Mapping[str, str]) -> Job:
        """Submit a job for these items, given by id and name. Raises: Refusal: the key only reads, or as `Jobs.submit`."""
        return self.jobs.submit(Job(kind, [Item(*item) for item in items.items()], self.client))

    def document(self, name: str) -> Document:
        """The document with this id. Raises: Refusal: it is not here."""
        found = self.workspace.document(name)
        if found is None:
            raise not_found("document")
        return found


async def place_of(
    request: Request,
    workspace: Annotated[
        str | None, Query(max_length=64, description="Which workspace, if the key opens several.")
    ] = None,
) -> Place:
    """The named workspace, or by default the first that the key opens. A coroutine, since FastAPI would run a plain function
    in a thread, which costs each request two waits.
    Raises: Refusal: the key opens no workspace of that name; the same if none exists.
    """
    served: Services = request.app.state.services
    names: Mapping[str, frozenset[str] | None] = request.state.workspaces
    name = workspace if workspace is not None else next(iter(names), None)
    found = served.workspaces.get(name) if name in names and name is not None else None
    if found is None:
        raise not_found("workspace")
    place = Place(limited(found, names[found.name]), served, request.state.client, request)
    path = request.url.path
    if place.reads_only and request.method not in READING and not (path in ASKING or path.startswith(HISTORY)):
        place.jobs  # noqa: B018 - refuses
    return place


Here = Annotated[Place, Depends(place_of)]
