"""Comparisons: the question about each side alone, and which side the values make the answer."""

from __future__ import annotations

import pytest

from hoptrail.language.questions.comparisons import Comparison, find_comparison, one_side, one_sided
from hoptrail.models.question_tagger import ComparisonRule

COMPARED = {
    "Which lighthouse was built earlier, Foss Light or Arden Light?": (ComparisonRule.LESS, False),
    "which takes longer, the mill tour or the bread course": (ComparisonRule.MORE, False),
    "Who has been in the club longer, Ida Berg or Bo Marsh?": (ComparisonRule.LESS, False),
    "Which bridge is lower, Tarn Bridge or Ox Bridge?": (ComparisonRule.LESS, False),
    "Which quote was cheaper, Alder or Birch?": (ComparisonRule.LESS, False),
    "the old weir or the sluice, which is higher?": (ComparisonRule.MORE, False),
    "Did Ida Berg pay more than Bo Marsh?": (ComparisonRule.MORE, True),
    "Do Ida Berg and Bo Marsh have the same trade?": (ComparisonRule.SAME, True),
    "Are the van and the trailer both insured with Tern Mutual?": (ComparisonRule.BOTH, True),
}

ONE_SIDED = {
    "Which is older, {the weir} or {the sluice}?": ("Which is older, the weir?", "Which is older, the sluice?"),
    "{Ida} or {Bo}: who joined first": ("Ida: who joined first", "Bo: who joined first"),
    "Is {Gull} longer than {Tern}?": ("Is Gull longer than?", "Is Tern longer than?"),
    "Are {Gull} and {Tern} both red?": ("Are Gull both red?", "Are Tern both red?"),
}


ASKED = {
    ComparisonRule.MORE: "Which has more, Ida Berg or Bo Marsh?",
    ComparisonRule.LESS: "Which has less, Ida Berg or Bo Marsh?",
    ComparisonRule.SAME: "Do Ida Berg and Bo Marsh have the same trade?",
    ComparisonRule.BOTH: "Are Ida Berg and Bo Marsh both painters?",
}


@pytest.mark.parametrize("question", COMPARED)
def test_sides_and_rule_are_those_that_the_question_has(question: str) -> None:
    comparison = find_comparison(question)
    assert comparison is not None
    assert (comparison.rule, comparison.claimed) == COMPARED[question]
    assert all(side in question for side in comparison.sides)


@pytest.mark.parametrize(
    ("question", "sides"),
    [
        (
            "Which film came out first, Foss Light: Ida & Bo in Arden or Tarn?",
            ("Foss Light: Ida & Bo in Arden", "Tarn"),
        ),
        (
            "Which is older, Pit and Pendulum (1913 film) or The Tarn and Foss Story?",
            ("Pit and Pendulum (1913 film)", "The Tarn and Foss Story"),
        ),
        ("Who was born first, Ada Lunt, Bo Marsh or Ida Berg?", ()),
        ("Which is cheaper, the hall, the annexe or the barn?", ()),
    ],
)
def test_names_may_say_and_but_three_things_are_not_two(question: str, sides: tuple[str, ...]) -> None:
    comparison = find_comparison(question)
    assert (comparison.sides if comparison else ()) == sides


@pytest.mark.parametrize(
    "question", ["", "Which is older?", "Who wrote Night Ferry?", "Do you take cards or cash?", "or, or or or?"]
)
def test_what_compares_nothing(question: str) -> None:
    assert find_comparison(question) is None


@pytest.mark.parametrize("marked", ONE_SIDED)
def test_each_side_is_asked_about_alone(marked: str) -> None:
    first, second = marked.index("{"), marked.rindex("{") - 2
    ends = marked.index("}") - 1, marked.rindex("}") - 3
    question, sides = marked.replace("{", "").replace("}", ""), ((first, ends[0]), (second, ends[1]))
    assert tuple(one_sided(question, sides, question[slice(*side)]) for side in sides) == ONE_SIDED[marked]


@pytest.mark.parametrize(
    ("question", "first", "then"),
    [
        (
            "Which song has the composer who was born later, Low Tide or Salt Road?",
            "Who is the composer of Low Tide?",
            "Which song has the composer who was born later, #1?",
        ),
        (
            "Are the mayors of Dunmere and Tarn from the same party?",
            "Who is the mayor of Dunmere?",
            "Are the mayors of #1 from the same party?",
        ),
        (
            "Which book has the press that was founded first, Low Tide or Salt Road?",
            "What is the press of Low Tide?",
            "Which book has the press that was founded first, #1?",
        ),
        ("Which is older, the weir or the sluice?", "Which is older, the weir?", "Which is older, #1?"),
    ],
)
def test_who_has_the_value_is_found_first(question: str, first: str, then: str) -> None:
    comparison = find_comparison(question)
    assert comparison is not None
    assert comparison.searched[:2] == (first, then)
    assert comparison.is_led == (first != comparison.questions[0])


@pytest.mark.parametrize(
    ("question", "side"),
    [
        ("Which song has the composer who was born later, Bo Marsh?", "Bo Marsh"),
        ("Do both the weir have the same height?", "the weir"),
        ("Is the coach already full?", None),
        ("Does the office close earlier on Fridays?", None),
        ("Are the van both insured with Tern Mutual?", None),
        ("Which is older, the weir or the sluice?", None),
    ],
)
def test_what_asks_for_the_value_of_one_side(question: str, side: str | None) -> None:
    assert one_side(question) == side


@pytest.mark.parametrize(
    ("rule", "values", "chosen", "claimed"),
    [
        (ComparisonRule.MORE, ("3 May 1850", "4 May 1850"), "Bo Marsh", "no"),
        (ComparisonRule.MORE, ("May 1850", "4 May 1850"), None, None),
        (ComparisonRule.MORE, ("1850", "in spring"), None, None),
        (ComparisonRule.LESS, ("16 - 22 Mar", "2021-11-01"), None, None),
        (ComparisonRule.LESS, ("44 BC", "12 BC"), "Ida Berg", "yes"),
        (ComparisonRule.MORE, ("1,200", "four hundred"), "Ida Berg", "yes"),
        (ComparisonRule.LESS, ("1,200", "four hundred"), "Bo Marsh", "no"),
        (ComparisonRule.MORE, ("12", "twelve"), None, "no"),
        (ComparisonRule.MORE, ("2 kg", "1.5 kg"), "Ida Berg", "yes"),
        (ComparisonRule.MORE, ("1850 – 1900", "3 May 1860 to 9 June 1921"), "Bo Marsh", "no"),
        (ComparisonRule.SAME, ("weaver", "a weaver"), "yes", "yes"),
        (ComparisonRule.SAME, ("Danish", "Norway"), "no", "no"),
        (ComparisonRule.BOTH, ("yes", "yes"), "yes", "yes"),
        (ComparisonRule.BOTH, ("yes", "no"), "no", "no"),
    ],
)
def test_the_values_decide(
    rule: ComparisonRule, values: tuple[str, str], chosen: str | None, claimed: str | None
) -> None:
    question, sides = ASKED[rule], ("Ida Berg", "Bo Marsh")
    asked_for_nothing = ("", ""), ()
    assert Comparison(question, sides, *asked_for_nothing, rule, claimed=False).verdict(*values) == chosen
    assert Comparison(question, sides, *asked_for_nothing, rule, claimed=True).verdict(*values) == claimed


def test_who_is_older_was_born_earlier_or_has_more_years() -> None:
    comparison = find_comparison("Who is older, Ida Berg or Bo Marsh?")
    assert comparison is not None
    assert comparison.verdict("1850", "1862") == "Ida Berg"
    assert comparison.verdict("34", "46") == "Bo Marsh"
