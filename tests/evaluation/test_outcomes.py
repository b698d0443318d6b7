"""Outcomes, rule by rule: right, shown, missed and wrong answers."""

from __future__ import annotations

import pytest

from hoptrail.evaluation.datasets import Question
from hoptrail.evaluation.outcomes import Outcome, is_right, outcome_of, settled_by_hits, settles
from hoptrail.types import Answer, AnswerKind, Hit, Kind, Span, Statement, Unit

COST = Question("q", "What does the pump cost?", ("212 GBP", "£212"), "one-hop", shows=("Unit cost: 212 GBP",))
WATERPROOF = Question("q", "Is it waterproof?", ("no",), "yes-no")
SUPPLIERS = Question(
    "q", "List the suppliers", (), "list", items=(("Halden", "HR"), ("Castellan",), ("Forth Circuits",))
)
REASON = Question("q", "Why does it fog?", (), "why", items=(("vent membrane", "membrane"), ("wrong side",)))
UNKNOWN = Question("q", "Who earns what?", (), "unanswerable")


def answer(text: str | None, kind: AnswerKind = AnswerKind.SHORT, items: tuple[str, ...] = (), *closest: str) -> Answer:
    statements = tuple(Statement("d", "t", 0, len(one), one, "u", said=one) for one in closest)
    return Answer("q", text, "trail", "offline", kind=kind, items=items, closest=statements)


# --- short


@pytest.mark.parametrize(
    "given", ["212 GBP", "£212", "212 gbp.", "It costs 212 GBP", "about 212 GBP each, net", "212 GBP (in 2024)"]
)
def test_a_short_answer_has_the_words_of_an_accepted_one_and_at_most_three_more(given: str) -> None:
    assert outcome_of(COST, answer(given)) is Outcome.RIGHT


@pytest.mark.parametrize(
    "given",
    ["212 whole GBP pounds x", "GBP", "1212", "212.50", "212,000", "x212", "it costs all in all exactly 212 GBP", ""],
)
def test_other_short_answers_are_wrong(given: str) -> None:
    assert outcome_of(COST, answer(given)) is Outcome.WRONG


def test_the_three_words_are_counted_from_the_accepted_answer_that_is_found() -> None:
    question = Question("q", "Where?", ("hook 14", "in the key cupboard behind the desk, hook 14"))
    assert not is_right(question, "As they say it is in the key cupboard, behind the desk: hook 14")
    assert is_right(question, "In the key cupboard behind the desk - hook 14, they say")
    assert is_right(question, "cupboard, on Hook 14")


def test_words_are_compared_without_case_marks_and_ways_to_store_accents() -> None:
    question = Question("q", "Where?", ("Göteborg Kretslopp",))
    assert is_right(question, "GO\u0308TEBORG  kretslopp")
    assert is_right(Question("q", "Which?", ("HR-90",)), "hr 90")
    assert not is_right(Question("q", "Which?", ("HR-90",)), "HR-901")


def test_scripts_without_spaces_have_one_word_per_character() -> None:
    question = Question("q", "どこ?", ("東京",))
    assert is_right(question, "東京です")
    assert not is_right(question, "東京にありますよ")


def test_an_accepted_answer_without_words_is_searched_for_literally() -> None:
    question = Question("q", "Which operator?", ("->",))
    assert is_right(question, "the ->")
    assert not is_right(question, "the >-")


# --- yes-no


@pytest.mark.parametrize(
    ("given", "right"), [("no", True), ("No. It leaks at the vent, the seals are old.", True), ("Yes, no doubt", False)]
)
def test_of_yes_and_no_the_first_word_counts_alone(given: str, *, right: bool) -> None:
    assert is_right(WATERPROOF, given, AnswerKind.YES_NO) is right


def test_an_accepted_yes_is_compared_by_first_word_whatever_the_type() -> None:
    assert is_right(
        Question("q", "Older than?", ("yes",), "comparison"), "Yes, by all means, by far more than ten years"
    )


# --- list, steps, passage


def test_every_item_in_any_spelling_makes_a_list_right() -> None:
    items = ("HR", "Castellan Plastics", "Forth  circuits")
    assert outcome_of(SUPPLIERS, answer("; ".join(items), AnswerKind.LIST, items)) is Outcome.RIGHT
    assert outcome_of(SUPPLIERS, answer("; ".join(items[:2]), AnswerKind.LIST, items[:2])) is Outcome.WRONG


@pytest.mark.parametrize(("given", "right"), [(3, True), (5, True), (6, False)])
def test_a_list_has_at_most_half_as_many_again_and_one(given: int, *, right: bool) -> None:
    """With three items: up to five and a half."""
    items = ("Halden", "Castellan", "Forth Circuits", "Acme", "Bolt", "Cog")[:given]
    assert is_right(SUPPLIERS, "; ".join(items), AnswerKind.LIST, items) is right
    assert is_right(SUPPLIERS, "; ".join(items), AnswerKind.STEPS, items)


def test_a_passage_holds_every_item_however_long_it_is() -> None:
    text = "Cause: the vent membrane was glued on the wrong side in the first batch, which is known since the winter."
    assert outcome_of(REASON, answer(text, AnswerKind.PASSAGE)) is Outcome.RIGHT
    assert outcome_of(REASON, answer("The membrane was glued on.", AnswerKind.PASSAGE)) is Outcome.WRONG


def test_items_are_whole_words() -> None:
    buses = Question("q", "Which buses?", (), "list", items=(("8",), ("47",)))
    assert is_right(buses, "numbers 8 and 47", AnswerKind.PASSAGE)
    assert not is_right(buses, "numbers 18 and 47", AnswerKind.PASSAGE)


def test_items_decide_before_answers() -> None:
    both = Question("q", "With whom and where?", ("Priya, Dundee",), "two-hop", items=(("Priya",), ("Dundee",)))
    assert is_right(both, "The intern will sit with Priya Raman, and she is based in Dundee")
    assert not is_right(both, "Priya")


# --- nothing given


def test_only_an_abstention_is_right_for_an_unanswerable_question() -> None:
    assert outcome_of(UNKNOWN, answer(None)) is Outcome.RIGHT
    assert outcome_of(UNKNOWN, answer("4,000 GBP")) is Outcome.WRONG


def test_an_abstention_is_shown_or_missed() -> None:
    assert outcome_of(COST, answer(None)) is Outcome.MISSED
    assert outcome_of(COST, answer(None, AnswerKind.NONE, (), "Unit cost: 212 GBP")) is Outcome.SHOWN
    assert outcome_of(COST, answer("213", AnswerKind.SHORT, (), "Unit cost: 212 GBP")) is Outcome.WRONG


def test_the_three_closest_statements_count_and_no_more() -> None:
    others = ("One.", "Two.", "Three.")
    settling = "Unit cost: 212 GBP"
    assert outcome_of(COST, answer(None, AnswerKind.NONE, (), *others[:2], settling)) is Outcome.SHOWN
    assert outcome_of(COST, answer(None, AnswerKind.NONE, (), *others, settling)) is Outcome.MISSED


def test_300_characters_of_a_statement_count() -> None:
    settling = "Unit cost: 212 GBP"
    fits, cut = "x" * (299 - len(settling)), "x" * (302 - len(settling))
    assert outcome_of(COST, answer(None, AnswerKind.NONE, (), f"{fits} {settling}")) is Outcome.SHOWN
    assert outcome_of(COST, answer(None, AnswerKind.NONE, (), f"{cut} {settling}")) is Outcome.MISSED


@pytest.mark.parametrize(("has", "settled"), [(5, True), (4, True), (3, False)])
def test_four_fifths_of_the_distinct_words_settle(has: int, *, settled: bool) -> None:
    question = Question("q", "?", ("x",), shows=("alpha beta gamma delta alpha epsilon",))
    words = ("alpha", "beta", "gamma", "delta", "epsilon")[:has]
    assert settles(question, [" ".join(reversed(words))]) is settled


def test_one_text_with_one_string_settles() -> None:
    question = Question("q", "?", ("x",), shows=("alpha beta gamma delta", "one two three four five"))
    assert not settles(question, ["alpha beta", "gamma delta"])
    assert settles(question, ["none", "five four three two"])


def test_cells_may_be_separated_by_other_marks() -> None:
    question = Question("q", "How many?", ("310",), shows=("UT-4,310,B7",))
    assert settles(question, ["part: UT-4; stock: 310; bin: B7"])


# --- hits


def hit(number: int, text: str) -> Hit:
    return Hit(Unit(f"u{number}", Kind.PASSAGE, "Unit cost: 212 GBP", text, (Span("d", 0, len(text)),)), 1.0, "bm25")


def test_the_texts_of_the_first_five_hits_are_looked_at() -> None:
    others = tuple(hit(number, "Something else.") for number in range(5))
    settling = hit(9, f"{'x' * 400} Unit cost: 212 GBP")
    assert settled_by_hits(COST, (*others[:4], settling)) is True
    assert settled_by_hits(COST, (*others, settling)) is False
    assert settled_by_hits(COST, others) is False, "the title is no part of a hit's text"
    assert settled_by_hits(UNKNOWN, others) is None
