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
    Measured,
    Need,
    PublishedValue,
    Row,
    Status,
    Table,
    cells_of,
    published_tables,
    tables_named,
)
from hoptrail_papers.reproducing import (
    PlannedRun,
    Setting,
    digest_of_settings,
    found_values,
    made_here,
    planned_runs,
    runs_left_out,
)

CELLS = [cell for table in published_tables() for cell in cells_of(table)]
WANTED = [*(f"sirerag-{number}" for number in (*range(1, 12),)), "chainrag-main", "chainrag-ablation"]
WANTED += ["chainrag-retrieval", *(f"hirag-{number}" for number in range(1, 8)), "comprag", "sunar"]
WANTED += [f"{paper}-text" for paper in ("sirerag", "chainrag", "hirag")]


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
            assert set(row.rules) <= set(table.columns), (table.id, row.name)
            assert bool(row.rules) == bool(row.rules_by), (table.id, row.name)


def test_recipes_and_settings_exist() -> None:
    for table in published_tables():
        for row in table.row:
            if row.recipe:
                recipe_settings(row.recipe, RecipeSettings())
            load_settings(f"paper:{table.settings}" if table.settings else None, row.set)


def test_every_run_can_be_typed() -> None:
    """Commands and options exist; placeholders are the three that the docs explain."""
    group: Any = typer.main.get_command(app)
    context = typer.Context(group)
    for run in {item.run for item in CELLS if item.run}:
        words = shlex.split(run)
        assert words[0] == "hoptrail"
        command = group.get_command(context, words[1])
        command = getattr(command, "commands", {}).get(words[2], command)
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("-")} <= known, run
        assert {word for word in words if word.isupper()} <= {"WORK", "OUT", "DUMP"}, run
        assert words.count("--settings") <= 1
        if "--settings" in words:
            assert words[words.index("--settings") + 1] in {f"paper:{name}" for name in shipped_papers()}


def test_only_cells_with_a_recipe_have_a_run() -> None:
    assert all(bool(item.run) == bool(item.recipe and item.data != "average") for item in CELLS)
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
        assert (published.value, published.status, published.measured) == (value, Status.FOLLOWS, None)
    assert not [item for item in CELLS if item.row == "RAPTOR" and item.column.endswith("tper")]


def test_what_is_said_to_follow_does() -> None:
    rows = [row for table in published_tables() for row in table.row if row.follows]
    assert len(rows) > 5
    for row in rows:
        (value,) = [value for value in row.values if value == value]
        assert eval(row.follows.partition(":")[0]) == pytest.approx(value, abs=0.5 if value == 5 else 0.06), row.name  # noqa: S307
    assert cell("comprag", "EM with the graph, as a multiple (approximate)", "hotpotqa em").status is Status.FOLLOWS


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
    values = {("one", "musique em"): Measured(41.5), ("one", "2wiki em"): Measured(21.1)}
    statuses = [item.status for item in cells_of(make_table(40.5, 20.0, 30.25), values)]
    assert statuses == [Status.REPRODUCED, Status.DIFFERS, Status.NEEDS_MODEL]
    needy = make_table(40.5, 20.0, 30.25, needs=Need.DATA)
    statuses = [item.status for item in cells_of(needy, data=["2wiki"])][:2]
    assert statuses == [Status.NEEDS_DATA, Status.NEEDS_MODEL]
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
    measured = cells_of(table, {("one", "2wiki em"): Measured(20.5, 200, "minilm")})[1]
    assert (measured.status, measured.measured, measured.by_rules) == (Status.REPRODUCED, 20.5, 20.0)
    assert (measured.n, measured.encoder) == (200, "minilm")


# --- running


def results(planned: PlannedRun, recipe: str, **report: Any) -> None:
    """Write what a run would."""
    planned.out.parent.mkdir(parents=True, exist_ok=True)
    planned.out.write_text(json.dumps({"recipes": {recipe: {"n": 1, **report}}}))


def values_of(table: Table, setting: Setting) -> dict[tuple[str, str], float]:
    return {place: measured.value for place, measured in found_values(table, setting).items()}


def test_results_are_of_one_model_and_one_set_of_questions(tmp_path: Path) -> None:
    """Results of one model do not fill another model's row, nor results of one set of questions those of another."""
    folder = tmp_path / "data" / "bamboogle"
    folder.mkdir(parents=True)
    (folder / "questions.jsonl").write_text("{}\n")
    (table,) = tables_named(["hirag-3"])
    qwen = Setting(tmp_path / "work", tmp_path / "data", "qwen2:7b")
    (planned,) = planned_runs(table, qwen)
    assert "qwen27b" in planned.out.name
    results(planned, "hirag:paper", em=0.5, f1=0.5)
    assert {row for row, _ in found_values(table, qwen)} == {"Qwen2-7B, local"}, "what one run gives is no other row's"
    assert not found_values(table, replace(qwen, model="llama3:70b"))
    (folder / "questions.jsonl").write_text("{}\n{}\n")
    assert not found_values(table, qwen), "other questions"
    any_questions = replace(qwen, data=None)
    assert found_values(table, any_questions), "whichever they are"
    other = planned.out.with_name(planned.out.name[:-22] + "0" * 8 + planned.out.name[-14:])
    other.write_text("{}")
    with pytest.raises(DataError, match="several sets of questions"):
        found_values(table, any_questions)


def test_rows_of_a_table_come_from_one_code_and_one_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "2wiki").mkdir()
    (tmp_path / "musique").mkdir()
    (table,) = tables_named(["sirerag-pools"])
    setting = Setting(tmp_path, tmp_path)
    for planned in planned_runs(table, setting):
        results(planned, "raptor" if "raptor" in planned.out.name else "sirerag:paper", pool_size=1)
    assert len(found_values(table, setting)) == 4
    monkeypatch.setattr("hoptrail_papers.reproducing.made_here", lambda: "0" * 8)
    first, *others = planned_runs(table, setting)
    assert not first.out.exists(), "what other code has made is made again"
    results(first, "raptor", pool_size=2)
    assert set(values_of(table, setting).values()) == {1.0}, "still those of the code that made most"
    for planned in others:
        results(planned, "raptor" if "raptor" in planned.out.name else "sirerag:paper", pool_size=2)
    assert set(values_of(table, setting).values()) == {2.0}, "of equally many those of this code"


def test_an_index_is_by_the_model_of_the_row(tmp_path: Path) -> None:
    (tmp_path / "musique").mkdir()
    (table,) = tables_named(["sirerag-4"])
    same = Setting(tmp_path, tmp_path, "gpt-4o")
    two = replace(same, builder="gpt-3.5-turbo", settings="01234567")
    assert not [item for item in planned_runs(table, same) if "01234567" in item.out.name]
    assert [item.arguments[3] for item in planned_runs(table, two)] == ["raptor:paper", "sirerag:paper"]
    for planned in planned_runs(table, two):
        results(planned, planned.arguments[3], em=0.4, f1=0.5)
    assert {row for row, _ in found_values(table, two)} == {"RAPTOR (GPT-3.5-Turbo)", "SiReRAG (GPT-3.5-Turbo)"}
    assert any("name it as model under [chat.build]" in reason for reason in runs_left_out(table, same).values())


def test_averages_and_tper_follow_from_what_was_measured(tmp_path: Path) -> None:
    for name in ("musique", "2wiki", "hotpotqa"):
        (tmp_path / name).mkdir()
    (table,) = tables_named(["sirerag-7"])
    setting = Setting(tmp_path, tmp_path, "m", encoder="minilm")
    for planned in planned_runs(table, setting):
        recipe, much = planned.arguments[3], "raptor" not in planned.arguments[3]
        seconds = {"retrieval": 1.0 + much, "language": 1.0 + much}
        results(planned, recipe, n=7, seconds_per_question=seconds, pool_size=40 if much else 10)
    found = found_values(table, setting)
    assert found["SiReRAG", "musique tper"].value == pytest.approx(0.5)
    assert found["SiReRAG", "average tper"].value == pytest.approx(0.5)
    assert found["RAPTOR", "average tpq"].value == 2.0
    assert (found["SiReRAG", "average tpq"].n, found["SiReRAG", "2wiki tpq"].n) == (21, 7)
    assert ("RAPTOR", "musique tper") not in found
    shown = {(item.row, item.column): item for item in cells_of(table, found)}
    assert shown["SiReRAG", "musique tper"].status is Status.DIFFERS
    assert shown["SiReRAG", "musique tper"].encoder == "minilm"


def test_probes_fill_their_tables(tmp_path: Path) -> None:
    """Overlap at similarity by hand: 10 and 20 of 100 gold pairs are covered, 5 by both."""
    (tmp_path / "musique").mkdir()
    setting = Setting(tmp_path, tmp_path, "m")
    one, three = tables_named(["sirerag-1", "sirerag-3"])
    groupings = {
        "similarity": {"supporting": 0.1, "all": 0.2, "overlap": 1.0},
        "relatedness": {"supporting": 0.2, "all": None, "overlap": 0.25},
    }
    (planned,) = planned_runs(one, setting)
    assert planned.asks_model, "what rules extract says nothing of what a model does"
    planned.out.parent.mkdir()
    planned.out.write_text(json.dumps({"data": "musique", "groupings": groupings}))
    found = {column: value for (_, column), value in values_of(one, setting).items()}
    assert found == pytest.approx(
        {
            "similarity supporting": 10,
            "similarity all": 20,
            "relatedness supporting": 20,
            "overlap similarity": 50,
            "overlap relatedness": 25,
        }
    )
    (planned,) = planned_runs(three, setting)
    planned.out.write_text(json.dumps({"chunks": 3, "mean": 2.5}))
    assert values_of(three, setting) == {("statistics", "musique chunks"): 3.0, ("statistics", "musique mean"): 2.5}
    (lost,) = tables_named(["chainrag-retrieval"])
    (planned,) = planned_runs(lost, replace(setting, model="m"))
    assert planned.asks_model
    planned.out.write_text(json.dumps({"questions": 9, "first": 60.0, "original": 40.0, "rewritten": 55.5}))
    recalls = found_values(lost, replace(setting, model="m")).values()
    assert [(recall.value, recall.n) for recall in recalls] == [(60.0, 9), (40.0, 9), (55.5, 9)]


def test_the_corpora_are_counted_where_they_are(tmp_path: Path) -> None:
    (table,) = tables_named(["hirag-1"])
    setting = Setting(tmp_path, tmp_path)
    assert not found_values(table, setting)
    (tmp_path / "wikipedia").mkdir()
    (tmp_path / "wikipedia" / "counts.json").write_text('{"entities": 6416000, "words": 5}')
    statuses = {
        item.column: item.status
        for item in cells_of(table, found_values(table, setting))
        if item.row != table.row[0].name
    }
    assert statuses == {"entities": Status.REPRODUCED, "words": Status.DIFFERS}


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
    setting = Setting(tmp_path, tmp_path, "m", settings=digests[0])
    results(planned_runs(table, setting)[0], "sirerag:closed-book", em=0.1, f1=0.2)
    assert values_of(table, setting) == {("Closed-book", "musique em"): 10.0, ("Closed-book", "musique f1"): 20.0}
    for settings in ("", digests[1]):
        for data in (None, tmp_path):
            assert not found_values(table, replace(setting, settings=settings, data=data))


def test_online_rows_are_the_papers_with_an_engine() -> None:
    rows = [row for table in published_tables() for row in table.row if row.needs is Need.ENGINE]
    assert len(rows) == 6
    for row in rows:
        own: Any = recipe_settings(row.recipe, load_settings("paper:hirag", row.set).recipes)
        assert (own.rethink.fallback, own.rethink.online.engine) == ("online", "mediawiki")
        local = replace(own, rethink=replace(own.rethink, fallback="local", online=WebSearchSettings()))
        assert local == recipe_settings(row.recipe)


def test_chunks_on_two_levels_are_the_papers_tree_in_another_order() -> None:
    row = next(row for table in tables_named(["sirerag-2"]) for row in table.row if row.set)
    two = load_settings("paper:sirerag", row.set).structures.similarity_tree
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
    (tmp_path / "hotpotqa").mkdir()
    setting = Setting(tmp_path, tmp_path, "m")
    (planned,) = planned_runs(table, setting)
    results(planned, "hirag:paper", em=0.9, answers_by_turns={"2": {"n": 4, "em": 0.5}})
    assert found_values(table, setting) == {("HotpotQA", "2"): Measured(50.0, 4)}


def test_tables_run_over_the_data_that_are_there(tmp_path: Path) -> None:
    """HiRAG's tables over Wikipedia too; what is left out is listed."""
    for name in ("hotpotqa", "2wiki"):
        (tmp_path / name).mkdir()
    setting = Setting(tmp_path, tmp_path, "m")
    recipes = {
        table.id: {item.arguments[3] for item in planned_runs(table, setting)} for table in tables_named(["hirag"])
    }
    assert {"dense", "selfask", "flare", "hirag:paper", "closed-book", "hirag:no-retrieval"} == recipes["hirag-2"]
    assert {"hirag:no-rethink", "hirag:no-profile", "hirag:paper"} <= recipes["hirag-4"]
    assert (recipes["hirag-6"], recipes["hirag-7"]) == (
        {"closed-book", "bm25", "dense", "hirag:plugin"},
        {"hirag:paper"},
    )
    assert not recipes["hirag-5"], "its two corpora are in folders of their own"
    (tmp_path / "hotpotqa-wikipedia").mkdir()
    (five,) = tables_named(["hirag-5"])
    assert [item.arguments[1] for item in planned_runs(five, setting)] == [str(tmp_path / "hotpotqa-wikipedia")]
    (two,) = tables_named(["hirag-2"])
    left_out = runs_left_out(two, setting)
    by_hand = "run it by hand: it asks a search engine on the web"
    assert set(left_out.values()) == {
        f"there is no data set {tmp_path / 'musique'}",
        f"there is no data set {tmp_path / 'bamboogle'}",
        by_hand,
    }
    online = next(run for run, reason in left_out.items() if reason == by_hand)
    command, _, out = online.partition(" --out ")
    assert command.startswith(f"hoptrail evaluate {tmp_path / 'hotpotqa'} --recipes hirag:paper --language chat")
    written = Path(shlex.split(out)[0])
    written.parent.mkdir(exist_ok=True)
    written.write_text(json.dumps({"recipes": {"hirag:paper": {"n": 3, "em": 0.5}}}))
    assert values_of(two, setting) == {("HiRAG (online)", "hotpotqa em"): 50.0}, "what is typed as told is read"


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
    setting = Setting(work, data)
    planned = planned_runs(table, setting)
    none = "e3b0c442"  # of no questions
    names = [
        f"musique-{recipe}-paper.sirerag-no-model-{none}-{made_here()}.json"
        for recipe in ("hipporag.one", "graphrag", "raptor.paper", "sirerag.paper")
    ]
    assert [item.out.name for item in planned] == names
    assert planned[0].asks_model
    assert planned[0].arguments[:2] == ("evaluate", str(data / "musique"))
    assert planned[0].arguments[-2:] == ("--out", str(planned[0].out))
    results(planned[3], "sirerag:paper", em=0.395, f1=0.5)
    values = values_of(table, replace(setting, data=None))
    assert values["SiReRAG (GPT-4o)", "musique em"] == 39.5
    assert not [row for row, _ in values if row != "SiReRAG (GPT-4o)"], "nor another index's"
    statuses = {(item.row, item.column): item.status for item in cells_of(table, found_values(table, setting))}
    assert statuses["SiReRAG (GPT-4o)", "musique em"] is Status.REPRODUCED
    assert statuses["SiReRAG (GPT-4o)", "musique f1"] is Status.DIFFERS
    assert statuses["SiReRAG (GPT-4o)", "2wiki em"] is Status.NEEDS_MODEL
    planned[3].out.write_text("{}")
    with pytest.raises(DataError, match="remove it and run again"):
        found_values(table, setting)


def test_pools_are_measured_without_a_model(tmp_path: Path) -> None:
    (tmp_path / "2wiki").mkdir()
    (table,) = tables_named(["sirerag-pools"])
    planned = planned_runs(table, Setting(tmp_path, tmp_path))
    assert [(item.out.name, item.asks_model) for item in planned] == [
        (f"2wiki-raptor-retrieval-e3b0c442-{made_here()}.json", False),
        (f"2wiki-sirerag.paper-retrieval-e3b0c442-{made_here()}.json", False),
    ]


def test_the_command(hoptrail: Hoptrail) -> None:
    ended = hoptrail("reproduce")
    assert ended.code == 0, ended.err
    assert f"{len(CELLS)} published values" in ended.out
    ended = hoptrail("reproduce", "sirerag-7")
    assert "follows from other published values" in ended.out
    assert "hoptrail evaluate DATA/musique --recipes raptor:paper --language chat --settings paper:sirerag" in ended.out
    given = hoptrail("reproduce", "comprag", "--json").json
    assert [item["value"] for item in given] == [12.2, 13.2, 4.9, 7.0, 2.5]
    assert hoptrail("reproduce", "nothing").code == 2
    assert hoptrail("reproduce", "--run").code == 2
    with pytest.raises(UsageError, match="there is no paper or table nothing"):
        tables_named(["nothing"])
    assert [table.id for table in tables_named(["chainrag"])] == [one for one in WANTED if one.startswith("chainrag")]
    shown = hoptrail("reproduce", "chainrag").out
    assert "published values in 4 tables" in shown
    assert "hoptrail evaluate DATA/2wiki_context --recipes hipporag:one --own-context" in shown, (
        "an average has three runs"
    )
    assert "2,642,615,682" in hoptrail("reproduce", "hirag-1").out


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
    assert "hoptrail probe lost-in-retrieval DATA/musique" in told("chainrag-retrieval", tmp_path).err
    by_hand = "not run (run it by hand: it wants a dump of Wikipedia): hoptrail wikipedia DUMP --out"
    assert f"{by_hand} {tmp_path / 'wikipedia'}" in told("hirag-1", tmp_path).err
    assert "hoptrail probe tree-coverage DATA/musique" in told("sirerag-1", tmp_path).err
    (tmp_path / "bamboogle").mkdir()
    hirag = told("hirag-3", tmp_path).err
    assert "not run (its row is of the model GPT-3.5-turbo): hoptrail evaluate DATA/bamboogle" in hirag
    assert "bamboogle-wikipedia" in told("hirag-5", tmp_path).err
    assert "no part of it can be run here" in told("sunar", tmp_path).err


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
    assert "not run (its row is of an index by GPT-3.5-Turbo: name it as model under [chat.build])" in told.err
    monkeypatch.setenv("HOPTRAIL_SETTINGS", str(settings))
    assert hoptrail(*command).code == 0
    assert runs
    both = tmp_path / "work" / "reproduced" / "sirerag.toml"
    assert all("chat" in arguments and arguments.count("--settings") == 1 for arguments in runs)
    assert {arguments[arguments.index("--settings") + 1] for arguments in runs} == {str(both)}
    own = settings.read_text(encoding="utf-8")
    assert both.read_text(encoding="utf-8") == f'paper = "sirerag"\n{own}'
    for paper, code in (("sirerag", 0), ("hirag", 2)):
        settings.write_text(f'paper = "{paper}"\n{own}', encoding="utf-8")
        assert hoptrail(*command).code == code, "a file that is over the paper's settings already"
    assert both.read_text(encoding="utf-8") == f'paper = "sirerag"\n{own}'
