"""The tasks of the page, each done by keyboard alone: without a mouse, and with focus only by Tab."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from serving.server.browser.opening import opened, with_browser
from serving.server.served import OPERATOR, QUESTION

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = [with_browser, pytest.mark.timeout(600)]  # a busy machine takes its time

MOST_TABS = 120
Task = Callable[["Page", Path], None]
TASKS: list[Task] = []


def task(one: Task) -> Task:
    TASKS.append(one)
    return one


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def reach(page: Page, wanted: Locator, key: str = "Tab") -> None:
    """Press Tab until an element has the focus."""
    wanted.first.wait_for(state="attached")
    for _ in range(MOST_TABS):
        if wanted.first.evaluate("one => one === document.activeElement"):
            return
        page.keyboard.press(key)
    raise AssertionError(f"{wanted} cannot be reached by {key}")


def button(page: Page, name: str | re.Pattern[str]) -> Locator:
    return page.get_by_role("button", name=name, exact=isinstance(name, str))


def listed(page: Page, title: str) -> Locator:
    """A document or a question in a list."""
    return page.locator("a.title", has_text=re.compile(f"^{title}"))


def use(page: Page, name: str | re.Pattern[str], key: str = "Enter") -> None:
    reach(page, button(page, name))
    press(page, key)


def visit(page: Page, view: str) -> None:
    reach(page, page.get_by_role("link", name=view, exact=True))
    press(page, "Enter")
    page.locator(f'a[aria-current][data-view="{view.lower()}"]').wait_for()


def ask(page: Page, question: str) -> None:
    reach(page, page.get_by_label("Your question"))
    press(page, "ControlOrMeta+A")
    page.keyboard.type(question)
    press(page, "Enter")


def answer(page: Page, wanted: str, turn: int = 0) -> None:
    page.locator(".turn").nth(turn).locator(".answer .text", has_text=wanted).first.wait_for()


def done(page: Page, what: str) -> None:
    page.locator(".job strong", has_text=re.compile(f"^{what}$")).first.wait_for()


def give(page: Page, which: str, files: list[Path] | Path, key_to: str = "Tab") -> None:
    from playwright.sync_api import TimeoutError as TooLate

    reach(page, page.get_by_label(which), key_to)
    for key in ("Enter", "Space") * 6:  # the browser overlooks a key now and then while the page draws
        try:
            with page.expect_file_chooser(timeout=1000) as chooser:
                press(page, key)
        except TooLate:
            continue
        chooser.value.set_files(files)
        return
    raise AssertionError(f"{which} opens no dialogue")


@pytest.fixture(scope="module")
def page(browser: Browser, address: str) -> Iterator[Page]:
    with opened(browser, address, OPERATOR) as shown:
        yield shown


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of documents on the disk."""
    home = tmp_path_factory.mktemp("disk")
    (home / "Petrel.txt").write_text("The petrel is a bird. It nests in Marn.")
    (home / "Marn.txt").write_text("Marn is an island. The river Ode flows through Marn.")
    (home / "torn.pdf").write_text("%PDF-1.7 nothing more")
    (home / "trip" / ".hidden").mkdir(parents=True)
    (home / "trip" / "day.md").write_text("# First day\n\nWe walked to Lindeth.\n")
    (home / "trip" / ".hidden" / "secret.txt").write_text("Nobody reads this.")
    return home


@task
def skip_to_the_content(page: Page, _: Path) -> None:
    page.reload()
    page.locator(".welcome").wait_for()
    page.get_by_label("Your question").wait_for()
    reach(page, page.get_by_role("link", name="Skip to content"), "Shift+Tab")
    press(page, "Enter")
    assert page.locator("main:focus").count() == 1


@task
def choose_a_recipe(page: Page, _: Path) -> None:
    reach(page, page.locator(".options > summary"))
    press(page, "Enter")
    reach(page, page.locator(".recipes summary"))
    press(page, "Enter")
    reach(page, page.locator('input[name="recipe"]:checked'), "Shift+Tab")
    for _press in range(30):
        if page.locator('input[name="recipe"][value="selfask"]:checked').count():
            break
        press(page, "ArrowUp")
    assert page.locator(".options > summary strong").inner_text() == "selfask"


@task
def ask_a_question(page: Page, _: Path) -> None:
    reach(page, page.get_by_label("Your question"), "Shift+Tab")
    page.keyboard.type(QUESTION)
    press(page, "Enter")
    answer(page, "Isk")


@task
def read_the_sentence_behind_the_answer(page: Page, _: Path) -> None:
    reach(page, page.locator(".citation").nth(2))
    press(page, "Enter")
    page.locator("#reader mark.here:focus", has_text="The river Isk flows through Wrenmouth.").wait_for()


@task
def come_back_from_the_document(page: Page, _: Path) -> None:
    press(page, "Escape")
    assert page.locator("#reader").is_hidden()
    assert page.locator(".citation:focus").count() == 1


@task
def see_how_it_was_found(page: Page, _: Path) -> None:
    reach(page, page.locator(".steps summary"))
    press(page, "Enter")
    page.locator(".hop").first.wait_for()


@task
def open_a_document_from_the_picture(page: Page, _: Path) -> None:
    use(page, re.compile("designer, citation 1"))
    page.locator("#reader mark.here", has_text="It was designed by Orla Finch.").wait_for()
    use(page, "Close the document")
    assert page.locator("#reader").is_hidden()


@task
def fold_the_trail_away_and_out_again(page: Page, _: Path) -> None:
    reach(page, page.locator(".steps summary"))
    press(page, "Enter")
    assert page.locator(".hop").first.is_hidden()
    press(page, "Enter")
    assert page.locator(".hop").first.is_visible()


@task
def open_a_document_from_a_hop(page: Page, _: Path) -> None:
    reach(page, page.locator(".hop .quote").nth(1))
    press(page, "Enter")
    page.locator("#reader mark.here", has_text="Orla Finch was born in Wrenmouth.").wait_for()
    press(page, "Escape")


@task
def copy_the_answer(page: Page, _: Path) -> None:
    reach(page, button(page, "Copy as Markdown"), "Shift+Tab")
    press(page, "Enter")
    button(page, "Copied").wait_for()
    assert "> The river Isk flows through Wrenmouth." in page.evaluate("() => navigator.clipboard.readText()")


@task
def save_the_answer(page: Page, _: Path) -> None:
    reach(page, button(page, "Save as Markdown"))
    with page.expect_download() as saved:
        press(page, "Enter")
    assert Path(saved.value.path()).read_text(encoding="utf-8").startswith(f"# {QUESTION}\n\n**Isk**")


@task
def follow_up(page: Page, _: Path) -> None:
    reach(page, page.get_by_label("A follow-up question"))
    page.keyboard.type("And where does it rise?")
    press(page, "Enter")
    page.get_by_text("Asked as: Where does Isk rise?").wait_for()
    page.locator(".turn").nth(1).locator(".answer").wait_for()
    assert page.get_by_role("heading", name="And where does it rise?").count() == 1


@task
def find_all_as_it_was_after_a_reload(page: Page, _: Path) -> None:
    page.reload()
    answer(page, "Isk")
    assert page.locator(".turn").count() == 2


@task
def go_back_to_the_answer_before_and_on_again(page: Page, _: Path) -> None:
    last = page.url
    page.go_back()
    page.wait_for_url(re.compile("answer/"))
    page.locator(".turn").nth(1).wait_for(state="detached")
    answer(page, "Isk")
    assert page.url != last
    page.go_forward()
    page.locator(".turn").nth(1).locator(".answer").wait_for()
    assert page.url == last


@task
def correct_the_question(page: Page, _: Path) -> None:
    reach(page, page.get_by_label("Your question"))
    press(page, "ControlOrMeta+A")
    page.keyboard.type("Where was Orla Finch borm?")
    press(page, "ArrowLeft", "Backspace", "n")
    assert page.get_by_label("Your question").input_value() == "Where was Orla Finch born?"
    press(page, "Enter")
    answer(page, "Wrenmouth")


@task
def write_in_two_lines(page: Page, _: Path) -> None:
    ask_field = page.get_by_label("Your question")
    reach(page, ask_field)
    press(page, "ControlOrMeta+A")
    page.keyboard.type("Who designed")
    press(page, "Shift+Enter")
    page.keyboard.type("the Tallow Bridge?")
    assert ask_field.input_value() == "Who designed\nthe Tallow Bridge?"
    press(page, "Enter")
    answer(page, "Orla Finch")


@task
def stop_a_question(page: Page, _: Path) -> None:
    page.route("**/api/ask*", lambda _route: None)  # it never answers
    ask(page, "Who?")
    use(page, "Stop")
    page.get_by_text("Stopped.", exact=True).wait_for()
    page.unroute("**/api/ask*")


@task
def compare_two_recipes(page: Page, _: Path) -> None:
    reach(page, page.locator(".options > summary"))
    press(page, "Enter")
    reach(page, page.get_by_label("Compare with"))
    page.keyboard.type("bm25")
    press(page, "Tab", "Enter")
    page.locator(".answer").nth(1).wait_for()
    assert page.locator(".run h3").all_inner_texts() == ["selfask", "bm25"]
    left, right = (page.locator(".run").nth(place).bounding_box() for place in (0, 1))
    assert left
    assert right
    assert right["x"] > left["x"] + left["width"], "they stand side by side"


@task
def go_back_to_one_recipe(page: Page, _: Path) -> None:
    reach(page, page.locator(".options > summary"), "Shift+Tab")
    press(page, "Enter")
    reach(page, page.get_by_label("Compare with"))
    press(page, "Home")
    assert page.get_by_label("Compare with").input_value() == ""


@task
def learn_what_a_recipe_would_take_and_build_it(page: Page, _: Path) -> None:
    reach(page, button(page, "Not built here: what would hipporag take?"), "Shift+Tab")
    press(page, "Enter")
    page.get_by_text("No model calls").wait_for()
    assert page.locator(":focus").inner_text() == "Build"
    press(page, "Enter")
    done(page, "Built for hipporag")
    page.locator('input[name="recipe"][value="hipporag"]').wait_for()


@task
def add_a_file(page: Page, folder: Path) -> None:
    visit(page, "Documents")
    page.locator("h1:focus").wait_for()
    give(page, "choose files", [folder / "Petrel.txt"])
    done(page, "1 document ready")
    listed(page, "Petrel").wait_for()


@task
def learn_why_a_file_was_not_read(page: Page, folder: Path) -> None:
    give(page, "choose files", [folder / "Marn.txt", folder / "torn.pdf"])
    done(page, "1 document ready, 1 not read")
    assert page.locator(".items .failed").inner_text().startswith("torn.pdf")
    assert len(page.locator(".items .failed .fine").inner_text()) > len("no")


@task
def put_messages_away(page: Page, _: Path) -> None:
    while left := page.locator(".job:visible").count():
        use(page, "Dismiss this message")
        assert page.locator(".job:visible").count() == left - 1


@task
def add_a_folder(page: Page, folder: Path) -> None:
    give(page, "choose a folder", folder / "trip", "Shift+Tab")
    listed(page, "First day").wait_for()
    assert "trip/" in listed(page, "First day").inner_text()
    assert listed(page, "secret").count() == 0


@task
def find_a_document_by_its_title(page: Page, _: Path) -> None:
    reach(page, page.get_by_label("Filter documents by title"))
    page.keyboard.type("first")
    button(page, re.compile("^Remove Petrel")).wait_for(state="detached")
    assert page.locator(".documents li").count() == 1


@task
def read_a_document(page: Page, _: Path) -> None:
    reach(page, listed(page, "First day"))
    press(page, "Enter")
    page.locator("#reader-text p", has_text="We walked to Lindeth.").wait_for()
    press(page, "Escape")
    reach(page, page.get_by_label("Filter documents by title"), "Shift+Tab")
    press(page, "ControlOrMeta+A", "Backspace")
    listed(page, "Petrel").wait_for()


@task
def sort_documents_by_folder(page: Page, _: Path) -> None:
    last = page.locator(".documents li").last.locator(".title")
    reach(page, page.get_by_label("Sort by"))
    page.keyboard.type("Folder")
    last.filter(has_text="First day").wait_for()
    page.wait_for_timeout(1200)  # else what is typed goes on from the name before
    page.keyboard.type("Title")
    last.filter(has_text="First day").wait_for(state="detached")


@task
def ask_chosen_documents_only(page: Page, _: Path) -> None:
    reach(page, page.get_by_label("Select Petrel"))
    press(page, "Space")
    reach(page, page.get_by_label("Select Marn"), "Shift+Tab")
    press(page, "Space")
    reach(page, button(page, "Ask only these"), "Shift+Tab")
    press(page, "Enter")
    page.locator(".scope", has_text="Only 2 documents: Petrel, Marn").wait_for()
    ask(page, "Which river flows through Marn?")
    page.locator(".turn .answer", has_text="Ode").wait_for()  # an answer or a guess


@task
def see_that_the_others_are_not_asked(page: Page, _: Path) -> None:
    ask(page, "Which river flows through Wrenmouth?")
    page.locator(".turn h2", has_text="Wrenmouth").wait_for()
    page.locator(".answer").wait_for()
    assert "Isk" not in page.locator(".answer").inner_text()


@task
def ask_all_documents_again(page: Page, _: Path) -> None:
    use(page, "Ask all documents")
    assert page.locator(".scope p").count() == 0
    assert page.locator("#question:focus").count() == 1
    press(page, "Enter")
    answer(page, "Isk")


@task
def find_an_earlier_question(page: Page, _: Path) -> None:
    visit(page, "History")
    reach(page, page.get_by_label("Search the history"))
    page.keyboard.type("designed orla")
    page.locator(".history li").nth(1).wait_for(state="detached")
    reach(page, listed(page, "Who designed"))
    press(page, "Enter")
    answer(page, "Orla Finch")


@task
def rename_what_was_asked(page: Page, _: Path) -> None:
    visit(page, "History")
    use(page, re.compile("^Rename Who designed"))
    page.get_by_label("New name").wait_for()
    page.keyboard.type("The bridge")
    press(page, "Enter")
    listed(page, "The bridge").wait_for()


@task
def save_all_that_was_asked(page: Page, _: Path) -> None:
    reach(page, button(page, "Save all as Markdown"))
    with page.expect_download() as saved:
        press(page, "Enter")
    text = Path(saved.value.path()).read_text(encoding="utf-8")
    assert "Wrenmouth, Wrenmouth.txt, characters" in text
    assert "How this was found:" in text


@task
def remove_a_document(page: Page, _: Path) -> None:
    visit(page, "Documents")
    use(page, "Remove Lindeth")
    press(page, "Enter")
    button(page, re.compile("remove Lindeth", re.IGNORECASE)).wait_for(state="detached")


@task
def remove_several_documents(page: Page, _: Path) -> None:
    page.get_by_text("2 selected").wait_for()  # still, since they were asked alone
    reach(page, page.get_by_label("Select Dunmere"))
    press(page, "Space")
    reach(page, button(page, "Remove these"), "Shift+Tab")
    press(page, "Enter")
    button(page, "Really remove these").wait_for()
    press(page, "Enter")
    done(page, "3 documents removed")
    for title in ("Petrel", "Marn", "Dunmere"):
        listed(page, title).wait_for(state="detached")


@task
def change_to_dark(page: Page, _: Path) -> None:
    press(page, "Escape")
    visit(page, "Settings")
    before = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    reach(page, page.locator('input[name="hoptrail-theme"]:checked'))
    press(page, "ArrowUp")
    assert page.evaluate("() => getComputedStyle(document.body).backgroundColor") != before
    assert "to the documents" in page.locator(".keys").inner_text()


@task
def go_by_single_keys(page: Page, _: Path) -> None:
    page.evaluate("() => document.activeElement.blur()")
    press(page, "d")
    page.locator("h1:focus", has_text="Documents").wait_for()
    press(page, "/")
    page.locator("#question:focus").wait_for()


@task
def take_a_suggestion(page: Page, _: Path) -> None:
    page.route("**/api/suggestions*", lambda route: route.fulfill(json={"questions": [QUESTION]}))
    page.goto(page.url.partition("#")[0])
    reach(page, page.locator(".suggestions button"))
    suggested = page.locator(".suggestions button:focus").inner_text()
    press(page, "Enter")
    page.locator(".turn h2", has_text=suggested).wait_for()
    page.locator(".answer:not(.none)").wait_for()


@task
def forget_what_was_asked(page: Page, _: Path) -> None:
    visit(page, "History")
    use(page, "Erase all")
    press(page, "Enter")
    page.get_by_text("No questions yet.").wait_for()


@task
def change_the_workspace(page: Page, _: Path) -> None:
    choice = page.get_by_role("combobox", name="Workspace")
    reach(page, choice, "Shift+Tab")
    page.keyboard.type("south")
    page.wait_for_url(re.compile("#~south/"))
    visit(page, "Documents")
    page.get_by_text("No documents yet.").or_(listed(page, "Vault")).wait_for()


@task
def use_another_key(page: Page, _: Path) -> None:
    visit(page, "Settings")
    use(page, "Change key")
    page.get_by_label("Key", exact=True).wait_for()
    page.keyboard.type("wrong-key-0123456789")
    press(page, "Enter")
    page.get_by_text("This key opens nothing here.").wait_for()
    page.keyboard.type(OPERATOR)
    press(page, "Enter")
    page.locator("#key").wait_for(state="hidden")
    page.locator("h1", has_text="Settings").wait_for()


@pytest.mark.parametrize("tried", TASKS, ids=lambda one: one.__name__.replace("_", " "))
def test_by_keyboard(tried: Task, page: Page, folder: Path) -> None:
    tried(page, folder)


def test_there_are_thirty_tasks_at_least() -> None:
    assert len(TASKS) >= 30
