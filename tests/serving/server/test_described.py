"""The description of the API names every status that a route returns, with the schema of its body."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from hoptrail.serving.server import refusals
from hoptrail.serving.server.keys import Keys
from hoptrail.serving.server.refusals import OPENAI, Refusal
from serving.server.served import NORTH, client_of, new_app
from serving.server.test_security import REQUESTS, Route, send

SOURCE = Path(refusals.__file__).parent


@pytest.fixture(scope="module")
def app(built: Path, keys: Keys, tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    """One for all: describing an app takes longer than all that is asked of it."""
    return new_app(built, tmp_path_factory.mktemp("served"), keys)


@pytest.fixture(scope="module")
def client(app: FastAPI) -> Iterator[TestClient]:
    with client_of(app, NORTH) as opened:
        yield opened


def statuses_in_code() -> set[int]:
    """The statuses of all refusals that any module of the server makes."""
    found = set[int]()
    for path in SOURCE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == Refusal.__name__:
                status = node.args[0]
                if isinstance(status, ast.Constant) and isinstance(status.value, int):
                    found.add(status.value)
    return found | {status for status, *_ in refusals._KINDS.values()}


def operations(app: FastAPI) -> dict[Route, dict[str, Any]]:
    paths = app.openapi()["paths"]
    return {
        (method.upper(), path): operation for path, methods in paths.items() for method, operation in methods.items()
    }


def test_every_status_of_the_code_is_described_on_every_route(app: FastAPI) -> None:
    statuses = statuses_in_code() - {405}  # of no described route: of methods that a path does not have
    assert {400, 403, 404, 409, 413, 429, 503} <= statuses
    described = operations(app)
    assert len(described) > 15
    for route, operation in described.items():
        assert {str(status) for status in statuses} <= operation["responses"].keys(), route
        assert "422" not in operation["responses"], "invalid fields are answered with 400"
        for status in statuses:
            schema = operation["responses"][str(status)]["content"]["application/json"]["schema"]
            assert schema["properties"]["error"]["required"] == ["code", "message", "what_to_do"]


@pytest.mark.parametrize("route", sorted(REQUESTS))
def test_what_a_route_answers_is_as_described(app: FastAPI, client: TestClient, route: Route) -> None:
    described = operations(app).get(route)
    if described is None:
        pytest.skip("it is not described: a page, or for agents")
    wrong: dict[str, Any] = {"json": {"question": 3}} if route[0] == "POST" else {}
    for header in ({}, {"Authorization": "Bearer wrong-key-0123456789"}, {"Host": "elsewhere"}):
        answer = send(client, route, headers=header, **wrong)
        responses = described["responses"]
        assert str(answer.status_code) in responses
        kind = answer.headers["content-type"].partition(";")[0]
        assert kind in responses[str(answer.status_code)]["content"]
        if answer.status_code >= 400:
            error = answer.json()["error"]
            assert {"code", "message", "what_to_do"} <= error.keys()
            assert ("type" in error) == route[1].startswith(OPENAI)
