"""The routes for status: `health`, `metrics`, `show`, `workspaces`; and the page: files of this package."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, Response
from prometheus_client import generate_latest
from starlette.staticfiles import StaticFiles

from hoptrail.documents.forms import ENDINGS
from hoptrail.serving.server.refusals import Refusal
from hoptrail.serving.server.services import Here, Services
from hoptrail.serving.server.wire import progress_json
from hoptrail.serving.server.workspaces import state_json
from hoptrail.structures.progress_tracker import Progress
from hoptrail.types.json_object import JsonObject
from hoptrail.types.sources import file_name

router = APIRouter(tags=["status"])

_PAGE = StaticFiles(packages=[("hoptrail.serving.server", "page")])
MOST_UNREAD = 100
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


@router.get("/health")
def health() -> dict[str, str]:
    """Whether the server answers; says nothing about what it serves."""
    return {"status": "ok"}


@router.get("/metrics", response_class=PlainTextResponse)
def metrics(request: Request) -> Response:
    """Counts since the server was started, in the text format of Prometheus. Only for a key that opens every workspace, since
    they would reveal the activity of others.
    """
    served: Services = request.app.state.services
    names: Mapping[str, frozenset[str] | None] = request.state.workspaces
    if names.keys() < served.workspaces.keys() or any(labels is not None for labels in names.values()):
        what_to_do = "Send a key that the key file lists for every workspace, without labels."
        raise Refusal(403, "forbidden", "The counts cover all workspaces, and this key does not.", what_to_do)
    return Response(generate_latest(served.metrics.registry), media_type=PROMETHEUS)


@router.get("/api/workspaces")
def workspaces(request: Request) -> JsonObject:
    """The workspaces that the key opens, the default first."""
    return {"workspaces": list(request.state.workspaces)}


@router.get("/api/show")
def show(here: Here) -> JsonObject:
    """The contents of the workspace: `hoptrail show --json`, but with the number of documents; and what may be uploaded. Of a
    served folder it has the files that could not be read or were left out: how many, and the first of them with the reasons.
    """
    folder, limits, unread = here.workspace.folder, here.served.limits, None
    if folder and here.workspace.labels is None:  # other keys must not learn file names
        report = folder.report
        found = [(one.source, one.reason, False) for one in report.failures]
        found += [(name, reason, True) for name, reason in report.left_out.items()]
        files = [{"file": file_name(name), "reason": why, "left_out": out} for name, why, out in found[:MOST_UNREAD]]
        unread = {"unread": {"total": len(report.failures), "left_out": len(report.left_out), "files": files}}
    return {
        **state_json(here.workspace),
        "progress": progress_json(folder.progress if folder else Progress()),
        "folder": unread,
        "uploads": {"endings": ENDINGS, "bytes": limits.upload, "files": limits.files},
    }


@router.get("/", include_in_schema=False)
async def start(request: Request) -> Response:
    """The start page."""
    return await page_file(request, "index.html")


@router.get("/page/{name}", include_in_schema=False)
async def page_file(request: Request, name: str) -> Response:
    """A file of the page."""
    found = await _PAGE.get_response(name, request.scope)
    found.headers["Cache-Control"] = "no-cache"  # asked for again each time, by its entity tag
    if name.endswith(".js"):  # whose type differs by system
        found.headers["Content-Type"] = "text/javascript; charset=utf-8"
    return found
