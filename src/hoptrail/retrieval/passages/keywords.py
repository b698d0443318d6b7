"""Keyword scores of all passages, from the stored postings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hoptrail.store.snapshot import Snapshot
from hoptrail.types import Kind


class PassageKeywords:
    """Satisfies `structures.keyword_statistics.Keywords`; passages are in the order of adding."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._keywords = snapshot.view.keywords
        self._numbers = snapshot.view.texts.origins(Kind.PASSAGE).numbers

    def scores(self, question: str) -> NDArray[np.float32]:
        """The score of every passage, 0 where it shares no word with the question: shape (passages,)."""
        return self._keywords.scores(Kind.PASSAGE, question, self._numbers).astype(np.float32)

    def frequency(self, word: str) -> int:
        """How many passages have a word."""
        return self._keywords.frequency(Kind.PASSAGE, word)
