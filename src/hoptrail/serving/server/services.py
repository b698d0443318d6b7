"""The services of the routes, and the workspace of a request. Every route about documents depends on `Here`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, Query, Request

from hoptrail.corpus.journal import Item
from hoptrail.index.settings import ServerLimits
from hoptrail.serving.server.jobs import Job, Jobs
from hoptrail.serving.server.kept_answers import KeptAnswers
from hoptrail.serving.server.metrics import Metrics
from hoptrail.serving.server.question_threads import Desk
from hoptrail.serving.server.refusals import Refusal, not_found
from hoptrail.serving.server.uploads import Uploads
from hoptrail.serving.server.workspaces import Workspace, by_name, limited
from hoptrail.types import Document

READING = frozenset({"GET", "HEAD"})
ASKING = frozenset({"/api/ask", "/api/search", "/v1/chat/completions", "/v1/responses", "/mcp"})
HISTORY = "/api/history"
"""A key that only reads may use these methods, and with any method these paths and those of its own history."""


@dataclass(frozen=True, slots=True)
class Services:
    """The services of one app; workspaces and `jobs` are by workspace name."""

    workspaces: Mapping[str, Workspace]
    jobs: Mapping[str, Jobs]
    desk: Desk
    limits: ServerLimits
    metrics: Metrics
    responses: defaultdict[tuple[str, str], KeptAnswers]
    """The latest responses by workspace and client."""


def services_for(workspaces: Sequence[Workspace], limits: ServerLimits) -> Services:
    """The services for these workspaces. Raises: UsageError: no workspace, or two of one name or folder."""
    metrics, named = Metrics(), by_name(workspaces)
    jobs = {
        one.name: Jobs(one, Uploads(one.index.folder, limits, one.index.settings.reading), metrics, limits.waiting_jobs)
        for one in workspaces
    }
    return Services(named, jobs, Desk(limits, metrics), limits, metrics, defaultdict(KeptAnswers))


@dataclass(frozen=True, slots=True)
class Place:
    """The workspace of a request, as its key sees it, its jobs, and the client: a fingerprint of the key."""

    workspace: Workspace
    every_job: Jobs
    client: str = ""

    @property
    def reads_only(self) -> bool:
        """Whether the key is limited to some labels: then it changes nothing and sees no jobs."""
        return self.workspace.labels is not None

    @property
    def jobs(self) -> Jobs:
        """Raises: Refusal: the key only reads."""
        if self.reads_only:
            raise Refusal(403, "forbidden", "This key only reads.", "Send a key that is not limited to labels.")
        return self.every_job

    def submit(self, kind: str, items: Mapping[str, str]) -> Job:
        """Submit a job for these items, given by id and name. Raises: Refusal: the key only reads, or as `Jobs.submit`."""
        return self.jobs.submit(Job(kind, [Item(*item) for item in items.items()], self.client))

    def every_document(self, names: Collection[str]) -> set[str]:
        """The ids among `names` whose documents are here, as the key sees them."""
        return self.workspace.existing_ids(names) if names else set()

    def document(self, name: str) -> Document:
        """The document with this id. Raises: Refusal: it is not here."""
        found = self.workspace.document(name)
        if found is None:
            raise not_found("document")
        return found


async def services_of(request: Request) -> Services:
    """The services of the request's app. A coroutine, like `place_of`: FastAPI would run a plain function in a thread, which
    costs each request two waits.
    """
    return cast("Services", request.app.state.services)


Served = Annotated[Services, Depends(services_of)]


async def place_of(
    request: Request,
    served: Served,
    workspace: Annotated[
        str | None, Query(max_length=64, description="Which workspace, if the key opens several.")
    ] = None,
) -> Place:
    """The named workspace, or by default the first that the key opens.
    Raises: Refusal: the key opens no workspace of that name; the same if none exists.
    """
    names: tuple[str, ...] = request.state.workspaces
    name = workspace if workspace is not None else next(iter(names), None)
    found = served.workspaces.get(name) if name in names and name is not None else None
    if found is None:
        raise not_found("workspace")
    visible = limited(found, request.state.labels.get(found.name))
    place = Place(visible, served.jobs[found.name], request.state.client)
    path = request.url.path
    if place.reads_only and request.method not in READING and not (path in ASKING or path.startswith(HISTORY)):
        place.jobs  # noqa: B018 - refuses
    return place


Here = Annotated[Place, Depends(place_of)]
