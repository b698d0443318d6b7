"""Words that share a stem with a question, found without stemming every word."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from hoptrail.text.lexicon import CANONICAL
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
