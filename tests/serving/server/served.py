"""Shared parts of the server tests: two workspaces with a key each, an app over them, and waiting for a job."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI
from fastapi.testclient import TestClient
from starlette.types import ASGIApp

from hoptrail import Index, Settings
from hoptrail.index.settings import ServerLimits
from hoptrail.serving.server.app import create_app
from hoptrail.serving.server.keys import Keys
from hoptrail.serving.server.workspaces import Workspace
from world import HashingEncoder

NORTH, SOUTH = "north-key-0123456789", "south-key-9876543210"
OPERATOR = "operator-key-0123456789"
"""A key that opens both workspaces."""
QUESTION = "Which river flows through the town where the designer of the Tallow Bridge was born?"
SECRET = "The zanzibar vault opens at noon."
"""A word that occurs only in a document of the south."""

AGENT = {"Accept": "application/json, text/event-stream"}
"""Headers of an agent's request."""

MakeApp = Callable[..., FastAPI]


def workspace(name: str, folder: Path, settings: Settings | None = None) -> Workspace:
    index = Index(folder, settings)
    index.encoder = HashingEncoder()
    return Workspace(name, index)


def new_app(
    built: Path, folder: Path, keys: Keys | None = None, limits: ServerLimits | None = None, **more: Any
) -> FastAPI:
    """An app over copies of both indexes; `keys=None` serves them without keys."""
    for name in ("north", "south"):
        if not (folder / name).exists():
            shutil.copytree(built / name, folder / name)
    served = [workspace(name, folder / name) for name in ("north", "south")]
    return create_app(served, keys, limits=limits, **{"warm": False, **more})


def client_of(app: ASGIApp, key: str | None = None) -> TestClient:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return TestClient(app, base_url="http://localhost", headers=headers)


def beside(client: TestClient, key: str | None = None) -> TestClient:
    """Another client of the same app, for while the first one is open: alone, each request would start an event loop."""
    other = client_of(client.app, key)
    other.portal = client.portal
    return other


def ended(client: TestClient | httpx.Client, job: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The job once it is over, with a long timeout for busy machines."""
    until = time.monotonic() + 90
    while True:
        found: dict[str, Any] = client.get(f"/api/jobs/{job['id']}", **more).json()
        if found["state"] in {"done", "failed", "stopped"}:
            return found
        assert time.monotonic() < until, f"the job did not end: {found}"
        time.sleep(0.02)


def upload(client: TestClient, *files: tuple[str, bytes], **more: Any) -> dict[str, Any]:
    """The job of an upload once it is over."""
    answer = client.post("/api/documents", files=[("files", file) for file in files], **more)
    assert answer.status_code == 202, answer.text
    return ended(client, answer.json(), **more)


def call_tool(client: TestClient, tool: str, **arguments: Any) -> dict[str, Any]:
    """The reply to an agent's call of a tool: its `result`, or an `error`."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    reply = client.post("/mcp", json=call, headers=AGENT).text
    found: dict[str, Any] = json.loads(reply.partition("data: ")[2] or reply)
    return found


def listed_tools(client: TestClient) -> set[str]:
    """The names of the tools that an agent is offered."""
    answer = client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, headers=AGENT)
    return {tool["name"] for tool in answer.json()["result"]["tools"]}
