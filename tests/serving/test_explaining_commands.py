"""`hoptrail explain-triples`: its output as text and as JSON, and its refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from command import Hoptrail
from hoptrail import Index
from hoptrail.serving.options import FAILED, WRONG_USAGE

QUESTION = "Who designed the Tallow Bridge?"


@pytest.fixture
def hoptrail(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Hoptrail:
    return Hoptrail(monkeypatch, capsys)


@pytest.fixture(scope="module")
def triples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explained")
    (folder / "Roll.txt").write_text("Orla Finch designed the Tallow Bridge.", encoding="utf-8")
    (folder / "Gallery.txt").write_text("Jonas Pell painted\nthe Tallow Bridge.", encoding="utf-8")
    Index(folder / "index").add(sorted(folder.glob("*.txt")), ["comprag"])
    return folder / "index"


def test_patterns_triples_and_what_fills_the_open_slot_as_json(hoptrail: Hoptrail, triples: Path) -> None:
    ended = hoptrail("explain-triples", QUESTION, "--index", triples, "-k", 2, "--json")
    assert ended.code == 0
    assert set(ended.json) == {"question", "recipe", "patterns", "relations"}
    pattern = ended.json["patterns"][0]
    assert (pattern["subject"], pattern["relation"], pattern["object"]) == (None, "designed", "Tallow Bridge")
    best, other = pattern["triples"]
    assert best["text"] == "Orla Finch | designed | Tallow Bridge"
    assert (best["sentence"], best["title"]) == ("Orla Finch designed the Tallow Bridge.", "Roll")
    assert best["score"] > other["score"]
    assert pattern["fillers"][0]["text"] == "Orla Finch"


def test_the_same_as_text(hoptrail: Hoptrail, triples: Path) -> None:
    shown = hoptrail("explain-triples", QUESTION, "--index", triples).out
    assert "... | designed | Tallow Bridge" in shown
    assert "[Roll] Orla Finch designed the Tallow Bridge." in shown
    assert "[Gallery] Jonas Pell painted the Tallow Bridge." in shown
    assert "open slot: Orla Finch" in shown


def test_a_question_without_a_triple_says_so(hoptrail: Hoptrail, triples: Path) -> None:
    ended = hoptrail("explain-triples", "why?", "--index", triples)
    assert (ended.code, ended.out.strip()) == (0, "no triple was found in this question")


def test_what_compares_no_triples_is_refused(hoptrail: Hoptrail, triples: Path) -> None:
    ended = hoptrail("explain-triples", QUESTION, "--index", triples, "--recipe", "bm25")
    assert ended.code == WRONG_USAGE
    assert "bm25 does not compare triples" in ended.err
    ended = hoptrail("explain-triples", QUESTION, "--index", triples, "--recipe", "comprag:text")
    assert ended.code == FAILED
    assert "Set texts = true" in ended.err
