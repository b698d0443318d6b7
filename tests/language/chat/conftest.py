"""A server, a language that speaks to it, and a few passages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fakeai.clients import KEY, context_at
from fakeai.server import Brain, FakeAI, serving
from hoptrail.language.factory import open_language
from hoptrail.language.tasks import Language
from hoptrail.types import Unit
from language_chat import ISK, WRENMOUTH, Speaking, passage


@pytest.fixture
def isk() -> Unit:
    return passage("Isk", ISK)


@pytest.fixture
def wrenmouth() -> Unit:
    return passage("Wrenmouth", WRENMOUTH)


@pytest.fixture
def fake() -> Iterator[FakeAI]:
    with serving(FakeAI(lambda _: "{}")) as running:
        yield running


@pytest.fixture
def speaking(fake: FakeAI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Speaking:
    """The language `chat` against the server, whose model is `brain`; replies are kept in one folder a test."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def open_chat(brain: Brain | None = None, **changes: Any) -> Language:
        if brain is not None:
            fake.brain = brain
        return open_language("chat", context_at(fake, tmp_path, **changes))

    return open_chat
