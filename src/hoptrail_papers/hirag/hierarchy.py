"""Two-layer search: pages by their titles, then the chunks of one page by dense similarity.

HiRAG section 4.3. A page is all documents with one title. The names in a question are found without a model: the longest titles
in it, and names by the offline rules. Pages found by searching passages follow the named ones. `rethinking.py` decides
which chunk answers and when to go on to the next page.

The first layer matches entity names with titles lexically. The title index (the titles of documents, those that a question names
and those similar to a name) is built from all titles of a snapshot on first use
(for the 6,119 of 2WikiMultiHopQA in a fifth of a second and some 6 MB, both proportional to their number). Ignores the text of
documents and does not translate. In scripts without spaces only a whole name finds a title.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Literal

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.models.encoder import FloatMatrix
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.rankings import scores_of, shares_of_best
from hoptrail.retrieval.units.unit_search import hybrid_search, keyword_search, nearest
from hoptrail.setting_limits import AtLeast0, AtLeast1, Limited, Share
from hoptrail.structures.catalogue import StructureSettings
from hoptrail.text.lexicon import STOP_WORDS
from hoptrail.text.mentions import find_names
from hoptrail.text.normal_forms import base_title, folded, squeeze
from hoptrail.text.sentences import without_space
from hoptrail.text.title_scanning import name_key
from hoptrail.text.words import LETTERS, words_in
from hoptrail.types import Kind, Ranking, Span, Unit, content_id
from hoptrail_papers.hirag.profiles import DISAMBIGUATION, profile_id

MOST_WORDS = 16  # words of the longest title that is looked up in a question
CANDIDATES = 20
"""Titles compared with a name letter by letter: those that share its rarest words (the released code: 20)."""
MOST_LETTERS = 200  # letters of a name and of a title that are compared

_WORD = re.compile(LETTERS)


@dataclass(frozen=True, slots=True)
class Title:
    """A title and the rising ids of the documents that have it: they form one page."""

    name: str
    documents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TitleMatch:
    """A title with its similarity to a name, 0 to 1: 1 if they differ only in case, accents and a parenthesis.

    `shared`: a further name of the title says that several things have the name. `primary`: the name is the whole title, without
    a parenthesis; on a wiki such a page is about the name's main meaning.
    """

    title: Title
    similarity: float
    shared: bool = False
    primary: bool = False


class TitleIndex:
    """Titles of documents and their further names. Use `of`."""

    def __init__(self, titled: Iterable[tuple[str, str]], further_names: Iterable[tuple[str, str]] = ()) -> None:
        """Both arguments are pairs of a name and a document id."""
        spellings: dict[str, str] = {}
        documents: defaultdict[str, list[str]] = defaultdict(list)
        for name, document in sorted(titled, key=lambda pair: pair[1]):
            key = folded(name) or document
            spellings.setdefault(key, squeeze(name))
            documents[key].append(document)
        titles = [Title(spellings[key], tuple(ids)) for key, ids in sorted(documents.items())]
        self._page_of = {document: title for title in titles for document in title.documents}
        named = [(title.name, title) for title in titles]
        named += [(name, self._page_of[document]) for name, document in sorted(further_names)]
        self._names, self._titles = [name for name, _ in named], [title for _, title in named]
        # Each name is looked up whole, with and without its parenthesis, and by word.
        self._forms = [tuple(dict.fromkeys((name_key(name), name_key(base_title(name))))) for name in self._names]
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        self._by_word: defaultdict[str, list[int]] = defaultdict(list)
        for place, forms in enumerate(self._forms):
            for form in filter(None, forms):
                self._places[form].append(place)
            for word in dict.fromkeys(forms[0].split()):
                self._by_word[word].append(place)

    @classmethod
    def of(cls, snapshot: Snapshot) -> TitleIndex:
        """The index of all documents of a snapshot, built once."""

        def build() -> TitleIndex:
            units = (unit for unit in snapshot.units(Kind.PROFILE) if unit.id != profile_id(unit.document))
            titled = ((entry.title, entry.id) for entry in snapshot.register.entries)
            return cls(titled, ((unit.title, unit.document) for unit in units))

        return snapshot.derived(cls.__name__, build)

    def page_of(self, document: str) -> Title:
        """The page of a document: its title with all documents that have it."""
        return self._page_of[document]

    def named_in(self, text: str) -> list[str]:
        """The parts of `text` that are titles, the longest first, without overlaps.

        If the text has capitals at all, a title must have one: `home` is not the film `Home`.
        """
        words = list(_WORD.finditer(text))
        keys = [name_key(word.group()) for word in words]
        cased = text[1:] != text[1:].lower()
        covered: set[int] = set()
        names: list[str] = []
        for size in range(min(MOST_WORDS, len(words)), 0, -1):
            for first in range(len(words) - size + 1):
                part, places = text[words[first].start() : words[first + size - 1].end()], range(first, first + size)
                is_title = " ".join(keys[first : first + size]) in self._places and covered.isdisjoint(places)
                if is_title and _is_name(part, at_start=first == 0, cased=cased):
                    covered.update(places)
                    names.append(part)
        return names

    def similar_to(self, name: str, least: float) -> tuple[TitleMatch, ...]:
        """The titles with a similarity of at least `least` to `name`, the most similar first, then by title."""
        key = name_key(name)
        equal = set(self._places.get(key, ()))
        shared = {self._titles[place] for place in equal if folded(self._names[place]).endswith(DISAMBIGUATION)}
        likeness: defaultdict[Title, float] = defaultdict(float)
        for place in (*sorted(equal), *self._candidates(key)):
            similarity = 1.0 if place in equal else self._similarity(key, place)
            likeness[self._titles[place]] = max(likeness[self._titles[place]], similarity)
        near = ((title, value) for title, value in likeness.items() if value >= least)
        matches = (TitleMatch(title, value, title in shared, key == name_key(title.name)) for title, value in near)
        return tuple(sorted(matches, key=lambda match: (-match.similarity, match.title.name, match.title.documents)))

    def _candidates(self, key: str) -> Sequence[int]:
        """Places of the CANDIDATES names that share the rarest words with a name, best first."""
        shared: defaultdict[int, float] = defaultdict(float)
        for word in dict.fromkeys(key.split()):
            places = self._by_word.get(word, ())
            weight = math.log1p(len(self._names) / (1 + len(places)))
            for place in places:
                shared[place] += weight
        return sorted(shared, key=lambda place: (-shared[place], place))[:CANDIDATES]

    def _similarity(self, key: str, place: int) -> float:
        """The higher similarity of the name with and without its parenthesis, below 1, which means equality."""
        forms = (form[:MOST_LETTERS] for form in self._forms[place])
        return min(max(SequenceMatcher(None, key[:MOST_LETTERS], form).ratio() for form in forms), 0.999)


def is_ambiguous(matches: Sequence[TitleMatch], most: int) -> bool:
    """Whether a name is ambiguous: more than `most` titles equal it, or it is known to be shared and is no primary title.

    A page that lists namesakes is not counted as one.
    """
    equal = [match for match in matches if match.similarity == 1]
    namesakes = [match for match in equal if not folded(match.title.name).endswith(DISAMBIGUATION)]
    has_primary = any(match.primary and not match.shared for match in equal)
    return len(namesakes) > most or (any(match.shared for match in equal) and not has_primary)


def _is_name(part: str, *, at_start: bool, cased: bool) -> bool:
    """Whether a part of a question may be meant as a title."""
    if part.lower() in STOP_WORDS and (at_start or not part[0].isupper()):
        return False
    if not any(letter.isalpha() for letter in part):
        return False  # a year, not the film of that name
    return not cased or part != part.lower() or part.lower() == part.upper()  # some scripts have no capitals


SEARCHED = 100  # passages found to lead to pages
CACHED_PAGES = 512  # pages whose chunks are cached with their vectors: some 20 MB at twenty chunks each


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
            own = [unit.id for unit in self._corpus.snapshot.table.within(Kind.PASSAGE, page.documents)]
            hits = nearest(self._corpus, vector, len(own), Kind.PASSAGE, own)
            return [Chunk(hit.unit, hit.unit, hit.score) for hit in hits]
        snapshot = self._corpus.snapshot
        cut_page = HierarchicalSearch(self._corpus.without_lease, self._settings).cut_page
        cached = snapshot.derived(("chunks", self._settings), lambda: lru_cache(CACHED_PAGES)(cut_page))
        pairs, vectors = cached(page)
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
        match self._settings.search:
            case "none":
                return ()
            case "keyword":
                return keyword_search(self._corpus, asked, SEARCHED)
            case "hybrid":
                return hybrid_search(self._corpus, asked, SEARCHED)

    def cut_page(self, title: Title) -> _PageChunks:
        passages = list(self._corpus.snapshot.table.within(Kind.PASSAGE, title.documents))
        documents = self._corpus.documents({unit.document for unit in passages})
        excluded = self._profile_lines(documents)
        pairs: list[tuple[Unit, Unit]] = []
        for unit in sorted(passages, key=lambda unit: unit.sources):
            own = [span for span in excluded if span.document == unit.document]
            sentences = documents[unit.document].sentences()
            pairs += ((chunk, unit) for chunk in cut_passage(unit, sentences, self._settings, own))
        return pairs, self._corpus.encoder.encode([chunk.searchable for chunk, _ in pairs])

    def _profile_lines(self, documents: Collection[str]) -> list[Span]:
        """The spans of profiles from a file, which belong only to the profile, unless the settings keep them in chunks."""
        if self._settings.profile_lines or not (self._corpus.structures or StructureSettings()).profiles.from_file:
            return []
        profiles = self._corpus.snapshot.units(Kind.PROFILE, {profile_id(document) for document in documents})
        return [span for profile in profiles for span in profile.sources]


def cut_passage(
    passage: Unit, sentences: Iterable[Span], settings: HierarchySettings, excluded: Collection[Span] = ()
) -> Iterator[Unit]:
    """Cut a passage into chunks of whole `sentences` of its document within the limits; a longer one is a chunk by itself.
    A sentence is cut off where the first excluded span in it begins.
    """
    whole = passage.sources[0]
    current: list[Span] = []
    for sentence in sentences:
        inside = [span.start for span in excluded if span.start < sentence.end and sentence.start < span.end]
        start, end = max(sentence.start, whole.start), min(sentence.end, whole.end, *inside)
        if start >= end:
            continue
        span = Span(whole.document, start, end)
        text = passage.text[(current or [span])[0].start - whole.start : span.end - whole.start].strip()
        too_long = 0 < settings.chunk_characters < len(text) or 0 < settings.chunk_words < words_in(text)
        if current and too_long:
            yield _chunk(passage, current)
            current = []
        current.append(span)
    if current:
        yield _chunk(passage, current)


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
