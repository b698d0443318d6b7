"""Words that share a stem with a question, found without stemming every word; forms that no list has to name."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hoptrail.text.lexicon import CANONICAL, is_person_noun
from hoptrail.text.words import places_of_stems, stem

WORDS = st.one_of(
    st.sampled_from(
        [*CANONICAL, "Designers", "designed", "DESIGN", "redesign", "rivers", "ties", "tied", "x_ray", "ray's"]
    ),
    st.text(alphabet="abdegilnrstyABSTéÉß0_-", min_size=1, max_size=9),
)


@given(st.lists(WORDS, max_size=30).map(" ".join), st.lists(WORDS, max_size=8))
def test_places_of_stems_agree_with_stemming_every_word(text: str, question: list[str]) -> None:
    stems = {stem(word) for word in question}
    every_word = {(word.start(), stem(word[0])) for word in re.finditer(r"[^\W_]+", text)}
    assert set(places_of_stems(text.lower(), stems)) == {(place, key) for place, key in every_word if key in stems}


@pytest.mark.parametrize(
    ("family", "forms"),
    [
        ("found", "found founded founder founders founding foundation established"),
        ("begin", "begin begins beginning began"),
        ("win", "win wins winner winners winning won"),
        ("teach", "teach teaches teacher teachers taught"),
        ("marri", "marry marries married marriage wed"),
        ("sing", "sing sings singer singers sang"),
        ("build", "build builds builder builders built"),
        ("lead", "lead leads leader leaders led"),
        ("flow", "flow flows flowed flowing runs"),
        ("invent", "invent invents invented inventor invention"),
        ("perform", "perform performs performed performer recorded"),
        ("publish", "publish publishes published publisher publication"),
        ("work", "work works worked employer"),
        ("populat", "populated population inhabitants"),
        ("birth", "birth births born"),
    ],
)
def test_regular_forms_join_the_irregular_ones(family: str, forms: str) -> None:
    assert {stem(word) for word in forms.split()} == {family}


def test_endings_show_which_nouns_name_people() -> None:
    people = (
        "mother brothers emperor musician scientist lawyer protagonist neighbor premier woman mayor character man queen"
    )
    things = "theatre colour pier piers reservoir centre river supplier"
    assert all(map(is_person_noun, people.split()))
    assert not any(map(is_person_noun, things.split()))
