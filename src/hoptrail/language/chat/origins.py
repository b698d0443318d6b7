"""Which documents a model's earlier replies came from, so that a prompt with words of such a reply is kept under these documents.

An answer read from a page is, in the next prompt, just words: among the findings, or inside a sub-question. Here the words of
recent replies are held with the documents whose text was shown for them, and looked for in what a task says. So a reply to a
prompt that holds words from a document is forgotten with it, by way of any number of hops.

Cannot know: words that the model or the recipe turned into others ("the capital" for the town's name), a bare yes or no, what
was given before the last `RECENT` replies or in another process. Words that merely stand in both are taken to come from the
document: that may cost asking again, nothing else.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable

from hoptrail.language.chat.context import YES_NO, folded
from hoptrail.text.normal_forms import stands_in

RECENT = 4096
"""Texts that are held: those of some fifty questions in work at once. They are used within their question."""


class Origins:
    """For any number of threads."""

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
        """The documents behind any words held that stand in one of `texts`."""
        asked = "\n".join(map(folded, texts))
        with self._lock:
            recent = tuple(self._recent)
        found = (documents for words, documents in recent if words in asked and stands_in(words, asked))
        return tuple(dict.fromkeys(document for documents in found for document in documents))
