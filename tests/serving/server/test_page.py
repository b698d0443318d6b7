"""The page in a real browser: from a dropped document to a cited answer, by mouse and keyboard, and what hostile text does."""

from __future__ import annotations

import json
import re
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn

from hoptrail.server_limits import ServerLimits
from hoptrail.serving.server.app import create_app
from hoptrail.serving.server.keys import Keys
from hoptrail.serving.server.page_files import read_page
from hoptrail.serving.server.running import server_config
from serving.server.served import NORTH, QUESTION, SOUTH, workspace
from world import FACTS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
with_browser = pytest.mark.skipif(
    CHROMIUM is None or find_spec("playwright") is None, reason="needs Chromium on this machine, and playwright"
)
EXPECTED = "Failed to load resource"
"""What a browser writes on its console whenever a request is refused."""


def test_the_page_is_small_and_fetches_from_here_only() -> None:
    page = read_page()
    assert sum(len(content) for content, _, _ in page.values()) < 80_000
    for name, (content, kind, _) in page.items():
        text = content.decode()
        assert not re.search(
            r"https?://(?!www\.w3\.org/2000/svg)|//cdn|@import|innerHTML|outerHTML|insertAdjacent", text
        ), name
        assert not re.search(r"\beval\(|new Function|document\.write|style=\"|<script>|\son\w+=\"", text), name
        assert kind.partition("/")[0] in {"text", "image"}
    linked = re.findall(r"/page/([\w.-]+)", "".join(content.decode() for content, _, _ in page.values()))
    assert set(linked) <= set(page)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


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


class Told:
    """What a page asked for, complained of and popped up."""

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
def opened(browser: Browser, address: str, key: str) -> Iterator[Page]:
    """The page with a key given, and a watch on it."""
    context = browser.new_context(viewport={"width": 1100, "height": 800}, reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(15_000)
    told = Told(page)
    page.goto(address)
    page.get_by_label("Key", exact=True).fill(key)
    page.get_by_role("button", name="Open", exact=True).click()
    page.locator(".welcome").wait_for()
    yield page
    told.check(address)
    context.close()


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """In the north."""
    with opened(browser, address, NORTH) as shown:
        yield shown


def drop(page: Page, files: dict[str, bytes]) -> None:
    named: Any = [{"name": name, "mimeType": "text/plain", "buffer": content} for name, content in files.items()]
    page.locator("#files").set_input_files(named)
    page.locator(".job strong", has_text=re.compile("ready|Nothing")).wait_for()


def ask(page: Page, question: str, recipe: str = "selfask") -> None:
    page.get_by_label("Your question").fill(question)
    page.get_by_label("Recipe", exact=True).select_option(recipe)
    page.get_by_role("button", name="Ask", exact=True).click()
    page.locator(".answer").first.wait_for()


@with_browser
def test_the_story_from_an_upload_to_a_cited_answer(browser: Browser, address: str) -> None:
    with opened(browser, address, SOUTH) as page:
        assert page.get_by_role("heading", name="Begin with your documents").is_visible()
        tell_the_story(page)


def tell_the_story(page: Page) -> None:
    files = {f"{title}.txt": text.encode() for title, text in FACTS.items()}
    drop(page, {**files, "picture.bmp": b"BM\x00\x01\x00"})
    assert page.locator(".job strong").first.inner_text() == "6 documents ready, 1 not read"
    assert "of no form that is read" in page.locator(".items .failed").inner_text()
    ask(page, QUESTION)
    assert page.locator(".answer .text").inner_text().startswith("Isk")
    assert page.locator(".hop h3").all_inner_texts() == [
        "Who is the designer of the Tallow Bridge?",
        "What is the town where Orla Finch was born?",
        "Which river flows through Wrenmouth?",
    ]
    assert page.locator(".hop .entity").all_inner_texts() == ["Orla Finch", "Wrenmouth"]
    assert "Orla Finch was born in Wrenmouth." in page.locator(".hop").nth(1).locator("mark").last.inner_text()
    assert page.locator("#spoken").inner_text() == "Answer: Isk"
    page.get_by_role("button", name=re.compile("^Citation 3: Wrenmouth")).click()
    assert page.locator("#reader mark.here").inner_text().strip() == "The river Isk flows through Wrenmouth."
    assert page.get_by_role("heading", name="Wrenmouth", exact=True).is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#reader").is_visible()


@with_browser
def test_the_picture_shows_names_sentences_and_documents_of_the_trail(page: Page) -> None:
    ask(page, QUESTION)
    names = page.locator(".node.entity title").all_text_contents()
    assert sorted(names) == ["Isk", "Orla Finch", "Tallow Bridge", "Wrenmouth"]
    assert page.locator(".node.final title").all_text_contents() == ["Isk"]
    assert page.locator(".node.sentence").count() == 3
    page.locator(".picture summary").click()
    listed = page.locator(".picture li").all_inner_texts()
    assert len(listed) == page.locator(".picture path.link").count() >= 9
    assert "“The river Isk flows through Wrenmouth.” tells Isk" in listed
    page.locator(".node.sentence").last.focus()
    page.keyboard.press("Enter")
    page.locator("#reader mark.here").wait_for()


@with_browser
def test_two_recipes_stand_side_by_side_and_history_keeps_both(page: Page) -> None:
    page.get_by_label("A second recipe, side by side").select_option("bm25")
    ask(page, QUESTION)
    page.locator(".answer").nth(1).wait_for()
    left, right = (page.locator(".run").nth(place).bounding_box() for place in (0, 1))
    assert left is not None
    assert right is not None
    assert right["x"] > left["x"] + left["width"]
    page.get_by_role("link", name="History").click()
    page.get_by_role("button", name=re.compile(QUESTION[:30])).click()
    assert page.locator(".run h2").all_inner_texts() == ["selfask", "bm25"]
    page.get_by_role("link", name="History").click()
    page.get_by_role("button", name="Forget all").click()
    page.get_by_text("Nothing was asked here yet.").wait_for()


@with_browser
def test_an_abstention_and_an_error_are_said_plainly(page: Page) -> None:
    ask(page, "Who painted the ceiling in Vienna?")
    assert page.locator(".answer .label").inner_text().lower() == "no answer"
    told = {"code": "too_many", "message": "Too many questions at once.", "what_to_do": "Ask again in 5 seconds."}
    page.route("**/api/ask*", lambda route: route.fulfill(status=429, json={"error": told}))
    page.get_by_role("button", name="Ask", exact=True).click()
    alert = page.get_by_role("alert").filter(has_text="Too many questions at once.")
    alert.wait_for()
    assert "Ask again in 5 seconds." in alert.inner_text()
    page.route("**/api/ask*", lambda route: route.abort())
    page.get_by_role("button", name="Ask", exact=True).click()
    page.get_by_text("The server cannot be reached.").wait_for()


@with_browser
def test_a_document_is_rendered_and_an_answer_outlives_a_reload(page: Page) -> None:
    page.get_by_role("link", name="Documents").click()
    drop(
        page, {"fees.md": b"# Fees\n\nWe ask **little**:\n\n- one\n- two\n\n| year | fee |\n|---|---|\n| 2024 | 3 |\n"}
    )
    page.get_by_role("button", name=re.compile("^Fees")).click()
    assert page.locator("#reader-text th").all_inner_texts() == ["year", "fee"]
    assert page.locator("#reader-text li").all_inner_texts() == ["one", "two"]
    assert "**" not in page.locator("#reader-text").inner_text()
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Ask", exact=True).click()
    ask(page, QUESTION)
    page.reload()
    page.locator(".answer .text", has_text="Isk").wait_for()
    assert page.get_by_label("Your question").input_value() == QUESTION


@with_browser
def test_hostile_text_stays_text(page: Page) -> None:
    hostile = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    title = f"{hostile} & \"quotes\" 'single' </title>"
    line = {"id": "<b>1</b>", "title": title, "text": f"The petrel of {hostile} sleeps in Marn."}
    page.get_by_role("link", name="Documents").click()
    drop(page, {"<svg onload=alert(3)>.txt": b"Petrels are <i>small</i>.", "x.jsonl": json.dumps(line).encode()})
    page.get_by_role("link", name="Ask", exact=True).click()
    ask(page, f"Where does the petrel sleep? {hostile}", "bm25")
    page.get_by_role("link", name="Documents").click()
    page.get_by_role("button", name=re.compile("^<img src=x")).first.click()
    assert "<script>alert(2)</script>" in page.locator("#reader-text").inner_text()
    assert page.locator("#reader-title").inner_text().startswith("<img src=x onerror=alert(1)>")
    assert (
        page.locator(
            "#view img, #view script, #reader script, #reader img, #view b, #reader i, [onload], [onerror]"
        ).count()
        == 0
    )


@with_browser
def test_it_works_by_keyboard_and_names_its_parts(page: Page) -> None:
    assert page.get_by_role("main").count() == page.get_by_role("banner").count() == 1
    assert page.get_by_role("navigation", name="Views").count() == 1
    page.get_by_label("Your question").focus()
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    page.locator(".answer").wait_for()
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.locator(".citation:focus").count():
            break
    page.keyboard.press("Enter")
    page.locator("#reader mark.here").wait_for()
    page.keyboard.press("Escape")
    assert page.locator(".citation:focus").count() == 1, "the focus comes back to where it was"
    page.get_by_role("link", name="Documents").focus()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Documents", level=1).wait_for()
    assert page.locator("h1:focus").count() == 1
    for control in page.locator("button:visible, input:visible, select:visible, a:visible").all():
        assert control.evaluate("e => e.ariaLabel || e.labels?.[0]?.textContent || e.textContent.trim()"), control


@with_browser
def test_on_a_phone_nothing_is_wider_than_the_screen(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 640})
    ask(page, QUESTION)
    for view in ("Documents", "History", "Ask"):
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
        page.get_by_role("link", name=view, exact=True).click()


@with_browser
def test_documents_are_removed_only_when_asked_twice(page: Page) -> None:
    page.get_by_role("link", name="Documents").click()
    page.get_by_role("button", name="Remove Lindeth").click()
    page.get_by_role("button", name="Remove Lindeth").get_by_text("Really remove").wait_for()
    page.get_by_role("button", name="Remove Lindeth").click()
    page.get_by_role("button", name="Remove Lindeth").wait_for(state="detached")
    assert "Dunmere" in "".join(page.locator(".documents .title").all_inner_texts())


@with_browser
def test_a_wrong_key_opens_nothing_and_a_key_is_forgotten_with_the_tab(browser: Browser, address: str) -> None:
    context = browser.new_context()
    first = context.new_page()
    first.goto(address)
    first.get_by_label("Key", exact=True).fill("wrong-key-0123456789")
    first.get_by_role("button", name="Open", exact=True).click()
    first.get_by_text("This key opens nothing here.").wait_for()
    first.keyboard.press("Escape")
    assert first.locator("#key").is_visible()
    first.get_by_label("Key", exact=True).fill(NORTH)
    first.get_by_role("button", name="Open", exact=True).click()
    first.locator(".welcome").wait_for()
    assert NORTH not in first.url
    assert context.cookies() == []
    second = context.new_page()
    second.goto(address)
    second.get_by_label("Key", exact=True).wait_for()
    context.close()
