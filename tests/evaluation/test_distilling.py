"""A training set has the prompt as sent and the supported part of the reply; no document is in both splits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fakeai.clients import KEY, context_at, quick_settings, replies_in
from fakeai.server import Body, FakeAI, serving
from hoptrail.errors import StorageError, TaskFailed, UsageError
from hoptrail.language.chat.reply_parsing import parse_reply
from hoptrail.language.chat.schemas import ExtractReply
from hoptrail.language.factory import open_language
from hoptrail.language.tasks import Extract, Summarise
from hoptrail.models.ledger import write_recording
from hoptrail.types import Span, Unit
from hoptrail_papers.distilling import TrainingCounts, is_held_out, tasks_of, write_training_set
from world import FACTS, make_document, make_passage

FINCH = make_passage(make_document("Orla Finch", FACTS["Orla Finch"]))
ISK = make_passage(make_document("Isk", FACTS["Isk"]))
TEACHES = {
    "entities": ["Orla Finch", "Wrenmouth", "Atlantis"],
    "facts": [
        {"text": "Orla Finch was born in Wrenmouth.", "entities": ["Orla Finch", "Wrenmouth"], "sentence": 1},
        {"text": "Orla Finch designed the Tallow Bridge.", "entities": ["Tallow Bridge", "Atlantis"], "sentence": [2]},
        {"text": "Orla Finch was rich.", "entities": ["Orla Finch"], "sentence": 9},
        {"text": "Orla Finch was tall.", "entities": ["Orla Finch"]},
    ],
}

Asking = Callable[..., None]


@pytest.fixture
def fake() -> Iterator[FakeAI]:
    with serving(FakeAI(lambda _: json.dumps(TEACHES))) as running:
        yield running


@pytest.fixture
def ask(fake: FakeAI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asking:
    """Lets the model extract from passages and stores its replies under `tmp_path`."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def asking(*passages: Unit, brain: Callable[[Body], str] | None = None, **changes: Any) -> None:
        if brain is not None:
            fake.brain = brain
        language = open_language("chat", context_at(fake, tmp_path, **changes))
        for task in tasks_of(passages):
            try:
                language.perform(task)
            except TaskFailed:
                continue

    return asking


def write(fake: FakeAI, folder: Path, *passages: Unit, **settings: Any) -> TrainingCounts:
    stored = replies_in(folder).stored()
    return write_training_set(stored, passages, quick_settings(fake), folder / "set", **settings)


def examples(folder: Path, name: str = "train.jsonl") -> list[list[dict[str, str]]]:
    lines = (folder / "set" / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["messages"] for line in lines]


def test_an_example_has_the_prompt_as_sent_and_the_supported_reply(fake: FakeAI, ask: Asking, tmp_path: Path) -> None:
    ask(FINCH, brain=lambda _: f"Certainly!\n```json\n{json.dumps(TEACHES)}\n```")
    assert write(fake, tmp_path, FINCH, share=0.0) == TrainingCounts(train=1)
    ((system, user, assistant),) = examples(tmp_path)
    assert [system, user] == fake.log[0].body["messages"]
    assert assistant["role"] == "assistant"
    assert json.loads(assistant["content"]) == {
        "entities": [{"name": name, "type": ""} for name in ("Orla Finch", "Wrenmouth", "Tallow Bridge")],
        "facts": [
            {
                "text": "Orla Finch was born in Wrenmouth.",
                "entities": ["Orla Finch", "Wrenmouth"],
                "sentence": [1],
                "triple": [],
            },
            {
                "text": "Orla Finch designed the Tallow Bridge.",
                "entities": ["Tallow Bridge"],
                "sentence": [2],
                "triple": [],
            },
        ],
    }
    assert parse_reply(assistant["content"], ExtractReply).facts[0].sentence == [1]


def test_a_reply_is_found_by_the_request_of_the_build(
    fake: FakeAI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The passage before it is part of that, and whether dates are entities."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    first = replace(FINCH, sources=(Span(ISK.document, 0, 1),))
    second = replace(ISK, sources=(Span(ISK.document, 1, len(ISK.text)),))
    language = open_language("chat", context_at(fake, tmp_path))
    language.perform(Extract(first, figures=True))
    language.perform(Extract(second, first, figures=True))
    assert write(fake, tmp_path, first, second).without_reply == 2
    counts = write(fake, tmp_path, first, second, share=0.0, figures=True)
    assert (counts.train, counts.without_reply) == (2, 0)


def test_no_model_is_called(fake: FakeAI, ask: Asking, tmp_path: Path) -> None:
    ask(FINCH)
    requests = len(fake.log)
    assert write(fake, tmp_path, FINCH, ISK, make_passage(make_document("Blank", " "))).without_reply == 2
    assert len(fake.log) == requests


def test_a_repaired_reply_gives_the_prompt_and_the_last_reply(fake: FakeAI, ask: Asking, tmp_path: Path) -> None:
    ask(FINCH, brain=lambda body: json.dumps(TEACHES) if len(body["messages"]) > 2 else "no idea what you mean")
    assert len(fake.log) > 1
    assert write(fake, tmp_path, FINCH, share=0.0) == TrainingCounts(train=1)
    ((*prompt, reply),) = examples(tmp_path)
    assert [message["role"] for message in prompt] == ["system", "user"]
    assert "no idea" not in json.dumps(prompt)
    assert "Orla Finch was born" in reply["content"]


@pytest.mark.parametrize(
    "reply",
    [
        "I'm sorry, I cannot help with that.",
        "nonsense without end",
        json.dumps({"entities": [], "facts": [{"text": "Pigs fly.", "entities": [], "sentence": 7}]}),
    ],
)
def test_failed_and_unsupported_replies_give_no_example(fake: FakeAI, ask: Asking, tmp_path: Path, reply: str) -> None:
    ask(ISK, brain=lambda _: reply)
    assert write(fake, tmp_path, ISK) == TrainingCounts(unusable=1)
    assert examples(tmp_path) == examples(tmp_path, "validation.jsonl") == []


def test_an_empty_extraction_gives_an_example(fake: FakeAI, ask: Asking, tmp_path: Path) -> None:
    ask(ISK, brain=lambda _: '{"entities": ["Isk"], "facts": []}')
    assert write(fake, tmp_path, ISK, share=0.0) == TrainingCounts(train=1)
    assert json.loads(examples(tmp_path)[0][-1]["content"]) == {"entities": [{"name": "Isk", "type": ""}], "facts": []}


def test_replies_to_another_prompt_give_no_example(fake: FakeAI, ask: Asking, tmp_path: Path) -> None:
    ask(FINCH, max_output_tokens=77)
    assert write(fake, tmp_path, FINCH) == TrainingCounts(without_reply=1)


def test_the_same_prompt_gives_one_example(fake: FakeAI, ask: Asking, tmp_path: Path) -> None:
    ask(FINCH)
    twin = replace(FINCH, id="other", sources=(Span("other", 0, len(FINCH.text)),))
    counts = write(fake, tmp_path, FINCH, twin)
    assert (counts.train + counts.validation, counts.repeated) == (1, 1)


def test_the_split_of_a_document_never_changes() -> None:
    documents = [f"d{number}" for number in range(2000)]
    held_out = {document for document in documents if is_held_out(document, 0.2)}
    assert 300 < len(held_out) < 500
    more = {document for document in documents if is_held_out(document, 0.3)}
    assert held_out < more
    assert not any(is_held_out(document, 0.0) for document in documents)


def test_all_passages_of_a_document_are_in_one_split(fake: FakeAI, ask: Asking, tmp_path: Path) -> None:
    documents = [make_document(f"Orla Finch {n}", FACTS["Orla Finch"].replace("Finch", f"Finch {n}")) for n in range(6)]
    passages = []
    for document in documents:
        for span in document.sentences():
            text = document.slice(span)
            passages.append(Unit(f"p{span}", FINCH.kind, document.title, text, (span,)))
    ask(*passages, brain=lambda _: '{"entities": [], "facts": []}')
    counts = write(fake, tmp_path, *passages, share=0.5)
    assert min(counts.train, counts.validation) > 0
    sides = [
        {document.title for document in documents if document.title in messages[1]["content"]}
        for messages in examples(tmp_path)
    ]
    held_out = [
        {document.title for document in documents if document.title in messages[1]["content"]}
        for messages in examples(tmp_path, "validation.jsonl")
    ]
    assert set().union(*sides).isdisjoint(set().union(*held_out))
    assert counts.train + counts.validation == len(passages)


def test_the_manifest_describes_the_set_and_the_bytes_are_reproducible(
    fake: FakeAI, ask: Asking, tmp_path: Path
) -> None:
    ask(FINCH, ISK)
    contents = []
    for _ in range(2):
        write(fake, tmp_path, FINCH, ISK, share=0.5)
        contents.append({path.name: path.read_bytes() for path in (tmp_path / "set").iterdir()})
    assert contents[0] == contents[1]
    manifest = json.loads(contents[0]["manifest.json"])
    assert (manifest["model"], manifest["task"], manifest["validation_share"]) == ("fake", "extract", 0.5)
    assert len(manifest["prompts"]) == 12
    assert manifest["counts"]["train"] + manifest["counts"]["validation"] == 1  # of Isk nothing is borne out
    for name in ("train.jsonl", "validation.jsonl"):
        assert manifest["sha256"][name] == hashlib.sha256(contents[0][name]).hexdigest()


def test_replies_of_several_models_need_a_choice(fake: FakeAI, ask: Asking, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there are none\. Index documents with the language chat first"):
        write(fake, tmp_path, FINCH)
    ask(FINCH)
    ask(FINCH, model="other")
    with pytest.raises(UsageError, match=r"there are replies of fake, other\. Choose a model"):
        write(fake, tmp_path, FINCH)
    assert write(fake, tmp_path, FINCH, model="other", share=0.0) == TrainingCounts(train=1)
    assert json.loads((tmp_path / "set" / "manifest.json").read_text())["model"] == "other"


def test_replies_to_other_tasks_are_ignored(fake: FakeAI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    fake.brain = lambda _: '{"summary": "A river."}'
    open_language("chat", context_at(fake, tmp_path)).perform(Summarise((ISK,), 10))
    assert write_recording(replies_in(tmp_path).stored(), tmp_path / "run.jsonl") == 1
    with pytest.raises(UsageError, match="there are none"):
        write(fake, tmp_path, ISK)


def test_invalid_share_and_folder(fake: FakeAI, ask: Asking, tmp_path: Path) -> None:
    ask(FINCH)
    for share in (-0.1, 1.0):
        with pytest.raises(UsageError, match="validation share"):
            write(fake, tmp_path, FINCH, share=share)
    (tmp_path / "set").write_text("a file")
    with pytest.raises(StorageError, match="cannot write the training set"):
        write(fake, tmp_path, FINCH)
