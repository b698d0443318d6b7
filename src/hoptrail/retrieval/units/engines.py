"""Search engines to fall back on, behind one protocol: the corpus itself, or one on the web.

What the web says stands in no document of the index, so it cannot be cited. Its pieces are units whose one source names the
address in place of a document: a language can read them, a trail shows where they are from, and `is_stored` tells them apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from hoptrail.models.web_search import WebSearch
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.units.hybrid import HybridSearchSettings, hybrid_search
from hoptrail.types import Hit, Kind, Ranking, Span, Unit, content_id

FALLBACK = "fallback"
"""The channel of what the corpus gave when it was searched as a whole."""
ONLINE = "online:"
"""How the channels of what the web gave begin; the engine's name follows."""
MEMORY = "memory"
"""The channel of a note that an answer came from the model's memory."""


class SearchEngine(Protocol):
    """Whoever finds texts for a question."""

    def search(self, question: str, limit: int) -> Ranking:
        """At most `limit` hits, best first.

        Raises:
            ModelUnavailable: an engine on the web gave no sensible reply.
        """
        ...


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """The whole corpus, by keyword and dense search fused."""

    corpus: Corpus
    settings: HybridSearchSettings

    def search(self, question: str, limit: int) -> Ranking:
        hits = hybrid_search(self.corpus, question, limit, self.settings)
        return tuple(replace(hit, channel=FALLBACK) for hit in hits)


@dataclass(frozen=True, slots=True)
class OnlineEngine:
    """An engine on the web; its scores are shares of its order."""

    web: WebSearch

    def search(self, question: str, limit: int) -> Ranking:
        pages = self.web.search(question, limit)
        return tuple(
            Hit(_unit(page.title, page.url, page.text), 1 / place, ONLINE + self.web.name)
            for place, page in enumerate(pages, 1)
        )


def memory_hit(question: str, answer: str) -> Hit:
    """A note for the trail that an answer was remembered, not found. Nothing reads it."""
    return Hit(_unit("from memory", MEMORY, answer, question), 0.0, MEMORY)


def is_stored(hit: Hit) -> bool:
    """Whether the hit is a unit of the index, which can be cited."""
    return hit.channel != MEMORY and not hit.channel.startswith(ONLINE)


def stored(hits: Iterable[Hit]) -> Ranking:
    """The hits that are units of the index."""
    return tuple(hit for hit in hits if is_stored(hit))


def _unit(title: str, place: str, text: str, *parts: str) -> Unit:
    """A text from outside: its one source is all of it, at a place that is no document of the index."""
    return Unit(content_id("w", place, title, text, *parts), Kind.PASSAGE, title, text, (Span(place, 0, len(text)),))
