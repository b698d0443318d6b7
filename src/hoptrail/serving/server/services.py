"""The services of the routes, and the workspace of a request. Every route about documents depends on `Here`."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Annotated

from fastapi import Depends, Query, Request

from hoptrail.corpus.journal import Item
from hoptrail.errors import UsageError
from hoptrail.index.settings import ServerLimits
from hoptrail.serving.server.jobs import Job, Jobs
from hoptrail.serving.server.metrics import Metrics
from hoptrail.serving.server.question_threads import Desk
from hoptrail.serving.server.refusals import Refusal, not_found
from hoptrail.serving.server.workspaces import Workspace, limited
from hoptrail.types import Answer, Document

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
KEPT = 200
"""Answers in memory: of each client, or of all agents that see the same."""


class KeptAnswers:
    """The latest answers by name, each as the last one of its conversation."""

    def __init__(self) -> None:
        self._conversations: dict[str, tuple[Answer, ...]] = {}
        self._lock = Lock()

    def keep(self, name: str, answer: Answer, before: Sequence[Answer] = ()) -> None:
        """Store an answer under a new name, with the ones before it."""
        with self._lock:
            self._conversations[name] = (*before, answer)
            if len(self._conversations) > KEPT:
                del self._conversations[next(iter(self._conversations))]

    def conversation(self, name: str, workspace: Workspace, what: str = "trail") -> tuple[Answer, ...]:
        """The answer of this name after the ones before it. Raises: Refusal: it is not, or no longer, here, or its evidence is
        from removed documents; says `what`.
        """
        with self._lock:
            answers = self._conversations.get(name, ())
        documents = {item.document for answer in answers for item in answer.evidence}
        if not answers or workspace.existing_ids(documents) != documents:
            with self._lock:
                self._conversations.pop(name, None)  # it holds their text
            raise not_found(what)
        return answers


class Services:
    """The services of one app; `workspaces` and `jobs` are by workspace name. `kept` are the latest answers: the responses of a
    client, and the trails of all agents that see the same.
    """

    def __init__(self, workspaces: Sequence[Workspace], limits: ServerLimits) -> None:
        """Raises: UsageError: no workspace, an invalid name, or two of one name or folder."""
        self.workspaces = {workspace.name: workspace for workspace in workspaces}
        if not workspaces or len(self.workspaces) != len(workspaces):
            raise UsageError("name at least one workspace, and each name once.")
        for name in self.workspaces:
            if not NAME.fullmatch(name):
                raise UsageError(f"{name!r} is not a valid workspace name: use letters, digits, - and _, at most 64.")
        if len({workspace.index.folder.resolve() for workspace in workspaces}) != len(workspaces):
            raise UsageError("two workspaces have the same folder: each needs its own.")
        self.limits, self.metrics = limits, Metrics()
        self.jobs = {name: Jobs(one, limits, self.metrics) for name, one in self.workspaces.items()}
        self.desk = Desk(limits, self.metrics)
        self.kept: defaultdict[tuple[str, str | frozenset[str] | None], KeptAnswers] = defaultdict(KeptAnswers)


@dataclass(frozen=True, slots=True)
class Place:
    """The workspace of a request, as its key sees it, and the client: a mark of the key. Over stdio there is no request. Of an
    agent it is known whether it may change documents.
    """

    workspace: Workspace
    served: Services
    client: str = ""
    request: Request | None = None
    agent_may_change: bool = False

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
        return self.served.kept[self.workspace.name, self.workspace.labels]

    def documents(self, names: Sequence[str]) -> dict[str, Document]:
        """Those of the documents with these ids that are here. Raises: Refusal: none is."""
        found = {} if self.workspace.index.is_empty else self.workspace.corpus().documents(set(names))
        if not found:
            raise not_found("document")
        return {name: found[name] for name in names if name in found}

    def remove(self, names: Sequence[str]) -> Job:
        """Submit a job that removes those of these documents that are here.
        Raises: Refusal: the key only reads, or as `documents` and `Jobs.submit`.
        """
        jobs = self.jobs
        items = [Item(name, document.title) for name, document in self.documents(names).items()]
        return jobs.submit(Job("remove", items, self.client))


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
    name = next(iter(names), "") if workspace is None else workspace
    if name not in names:
        raise not_found("workspace")
    return Place(limited(served.workspaces[name], names[name]), served, request.state.client, request)


Here = Annotated[Place, Depends(place_of)]
