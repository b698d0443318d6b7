"""Plans followed hop by hop: several ways are kept, and the likeliest whole way wins."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hoptrail.language.offline.hops import by_hops, compare, likeliest_way
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.language.offline.statement_reading import StatementReader
from hoptrail.language.questions.plans import make_plan
from hoptrail.language.tasks import Reading
from hoptrail.types import Unit
from language.offline.scripted_reader import ScriptedReader

MakeUnit = Callable[[str, str], Unit]
SETTINGS = OfflineSettings()
QUESTION = "Where was the designer of the Gull born?"
FIRST, SECOND = "Who is the designer of the Gull?", "Where was {} born?"


def followed(question: str, units: tuple[Unit, ...], script: Mapping[str, Mapping[str, float]]) -> Reading:
    plan = make_plan(question, SETTINGS.most_hops, SETTINGS.question_characters)
    reader = StatementReader(ScriptedReader(script), None)
    if plan.comparison is not None:
        return compare(question, plan.comparison, units, reader, reader)
    return by_hops(plan, likeliest_way(question, plan, units, reader))


def test_a_first_answer_that_leads_nowhere_is_given_up(passage: MakeUnit) -> None:
    units = (
        passage("The Gull", "The Gull was built by Bo Marsh to the drawings of Ida Berg."),
        passage("Ida Berg", "Ida Berg was born in Dunmere."),
    )
    script = {
        FIRST: {"Bo Marsh": 2.0, "Ida Berg": 1.5},
        SECOND.format("Bo Marsh"): {"Dunmere": -6.0},
        SECOND.format("Ida Berg"): {"Dunmere": 5.0},
    }
    found = followed(QUESTION, units, script)
    assert [(step.question, step.answer) for step in found.steps] == [
        (FIRST, "Ida Berg"),
        (SECOND.format("Ida Berg"), "Dunmere"),
    ]
    assert found.answer == "Dunmere"


def test_one_doubtful_hop_makes_an_answer_doubtful(passage: MakeUnit) -> None:
    units = (
        passage("The Gull", "The Gull was drawn by Ida Berg."),
        passage("Ida Berg", "Ida Berg was born in Dunmere."),
    )

    def confidence(first: float, second: float) -> float:
        return followed(
            QUESTION, units, {FIRST: {"Ida Berg": first}, SECOND.format("Ida Berg"): {"Dunmere": second}}
        ).confidence

    assert confidence(6.0, 6.0) > max(confidence(-2.0, 6.0), confidence(6.0, -2.0))
    assert min(confidence(-2.0, 6.0), confidence(6.0, -2.0)) > confidence(-2.0, -2.0)


def test_a_plan_that_breaks_off_concludes_nothing(passage: MakeUnit) -> None:
    units = (passage("The Gull", "The Gull was drawn by Ida Berg."),)
    found = followed(QUESTION, units, {FIRST: {"Ida Berg": 3.0}})
    assert [step.answer for step in found.steps] == ["Ida Berg"]
    assert found.answer is None


def test_what_the_question_names_is_no_answer(passage: MakeUnit) -> None:
    units = (passage("The Gull", "The Gull was drawn by Ida Berg."),)
    found = followed(QUESTION, units, {FIRST: {"The Gull": 9.0, "Ida Berg": 1.0}})
    assert [step.answer for step in found.steps] == ["Ida Berg"]


def test_both_sides_of_a_comparison_are_read_and_compared_by_rule(passage: MakeUnit) -> None:
    units = (
        passage("Ida Berg", "Ida Berg was born on 3 May 1850."),
        passage("Bo Marsh", "Bo Marsh was born on 7 June 1862."),
    )
    script = {
        "Who was born later, Ida Berg?": {"3 May 1850": 4.0},
        "Who was born later, Bo Marsh?": {"7 June 1862": 3.0},
    }
    found = followed("Who was born later, Ida Berg or Bo Marsh?", units, script)
    assert found.answer == "Bo Marsh"


def test_one_value_in_one_sentence_is_not_that_of_both_sides(passage: MakeUnit) -> None:
    units = (passage("Two painters", "Of Ida Berg and Bo Marsh one was born in 1850."),)
    script = {"Who was born later, Ida Berg?": {"1850": 4.0}, "Who was born later, Bo Marsh?": {"1850": 4.0}}
    assert followed("Who was born later, Ida Berg or Bo Marsh?", units, script).answer is None
