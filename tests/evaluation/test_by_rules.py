"""The papers' tables by rules: which cells are measured, over which questions, and how values enter the file."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from benchmarks import by_rules, common
from benchmarks.by_rules import Run, cells_by_rules, entered, rules_of, run_of, small_set

from hoptrail_papers.published_tables import Table, published_tables, tables_named

WORLD = {
    "p1": "The Isk rises in Lindeth.",
    "p2": "Lindeth is a town.",
    "p3": "Wrenmouth is a port.",
    "p4": "Ida swims.",
}


def question(name: str, *candidates: str) -> str:
    return json.dumps(
        {"id": name, "question": f"{name}?", "answers": ["Lindeth"], "supporting": ["p1"], "candidates": candidates}
    )


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data set whose first question has no candidates, and one without any."""
    for name in ("2wiki_context", "hotpotqa", "musique", "multihoprag"):
        folder = tmp_path / "data" / name
        folder.mkdir(parents=True)
        lines = [json.dumps({"id": id_, "title": id_, "text": text}) for id_, text in WORLD.items()]
        (folder / "corpus.jsonl").write_text("\n".join(lines))
        own = [()] * 3 if name == "multihoprag" else [(), ("p1", "p2"), ("p1", "p3"), ("p1", "p4")]
        questions = [question(f"q{at}", *candidates) for at, candidates in enumerate(own)]
        (folder / "questions.jsonl").write_text("\n".join(questions))
    monkeypatch.setattr(common, "DATA", tmp_path / "data")
    return tmp_path


def test_a_small_set_has_the_first_questions_with_candidates_over_these(data: Path) -> None:
    small = small_set("hotpotqa", data / "work", 2)
    assert [item.id for item in small.questions] == ["q1", "q2"]
    assert [json.loads(line)["id"] for line in small.corpus.read_text().splitlines()] == ["p1", "p2", "p3"]
    assert small.name == "hotpotqa", "which is scored by the rule of its name"
    whole = small_set("multihoprag", data / "work", 2)
    assert ([item.id for item in whole.questions], whole.passages) == (["q0", "q1"], 4)


def test_cells_are_run_in_the_way_of_their_paper(data: Path) -> None:
    del data
    chainrag, hirag = (cells_by_rules(table) for table in tables_named(["chainrag-main", "hirag-2"]))
    assert {run_of(cell) for cell in chainrag} == {
        Run(name, "chainrag", ("--own-context",)) for name in ("musique", "2wiki_context", "hotpotqa")
    }
    assert "bamboogle" not in {cell.data for cell in hirag}, "it has no passages"
    assert {"HiRAG (local)", "HiRAG w/o Ret", "Flare"} <= {cell.row for cell in hirag}
    assert not {"HiRAG (online)", "CoT"} & {cell.row for cell in hirag}
    models = [cell for table in tables_named(["hirag-3"]) for cell in cells_by_rules(table)]
    assert not models, "rules are none of the models that are compared"


def values_of(table: Table, name: str, work: Path) -> tuple[dict[str, float], str]:
    return rules_of(table, [cell for cell in cells_by_rules(table) if cell.row == name], work, 2)


def test_a_row_gets_the_values_of_its_runs_and_their_means(data: Path) -> None:
    (table,) = tables_named(["sirerag-8"])
    work = data / "work"
    work.mkdir()
    for name, em in (("musique", 0.1), ("2wiki_context", 0.3), ("hotpotqa", 0.2)):
        assert values_of(table, "SiReRAG", work) == ({}, ""), "not all its data sets are measured"
        report = {"sirerag:paper": {"n": 2, "em": em, "f1": em + 0.012345}}
        (work / f"{name}-sirerag.json").write_text(json.dumps(report))
    values, notes = values_of(table, "SiReRAG", work)
    assert list(values) == list(table.columns)
    assert (values["2wiki em"], values["2wiki f1"], values["average em"]) == (30.0, 31.23, 20.0)
    assert "hotpotqa: 2 development questions, over 3 passages" in notes
    others = [row.name for row in table.row if row.name != "SiReRAG"]
    assert others
    assert not any(values_of(table, name, work)[0] for name in others)


def test_turns_without_a_question_have_no_value(data: Path) -> None:
    (table,) = tables_named(["hirag-7"])
    work = data / "work"
    work.mkdir()
    report = {"n": 2, "em": 0.5, "answers_by_turns": {"2": {"n": 2, "em": 0.5}}}
    for name in ("musique", "hotpotqa", "2wiki_context"):
        (work / f"{name}-hirag.json").write_text(json.dumps({"hirag:paper": report}))
    assert values_of(table, "MuSiQue", work)[0] == {"2": 50.0}


def test_new_values_replace_old_ones() -> None:
    before = by_rules.PUBLISHED.read_text(encoding="utf-8")
    after = entered(before, "sirerag-8", "SiReRAG", {"musique em": 1.5}, 'of "two" questions')
    after = entered(after, "sirerag-8", "SiReRAG", {"musique em": 2.5}, 'of "two" questions')
    rows = {(table["id"], row["name"]): row for table in tomllib.loads(after)["table"] for row in table["row"]}
    old = {(table["id"], row["name"]): row for table in tomllib.loads(before)["table"] for row in table["row"]}
    changed = {place for place in rows if repr(rows[place]) != repr(old[place])}
    assert changed == {("sirerag-8", "SiReRAG")}
    row = rows["sirerag-8", "SiReRAG"]
    assert (row["rules"], row["rules_by"]) == ({"musique em": 2.5}, 'of "two" questions')
    assert row["values"] == old["sirerag-8", "SiReRAG"]["values"]


def test_all_tables_that_compare_answers_are_measured() -> None:
    named = set(by_rules.TABLES.split(","))
    answers = {
        table.id
        for table in published_tables()
        if any(column.isdecimal() or column.endswith((" em", " f1")) for column in table.columns)
    }
    assert answers - named == {"hirag-3", "hirag-5", "chainrag-text"}, (
        "of other models, and of corpora that are not at hand"
    )
