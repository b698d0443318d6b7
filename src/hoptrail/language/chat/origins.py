"""Trace the words of prompts to the documents of earlier replies, so that removing a document also forgets such replies.

An answer read from a page is just words in the next prompt: among the findings, or inside a sub-question. The words of recent
replies are remembered with the documents shown for them, and looked up in the text of each task. So a reply to a prompt with
words from a document is forgotten with the document, over any number of hops.

Limits: words that the model or the recipe reworded ("the capital" for the town's name), a bare yes or no, and replies before the
last `RECENT` or in another process are not traced. A coincidental match only costs asking again.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable

from hoptrail.language.chat.context import YES_NO, folded
from hoptrail.text.normal_forms import stands_in

RECENT = 4096
"""Remembered texts: those of some fifty questions at once. They are only needed within their question."""


class RecentTexts:
    """The recent texts with their documents. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._recent: deque[tuple[str, tuple[str, ...]]] = deque(maxlen=RECENT)

    def note(self, texts: Iterable[str], documents: tuple[str, ...]) -> None:
        """Remember that `texts` were made from text of `documents`."""
        words = [text for text in map(folded, texts) if text and text not in YES_NO]
        if documents:
            with self._lock:
                self._recent.extend((text, documents) for text in words)

    def of(self, texts: Iterable[str]) -> tuple[str, ...]:
        """The documents of all remembered words that occur in `texts`."""
        asked = "\n".join(map(folded, texts))
        with self._lock:
            recent = tuple(self._recent)
        found = (documents for words, documents in recent if words in asked and stands_in(words, asked))
        return tuple(dict.fromkeys(document for documents in found for document in documents))
