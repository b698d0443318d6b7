"""An evaluation builds by one language and asks another, and says what both may cost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from command import Hoptrail
from fakeai.brains import asked_of, by_task
from fakeai.clients import point_at, write_settings
from fakeai.server import FakeAI, serving
from world import FACTS

STEP = {"question": "Who?", "evidence": [1], "quote": "The Isk flows.", "answer": "Isk"}
READING = {"steps": [STEP], "answer": "Isk", "confidence": "high"}
REPLIES = {
    "decompose_next": {"questions": []},
    "answer": READING,
    "integrate": {"answer": "Isk", "confidence": "high"},
    "integrate_evidence": READING,
    "extract": {"entities": [], "facts": []},
}


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeAI]:
    with serving(FakeAI(by_task(REPLIES))) as running:
        point_at(running, monkeypatch)
        yield running


def test_an_evaluation_builds_by_one_language_and_asks_another(
    hoptrail: Hoptrail, fake: FakeAI, tmp_path: Path, tiny: Path
) -> None:
    data = tmp_path / "world"
    data.mkdir()
    lines = [json.dumps({"id": title, "title": title, "text": text}) for title, text in FACTS.items()]
    (data / "corpus.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (data / "questions.jsonl").write_text('{"id": "q", "question": "Who?", "answers": ["Isk"], "supporting": []}\n')
    settings = write_settings(tiny, tmp_path / "settings.toml")
    keys = ("--set", "build.language=offline", "--set", "chat.decompose.model=llama")
    arguments = ("evaluate", data, "--recipes", "selfask,comprag", "--settings", settings, "--language", "chat")
    ended = hoptrail(*arguments, "--work", tmp_path / "work", *keys)
    assert ended.code == 0, ended.err
    assert "extract" not in set.union(*asked_of(fake).values())
    assert "decompose_next" in asked_of(fake)["llama"]
    assert ended.err.count("and of llama, which decomposes:") == 1, "comprag asks nothing of it"
    assert "Building" not in ended.err
    refused = hoptrail(
        "index", data, "--index", tmp_path / "one", "--set", "build.language=offline", "--language", "chat"
    )
    assert (refused.code, "leave one out" in refused.err) == (2, True)
    ended = hoptrail(*arguments, "--work", tmp_path / "other")
    assert "Building: About " in ended.err, "who builds by a model learns the cost before"
    assert "extract" in asked_of(fake)["fake"]
