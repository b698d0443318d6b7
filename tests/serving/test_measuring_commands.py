"""Commands that measure without answering: probes, presets in `evaluate`, the training set."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from command import Hoptrail
from evaluation.oracle_world import CHAIN, LENGTHS, LONGER, PASSAGES
from fakeai.clients import point_at, write_settings
from fakeai.server import FakeAI, serving
from hoptrail.evaluation.datasets import Question

FILLER = {
    f"x{number}": (f"Village {number}", f"Village {number} lies at mile {number} of road {number % 4}.")
    for number in range(30)
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "chain"
    folder.mkdir()
    rows: list[dict[str, object]] = [
        {"id": name, "title": title, "text": text} for name, (title, text) in (PASSAGES | FILLER).items()
    ]
    write(folder / "corpus.jsonl", rows)
    write(folder / "questions.jsonl", [as_line(question) for question in (CHAIN, LENGTHS, LONGER)])
    return folder


def write(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def as_line(question: Question) -> dict[str, object]:
    steps = [
        {"question": step.question, "answer": step.answer, "supporting": step.supporting}
        for step in question.decomposition
    ]
    return {
        "id": question.id,
        "question": question.question,
        "answers": list(question.answers),
        "supporting": list(question.supporting),
        "decomposition": steps,
    }


def test_lost_in_retrieval_prints_a_table_and_writes_what_it_found(
    hoptrail: Hoptrail, data: Path, tiny: Path, tmp_path: Path
) -> None:
    out = tmp_path / "probe.json"
    ended = hoptrail("probe", "lost-in-retrieval", data, "--settings", tiny, "--out", out, "-k", 3)
    assert ended.code == 0, ended.err
    assert "stand-alone" in ended.out
    assert {"dense", "hybrid"} <= set(json.dumps(json.loads(out.read_text())).split('"'))


def test_tree_coverage_builds_the_trees_and_reports_every_grouping(
    hoptrail: Hoptrail, data: Path, tiny: Path, tmp_path: Path
) -> None:
    out = tmp_path / "coverage.json"
    ended = hoptrail("probe", "tree-coverage", data, "--settings", tiny, "--out", out, "--work", tmp_path / "work")
    assert ended.code == 0, ended.err
    found = json.loads(out.read_text())["groupings"]
    assert list(found) == ["similarity", "entities", "relatedness"]
    for row in found.values():
        assert 0 <= row["supporting"] <= 1
    assert found["similarity"]["groups"] >= 1
    shown = hoptrail("show", "--index", tmp_path / "work" / "index" / "chain", "--settings", tiny, "--json").json
    assert {"similarity-tree", "relatedness-tree"} <= set(shown["structures"])


def test_entities_are_counted(hoptrail: Hoptrail, data: Path, tiny: Path, tmp_path: Path) -> None:
    out, work = tmp_path / "entities.json", tmp_path / "work"
    ended = hoptrail("probe", "entities", data, "--settings", tiny, "--out", out, "--work", work)
    assert ended.code == 0, ended.err
    found = json.loads(out.read_text())
    units = hoptrail("show", "--index", work / "index" / "chain", "--settings", tiny, "--json").json["units"]
    assert found["chunks"] == units["passage"]
    assert 0 < found["aggregates"] <= found["entities"]
    assert found["fewest"] <= found["mean"] <= found["most"] <= found["propositions"]
    assert f"chunks {found['chunks']}" in ended.out


def test_a_probe_of_questions_without_gold_says_what_is_missing(hoptrail: Hoptrail, data: Path, tiny: Path) -> None:
    write(data / "questions.jsonl", [{"id": "q", "question": "Who?", "answers": ["x"]}])
    for probe in ("lost-in-retrieval", "tree-coverage"):
        ended = hoptrail("probe", probe, data, "--settings", tiny)
        assert ended.code == 2
        assert "question" in ended.err


def test_presets_are_evaluated_side_by_side_under_their_names(
    hoptrail: Hoptrail, data: Path, tiny: Path, tmp_path: Path
) -> None:
    names = ["raptor", "sirerag", "sirerag:d"]
    ended = hoptrail(
        *("evaluate", data, "--recipes", ",".join(names), "--retrieval-only", "--settings", tiny),
        *("--out", tmp_path / "out.json", "--work", tmp_path / "work"),
    )
    assert ended.code == 0, ended.err
    found = json.loads((tmp_path / "out.json").read_text())["recipes"]
    assert list(found) == names
    assert len({row["fingerprint"] for row in found.values()}) == 3
    assert found["raptor"]["pool_size"] < found["sirerag"]["pool_size"]
    assert all(set(row["packed"]) == {"recall@2000", "recall@4000"} for row in found.values())
    again = hoptrail(
        *("evaluate", data, "--recipes", ",".join(names), "--retrieval-only", "--settings", tiny),
        *("--out", tmp_path / "again.json", "--work", tmp_path / "work"),
    )
    assert again.code == 0
    assert (tmp_path / "again.json").read_text() == (tmp_path / "out.json").read_text()


def test_what_asking_a_model_may_cost_is_told_before_it_is_asked(
    hoptrail: Hoptrail, data: Path, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A guided question samples ten answers per batch; here no call is allowed."""
    with serving(FakeAI(lambda _: "{}")) as fake:
        point_at(fake, monkeypatch)
        settings = write_settings(tiny, tmp_path / "settings.toml", limit_tokens=1)
        ended = hoptrail(
            *("evaluate", data, "--recipes", "sunar:paper,bm25", "--language", "chat", "--settings", settings),
            *("--work", tmp_path / "work"),
        )
        assert not fake.log
    assert ended.code == 3, ended.err
    guided, plain = (
        re.search(rf"{name} may take for 3 questions: ([\d,]+) to ([\d,]+) calls, .* in money unknown", ended.err)
        for name in ("sunar:paper", "bm25")
    )
    assert guided
    assert plain
    assert int(guided[2].replace(",", "")) > 50 * int(plain[2])
    told = hoptrail("evaluate", data, "--recipes", "bm25", "--settings", tiny, "--work", tmp_path / "work")
    assert "may take" not in told.err, "rules cost nothing"


@pytest.mark.parametrize("name", ["sirerag:z", "bm25:paper", ":paper", "sirerag:"])
def test_a_preset_that_there_is_not_is_named_with_those_there_are(hoptrail: Hoptrail, harbour: Path, name: str) -> None:
    ended = hoptrail("search", "harbours", "--index", harbour, "--recipe", name)
    assert ended.code == 2
    assert "There are" in ended.err


def test_there_is_no_training_set_without_replies(hoptrail: Hoptrail, harbour: Path, tmp_path: Path) -> None:
    ended = hoptrail("distil", "--index", harbour, "--out", tmp_path / "set")
    assert ended.code == 2
    assert "replies" in ended.err
