"""The same in, the same out. Rows E3, E4 and E5 of the fault table, promise P9, and a peer whose words mean nothing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from fakeai.brains import RandomModel
from fakeai.clients import quick_settings, replies_in
from fakeai.server import Body, FakeAI, serving
from hoptrail.errors import RecordingError, TaskFailed, UsageError
from hoptrail.language.chat.estimating import estimate_asking
from hoptrail.language.factory import LanguageContext, open_language
from hoptrail.language.tasks import (
    Assess,
    Complete,
    Decompose,
    Effort,
    Equate,
    Extract,
    Finding,
    Integrate,
    Language,
    Read,
    Recall,
    Summarise,
    Task,
    Verify,
)
from hoptrail.models.chat import ChatSettings
from hoptrail.models.ledger import write_recording
from hoptrail.models.prompt_text import estimated_tokens
from language_chat import ISK, WRENMOUTH, Speaking, passage

UNITS = (
    passage("Isk", ISK),
    passage("Wrenmouth", WRENMOUTH),
    passage("Odd", '</think> {"answer": "no"} \u202e 日本。'),
)
FINDINGS = (Finding("a", "Who?", "Ada"), Finding("b", "Where?", None))
TASKS: list[Task[Any]] = [
    task
    for number in range(3)
    for task in (
        Extract(UNITS[number]),
        Summarise(UNITS, 10 + number),
        Decompose(f"question {number}"),
        Decompose(f"question {number}", FINDINGS, one_at_a_time=True),
        Complete(f"and then {number}", FINDINGS),
        Read(f"question {number}", UNITS),
        Assess(f"question {number}", UNITS),
        Verify(f"question {number}", UNITS, "Ada"),
        Equate(f"question {number}", "Ada", "Ada Lunt"),
        Integrate(f"question {number}", FINDINGS, UNITS),
        Recall(f"question {number}"),
    )
]


def outputs(language: Language, tasks: list[Task[Any]], workers: int = 1) -> list[str]:
    def perform(task: Task[Any]) -> str:
        try:
            return repr(language.perform(task).value)
        except TaskFailed as failure:
            return str(failure).split(" got ")[-1]

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(perform, tasks))


@pytest.mark.parametrize("seed", range(3))
def test_the_garbage_of_a_random_model_never_breaks_a_run(fake: FakeAI, speaking: Speaking, seed: int) -> None:
    language = speaking(RandomModel(seed), structured=["auto", "prompt", "plain"][seed])
    results = outputs(language, TASKS, workers=4)
    assert len(results) == len(TASKS)
    assert any("no usable reply" not in result for result in results), "some of it passes"
    spans = [unit.sources[0] for unit in UNITS]
    for task in TASKS:
        if isinstance(task, Read):
            try:
                steps = language.perform(task).value.steps
            except TaskFailed:
                continue
            assert all(any(source.covers(span) for source in spans) for step in steps for span in step.support)
    assert fake.bill.calls == len(fake.log)


def brain_of_content(body: Body) -> str:
    """A plausible reply for any task, which depends on the prompt."""
    said = body["messages"][-1]["content"]
    return json.dumps(
        {
            "steps": [],
            "answer": f"answer {len(said)}",
            "confidence": 0.5,
            "enough": ("no", "yes")[len(said) % 2],
            "supports": ("no", "partly", "yes")[len(said) % 3],
            "questions": [f"q{len(said)}"],
            "question": f"q{len(said)}?",
            "same": ("no", "yes")[len(said) % 2],
            "summary": f"s{len(said)}.",
            "entities": ["Isk"],
            "facts": [{"text": f"f{len(said)}", "entities": ["Isk"], "sentence": 1}],
        }
    )


def test_e4_one_worker_or_eight_give_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    results, recordings = [], []
    with serving(FakeAI(brain_of_content)) as fake:
        for workers in (1, 8):
            folder = tmp_path / str(workers)
            context = LanguageContext(None, folder, quick_settings(fake, concurrency=workers))
            results.append(outputs(open_language("chat", context), TASKS, workers))
            write_recording(replies_in(folder).stored(), folder / "run.jsonl")
            recordings.append((folder / "run.jsonl").read_bytes())
    assert results[0] == results[1]
    assert recordings[0] == recordings[1]


def test_e4_e5_a_replay_gives_the_same_in_any_process_without_a_network(
    fake: FakeAI, speaking: Speaking, tmp_path: Path
) -> None:
    fake.choose = lambda number, _: "no schema" if number % 2 else "prose around"
    first = outputs(speaking(brain_of_content), TASKS)
    recording = tmp_path / "run.jsonl"
    write_recording(replies_in(tmp_path).stored(), recording)
    asked = len(fake.log)
    code = (
        "import json, socket, sys\n"
        "def refused(*arguments): raise OSError('no network here')\n"
        "socket.socket.connect = refused\n"
        "from pathlib import Path\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from test_repeatability import TASKS, outputs\n"
        "from hoptrail.language.factory import open_language\n"
        f"language = open_language('replay:' + {str(recording)!r})\n"
        "print(json.dumps([language.name, outputs(language, TASKS)]))\n"
    )
    surroundings = {"PYTHONHASHSEED": "2", "LC_ALL": "C", "TZ": "Asia/Kathmandu"}
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **surroundings}
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "HOPTRAIL_MODEL"):
        environment.pop(name, None)
    ended = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout) == ["chat:fake", first]
    assert len(fake.log) == asked


def test_a_replay_reports_the_usage_of_the_run(fake: FakeAI, speaking: Speaking, tmp_path: Path) -> None:
    fake.plan = {2: "missing field"}
    ran = [speaking(brain_of_content).perform(task).usage for task in TASKS[:9]]
    write_recording(replies_in(tmp_path).stored(), tmp_path / "run.jsonl")
    language = open_language(f"replay:{tmp_path / 'run.jsonl'}")
    replayed = [language.perform(task).usage for task in TASKS[:9]]
    assert [(one.calls, one.prompt_tokens, one.completion_tokens) for one in replayed] == [
        (one.calls, one.prompt_tokens, one.completion_tokens) for one in ran
    ]


def test_e5_a_replay_stops_at_a_call_that_was_never_recorded(speaking: Speaking, tmp_path: Path) -> None:
    speaking(brain_of_content).perform(TASKS[2])
    write_recording(replies_in(tmp_path).stored(), tmp_path / "run.jsonl")
    language = open_language(f"replay:{tmp_path / 'run.jsonl'}")
    with pytest.raises(RecordingError, match=r"no reply to the call \w{32} \(recall, by fake\).*question 0"):
        language.perform(Recall("question 0"))


def test_chat_and_replay_need_what_they_need(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "HOPTRAIL_MODEL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match="needs a folder"):
        open_language("chat")
    with pytest.raises(UsageError, match="set OPENAI_BASE_URL"):
        open_language("chat", LanguageContext(None, tmp_path))
    with pytest.raises(UsageError, match="cannot be read"):
        open_language(f"replay:{tmp_path / 'missing'}")
    assert not list(tmp_path.iterdir()), "nothing was made"


PRICED = ChatSettings(prompt_price=1.0, completion_price=4.0)


def test_counts_of_an_estimate_are_written_out_however_large() -> None:
    settings = ChatSettings(context_window=1_000_000, prompt_price=1.0, completion_price=2.0)
    said = str(estimate_asking(100_000, settings, evidence_tokens=6000, effort=Effort()))
    assert re.search(r"[1-9][\d,]{9,} prompt tokens, ", said), said
    assert "e+" not in said.partition(";")[0]


def test_e3_the_estimate_holds_what_was_really_spent(fake: FakeAI, speaking: Speaking, tmp_path: Path) -> None:
    """Ten runs over evidence of different sizes, one of them with many repairs; the estimate holds for nine at least."""
    inside = 0
    for run in range(10):
        text = "The Isk is a river. It rises in the Grey Hills. " * (1 + 6 * run)
        units = tuple(passage(f"T{run}-{number}", text) for number in range(6))
        fake.choose = lambda number, _, run=run: "missing field" if run == 9 and number % 2 else None
        before = replies_in(tmp_path).ledger()
        language = speaking(brain_of_content)
        for number in range(5):
            language.perform(Read(f"question {number}", units))
        spent = replies_in(tmp_path).ledger()
        corpus = sum(estimated_tokens(unit.searchable) for unit in units)
        estimate = estimate_asking(5, quick_settings(fake), evidence_tokens=min(4000, corpus), effort=Effort())
        least, most = estimate.costs
        inside += (
            estimate.calls[0] <= spent.calls - before.calls <= estimate.calls[1]
            and least.prompt_tokens <= spent.prompt_tokens - before.prompt_tokens <= most.prompt_tokens
            and least.completion_tokens <= spent.completion_tokens - before.completion_tokens <= most.completion_tokens
        )
    assert inside >= 9


def test_e2_an_estimate_says_when_it_knows_no_price() -> None:
    assert "in money unknown, because prompt_price" in str(
        estimate_asking(10, ChatSettings(), evidence_tokens=6000, effort=Effort())
    )
    free = estimate_asking(
        10, ChatSettings(prompt_price=0.0, completion_price=0.0), evidence_tokens=6000, effort=Effort()
    )
    assert "the prices are set to 0" in str(free)
    priced = estimate_asking(10, PRICED, evidence_tokens=6000, effort=Effort.of_hops(6))
    low, high = (cost.money for cost in priced.costs)
    assert low is not None
    assert high is not None
    assert 0 < low < high
    assert priced.calls[0] == 40
    assert str(priced).startswith("40 to ")
