"""Clients of the server, set up for tests: quick to give up, with everything they keep in one folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fakeai.server import FakeAI
from hoptrail.language.factory import LanguageContext
from hoptrail.models.billing import PaidChat
from hoptrail.models.chat import ChatReply, ChatRequest, ChatSettings, Message, Rung
from hoptrail.models.chat_endpoint import ChatEndpoint
from hoptrail.models.environment import Address
from hoptrail.models.ledger import FILE, RememberedReplies

KEY = "sk-test-0123456789-do-not-show"
QUICK: dict[str, Any] = {"attempts": 3, "backoff_seconds": 0.02, "deadline_seconds": 5.0, "model": "fake"}


def quick_settings(fake: FakeAI, **changes: Any) -> ChatSettings:
    return ChatSettings(**{**QUICK, "base_url": fake.address, **changes})


class Endpoint(ChatEndpoint):
    """An endpoint that is asked for one reply."""

    def send(self, request: ChatRequest) -> ChatReply:
        return self.send_for(request, 1)[0]


def endpoint_at(fake: FakeAI, **changes: Any) -> Endpoint:
    return Endpoint(Address(fake.address, "fake", KEY), quick_settings(fake, **changes))


def replies_in(folder: Path) -> RememberedReplies:
    return RememberedReplies(folder / FILE)


def rung_in(folder: Path, fake: FakeAI) -> str:
    """The rung that is known to work for the fake's model."""
    return replies_in(folder).known("rungs", fake.address, "fake")


def refused_in(folder: Path, fake: FakeAI) -> set[str]:
    """The parameters that the fake is known to refuse for its model."""
    return set(json.loads(replies_in(folder).known("dialects", fake.address, "fake") or "{}").get("refused", ()))


def paid_chat(fake: FakeAI, folder: Path, **changes: Any) -> PaidChat:
    return PaidChat(endpoint_at(fake, **changes), quick_settings(fake, **changes), replies_in(folder))


def context_at(fake: FakeAI, folder: Path, **changes: Any) -> LanguageContext:
    return LanguageContext(None, folder, quick_settings(fake, **changes))


def point_at(fake: FakeAI, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the environment name this server."""
    monkeypatch.setenv("OPENAI_BASE_URL", fake.address)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("HOPTRAIL_MODEL", "fake")


def write_settings(tiny: Path, path: Path, **chat: object) -> Path:
    """A settings file with the small encoder, and a chat client that gives up quickly."""
    lines = {"attempts": 3, "backoff_seconds": 0.01, "deadline_seconds": 5.0, **chat}
    section = "\n".join(f"{key} = {json.dumps(value)}" for key, value in lines.items())
    path.write_text(f"{tiny.read_text()}\n[chat]\n{section}\n", encoding="utf-8")
    return path


def request(
    text: str = "What is this?", *, tokens: int = 100, rung: Rung = Rung.PROMPT, place: str = ""
) -> ChatRequest:
    messages = (Message("system", "You are a test."), Message("user", text))
    return ChatRequest(place or "http://test/v1", "fake", "answer", messages, rung, '{"type": "object"}', 0.0, tokens)
