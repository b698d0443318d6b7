"""Answer one sub-question from one candidate text at a time, each answer checked: HiRAG's retriever, filter and rethinking.

    section 4.3   page by title, its chunks by dense similarity                          hierarchy.py
                  several titles fit equally: reword the question with what is known     here, `_enriched_attempt`,
                  of the name, and search for that (equation 4)                          task clarify
    section 4.4   read one chunk (and the profile of its page), check the answer         here, `_attempts`
                  against it; then the next chunk of the page, then the next page
                  the model's memory with probability (t / m)^2 after failed attempt t   here, `_settle`
    (ours)        after the last attempt, ask another engine                             here, `_last_resort`
    (its code)    majority vote of several replies                                       voting.py

Any recipe can call `Rethinking.hop`. It does not know where sub-questions come from or what becomes of the answers.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import islice, repeat
from typing import Literal

from hoptrail.errors import ModelUnavailable, TaskFailed
from hoptrail.language.listener import Meter
from hoptrail.language.tasks import Clarify, Finding, Read, Reading, Recall, Verify
from hoptrail.recipes.answering import ONLINE, CitedHop, check_support, is_stored, memory_hop, outside_unit, verdict_of
from hoptrail.recipes.hopwise import failed_hop
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.rankings import interleave, pack
from hoptrail.retrieval.units.unit_search import hybrid_search
from hoptrail.setting_limits import AtLeast0, AtLeast1, Share, check_limits
from hoptrail.text.normal_forms import same_words
from hoptrail.types import Hit, Hop, Kind, Ranking, Unit, Verdict
from hoptrail_papers.baselines.voting import VotingSettings, vote
from hoptrail_papers.hirag.hierarchy import Chunk, HierarchicalSearch, HierarchySettings, Pages, Title
from hoptrail_papers.hirag.profiles import profile_id
from hoptrail_papers.hirag.web_search import WebSearch, WebSearchSettings

PAGE = "page"
"""Channel of chunks read because of their page's title."""
UNREAD = "unread-page"
"""Channel of the best chunk of a page that was found by its title but not read."""
PROFILE = "profile"
LEAD = "lead"
FALLBACK = "fallback"
"""Channel of hits from searching the corpus as a whole."""
READ = frozenset({PAGE, PROFILE, LEAD, FALLBACK})  # channels of hits that were read; all others were only found

Engine = Callable[[str], Ranking]
"""A fallback engine: its hits for a question, best first. One on the web may raise ModelUnavailable."""

MEMORY_ROUNDS = 5  # m of equation 7


@dataclass(frozen=True, slots=True)
class RethinkSettings:
    """How many attempts are made, what each reads, and when an answer is accepted.

    Make at most `attempts` (th3), of which `chunk_tries` (th2) on any page but the last. `chunk_rethink` and `page_rethink` allow
    a second chunk of a page and a second page. Accept an answer at once if the language finds it supported with probability
    `acceptance`. After the last attempt, accept the best supported of the rejected answers if its support, summed over attempts
    with the same answer, reaches `last_resort` (1: never).

    The first `profile_tries` on a page also read its profile; with `lead_chunk` each also reads the page's first chunk. The
    `fallback` engine gives `fallback_k` texts: with `enrichment` for an ambiguous name, which does not count as an attempt, and
    with `fall_back` after all attempts have failed. With `memory` the model's own knowledge is asked with probability
    (t / MEMORY_ROUNDS)^2 after the t-th failed attempt, drawn from `seed` and the question; if no page is found, as often as
    there could have been attempts. `voting` says how many replies are counted.
    """

    attempts: AtLeast1 = 4
    chunk_tries: AtLeast1 = 3
    chunk_rethink: bool = True
    page_rethink: bool = True
    acceptance: Share = 0.3
    last_resort: Share = 0.1
    profile_tries: AtLeast0 = 1
    lead_chunk: bool = False
    enrichment: bool = True
    fallback: Literal["none", "local", "online"] = "local"
    fall_back: bool = True
    fallback_k: AtLeast1 = 20
    memory: bool = False
    seed: AtLeast0 = 0
    voting: VotingSettings = field(default_factory=VotingSettings)
    pages: HierarchySettings = field(default_factory=HierarchySettings)
    online: WebSearchSettings = field(default_factory=WebSearchSettings)

    def __post_init__(self) -> None:
        check_limits(self)
        if self.attempts > MEMORY_ROUNDS:
            raise ValueError(f"attempts is at most {MEMORY_ROUNDS}, or a probability would pass 1")
        if self.fallback == "online" and self.online.engine == "off":
            raise ValueError("fallback online needs an engine under online")

    @property
    def most_tasks(self) -> tuple[int, int]:
        """Upper bounds on tasks for one sub-question, with evidence and without. The fallback adds an attempt for an ambiguous
        name, after a rewording, and one at the end; each attempt draws and compares replies; memory follows each failure.
        """
        enriched = self.enrichment and self.fallback != "none"
        tries = self.attempts + enriched + (self.fall_back and self.fallback != "none")
        remembered = self.attempts if self.memory else 0
        return tries * (self.voting.replies + 1), tries * self.voting.most_judged + enriched + remembered


@dataclass(frozen=True, slots=True)
class SubQuestion:
    """A sub-question as put, as really `asked`, the `whole` question, and the findings so far."""

    question: str
    asked: str
    whole: str
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Attempt:
    """The units that one attempt reads, and the hits they come from."""

    units: tuple[Unit, ...]
    hits: Ranking


@dataclass(frozen=True, slots=True)
class _Rejected:
    """An answer that was not accepted, its probability given the evidence, and where it was read."""

    answer: str
    supported: float
    reading: Reading
    attempt: Attempt


@dataclass(slots=True)
class _Progress:
    """The state of one sub-question: the pages found for it, the failed attempts, and the rejected answers."""

    sub_question: SubQuestion
    meter: Meter
    pages: Pages
    tried: list[Attempt] = field(default_factory=list)
    rejected: list[_Rejected] = field(default_factory=list)

    def best(self, least: float) -> _Rejected | None:
        """The best reading of the rejected answer with most support, summed over attempts, if that is at least `least`."""

        def support(one: _Rejected) -> float:
            return math.fsum(other.supported for other in self.rejected if same_words(one.answer, other.answer))

        best = max(self.rejected, key=lambda one: (support(one), one.supported), default=None)
        return best if best is not None and support(best) >= least else None


@dataclass(frozen=True)
class Rethinking:
    """Answers sub-questions from a corpus; a hop keeps at most `k` hits, and at most `evidence_tokens` are read at once."""

    corpus: Corpus
    settings: RethinkSettings = field(default_factory=RethinkSettings)
    k: int = 20
    evidence_tokens: int = 6000

    def hop(self, sub_question: SubQuestion, meter: Meter) -> CitedHop:
        """The sub-question's hop. Its hits: first those that settled it, then those of failed attempts, then the rest.

        If a task or the web search engine fails, the hop is a failed one.
        Raises: UsageError: the web search engine cannot be used with these settings.
        """
        progress = _Progress(sub_question, meter, self._search.pages(sub_question.asked))
        try:
            return self._settle(progress)
        except TaskFailed:
            return failed_hop(sub_question.question, sub_question.asked, self._hits((), progress))

    def _settle(self, progress: _Progress) -> CitedHop:
        question, asked = progress.sub_question.question, progress.sub_question.asked
        if self.settings.enrichment and progress.pages.ambiguous and self._engine:
            enriched = self._enriched_attempt(progress, progress.pages.ambiguous[0], self._engine)
            if (hop := self._supported_hop(enriched, progress)) is not None:
                return hop
        draws = memory_draws(asked, self.settings)
        for attempt in islice(self._attempts(progress), self.settings.attempts):
            if attempt is not None and (hop := self._supported_hop(attempt, progress)) is not None:
                return hop
            if next(draws):
                memory = progress.meter.perform(Recall(asked, progress.meter.abstain))
                # The evidence has just failed, so it cannot verify what the model says with little confidence.
                if memory.answer is not None and memory.confidence >= self.settings.acceptance:
                    return memory_hop(question, asked, memory, self._hits((), progress)[: self.k - 1])
        return self._last_resort(progress)

    def _attempts(self, progress: _Progress) -> Iterator[Attempt | None]:
        """Page by page, chunk by chunk. The last page may use up all attempts. Without a page: None each time, which fails."""
        pages = progress.pages.pages[: None if self.settings.page_rethink else 1]
        if not pages:
            yield from repeat(None)
        for number, page in enumerate(pages, 1):
            tries = self.settings.chunk_tries if number < len(pages) else self.settings.attempts
            chunks = self._search.chunks(page, progress.pages.vector)
            lead = min(chunks, key=lambda chunk: chunk.unit.sources, default=None)
            for place, chunk in enumerate(chunks[: tries if self.settings.chunk_rethink else 1]):
                yield self._attempt(chunk, lead, place)

    def _attempt(self, chunk: Chunk, lead: Chunk | None, number: int) -> Attempt:
        """Read a chunk, preceded by the lead of its page and followed by its document's profile, without repeats."""
        parts = [(chunk.unit, Hit(chunk.passage, chunk.score, PAGE))]
        if self.settings.lead_chunk and lead is not None:
            parts.insert(0, (lead.unit, Hit(lead.passage, lead.score, LEAD)))
        if number < self.settings.profile_tries:
            profiles = self.corpus.snapshot.units(Kind.PROFILE, {profile_id(chunk.unit.document)})
            parts += [(unit, Hit(unit, chunk.score, PROFILE)) for unit in profiles]
        read = pack(tuple(Hit(unit, hit.score, hit.channel) for unit, hit in parts), self.evidence_tokens)
        units = tuple(hit.unit for hit in read)
        return Attempt(units, tuple(hit for unit, hit in parts if unit in units))

    def _enriched_attempt(self, progress: _Progress, name: str, engine: Engine) -> Attempt:
        """Search for the sub-question, reworded by the last finding with the name, else by the whole question (equation 4)."""
        sub_question, folded_name = progress.sub_question, name.casefold()
        answered = (finding for finding in reversed(sub_question.findings) if finding.answer)
        finding = next((one for one in answered if folded_name in (one.answer or "").casefold()), None)
        context = f"{finding.asked} {finding.answer}" if finding else sub_question.whole
        if context == sub_question.asked:
            return self._engine_attempt(engine, sub_question.asked)
        return self._engine_attempt(engine, progress.meter.perform(Clarify(sub_question.asked, name, context)))

    def _engine_attempt(self, engine: Engine, question: str) -> Attempt:
        try:
            hits = pack(engine(question), self.evidence_tokens)
        except ModelUnavailable as error:
            if self.settings.fallback != "online":
                raise
            raise TaskFailed(f"search: {error}") from error
        return Attempt(tuple(hit.unit for hit in hits), hits)

    def _supported_hop(self, attempt: Attempt, progress: _Progress) -> CitedHop | None:
        """The hop, if the attempt gives an answer that its evidence supports; else record the attempt as failed."""
        asked, meter, reading = progress.sub_question.asked, progress.meter, Reading(None)
        if attempt.units:
            read = meter.perform(Read(asked, attempt.units))
            reading = vote(read, asked, attempt.units, self.corpus, self.settings.voting, meter)
        check_support([span for step in reading.steps for span in step.support], attempt.hits)
        if reading.answer is not None:
            supported = meter.perform(Verify(asked, attempt.units, reading.answer))
            if supported >= self.settings.acceptance:
                return self._answered_hop(reading, attempt, progress)
            progress.rejected.append(_Rejected(reading.answer, supported, reading, attempt))
        progress.tried.append(attempt)
        return None

    def _last_resort(self, progress: _Progress) -> CitedHop:
        """Read the fallback engine's texts once; failing that, take the best rejected answer, or abstain."""
        asked = progress.sub_question.asked
        if self._engine and self.settings.fall_back:
            attempt = self._engine_attempt(self._engine, asked)
            if (hop := self._supported_hop(attempt, progress)) is not None:
                return hop
        best = progress.best(self.settings.last_resort) if self.settings.last_resort < 1 else None
        if best is not None:
            return self._answered_hop(best.reading, best.attempt, progress)
        hits = self._hits((), progress)
        return CitedHop(Hop(progress.sub_question.question, asked, hits, None, Verdict.UNANSWERED))

    def _answered_hop(self, reading: Reading, attempt: Attempt, progress: _Progress) -> CitedHop:
        """Cite only documents of the index; hits from elsewhere appear in the trail with their origin."""
        elsewhere = {hit.unit.document for hit in attempt.hits if not is_stored(hit)}
        support = [span for step in reading.steps for span in step.support if span.document not in elsewhere]

        def is_cited(hit: Hit) -> bool:
            return any(source.covers(span) for source in hit.unit.sources for span in support)

        hits = self._hits(sorted(attempt.hits, key=is_cited, reverse=True), progress)
        question, asked = progress.sub_question.question, progress.sub_question.asked
        return CitedHop(Hop(question, asked, hits, reading.answer, verdict_of(reading)), tuple(support))

    def _hits(self, settling: Sequence[Hit], progress: _Progress) -> Ranking:
        """The settling hits (all, as they are cited), those of failed attempts and the unread ones, up to `k`."""
        tried = [hit for attempt in progress.tried for hit in attempt.hits]
        limit = max(self.k, len(settling))
        return interleave([(*settling, *tried, *self._unread_hits(progress.pages))], limit)

    def _unread_hits(self, pages: Pages) -> Sequence[Hit]:
        """The best passage of every page in the order of pages, then all that the search found."""
        best: dict[Title, Hit] = {}
        page_of = {document: page for page in pages.pages for document in page.documents}
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
    def _engine(self) -> Engine | None:
        match self.settings.fallback:
            case "none":
                return None
            case "local":
                return self._search_corpus
            case "online":
                return partial(search_web, WebSearch(self.settings.online), self.settings.fallback_k)

    def _search_corpus(self, question: str) -> Ranking:
        found = hybrid_search(self.corpus, question, self.settings.fallback_k)
        return tuple(replace(hit, channel=FALLBACK) for hit in found)


def memory_draws(question: str, settings: RethinkSettings) -> Iterator[bool]:
    """Whether to ask memory after failed attempt t: True with probability (t / m)^2, drawn from seed and question."""
    chance = random.Random(f"{settings.seed}\x1f{question}")  # noqa: S311 - a draw, no secret
    for failures in range(1, settings.attempts + 1):
        yield settings.memory and chance.random() < (failures / MEMORY_ROUNDS) ** 2


def search_web(web: WebSearch, limit: int, question: str) -> Ranking:
    """Pages in the engine's order, scored 1 / rank. Raises: ModelUnavailable: it gave no usable reply."""
    units = [outside_unit(page.title, page.url, page.text) for page in web.search(question, limit)]
    return tuple(Hit(unit, 1 / rank, ONLINE + web.name) for rank, unit in enumerate(units, 1))
