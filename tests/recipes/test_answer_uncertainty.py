"""Penalties from sampled answers: sets of one meaning, the figures of paper and released code, what is asked and how often."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hoptrail.errors import ModelUnavailable
from hoptrail.language.listener import Meter
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.scripted import Failure, Output, ScriptedLanguage
from hoptrail.language.tasks import Abstain, Equate, Sample, Samples, Task
from hoptrail_papers.sunar import answer_uncertainty
from hoptrail_papers.sunar.answer_uncertainty import Uncertainty, UncertaintySettings, reference_penalty, semantic_sets
from word_classifier import ENTAILMENT, write_word_classifier
from world import FACTS, make_document, make_passage

UNITS = [make_passage(make_document(title, text)) for title, text in FACTS.items()]
Script = list[tuple[type[Task[Any]], Output]]


def equal(one: str, other: str) -> bool:
    return one == other


def sampled(*answers: str | None) -> tuple[type[Task[Any]], Output]:
    return (Sample, Samples(answers))


def penalties(script: Script, units: int = 2, question: str = "Which?", **settings: Any) -> tuple[list[float], int]:
    """The penalties of a batch, and how many replies of the script were left over."""
    language = ScriptedLanguage(script)
    uncertainty = Uncertainty(question, Meter(language), UncertaintySettings(**settings))
    return uncertainty.penalties(UNITS[:units]), language.remaining


CAMPS = ["a"] * 5 + ["b"] * 5
DISSENTER = ["a"] * 9 + ["b"]
SINGLETONS = [f"{number}" for number in range(10)]
UNITED = ["a"] * 10


@pytest.mark.parametrize(
    ("answers", "paper", "reference"),
    [(UNITED, 1, 2), (CAMPS, 0.5, 0.08), (DISSENTER, 0.5, 2 / 9), (SINGLETONS, 0.1, 2 / 45)],
)
def test_what_a_score_of_one_becomes(answers: Sequence[str], paper: float, reference: float) -> None:
    assert 1 / len(semantic_sets(answers, equal)) == pytest.approx(paper)
    assert 1 / reference_penalty(answers, equal) == pytest.approx(reference)
    for kind, expected in (("sets", paper), ("reference", reference)):
        found, _ = penalties([sampled(*answers)], penalty=kind)
        assert [1 / value for value in found] == pytest.approx([expected] * 2)


def test_sets_grow_by_their_first_member() -> None:
    def next_to(one: str, other: str) -> bool:
        return abs(int(one) - int(other)) <= 1

    assert semantic_sets(["1", "2", "3"], next_to) == [["1", "2"], ["3"]]
    assert semantic_sets([], next_to) == []


def test_equal_words_are_never_asked_about_and_a_pair_once_only() -> None:
    script: Script = [sampled("Oslo", "oslo ", "The Isk", "Isk.", "Oslo"), (Equate, False)]
    assert penalties(script, equivalence="meaning") == ([2, 2], 0)
    script = [sampled("a", "b", "A", "b"), (Equate, False)]
    assert penalties(script, equivalence="meaning", penalty="reference") == ([2, 2], 0)


def test_meaning_is_one_question_a_pair() -> None:
    script: Script = [sampled("in Oslo", "Oslo, Norway", "Bergen"), (Equate, True), (Equate, False)]
    assert penalties(script, equivalence="meaning") == ([2, 2], 0)


WHERE_IN_OSLO = {"where": ENTAILMENT}, {"where": ENTAILMENT, "bergen": [0.0, 0.0, 9.0]}
"""Whatever answers `where` follows, but for `bergen`: without the question before the answers nothing would."""


@pytest.mark.usefixtures("word_classifiers")
def test_a_classifier_must_find_entailment_both_ways(tmp_path: Path) -> None:
    folder = write_word_classifier(tmp_path, *WHERE_IN_OSLO)
    nli: dict[str, Any] = {"equivalence": f"nli:{folder}", "question": "Where?"}
    assert penalties([sampled("Oslo", "the city of Oslo")], **nli) == ([1, 1], 0)
    assert penalties([sampled("Oslo", "Bergen")], **nli) == ([2, 2], 0)
    assert penalties([sampled("Oslo", "the city of Oslo", "Bergen", "oslo")], **nli) == ([2, 2], 0)
    assert penalties([sampled("Oslo", "the city of Oslo")], **(nli | {"question": "Which?"})) == ([2, 2], 0)
    assert penalties([sampled("Oslo", None)], abstentions=True, **nli) == ([2, 2], 0)


@pytest.mark.usefixtures("word_classifiers")
def test_the_papers_classifier_judges_where_it_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Where it is not, rules do, and that is told once."""
    folder = write_word_classifier(tmp_path, *WHERE_IN_OSLO)
    script = [sampled("Oslo", "the city of Oslo")]
    for installed, sets, said in ((folder, 1, 0), (None, 2, 1)):
        monkeypatch.setattr(answer_uncertainty, "installed_entailment", lambda installed=installed: installed)
        answer_uncertainty.installed_classifier.cache_clear()
        for _ in range(2):
            assert penalties(script, equivalence="installed", question="Where?") == ([sets, sets], 0)
        assert [record.levelname for record in caplog.records] == ["WARNING"] * said
    assert "compared by rules, because no entailment classifier" in caplog.text
    answer_uncertainty.installed_classifier.cache_clear()


@pytest.mark.usefixtures("word_classifiers")
def test_a_classifier_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="absent cannot be loaded"):
        penalties([sampled("a", "b")], equivalence=f"nli:{tmp_path / 'absent'}")


@pytest.mark.parametrize("equivalence", ["nli", "nli:", "sense", ""])
def test_an_equivalence_that_there_is_not_is_refused(equivalence: str) -> None:
    with pytest.raises(ValueError, match="or nli:MODEL"):
        UncertaintySettings(equivalence=equivalence)


def test_abstentions_count_only_where_asked_to() -> None:
    """Each as a meaning of its own."""
    assert penalties([sampled("a", None, None)])[0] == [1, 1]
    assert penalties([sampled("a", None, None)], abstentions=True)[0] == [3, 3]
    assert penalties([sampled("a", None)], abstentions=True, equivalence="meaning") == ([2, 2], 0)
    assert penalties([sampled(None)])[0] == penalties([sampled(None)], abstentions=True)[0] == [1, 1]


@pytest.mark.parametrize("abstentions", [True, False])
def test_a_batch_that_says_nothing_is_the_least_certain(abstentions: bool) -> None:
    """Not the most certain one, which ten abstentions of one meaning would be."""
    silent, worded, relevant = [None] * 10, ["Oslo", "Bergen"] * 5, ["Oslo"] * 10
    found = [penalties([sampled(*one)], abstentions=abstentions)[0][0] for one in (silent, worded, relevant)]
    assert found == [10, 2, 1]


def test_the_language_is_asked_for_as_many_samples_as_are_set() -> None:
    seen: list[Task[Any]] = []

    class RecordingLanguage(ScriptedLanguage):
        def perform(self, task: Task[Any]) -> Any:
            seen.append(task)
            return super().perform(task)

    meter = Meter(RecordingLanguage([sampled("a")]))
    Uncertainty("Which?", meter, UncertaintySettings(samples=7)).penalties(UNITS[:3])
    assert seen == [Sample("Which?", tuple(UNITS[:3]), 7, Abstain.NEVER)]


def test_a_failed_sample_is_a_failed_task() -> None:
    from hoptrail.errors import TaskFailed

    with pytest.raises(TaskFailed, match="overloaded"):
        penalties([(Sample, Failure("overloaded"))])


def test_by_rules_the_passages_of_a_batch_are_read_one_by_one() -> None:
    rules = OfflineLanguage()
    question = "Who designed the Tallow Bridge?"
    (bridge,) = (unit for unit in UNITS if unit.title == "Tallow Bridge")
    answers = rules.perform(Sample(question, tuple(UNITS), 10)).value.answers
    assert len(answers) == len(UNITS)
    assert "Orla Finch" in answers
    assert None in answers
    assert rules.perform(Sample(question, (bridge, *UNITS), 1)).value.answers == ("Orla Finch",)
    assert rules.perform(Sample(question, (), 3)).value.answers == (None,)
    assert rules.perform(Equate(question, "the Isk", "Isk")).value
    assert not rules.perform(Equate(question, "Isk", "Arrow")).value


def test_less_than_one_sample_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        UncertaintySettings(samples=0)


@pytest.mark.parametrize(
    ("one", "other", "sets"),
    [
        ("27 February 1884", "February 27, 1884", 1),
        ("340,000", "340000", 1),
        ("the Tallow Bridge", "Tallow Bridge.", 1),
        ("27 February 1884", "28 February 1884", 2),
        ("1884", "27 February 1884", 2),
        ("38", "39", 2),
        ("Bergen", "Bergen town", 2),
    ],
)
def test_rules_know_one_date_or_number_in_two_forms(one: str, other: str, sets: int) -> None:
    assert penalties([sampled(one, other)], equivalence="rules")[0] == [sets, sets]
