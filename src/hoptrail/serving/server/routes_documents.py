"""The routes for documents and the jobs that change them. Documents, uploads and jobs have generated ids.

The file that a document was read from is served only if the source is a whole file whose content is unchanged: not for uploads,
whose files are not kept, not for lines of a JSONL file, which may hold more than the index, and not for changed files.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query, Request, Response
from pydantic import TypeAdapter, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException

from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.marks import times_of
from hoptrail.documents.read_sources import read_sources
from hoptrail.serving.server.job import Job
from hoptrail.serving.server.refusals import Refusal, in_field, not_found, not_valid
from hoptrail.serving.server.services import Here, Place, Served
from hoptrail.serving.server.wire import Text, as_file, document_json, summary_json
from hoptrail.types import Document
from hoptrail.types.json_object import JsonObject

router = APIRouter(prefix="/api", tags=["documents"])

_TEXTS = TypeAdapter(list[Text])
_UPLOAD_BODY: JsonObject = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "properties": {"files": {"type": "array", "items": {"type": "string", "format": "binary"}}},
                }
            },
            "application/json": {
                "schema": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["title", "text"],
                        "properties": {"title": {"type": "string"}, "text": {"type": "string"}},
                    },
                }
            },
        },
    }
}


@router.get("/documents")
def documents(
    here: Here,
    start: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    title: Annotated[str, Query(max_length=300, description="Only titles that contain this.")] = "",
) -> JsonObject:
    """The documents by title, `limit` of them from `start`."""
    found = here.workspace.by_title()
    if part := title.casefold():
        found = tuple(one for one in found if part in one.title.casefold())
    return {"total": len(found), "documents": [summary_json(one) for one in found[start : start + limit]]}


@router.get("/documents/{name}")
def document(here: Here, name: str) -> JsonObject:
    """A document with its text and the ends of its sentences."""
    found = here.document(name)
    return {**document_json(found), "original": any(map(_is_file, found.sources))}


@router.get("/documents/{name}/original", response_class=Response)
def original(here: Here, name: str) -> Response:
    """The file that a document was read from, while it exists unchanged."""
    found = here.document(name)
    try:
        file = _original_of(found, here.workspace.index.settings.reading)
    except OSError:
        file = None
    if file is None:
        raise Refusal(409, "changed", "The file is gone or has changed.", "Index its folder again.")
    path, content = file
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(path.name, safe='')}"}
    kind = "application/pdf" if path.suffix.lower() == ".pdf" else "application/octet-stream"
    return Response(content, media_type=kind, headers=headers)


@router.post("/documents", status_code=202, openapi_extra=_UPLOAD_BODY)
async def add(request: Request, here: Here, served: Served) -> JsonObject:
    """Index documents: files as form data, or titles with texts as JSON. Returns the job."""
    here.workspace.check_changeable()
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        job = await _add_form(request, here, served.limits.files)
    elif kind == "application/json":
        texts = await run_in_threadpool(_texts_in, await request.body(), served.limits.files)
        job = await run_in_threadpool(here.jobs.add, list(map(as_file, texts)), here.client)
    else:
        raise Refusal(415, "wrong_type", "Documents must be multipart/form-data or JSON.", "Set the content type.")
    return job.as_json()


@router.delete("/documents/{name}", status_code=202)
def remove(here: Here, name: str) -> JsonObject:
    """Remove a document, with everything derived from it alone. Returns the job."""
    found = here.document(name)
    return here.jobs.remove([(found.id, found.title)], here.client).as_json()


@router.delete("/documents", status_code=202)
def remove_several(here: Here, document: Annotated[list[str], Query(min_length=1, max_length=200)]) -> JsonObject:
    """Remove the documents named by `document` in the query; missing ones are ignored. Returns one job for all."""
    found = [one for name in dict.fromkeys(document) if (one := here.workspace.document(name)) is not None]
    if not found:
        raise not_found("document")
    return here.jobs.remove([(one.id, one.title) for one in found], here.client).as_json()


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


async def _add_form(request: Request, here: Place, most: int) -> Job:
    try:
        async with request.form(max_files=most, max_fields=10, max_part_size=64 * 1024) as form:
            files = [value for _, value in form.multi_items() if isinstance(value, UploadFile) and value.filename]
            if not files:
                raise not_valid("The request has no file.", "Send at least one as form data.")
            return await run_in_threadpool(
                here.jobs.add, [(file.filename or "", file.file) for file in files], here.client
            )
    except HTTPException as error:  # its detail describes the fault and contains nothing of the form
        raise not_valid(f"The form cannot be read: {error.detail}", f"Send 1 to {most} files at once.") from None


def _texts_in(body: bytes, most: int) -> list[Text]:
    try:
        texts = _TEXTS.validate_json(body, strict=True)
    except ValidationError as error:
        raise not_valid(in_field(error.errors(include_input=False, include_url=False)[0])) from None
    if not 0 < len(texts) <= most:
        raise not_valid(f"The request has {len(texts)} documents; 1 to {most} are accepted at once.")
    return texts


def _summary(one: Job) -> JsonObject:
    whole = one.as_json()
    items = whole.pop("items")
    return {**whole, "counts": Counter(item["state"] for item in items)}


def _original_of(document: Document, limits: ReadingLimits) -> tuple[Path, bytes] | None:
    """The file of a document and its content, if it exists unchanged; `limits` are those that it was read with."""
    for source in document.sources:
        if not _is_file(source):
            continue
        path = Path(source)
        before, content = times_of(path), path.read_bytes()
        read = read_sources([path], limits)
        if any(isinstance(one, Document) and one.id == document.id for one in read) and times_of(path) == before:
            return path, content
    return None


def _is_file(source: str) -> bool:
    """Whether a source is the absolute path of a regular file. Sources of uploads are relative."""
    try:
        return Path(source).is_absolute() and stat.S_ISREG(os.lstat(source).st_mode)
    except (OSError, ValueError):
        return False
