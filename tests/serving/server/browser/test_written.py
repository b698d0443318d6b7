"""The page shows an answer while a model writes it, as what it is: not checked yet."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from fakeai.clients import KEY, quick_settings
from fakeai.server import FakeAI, serving
from hoptrail.index.settings import Settings
from hoptrail.serving.server.app import create_app
from serving.server.browser.opening import opened, with_browser
from serving.server.listening import listening
from serving.server.served import NORTH, workspace

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

    from hoptrail.serving.server.keys import Keys

QUESTION = "Where does the Isk rise?"
LONG = "in the Grey Hills, far above the market town of Wrenmouth"


@pytest.fixture
def fake() -> Iterator[FakeAI]:
    step = {"question": QUESTION, "evidence": [1], "quote": "It rises in the Grey Hills.", "answer": LONG}
    content = json.dumps({"steps": [step], "answer": LONG, "confidence": "high"})
    with serving(FakeAI(lambda _: content, pace=0.1)) as running:
        yield running


@with_browser
def test_an_answer_being_written_is_shown_and_then_replaced(
    browser: Browser, fake: FakeAI, built: Path, tmp_path: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    shutil.copytree(built / "north", tmp_path / "north")
    settings = Settings(recipe="hybrid", language="chat", chat=quick_settings(fake, deadline_seconds=60.0))
    served = [workspace(name, tmp_path / name, settings) for name in ("north", "south")]
    with (
        listening(create_app(served, keys, warm=False)) as address,
        opened(browser, address.replace("127.0.0.1", "localhost"), NORTH) as page,
    ):
        page.get_by_label("Your question").fill(QUESTION)
        page.get_by_role("button", name="Ask", exact=True).click()
        writing = page.locator(".writing")
        writing.wait_for()
        assert "not checked yet" in writing.inner_text().lower()
        assert LONG.startswith(writing.locator(".text").inner_text())
        page.locator(".answer:not(.writing)").wait_for()
        assert page.locator(".answer .text").inner_text().startswith(LONG)
        assert writing.count() == 0
        assert "Withdrawn" not in page.locator("main").inner_text()
        fake.brain = lambda _: json.dumps({"steps": [], "answer": "unknown", "confidence": "high"})
        page.get_by_label("Your question").fill("Who painted the Tallow Bridge?")
        page.get_by_role("button", name="Ask", exact=True).click()
        page.locator(".answer.none").wait_for()
        assert "Withdrawn when it was checked: unknown" in page.locator("main").inner_text()
