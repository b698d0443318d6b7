"""What a server accepts is found out once, and known to the next process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fakeai.clients import endpoint_at, paid_chat, request, servers_in
from fakeai.faults import FAULTS, status
from fakeai.server import Body, FakeAI, serving
from hoptrail.models.chat import Rung
from hoptrail.models.dialect import LIMITS, LOGPROBS, NEWER, OLDER, Accepted


@pytest.fixture
def fake() -> Iterator[FakeAI]:
    with serving(FakeAI(lambda _: "fine")) as running:
        yield running


def refuse(fake: FakeAI, *parameters: str, words: str = "Unsupported parameter: '{}' is not supported.") -> None:
    """Answer 400 to every body with one of these parameters."""

    def choose(_: int, body: Body) -> str | None:
        found = next((name for name in parameters if name in body), None)
        if found is None:
            return None
        FAULTS[f"refuses {found}"] = status(400, words.format(found))
        return f"refuses {found}"

    fake.choose = choose


def test_what_was_refused_is_not_sent_by_the_next_process(
    fake: FakeAI, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    refuse(fake, "temperature", "max_tokens", "logprobs")
    assert paid_chat(fake, tmp_path).ask(replace(request("one"), logprobs=True)).reply.text == "fine"
    assert len(fake.log) == 4, "three refusals"
    assert servers_in(tmp_path).accepted(fake.address, "fake") == Accepted(LOGPROBS | {"temperature", OLDER})
    caplog.clear()
    assert paid_chat(fake, tmp_path).ask(replace(request("two"), logprobs=True)).reply.text == "fine"
    assert len(fake.log) == 5
    assert caplog.messages == ["the endpoint has refused temperature before, which is left out"]


def test_it_is_known_of_that_model_alone(fake: FakeAI, tmp_path: Path) -> None:
    refuse(fake, "temperature")
    paid_chat(fake, tmp_path).ask(request())
    assert servers_in(tmp_path).accepted(fake.address, "another") == Accepted()
    assert servers_in(tmp_path).accepted("http://elsewhere/v1", "fake") == Accepted()


def test_a_server_that_refuses_nothing_has_nothing_written(fake: FakeAI, tmp_path: Path) -> None:
    paid_chat(fake, tmp_path).ask(request())
    with servers_in(tmp_path)._file.transaction(write=False) as connection:
        assert connection.execute("SELECT count(*) FROM dialects").fetchone() == (0,)


def test_that_one_reply_came_for_several_is_known(fake: FakeAI, tmp_path: Path) -> None:
    chat = paid_chat(fake, tmp_path)
    chat.fetch([replace(request("one"), seed=seed) for seed in range(3)])
    assert [asked.body.get("n") for asked in fake.log] == [3]
    assert paid_chat(fake, tmp_path).fetch([replace(request("two"), seed=seed) for seed in range(3)]).calls == 0
    assert len(fake.log) == 1


def test_that_limits_of_a_schema_are_refused_is_known(fake: FakeAI, tmp_path: Path) -> None:
    limited = replace(request(rung=Rung.SCHEMA), schema='{"type": "string", "maxLength": 160}')
    FAULTS["limits"] = status(400, "'maxLength' is not permitted")
    fake.choose = lambda _, body: "limits" if "maxLength" in str(body) else None
    paid_chat(fake, tmp_path).ask(limited)
    paid_chat(fake, tmp_path).ask(replace(limited, task="another"))
    assert len(fake.log) == 3


def test_what_was_only_guessed_is_not_kept(fake: FakeAI, tmp_path: Path) -> None:
    refuse(fake, "logprobs", words="bad request")
    paid_chat(fake, tmp_path).ask(replace(request("one"), logprobs=True))
    assert ["logprobs" in asked.body for asked in fake.log] == [True, False]
    assert servers_in(tmp_path).accepted(fake.address, "fake") == Accepted()


def test_asked_anew_a_server_may_have_learned(fake: FakeAI, tmp_path: Path) -> None:
    """As `hoptrail doctor` asks."""
    refuse(fake, "temperature")
    paid_chat(fake, tmp_path).ask(request("one"))
    fake.choose = None
    paid_chat(fake, tmp_path).anew().ask(request("two"))
    assert "temperature" in fake.log[-1].body
    assert servers_in(tmp_path).accepted(fake.address, "fake") == Accepted()


def test_the_settings_come_before_what_is_known(fake: FakeAI, tmp_path: Path) -> None:
    servers_in(tmp_path).remember_accepted(fake.address, "fake", Accepted(frozenset({OLDER})))
    paid_chat(fake, tmp_path, output_parameter=OLDER).ask(request())
    assert OLDER in fake.log[0].body


def test_a_server_that_was_replaced_by_an_older_one_is_asked_in_its_words(fake: FakeAI) -> None:
    refuse(fake, NEWER, words="{}: extra fields not permitted")
    endpoint = endpoint_at(fake)
    endpoint.dialect.recall(Accepted(frozenset({OLDER})))
    assert endpoint.send(request()).text == "fine"
    assert endpoint.dialect.accepted == Accepted()
    assert OLDER in fake.log[-1].body


def test_what_an_earlier_version_stored_is_read() -> None:
    text = '{"output": "max_completion_tokens", "refused": ["seed"], "unlimited": ["schema"]}'
    known = Accepted.from_json(text)
    assert known == Accepted(frozenset({"seed", OLDER, LIMITS[0]})) == Accepted.from_json(known.as_json())
