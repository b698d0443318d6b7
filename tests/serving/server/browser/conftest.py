"""One browser for the tests of a module, and a server over the two small indexes.

Playwright's event loop runs in the thread of the tests until the browser closes: were it to stay open, every later test of the process
that starts a loop of its own would fail.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import uvicorn

from hoptrail.server_limits import ServerLimits
from hoptrail.serving.server.app import create_app
from hoptrail.serving.server.http_server import server_config
from hoptrail.serving.server.keys import Keys
from serving.server.browser.opening import CHROMIUM, opened
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
    server = uvicorn.Server(server_config(create_app(served, keys, limits=limits, warm=False), "127.0.0.1", 0, limits))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://localhost:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(20)


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """In the north."""
    with opened(browser, address, NORTH) as shown:
        yield shown
