"""A server in this process that speaks as much of Google Cloud Storage's XML interface as indexes need.

It heeds what the documentation of the interface says: generations that rise with every write, `x-goog-if-generation-match`
(0: only if there is none), uploads in parts, listings in pages, copies. All is in memory; nobody is asked who he is.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.sax.saxutils import escape

from werkzeug.wrappers import Request, Response

from object_store import FaultyStore

PAGE = 100
"""Objects of one answer to a listing: few, so that there are several."""


@dataclass(frozen=True, slots=True)
class Stored:
    content: bytes
    generation: int
    written: datetime

    @property
    def e_tag(self) -> str:
        return f'"{hashlib.md5(self.content).hexdigest()}"'  # noqa: S324 - what the interface has

    @property
    def headers(self) -> dict[str, str]:
        return {
            "ETag": self.e_tag,
            "Last-Modified": format_datetime(self.written, usegmt=True),
            "x-goog-generation": str(self.generation),
            "Accept-Ranges": "bytes",
        }


@dataclass
class CloudStorage:
    """Objects by /bucket/name."""

    objects: dict[str, Stored] = field(default_factory=dict)
    uploads: dict[str, dict[int, bytes]] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _generation: int = 0

    def __call__(self, environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        request = Request(environ)
        with self._lock:
            answer = self._answer(request)
        return answer(environ, start)

    def _answer(self, request: Request) -> Response:
        name = unquote(request.path)
        match request.method:
            case "POST" if "uploads" in request.args:
                self.uploads[upload := f"upload-{len(self.uploads)}"] = {}
                return _xml(
                    f"<InitiateMultipartUploadResult><UploadId>{upload}</UploadId></InitiateMultipartUploadResult>"
                )
            case "POST":
                parts = self.uploads.pop(request.args["uploadId"])
                return self._put(name, b"".join(parts[number] for number in sorted(parts)), request)
            case "PUT" if "partNumber" in request.args:
                content = request.get_data()
                self.uploads[request.args["uploadId"]][int(request.args["partNumber"])] = content
                return Response(headers={"ETag": f'"{len(content)}"'})
            case "PUT":
                source = request.headers.get("x-goog-copy-source")
                content = self.objects["/" + unquote(source).lstrip("/")].content if source else request.get_data()
                return self._put(name, content, request)
            case "DELETE":
                return Response(status=204 if self.objects.pop(name, None) else 404)
            case _:
                return self._listed(request) if name.count("/") == 1 else self._got(name, request)

    def _put(self, name: str, content: bytes, request: Request) -> Response:
        wanted = request.headers.get("x-goog-if-generation-match")
        there = self.objects[name].generation if name in self.objects else 0
        if wanted is not None and int(wanted) != there:
            return _xml("<Error><Code>PreconditionFailed</Code></Error>", 412)
        self._generation += 1
        self.objects[name] = stored = Stored(content, self._generation, datetime.now(UTC))
        return _xml(
            f"<CompleteMultipartUploadResult><ETag>{escape(stored.e_tag)}</ETag></CompleteMultipartUploadResult>",
            200,
            stored,
        )

    def _got(self, name: str, request: Request) -> Response:
        if name not in self.objects:
            return _xml("<Error><Code>NoSuchKey</Code></Error>", 404)
        stored = self.objects[name]
        response = Response(stored.content, headers=stored.headers, content_type="application/octet-stream")
        return response.make_conditional(request, accept_ranges=True, complete_length=len(stored.content))

    def _listed(self, request: Request) -> Response:
        bucket = request.path.rstrip("/") + "/"
        prefix, delimiter = request.args.get("prefix", ""), request.args.get("delimiter", "")
        after = request.args.get("continuation-token") or request.args.get("start-after") or ""
        names = sorted(name[len(bucket) :] for name in self.objects if name.startswith(bucket + prefix))
        folders, found = dict[str, None](), list[str]()
        for name in (name for name in names if name > after):
            rest = name[len(prefix) :]
            if delimiter and delimiter in rest:
                folders[prefix + rest.split(delimiter)[0] + delimiter] = None
            else:
                found.append(name)
        page, more = found[:PAGE], len(found) > PAGE
        items = "".join(self._item(bucket, name) for name in page)
        items += "".join(f"<CommonPrefixes><Prefix>{escape(folder)}</Prefix></CommonPrefixes>" for folder in folders)
        token = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if more else ""
        return _xml(
            f"<ListBucketResult>{items}{token}<IsTruncated>{str(more).lower()}</IsTruncated></ListBucketResult>"
        )

    def _item(self, bucket: str, name: str) -> str:
        stored = self.objects[bucket + name]
        return (
            f"<Contents><Key>{escape(name)}</Key><Generation>{stored.generation}</Generation>"
            f"<LastModified>{stored.written:%Y-%m-%dT%H:%M:%S.%fZ}</LastModified><ETag>{escape(stored.e_tag)}</ETag>"
            f"<Size>{len(stored.content)}</Size></Contents>"
        )


def _xml(text: str, status: int = 200, stored: Stored | None = None) -> Response:
    return Response(text, status, headers=stored.headers if stored else {}, content_type="application/xml")


def environment(store: FaultyStore, folder: Path) -> dict[str, str]:
    """What a user has to set to reach it: a service account, as a file in `folder`, that names this server and needs no token."""
    account = {
        "gcs_base_url": store.url,
        "disable_oauth": True,
        "client_email": "",
        "private_key": "",
        "private_key_id": "",
    }
    file = folder / "service account.json"
    file.write_text(json.dumps(account), encoding="utf-8")
    return {"GOOGLE_SERVICE_ACCOUNT": str(file)}
