"""The language `chat` from the command line, against a real server: a trail of three hops, its cost, and stopping.

Rows A2, A4, E1, E5 and D12 of the fault table, end to end.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from command import Ended, Hoptrail
from fakeai.brains import task_of
from fakeai.clients import KEY, point_at, replies_in, write_settings
from fakeai.server import Body, FakeAI, form_of, serving
from hoptrail import Index
from hoptrail.index.settings import load_settings
from hoptrail.models.chat import Rung
from world import FACTS, write_facts

QUESTION = "Which river flows through the birthplace of the designer of the Tallow Bridge?"
TRAIL = [
    ("Who designed the Tallow Bridge?", "Tallow Bridge", "Orla Finch", "It was designed by Orla Finch."),
    ("Where was Orla Finch born?", "Orla Finch", "Wrenmouth", "Orla Finch was born in Wrenmouth."),
    ("Which river flows through Wrenmouth?", "Wrenmouth", "the Isk", "The river Isk flows through Wrenmouth."),
]


def three_hops(body: Body) -> str:
    """A model that knows the three sub-questions and finds each answer in the evidence, wherever it stands."""
    prompt = body["messages"][1]["content"]
    task = task_of(body)
    if task == "decompose_next":
        asked = prompt.count(" -> ")
        following = ["Who designed the Tallow Bridge?", "Where was that person born?", "Which river flows through #2?"]
        return json.dumps({"questions": following[asked : asked + 1]})
    if task == "complete":
        return json.dumps({"question": TRAIL[prompt.count(" -> ")][0]})
    if task == "integrate_evidence":
        return json.dumps({"steps": [], "answer": "the Isk", "confidence": 0.9})
    question = prompt.rsplit("Question: ", 1)[1].splitlines()[0]
    for asked, title, answer, quote in TRAIL:
        if asked == question:
            place = re.search(rf'<passage n="(\d+)"><title>{title}</title>', prompt)
            assert place, prompt
            step = {"question": asked, "answer": answer, "evidence": [int(place[1])], "quote": quote}
            return json.dumps({"steps": [step], "answer": answer, "confidence": 0.9})
    return json.dumps({"steps": [], "answer": None, "confidence": 0.1})


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeAI]:
    with serving(FakeAI(three_hops)) as running:
        point_at(running, monkeypatch)
        yield running


@pytest.fixture
def quick(tiny: Path, tmp_path: Path) -> Path:
    """Settings with the small encoder, and a chat client with short timeouts."""
    return write_settings(tiny, tmp_path / "settings.toml")


@pytest.fixture(scope="module")
def built_once(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Read-only for all tests."""
    folder = tmp_path_factory.mktemp("built")
    report = Index(folder / "index", load_settings(tiny)).add([write_facts(folder / "world")])
    assert (report.documents, report.failures) == (len(FACTS), [])
    return folder / "index"


@pytest.fixture
def built(built_once: Path, tmp_path: Path) -> Path:
    """An index of the facts that a test may change."""
    return Path(shutil.copytree(built_once, tmp_path / "index"))


def ask(hoptrail: Hoptrail, index: Path, settings: Path, *more: object) -> Ended:
    language = () if "--language" in more else ("--language", "chat")
    return hoptrail(
        "ask", QUESTION, "--index", index, "--settings", settings, "--recipe", "selfask", *language, "--json", *more
    )


def without_seconds(answer: dict[str, Any]) -> dict[str, Any]:
    return answer | {"usage": answer["usage"] | {"seconds": 0}}


def test_three_hops_by_a_chat_model_are_cited_to_the_character_and_paid_once(
    hoptrail: Hoptrail, fake: FakeAI, built: Path, quick: Path
) -> None:
    answer = ask(hoptrail, built, quick).json
    assert (answer["answer"], answer["abstained"], answer["language"]) == ("the Isk", False, "chat:fake")
    assert [(hop["asked"], hop["answer"]) for hop in answer["trail"]] == [
        (asked, found) for asked, _, found, _ in TRAIL
    ]
    assert [(item["title"], item["text"], item["hop"]) for item in answer["evidence"]] == [
        (title, quote, hop) for hop, (_, title, _, quote) in enumerate(TRAIL)
    ]
    for item in answer["evidence"]:
        assert FACTS[item["title"]][item["start"] : item["end"]] == item["text"]
    # Four plans (the last is empty), one completion (numbers are filled in by rule), three readings, one conclusion.
    assert answer["usage"]["calls"] == len(fake.log) == fake.bill.calls == 9
    ledger = replies_in(built).ledger()
    assert (ledger.calls, ledger.prompt_tokens, ledger.completion_tokens) == (
        answer["usage"]["calls"],
        fake.bill.prompt_tokens,
        fake.bill.completion_tokens,
    )
    again = ask(hoptrail, built, quick).json
    assert len(fake.log) == 9
    assert again["usage"]["calls"] == again["usage"]["prompt_tokens"] == 0
    assert {**again, "usage": None} == {**answer, "usage": None}


def test_the_replies_lie_beside_the_index_and_harm_it_not(
    hoptrail: Hoptrail, fake: FakeAI, built: Path, quick: Path, world: Path
) -> None:
    ask(hoptrail, built, quick)
    assert hoptrail("verify", "--index", built, "--settings", quick).code == 0
    assert hoptrail("index", world, "--index", built, "--settings", quick).code == 0
    assert ask(hoptrail, built, quick).json["usage"]["calls"] == 0
    assert len(fake.log) == 9


def test_removing_a_document_forgets_what_was_said_about_it(
    hoptrail: Hoptrail, fake: FakeAI, built: Path, quick: Path
) -> None:
    ask(hoptrail, built, quick)
    before = list(replies_in(built).stored())
    assert hoptrail("remove", "Isk", "--index", built, "--settings", quick).code == 0
    after = list(replies_in(built).stored())
    # The three readings and the conclusion saw the page, and later plans and completions held what was read there.
    assert len(before) == 9
    assert [reply.task for reply in after] == ["decompose"]
    assert replies_in(built).ledger().calls == fake.bill.calls


def test_a_recording_stays_where_no_index_is_named(hoptrail: Hoptrail, tmp_path: Path) -> None:
    recording = tmp_path / "run.jsonl"
    recording.write_text("paid for")
    ended = hoptrail("replies", "--index", tmp_path / "mistyped", "--out", recording)
    assert ended.code == 1
    assert "there is no index" in ended.err
    assert recording.read_text() == "paid for"
    assert not (tmp_path / "mistyped").exists()


def test_e5_a_replay_is_the_same_answer_without_a_network(
    hoptrail: Hoptrail, built: Path, quick: Path, tmp_path: Path, fake: FakeAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = ask(hoptrail, built, quick).json
    recording = tmp_path / "run.jsonl"
    ended = hoptrail("replies", "--index", built, "--out", recording)
    assert ended.code == 0
    assert "9 replies. The ledger: 9 calls" in ended.err
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "HOPTRAIL_MODEL"):
        monkeypatch.delenv(name)
    (built / "replies.sqlite").unlink()
    replayed = [ask(hoptrail, built, quick, "--language", f"replay:{recording}").json for _ in range(2)]
    assert without_seconds(replayed[0]) == without_seconds(replayed[1]) == without_seconds(answer)
    assert len(fake.log) == 9
    lines = recording.read_text().splitlines()
    lost = next(number for number, line in enumerate(lines) if "flows through" in line and '"task": "answer"' in line)
    recording.write_text("\n".join(lines[:lost] + lines[lost + 1 :]))
    ended = ask(hoptrail, built, quick, "--language", f"replay:{recording}")
    assert (ended.code, ended.out) == (1, "")
    says = " ".join(ended.err.split())
    assert re.search(
        r"no reply to the call \w{32} \(answer, by fake\): .*Question: Which river flows through Wrenmouth\?", says
    )


def test_e1_at_the_limit_the_run_stops_resumably_and_goes_on_when_it_is_raised(
    hoptrail: Hoptrail, fake: FakeAI, built: Path, tiny: Path, tmp_path: Path
) -> None:
    limited = write_settings(tiny, tmp_path / "settings.toml", limit_calls=4)
    for _ in range(2):
        ended = ask(hoptrail, built, limited)
        assert (ended.code, ended.out) == (3, "")
        assert "limit of 4 calls" in ended.err
        assert "Raise limit_calls" in ended.err
        assert len(fake.log) == 4
    raised = write_settings(tiny, tmp_path / "settings.toml", limit_calls=40)
    assert ask(hoptrail, built, raised).json["usage"]["calls"] == 5
    assert len(fake.log) == 9


def test_the_oracle_is_for_evaluations_only(hoptrail: Hoptrail, built: Path, quick: Path) -> None:
    for command in (("ask", QUESTION), ("index",)):
        ended = hoptrail(*command, "--index", built, "--settings", quick, "--language", "oracle")
        assert (ended.code, ended.out) == (2, "")
        assert "exists in `hoptrail evaluate` only" in " ".join(ended.err.split())


def test_a2_busy_for_ever_is_resumable(hoptrail: Hoptrail, fake: FakeAI, built: Path, quick: Path) -> None:
    fake.choose = lambda number, _: "busy" if 4 <= number <= 6 else None
    ended = ask(hoptrail, built, quick)
    assert (ended.code, ended.out) == (3, "")
    assert "429" in ended.err
    assert ask(hoptrail, built, quick).json["answer"] == "the Isk"
    assert fake.bill.calls == 9


@pytest.mark.parametrize("fault", ["401", "402", "403", "quota"])
def test_a4_a_refusal_ends_the_command_at_once(
    hoptrail: Hoptrail, fake: FakeAI, built: Path, quick: Path, fault: str
) -> None:
    fake.always = fault
    ended = ask(hoptrail, built, quick)
    assert (ended.code, ended.out) == (3, "")
    assert "Check the address, the key, the credit and the model's name, then run the same command again" in ended.err
    assert len(fake.log) == 1
    fake.always = None
    assert ask(hoptrail, built, quick).code == 0


def test_d12_the_key_appears_nowhere(
    hoptrail: Hoptrail, fake: FakeAI, built: Path, quick: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    printed = []
    for fault in (None, "401", "402", "403", "quota", "500", "reset", "web page", "redirect", "small window"):
        fake.always, fake.elsewhere = fault, "http://127.0.0.1:9"
        (built / "replies.sqlite").unlink(missing_ok=True)
        printed.append(ask(hoptrail, built, quick))
        printed.append(hoptrail("doctor", "--settings", quick, "--index", built))
    printed.append(hoptrail("settings", "--settings", quick))
    printed.append(hoptrail("replies", "--index", built, "--out", tmp_path / "run.jsonl"))
    assert fake.log[0].key == f"Bearer {KEY}"
    assert KEY not in "".join(ended.out + ended.err for ended in printed)
    assert KEY not in caplog.text
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path


def test_a_task_that_fails_is_told_on_standard_error(
    hoptrail: Hoptrail, fake: FakeAI, built: Path, quick: Path, caplog: pytest.LogCaptureFixture
) -> None:
    fake.always = "500"
    ended = ask(hoptrail, built, quick)
    assert (ended.code, ended.json["abstained"]) == (1, True)
    assert ended.json["trail"][0]["verdict"] == "failed"
    assert "decompose: fake at http://127.0.0.1" in caplog.text


@pytest.mark.parametrize("recipe", ["selfask", "trail", "hybrid"])
def test_an_abstention_because_a_task_failed_says_nothing_of_the_documents(
    hoptrail: Hoptrail, fake: FakeAI, built: Path, quick: Path, recipe: str
) -> None:
    fake.always = "500"
    options = ["--index", built, "--settings", quick, "--recipe", recipe]
    ended = hoptrail("ask", QUESTION, "--language", "chat", *options)
    assert ended.code == 1
    assert "No answer: a step failed" in ended.out
    ended = hoptrail("ask", "Who won the chess championship of 1850 in Peru?", *options)
    assert (ended.code, "Not settled. Closest:" in ended.out) == (0, True)


def test_a_conclusion_that_fails_is_a_failed_hop(hoptrail: Hoptrail, fake: FakeAI, built: Path, quick: Path) -> None:
    fake.choose = lambda _, body: "500" if task_of(body).startswith("integrate") else None
    ended = ask(hoptrail, built, quick)
    assert (ended.code, ended.json["trail"][-1]["verdict"]) == (1, "failed")


@pytest.mark.parametrize(
    ("missing", "says"), [("OPENAI_BASE_URL", "set OPENAI_BASE_URL"), ("HOPTRAIL_MODEL", "set HOPTRAIL_MODEL")]
)
def test_chat_without_a_place_or_a_model_is_wrong_usage(
    hoptrail: Hoptrail, fake: FakeAI, built: Path, quick: Path, monkeypatch: pytest.MonkeyPatch, missing: str, says: str
) -> None:
    monkeypatch.delenv(missing)
    ended = ask(hoptrail, built, quick)
    assert (ended.code, ended.out) == (2, "")
    assert says in ended.err
    assert fake.log == []


def test_money_without_a_price_is_wrong_usage(
    hoptrail: Hoptrail, fake: FakeAI, built: Path, tiny: Path, tmp_path: Path
) -> None:
    ended = ask(hoptrail, built, write_settings(tiny, tmp_path / "settings.toml", limit_money=1.0))
    assert ended.code == 2
    assert "prompt_price" in ended.err
    assert fake.log == []


def data_folder(folder: Path) -> Path:
    """Six passages and four questions, one of them with three hops."""
    data = folder / "data"
    data.mkdir()
    passages = [{"id": title, "title": title, "text": text} for title, text in FACTS.items()]
    (data / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in passages), encoding="utf-8")
    questions = [
        {"id": f"q{number}", "question": asked, "answers": [answer], "supporting": [title]}
        for number, (asked, title, answer, _) in enumerate(TRAIL)
    ]
    (data / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in questions), encoding="utf-8")
    return data


def test_evaluate_keeps_what_it_paid_for(hoptrail: Hoptrail, fake: FakeAI, tiny: Path, tmp_path: Path) -> None:
    data = data_folder(tmp_path)
    limited = write_settings(tiny, tmp_path / "settings.toml", limit_calls=2)
    command = ["evaluate", data, "--recipes", "hybrid", "--language", "chat"]
    ended = hoptrail(*command, "--settings", limited)
    assert ended.code == 2
    assert "--work" in ended.err
    ended = hoptrail(*command, "--settings", limited, "--work", tmp_path / "work", "--out", tmp_path / "out.json")
    assert ended.code == 3, ended.err
    assert len(fake.log) == 2
    raised = write_settings(tiny, tmp_path / "settings.toml")
    ended = hoptrail(*command, "--settings", raised, "--work", tmp_path / "work", "--out", tmp_path / "out.json")
    assert ended.code == 0, ended.err
    assert len(fake.log) == 3
    report = json.loads((tmp_path / "out.json").read_text())["recipes"]["hybrid"]
    assert (report["n"], report["em"], report["failed"]) == (3, 1.0, 0)


def test_evaluate_leaves_what_rules_have_made_and_names_another_work_folder_where_a_model_is_wanted(
    hoptrail: Hoptrail, fake: FakeAI, quick: Path, tmp_path: Path
) -> None:
    command = ["evaluate", data_folder(tmp_path), "--settings", quick, "--work", tmp_path / "work", "--recipes"]
    assert hoptrail(*command, "trail").code == 0
    ended = hoptrail(*command, "bm25", "--language", "chat", "--retrieval-only")
    assert ended.code == 0, ended.err
    refused = hoptrail(*command, "sirerag", "--language", "chat")
    assert (refused.code, fake.log) == (2, [])
    assert "made by offline, not by chat" in refused.err
    assert "another folder as `--work`" in refused.err
    assert "--rebuild" not in refused.err


# --- doctor


def doctor(hoptrail: Hoptrail, settings: Path, *more: object) -> tuple[int, str]:
    ended = hoptrail("doctor", "--settings", settings, *more)
    return ended.code, " ".join(ended.out.split())


def checking(_body: Body) -> str:
    """A model that plans and reads."""
    return json.dumps(
        {"questions": ["Where was Ada Lunt born?", "Which river flows through #1?"], "answer": "Wrenmouth"}
    )


def test_doctor_makes_no_folder_where_no_index_is(
    hoptrail: Hoptrail, fake: FakeAI, quick: Path, tmp_path: Path
) -> None:
    code, says = doctor(hoptrail, quick, "--index", tmp_path / "indx")
    assert (code, fake.log) == (1, [])
    assert says.startswith(f"fails index: there is no index at {tmp_path / 'indx'}")
    assert not (tmp_path / "indx").exists()


def test_doctor_tells_that_all_is_well(hoptrail: Hoptrail, fake: FakeAI, quick: Path, built: Path) -> None:
    fake.brain = checking
    code, says = doctor(hoptrail, quick, "--index", built)
    assert code == 0
    assert f"works endpoint: fake at {fake.address}" in says
    for rung in Rung:
        assert f"works replies by {rung}: works" in says
    assert "works questions: will be asked by schema" in says
    assert "100 questions: by recipe trail: 100 to 1,543 calls" in says, (
        "half of 15 readings and 12 others, some repaired"
    )
    assert "in money unknown" in says
    assert replies_in(built).ledger().calls == fake.bill.calls == 6
    doctor(hoptrail, quick, "--index", built)
    assert fake.bill.calls == 12, "it asks anew each time"


def test_a17_what_doctor_finds_is_what_ask_takes(hoptrail: Hoptrail, fake: FakeAI, quick: Path, built: Path) -> None:
    """Replies follow their schema, but the answers that matter are empty."""
    fake.brain = lambda body: checking(body) if form_of(body) == "" else "I would rather not say."
    code, says = doctor(hoptrail, quick, "--index", built)
    assert code == 0
    assert "fails replies by schema: 0 of 2 replies usable; decompose: fake at http" in says
    assert "works replies by prompt: works" in says
    assert "works questions: will be asked by prompt" in says
    fake.log.clear()
    ask(hoptrail, built, quick)
    assert {asked.form for asked in fake.log} == {""}


def numbers_of_estimate(says: str) -> dict[str, tuple[float, float]]:
    found = re.findall(r"([\d,]+) to ([\d,]+) (calls|prompt tokens|completion tokens)", says)
    return {what: (float(low.replace(",", "")), float(high.replace(",", ""))) for low, high, what in found}


@pytest.mark.parametrize("recipe", ["bm25", "selfask", "sunar:paper", "trail"])
def test_doctor_tells_a_range_that_one_can_plan_with(
    hoptrail: Hoptrail, fake: FakeAI, quick: Path, recipe: str
) -> None:
    fake.brain = checking
    quick.write_text(f'recipe = "{recipe}"\n{quick.read_text()}')
    estimate = numbers_of_estimate(doctor(hoptrail, quick)[1])
    calls, prompt = estimate["calls"], estimate["prompt tokens"]
    assert 100 <= calls[0] < calls[1]
    assert prompt[1] / calls[1] < 8_000, "a call is not more than its window"


def test_doctor_says_which_form_does_not_work_and_that_others_do(hoptrail: Hoptrail, fake: FakeAI, quick: Path) -> None:
    fake.brain, fake.always = checking, "no schema"
    code, says = doctor(hoptrail, quick)
    assert code == 0
    assert "fails replies by schema" in says
    assert "`ask` uses the first that does" in says
    assert "works questions: will be asked by prompt" in says


@pytest.mark.parametrize(
    ("fault", "hint"),
    [
        ("401", "Check the address, the key, the credit and the model's name"),
        ("missing field", "the model is too small for this"),
        ("web page", "a web page, perhaps a login"),
    ],
)
def test_doctor_says_what_to_do_when_nothing_works(
    hoptrail: Hoptrail, fake: FakeAI, quick: Path, fault: str, hint: str
) -> None:
    fake.brain, fake.always = checking, fault
    code, says = doctor(hoptrail, quick)
    assert code == 1
    assert hint in says
    assert ("fails endpoint" in says, len(fake.log)) == ((True, 1) if fault == "401" else (False, len(fake.log)))
    assert ("works endpoint" in says, "too small" in says) == ((False, False) if fault == "401" else (True, True))


def test_doctor_without_an_endpoint(hoptrail: Hoptrail, quick: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    code, says = doctor(hoptrail, quick)
    assert code == 1
    assert "fails endpoint: the language chat needs an address: set OPENAI_BASE_URL" in says
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("HOPTRAIL_MODEL", "fake")
    code, says = doctor(hoptrail, quick)
    assert code == 1
    assert says.startswith("fails endpoint: decompose: fake at http://127.0.0.1:9/v1 could not be asked")
    assert "check the address and whether the server runs" in says
    assert "too small" not in says
    assert "replies by" not in says


def test_doctor_tries_the_encoder(hoptrail: Hoptrail, fake: FakeAI, quick: Path, tmp_path: Path) -> None:
    fake.brain = checking
    code, says = doctor(hoptrail, quick)
    assert code == 0
    assert re.search(r"works embeddings: /.*, 8 dimensions", says)
    settings = tmp_path / "settings.toml"
    settings.write_text('encoder = "models/of-another-machine"\n[chat]\nstructured = "prompt"\n')
    code, says = doctor(hoptrail, settings)
    assert code == 1
    assert "fails embeddings: there is no encoder 'models/of-another-machine'" in says


def test_doctor_tries_embeddings_that_come_from_an_endpoint(hoptrail: Hoptrail, fake: FakeAI, tmp_path: Path) -> None:
    fake.brain = checking
    settings = tmp_path / "settings.toml"
    settings.write_text('encoder = "endpoint:tiny-embedder"\n[chat]\nstructured = "prompt"\n')
    code, says = doctor(hoptrail, settings)
    assert code == 0
    assert "works embeddings: endpoint:tiny-embedder, 2 dimensions" in says
