"""The routes for status: `health`, `metrics`, `show`, `workspaces`; and the page: files of this package, read once."""

from __future__ import annotations

from importlib.resources import files

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, Response

from hoptrail.documents.forms import ENDINGS
from hoptrail.serving.server.refusals import Refusal, not_found
from hoptrail.serving.server.services import Here, Served
from hoptrail.serving.server.wire import contents_json, indexing_json, progress_json, unread_json
from hoptrail.structures.progress_tracker import Progress
from hoptrail.types import content_id
from hoptrail.types.json_object import JsonObject

router = APIRouter(tags=["status"])

PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


@router.get("/health")
def health() -> dict[str, str]:
    """Whether the server answers; says nothing about what it serves."""
    return {"status": "ok"}


@router.get("/metrics", response_class=PlainTextResponse)
def metrics(request: Request, served: Served) -> Response:
    """Counts since the server was started, in the text format of Prometheus. Only for a key that opens every workspace, since
    they would reveal the activity of others.
    """
    if not set(request.state.workspaces).issuperset(served.workspaces) or request.state.labels:
        raise Refusal(
            403,
            "forbidden",
            "The counts cover all workspaces, and this key does not open all of them without limits.",
            "Send a key that the key file lists for every workspace.",
        )
    return Response(served.metrics.text(), media_type=PROMETHEUS)


@router.get("/api/workspaces")
def workspaces(request: Request) -> JsonObject:
    """The workspaces that the key opens, the default first."""
    return {"workspaces": list(request.state.workspaces)}


@router.get("/api/show")
def show(here: Here, served: Served) -> JsonObject:
    """The contents of the workspace: `hoptrail show --json`, but with the number of documents; and what may be uploaded."""
    contents, folder = here.workspace.contents(), here.workspace.folder
    sees_all = here.workspace.labels is None  # other keys must not learn file names
    return {
        "workspace": here.workspace.name,
        "empty": contents is None,
        "contents": contents_json(contents) if contents else None,
        "progress": progress_json(folder.progress if folder else Progress()),
        "folder": {"unread": unread_json(folder.report)} if folder and sees_all else None,
        **indexing_json(contents.reached if contents else None),
        "uploads": {"endings": list(ENDINGS), "bytes": served.limits.upload, "files": served.limits.files},
    }


START = "index.html"
_KINDS = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


def read_page() -> dict[str, tuple[bytes, str, str]]:
    """Every file of the page by name: content, media type, entity tag."""
    found = {}
    for entry in files("hoptrail.serving.server").joinpath("page").iterdir():
        kind = _KINDS.get(entry.name.rpartition(".")[2])
        if kind and entry.is_file():
            content = entry.read_bytes()
            found[entry.name] = (content, f"{kind}; charset=utf-8", f'"{content_id("t", content.decode())}"')
    return found


@router.get("/", include_in_schema=False)
def start(request: Request) -> Response:
    """The start page."""
    return _file(request, START)


@router.get("/page/{name}", include_in_schema=False)
def page_file(request: Request, name: str) -> Response:
    """A file of the page."""
    return _file(request, name)


def _file(request: Request, name: str) -> Response:
    found = request.app.state.page.get(name)
    if found is None:
        raise not_found("address")
    content, kind, tag = found
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=kind, headers=headers)
