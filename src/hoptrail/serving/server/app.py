"""The app: services, the guard before everything, and the routers. A further door is one `include_router` more."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Collection, Sequence

from fastapi import FastAPI

from hoptrail.errors import HoptrailError
from hoptrail.serving.server import page_files, refusals, routes_answering, routes_documents, routes_status
from hoptrail.serving.server.asking import Desk
from hoptrail.serving.server.guard import Door, Guard
from hoptrail.serving.server.jobs import Jobs
from hoptrail.serving.server.keys import Keys
from hoptrail.serving.server.limits import ServerLimits
from hoptrail.serving.server.metrics import Metrics
from hoptrail.serving.server.services import Services
from hoptrail.serving.server.uploads import Uploads
from hoptrail.serving.server.workspaces import Workspace, Workspaces

log = logging.getLogger("hoptrail.server")

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""The names that this machine calls itself."""


def create_app(
    workspaces: Sequence[Workspace],
    keys: Keys | None = None,
    hosts: Collection[str] = LOOPBACK,
    limits: ServerLimits | None = None,
    *,
    warm: bool = True,
) -> FastAPI:
    """The server's ASGI app. `hosts` are the names that it answers to; without `keys` it is open to whoever reaches it.

    With `warm`, what questions need is opened in the background at the start.

    Raises:
        UsageError: no workspace, or two of one name or folder.
    """
    limits, metrics, served = limits or ServerLimits(), Metrics(), Workspaces(workspaces)
    jobs = {
        one.name: Jobs(one, Uploads(one.index.folder, limits, one.index.settings.reading), metrics) for one in served
    }
    services = Services(served, jobs, Desk(limits, metrics), limits, metrics)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        warming = asyncio.create_task(asyncio.to_thread(_begin, services, warm))
        yield
        services.desk.close()
        await warming
        await asyncio.to_thread(_end, services)

    app = FastAPI(
        title="hoptrail",
        description="Answers questions whose answer is spread over several documents, and shows the trail.",
        version="1",
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.services = services
    app.state.page = page_files.read_page()
    refusals.install(app)
    app.add_middleware(Guard, door=Door(frozenset(hosts), served.names, keys or Keys()), limits=limits, metrics=metrics)
    app.include_router(routes_status.router)
    app.include_router(routes_answering.router)
    app.include_router(routes_documents.router)
    app.include_router(page_files.router)
    return app


def _begin(services: Services, warm: bool) -> None:
    """A workspace that cannot be opened is told of, and does not keep the others from being served."""
    for workspace in services.workspaces:
        try:
            services.jobs[workspace.name].take_up()
            if warm:
                workspace.warm()
        except HoptrailError as error:
            log.error("workspace %s: %s", workspace.name, error)


def _end(services: Services) -> None:
    for jobs in services.jobs.values():
        jobs.close(services.limits.stop_seconds)
