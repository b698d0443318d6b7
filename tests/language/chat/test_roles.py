"""Who builds, who decomposes and who reads may be three models: each task goes to its own, under one name and one ledger."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fakeai.brains import asked_of, by_task
from fakeai.clients import KEY, point_at, quick_settings, replies_in
from fakeai.server import FakeAI, serving
from hoptrail.errors import UsageError
from hoptrail.index.settings import Settings, settings_from
from hoptrail.language.factory import LanguageContext, language_identity, open_language
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.language.tasks import Abstain, Complete, Decompose, Extract, Finding, Read, Recall
from hoptrail.models.chat import ChatLayer, ChatSettings
from hoptrail.models.ledger import write_recording
from language_chat import passage

STEP = {"question": "Who?", "evidence": [1], "quote": "The Isk flows.", "answer": "Isk"}
REPLIES = {
    "decompose": {"questions": ["Who?"]},
    "decompose_next": {"questions": []},
    "complete": {"question": "Who is Isk?"},
    "answer": {"steps": [STEP], "answer": "Isk", "confidence": "high"},
    "recall": {"answer": "Isk", "confidence": "low"},
    "extract": {"entities": [], "facts": []},
    "integrate": {"answer": "Isk", "confidence": "high"},
    "integrate_evidence": {"steps": [STEP], "answer": "Isk", "confidence": "high"},
}
UNIT = passage("Isk", "The Isk flows.")


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeAI]:
    with serving(FakeAI(by_task(REPLIES))) as running:
        point_at(running, monkeypatch)
        yield running


def test_each_task_goes_to_the_model_of_its_role(fake: FakeAI, tmp_path: Path) -> None:
    chat = quick_settings(fake, decompose=ChatLayer(model="llama"), build=ChatLayer(model="cheap"))
    language = open_language("chat", LanguageContext(None, tmp_path, chat))
    assert language.name == "chat:fake+llama"
    finding = Finding("Who?", "Who?", "Isk")
    for task in (Decompose("Who?"), Complete("Who is that person?", (finding,)), Read("Who?", (UNIT,)), Recall("Who?")):
        language.perform(task)
    assert asked_of(fake) == {"llama": {"decompose", "complete"}, "fake": {"answer", "recall"}}
    builder = open_language("chat", LanguageContext(None, tmp_path, chat.of("build")))
    builder.perform(Extract(UNIT))
    assert builder.name == "chat:cheap"
    assert asked_of(fake)["cheap"] == {"extract"}
    write_recording(replies_in(tmp_path).stored(), tmp_path / "all.jsonl")
    replay = open_language(f"replay:{tmp_path / 'all.jsonl'}", LanguageContext(None, tmp_path, chat))
    before = len(fake.log)
    assert replay.perform(Decompose("Who?")).value.questions == ("Who?",)
    assert replay.perform(Read("Who?", (UNIT,))).value.answer == "Isk"
    assert len(fake.log) == before


def test_a_layer_lies_over_the_rest_and_another_model_has_its_own_prices() -> None:
    chat = ChatSettings(model="a", prompt_price=1.0, completion_price=2.0, read=ChatLayer(context_window=128_000))
    assert (chat.of("read").context_window, chat.of("read").prompt_price, chat.of("build").context_window) == (
        128_000,
        1.0,
        8192,
    )
    dearer = ChatSettings(
        model="a", prompt_price=1.0, completion_price=2.0, build=ChatLayer(model="b", prompt_price=3.0)
    )
    assert (dearer.of("build").prompt_price, dearer.of("build").completion_price) == (3.0, -1.0)
    assert [own.model for own in dearer.asking] == ["a"]
    elsewhere = ChatSettings(decompose=ChatLayer(base_url="http://elsewhere/v1"), read=ChatLayer(model="b"))
    assert elsewhere.of("decompose").api_key_variable == "", "a key goes to the address that it is for"
    assert elsewhere.of("read").api_key_variable == "OPENAI_API_KEY"
    with pytest.raises(UsageError, match="context_window must be at least twice max_output_tokens"):
        ChatSettings(read=ChatLayer(context_window=100))


def test_another_address_gets_no_key_but_its_own(fake: FakeAI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER_KEY", "sk-other")
    with serving(FakeAI(by_task(REPLIES))) as other:
        for variable in ("", "OTHER_KEY"):
            layer = ChatLayer(base_url=other.address, model=f"llama{variable}", api_key_variable=variable)
            language = open_language("chat", LanguageContext(None, tmp_path, quick_settings(fake, decompose=layer)))
            language.perform(Decompose("Who?"))
    first, second = (str(one.key) for one in other.log)
    assert KEY not in first + second
    assert "sk-other" in second


def test_the_identity_of_a_language_names_both_models(fake: FakeAI) -> None:
    chat = quick_settings(fake, decompose=ChatLayer(model="llama"))
    plain, both = (language_identity("chat", own, OfflineSettings()) for own in (quick_settings(fake), chat))
    assert both.startswith(plain)
    assert f"llama at {fake.address}" in both


def test_who_must_answer_may_guess_from_memory(fake: FakeAI, tmp_path: Path) -> None:
    language = open_language("chat", LanguageContext(None, tmp_path, quick_settings(fake)))
    language.perform(Recall("Who?"))
    language.perform(Recall("Who?", Abstain.NEVER))
    first, last = (one.prompt for one in fake.log)
    assert "A guess is worse than null" in first
    assert "never null" in last
    assert "worse" not in last


def test_the_builder_is_the_language_of_questions_unless_it_is_named() -> None:
    assert Settings(language="chat").builder == "chat"
    own = settings_from({"language": "chat", "build": {"language": "offline"}}, "here")
    assert (own.language, own.builder) == ("chat", "offline")
    with pytest.raises(UsageError, match=r"build\.language: there is no language 'chta'"):
        settings_from({"build": {"language": "chta"}}, "here")
