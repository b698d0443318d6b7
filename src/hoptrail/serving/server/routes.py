"""The routes: status and the page, questions, documents and the jobs that change them. The client's history (`routes_history`),
OpenAI's API (`openai_api`) and agents (`mcp_server`) have modules of their own.

Documents, uploads and jobs have generated ids. The file that a document was read from is served only if the source is a whole
file whose content is unchanged: not for uploads, whose files are not kept, not for lines of a JSONL file, which may hold more
than the index, and not for changed files.
"""

from __future__ import annotations

import os
import stat
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path as FilePath
from pathlib import PurePath
from typing import Annotated, Any, BinaryIO, Literal
from urllib.parse import quote

from fastapi import APIRouter, File, Path, Query, Request, UploadFile
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from prometheus_client import generate_latest
from pydantic import TypeAdapter, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.staticfiles import StaticFiles

from hoptrail.corpus.journal import Item
from hoptrail.documents.child import Parsing
from hoptrail.documents.forms import ENDINGS
from hoptrail.documents.limits import Unreadable
from hoptrail.documents.marks import FileMark, mark_of, times_of
from hoptrail.index.contents import DocumentSummary
from hoptrail.language.tasks import OFFLINE
from hoptrail.recipes.registry import recipe_class, recipe_names
from hoptrail.serving.server.jobs import Job
from hoptrail.serving.server.refusals import Refusal, in_field, not_found, not_valid
from hoptrail.serving.server.services import Here, Place, Services
from hoptrail.serving.server.streaming import EVENTS, ClientQuestion, answered, searched, stream
from hoptrail.serving.server.wire import QuestionRequest, Search, Text, as_file, document_json, progress_json
from hoptrail.serving.server.workspaces import examples, state_json
from hoptrail.serving.setup import offer
from hoptrail.structures.progress_tracker import Progress
from hoptrail.types import Document
from hoptrail.types.json_object import JsonObject
from hoptrail.types.sources import UPLOADED, file_name

STATUS = APIRouter(tags=["status"])
ANSWERING = APIRouter(prefix="/api", tags=["answering"])
DOCUMENTS = APIRouter(prefix="/api", tags=["documents"])

PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
MOST_UNREAD = 100
_PAGE = StaticFiles(packages=[("hoptrail.serving.server", "page")])

# --- status and the page


@STATUS.get("/health")
def health() -> dict[str, str]:
    """Whether the server answers; says nothing about what it serves."""
    return {"status": "ok"}


@STATUS.get("/metrics", response_class=PlainTextResponse)
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


@STATUS.get("/api/workspaces")
def workspaces(request: Request) -> JsonObject:
    """The workspaces that the key opens, the default first."""
    return {"workspaces": list(request.state.workspaces)}


@STATUS.get("/api/show")
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


@STATUS.get("/", include_in_schema=False)
async def start(request: Request) -> Response:
    """The start page."""
    return await page_file(request, "index.html")


@STATUS.get("/page/{name}", include_in_schema=False)
async def page_file(request: Request, name: str) -> Response:
    """A file of the page."""
    found = await _PAGE.get_response(name, request.scope)
    found.headers["Cache-Control"] = "no-cache"  # asked for again each time, by its entity tag
    if name.endswith(".js"):  # whose type differs by system
        found.headers["Content-Type"] = "text/javascript; charset=utf-8"
    return found


# --- questions


@ANSWERING.post("/ask", response_class=JSONResponse)
async def ask(request: Request, here: Here, asked: QuestionRequest) -> Response:
    """Answer a question, as `hoptrail ask --json` does; with `Accept: text/event-stream`, hop by hop."""
    if EVENTS in request.headers.get("accept", ""):
        return await stream(ClientQuestion(here, asked))
    return JSONResponse(await answered(ClientQuestion(here, asked)))


@ANSWERING.post("/search", response_class=JSONResponse)
async def search(here: Here, asked: Search) -> Response:
    """The hits of a recipe for a question, as `hoptrail search --json` prints them."""
    return JSONResponse(await searched(here, asked))


@ANSWERING.get("/recipes")
def recipes(here: Here) -> JsonObject:
    """The recipes, which of them are usable here, which are of other packages (`published` systems); the languages, and the chat
    model of the settings.
    """
    settings, rows = here.workspace.index.settings, list[JsonObject]()
    for name, usable in here.workspace.recipe_names().items():
        recipe = recipe_class(name)
        said, published = (recipe.__doc__ or "").splitlines()[0], not recipe.__module__.startswith("hoptrail.")
        rows.append({"name": name, "description": said, "usable": usable, "published": published})
    languages, model = here.workspace.language_names, settings.chat.model
    return {"default": settings.recipe, "recipes": rows, "languages": languages, "model": model}


@ANSWERING.get("/recipes/{name}/cost")
def cost(here: Here, name: str) -> JsonObject:
    """The estimated cost of building for a recipe with a chat model, and the seconds spent on building so far."""
    _check(here, name)
    report = here.workspace.index.estimate([], [name])
    counts = {name: getattr(report.usage, name) for name in ("calls", "prompt_tokens", "completion_tokens")}
    return {**counts, "seconds_so_far": here.workspace.read(lambda snapshot: snapshot.head.spent.seconds, 0.0)}


@ANSWERING.post("/recipes/{name}", status_code=202)
def build(here: Here, name: str) -> JsonObject:
    """Build what a recipe searches. Returns the job."""
    _check(here, name)
    return here.jobs.submit(Job("build", [Item(name, name)], here.client)).as_json()


@ANSWERING.get("/suggestions")
def suggestions(here: Here) -> JsonObject:
    """Example questions, made of titles."""
    return {"questions": here.workspace.read(examples, tuple[str, ...]())}


@ANSWERING.get("/offer")
def offered(here: Here) -> JsonObject:
    """What names a chat model on this machine where none is set, as `hoptrail ask` does; empty where none answers."""
    return {"offer": offer() if here.workspace.index.settings.language == OFFLINE else ""}


def _check(here: Place, name: str) -> None:
    """Raises: Refusal: there is no such recipe, there are no documents, or nothing can be built here."""
    here.workspace.check_changeable()
    if name not in recipe_names():
        raise not_found("recipe")
    here.workspace.corpus()


# --- documents and jobs

_TEXTS = TypeAdapter(list[Text])
_JSON_BODY = {"application/json": {"schema": {"type": "array", "items": Text.model_json_schema()}}}

Sort = Literal["title", "date", "-date", "length", "-length", "folder"]


@DOCUMENTS.get("/documents")
def documents(
    here: Here,
    start: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    title: Annotated[str, Query(max_length=300, description="Only titles that contain this.")] = "",
    folder: Annotated[str, Query(max_length=1000, description="Only documents of this folder or below it.")] = "",
    sort: Sort = "title",
) -> JsonObject:
    """The documents, `limit` of them from `start`, and the folders that they are in. A `-` turns the order round."""
    found = here.workspace.by_title()
    folders = folders_of(found)
    counts = Counter(folders.values())
    if part := title.casefold():
        found = [one for one in found if part in one.title.casefold()]
    if folder:
        found = [one for one in found if f"{folders[one.id]}/".startswith(f"{folder}/")]
    keys: dict[str, Callable[[DocumentSummary], Any]] = {
        "date": lambda one: one.date,
        "length": lambda one: one.passages,
        "folder": lambda one: folders[one.id],
    }
    if key := keys.get(sort.removeprefix("-")):
        found = sorted(found, key=key, reverse=sort.startswith("-"))
    rows = [
        document_json(one)
        | {"passages": one.passages, "date": one.date, "folder": folders[one.id], "bytes": _size_of(one)}
        for one in found[start : start + limit]
    ]
    tree = [{"path": path, "documents": counts[path]} for path in sorted(counts) if path]
    return {"total": len(found), "documents": rows, "folders": tree}


@DOCUMENTS.get("/documents/{name}")
def document(here: Here, name: str) -> JsonObject:
    """A document with its text. `sentences` are the end offsets of sentences, in code points like all offsets; `blocks` tile the
    text, rows have cells, and `place` is the place in the file, if known.
    """
    found = here.documents([name])[name]
    return {
        **document_json(found),
        "text": found.text,
        "sentences": found.sentence_ends,
        "blocks": found.blocks,
        "notes": found.notes,
        "original": any(map(_is_file, found.sources)),
    }


@DOCUMENTS.get("/documents/{name}/original", response_class=Response)
def original(here: Here, name: str) -> Response:
    """The file that a document was read from, while it exists unchanged."""
    path, content = _unchanged(here, here.documents([name])[name])
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(path.name, safe='')}"}
    headers["Content-Encoding"] = "identity"  # large, and mostly packed already: compressing it would only take time
    kind = "application/pdf" if path.suffix.lower() == ".pdf" else "application/octet-stream"
    return Response(content, media_type=kind, headers=headers)


@DOCUMENTS.get("/documents/{name}/pages/{number}")
def drawn_page(
    here: Here,
    name: str,
    number: Annotated[int, Path(ge=1)],
    start: Annotated[int, Query(ge=0)] = 0,
    end: Annotated[int, Query(ge=0)] = 0,
) -> JsonObject:
    """A page of the PDF file that a document was read from: `picture` is PNG in base64, `boxes` are where the characters from
    `start` to `end` stand on it, as shares of its width and height (left, top, right, bottom).
    """
    found = here.documents([name])[name]
    _, content = _unchanged(here, found)
    try:
        with Parsing(here.workspace.index.settings.reading) as parsing:
            about, picture = parsing.draw(content, number, found.text[start:end])
    except Unreadable as error:
        raise Refusal(409, "not_drawn", "This page cannot be drawn.", "Read the text instead.") from error
    return {**about, "picture": b64encode(picture).decode()}


@DOCUMENTS.post("/documents", status_code=202, openapi_extra={"requestBody": {"content": _JSON_BODY}})
async def add(request: Request, here: Here, files: Annotated[Sequence[UploadFile], File()] = ()) -> JsonObject:
    """Index documents: files as form data, or titles with texts as JSON. Returns the job."""
    jobs, most = here.jobs, here.served.limits.files
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        content = [(file.filename or "", file.file) for file in files]
        if any(name != "files" and not isinstance(sent, str) for name, sent in (await request.form()).multi_items()):
            raise not_valid("A file is in another field than `files`.", "Send all files in that field.")
    elif kind == "application/json":
        content = await run_in_threadpool(_files_in, await request.body())
    else:
        raise Refusal(415, "wrong_type", "Documents must be multipart/form-data or JSON.", "Set the content type.")
    if not 0 < len(content) <= most:
        raise not_valid(f"The request has {len(content)} documents.", f"Send 1 to {most} files at once.")
    return (await run_in_threadpool(jobs.add, content, here.client)).as_json()


@DOCUMENTS.delete("/documents/{name}", status_code=202)
def remove(here: Here, name: str) -> JsonObject:
    """Remove a document, with everything derived from it alone. Returns the job."""
    return here.remove([name]).as_json()


@DOCUMENTS.delete("/documents", status_code=202)
def remove_several(here: Here, document: Annotated[list[str], Query(min_length=1, max_length=200)]) -> JsonObject:
    """Remove the documents named by `document` in the query; missing ones are ignored. Returns one job for all."""
    return here.remove(document).as_json()


@DOCUMENTS.get("/jobs")
def jobs(here: Here) -> JsonObject:
    """The unfinished and the latest finished jobs of this workspace, newest first, without their documents."""
    return {"jobs": [] if here.reads_only else [_summary(one) for one in here.jobs.all()]}


@DOCUMENTS.get("/jobs/{name}")
def job(here: Here, name: str) -> JsonObject:
    """A job, with the state of each of its documents."""
    return here.jobs.get(name).as_json()


@DOCUMENTS.delete("/jobs/{name}")
def discard(here: Here, name: str) -> JsonObject:
    """Forget a job that is not running, with its documents that are not indexed yet."""
    return here.jobs.discard(name).as_json()


@DOCUMENTS.post("/jobs/{name}/cancel")
def cancel(here: Here, name: str) -> JsonObject:
    """Stop a job at its next step until it is resumed. Finished work stays."""
    return here.jobs.cancel(name).as_json()


@DOCUMENTS.post("/jobs/{name}/resume")
def resume(here: Here, name: str) -> JsonObject:
    """Continue a job that was stopped or failed as a whole."""
    return here.jobs.resume(name).as_json()


def _files_in(body: bytes) -> list[tuple[str, BinaryIO]]:
    try:
        return list(map(as_file, _TEXTS.validate_json(body, strict=True)))
    except ValidationError as error:
        raise not_valid(in_field(error.errors(include_input=False, include_url=False)[0])) from None


def _summary(one: Job) -> JsonObject:
    whole = one.as_json()
    items = whole.pop("items")
    return {**whole, "counts": Counter(item["state"] for item in items)}


def _unchanged(here: Place, document: Document) -> tuple[FilePath, bytes]:
    """The file of a document and its content, with the bytes that were read. Raises: Refusal: it is gone or has changed."""
    files = list(filter(_is_file, document.sources))
    marks = here.workspace.read(lambda snapshot: snapshot.register.files(files), dict[str, FileMark]())
    with suppress(OSError):
        for file, mark in marks.items():
            path = FilePath(file)
            content = path.read_bytes()
            if mark_of(times_of(path), content).digest == mark.digest:
                return path, content
    raise Refusal(409, "changed", "The file is gone or has changed.", "Index its folder again.")


def folders_of(documents: Sequence[DocumentSummary]) -> dict[str, str]:
    """The folder of each document (by id), below the folder that has all of them, so that no path of the server is told."""
    found = {one.id: next(iter(one.sources), "") for one in documents}
    files = {name: str(PurePath(source).parent) for name, source in found.items() if PurePath(source).is_absolute()}
    root = os.path.commonpath(files.values()) if files else ""
    below = {name: PurePath(folder).relative_to(root).as_posix() for name, folder in files.items()}
    uploads = {name: PurePath(UPLOADED.sub(r"\g<name>", source)).parent.as_posix() for name, source in found.items()}
    return {name: folder.removeprefix(".") for name, folder in (uploads | below).items()}


def _size_of(document: DocumentSummary) -> int | None:
    """Bytes of the file of a document; None without a file of its own."""
    sizes = (FilePath(source).stat().st_size for source in document.sources if _is_file(source))
    with suppress(OSError):
        return next(sizes, None)
    return None


def _is_file(source: str) -> bool:
    """Whether a source is the absolute path of a regular file. Sources of uploads are relative."""
    try:
        return FilePath(source).is_absolute() and stat.S_ISREG(os.lstat(source).st_mode)
    except (OSError, ValueError):
        return False
