"""Settling one sub-question by single candidates that are checked: HiRAG's retriever, filter and rethinking.

    section 4.3   page by title, its chunks by dense similarity                          retrieval/pages/titles.py, hierarchy.py
                  several titles fit equally: the question is reworded with what is      here, `_enriched`, task clarify
                  known of the name, and that is searched for (equation 4)
    section 4.4   one chunk (and the profile of its page) is read, the answer checked    here, `_attempts`
                  against it; the next chunk of the page, then the next page
                  the model's memory with probability (t / m)^2 after failed attempt t   here, `_remembers`
    (ours)        attempts exhausted: another engine is asked                            here, `_last`
    (its code)    the commonest of several replies counts                                voting.py

Any recipe can call `Rethinking.hop` for its sub-questions. Knows nothing of where they come from or what becomes of the answers.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, repeat
from typing import Literal

from hoptrail.errors import ModelUnavailable, TaskFailed
from hoptrail.language.meter import Meter
from hoptrail.language.tasks import Clarify, Finding, Read, Reading, Recall, Verify
from hoptrail.models.web_search import WebSearch, WebSearchSettings
from hoptrail.recipes.answering import CitedHop, check_support, remembered, verdict_of
from hoptrail.recipes.hopwise import failed
from hoptrail.recipes.voting import VotingSettings, voted
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.fuse import interleave
from hoptrail.retrieval.pack import pack
from hoptrail.retrieval.pages.hierarchy import Chunk, HierarchicalSearch, HierarchySettings, Page, Pages
from hoptrail.retrieval.units.engines import FALLBACK, LocalEngine, OnlineEngine, SearchEngine, is_stored
from hoptrail.structures.profiles import profile_id
from hoptrail.text.normal_forms import same_words
from hoptrail.types import Hit, Hop, Kind, Ranking, Span, Unit, Verdict

PAGE = "page"
"""The channel of chunks that were read because of their page's title."""
UNREAD = "unread-page"
"""The channel of the best chunk of a page that was found by its title, but not read."""
PROFILE = "profile"
LEAD = "lead"
READ = frozenset({PAGE, PROFILE, LEAD, FALLBACK})
"""The channels of what was read; all others only found it."""


@dataclass(frozen=True, slots=True)
class RethinkSettings:
    """How often, over what, and when an answer is taken.

    At most `attempts` (th3) are made, `chunk_tries` (th2) on a page that another follows; `chunk_rethink` and `page_rethink` say
    whether another chunk or page follows at all. An answer is taken at once when the language finds it supported with a
    probability of `acceptance`; in the end, the best supported of those that were not is taken from `last_resort` on (1: never),
    where the support of attempts with the same answer adds up.
    The first `profile_tries` on a page read its profile as well, and with `lead_chunk` every one reads the chunk that its page
    opens with. `fallback` is asked for `fallback_k` texts where names are ambiguous, if there is `enrichment`, which counts as no
    attempt, and with `fall_back` when all attempts have failed. With `memory` the model's own knowledge is tried with probability
    (t / `memory_rounds`)^2 after the t-th failed attempt, drawn from `seed` and the question; where there is no page, as often as
    there might be attempts. At most `evidence_tokens` are read at once. `voting` says how many replies to that are counted.
    """

    attempts: int = 4
    chunk_tries: int = 3
    chunk_rethink: bool = True
    page_rethink: bool = True
    acceptance: float = 0.3
    last_resort: float = 0.1
    profile_tries: int = 1
    lead_chunk: bool = False
    enrichment: bool = True
    fallback: Literal["none", "local", "online"] = "local"
    fall_back: bool = True
    fallback_k: int = 20
    memory: bool = False
    memory_rounds: int = 5
    seed: int = 0
    evidence_tokens: int = 6000
    voting: VotingSettings = field(default_factory=VotingSettings)
    pages: HierarchySettings = field(default_factory=HierarchySettings)
    online: WebSearchSettings = field(default_factory=WebSearchSettings)

    def __post_init__(self) -> None:
        if min(self.attempts, self.chunk_tries, self.fallback_k, self.evidence_tokens) < 1:
            raise ValueError("attempts, chunk_tries, fallback_k and evidence_tokens are at least 1")
        if not (0 <= self.acceptance <= 1 and 0 <= self.last_resort <= 1) or self.profile_tries < 0:
            raise ValueError("acceptance and last_resort lie between 0 and 1, profile_tries is at least 0")
        if self.memory_rounds < self.attempts or self.seed < 0:
            raise ValueError("memory_rounds is at least attempts, or a probability would pass 1; seed is at least 0")
        if self.fallback == "online" and self.online.engine == "off":
            raise ValueError("fallback online needs an engine under online")

    @property
    def most_tasks(self) -> tuple[int, int]:
        """How many tasks settle a sub-question, at the most: with evidence, and without. The fallback is one attempt more for an
        ambiguous name, after a rewording, and one in the end; an attempt draws the replies that vote and judges what they say;
        memory is asked after each that failed.
        """
        enriched = self.enrichment and self.fallback != "none"
        tries = self.attempts + enriched + (self.fall_back and self.fallback != "none")
        remembered = self.attempts if self.memory else 0
        return tries * (self.voting.replies + 1), tries * self.voting.most_judged + enriched + remembered


@dataclass(frozen=True, slots=True)
class Asked:
    """A sub-question, what is really asked, the whole question, and what was found before."""

    question: str
    asked: str
    whole: str
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Attempt:
    """What one attempt reads, and the hits that this was taken from."""

    units: tuple[Unit, ...]
    hits: Ranking


@dataclass(frozen=True, slots=True)
class _Rejected:
    """An answer that was not taken, how probable its evidence made it, and where it was read."""

    answer: str
    supported: float
    reading: Reading
    attempt: Attempt


@dataclass(slots=True)
class _Course:
    """How a sub-question has gone so far: the pages found for it, what was read in vain, and the answers not taken."""

    pages: Pages
    tried: list[Attempt] = field(default_factory=list)
    rejected: list[_Rejected] = field(default_factory=list)

    def best(self, least: float) -> _Rejected | None:
        """The best supported of the answers not taken, in its best reading, if its support is at least `least`.

        The support of several attempts that gave it adds up.
        """
        support = [self._support(one) for one in self.rejected]
        most = max(support, default=0.0)
        if not support or most < least:
            return None
        return max(
            (one for one, value in zip(self.rejected, support, strict=True) if value == most),
            key=lambda one: one.supported,
        )

    def _support(self, one: _Rejected) -> float:
        return math.fsum(other.supported for other in self.rejected if same_words(one.answer, other.answer))


@dataclass(frozen=True)
class Rethinking:
    """Settles sub-questions over a corpus; at most `k` hits of a hop are kept."""

    corpus: Corpus
    settings: RethinkSettings = field(default_factory=RethinkSettings)
    k: int = 20

    def hop(self, asked: Asked, meter: Meter) -> CitedHop:
        """The sub-question's hop: what settled it stands first among its hits, then what was read in vain, then the rest.

        A task that fails, or an engine on the web that does, makes it a failed hop.

        Raises:
            UsageError: the engine on the web cannot be used as it is set.
        """
        course = _Course(self._search.pages(asked.asked))
        try:
            return self._settled(asked, course, meter)
        except TaskFailed:
            return failed(asked.question, asked.asked, self._hits((), course))

    def _settled(self, asked: Asked, course: _Course, meter: Meter) -> CitedHop:
        if self.settings.enrichment and course.pages.ambiguous and self._engine:
            enriched = self._enriched(asked, course.pages.ambiguous[0], self._engine, meter)
            if (hop := self._tried(asked, enriched, course, meter)) is not None:
                return hop
        draws = memory_draws(asked.asked, self.settings)
        for attempt in self._rounds(course):
            if attempt is not None and (hop := self._tried(asked, attempt, course, meter)) is not None:
                return hop
            memory = self._remembers(asked.asked, meter) if next(draws) else None
            if memory is not None:
                return remembered(asked.question, asked.asked, memory, self._hits((), course)[: self.k - 1])
        return self._last(asked, course, meter)

    def _rounds(self, course: _Course) -> Iterator[Attempt | None]:
        """The attempts that are made; where there is nothing to read, as many without one: each has failed."""
        made = 0
        for attempt in islice(self._attempts(course), self.settings.attempts):
            made += 1
            yield attempt
        if not made:
            yield from repeat(None, self.settings.attempts)

    def _attempts(self, course: _Course) -> Iterator[Attempt]:
        """Page by page, chunk by chunk. On the last page there is nothing to save attempts for."""
        pages = course.pages.pages[: None if self.settings.page_rethink else 1]
        for number, page in enumerate(pages, 1):
            tries = self.settings.chunk_tries if number < len(pages) else self.settings.attempts
            chunks = self._search.chunks(page, course.pages.vector)
            lead = min(chunks, key=lambda chunk: chunk.unit.sources, default=None)
            for place, chunk in enumerate(chunks[: tries if self.settings.chunk_rethink else 1]):
                yield self._attempt(chunk, lead, place)

    def _attempt(self, chunk: Chunk, lead: Chunk | None, number: int) -> Attempt:
        """A chunk, with the lead of its page before it and its document's profile behind it, as far as they say more."""
        parts = [(chunk.unit, Hit(chunk.passage, chunk.score, PAGE))]
        if self.settings.lead_chunk and lead is not None:
            parts.insert(0, (lead.unit, Hit(lead.passage, lead.score, LEAD)))
        if number < self.settings.profile_tries:
            profiles = self.corpus.snapshot.units(Kind.PROFILE, {profile_id(chunk.unit.document)})
            parts += [(unit, Hit(unit, chunk.score, PROFILE)) for unit in profiles]
        read = pack(tuple(Hit(unit, hit.score, hit.channel) for unit, hit in parts), self.settings.evidence_tokens)
        units = tuple(hit.unit for hit in read)
        return Attempt(units, tuple(hit for unit, hit in parts if unit in units))

    def _enriched(self, asked: Asked, name: str, engine: SearchEngine, meter: Meter) -> Attempt:
        """What is found for the sub-question, reworded in the light of the last finding that tells of the name, else of the
        whole question (equation 4).
        """
        telling = (
            found for found in reversed(asked.findings) if found.answer and name.casefold() in found.answer.casefold()
        )
        found = next(telling, None)
        context = f"{found.asked} {found.answer}" if found else asked.whole
        if context == asked.asked:
            return self._found_by(engine, asked.asked)
        return self._found_by(engine, meter.perform(Clarify(asked.asked, name, context)))

    def _found_by(self, engine: SearchEngine, question: str) -> Attempt:
        try:
            hits = pack(engine.search(question, self.settings.fallback_k), self.settings.evidence_tokens)
        except ModelUnavailable as error:
            if self.settings.fallback != "online":
                raise
            raise TaskFailed(f"search: {error}") from error
        return Attempt(tuple(hit.unit for hit in hits), hits)

    def _tried(self, asked: Asked, attempt: Attempt, course: _Course, meter: Meter) -> CitedHop | None:
        """The hop, if what an attempt reads gives an answer that holds against it; None otherwise."""
        reading = self._read(asked.asked, attempt, meter) if attempt.units else Reading(None)
        check_support([span for step in reading.steps for span in step.support], attempt.hits)
        if reading.answer is not None:
            supported = meter.perform(Verify(asked.asked, attempt.units, reading.answer))
            if supported >= self.settings.acceptance:
                return self._answered(asked, reading, attempt, course)
            course.rejected.append(_Rejected(reading.answer, supported, reading, attempt))
        course.tried.append(attempt)
        return None

    def _read(self, question: str, attempt: Attempt, meter: Meter) -> Reading:
        reading = meter.perform(Read(question, attempt.units))
        return voted(reading, question, attempt.units, self.corpus, self.settings.voting, meter)

    def _last(self, asked: Asked, course: _Course, meter: Meter) -> CitedHop:
        """Another engine's texts, read once; if they do not tell either, the best of what was rejected, or nothing."""
        if self._engine and self.settings.fall_back:
            attempt = self._found_by(self._engine, asked.asked)
            if (hop := self._tried(asked, attempt, course, meter)) is not None:
                return hop
        best = course.best(self.settings.last_resort) if self.settings.last_resort < 1 else None
        if best is not None:
            return self._answered(asked, best.reading, best.attempt, course)
        return CitedHop(Hop(asked.question, asked.asked, self._hits((), course), None, Verdict.UNANSWERED))

    def _answered(self, asked: Asked, reading: Reading, attempt: Attempt, course: _Course) -> CitedHop:
        """Only what stands in the index is cited; hits from elsewhere show in the trail where they are from."""
        elsewhere = {hit.unit.document for hit in attempt.hits if not is_stored(hit)}
        support = [span for step in reading.steps for span in step.support if span.document not in elsewhere]
        hits = self._hits(sorted(attempt.hits, key=lambda hit: not _holds_any(hit, support)), course)
        return CitedHop(Hop(asked.question, asked.asked, hits, reading.answer, verdict_of(reading)), tuple(support))

    def _remembers(self, question: str, meter: Meter) -> Reading | None:
        """What the model knows by itself, if it is sure enough.

        The check that attempts are put to would ask evidence that has just failed; here the model's own confidence decides.
        """
        reading = meter.perform(Recall(question))
        sure = reading.answer is not None and reading.confidence >= self.settings.acceptance
        return reading if sure else None

    def _hits(self, settling: Sequence[Hit], course: _Course) -> Ranking:
        """What settled it (all of it, for citing), what was tried, then what else was found: by page, then by passage."""
        tried = [hit for attempt in course.tried for hit in attempt.hits]
        limit = max(self.k, len(settling))
        return interleave([(*settling, *tried, *self._rest(course.pages))], limit)

    def _rest(self, pages: Pages) -> Sequence[Hit]:
        """The best passage of every page, those of named pages first, then all that searching found."""
        best: dict[Page, Hit] = {}
        page_of = {document: page for page in pages.pages for document in page.title.documents}
        for hit in pages.found:
            page = page_of.get(hit.unit.document)
            if page is not None:
                best.setdefault(page, hit)
        for page in pages.pages:
            if page not in best:
                for chunk in self._search.chunks(page, pages.vector)[:1]:
                    best[page] = Hit(chunk.passage, chunk.score, UNREAD)
        return [*(best[page] for page in pages.pages if page in best), *pages.found]

    @cached_property
    def _search(self) -> HierarchicalSearch:
        return HierarchicalSearch(self.corpus, self.settings.pages)

    @cached_property
    def _engine(self) -> SearchEngine | None:
        match self.settings.fallback:
            case "none":
                return None
            case "local":
                return LocalEngine(self.corpus, self.settings.pages.hybrid)
            case "online":
                return OnlineEngine(WebSearch(self.settings.online))


def _holds_any(hit: Hit, spans: Sequence[Span]) -> bool:
    return any(source.covers(span) for source in hit.unit.sources for span in spans)


def memory_draws(question: str, settings: RethinkSettings) -> Iterator[bool]:
    """Whether memory is asked after the first, second, ... failed attempt: with probability (t / m)^2 (equation 7).

    The same question and seed draw the same.
    """
    chance = random.Random(f"{settings.seed}\x1f{question}")  # noqa: S311 - a draw, no secret
    for failures in range(1, settings.attempts + 1):
        yield settings.memory and chance.random() < (failures / settings.memory_rounds) ** 2
