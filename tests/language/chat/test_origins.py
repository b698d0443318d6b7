"""Replies are forgotten with the documents whose words their prompts held, over any number of hops."""

from __future__ import annotations

from pathlib import Path
from threading import Thread

from fakeai.brains import by_task
from fakeai.clients import replies_in
from hoptrail.language.chat.performer import RECENT, RecentTexts
from hoptrail.language.tasks import Assess, Complete, Decompose, Finding, Integrate, Language, Read
from hoptrail.types import Unit
from language_chat import ANSWER, QUESTION, Speaking

FOUND = Finding(QUESTION, QUESTION, "the Grey Hills")
COMPLETED = "How high are the Grey Hills?"
BRAIN = by_task(
    {
        "answer": ANSWER,
        "complete": {"question": COMPLETED},
        "decompose_next": {"questions": ["How far is that range from the sea?"]},
        "integrate": {"reasoning": "Found.", "answer": "900 metres", "confidence": 0.9},
        "assess": {"missing": "the height", "enough": "no"},
    }
)


def kept(folder: Path) -> list[str]:
    return sorted(stored.task for stored in replies_in(folder).stored())


def forget(folder: Path, unit: Unit) -> None:
    replies_in(folder).forget([unit.document])


def hop(language: Language, isk: Unit) -> None:
    assert language.perform(Read(QUESTION, (isk,))).value.answer == FOUND.answer


def test_tasks_that_only_hold_findings_go_with_the_document(speaking: Speaking, isk: Unit, tmp_path: Path) -> None:
    language = speaking(BRAIN)
    hop(language, isk)
    language.perform(Decompose("How high?", (FOUND,), one_at_a_time=True))
    language.perform(Complete("How high are they?", (FOUND,)))
    language.perform(Integrate("How high?", (FOUND,)))
    assert kept(tmp_path) == ["answer", "complete", "decompose", "integrate"]
    forget(tmp_path, isk)
    assert kept(tmp_path) == []


def test_words_are_followed_through_questions_into_other_pages(
    speaking: Speaking, isk: Unit, wrenmouth: Unit, tmp_path: Path
) -> None:
    """The completed question names the hills, the one that was decomposed does not; both were made from the page."""
    language = speaking(BRAIN)
    hop(language, isk)
    completed = language.perform(Complete("How high are they?", (FOUND,))).value
    language.perform(Read(completed, (wrenmouth,)))
    (further,) = language.perform(Decompose("How far?", (FOUND,), one_at_a_time=True)).value.questions
    assert "Grey" not in further
    language.perform(Assess(further, (wrenmouth,)))
    assert kept(tmp_path) == ["answer", "answer", "assess", "complete", "decompose"]
    forget(tmp_path, isk)
    assert kept(tmp_path) == []


def test_what_never_saw_the_page_stays(speaking: Speaking, isk: Unit, wrenmouth: Unit, tmp_path: Path) -> None:
    language = speaking(BRAIN)
    language.perform(Decompose("How high?", (Finding("a", "a", None),), one_at_a_time=True))
    hop(language, isk)
    language.perform(Read("Is it deep?", (wrenmouth,)))
    forget(tmp_path, isk)
    assert kept(tmp_path) == ["answer", "decompose"]


def test_remembered_replies_are_followed_as_well(speaking: Speaking, isk: Unit, tmp_path: Path) -> None:
    """A run that was killed after its first hop goes on in another process."""
    hop(speaking(BRAIN), isk)
    language = speaking(BRAIN)
    hop(language, isk)
    language.perform(Complete("How high are they?", (FOUND,)))
    forget(tmp_path, isk)
    assert kept(tmp_path) == []


def test_words_are_found_whole_in_any_case_and_a_bare_yes_is_no_trace() -> None:
    origins = RecentTexts()
    origins.note(["Isk", "yes", ""], ("d1",))
    origins.note(["東京"], ("d2", "d1"))
    origins.note(["nothing"], ())
    assert origins.of(["which way does the ISK flow?"]) == ("d1",)
    assert origins.of(["what is an isksome river? yes", "nothing"]) == ()
    assert origins.of(["東京は", "the isk"]) == ("d1", "d2")


def test_it_holds_a_bounded_number_of_texts_from_many_threads() -> None:
    origins = RecentTexts()

    def note(number: int) -> None:
        for at in range(RECENT // 2):
            origins.note([f"word{number}x{at}"], (f"d{number}",))
            if at % 500 == 0:
                origins.of(["word"])

    threads = [Thread(target=note, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(origins._recent) == RECENT
