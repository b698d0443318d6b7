"""The papers' tables: the file is complete, its commands are valid, statuses follow from the values, and the command works."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer

from command import Ended, Hoptrail
from hoptrail.errors import DataError, UsageError
from hoptrail.index.settings import load_settings, settings_from
from hoptrail.recipes.catalogue import recipe_settings
from hoptrail.recipes.settings import RecipeSettings
from hoptrail.serving.cli import app
from hoptrail_papers.hirag.web_search import WebSearchSettings
from hoptrail_papers.presets import shipped_papers
from hoptrail_papers.published_tables import (
    Need,
    PublishedValue,
    Row,
    Status,
    Table,
    cells_of,
    published_tables,
    tables_named,
)
from hoptrail_papers.reproducing import digest_of_settings, found_values, planned_runs

CELLS = [cell for table in published_tables() for cell in cells_of(table)]
WANTED = [*(f"sirerag-{number}" for number in (1, 2, *range(4, 12))), "chainrag-main", "chainrag-ablation"]
WANTED += ["chainrag-retrieval", *(f"hirag-{number}" for number in range(2, 8)), "comprag", "sunar"]


def cell(table: str, row: str, column: str) -> PublishedValue:
    (match,) = [item for item in CELLS if (item.table, item.row, item.column) == (table, row, column)]
    return match


# --- the file


def test_every_table_of_the_papers_is_there_and_whole() -> None:
    tables = {table.id: table for table in published_tables()}
    assert set(WANTED) <= set(tables)
    assert len(tables) == len(published_tables())
    for table in tables.values():
        assert table.row
        assert all([table.paper, table.title, table.setting, table.here])
        assert table.tolerance > 0
        assert len(set(table.columns)) == len(table.columns)
        assert len({row.name for row in table.row}) == len(table.row), table.id
        for row in table.row:
            assert len(row.values) == len(table.columns), (table.id, row.name)
            assert set(row.measured) <= set(table.columns), (table.id, row.name)
            assert bool(row.measured) == bool(row.by), (table.id, row.name)
            assert set(row.rules) <= set(table.columns), (table.id, row.name)
            assert bool(row.rules) == bool(row.rules_by), (table.id, row.name)


def test_recipes_and_settings_exist() -> None:
    for table in published_tables():
        for row in table.row:
            if row.recipe:
                recipe_settings(row.recipe, RecipeSettings())
            if row.settings:
                settings_from(tomllib.loads(row.settings), row.name)


def test_every_run_can_be_typed() -> None:
    """Commands and options exist; placeholders are the three that the docs explain."""
    group: Any = typer.main.get_command(app)
    context = typer.Context(group)
    for run in {item.run for item in CELLS if item.run}:
        words = shlex.split(run, comments=True)
        assert words[0] == "hoptrail"
        command = group.get_command(context, words[1])
        command = getattr(command, "commands", {}).get(words[2], command)
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("-")} <= known, run
        assert {word for word in words if word.isupper()} <= {"WORK", "OUT", "SETTINGS.toml"}, run
        assert ("SETTINGS.toml" in words) == ("#" in run)
        assert words.count("--settings") <= 1
        if "--settings" in words and "#" not in run:
            assert words[words.index("--settings") + 1] in {f"paper:{name}" for name in shipped_papers()}


def test_only_cells_with_a_recipe_have_a_run() -> None:
    assert all(bool(item.run) == bool(item.recipe) for item in CELLS)
    assert not any(item.run for item in CELLS if item.status is Status.NO_RECIPE)


# --- statuses


def test_impossible_values_are_detected() -> None:
    """Those named in the specification: shares of 500 or 125 questions, and an F1 above the mean of P and R."""
    for row, column in (
        ("HiRAG (local)", "hotpotqa em"),
        ("HiRAG (online)", "hotpotqa em"),
        ("HiRAG (local)", "2wiki em"),
        ("HiRAG (online)", "2wiki em"),
        ("HiRAG (local)", "musique em"),
        ("HiRAG (online)", "musique em"),
        ("HiRAG (local)", "bamboogle em"),
        ("HiRAG (online)", "2wiki f1"),
    ):
        assert cell("hirag-2", row, column).status is Status.IMPOSSIBLE, (row, column)
    assert "whole number of 500" in cell("hirag-2", "HiRAG (local)", "hotpotqa em").why
    assert "63.22" in cell("hirag-2", "HiRAG (online)", "2wiki f1").why
    for row in ("Direct without retrieval", "CoT", "HiRAG w/o Ret"):
        assert cell("hirag-2", row, "hotpotqa em").status is not Status.IMPOSSIBLE
    assert not [
        item for item in CELLS if item.status is Status.IMPOSSIBLE and item.table.startswith(("sirerag", "chainrag"))
    ]


def test_tper_is_computed_from_the_table() -> None:
    for column, value in (("musique", 0.600), ("2wiki", 0.499), ("hotpotqa", 0.517), ("average", 0.539)):
        published = cell("sirerag-7", "SiReRAG", f"{column} tper")
        assert (published.value, published.status) == (value, Status.REPRODUCED)
        assert published.measured == pytest.approx(value, abs=0.0006)
    assert not [item for item in CELLS if item.row == "RAPTOR" and item.column.endswith("tper")]


def make_table(*values: float, **more: object) -> Table:
    row = Row("one", values, recipe="bm25")
    columns = ("musique em", "2wiki em", "average em")
    table = Table("t", "p", "t", "s", "h", columns, 1.0, Need.MODEL, (row,), {"musique": 200})
    return replace(table, **more)  # type: ignore[arg-type]


def test_statuses_by_hand() -> None:
    statuses = [item.status for item in cells_of(make_table(40.5, 20.0, 30.25))]
    assert statuses == [Status.NEEDS_MODEL] * 3
    assert [item.status for item in cells_of(make_table(40.3, 20.0, 31.0))] == [
        Status.IMPOSSIBLE,
        Status.NEEDS_MODEL,
        Status.IMPOSSIBLE,
    ]
    values = {("one", "musique em"): 41.5, ("one", "2wiki em"): 21.1}
    statuses = [item.status for item in cells_of(make_table(40.5, 20.0, 30.25), values)]
    assert statuses == [Status.REPRODUCED, Status.DIFFERS, Status.NEEDS_MODEL]
    assert [item.status for item in cells_of(make_table(40.5, 20.0, 30.25, lacking=("2wiki",)))][1] is Status.NEEDS_DATA
    bare = make_table(40.5, 20.0, 30.25)
    bare = replace(bare, row=(replace(bare.row[0], recipe=""),))
    assert {item.status for item in cells_of(bare)} == {Status.NO_RECIPE}
    dashed = make_table(40.5, float("nan"), 40.5)
    assert [item.column for item in cells_of(replace(dashed, columns=("musique em", "2wiki em", "x em")))] == [
        "musique em",
        "x em",
    ]


def test_values_by_rules_are_shown_beside_the_status() -> None:
    """It is neither a reproduction nor a difference."""
    table = make_table(40.5, 20.0, 30.25)
    table = replace(table, row=(replace(table.row[0], rules={"2wiki em": 20.0}, rules_by="how"),))
    values = [(item.status, item.measured, item.by_rules, item.why) for item in cells_of(table)]
    assert values[1] == (Status.NEEDS_MODEL, None, 20.0, "by rules: how")
    assert values[0] == (Status.NEEDS_MODEL, None, None, "")
    measured = cells_of(table, {("one", "2wiki em"): 20.5})[1]
    assert (measured.status, measured.measured, measured.by_rules) == (Status.REPRODUCED, 20.5, 20.0)


# --- running


def test_results_are_of_one_model_and_one_set_of_questions(tmp_path: Path) -> None:
    """Results of one model do not fill another model's row, nor results of one set of questions those of another."""
    data, work = tmp_path / "data", tmp_path / "work"
    folder = data / "bamboogle"
    folder.mkdir(parents=True)
    (folder / "questions.jsonl").write_text("{}\n")
    (table,) = tables_named(["hirag-3"])
    table = replace(table, needs=Need.MODEL)
    (planned,) = planned_runs(table, data, work, "qwen2:7b")
    assert "qwen27b" in planned.out.name
    planned.out.parent.mkdir(parents=True)
    planned.out.write_text(json.dumps({"recipes": {"hirag:paper": {"em": 0.5, "f1": 0.5}}}))
    values = found_values(table, work, "qwen2:7b", data)
    assert {row for row, _ in values} == {"Qwen2-7B, local"}, "what one run gives is no other row's"
    assert not found_values(table, work, "llama3:70b", data)
    (folder / "questions.jsonl").write_text("{}\n{}\n")
    assert not found_values(table, work, "qwen2:7b", data), "other questions"
    assert found_values(table, work, "qwen2:7b"), "whichever they are"
    planned.out.with_name(planned.out.name[:-13] + "00000000.json").write_text("{}")
    with pytest.raises(DataError, match="several sets of questions"):
        found_values(table, work, "qwen2:7b")


def test_results_are_of_the_settings_that_they_were_made_under(tmp_path: Path) -> None:
    """The endpoint's address and prices do not count; settings that change an index, a search or a reply do."""
    (tmp_path / "musique").mkdir()
    (table,) = tables_named(["sirerag-9"])

    def digest(content: str) -> str:
        return digest_of_settings(settings_from(tomllib.loads(content), "here"))

    same = ["", '[chat]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\nprompt_price = 1.0', 'language = "chat"']
    other = [
        "[passages]\nwords = 50",
        "[chat]\ntemperature = 0.5",
        'encoder = "sentence-transformers:m"',
        "[structures.similarity_tree]\nlevels = 2",
        "[recipes.selfask]\nhops = 2",
    ]
    assert [digest(item) for item in same] == ["", "", ""]
    digests = [digest(item) for item in other]
    assert all(digests)
    assert len(set(digests)) == len(other)
    planned = planned_runs(table, tmp_path, tmp_path, "m", digests[0])[0]
    planned.out.parent.mkdir()
    report = {"recipes": {"sirerag:closed-book": {"em": 0.1, "f1": 0.2}}}
    planned.out.write_text(json.dumps(report))
    assert found_values(table, tmp_path, "m", tmp_path, digests[0]) == {
        ("Closed-book", "musique em"): 10.0,
        ("Closed-book", "musique f1"): 20.0,
    }
    for settings in ("", digests[1]):
        for data in (None, tmp_path):
            assert not found_values(table, tmp_path, "m", data, settings)


def test_online_rows_say_settings_that_are_the_papers_with_an_engine() -> None:
    rows = [row for table in published_tables() for row in table.row if row.needs is Need.ENGINE]
    assert {row.recipe for row in rows} == {"hirag"}
    assert len(rows) == 6
    for row in rows:
        own = settings_from(tomllib.loads(row.settings), row.name).recipes.hirag
        assert (own.rethink.fallback, own.rethink.online.engine) == ("online", "mediawiki")
        local = replace(own, rethink=replace(own.rethink, fallback="local", online=WebSearchSettings()))
        preset = "plugin" if not own.decompose else "paper"
        assert local == recipe_settings(f"hirag:{preset}", RecipeSettings())


def test_chunks_on_two_levels_are_the_papers_tree_in_another_order() -> None:
    row = next(row for table in tables_named(["sirerag-2"]) for row in table.row if row.settings)
    two = settings_from(tomllib.loads(row.settings), row.name).structures.similarity_tree
    flat = load_settings("paper:sirerag").structures.similarity_tree
    assert two == replace(flat, leaf_placement="two-level")
    published = cell("sirerag-2", row.name, "accuracy")
    assert (published.status, published.data) == (Status.NEEDS_DATA, "quality")


def test_missing_requirements_are_reported() -> None:
    missing = {(item.table, item.why) for item in CELLS if item.status is Status.NEEDS_DATA}
    assert ("sirerag-2", "QuALITY") in missing
    assert any("Wikipedia" in why for table, why in missing if table == "hirag-4")
    assert all(why for _, why in missing)
    corpora = {item.why for item in CELLS if item.table == "hirag-5" and item.status is Status.NEEDS_DATA}
    assert len(corpora) == 2, "a row for each corpus, by the same command"
    assert "Qwen2-7B; Wikipedia" in cell("hirag-3", "Qwen2-7B, local", "2wiki f1").why


def test_a_missing_recipe_is_not_reported_as_missing_data() -> None:
    for row in ("CoT", "CoT-SC", "Self-Ask w/o Ret", "ReAct", "MetaRAG"):
        assert cell("hirag-2", row, "2wiki f1").status is Status.NO_RECIPE
    lacking = {item.row: item.why for item in CELLS if item.status is Status.NO_RECIPE}
    assert all(lacking.values())
    assert len(set(lacking.values())) == len(lacking), "each says what it is that is missing, not that something is"
    assert cell("hirag-6", "Direct", "2wiki f1").status is Status.NEEDS_MODEL, "it reads no corpus"


def test_em_by_turns_is_read_from_the_turns(tmp_path: Path) -> None:
    (table,) = tables_named(["hirag-7"])
    table, folder = replace(table, needs=Need.MODEL), tmp_path / "hotpotqa"
    folder.mkdir()
    (planned,) = planned_runs(table, tmp_path, tmp_path, "m")
    planned.out.parent.mkdir(parents=True)
    report = {"em": 0.9, "answers_by_turns": {"2": {"n": 4, "em": 0.5}}}
    planned.out.write_text(json.dumps({"recipes": {"hirag:paper": report}}))
    assert found_values(table, tmp_path, "m", tmp_path) == {("HotpotQA", "2"): 50.0}


def test_runs_ask_as_their_paper_does() -> None:
    assert cell("hirag-2", "HiRAG (online)", "hotpotqa f1").status is Status.NEEDS_ENGINE
    assert "--single-hops" in cell("hirag-6", "HiRAG (local)", "2wiki em").run
    assert "--single-hops" in cell("sirerag-11-single", "SiReRAG", "musique em").run
    own = cell("chainrag-main", "ChainRAG (AnsInt)", "2wiki f1").run
    assert "DATA/2wiki_context" in own
    assert "--own-context" in own
    assert sum(cell.status is Status.NO_RECIPE for cell in CELLS) < 150


def test_runs_are_planned_once_and_read_back(tmp_path: Path) -> None:
    data, work = tmp_path / "data", tmp_path / "work"
    (data / "musique").mkdir(parents=True)
    (table,) = tables_named(["sirerag-4"])
    planned = planned_runs(table, data, work)
    none = "e3b0c442"  # of no questions
    names = [
        f"musique-{recipe}-paper.sirerag-no-model-{none}.json"
        for recipe in ("hipporag.one", "graphrag", "raptor.paper", "sirerag.paper")
    ]
    assert [item.out.name for item in planned] == names
    assert planned[0].asks_model
    assert planned[0].arguments[:2] == ("evaluate", str(data / "musique"))
    assert planned[0].arguments[-2:] == ("--out", str(planned[0].out))
    planned = planned[2:]
    planned[1].out.parent.mkdir(parents=True)
    report = {"em": 0.395, "f1": 0.5, "seconds_per_question": {"retrieval": 1, "language": 2}, "pool_size": 7}
    planned[1].out.write_text(json.dumps({"recipes": {"sirerag:paper": report}}))
    values = found_values(table, work)
    assert values["SiReRAG (GPT-4o)", "musique em"] == 39.5
    assert not [row for row, _ in values if row != "SiReRAG (GPT-4o)"], "nor another index's"
    statuses = {(item.row, item.column): item.status for item in cells_of(table, values)}
    assert statuses["SiReRAG (GPT-4o)", "musique em"] is Status.REPRODUCED
    assert statuses["SiReRAG (GPT-4o)", "musique f1"] is Status.DIFFERS
    assert statuses["SiReRAG (GPT-4o)", "2wiki em"] is Status.NEEDS_MODEL
    planned[1].out.write_text("{}")
    with pytest.raises(DataError, match="remove it and run again"):
        found_values(table, work)


def test_pools_are_measured_without_a_model(tmp_path: Path) -> None:
    (tmp_path / "2wiki").mkdir()
    (table,) = tables_named(["sirerag-pools"])
    planned = planned_runs(table, tmp_path, tmp_path)
    assert [(item.out.name, item.asks_model) for item in planned] == [
        ("2wiki-raptor-retrieval-e3b0c442.json", False),
        ("2wiki-sirerag.paper-retrieval-e3b0c442.json", False),
    ]


def test_the_command(hoptrail: Hoptrail) -> None:
    ended = hoptrail("reproduce")
    assert ended.code == 0, ended.err
    assert f"{len(CELLS)} published values" in ended.out
    ended = hoptrail("reproduce", "sirerag-7")
    assert "reproduced" in ended.out
    assert "hoptrail evaluate DATA/musique --recipes raptor:paper --language chat --settings paper:sirerag" in ended.out
    given = hoptrail("reproduce", "comprag", "--json").json
    assert [item["value"] for item in given] == [12.2, 13.2, 4.9, 7.0]
    assert hoptrail("reproduce", "nothing").code == 2
    assert hoptrail("reproduce", "--run").code == 2
    with pytest.raises(UsageError, match="there is no table nothing"):
        tables_named(["nothing"])


def test_without_an_endpoint_no_run_with_a_model_starts(
    hoptrail: Hoptrail, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "HOPTRAIL_MODEL"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "musique").mkdir()
    ended = hoptrail("reproduce", "sirerag-4", "--run", "--data", tmp_path, "--work", tmp_path / "work")
    assert ended.code == 0, ended.err
    assert "--language chat" in ended.err
    assert not (tmp_path / "work").exists()
    assert f"not run (there is no data set {tmp_path / '2wiki'}): hoptrail evaluate DATA/2wiki" in ended.err
    assert "not run (it needs an address: set OPENAI_BASE_URL" in ended.err
    assert f"hoptrail evaluate {tmp_path / 'musique'} --recipes raptor:paper" in ended.err


def test_skipped_runs_are_reported_with_reasons(hoptrail: Hoptrail, tmp_path: Path) -> None:
    def told(table: str, data: Path) -> Ended:
        return hoptrail("reproduce", table, "--run", "--data", data, "--work", tmp_path / "work")

    wrong = told("sirerag-4", tmp_path / "nowhere")
    assert (wrong.code, wrong.out) == (2, "")
    assert "nowhere is not a folder" in wrong.err
    assert "not run (run it by hand: " in told("sirerag-1", tmp_path).err
    assert "hoptrail probe tree-coverage DATA/musique" in told("sirerag-1", tmp_path).err
    (tmp_path / "bamboogle").mkdir()
    hirag = told("hirag-3", tmp_path).err
    assert "no part of it can be run here" in hirag, "it needs Wikipedia"
    assert "no part of it can be run here" in told("hirag-5", tmp_path).err


def test_an_endpoint_of_the_settings_is_one_and_the_runs_are_made_with_these_settings(
    hoptrail: Hoptrail, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "HOPTRAIL_MODEL"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "musique").mkdir()
    settings = tmp_path / "mine.toml"
    settings.write_text('[chat]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "fake"\n', encoding="utf-8")
    command = ["reproduce", "sirerag-4", "--run", "--data", tmp_path, "--work", tmp_path / "work"]
    runs: list[list[str]] = []

    class Ended:
        def __init__(self, arguments: list[str], **more: object) -> None:
            runs.append(arguments)
            assert more["stdout"] is sys.stderr, "what a run prints is none of the table"

        def wait(self) -> int:
            return 0

    monkeypatch.setattr(subprocess, "Popen", Ended)
    told = hoptrail(*command, "--settings", settings)
    assert told.code == 0
    assert "not run (its row was indexed by GPT-3.5-Turbo and answered by another model" in told.err
    monkeypatch.setenv("HOPTRAIL_SETTINGS", str(settings))
    assert hoptrail(*command).code == 0
    assert runs
    both = tmp_path / "work" / "reproduced" / "sirerag.toml"
    assert all("chat" in arguments and arguments.count("--settings") == 1 for arguments in runs)
    assert {arguments[arguments.index("--settings") + 1] for arguments in runs} == {str(both)}
    assert both.read_text(encoding="utf-8") == f'paper = "sirerag"\n{settings.read_text(encoding="utf-8")}'
