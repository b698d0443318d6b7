"""The page in a local browser: opened with a key, watched for errors, captured and checked by axe."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
with_browser = pytest.mark.skipif(
    CHROMIUM is None or find_spec("playwright") is None or find_spec("axe_playwright_python") is None,
    reason="needs Chromium on this machine (`apt-get install chromium`), and what `make test` installs: playwright, axe",
)
EXPECTED = "Failed to load resource"
"""The console message of a browser for every refused request."""
SHOTS = os.environ.get("HOPTRAIL_SCREENSHOTS")
"""The folder for screenshots. Without it there are none, because they take a fifth of the time."""


SECONDS = 60
"""Timeout for actions that are instantaneous on an idle machine."""


class PageLog:
    """The requests, console errors and dialogs of a page."""

    def __init__(self, page: Page) -> None:
        self.requests: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", self.wrote)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", self.popped_up)

    def wrote(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(message.text)

    def popped_up(self, dialog: Dialog) -> None:
        self.complaints.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def check(self, address: str) -> None:
        assert [one for one in self.complaints if EXPECTED not in one] == []
        assert [url for url in self.requests if not url.startswith((address, "blob:"))] == []


@contextmanager
def opened(browser: Browser, address: str, key: str, **how: Any) -> Iterator[Page]:
    """The page, opened with a key and watched; `how` has options of the browser context."""
    context = browser.new_context(
        **{"viewport": {"width": 1100, "height": 800}, "reduced_motion": "reduce", "accept_downloads": True, **how}
    )
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address)
    page = context.new_page()
    page.set_default_timeout(SECONDS * 1000)
    log = PageLog(page)
    page.goto(address)
    page.get_by_label("Key", exact=True).fill(key)
    page.get_by_role("button", name="Open", exact=True).click()
    page.locator(".welcome").wait_for()
    yield page
    log.check(address)
    context.close()


def drop(page: Page, files: dict[str, bytes]) -> None:
    named: Any = [{"name": name, "mimeType": "text/plain", "buffer": content} for name, content in files.items()]
    page.locator("#files").set_input_files(named)
    page.locator(".job strong", has_text=re.compile("ready|Nothing")).wait_for()


def choose(page: Page, recipe: str) -> None:
    """Select a recipe."""
    if not page.locator(".options[open]").count():
        page.locator(".options > summary").click()
    if not page.locator(".recipes details[open]").count():
        page.locator(".recipes summary").click()
    page.locator(f'input[name="recipe"][value="{recipe}"]').check()


def ask(page: Page, question: str, recipe: str = "selfask") -> None:
    choose(page, recipe)
    page.get_by_label("Your question").fill(question)
    page.get_by_role("button", name="Ask", exact=True).click()
    page.locator(".answer").first.wait_for()


def unfold(page: Page) -> None:
    """Open how an answer was found."""
    page.locator(".steps > summary").first.click()


def answer_from_server(page: Page, answer: dict[str, Any]) -> None:
    """Have the server return this answer to the next questions."""
    body = f"event: answer\ndata: {json.dumps(answer)}\n\n"
    page.route("**/api/ask*", lambda route: route.fulfill(body=body, content_type="text/event-stream"))


def look(page: Page, name: str) -> None:
    """Check a state with axe: no findings of any severity. Save a screenshot if a folder for them is named."""
    from axe_playwright_python.sync_playwright import Axe

    if SHOTS:
        Path(SHOTS).mkdir(parents=True, exist_ok=True)
        page.screenshot(
            path=Path(SHOTS) / f"{name}.jpg", quality=80, full_page=not page.locator("dialog[open]").count()
        )
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(Axe().axe_script)
    found = page.evaluate(
        "() => axe.run({resultTypes: ['violations']}).then(all => [all.violations, all.passes.length])"
    )
    assert found[0] == [], name
    assert found[1], "something was looked at"
