"""Finding in two layers: pages by their titles, then the chunks of one page by dense similarity.

HiRAG section 4.3. A page is all documents under one title. The names that a question mentions are told without a model: the
longest titles that stand in it, else what the offline rules take for names. Pages that searching the passages finds stand behind
those that are named. Does not decide which chunk answers, nor when to go on to the next page: `recipes/rethinking.py` does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from hoptrail.corpus.snapshot import Snapshot, made_once
from hoptrail.models.encoder import FloatMatrix
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.fuse import shares_of_best
from hoptrail.retrieval.pages.titles import Title, TitleIndex, tied
from hoptrail.retrieval.units.dense import nearest
from hoptrail.retrieval.units.hybrid import HybridSearchSettings, hybrid_search
from hoptrail.retrieval.units.keyword import keyword_search
from hoptrail.structures.profiles import profile_id
from hoptrail.text.mentions import find_names
from hoptrail.text.words import words_in
from hoptrail.types import Kind, Ranking, Span, Unit, content_id

CACHED_PAGES = 512
"""Pages whose chunks are kept with their vectors: some 20 MB, if they have twenty chunks each."""


@dataclass(frozen=True, slots=True)
class HierarchySettings:
    """How pages are found and cut.

    `names`: what titles are compared with, the names in a question or (as the released code does) the whole question. A title
    counts from `least_similarity` on, and more than `most_equal` titles that equal a name make it ambiguous. `search` finds
    further pages by their passages and puts equally similar titles in order; with `none` titles are all there is. At most
    `pages` are tried. Chunks are the stored passages, or with `chunk_characters` and `chunk_words` above 0 whole sentences of
    them up to these limits, encoded when they are needed; of those the lines of profiles from a file are no part, unless
    `profile_lines` says so.
    """

    names: Literal["names", "question"] = "names"
    least_similarity: float = 0.8
    most_equal: int = 1
    search: Literal["none", "keyword", "hybrid"] = "hybrid"
    hybrid: HybridSearchSettings = field(default_factory=HybridSearchSettings)
    pages: int = 20
    chunk_characters: int = 0
    chunk_words: int = 0
    profile_lines: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.least_similarity <= 1:
            raise ValueError(f"least_similarity lies between 0 and 1, not {self.least_similarity}")
        if min(self.most_equal, self.pages) < 1 or min(self.chunk_characters, self.chunk_words) < 0:
            raise ValueError("most_equal and pages are at least 1, chunk_characters and chunk_words at least 0")

    @property
    def cuts(self) -> bool:
        return bool(self.chunk_characters or self.chunk_words)


@dataclass(frozen=True, slots=True)
class Page:
    """A title with its documents, and how well they fit: the title's likeness (0 to 1) and the share of the best search score."""

    title: Title
    similarity: float
    share: float


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a page, the stored passage that it was cut from or is, and its cosine with the question."""

    unit: Unit
    passage: Unit
    score: float


@dataclass(frozen=True, slots=True)
class Pages:
    """The pages for one question, best first. `ambiguous` are the names that several titles equal; `found` is what searching the
    passages gave; `vector` is the question's.
    """

    pages: tuple[Page, ...]
    ambiguous: tuple[str, ...]
    found: Ranking
    vector: FloatMatrix = field(repr=False, compare=False)


class HierarchicalSearch:
    """Searches a corpus in two layers."""

    def __init__(self, corpus: Corpus, settings: HierarchySettings) -> None:
        self._corpus = corpus
        self._settings = settings

    def pages(self, asked: str) -> Pages:
        """The pages for a question: by likeness of title plus share of the best search score, then by title."""
        found = self._search(asked)
        titles = TitleIndex.of(self._corpus.snapshot)
        matches = [(name, titles.like(name, self._settings.least_similarity)) for name in self._names(asked, titles)]
        ambiguous = tuple(name for name, equal in matches if tied(equal, self._settings.most_equal))
        likeness: defaultdict[Title, float] = defaultdict(float)
        for match in (match for _, like in matches for match in like):
            likeness[match.title] = max(likeness[match.title], match.similarity)
        share: defaultdict[Title, float] = defaultdict(float)
        shares = shares_of_best(found)
        for hit in found:
            title = titles.page_of(hit.unit.document)
            share[title] = max(share[title], shares[hit.unit.id])
        pages = (Page(title, likeness[title], share[title]) for title in {**likeness, **share})
        order = sorted(pages, key=lambda page: (-page.similarity - page.share, page.title.name, page.title.documents))
        return Pages(tuple(order[: self._settings.pages]), ambiguous, found, self.vector(asked))

    def vector(self, asked: str) -> FloatMatrix:
        """The vector of a question, shape (dimension,)."""
        vector: FloatMatrix = self._corpus.encoder.encode([asked])[0]
        return vector

    def chunks(self, page: Page, vector: FloatMatrix) -> list[Chunk]:
        """The chunks of a page by falling cosine with the question of that vector; equal ones in rising order of id."""
        if not self._settings.cuts:
            own = self._passages_of(page.title)
            return [
                Chunk(hit.unit, hit.unit, hit.score)
                for hit in nearest(self._corpus, vector, len(own), Kind.PASSAGE, own)
            ]
        cut = self._cut(page.title)
        chunks = (Chunk(*pair, float(row @ vector)) for pair, row in zip(cut.chunks, cut.vectors, strict=True))
        return sorted(chunks, key=lambda chunk: (-chunk.score, chunk.unit.id))

    def _names(self, asked: str, titles: TitleIndex) -> list[str]:
        """What the question may be about, longest first."""
        if self._settings.names == "question":
            return [asked]
        named = titles.named_in(asked)
        return sorted(dict.fromkeys((*names_in(asked, named), *named)), key=lambda name: (-len(name), name))

    def _search(self, asked: str) -> Ranking:
        depth = self._settings.hybrid.depth
        match self._settings.search:
            case "none":
                return ()
            case "keyword":
                return keyword_search(self._corpus, asked, depth)
            case "hybrid":
                return hybrid_search(self._corpus, asked, depth, self._settings.hybrid)

    def _cut(self, title: Title) -> _Cut:
        """The chunks of a page, kept for those that were looked at last."""
        anew = HierarchicalSearch(self._corpus.unleased, self._settings).cut_page
        cached = self._corpus.snapshot.derived(("chunks", self._settings), lambda: lru_cache(CACHED_PAGES)(anew))
        return cached(title)

    def cut_page(self, title: Title) -> _Cut:
        """The chunks of a page, cut and encoded now."""
        passages = list(self._corpus.snapshot.units(Kind.PASSAGE, self._passages_of(title)))
        documents = self._corpus.documents({unit.document for unit in passages})
        apart = self._lines_apart(documents)
        pairs = tuple(
            (chunk, unit)
            for unit in sorted(passages, key=lambda unit: unit.sources)
            for chunk in cut_passage(unit, _outside(documents[unit.document].sentences(), apart), self._settings)
        )
        return _Cut(pairs, self._corpus.encoder.encode([chunk.searchable for chunk, _ in pairs]))

    def _lines_apart(self, documents: Collection[str]) -> list[Span]:
        """The lines of some documents that are read with their profile only: those that a file says are one's."""
        if self._settings.profile_lines or not self._corpus.structures.profiles.from_file:
            return []
        profiles = self._corpus.snapshot.units(Kind.PROFILE, {profile_id(document) for document in documents})
        return [span for profile in profiles for span in profile.sources]

    def _passages_of(self, title: Title) -> Sequence[str]:
        """All passages of a page."""
        passages = _by_document(self._corpus.snapshot)
        return [id_ for document in title.documents for id_ in passages.get(document, ())]


def names_in(question: str, titles: list[str]) -> list[str]:
    """What the rules take for names in a question in which these titles stand."""
    return [mention.text for mention in find_names(question, titles)]


def cut_passage(passage: Unit, sentences: Iterable[Span], settings: HierarchySettings) -> Iterator[Unit]:
    """A passage as chunks of whole sentences within the limits; a sentence above them is a chunk of its own.

    `sentences` are those of the passage's document.
    """
    whole = passage.sources[0]
    held: list[Span] = []
    for sentence in sentences:
        span = _inside(sentence, whole)
        if span is None:
            continue
        if held and _too_long(passage, held[0].start, span.end, settings):
            yield _chunk(passage, held)
            held = []
        held.append(span)
    if held:
        yield _chunk(passage, held)


def _outside(sentences: Iterable[Span], apart: Sequence[Span]) -> Iterator[Span]:
    """What of some sentences is in none of the spans `apart`: of one that a span begins in, what stands before."""
    for sentence in sentences:
        within = [span for span in apart if _inside(span, sentence)]
        end = min((span.start for span in within), default=sentence.end)
        if sentence.start < end:
            yield Span(sentence.document, sentence.start, end)


def _inside(sentence: Span, whole: Span) -> Span | None:
    start, end = max(sentence.start, whole.start), min(sentence.end, whole.end)
    return Span(whole.document, start, end) if start < end else None


def _too_long(passage: Unit, start: int, end: int, settings: HierarchySettings) -> bool:
    text = _text(passage, start, end).strip()
    most_characters, most_words = settings.chunk_characters, settings.chunk_words
    return bool(most_characters and len(text) > most_characters) or bool(most_words and words_in(text) > most_words)


def _chunk(passage: Unit, held: Sequence[Span]) -> Unit:
    start, end = held[0].start, held[-1].end
    text = _text(passage, start, end)
    start += len(text) - len(text.lstrip())
    span = Span(passage.document, start, start + len(text.strip()))
    if span == passage.sources[0]:
        return passage
    unit_id = content_id("p", span.document, str(span.start), str(span.end))
    blocks = tuple(block for block in passage.blocks if block.start < span.end and block.end > span.start)
    ends = tuple(min(sentence.end, span.end) - span.start for sentence in held)
    return Unit(unit_id, Kind.PASSAGE, passage.title, text.strip(), (span,), blocks, ends)


def _text(passage: Unit, start: int, end: int) -> str:
    before = passage.sources[0].start
    return passage.text[start - before : end - before]


@made_once
def _by_document(snapshot: Snapshot) -> dict[str, list[str]]:
    """The passages of every document."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for unit in snapshot.units(Kind.PASSAGE):
        found[unit.document].append(unit.id)
    return dict(found)


@dataclass(frozen=True, slots=True)
class _Cut:
    """Chunks, each with the passage it was cut from, and their vectors, shape (len(chunks), dimension)."""

    chunks: tuple[tuple[Unit, Unit], ...]
    vectors: FloatMatrix
