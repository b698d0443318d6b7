"""A chat model is found where it runs, tried, and written down; nothing else is asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from command import Hoptrail
from fakeai.server import Body, FakeAI, serving
from hoptrail.index.settings import load_settings
from hoptrail.serving import setup
from hoptrail.serving.setup import find_models


@pytest.fixture
def fake() -> Iterator[FakeAI]:
    reply = {"questions": ["Where was Ada Lunt born?", "Which river flows through #1?"], "answer": "Wrenmouth"}
    with serving(FakeAI(lambda _: json.dumps(reply))) as running:
        running.pages["/v1/models"] = {"data": [{"id": "qwen3:8b"}, {"id": "nomic-embed-text"}]}
        yield running


@pytest.fixture(autouse=True)
def _elsewhere(fake: FakeAI, monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine has the scripted server and nothing at another port."""
    monkeypatch.setattr(setup, "USUAL", ("http://127.0.0.1:9/v1", fake.address))
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "HOPTRAIL_MODEL"):
        monkeypatch.delenv(name, raising=False)


def test_one_command_finds_tries_and_writes(hoptrail: Hoptrail, fake: FakeAI, tmp_path: Path) -> None:
    """Also of a model whose window is known only when it is loaded, and of an address without its end or with one too many."""
    reply, loaded = fake.brain, {"models": [{"name": "qwen3:8b", "context_length": 4096}]}

    def load(body: Body) -> str:
        fake.pages["/api/ps"] = loaded
        return reply(body)

    fake.brain = load
    out = tmp_path / "own.toml"
    ended = hoptrail("setup", "--out", out)
    assert ended.code == 0, ended.err
    assert f"1. qwen3:8b at {fake.address}\n" in ended.err
    for url in (fake.address.removesuffix("/v1"), f"{fake.address}/", f"{fake.address}/chat/completions"):
        elsewhere = hoptrail("setup", "--out", tmp_path / "none" / "own.toml", "--url", url)
        assert f"1. qwen3:8b at {fake.address}, 4,096 tokens" in elsewhere.err
        assert "cannot write" in elsewhere.err
    assert "works replies by schema: works" in " ".join(ended.out.split())
    settings = load_settings(out)
    assert (settings.language, settings.chat.model, settings.chat.base_url) == ("chat", "qwen3:8b", fake.address)
    assert settings.chat.context_window == 4096
    assert {asked.body["model"] for asked in fake.log} == {"qwen3:8b"}
    again = hoptrail("setup", "--out", out)
    assert (again.code, "is there already" in again.err) == (2, True)


@pytest.mark.parametrize(
    ("pages", "window"),
    [
        ({"/v1/models": {"data": [{"id": "m", "max_model_len": 40960}]}}, 40960),
        (
            {"/api/v0/models": {"data": [{"id": "m", "max_context_length": 131072, "loaded_context_length": 8192}]}},
            8192,
        ),
        ({"/api/ps": {"models": [{"name": "m", "context_length": 4096}]}}, 4096),
        ({"/props": {"default_generation_settings": {"n_ctx": 3072}}}, 3072),
        ({}, 0),
        ({"/api/ps": {"models": "none"}, "/props": [1]}, 0),
    ],
)
def test_windows_are_read_from_what_each_server_says(fake: FakeAI, pages: dict[str, Any], window: int) -> None:
    fake.pages = {"/v1/models": {"data": [{"id": "m"}]}} | pages
    assert [(one.model, one.window) for one in find_models([fake.address])] == [("m", window)]


@pytest.mark.parametrize("page", [None, [], {"data": "x"}, {"data": [1, {"id": "h", "owned_by": "hoptrail"}]}])
def test_what_is_no_list_of_chat_models_is_none(fake: FakeAI, page: Any) -> None:
    fake.pages = {"/v1/models": page}
    assert find_models([fake.address]) == []


def test_of_several_one_is_named(hoptrail: Hoptrail, fake: FakeAI, tmp_path: Path) -> None:
    fake.pages["/v1/models"]["data"].append({"id": "gemma"})
    ended = hoptrail("setup", "--out", tmp_path / "own.toml")
    assert ended.code == 2
    assert "1. qwen3:8b" in ended.err
    assert "2. gemma" in ended.err
    assert "name one by --model" in ended.err
    assert hoptrail("setup", "--out", tmp_path / "own.toml", "--model", "gemma").code == 0
    assert load_settings(tmp_path / "own.toml").chat.model == "gemma"


def test_where_none_answers_it_says_where_it_looked(hoptrail: Hoptrail, fake: FakeAI, tmp_path: Path) -> None:
    ended = hoptrail("setup", "--out", tmp_path / "own.toml", "--url", "http://127.0.0.1:9/v1")
    assert (ended.code, fake.log) == (2, [])
    assert "no such chat model answers at http://127.0.0.1:9/v1" in ended.err


def test_a_model_that_fails_is_told_in_the_servers_words_and_not_written(
    hoptrail: Hoptrail, fake: FakeAI, tmp_path: Path
) -> None:
    fake.always = "only reasoning"
    ended = hoptrail("setup", "--out", tmp_path / "own.toml")
    assert ended.code == 1
    said = " ".join(ended.out.split())
    assert "for reasoning if it is a model that reasons: raise max_output_tokens under [chat]" in said
    assert "too small" not in said
    assert not (tmp_path / "own.toml").exists()
