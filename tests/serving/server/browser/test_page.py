"""The page in a real browser: from a dropped document to a cited answer, by mouse and keyboard, and what hostile text does."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from hoptrail.serving.server import routes
from serving.server.browser.opening import ask, drop, opened, unfold, with_browser
from serving.server.listening import listening
from serving.server.served import NORTH, QUESTION, SOUTH, new_app
from world import FACTS

if TYPE_CHECKING:
    from fastapi.testclient import TestClient
    from playwright.sync_api import Browser, Page
    from starlette.types import Receive, Scope, Send

    from hoptrail.serving.server.keys import Keys


def test_the_page_is_small_and_fetches_from_here_only(client: TestClient) -> None:
    folder = Path(routes.__file__).parent / "page"
    page = {path.name: client.get(f"/page/{path.name}") for path in folder.iterdir()}
    assert sum(len(answer.content) for answer in page.values()) < 140_000
    for name, answer in page.items():
        text, kind = answer.text, answer.headers["content-type"]
        again = client.get(f"/page/{name}", headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.headers["cache-control"]) == (304, "no-cache")
        assert not re.search(
            r"https?://(?!www\.w3\.org/2000/svg)|//cdn|@import|innerHTML|outerHTML|insertAdjacent", text
        ), name
        assert not re.search(r"\beval\(|new Function|document\.write|style=\"|<script>|\son\w+=\"", text), name
        assert kind.partition("/")[0] in {"text", "image"}
        assert not re.search(r"[\"'`]/(page|api|v1|mcp)\b", text), (
            f"{name}: addresses are relative, for a proxy with a prefix"
        )
    linked = re.findall(r"\bpage/([\w.-]+)", page["index.html"].text)
    assert set(linked) <= set(page)


@with_browser
def test_the_story_from_an_upload_to_a_cited_answer(browser: Browser, address: str) -> None:
    with opened(browser, address, SOUTH) as page:
        assert page.get_by_role("heading", name="Begin with your documents").is_visible()
        tell_the_story(page)


def tell_the_story(page: Page) -> None:
    files = {f"{title}.txt": text.encode() for title, text in FACTS.items()}
    drop(page, {**files, "picture.bmp": b"BM\x00\x01\x00"})
    assert page.locator(".job strong").first.inner_text() == "6 documents ready, 1 not read"
    assert "has no supported format" in page.locator(".items .failed").inner_text()
    ask(page, QUESTION)
    assert page.locator(".answer .text").inner_text().startswith("Isk")
    shown = page.locator("main").inner_text().lower()
    assert not re.findall(r"\b(recipes?|hops?|units?|channels?|offline|structures?)\b", shown)
    assert not page.locator(".hop").first.is_visible()
    unfold(page)
    assert page.locator(".hop h4").all_inner_texts() == [
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
def test_the_picture_shows_what_was_asked_between_the_names_that_were_found(page: Page) -> None:
    ask(page, QUESTION)
    unfold(page)
    assert page.locator(".picture .name").all_inner_texts() == ["Tallow Bridge", "Orla Finch", "Wrenmouth", "Isk"]
    assert page.locator(".picture .name.final").all_inner_texts() == ["Isk"]
    assert page.locator(".picture .arrow button").all_inner_texts() == [
        "designer 1",
        "town born 2",
        "river flows through 3",
    ]
    page.get_by_role("button", name="river flows through, citation 3: Wrenmouth").press("Enter")
    assert page.locator("#reader mark.here").inner_text().strip() == "The river Isk flows through Wrenmouth."


@with_browser
def test_an_abstention_and_an_error_are_said_plainly(page: Page) -> None:
    ask(page, "Who painted the ceiling in Vienna?")
    assert page.locator(".answer .label").inner_text().lower() == "no answer"
    error = {"code": "too_many", "message": "Too many questions at once.", "what_to_do": "Ask again in 5 seconds."}
    page.route("**/api/ask*", lambda route: route.fulfill(status=429, json={"error": error}))
    page.get_by_role("button", name="Ask", exact=True).click()
    alert = page.get_by_role("alert").filter(has_text="Too many questions at once.")
    alert.wait_for()
    assert "Ask again in 5 seconds." in alert.inner_text()
    page.route("**/api/ask*", lambda route: route.abort())
    page.get_by_role("button", name="Ask", exact=True).click()
    page.get_by_text("The server cannot be reached.").wait_for()


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
    page.get_by_role("link", name=re.compile("^<img src=x")).first.click()
    page.locator("#reader-text", has_text="<script>alert(2)</script>").wait_for()
    assert page.locator("#reader-title").inner_text().startswith("<img src=x onerror=alert(1)>")
    assert (
        page.locator(
            "#view img, #view script, #reader script, #reader img, #view b, #reader i, [onload], [onerror]"
        ).count()
        == 0
    )


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


@with_browser
def test_behind_a_proxy_everything_works_below_its_path(
    browser: Browser, built: Path, keys: Keys, tmp_path: Path
) -> None:
    app = new_app(built, tmp_path, keys)

    async def proxy(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope = {
                **scope,
                "path": scope["path"].removeprefix("/rag") if scope["path"].startswith("/rag/") else "/none",
            }
        await app(scope, receive, send)

    with listening(proxy) as where, opened(browser, f"{where.replace('127.0.0.1', 'localhost')}/rag/", NORTH) as page:
        ask(page, QUESTION)
        answered = page.url
        page.locator(".settling .quote").click()
        page.locator("#reader mark.here").wait_for()
        page.go_back()
        page.get_by_role("link", name="History").click()
        page.locator(".history a").click()
        page.wait_for_url(answered)
        assert page.locator(".answer .text").inner_text().startswith("Isk")
        page.reload()
        page.locator(".answer .text").wait_for()
