"""The small tasks: sampling, sameness, and bounds on what is looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from hoptrail.errors import TaskFailed, UsageError
from hoptrail.language.offline.performer import OfflineLanguage, distinct_units, lines_within
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.language.tasks import Abstain, Assess, Decompose, Equate, Finding, Integrate, Read, Sample, Task, Verify
from hoptrail.types import AnswerKind, Unit
from language.offline.scripted_reader import ScriptedReader

MakeUnit = Callable[[str, str], Unit]
DREW = "Who drew the Gull?"


def language(script: Mapping[str, Mapping[str, float]], settings: OfflineSettings | None = None) -> OfflineLanguage:
    return OfflineLanguage(None, settings, ScriptedReader(script))


@pytest.fixture
def pages(passage: MakeUnit) -> tuple[Unit, ...]:
    return (
        passage("The Gull", "The Gull was drawn by Ida Berg."),
        passage("The yard", "The yard says that Bo Marsh drew the Gull."),
        passage("The Tern", "The Tern lies in Dunmere."),
    )


def test_a_sample_is_what_each_piece_answers_alone(pages: tuple[Unit, ...]) -> None:
    drawn = language({DREW: {"Ida Berg": 9.0, "Bo Marsh": 8.0}}).perform(Sample(DREW, pages, 3)).value
    assert drawn.answers == ("Ida Berg", "Bo Marsh", None)


def test_a_sample_of_nothing_answers_nothing() -> None:
    assert language({}).perform(Sample(DREW, (), 4)).value.answers == (None,)


@pytest.mark.parametrize(("one", "other", "same"), [("The Gull.", "the gull", True), ("Ida Berg", "Bo Marsh", False)])
def test_what_has_the_same_words_means_the_same(one: str, other: str, same: bool) -> None:
    assert language({}).perform(Equate(DREW, one, other)).value is same


def test_a_task_of_no_language_is_refused() -> None:
    with pytest.raises(TaskFailed, match="cannot perform Task"):
        language({}).perform(Task())


def test_silence_is_allowed_required_or_forbidden(pages: tuple[Unit, ...]) -> None:
    performer = language({DREW: {"Ida Berg": -6.0}})
    always, never = (
        performer.perform(Read(DREW, pages[:1], abstain)).value for abstain in (Abstain.ALWAYS, Abstain.NEVER)
    )
    assert always.answer is None
    assert never.answer == "Ida Berg"
    assert never.confidence < OfflineSettings().least_confidence


def test_evidence_that_does_not_answer_is_worth_little(pages: tuple[Unit, ...]) -> None:
    performer = language({DREW: {"Ida Berg": 9.0}})
    answered = performer.perform(Assess(DREW, pages[:1])).value
    unanswered = performer.perform(Assess("Who sank the Gull?", pages[:1])).value
    unrelated = performer.perform(Assess("Where do cranes sleep?", pages[2:])).value
    assert unrelated == 0.0 < unanswered <= 0.3 < answered
    assert performer.perform(Verify(DREW, pages[:1], "Ida Berg")).value == answered
    assert performer.perform(Verify(DREW, pages[:1], "Bo Marsh")).value < 0.5


def test_nothing_found_concludes_nothing() -> None:
    assert language({}).perform(Integrate(DREW, ())).value.answer is None


def test_a_yes_or_no_question_has_no_other_answers(pages: tuple[Unit, ...]) -> None:
    question = "Did Ida Berg draw a lighthouse in Dunmere?"
    reading = language({question: {"Dunmere": 9.0}}).perform(Read(question, pages)).value
    assert reading.answer in {"yes", "no", None}
    assert reading.kind is AnswerKind.YES_NO


@pytest.mark.parametrize(
    ("bound", "value", "lines"),
    [
        ("evidence_units", 1, ["The Gull was drawn by Ida Berg.", "It lies in Foss."]),
        ("unit_sentences", 1, ["The Gull was drawn by Ida Berg.", "The Tern is old."]),
        ("unit_characters", 34, ["The Gull was drawn by Ida Berg.", "The Tern is old."]),
    ],
)
def test_evidence_is_read_within_bounds(bound: str, value: int, lines: list[str], passage: MakeUnit) -> None:
    units = (passage("Gull", "The Gull was drawn by Ida Berg. It lies in Foss."), passage("Tern", "The Tern is old."))
    settings = OfflineSettings(**{bound: value})  # type: ignore[arg-type]
    assert [line.text for line in lines_within(units, settings)] == lines
    with pytest.raises(UsageError, match=f"{bound} must be at least 1, not 0"):
        OfflineSettings(**{bound: 0})  # type: ignore[arg-type]


@pytest.mark.parametrize("share", [-0.1, 1.5, float("nan")])
def test_the_least_confidence_is_a_probability(share: float) -> None:
    with pytest.raises(UsageError, match="least_confidence must lie between 0 and 1"):
        OfflineSettings(least_confidence=share)


def test_a_question_beyond_the_bound_is_one_hop() -> None:
    nested = "Which river flows through the town where the designer of the Candlerock Lighthouse was born?"
    hops = [
        len(language({}, OfflineSettings(question_characters=most)).perform(Decompose(nested)).value.questions)
        for most in (len(nested), len(nested) - 1)
    ]
    assert hops == [3, 1]


def test_a_unit_that_is_found_twice_is_read_once(passage: MakeUnit) -> None:
    gull, tern = passage("The Gull (ship)", "It is white."), passage("The Tern", "It is grey.")
    assert distinct_units((gull, tern, gull), OfflineSettings()) == [gull, tern]


def test_a_list_may_be_asked_for_without_a_content_word(passage: MakeUnit) -> None:
    ports = passage("Ports", "It runs on Linux, macOS and FreeBSD.")
    assert language({}).perform(Read("List all of them.", (ports,), Abstain.ALWAYS)).value.answer is None


def test_a_comparison_by_way_of_others_is_asked_in_four_steps(passage: MakeUnit) -> None:
    question = "Which boat has the designer who was born later, the Gull or the Tern?"
    value = "Which boat has the designer who was born later, {}?"
    pages = (
        passage("Ida Berg", "Ida Berg was born on 3 May 1850."),
        passage("Bo Marsh", "Bo Marsh was born on 7 June 1862."),
    )
    performer = language(
        {value.format("Ida Berg"): {"3 May 1850": 4.0}, value.format("Bo Marsh"): {"7 June 1862": 4.0}}
    )
    steps = performer.perform(Decompose(question)).value.questions
    assert steps == (
        "Who is the designer of the Gull?",
        value.format("#1"),
        "Who is the designer of the Tern?",
        value.format("#3"),
    )
    answers: list[str] = []
    for designer, page in zip(("Ida Berg", "Bo Marsh"), pages, strict=True):
        born = performer.perform(Read(value.format(designer), (page,))).value.answer
        assert born is not None
        answers += [designer, born]
    findings = tuple(Finding(step, step, answer) for step, answer in zip(steps, answers, strict=True))
    assert performer.perform(Integrate(question, findings, ())).value.answer == "the Tern"
