"""Keyword scores of all passages, from the stored postings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import rows_of
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.types import Kind


class PassageKeywords:
    """Passages are in the order of adding."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._keywords, self._texts = snapshot.keywords, snapshot.texts
        self._numbers = self._texts.origins(Kind.PASSAGE).numbers

    def scores(self, questions: Sequence[str]) -> NDArray[np.float32]:
        """The score of every passage for each question, 0 where they share no word: shape (questions, passages)."""
        return self._keywords.scores(Kind.PASSAGE, questions, self._numbers).astype(np.float32)

    def rows(self, ids: Sequence[str]) -> NDArray[np.intp]:
        """Where passages stand among all, by their ids."""
        return rows_of(self._texts.numbers(ids), self._numbers)

    def frequencies(self, words: Sequence[str]) -> NDArray[np.int64]:
        """How many passages have each word."""
        return self._keywords.frequencies(Kind.PASSAGE, words)
