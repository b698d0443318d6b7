"""The contract for scripts: exact keys of every command's JSON, correct spans, and only JSON on standard output."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import cache
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest

from command import Hoptrail
from hoptrail import Index
from hoptrail.documents.read_sources import read_sources
from hoptrail.recipes.registry import recipe_names
from hoptrail.recipes.trail import TrailRecipe
from hoptrail.serving.cli import app
from hoptrail.types import Document, Kind
from hoptrail_papers.baselines.closed_book import ClosedBook
from name_reader import use_name_reader

EXAMPLES = Path(__file__).parents[2] / "examples"
QUESTIONS = [json.loads(line) for line in (EXAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
QUESTION = (EXAMPLES / "question.txt").read_text(encoding="utf-8").strip()

ANSWER = ["question", "answer", "abstained", "recipe", "language", "evidence", "trail", "usage"]
ANSWER += ["kind", "items", "confidence", "closest", "guess", "asked", "parts", "notes"]
CLOSEST = ["document", "title", "heading_path", "file", "place", "date", "start", "end", "text", "unit"]
EVIDENCE = [*CLOSEST, "kind", "hop", "replaced", "said"]
HOP = ["question", "asked", "hits", "answer", "verdict"]
HIT = ["unit", "kind", "score", "channel", "document"]
USAGE = ["calls", "prompt_tokens", "completion_tokens", "seconds"]
CONTENTS = ["format", "encoder", "documents", "units", "links", "structures", "usage", "unread"]
DOCUMENT = ["id", "title", "source", "passages", "sources"]  # `sources` is more than the contract asks for
SCORE = ["em", "f1", "precision", "recall"]


@cache
def originals() -> dict[str, str]:
    """The text at every source: from the files if their text is stored unchanged, otherwise as read."""
    texts: dict[str, str] = {}
    for document in read_sources([EXAMPLES / "harbour"]):
        assert isinstance(document, Document)
        (source,) = document.sources
        path, _, line = source.partition("#")
        if line:
            rows = map(json.loads, Path(path).read_text(encoding="utf-8").splitlines())
            texts[source] = next(row["text"] for row in rows if row["id"] == line)
        elif path.endswith(".txt"):
            texts[source] = Path(path).read_text(encoding="utf-8")
        else:
            texts[source] = document.text
    return texts


@pytest.fixture(scope="module")
def texts(harbour: Path) -> dict[str, str]:
    """The original text of every document, by id."""
    return {document.id: originals()[document.sources[0]] for document in Index(harbour).contents().documents}


def check_closest(given: dict[str, Any], texts: dict[str, str], recipe: str) -> None:
    """Check three statements at their spans, and a kind that fits the answer."""
    assert given["kind"] in {"short", "yes-no", "list", "steps", "passage", "none"}
    assert (given["kind"] == "none") is given["abstained"]
    assert given["confidence"] is None or 0 <= given["confidence"] <= 1
    assert len(given["closest"]) == (0 if recipe == ClosedBook.name else 3)
    for statement in given["closest"]:
        assert list(statement) == [*CLOSEST, "said"]
        assert texts[statement["document"]][statement["start"] : statement["end"]] == statement["text"]
        assert " ".join(statement["text"].split()) in " ".join(statement["said"].split())
        assert len(statement["said"]) <= 300


ASKED = [
    *islice(zip(cycle(QUESTIONS), cycle(recipe_names())), max(len(QUESTIONS), len(recipe_names()))),
    *((row, name) for row in QUESTIONS[:3] for name in ("selfask", "trail")),
]
"""Every question with one recipe, every recipe with one question, and the three long questions with multi-hop recipes."""


@pytest.mark.parametrize(("row", "recipe"), [pytest.param(*pair, id=f"{pair[0]['id']}-{pair[1]}") for pair in ASKED])
def test_ask(
    hoptrail: Hoptrail,
    harbour: Path,
    texts: dict[str, str],
    recipe: str,
    row: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The default recipe reads with the reader that ships; others find whatever name there is, which takes no time."""
    if recipe != TrailRecipe.name:
        use_name_reader(monkeypatch)
    ended = hoptrail("ask", row["question"], "--index", harbour, "--recipe", recipe, "--json")
    assert (ended.code, ended.err) == (0, "")
    answer = ended.json
    assert list(answer) == ANSWER
    assert (answer["question"], answer["recipe"], answer["language"]) == (row["question"], recipe, "offline")
    assert answer["abstained"] is (answer["answer"] is None)
    assert list(answer["usage"]) == USAGE
    check_closest(answer, texts, recipe)
    assert answer["usage"]["seconds"] > 0
    assert answer["trail"]
    check_trail(answer)
    for item in answer["evidence"]:
        assert list(item) == EVIDENCE
        assert texts[item["document"]][item["start"] : item["end"]] == item["text"] != ""
        assert item["unit"] in {hit["unit"] for hit in answer["trail"][item["hop"]]["hits"]}


def check_trail(given: dict[str, Any]) -> None:
    for hop in given["trail"]:
        assert list(hop) == HOP
        assert hop["verdict"] in {"answered", "unanswered", "failed"}
        assert (hop["answer"] is None) == (hop["verdict"] != "answered")
        for hit in hop["hits"]:
            assert list(hit) == HIT
            assert isinstance(hit["score"], float)
            assert hit["kind"] in set(Kind)


def test_the_sample_question_is_answered_over_three_documents(hoptrail: Hoptrail, harbour: Path) -> None:
    answer = hoptrail("ask", QUESTION, "--index", harbour, "--json").json
    assert answer["answer"] in QUESTIONS[0]["answers"]
    assert [item["title"] for item in answer["evidence"]] == QUESTIONS[0]["supporting"]


def test_an_abstention_has_no_answer(hoptrail: Hoptrail, harbour: Path) -> None:
    ended = hoptrail("ask", "Who won the chess championship of 1850 in Peru?", "--index", harbour, "--json")
    assert (ended.code, list(ended.json)) == (0, ANSWER)
    assert (ended.json["answer"], ended.json["abstained"], ended.json["kind"]) == (None, True, "none")
    assert ended.json["asked"] == ended.json["question"]


def test_a_guess_is_no_answer(hoptrail: Hoptrail, harbour: Path, texts: dict[str, str]) -> None:
    """With a threshold that nothing reaches, the answer of before is a guess, with the evidence that it had."""
    settings = harbour.parent / "sure.toml"
    settings.write_text("[recipes.trail]\nleast_confidence = 1.0\n", encoding="utf-8")
    told = hoptrail("ask", QUESTION, "--index", harbour, "--json").json
    held = hoptrail("ask", QUESTION, "--index", harbour, "--json", "--settings", settings).json
    assert (held["answer"], held["abstained"], held["trail"][-1]["answer"]) == (None, True, None)
    assert list(held["guess"]) == ["text", "confidence", "evidence"]
    assert (held["guess"]["text"], held["guess"]["confidence"]) == (told["answer"], told["confidence"])
    assert [item["text"] for item in held["guess"]["evidence"]]
    for item in held["guess"]["evidence"]:
        assert texts[item["document"]][item["start"] : item["end"]] == item["text"]
    shown = hoptrail("ask", QUESTION, "--index", harbour, "--settings", settings).out
    assert f"Not settled. Perhaps: {told['answer']}" in shown


@pytest.mark.parametrize("recipe", recipe_names())
def test_search(hoptrail: Hoptrail, harbour: Path, texts: dict[str, str], recipe: str) -> None:
    ended = hoptrail("search", QUESTION, "--index", harbour, "--recipe", recipe, "-k", 3, "--json")
    assert (ended.code, ended.err) == (0, "")
    assert list(ended.json) == ["question", "recipe", "hits"]
    assert len(ended.json["hits"]) == (0 if recipe == ClosedBook.name else 3)
    for hit in ended.json["hits"]:
        assert list(hit) == [*HIT, "title", "heading_path", "place", "date", "text", "said", "sources"]
        assert all(list(source) == ["document", "start", "end"] for source in hit["sources"])
        source = hit["sources"][0]
        assert hit["document"] == source["document"]
        if hit["kind"] in {"passage", "sentence"}:
            assert hit["sources"] == [source]
            assert texts[source["document"]][source["start"] : source["end"]] == hit["text"]
    scores = [hit["score"] for hit in ended.json["hits"]]
    assert scores == sorted(scores, reverse=True)


def test_search_gives_the_question_as_it_was_searched(hoptrail: Hoptrail, harbour: Path) -> None:
    """A non-UTF-8 byte in an argument arrives as a lone surrogate, which JSON cannot hold."""
    ended = hoptrail("search", "the river\n\udce9 Vane", "--index", harbour, "--recipe", "bm25", "--json")
    assert ended.json["question"] == "the river Vane"


def test_search_finds_nothing_where_nothing_is(hoptrail: Hoptrail, harbour: Path) -> None:
    assert hoptrail("search", "zqxj", "--index", harbour, "--recipe", "bm25", "--json").json["hits"] == []


def test_show_a_document_as_it_was_read(hoptrail: Hoptrail, harbour: Path, texts: dict[str, str]) -> None:
    listed = hoptrail("show", "--index", harbour, "--json").json["documents"][0]
    ended = hoptrail("show", listed["title"], "--index", harbour, "--json")
    assert (ended.code, ended.err) == (0, "")
    (document,) = ended.json
    assert (document["id"], document["text"]) == (listed["id"], texts[listed["id"]])
    assert [block["start"] for block in document["blocks"][1:]] == [block["end"] for block in document["blocks"][:-1]]
    shown = hoptrail("show", listed["id"], "--index", harbour)
    assert all(word in shown.out for word in (listed["title"], document["date_from"], document["text"].split()[0]))
    assert hoptrail("show", "no such document", "--index", harbour).code == 2


def test_show(hoptrail: Hoptrail, harbour: Path) -> None:
    ended = hoptrail("show", "--index", harbour, "--json")
    assert (ended.code, ended.err) == (0, "")
    answer = ended.json
    assert list(answer) == CONTENTS
    assert list(answer["usage"]) == USAGE
    assert answer["encoder"]["name"] == "minilm"
    assert list(answer["encoder"]) == ["name", "digest", "dimension"]
    assert all(list(document) == DOCUMENT for document in answer["documents"])
    assert {document["source"] for document in answer["documents"]} == set(originals())
    assert answer["units"]["passage"] == sum(document["passages"] for document in answer["documents"])
    assert set(answer["units"]) == {"passage", "sentence", "aggregate", "summary", "profile", "triple", "slot"}
    assert set(answer["links"]) == {
        "EC",
        "SS",
        "SA",
        "similarity-tree",
        "relatedness-tree",
        "dense-neighbours",
    }
    own_names = {"EC", "SS", "SA"}
    assert set(answer["links"]) - own_names < set(answer["structures"])


def test_recipes(hoptrail: Hoptrail) -> None:
    ended = hoptrail("recipes", "--json")
    assert (ended.code, ended.err) == (0, "")
    assert [list(row) for row in ended.json] == [["name", "description", "structures", "presets"]] * len(recipe_names())
    assert [row["name"] for row in ended.json] == list(recipe_names())
    assert all(row["description"] and row["structures"] for row in ended.json)
    assert "paper" in next(row for row in ended.json if row["name"] == "sirerag")["presets"]
    own, others = hoptrail("recipes").out.split("\n\n")
    listed = [[line.split()[0] for line in part.splitlines()] for part in (own, others.partition("\n")[2])]
    assert sorted(listed[0] + listed[1]) == sorted(recipe_names())
    assert "trail" in listed[0]
    assert "closed-book" in listed[1]


def test_score(hoptrail: Hoptrail, tmp_path: Path) -> None:
    rows = [
        {"prediction": "the River Isk", "answers": ["Isk"]},
        {"prediction": None, "answers": ["Isk"]},
        {"prediction": "isk", "answers": ["Isk"]},
    ]
    file = tmp_path / "predictions.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    ended = hoptrail("score", file, "--rule", "hotpotqa", "--each", "--json")
    assert (ended.code, ended.err) == (0, "")
    assert list(ended.json) == ["rule", "n", *SCORE, "each"]
    assert [list(row) for row in ended.json["each"]] == [SCORE] * 3
    assert [row["em"] for row in ended.json["each"]] == [0, 0, 1]
    assert ended.json["f1"] == pytest.approx((2 / 3 + 0 + 1) / 3)
    assert list(hoptrail("score", file, "--rule", "cover", "--json").json) == ["rule", "n", *SCORE]
    assert len(hoptrail("score", file, "--rule", "musique", "--each").out.splitlines()) == 4


def test_the_same_question_gives_the_same_bytes_whatever_the_process(tmp_path: Path) -> None:
    """With different hash seed, locale and time zone, only the seconds may differ."""
    few = [EXAMPLES / "harbour" / name for name in ("candlerock-lighthouse.md", "Ilse Marrow.txt", "tarnwick.md")]
    Index(tmp_path / "index").add(few)
    executable = Path(sys.executable).with_name("hoptrail")
    moods = [
        {"PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "UTC"},
        {"PYTHONHASHSEED": "2", "LC_ALL": "tr_TR.UTF-8", "TZ": "Pacific/Kiritimati", "COLUMNS": "40"},
    ]
    children = [
        subprocess.Popen(
            [executable, "ask", QUESTION, "--index", tmp_path / "index", "--json"],
            env={**os.environ, **mood},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for mood in moods
    ]
    printed = [child.communicate() for child in children]
    assert [(child.returncode, err) for child, (_, err) in zip(children, printed, strict=True)] == [(0, b"")] * 2
    first, second = (re.sub(rb'"seconds": [\d.e-]+', b"", out) for out, _ in printed)
    assert first == second
    assert json.loads(printed[0][0])["answer"] == "River Lathe"


def test_every_command_explains_itself(hoptrail: Hoptrail) -> None:
    """The commands of the contract exist with their options."""
    promised = {
        "index": ["SOURCE...", "--index", "--for", "--language"],
        "remove": ["DOCUMENT...", "--index"],
        "ask": ["QUESTION", "--index", "--recipe", "--language", "--json"],
        "search": ["QUESTION", "--index", "--recipe", "-k", "--json"],
        "show": ["--index", "--json"],
        "evaluate": [
            "DATA",
            "--recipes",
            "--questions",
            "--limit",
            "--language",
            "--retrieval-only",
            "--out",
            "--work",
        ],
        "score": ["PREDICTIONS.jsonl", "--rule", "--each", "--json"],
        "recipes": ["--json"],
    }
    commands = [command.callback.__name__.replace("_", "-") for command in app.registered_commands if command.callback]
    assert set(promised) <= set(commands)
    for name in commands:
        ended = hoptrail(name, "--help")
        assert (ended.code, ended.err) == (0, "")
        for option in promised.get(name, []):
            assert option in ended.out, f"{name} {option}"
