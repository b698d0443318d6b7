"""The routes for documents and the jobs that change them. Documents, uploads and jobs have generated ids.

The file that a document was read from is served only if the source is a whole file whose content is unchanged: not for uploads,
whose files are not kept, not for lines of a JSONL file, which may hold more than the index, and not for changed files.
"""

from __future__ import annotations

import os
import stat
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path as FilePath
from pathlib import PurePath
from typing import Annotated, Any, BinaryIO, Literal
from urllib.parse import quote

from fastapi import APIRouter, File, Path, Query, Request, Response, UploadFile
from pydantic import TypeAdapter, ValidationError
from starlette.concurrency import run_in_threadpool

from hoptrail.documents.child import Parsing
from hoptrail.documents.limits import Unreadable
from hoptrail.documents.marks import FileMark, mark_of, times_of
from hoptrail.index.contents import DocumentSummary
from hoptrail.serving.server.jobs import Job
from hoptrail.serving.server.refusals import Refusal, in_field, not_valid
from hoptrail.serving.server.services import Here, Place
from hoptrail.serving.server.wire import Text, as_file, document_json
from hoptrail.types import Document
from hoptrail.types.json_object import JsonObject
from hoptrail.types.sources import UPLOADED

router = APIRouter(prefix="/api", tags=["documents"])

_TEXTS = TypeAdapter(list[Text])
_JSON_BODY = {"application/json": {"schema": {"type": "array", "items": Text.model_json_schema()}}}

Sort = Literal["title", "date", "-date", "length", "-length", "folder"]


@router.get("/documents")
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
    return {
        "total": len(found),
        "documents": [
            {
                **document_json(one),
                "passages": one.passages,
                "date": one.date,
                "folder": folders[one.id],
                "bytes": _size_of(one),
            }
            for one in found[start : start + limit]
        ],
        "folders": [{"path": path, "documents": counts[path]} for path in sorted(counts) if path],
    }


@router.get("/documents/{name}")
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


@router.get("/documents/{name}/original", response_class=Response)
def original(here: Here, name: str) -> Response:
    """The file that a document was read from, while it exists unchanged."""
    path, content = _unchanged(here, here.documents([name])[name])
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(path.name, safe='')}"}
    headers["Content-Encoding"] = "identity"  # large, and mostly packed already: compressing it would only take time
    kind = "application/pdf" if path.suffix.lower() == ".pdf" else "application/octet-stream"
    return Response(content, media_type=kind, headers=headers)


@router.get("/documents/{name}/pages/{number}")
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


@router.post("/documents", status_code=202, openapi_extra={"requestBody": {"content": _JSON_BODY}})
async def add(request: Request, here: Here, files: Annotated[Sequence[UploadFile], File()] = ()) -> JsonObject:
    """Index documents: files as form data, or titles with texts as JSON. Returns the job."""
    jobs, most = here.jobs, here.served.limits.files
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        content = [(file.filename or "", file.file) for file in files]
    elif kind == "application/json":
        content = await run_in_threadpool(_files_in, await request.body())
    else:
        raise Refusal(415, "wrong_type", "Documents must be multipart/form-data or JSON.", "Set the content type.")
    if not 0 < len(content) <= most:
        raise not_valid(f"The request has {len(content)} documents.", f"Send 1 to {most} files at once.")
    return (await run_in_threadpool(jobs.add, content, here.client)).as_json()


@router.delete("/documents/{name}", status_code=202)
def remove(here: Here, name: str) -> JsonObject:
    """Remove a document, with everything derived from it alone. Returns the job."""
    return here.remove([name]).as_json()


@router.delete("/documents", status_code=202)
def remove_several(here: Here, document: Annotated[list[str], Query(min_length=1, max_length=200)]) -> JsonObject:
    """Remove the documents named by `document` in the query; missing ones are ignored. Returns one job for all."""
    return here.remove(document).as_json()


@router.get("/jobs")
def jobs(here: Here) -> JsonObject:
    """The unfinished and the latest finished jobs of this workspace, newest first, without their documents."""
    return {"jobs": [] if here.reads_only else [_summary(one) for one in here.jobs.all()]}


@router.get("/jobs/{name}")
def job(here: Here, name: str) -> JsonObject:
    """A job, with the state of each of its documents."""
    return here.jobs.get(name).as_json()


@router.delete("/jobs/{name}")
def discard(here: Here, name: str) -> JsonObject:
    """Forget a job that is not running, with its documents that are not indexed yet."""
    return here.jobs.discard(name).as_json()


@router.post("/jobs/{name}/cancel")
def cancel(here: Here, name: str) -> JsonObject:
    """Stop a job at its next step until it is resumed. Finished work stays."""
    return here.jobs.cancel(name).as_json()


@router.post("/jobs/{name}/resume")
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
        for path, mark in ((FilePath(file), mark) for file, mark in marks.items()):
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
