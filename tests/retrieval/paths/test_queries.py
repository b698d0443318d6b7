"""The queries of a question: what stretches may lose, which steps refer to which, and how many there are at most."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hoptrail.corpus.keywords import keyword_words
from hoptrail.retrieval.paths.queries import LEAST_WORDS, MOST_STEPS, MOST_STRETCHES, PathQueries, stretches

WORDS = ["river", "bridge", "town", "x", "the", "and", "which", "who", "of", "designer", "harbour,", "mill;", "born."]
questions = st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join)


def content(text: str) -> list[str]:
    return [word for word in keyword_words(text) if len(word) > 1]


@given(questions)
def test_stretches_have_enough_words_each_and_lose_none(question: str) -> None:
    found = stretches(question)
    assert len(found) != 1, "a single stretch is the question itself"
    assert len(found) <= MOST_STRETCHES
    assert all(len(content(stretch)) >= LEAST_WORDS for stretch in found)
    said = [word for stretch in found for word in content(stretch)]
    whole = content(question)
    assert said == whole[: len(said)]
    assert len(said) == len(whole) or len(found) in {0, MOST_STRETCHES}


def test_what_is_too_short_at_the_end_goes_to_the_stretch_before_it() -> None:
    assert stretches("Who painted the old mill, which engineer built its iron wheel, and when?") == (
        "Who painted the old mill",
        "which engineer built its iron wheel and when",
    )
    assert stretches("Mill, or bridge, built of red stone, by the frozen harbour of Dunmere?") == (
        "Mill or bridge built of red stone",
        "by the frozen harbour of Dunmere",
    )


def test_no_more_stretches_and_steps_are_asked_than_their_limits() -> None:
    parts = [f"red bridge number {letter}{letter}" for letter in "abcdefghi"]
    assert stretches(", ".join(parts)) == tuple(parts[:MOST_STRETCHES])
    queries = PathQueries.of("Which?", [f"What is {letter}?" for letter in "abcdefghi"])
    assert len(queries.steps) == MOST_STEPS
    assert queries.steps[-1] == "What is f?"


def test_content_words_come_once_in_order_without_stop_words_and_single_letters() -> None:
    queries = PathQueries.of("Did the A designer of the Tallow Bridge bridge x Isk?", [])
    assert queries.words == ("designer", "tallow", "bridge", "isk")


steps = st.lists(st.lists(st.sampled_from(["Who", "built", "#1", "#2", "#3", "#17"]), min_size=1).map(" ".join))


@given(steps)
def test_every_text_is_asked_alone_or_refers_and_edges_lead_to_what_refers(asked: list[str]) -> None:
    queries = PathQueries.of("Who built the red bridge of stone, and who drew the frozen harbour of Dunmere?", asked)
    assert len(queries.stretches) == 2
    assert sorted((*queries.self_contained, *queries.referring)) == list(range(1, len(queries.texts)))
    assert all("#" not in text for text in queries.texts)
    assert {step for _, step in queries.edges} <= set(queries.referring)
    for before, step in queries.edges:
        assert f"#{before}" in queries.steps[step - 1].split()
        assert 1 <= before <= len(queries.steps)
        assert before != step


def test_a_name_takes_the_place_of_every_reference() -> None:
    queries = PathQueries.of("Odd?", ["Who built it?", "Did #1 or  #1 meet #12?"])
    assert queries.bridged(2, "isk") == "Did isk or isk meet isk?"
    assert queries.bridged(2, r"c:\new \g<x>").startswith(r"Did c:\new \g<x> or"), "a name is no pattern"
