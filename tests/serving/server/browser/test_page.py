"""The page in a real browser: from a dropped document to a cited answer, by mouse and keyboard, and what hostile text does."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from hoptrail.serving.server.routes_status import read_page
from serving.server.browser.opening import ask, choose, drop, opened, with_browser
from serving.server.served import NORTH, QUESTION, SOUTH
from world import FACTS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


def test_the_page_is_small_and_fetches_from_here_only() -> None:
    page = read_page()
    assert sum(len(content) for content, _, _ in page.values()) < 120_000
    for name, (content, kind, _) in page.items():
        text = content.decode()
        assert not re.search(
            r"https?://(?!www\.w3\.org/2000/svg)|//cdn|@import|innerHTML|outerHTML|insertAdjacent", text
        ), name
        assert not re.search(r"\beval\(|new Function|document\.write|style=\"|<script>|\son\w+=\"", text), name
        assert kind.partition("/")[0] in {"text", "image"}
    linked = re.findall(r"/page/([\w.-]+)", "".join(content.decode() for content, _, _ in page.values()))
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
def test_two_recipes_stand_side_by_side_and_history_keeps_both(page: Page) -> None:
    choose(page, "selfask")
    page.get_by_label("Compare with").select_option("bm25")
    ask(page, QUESTION)
    page.locator(".answer").nth(1).wait_for()
    left, right = (page.locator(".run").nth(place).bounding_box() for place in (0, 1))
    assert left is not None
    assert right is not None
    assert right["x"] > left["x"] + left["width"]
    page.get_by_role("link", name="History").click()
    page.get_by_role("button", name=re.compile(QUESTION[:30])).click()
    page.locator(".run h3").nth(1).wait_for()
    assert page.locator(".run h3").all_inner_texts() == ["selfask", "bm25"]
    page.get_by_role("link", name="History").click()
    page.get_by_role("button", name="Forget all").click()
    page.get_by_text("No questions yet.").wait_for()


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
    page.get_by_role("button", name="Really remove Lindeth").click()
    page.get_by_role("button", name=re.compile("remove Lindeth", re.IGNORECASE)).wait_for(state="detached")
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
