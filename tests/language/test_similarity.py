"""The vectors that statements are compared by: those of a quick encoder are computed once, those of another one in one batch."""

from __future__ import annotations

import pytest

from hoptrail.language.closeness import encoder_similarity
from world import Counting, HashingEncoder


class Quick(Counting):
    """Its own quick variant."""

    @property
    def quick(self) -> Quick:
        return self


def test_a_statement_is_encoded_once_by_a_quick_encoder() -> None:
    encoder, plain = Quick(), encoder_similarity(HashingEncoder())
    cosines = encoder_similarity(encoder)
    for question, statements in (("mill", ["old mill", "new quay"]), ("new quay", ["ferry", "old mill", "mill"])):
        assert cosines(question, statements) == pytest.approx(plain(question, statements))
    assert encoder.texts == ["mill", "old mill", "new quay", "ferry"]


def test_of_another_encoder_no_vector_is_kept_because_it_may_depend_on_the_batch() -> None:
    encoder = Counting()
    cosines = encoder_similarity(encoder)
    cosines("mill", ["old mill"])
    cosines("mill", ["old mill"])
    assert encoder.texts == ["mill", "old mill", "mill", "old mill"]
