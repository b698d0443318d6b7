"""The page: files of this package, read once and served by name. No other name is found."""

from __future__ import annotations

from importlib.resources import files

from fastapi import APIRouter, Request
from fastapi.responses import Response

from hoptrail.serving.server.refusals import not_found
from hoptrail.types import content_id

router = APIRouter(include_in_schema=False)

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


@router.get("/")
def start(request: Request) -> Response:
    """The start page."""
    return _file(request, START)


@router.get("/page/{name}")
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
