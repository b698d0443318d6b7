"""One browser for the tests of a module, and a server over the two small indexes.

Playwright's event loop runs in the thread of the tests until the browser closes. If it stayed open, every later test of this
process that starts an event loop would fail.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hoptrail.index.settings import ServerLimits
from hoptrail.serving.server.app import create_app
from hoptrail.serving.server.keys import Keys
from serving.server.browser.opening import CHROMIUM, opened
from serving.server.listening import listening
from serving.server.served import NORTH, workspace

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def address(built: Path, tmp_path_factory: pytest.TempPathFactory, keys: Keys) -> Iterator[str]:
    """A server over the facts in the north and nothing in the south."""
    folder = tmp_path_factory.mktemp("page")
    shutil.copytree(built / "north", folder / "north")
    limits = ServerLimits(stop_seconds=2)
    served = [workspace(name, folder / name) for name in ("north", "south")]
    with listening(create_app(served, keys, limits=limits, warm=False)) as address:
        yield address.replace("127.0.0.1", "localhost")


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """An open page with the key of the north."""
    with opened(browser, address, NORTH) as shown:
        yield shown
