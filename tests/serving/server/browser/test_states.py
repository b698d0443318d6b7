"""Every state of the page, wide, dark, small and enlarged: checked by axe, and saved as a screenshot where a folder is named."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hoptrail.index.settings import ServerLimits
from hoptrail.serving.server.app import create_app
from serving.server.browser.opening import SECONDS, PageLog, answer_from_server, drop, look, with_browser
from serving.server.browser.states import MAIL, Citations, answers, make_folder
from serving.server.listening import listening
from serving.server.served import workspace

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [with_browser, pytest.mark.timeout(600)]  # a busy machine takes its time

JOB: dict[str, Any] = {
    "id": "j1",
    "kind": "add",
    "state": "indexing",
    "progress": {"what": "encoding", "done": 120, "total": 400},
    "error": None,
    "items": [
        {
            "id": f"n{number}",
            "name": f"file-{number}.pdf",
            "state": state,
            "reason": reason,
            "documents": [],
            "notes": [],
        }
        for number, (state, reason) in enumerate(
            [("done", ""), ("indexing", ""), ("waiting", ""), ("failed", "it is encrypted")]
        )
    ],
}
KINDS = [
    "short",
    "row",
    "unsure",
    "yes-no",
    "list",
    "steps",
    "passage",
    "several hops",
    "not settled",
    "guessed",
    "step failed",
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("states")


@pytest.fixture(scope="module")
def citations(home: Path) -> Citations:
    make_folder(home / "folder")
    served = workspace("main", home / "index")
    served.index.add([home / "folder"])
    return Citations(served.index)


@pytest.fixture(scope="module")
def address(citations: Citations, home: Path) -> Iterator[str]:
    """A server without keys over the folder, and an empty workspace."""
    served = [workspace("main", citations.index.folder), workspace("empty", home / "empty")]
    with listening(create_app(served, limits=ServerLimits(stop_seconds=2), warm=False)) as where:
        yield where.replace("127.0.0.1", "localhost")


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    yield from shown(browser, address)


def shown(browser: Browser, address: str, **how: Any) -> Iterator[Page]:
    context = browser.new_context(**{"viewport": {"width": 1100, "height": 800}, "reduced_motion": "reduce", **how})
    page = context.new_page()
    page.set_default_timeout(SECONDS * 1000)
    complaints = PageLog(page)
    page.route(
        "**/api/suggestions*", lambda route: route.fulfill(json={"questions": ["Who is the skipper of the Gannet?"]})
    )
    page.goto(address)
    page.get_by_role("button", name="Who is the skipper of the Gannet?").wait_for()
    yield page
    complaints.check(address)
    context.close()


def answered(page: Page, citations: Citations, kind: str) -> dict[str, Any]:
    answer = answers(citations)[kind]
    page.unroute("**/api/ask*")
    answer_from_server(page, answer)
    page.get_by_label("Your question").fill(answer["question"])
    page.get_by_label("Your question").press("Enter")
    page.locator(".turn", has=page.get_by_role("heading", name=answer["question"])).locator(".answer").wait_for()
    return answer


@pytest.fixture(scope="module")
def asking(browser: Browser, address: str) -> Iterator[Page]:
    """One page for question after question."""
    yield from shown(browser, address)


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_of_each_kind(asking: Page, citations: Citations, kind: str) -> None:
    page = asking
    answer = answered(page, citations, kind)
    look(page, f"answer {kind}")
    shown_text = page.locator(".answer").inner_text()
    assert all(item in shown_text for item in answer["items"] or filter(None, [answer["answer"]]))
    assert page.locator(".steps[open]").count() == 0
    assert page.locator(".picture").count() == (kind == "several hops")
    listed = kind in {"list", "steps"}
    assert page.locator(".settling .quote").count() == (bool(answer["evidence"]) and not listed)
    assert page.locator(".found .citation").count() == (len(answer["items"]) if listed else 0)
    assert page.locator(".closest li").count() == len(answer["closest"])
    assert page.locator(".follow").is_visible(), "also where a question is not settled, one can go on from it"
    label = {"not settled": "no answer", "guessed": "a guess, not an answer", "step failed": "no answer"}
    assert page.locator(".answer .label").inner_text().lower() == label.get(kind, "answer")
    certain = {
        "unsure": "Unsure: read",
        "several hops": "Likely, not certain",
        "not settled": "Not settled: no sentence",
        "guessed": "Not settled: no sentence",
        "step failed": "A step failed",
    }
    assert page.locator(".certainty").inner_text().startswith(certain.get(kind, "Sure: the documents say so."))
    if kind == "guessed":
        assert page.locator(".answer .text").inner_text() == "Perhaps: Petra Hollis"
        assert page.locator(".closest mark").all_inner_texts() == ["Petra Hollis"]
        assert page.locator(".closest li", has_text="the guess is from here").count() == 1
        assert "the guess is from here" in page.locator(".closest li").first.inner_text()


def test_nothing_is_there_yet(page: Page) -> None:
    look(page, "ready")
    page.locator("#workspace").select_option("empty")
    page.wait_for_url(re.compile("#~empty/ask"))
    page.get_by_role("heading", name="Begin with your documents").wait_for()
    assert page.get_by_label("Your question").is_hidden()
    look(page, "empty")


def test_work_under_way_says_what_can_be_asked_already(page: Page) -> None:
    page.route("**/api/jobs*", lambda route: route.fulfill(json={"jobs": [{**JOB, "counts": {"done": 1}}]}))
    page.route("**/api/jobs/j1*", lambda route: route.fulfill(json=JOB))
    page.reload()
    page.get_by_text("Indexing 2 of 4").wait_for()
    assert "encoding, 120 of 400 · 1 document can be asked about already" in page.locator(".job-head").inner_text()
    look(page, "indexing")


def test_what_was_not_read_stays_until_it_is_put_away(page: Page) -> None:
    page.get_by_role("link", name="Documents").click()
    drop(page, {"tern.txt": b"The Tern is a boat.", "picture.bmp": b"BM\x00\x01\x00"})
    page.reload()
    page.locator(".items .failed").wait_for()
    assert page.locator(".items li").first.inner_text().startswith("picture.bmp")
    look(page, "failed files")
    page.get_by_role("button", name="Dismiss this message").click()
    page.reload()
    page.locator(".documents li").first.wait_for()
    assert page.locator(".job:visible").count() == 0


def test_a_served_folder_says_how_far_it_is_and_what_was_not_read(page: Page, citations: Citations) -> None:
    running = {"what": "encoding", "done": 120, "total": 400, "share": 0.3, "seconds_left": 190.0}
    idle = {"what": "", "done": 0, "total": 0, "share": None, "seconds_left": None}
    counts = {"documents": 9, "searchable": 4, "passages": 40, "encoded": 12, "goes_on": True}
    unread = {
        "total": 101,
        "left_out": 2,
        "files": [
            {"file": f"scan-{number}.pdf", "reason": "It is encrypted.", "left_out": False} for number in range(100)
        ],
    }
    state = {"progress": running, "indexing": counts, "folder": {"unread": {"total": 0, "left_out": 0, "files": []}}}
    shown = page.request.get(page.url.partition("#")[0] + "api/show").json()
    page.route("**/api/show*", lambda route: route.fulfill(json={**shown, **state}))
    page.route("**/api/jobs*", lambda route: route.fulfill(json={"jobs": []}))
    page.reload()
    page.get_by_text("Indexing your folder").wait_for()
    told = "encoding, 120 of 400 · about 3 minutes left · 4 of 9 documents can be asked about already"
    assert told in page.locator(".job-head").inner_text()
    look(page, "folder being indexed")
    state = {"progress": idle, "folder": {"unread": unread}}
    page.get_by_text("101 files of your folder could not be read, 2 left out").wait_for()
    page.get_by_text("Each file").click()
    assert page.locator(".items li").first.inner_text().startswith("scan-0.pdf")
    page.get_by_text("and 3 others").wait_for()
    look(page, "folder with unread files")
    answered(page, citations, "short")
    assert page.locator(".job:visible").count() == 0, "nothing stands between question and answer"
    page.get_by_role("link", name="Documents").click()
    page.get_by_role("button", name="Dismiss this message").click()
    page.get_by_role("link", name="Ask", exact=True).click()
    page.reload()
    page.get_by_role("button", name="Who is the skipper of the Gannet?").wait_for()
    assert page.locator(".job:visible").count() == 0


@pytest.mark.parametrize(
    ("title", "cells"),
    [
        ("The ferry", ["month", "sailings", "May", "62", "June", "60"]),
        ("Oil in the bilge", ["From", "Ewan <ewan@example.org>", "To"]),
        ("boats", ["boat", "year", "length", "Gannet", "1934", "19 m"]),
        ("Boiler quote", []),
    ],
)
def test_a_document_of_each_form_is_rendered(asking: Page, title: str, cells: list[str]) -> None:
    page = asking
    page.get_by_role("link", name="Documents").click()
    page.get_by_role("link", name=re.compile(f"^{title}")).click()
    page.locator("#reader-text > *").nth(1 if title == "Boiler quote" else 0).wait_for()
    page.locator("#reader-from button").wait_for()
    assert page.locator("#reader-text").locator("th, td").all_inner_texts()[: len(cells)] == cells
    if title == "The ferry":
        assert page.locator("#reader-text ol li").all_inner_texts()[0] == "Open the sea cocks."
        assert page.locator("#reader-text blockquote").count() == page.locator("#reader-text pre").count() == 1
    if title == "Boiler quote":
        assert page.locator("#reader-text .place").all_inner_texts() == ["page 1", "page 2"]
    look(page, f"document {title}")
    if title == "Oil in the bilge":
        with page.expect_download() as original:
            page.get_by_role("button", name="Save the original").click()
        assert original.value.suggested_filename == "oil.eml"
        assert Path(original.value.path()).read_bytes() == MAIL
    page.keyboard.press("Escape")
    page.wait_for_url(re.compile("documents$"))
    page.get_by_role("link", name="Ask", exact=True).click()


def test_a_cited_row_is_shown_with_its_headers(page: Page, citations: Citations) -> None:
    answered(page, citations, "row")
    quote = page.locator(".settling .quote")
    quote.get_by_text("row 2").wait_for()
    assert quote.locator(".quoted").inner_text() == "boat: Gannet; year: 1934; length: 19 m"


def test_a_cited_statement_stands_marked_in_its_place(page: Page, citations: Citations) -> None:
    answered(page, citations, "several hops")
    page.locator(".citation").nth(1).click()
    assert page.locator("#reader mark.here").inner_text() == "The boiler costs 6,150 pounds."
    assert "quote.pdf · page 2" in page.locator("#reader-from").inner_text()
    page.get_by_alt_text("Page 2 of 2").wait_for()
    sheet, box = page.locator(".sheet img").bounding_box(), page.locator(".sheet .box").bounding_box()
    assert sheet
    assert box
    assert sheet["x"] < box["x"] < box["x"] + box["width"] < sheet["x"] + sheet["width"]
    page.get_by_role("button", name="Page before").click()
    page.get_by_alt_text("Page 1 of 2").wait_for()
    assert page.locator(".sheet .box").count() == 0, "the sentence is on the other page"
    look(page, "cited in a PDF")
    with page.context.expect_page() as original:
        page.get_by_role("button", name="Open the original").click()
    assert original.value.url.startswith("blob:")
    assert original.value.url.endswith("#page=2")


def test_what_goes_wrong_is_said(page: Page) -> None:
    fault = {"code": "internal", "message": "The server failed.", "what_to_do": "Its log says more: `hoptrail verify`."}
    page.route("**/api/ask*", lambda route: route.fulfill(status=500, json={"error": fault}))
    page.get_by_label("Your question").fill("Who?")
    page.get_by_label("Your question").press("Enter")
    page.get_by_role("alert").filter(has_text="The server failed.").wait_for()
    assert page.get_by_role("alert").locator("code").inner_text() == "hoptrail verify"
    look(page, "error")
    page.route("**/api/show*", lambda route: route.abort())
    page.reload()
    page.get_by_role("button", name="Try again").wait_for()
    look(page, "server away")


def test_what_else_can_be_opened(page: Page, citations: Citations) -> None:
    page.locator(".options > summary").click()
    page.locator(".recipes summary").click()
    page.get_by_role("button", name="what would hipporag take?").click()
    page.get_by_text("No model calls, and time").wait_for()
    look(page, "recipes")
    answered(page, citations, "short")
    page.get_by_role("link", name="Documents").click()
    page.get_by_label("Select boats").check()
    look(page, "documents selected")
    page.get_by_role("button", name="Ask only these").click()
    assert page.locator(".scope").inner_text().startswith("Only boats")
    look(page, "chosen documents")
    page.get_by_role("link", name="Settings").click()
    page.get_by_text("None is set").wait_for()
    look(page, "settings")
    told = page.request.get(page.url.partition("#")[0] + "api/recipes").json()
    told |= {"languages": ["chat", "offline"], "model": "qwen3"}
    page.route("**/api/recipes*", lambda route: route.fulfill(json=told))
    page.reload()
    assert page.get_by_label("qwen3").is_checked()
    page.get_by_label("None: quotes").check()
    page.get_by_role("link", name="Ask", exact=True).click()
    page.get_by_label("Your question").fill("Who?")
    with page.expect_request("**/api/ask*") as asked:
        page.get_by_label("Your question").press("Enter")
    sent: Any = asked.value.post_data_json
    assert sent["language"] == "offline"


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("dark", {"color_scheme": "dark"}),
        ("phone", {"viewport": {"width": 360, "height": 640}, "has_touch": True}),
        ("enlarged", {"viewport": {"width": 550, "height": 400}, "device_scale_factor": 2}),
    ],
)
def test_dark_small_and_enlarged(
    browser: Browser, address: str, citations: Citations, name: str, how: dict[str, Any]
) -> None:
    for page in shown(browser, address, **how):
        for kind in ("several hops", "not settled"):
            answered(page, citations, kind)
            look(page, f"{name} {kind}")
            assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), "nothing is cut off"
        page.locator(".closest .sentence").first.click()
        page.locator("#reader mark.here").wait_for()
        look(page, f"{name} document")
        page.keyboard.press("Escape")
        page.get_by_role("link", name="Documents").click()
        page.get_by_label("Select boats").check()
        if name != "dark":
            look(page, f"{name} documents")
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
