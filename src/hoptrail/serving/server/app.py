"""The ASGI app: services, the guard in front, and the routers. A further interface is one more `include_router`."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from importlib import import_module
from importlib.util import find_spec
from threading import Thread

from fastapi import FastAPI, Request, Response
from starlette.middleware.gzip import GZipMiddleware

from hoptrail.index.settings import ServerLimits
from hoptrail.serving.server import openai_api, refusals, routes, routes_history
from hoptrail.serving.server.guard import Guard, host_name
from hoptrail.serving.server.keys import Keys
from hoptrail.serving.server.services import Here, Services
from hoptrail.serving.server.workspaces import STOP_SECONDS, Workspace, limited

log = logging.getLogger("hoptrail.server")

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""Host names of this machine."""


def create_app(
    workspaces: Sequence[Workspace],
    keys: Keys | None = None,
    hosts: Collection[str] = LOOPBACK,
    limits: ServerLimits | None = None,
    *,
    warm: bool = True,
    agents_may_change: bool = False,
) -> FastAPI:
    """The server's ASGI app. It answers to the names in `hosts`; without `keys` it is open to anyone who can reach it. `limits`
    apply to all workspaces together, so the settings of the indexes are ignored: pass `Settings.server`. `warm` opens what
    questions need in the background at the start. `agents_may_change` offers agents the tools that add and remove documents.
    Raises: UsageError: no workspace, or two of one name or folder; an invalid host name; a key with an unknown label.
    """
    services = Services(workspaces, limits or ServerLimits())
    app = FastAPI(
        title="hoptrail",
        description="Answers questions whose answer is spread over several documents, and shows the trail.",
        version="1",
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        responses=refusals.DESCRIBED,
        exception_handlers=refusals.HANDLERS,
        lifespan=lambda _: _running(services, warm),
    )
    app.state.services = services
    for key in keys or ():
        if key.workspace in services.workspaces:
            limited(services.workspaces[key.workspace], key.labels)
    app.add_middleware(GZipMiddleware, compresslevel=5)
    app.add_middleware(Guard, hosts=set(map(host_name, hosts)), keys=keys or Keys(), services=services)
    for router in (routes.STATUS, routes.ANSWERING, routes.DOCUMENTS, routes_history.router, openai_api.router):
        app.include_router(router)
    app.state.agents_may_change = agents_may_change
    if find_spec("mcp"):
        app.post("/mcp", include_in_schema=False)(mcp)
    else:
        log.info("the extra mcp is not installed: agents are not served")
    return app


async def mcp(request: Request, here: Here) -> Response:
    """Answer an agent."""
    # The first import takes a second, in which the event loop goes on; it is begun when the server starts.
    agents = await asyncio.to_thread(import_module, "hoptrail.serving.server.mcp_server")
    answered: Response = await agents.agent_response(request, here, may_change=request.app.state.agents_may_change)
    return answered


@contextlib.asynccontextmanager
async def _running(services: Services, warm: bool) -> AsyncIterator[None]:
    warming = Thread(target=_start, args=(services, warm), name="start", daemon=True)
    # An index that others change, such as a published one, has a thread that looks for newer states of it.
    served = services.workspaces.values()
    following = [one.index.following(one.name, one.warm) for one in served if hasattr(one.index, "following")]
    for thread in (warming, *following):
        thread.start()
    yield
    services.desk.close()
    first: list[Callable[[float], None]] = [warming.join, *(one.end for one in following)]
    for ends in (first, [jobs.close for jobs in services.jobs.values()]):
        await asyncio.gather(*(asyncio.to_thread(end, STOP_SECONDS) for end in ends))


def _start(services: Services, warm: bool) -> None:
    """Warm the workspaces and resume their jobs. One that cannot be opened is logged; the others are served. Then load what
    agents need, which takes a second.
    """
    for workspace in services.workspaces.values():
        if warm:
            workspace.warm()
        try:
            if not workspace.index.is_read_only:
                if workspace.index.owes_erasure():
                    workspace.clean()
                services.jobs[workspace.name].take_up()
        except Exception as error:  # noqa: BLE001 - the border of the thread: the others are served
            workspace.log_failure("taken up", error)
    if warm and find_spec("mcp"):
        import_module("hoptrail.serving.server.mcp_server")
