"""Comparisons: what is asked of each side, and which side the values make the answer."""

from __future__ import annotations

import pytest

from hoptrail.language.questions.comparisons import ComparisonRule, find_comparison

ASKED_OF_EACH = {
    "Which lighthouse was built earlier, Foss Light or Arden Light?": (
        ComparisonRule.EARLIER,
        "When was Foss Light built?",
        "When was Arden Light built?",
    ),
    "Which was published more recently, Night Ferry or The Glass Hen?": (
        ComparisonRule.LATER,
        "When was Night Ferry published?",
        "When was The Glass Hen published?",
    ),
    "Who was born later, Ida Berg or Bo Marsh?": (
        ComparisonRule.LATER,
        "When was Ida Berg born?",
        "When was Bo Marsh born?",
    ),
    "Who died first, Ida Berg or Bo Marsh?": (
        ComparisonRule.EARLIER,
        "When did Ida Berg die?",
        "When did Bo Marsh die?",
    ),
    "Was Ida Berg or Bo Marsh born first?": (
        ComparisonRule.EARLIER,
        "When was Ida Berg born?",
        "When was Bo Marsh born?",
    ),
    "Was the Night Ferry or the Grey Gull built later?": (
        ComparisonRule.LATER,
        "When was the Night Ferry built?",
        "When was the Grey Gull built?",
    ),
    "Who lived longer, Ida Berg or Bo Marsh?": (
        ComparisonRule.LONGER_LIFE,
        "When was Ida Berg born?",
        "When did Ida Berg die?",
        "When was Bo Marsh born?",
        "When did Bo Marsh die?",
    ),
    "Whose brother was born first, Ida Berg or Bo Marsh?": (
        ComparisonRule.EARLIER,
        "Who is the brother of Ida Berg?",
        "When was #1 born?",
        "Who is the brother of Bo Marsh?",
        "When was #3 born?",
    ),
    "Which ship has the captain who died later, Night Ferry or Grey Gull?": (
        ComparisonRule.LATER,
        "Who is the captain of Night Ferry?",
        "When did #1 die?",
        "Who is the captain of Grey Gull?",
        "When did #3 die?",
    ),
    "Which club has more members, Arden FC or Dun FC?": (
        ComparisonRule.MORE,
        "How many members does Arden FC have?",
        "How many members does Dun FC have?",
    ),
    "Which crew sold more tickets last spring, Foss Yard or Arden Yard?": (
        ComparisonRule.MORE,
        "How many tickets last spring has Foss Yard sold?",
        "How many tickets last spring has Arden Yard sold?",
    ),
    "Who was elected more times, Ida Berg or Bo Marsh?": (
        ComparisonRule.MORE,
        "How many times has Ida Berg been elected?",
        "How many times has Bo Marsh been elected?",
    ),
    "Who has been in the club longer, Ida Berg or Bo Marsh?": (
        ComparisonRule.EARLIER,
        "Since when has Ida Berg been in the club?",
        "Since when has Bo Marsh been in the club?",
    ),
    "Who joined the club first, the present treasurer or Bo Marsh?": (
        ComparisonRule.EARLIER,
        "When was it that the present treasurer joined the club?",
        "When was it that Bo Marsh joined the club?",
    ),
    "Which lake has the larger area, Lake Orrin or Lake Foss?": (
        ComparisonRule.MORE,
        "What is the area of Lake Orrin?",
        "What is the area of Lake Foss?",
    ),
    "Which bridge is lower, Tarn Bridge or Ox Bridge?": (
        ComparisonRule.LESS,
        "How high is Tarn Bridge?",
        "How high is Ox Bridge?",
    ),
    "Which boat is more expensive, Gull or Tern?": (
        ComparisonRule.MORE,
        "What is the price of Gull?",
        "What is the price of Tern?",
    ),
    "Which is older, Arden University or Dun University?": (
        ComparisonRule.EARLIER,
        "When was Arden University founded?",
        "When was Dun University founded?",
    ),
    "Are Ida Berg and Bo Marsh from the same country?": (
        ComparisonRule.SAME,
        "What is the nationality of Ida Berg?",
        "What is the nationality of Bo Marsh?",
    ),
    "Do Ida Berg and Bo Marsh share the same trade?": (
        ComparisonRule.SAME,
        "What is the trade of Ida Berg?",
        "What is the trade of Bo Marsh?",
    ),
    "Were Night Ferry and The Glass Hen written by the same poet?": (
        ComparisonRule.SAME,
        "Who was Night Ferry written by?",
        "Who was The Glass Hen written by?",
    ),
    "Were Ida Berg and Bo Marsh born in the same place?": (
        ComparisonRule.SAME,
        "Where was Ida Berg born?",
        "Where was Bo Marsh born?",
    ),
    "Are Foss Light and Arden Light located in the same county?": (
        ComparisonRule.SAME,
        "In which county is Foss Light located?",
        "In which county is Arden Light located?",
    ),
    "Are the director of Night Ferry and the director of The Glass Hen both Danish?": (
        ComparisonRule.BOTH,
        "Who is the director of Night Ferry?",
        "Is #1 Danish?",
        "Who is the director of The Glass Hen?",
        "Is #3 Danish?",
    ),
}

CLAIMED = {
    "Is Ida Berg younger than Bo Marsh?": (ComparisonRule.LATER, "When was Ida Berg born?"),
    "Is the Arden Bank younger than the Dun Bank?": (ComparisonRule.LATER, "When was the Arden Bank founded?"),
    "Did Night Ferry come out after The Glass Hen?": (ComparisonRule.LATER, "When did Night Ferry come out?"),
    "Was Arden founded more recently than Foss?": (ComparisonRule.LATER, "When was Arden founded?"),
    "Was Arden founded earlier than Foss?": (ComparisonRule.EARLIER, "When was Arden founded?"),
    "Does Lake Orrin have a greater depth than Lake Foss?": (ComparisonRule.MORE, "What is the depth of Lake Orrin?"),
    "Did Ida Berg live longer than Bo Marsh?": (ComparisonRule.LONGER_LIFE, "When was Ida Berg born?"),
    "Is the captain of the Gull older than the captain of the Tern?": (
        ComparisonRule.EARLIER,
        "Who is the captain of Gull?",
    ),
}

NO_COMPARISONS = [
    "",
    "Which is older?",
    "Who wrote Night Ferry?",
    "Was Night Ferry named after The Glass Hen?",
    "Which boat is more accurate with maps, Gull or Tern?",
    "Is Foss older?",
    "Was Ida Berg born two years before Bo Marsh?",
    "Which is better, Gull or Tern?" * 40,
]


@pytest.mark.parametrize("question", ASKED_OF_EACH)
def test_what_is_asked_of_each_side(question: str) -> None:
    by, *asked = ASKED_OF_EACH[question]
    comparison = find_comparison(question)
    assert comparison is not None
    assert comparison.by is by
    assert list(comparison.asked()) == asked
    assert not comparison.claimed


@pytest.mark.parametrize("question", CLAIMED)
def test_an_order_that_is_claimed(question: str) -> None:
    by, first = CLAIMED[question]
    comparison = find_comparison(question)
    assert comparison is not None
    assert (comparison.claimed, comparison.by, comparison.asked()[0]) == (True, by, first)


@pytest.mark.parametrize("question", NO_COMPARISONS)
def test_what_compares_nothing(question: str) -> None:
    assert find_comparison(question) is None


@pytest.mark.parametrize(
    ("question", "values", "answer"),
    [
        ("Who was born later, Ida Berg or Bo Marsh?", ("3 May 1850", "4 May 1850"), "Bo Marsh"),
        ("Who was born later, Ida Berg or Bo Marsh?", ("May 1850", "4 May 1850"), None),
        ("Who was born later, Ida Berg or Bo Marsh?", ("1850", "in spring"), None),
        ("Who died first, Ida Berg or Bo Marsh?", ("44 BC", "12 BC"), "Ida Berg"),
        ("Who lived longer, Ida Berg or Bo Marsh?", ("1850", "1900", "1860", None), None),
        ("Which club has more members, Arden FC or Dun FC?", ("1,200", "four hundred"), "Arden FC"),
        ("Which club has fewer members, Arden FC or Dun FC?", ("1,200", "four hundred"), "Dun FC"),
        ("Which club has more members, Arden FC or Dun FC?", ("120", "120"), None),
        ("Is Ida Berg younger than Bo Marsh?", ("1862", "1850"), "yes"),
        ("Is Ida Berg younger than Bo Marsh?", ("1850", "1862"), "no"),
        ("Is Ida Berg younger than Bo Marsh?", ("1850", None), None),
        ("Do Ida Berg and Bo Marsh share the same trade?", ("weaver", "a weaver"), "yes"),
        ("Do Ida Berg and Bo Marsh share the same trade?", ("weaver", "smith"), "no"),
        ("Are Ida Berg and Bo Marsh both painters?", ("yes", "yes"), "yes"),
        ("Are Ida Berg and Bo Marsh both painters?", ("yes", "no"), "no"),
    ],
)
def test_the_values_decide(question: str, values: tuple[str | None, ...], answer: str | None) -> None:
    comparison = find_comparison(question)
    assert comparison is not None
    assert comparison.verdict(values) == answer
