"""HTTP requests to a server, for `power_cuts`: documents are uploaded, replaced, and one is removed; then the power fails.

A request is acknowledged by its answer 202, which the process marks by opening a file below the recorded folder. From then on
every state of the disk must hold everything acknowledged, once a server has started on it and done the remaining work.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.small_world import LATER, NEW, REMOVED, TEXTS, files_with

from hoptrail.corpus.repairing import damage
from hoptrail.errors import HoptrailError
from hoptrail.index.index import Index

if TYPE_CHECKING:
    from fastapi.testclient import TestClient

ACKNOWLEDGED = "acknowledged"
"""The file that the process opens after an answer 202."""

PATIENCE = 60.0  # seconds


@dataclass(frozen=True, slots=True)
class Told:
    """Ask a server to accept some texts, or to remove a document."""

    name: str
    texts: dict[str, str]
    removed: str = ""

    def perform(self, index: Path) -> int:
        """Start a server, send a request, and stop the server when it is done."""
        with server(index, "bm25") as client:
            if self.removed:
                (one,) = client.get("/api/documents", params={"title": self.removed}).json()["documents"]
                answer = client.delete(f"/api/documents/{one['id']}")
            else:
                body = [{"title": title, "text": text} for title, text in self.texts.items()]
                answer = client.post("/api/documents", json=body)
            if answer.status_code != 202:
                return 1
            (index.parent / ACKNOWLEDGED).open("wb").close()
            _wait(client)
        return 0

    def after(self, before: dict[str, str]) -> dict[str, str]:
        return {title: text for title, text in {**before, **self.texts}.items() if title != self.removed}


TOLD = (Told("upload", TEXTS), Told("new versions", NEW), Told("delete", {}, REMOVED), Told("upload after", LATER))


def fault(index: Path, before: dict[str, str], after: dict[str, str], *, acknowledged: bool) -> str:
    """The problems of a folder once a server has started on it; empty if there are none."""
    try:
        with server(index, "bm25") as client:
            failed = _wait(client)
            shown = client.get("/api/documents").json()["documents"]
            found = {one["title"]: client.get(f"/api/documents/{one['id']}").json()["text"] for one in shown}
        if failed:
            return failed
        if len(shown) > len(found):
            return f"a document is there twice: {sorted(one['title'] for one in shown)}"
        if found != after and (acknowledged or found != before):
            wrong = sorted(title for title in {*found, *after} if found.get(title) != after.get(title))
            return f"not what was acknowledged: {', '.join(wrong)}"
        if REMOVED not in found and REMOVED not in after and files_with(index, REMOVED):
            return f"removed text is in {files_with(index, REMOVED)}"
        return next(iter(damage(index)), "") if found else ""
    except HoptrailError as error:
        return f"{type(error).__name__}: {error}".replace(str(index), "")


def server(index: Path, *recipes: str) -> TestClient:
    """A client of a server in this process, which runs in its block; what is uploaded is indexed for these recipes."""
    from fastapi.testclient import TestClient

    from hoptrail.serving.server.app import create_app
    from hoptrail.serving.server.workspaces import Workspace

    app = create_app([Workspace("main", Index(index), recipes)], warm=False)
    return TestClient(app, base_url="http://localhost")


def ended_jobs(client: TestClient) -> list[dict[str, Any]] | None:
    """All jobs, once none is left to be done; None after PATIENCE."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        jobs: list[dict[str, Any]] = client.get("/api/jobs").json()["jobs"]
        if all(job["state"] in {"done", "failed", "stopped"} for job in jobs):
            return jobs
        time.sleep(0.01)
    return None


def _wait(client: TestClient) -> str:
    """Wait until no job is left; returns the job that was not done, if any."""
    jobs = ended_jobs(client)
    if jobs is None:
        return "a job does not end"
    failed = [job for job in jobs if job["state"] != "done" or set(job["counts"]) != {"done"}]
    return f"a job was not done: {failed[0]}" if failed else ""
