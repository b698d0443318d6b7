"""The vectors that statements are compared by are computed once."""

from __future__ import annotations

import pytest

from hoptrail.language.closeness import encoder_similarity
from world import Counting, HashingEncoder


def test_a_statement_is_encoded_once() -> None:
    encoder, plain = Counting(), encoder_similarity(HashingEncoder())
    cosines = encoder_similarity(encoder)
    for question, statements in (("mill", ["old mill", "new quay"]), ("new quay", ["ferry", "old mill", "mill"])):
        assert cosines(question, statements) == pytest.approx(plain(question, statements))
    assert encoder.texts == ["mill", "old mill", "new quay", "ferry"]
