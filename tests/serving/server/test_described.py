"""The description of the API has the results and errors of every route, with the schemas of their bodies."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from hoptrail.serving.server.keys import Keys
from hoptrail.serving.server.refusals import OPENAI
from serving.server.served import NORTH, client_of, new_app
from serving.server.test_security import REQUESTS, Route, send


@pytest.fixture(scope="module")
def app(built: Path, keys: Keys, tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    """One for all: describing an app takes longer than all that is asked of it."""
    return new_app(built, tmp_path_factory.mktemp("served"), keys)


@pytest.fixture(scope="module")
def client(app: FastAPI) -> Iterator[TestClient]:
    with client_of(app, NORTH) as opened:
        yield opened


def operations(app: FastAPI) -> dict[Route, dict[str, Any]]:
    paths = app.openapi()["paths"]
    return {
        (method.upper(), path): operation for path, methods in paths.items() for method, operation in methods.items()
    }


def test_every_route_is_on_the_page_and_has_its_errors_described(app: FastAPI) -> None:
    described, page = operations(app), (Path(__file__).parents[3] / "docs" / "serving.md").read_text("utf-8")
    assert len(described) > 15
    for route, operation in described.items():
        path = re.sub(r"\\{\w+\\}", "[A-Z]+", re.escape(route[1]))
        assert re.search(rf"`{route[0]} {path}[`?]", page), f"{route} is not in docs/serving.md"
        assert "422" not in operation["responses"], "invalid fields are answered with 400"
        for statuses in ("4XX", "5XX"):
            schema = operation["responses"][statuses]["content"]["application/json"]["schema"]
            assert schema["properties"]["error"]["required"] == ["code", "message", "what_to_do"], route


@pytest.mark.parametrize("route", sorted(REQUESTS))
def test_what_a_route_answers_is_as_described(app: FastAPI, client: TestClient, route: Route) -> None:
    described = operations(app).get(route)
    if described is None:
        pytest.skip("it is not described: a page, or for agents")
    wrong: dict[str, Any] = {"json": {"question": 3}} if route[0] == "POST" else {}
    for header in ({}, {"Authorization": "Bearer wrong-key-0123456789"}, {"Host": "elsewhere"}):
        answer = send(client, route, headers=header, **wrong)
        responses = described["responses"]
        status = f"{answer.status_code // 100}XX" if answer.status_code >= 400 else str(answer.status_code)
        kind = answer.headers["content-type"].partition(";")[0]
        assert kind in responses[status]["content"]
        if answer.status_code >= 400:
            error = answer.json()["error"]
            assert {"code", "message", "what_to_do"} <= error.keys()
            assert ("type" in error) == route[1].startswith(OPENAI)
