"""Run folders: their content, independence, resumption, and errors."""

from __future__ import annotations

import json
import shutil
import threading
import tomllib
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from evaluation.bench import QUESTIONS, Bench, stopping_after
from hoptrail import Settings
from hoptrail.errors import DataError, EndpointRefused, Interrupted, UsageError
from hoptrail.evaluation.results import TrailRecord, TrailsFile, read_trails
from hoptrail.evaluation.run_folder import open_run
from hoptrail.index.indexing import Watcher
from hoptrail.index.settings import settings_from
from hoptrail.recipes.recipe import PassageSettings
from hoptrail.recipes.settings import RecipeSettings
from hoptrail.recipes.single_pass import Bm25

SELFASK = [
    {"task": "decompose", "reply": {"questions": ["Where was Orla Finch born?"]}},
    {"task": "answer", "reply": {"answer": "Wrenmouth"}},
    {"task": "decompose", "reply": {"questions": ["Which river flows through it?"]}},
    {"task": "complete", "reply": "Which river flows through Wrenmouth?"},
    {"task": "answer", "reply": {"answer": "Isk"}},
    {"task": "decompose", "reply": {"questions": []}},
    {"task": "integrate", "reply": {"answer": "Isk"}},
]


def runs(bench: Bench) -> list[Path]:
    return sorted((bench.work / "runs").iterdir())


def test_the_header_of_a_run(bench: Bench) -> None:
    ((_, report),) = bench.run(replies=None).recipes
    run = bench.only_run()
    assert run.name == report.run
    assert run.name.startswith("tiny-bm25-offline-")
    header = run.header
    assert (header.data, header.recipe, header.language, header.pool_size) == ("tiny", "bm25", "offline", 3)
    assert header.settings == report.content["fingerprint"]
    assert (header.encoder.name, header.encoder.dimension) == ("hashing", 64)
    assert (header.outside_pool, header.structures[0][0]) == ((), "passages")
    assert header.versions["hoptrail"]
    assert [question.id for question in run.questions] == ["q1", "q2", "q3", "q4"]
    assert run.questions[0].supporting == ("a", "b")
    content = tomllib.loads((run.path / "settings.toml").read_text())
    assert settings_from(content, "settings.toml").recipes.bm25 == Settings().recipes.bm25


def test_results_and_trails_of_every_question(bench: Bench) -> None:
    """q1 is answered from [a]; the duplicate passages b and b2 both count for one unit."""
    bench.run()
    run = bench.only_run()
    assert list(run.results) == ["q1", "q2", "q3", "q4"]
    stored = [{key: value for key, value in row.items() if key != "fingerprint"} for row in bench.stored_results()]
    assert [json.loads(json.dumps(asdict(result))) for result in run.results.values()] == stored
    assert run.results["q4"].error
    trail = run.trails["q2"]
    (hop,) = trail.hops
    assert (hop.question, hop.answer, hop.verdict) == ("Isk?", "the river Isk", "answered")
    assert [(hit.kind, hit.channel, hit.passages) for hit in hop.hits] == [("passage", "keyword", ("b", "b2"))]
    assert trail.ranking == hop.hits
    (reading,) = trail.readings
    assert (reading.task, reading.question, reading.passages) == ("answer", "Isk?", ("b", "b2"))
    assert reading.units == (hop.hits[0].unit,)


def test_a_trail_over_several_hops(bench: Bench) -> None:
    bench.run("selfask", replies=SELFASK, limit=1)
    trail = bench.only_run().trails["q1"]
    assert [(hop.question, hop.asked, hop.answer) for hop in trail.hops] == [
        ("Where was Orla Finch born?", "Where was Orla Finch born?", "Wrenmouth"),
        ("Which river flows through it?", "Which river flows through Wrenmouth?", "Isk"),
    ]
    assert [(one.task, one.question, one.answer) for one in trail.readings] == [
        ("answer", "Where was Orla Finch born?", "Wrenmouth"),
        ("answer", "Which river flows through Wrenmouth?", "Isk"),
        ("integrate", "Orla Finch?", "Isk"),
    ]
    assert {"a", "b", "b2"} <= set(trail.readings[2].passages)


def test_retrieval_alone_leaves_the_ranking(bench: Bench) -> None:
    bench.run(replies=None, retrieval_only=True)
    run = bench.only_run()
    assert run.name.startswith("tiny-bm25-retrieval-")
    assert (run.trails["q2"].hops, run.trails["q2"].readings) == ((), ())
    assert [hit.passages for hit in run.trails["q2"].ranking] == [("b", "b2")]


def test_other_settings_and_presets_are_other_runs(bench: Bench) -> None:
    bench.run(replies=None)
    bench.settings = Settings(recipes=replace(RecipeSettings(), bm25=PassageSettings(k=1)))
    bench.run(replies=None)
    bench.run("hirag", "hirag:no-rethink", replies=None, retrieval_only=True)
    names = [folder.name.rpartition("-")[0] for folder in runs(bench)]
    assert names == ["tiny-bm25-offline"] * 2 + ["tiny-hirag-retrieval", "tiny-hirag.no-rethink-retrieval"]
    assert open_run(bench.work / "runs" / "tiny-hirag.no").header.recipe == "hirag:no-rethink"


def test_a_run_folder_is_self_contained(bench: Bench, tmp_path: Path) -> None:
    bench.run(replies=None)
    (folder,) = runs(bench)
    before = open_run(folder)
    shutil.move(folder, tmp_path / "moved")
    shutil.rmtree(bench.work)
    shutil.rmtree(bench.data)
    moved = open_run(tmp_path / "moved")
    assert (moved.header, moved.results) == (before.header, before.results)
    assert moved.trails["q1"].hops


def test_a_run_with_fewer_questions_loses_no_results(bench: Bench) -> None:
    bench.run(replies=None)
    bench.run(replies=None, limit=2)
    run = bench.only_run()
    assert len(run.questions) == len(run.results) == len(run.trails) == 2
    bench.run(replies=None)
    assert len(bench.only_run().trails) == 4
    assert len(bench.stored_results()) == 4


def test_the_same_run_writes_the_same_bytes(bench: Bench, tmp_path: Path) -> None:
    """Apart from the seconds."""
    bench.run(replies=None)
    other = Bench(tmp_path / "other", encoder=bench.encoder)
    shutil.copytree(bench.data, other.data)
    other.run(replies=None)
    (one,), (two,) = runs(bench), runs(other)
    assert one.name == two.name
    assert [path.name for path in sorted(one.iterdir())] == [path.name for path in sorted(two.iterdir())]
    for name in ("run.json", "settings.toml", "questions.jsonl", "trails.jsonl.gz"):
        assert (one / name).read_bytes() == (two / name).read_bytes(), name


# --- stopping and harm


def test_a_stopped_run_is_unfinished_and_resumes(bench: Bench) -> None:
    with pytest.raises(Interrupted):
        bench.run(replies=None, watcher=stopping_after(2))
    (folder,) = runs(bench)
    with pytest.raises(UsageError, match="not finished"):
        open_run(folder)
    torn = folder / "trails.jsonl.gz"
    torn.write_bytes(torn.read_bytes() + b"\x1f\x8b\x08torn")
    bench.run(replies=None)
    assert list(bench.only_run().trails) == ["q1", "q2", "q3", "q4"]


def test_a_finished_run_stopped_over_other_questions_is_unfinished(bench: Bench) -> None:
    """Old results beside new questions would count the questions not asked as wrong."""
    bench.run(replies=None, limit=1)
    assert list(bench.only_run().results) == ["q1"]
    with pytest.raises(Interrupted):
        bench.run(replies=None, watcher=stopping_after(1))
    (folder,) = runs(bench)
    with pytest.raises(UsageError, match="not finished"):
        open_run(folder)
    bench.run(replies=None)
    assert list(bench.only_run().results) == list(bench.only_run().trails) == ["q1", "q2", "q3", "q4"]


def test_a_finished_run_stays_finished_while_it_is_repeated(bench: Bench) -> None:
    bench.run()
    with pytest.raises(Interrupted):
        bench.run(watcher=Watcher(stopped=lambda: True))
    assert list(bench.only_run().results) == ["q1", "q2", "q3", "q4"]


def test_the_old_trail_of_a_corrected_question_is_ignored(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.run(replies=None)
    bench.write("questions.jsonl", [{**QUESTIONS[0], "answers": ["Arrow"]}, *QUESTIONS[1:]])
    with monkeypatch.context() as patched:
        patched.setattr(TrailsFile, "append", lambda *_: None)
        bench.run(replies=None)
    assert list(bench.only_run().trails) == ["q2", "q3", "q4"]


def test_files_that_were_altered_are_named(bench: Bench, tmp_path: Path) -> None:
    bench.run(replies=None)
    (folder,) = runs(bench)
    header = json.loads((folder / "run.json").read_text())
    for name, content, message in (
        ("run.json", json.dumps({**header, "format": 99}), "format 99"),
        ("run.json", "{", r"run\.json was altered"),
        ("run.json", json.dumps({**header, "pool_size": "many"}), r"run\.json was altered"),
        ("results.jsonl", '{"question": "q1"}\n', "line 1: prediction: Field required; make the run again"),
        (
            "questions.jsonl",
            2 * '{"id": "q1", "question": "Who?", "answers": ["Ida"]}\n',
            "question id q1 occurs twice",
        ),
    ):
        copy = Path(shutil.copytree(folder, tmp_path / "copy", dirs_exist_ok=True))
        (copy / name).write_text(content)
        with pytest.raises(DataError, match=message):
            open_run(copy)
        shutil.rmtree(copy)
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    import gzip

    (copy / "trails.jsonl.gz").write_bytes(gzip.compress(b'{"question": 1}'))
    with pytest.raises(DataError, match="trail 1: the file was altered"):
        _ = open_run(copy).trails


def test_paths_without_a_run(bench: Bench, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"not a run. `hoptrail evaluate"):
        open_run(tmp_path / "nothing")
    bench.run("bm25", "dense", replies=None)
    with pytest.raises(UsageError, match=r"any of these runs: tiny-bm25-offline-\w+, tiny-dense-offline-\w+"):
        open_run(bench.work / "runs" / "tiny-")


# --- the file of trails


def test_trails_survive_being_torn_at_any_byte(tmp_path: Path) -> None:
    """Whatever a kill leaves of the last trail, the earlier ones are read, and the next one is appended to them."""
    path = tmp_path / "trails.jsonl.gz"
    file = TrailsFile(path)
    records = [TrailRecord(f"q{number}", "x" * number) for number in range(3)]
    for record in records[:2]:
        file.append(record)
    whole = path.read_bytes()
    file.append(records[2])
    last = path.read_bytes()
    assert last.startswith(whole)
    for end in range(len(whole), len(last)):
        path.write_bytes(last[:end])
        assert list(read_trails(path)) == ["q0", "q1"]
        TrailsFile(path).append(records[2])
        assert path.read_bytes() == last


def test_a_trail_larger_than_the_unpacking_buffer(tmp_path: Path) -> None:
    import random

    draw = random.Random(0)
    noise = "".join(draw.choice("0123456789abcdef") for _ in range(200_000))
    file = TrailsFile(tmp_path / "t.gz")
    records = {name: TrailRecord(name, noise) for name in ("q1", "q2")}
    for record in records.values():
        file.append(record)
    assert read_trails(tmp_path / "t.gz") == records
    assert read_trails(tmp_path / "none.gz") == {}


# --- several threads


def comparable(bench: Bench) -> tuple[Any, ...]:
    """Everything that a run stores, apart from seconds and the order of questions."""
    run = bench.only_run()
    timeless = {
        name: replace(result, seconds_retrieval=0.0, seconds_language=0.0) for name, result in run.results.items()
    }
    return run.header, timeless, dict(run.trails)


@pytest.mark.parametrize(("recipe", "language"), [("selfask", "offline"), ("chainrag", "oracle"), ("trail", "offline")])
def test_threads_change_nothing(recipe: str, language: str, bench: Bench, tmp_path: Path) -> None:
    questions = [{**one, "id": f"{one['id']}-{copy}"} for copy in range(2) for one in QUESTIONS]
    bench.write("questions.jsonl", questions)
    other = Bench(tmp_path / "other", encoder=bench.encoder)
    shutil.copytree(bench.data, other.data)
    reports = [one.run(recipe, replies=None, language=language, threads=n) for one, n in ((bench, 1), (other, 5))]
    one, two = ({**report.to_json()["recipes"][recipe], "seconds_per_question": None} for report in reports)
    assert one == two
    assert comparable(bench) == comparable(other)


def test_threads_work_concurrently_with_separate_meters(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two questions wait for each other while they are answered; without concurrency the test would hang."""
    meeting = threading.Barrier(2, timeout=20)
    answer = Bm25.answer

    def meeting_first(self: Bm25, question: str) -> Any:
        meeting.wait()
        return answer(self, question)

    monkeypatch.setattr(Bm25, "answer", meeting_first)
    bench.run(replies=None, threads=2)
    assert {result.tasks for result in bench.only_run().results.values()} == {1}
    assert all(len(trail.readings) == 1 for trail in bench.only_run().trails.values())


def test_a_fatal_error_stops_the_run_and_keeps_other_results(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = Bm25.answer
    refused = threading.Event()

    def refusing(self: Bm25, question: str) -> Any:
        if question == "Isk?":
            refused.set()
            raise EndpointRefused("no credit")
        refused.wait(60)
        return answer(self, question)

    monkeypatch.setattr(Bm25, "answer", refusing)
    with pytest.raises(EndpointRefused, match="no credit"):
        bench.run(replies=None, threads=2)
    assert [row["question"] for row in bench.stored_results()] == ["q1"]


def test_a_stop_with_threads_keeps_what_is_finished(bench: Bench) -> None:
    with pytest.raises(Interrupted, match="same --work"):
        bench.run(replies=None, watcher=stopping_after(1), threads=2)
    assert 1 <= len(bench.stored_results()) < 4
    bench.run(replies=None, threads=2)
    assert len(bench.stored_results()) == 4


def test_invalid_numbers_of_threads(bench: Bench) -> None:
    with pytest.raises(UsageError, match="one thread only"):
        bench.run(threads=2)
    with pytest.raises(UsageError, match="at least one thread"):
        bench.run(replies=None, threads=0)
