"""Matrices that are made a part at a time are those that SciPy makes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix, random

from hoptrail.structures import keyword_statistics
from hoptrail.structures.keyword_statistics import KeywordStatistics
from hoptrail.structures.sparse import Growing


def some_matrix(rows: int, columns: int) -> csr_matrix:
    matrix = random(rows, columns, density=0.2, random_state=7, format="csr")
    matrix.sort_indices()
    return matrix


def test_a_matrix_is_made_of_its_rows() -> None:
    whole = some_matrix(30, 11)
    made = Growing()
    for first in range(0, 30, 7):
        part = whole[first : first + 7]
        made.add(np.diff(part.indptr).astype(np.int64), part.indices, part.data)
    matrix = made.matrix(11)
    assert (matrix != whole).nnz == 0
    assert Growing().matrix(3).shape == (0, 3)


def test_what_words_are_worth_does_not_hang_on_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"amber zinc lime word{number % 7} word{number % 5} " * (1 + number % 3) for number in range(40)] + [""]
    whole = KeywordStatistics.of(texts)
    monkeypatch.setattr(keyword_statistics, "READ", 3)
    parts = KeywordStatistics.of(texts)
    assert parts.words == whole.words
    assert np.array_equal(parts.matrix.toarray(), whole.matrix.toarray())
    assert np.array_equal(parts.by_word.toarray(), parts.matrix.toarray().T)
    assert np.array_equal(parts.scores("zinc word3"), whole.scores("zinc word3"))
