"""Words that share a stem with a question, found without stemming every word."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hoptrail.text.lexicon import CANONICAL
from hoptrail.text.words import stem, with_stems

WORDS = st.one_of(
    st.sampled_from(
        [*CANONICAL, "Designers", "designed", "DESIGN", "rivers", "ties", "tied", "Éclairs", "e\u0301clair"]
    ),
    st.text(alphabet="abdegilnrstyABST\u00e9\u0301", min_size=1, max_size=9),
)


@given(st.lists(WORDS, max_size=30), st.lists(WORDS, max_size=8))
def test_with_stems_agrees_with_stemming_every_word(words: list[str], question: list[str]) -> None:
    stems = [stem(word) for word in question]
    assert with_stems(words, stems) == {word: stem(word) for word in words if stem(word) in stems}
