"""Two-layer search: pages by their titles, then the chunks of one page by dense similarity.

HiRAG section 4.3. A page is all documents with one title. The names in a question are found without a model: the longest titles
in it, and names by the offline rules. Pages found by searching passages follow the named ones. `recipes/rethinking.py` decides
which chunk answers and when to go on to the next page.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from hoptrail.corpus.snapshot import Snapshot, cached_per_snapshot
from hoptrail.models.encoder import FloatMatrix
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.rankings import scores_of, shares_of_best
from hoptrail.retrieval.units.unit_search import HybridSearchSettings, hybrid_search, keyword_search, nearest
from hoptrail.setting_limits import AtLeast0, AtLeast1, Limited, Share
from hoptrail.structures.catalogue import StructureSettings
from hoptrail.text.mentions import find_names
from hoptrail.text.sentences import without_space
from hoptrail.text.words import words_in
from hoptrail.types import Kind, Ranking, Span, Unit, content_id
from hoptrail_papers.hirag.profiles import profile_id
from hoptrail_papers.hirag.titles import Title, TitleIndex, is_ambiguous

CACHED_PAGES = 512
"""Pages whose chunks are cached with their vectors: some 20 MB at twenty chunks each."""


@dataclass(frozen=True, slots=True)
class HierarchySettings(Limited):
    """How pages are found and cut into chunks.

    `names`: compare titles with the names in a question or, like the released code, with the whole question. A title needs at
    least `least_similarity`; more than `most_equal` titles equal to a name make it ambiguous. `search` finds further pages by
    their passages and orders equally similar titles; `none` uses titles only. At most `pages` are tried.

    Chunks are the stored passages. With `chunk_characters` or `chunk_words` above 0 they are whole sentences of passages up to
    these limits, encoded on demand, without the lines of profiles from a file unless `profile_lines` is set.
    """

    names: Literal["names", "question"] = "names"
    least_similarity: Share = 0.8
    most_equal: AtLeast1 = 1
    search: Literal["none", "keyword", "hybrid"] = "hybrid"
    hybrid: HybridSearchSettings = field(default_factory=HybridSearchSettings)
    pages: AtLeast1 = 20
    chunk_characters: AtLeast0 = 0
    chunk_words: AtLeast0 = 0
    profile_lines: bool = True


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a page, the stored passage that it is or was cut from, and its cosine with the question."""

    unit: Unit
    passage: Unit
    score: float


_PageChunks = tuple[Sequence[tuple[Unit, Unit]], FloatMatrix]
"""Pairs of a chunk and the passage it was cut from, and the chunks' vectors: shape (len(chunks), dimension)."""


@dataclass(frozen=True, slots=True)
class Pages:
    """The pages for one question, best first, its `ambiguous` names, the passages `found` by searching, and its `vector`."""

    pages: tuple[Title, ...]
    ambiguous: tuple[str, ...]
    found: Ranking
    vector: FloatMatrix = field(repr=False, compare=False)


class HierarchicalSearch:
    """Searches a corpus in two layers."""

    def __init__(self, corpus: Corpus, settings: HierarchySettings) -> None:
        self._corpus = corpus
        self._settings = settings

    def pages(self, asked: str) -> Pages:
        """The pages for a question, by title similarity plus share of the best search score; of equal ones first that of the
        longest name (then of the first in the question), because the question is more likely about it.
        """
        found = self._search(asked)
        titles = TitleIndex.of(self._corpus.snapshot)
        least = self._settings.least_similarity
        matches = {name: titles.similar_to(name, least) for name in self._names(asked, titles)}
        ambiguous = tuple(name for name, equal in matches.items() if is_ambiguous(equal, self._settings.most_equal))
        likeness: defaultdict[Title, float] = defaultdict(float)
        by_name: dict[Title, int] = {}
        for number, alike in enumerate(matches.values()):
            for match in alike:
                if match.similarity > likeness[match.title]:
                    likeness[match.title], by_name[match.title] = match.similarity, number
        share: defaultdict[Title, float] = defaultdict(float)
        shares = shares_of_best(scores_of(found))
        for hit in found:
            title = titles.page_of(hit.unit.document)
            share[title] = max(share[title], shares[hit.unit.id])

        def place(page: Title) -> tuple[float, int, str, tuple[str, ...]]:
            return -likeness[page] - share[page], by_name.get(page, len(by_name)), page.name, page.documents

        order = sorted(likeness | share, key=place)
        vector = self._corpus.encoder.encode([asked])[0]
        return Pages(tuple(order[: self._settings.pages]), ambiguous, found, vector)

    def chunks(self, page: Title, vector: FloatMatrix) -> list[Chunk]:
        """The chunks of a page by falling cosine with the question's `vector`, then by rising id."""
        if not (self._settings.chunk_characters or self._settings.chunk_words):
            own = self._passages_of(page)
            return [
                Chunk(hit.unit, hit.unit, hit.score)
                for hit in nearest(self._corpus, vector, len(own), Kind.PASSAGE, own)
            ]
        pairs, vectors = self._cached_chunks(page)
        chunks = (Chunk(*pair, float(row @ vector)) for pair, row in zip(pairs, vectors, strict=True))
        return sorted(chunks, key=lambda chunk: (-chunk.score, chunk.unit.id))

    def _names(self, asked: str, titles: TitleIndex) -> list[str]:
        """The names that the question may be about, longest first."""
        if self._settings.names == "question":
            return [asked]
        named = titles.named_in(asked)
        by_rules = [mention.text for mention in find_names(asked, tuple(named))]
        return sorted(dict.fromkeys((*by_rules, *named)), key=lambda name: (-len(name), asked.find(name)))

    def _search(self, asked: str) -> Ranking:
        depth = self._settings.hybrid.depth
        match self._settings.search:
            case "none":
                return ()
            case "keyword":
                return keyword_search(self._corpus, asked, depth)
            case "hybrid":
                return hybrid_search(self._corpus, asked, depth, self._settings.hybrid)

    def _cached_chunks(self, title: Title) -> _PageChunks:
        """The chunks of a page, cached for the pages used last."""
        cut_page = HierarchicalSearch(self._corpus.without_lease, self._settings).cut_page
        cached = self._corpus.snapshot.derived(("chunks", self._settings), lambda: lru_cache(CACHED_PAGES)(cut_page))
        return cached(title)

    def cut_page(self, title: Title) -> _PageChunks:
        """Cut a page into chunks and encode them."""
        passages = list(self._corpus.snapshot.units(Kind.PASSAGE, self._passages_of(title)))
        documents = self._corpus.documents({unit.document for unit in passages})
        excluded = self._profile_lines(documents)
        pairs = [
            (chunk, unit)
            for unit in sorted(passages, key=lambda unit: unit.sources)
            for chunk in cut_passage(
                unit, _without_spans(documents[unit.document].sentences(), excluded), self._settings
            )
        ]
        return pairs, self._corpus.encoder.encode([chunk.searchable for chunk, _ in pairs])

    def _profile_lines(self, documents: Collection[str]) -> list[Span]:
        """The spans of profiles from a file, which belong only to the profile, unless the settings keep them in chunks."""
        if self._settings.profile_lines or not (self._corpus.structures or StructureSettings()).profiles.from_file:
            return []
        profiles = self._corpus.snapshot.units(Kind.PROFILE, {profile_id(document) for document in documents})
        return [span for profile in profiles for span in profile.sources]

    def _passages_of(self, title: Title) -> Sequence[str]:
        passages = _by_document(self._corpus.snapshot)
        return [id_ for document in title.documents for id_ in passages.get(document, ())]


def cut_passage(passage: Unit, sentences: Iterable[Span], settings: HierarchySettings) -> Iterator[Unit]:
    """Cut a passage into chunks of whole `sentences` of its document within the limits; a longer one is a chunk by itself."""
    whole = passage.sources[0]
    current: list[Span] = []
    for sentence in sentences:
        span = _inside(sentence, whole)
        if span is None:
            continue
        if current and _too_long(passage, current[0].start, span.end, settings):
            yield _chunk(passage, current)
            current = []
        current.append(span)
    if current:
        yield _chunk(passage, current)


def _without_spans(sentences: Iterable[Span], excluded: Sequence[Span]) -> Iterator[Span]:
    """Sentences cut off where the first excluded span in them begins, without empty ones."""
    for sentence in sentences:
        within = [span for span in excluded if _inside(span, sentence)]
        end = min((span.start for span in within), default=sentence.end)
        if sentence.start < end:
            yield Span(sentence.document, sentence.start, end)


def _inside(sentence: Span, whole: Span) -> Span | None:
    start, end = max(sentence.start, whole.start), min(sentence.end, whole.end)
    return Span(whole.document, start, end) if start < end else None


def _too_long(passage: Unit, start: int, end: int, settings: HierarchySettings) -> bool:
    before = passage.sources[0].start
    text = passage.text[start - before : end - before].strip()
    most_characters, most_words = settings.chunk_characters, settings.chunk_words
    return bool(most_characters and len(text) > most_characters) or bool(most_words and words_in(text) > most_words)


def _chunk(passage: Unit, current: Sequence[Span]) -> Unit:
    before = passage.sources[0].start
    start, end = without_space(passage.text, current[0].start - before, current[-1].end - before)
    span = Span(passage.document, before + start, before + end)
    if span == passage.sources[0]:
        return passage
    unit_id = content_id("p", span.document, str(span.start), str(span.end))
    blocks = tuple(block for block in passage.blocks if block.start < span.end and block.end > span.start)
    ends = tuple(min(sentence.end, span.end) - span.start for sentence in current)
    return Unit(unit_id, Kind.PASSAGE, passage.title, passage.text[start:end], (span,), blocks, ends)


@cached_per_snapshot
def _by_document(snapshot: Snapshot) -> dict[str, list[str]]:
    passages: defaultdict[str, list[str]] = defaultdict(list)
    for unit in snapshot.units(Kind.PASSAGE):
        passages[unit.document].append(unit.id)
    return dict(passages)
