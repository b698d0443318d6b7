"""Fallback search engines behind one protocol: the corpus itself, or one on the web.

Text from the web is in no document of the index, so it cannot be cited. It becomes units whose one source has the web address
in place of a document id: a language can read them, a trail shows their origin, and `is_stored` is False for them.
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
"""Channel of hits from searching the corpus as a whole."""
ONLINE = "online:"
"""Prefix of the channels of hits from the web; the engine's name follows."""
MEMORY = "memory"
"""Channel of the note that an answer came from the model's memory."""


class SearchEngine(Protocol):
    """Finds texts for a question."""

    def search(self, question: str, limit: int) -> Ranking:
        """At most `limit` hits, best first.

        Raises:
            ModelUnavailable: a web search engine gave no usable reply.
        """


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """The whole corpus, by keyword and dense search fused."""

    corpus: Corpus
    settings: HybridSearchSettings

    def search(self, question: str, limit: int) -> Ranking:
        """At most `limit` passages, best first, in the channel `fallback`."""
        hits = hybrid_search(self.corpus, question, limit, self.settings)
        return tuple(replace(hit, channel=FALLBACK) for hit in hits)


@dataclass(frozen=True, slots=True)
class OnlineEngine:
    """A web search engine; scores are 1 / rank."""

    web: WebSearch

    def search(self, question: str, limit: int) -> Ranking:
        """At most `limit` pages in the engine's order. Raises: ModelUnavailable: it gave no usable reply."""
        pages = self.web.search(question, limit)
        return tuple(
            Hit(_unit(page.title, page.url, page.text), 1 / rank, ONLINE + self.web.name)
            for rank, page in enumerate(pages, 1)
        )


def memory_hit(question: str, answer: str) -> Hit:
    """A note for the trail that an answer came from memory. Nothing reads it."""
    return Hit(_unit("from memory", MEMORY, answer, question), 0.0, MEMORY)


def is_stored(hit: Hit) -> bool:
    """Whether the hit is a unit of the index, which can be cited."""
    return hit.channel != MEMORY and not hit.channel.startswith(ONLINE)


def stored_hits(hits: Iterable[Hit]) -> Ranking:
    """The hits that are units of the index."""
    return tuple(hit for hit in hits if is_stored(hit))


def _unit(title: str, place: str, text: str, *parts: str) -> Unit:
    """A unit for a text outside the index: its one source is the whole text, with `place` for a document id."""
    return Unit(content_id("w", place, title, text, *parts), Kind.PASSAGE, title, text, (Span(place, 0, len(text)),))
