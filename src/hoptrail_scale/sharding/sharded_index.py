"""Asking a corpus in shards.

    1. Every shard counts the words of the question. From now on words count as in the whole corpus.
    2. Every shard returns its best passages by words, by vectors and on paths, and the names in the best of the latter.
    3. For path search, every shard returns the passages nearest to the question that have one of the names of the others.
    4. What was found is fetched into a small index (`candidate_index`), over which the recipe runs unchanged.

`bm25`, `dense` and `hybrid` rank exactly as over one index, because the best passages of the whole are among the best of the
shards. `trail` searches the paths among what was found; so do its further searches for the same question.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial, reduce
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.head import Head, check_encoder
from hoptrail.corpus.keywords import WordCounts, keyword_words
from hoptrail.corpus.passage_graph import NAMES
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.structure_names import MENTIONS
from hoptrail.corpus.units import Found
from hoptrail.corpus.writer import Writer, writing_to
from hoptrail.errors import UsageError
from hoptrail.index.settings import Settings
from hoptrail.language.factory import LanguageContext, open_language
from hoptrail.language.listener import LazyLanguage
from hoptrail.language.tasks import Language
from hoptrail.models.encoder import Encoder
from hoptrail.models.encoder_factory import open_encoder
from hoptrail.recipes.catalogue import needed_structures, open_recipe, recipe_settings
from hoptrail.recipes.recipe import Recipe
from hoptrail.recipes.single_pass import Bm25Settings, HybridSettings
from hoptrail.recipes.trail import TrailSettings
from hoptrail.retrieval.corpus import Corpus, check_question
from hoptrail.retrieval.paths.candidates import AS_TRAINED, Bridge, CandidateSettings, bridge_vectors, choose_bridges
from hoptrail.retrieval.paths.queries import PathQueries
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.declaration import Name
from hoptrail.structures.progress_tracker import ignore
from hoptrail.structures.title_mentions import TitleMentions
from hoptrail.types import Answer, Kind, Ranking, Usage
from hoptrail_scale.sharding.shard import Asked, AskedPaths, CountedWords, Departure, Scatter, Shard, ShardContents

RECIPES = ("bm25", "dense", "hybrid", "trail")
"""The recipes that shards can be asked with: their searches depend on the question alone."""

DEPTH = 100  # passages by words, and by vectors, that are gathered at least. `hybrid` fuses as many of each.

TIMES_ON_PATHS = 4
"""Candidates of path search that are gathered from all shards together, as a multiple of those that one index orders."""

LEAST_ON_PATHS = 30  # candidates of path search that are gathered from each shard at least


class ShardedIndex:
    """A corpus in shards, for questions and searches. Thread-safe as far as its `scatter` is."""

    def __init__(self, scatter: Scatter, settings: Settings | None = None, replies: Path | None = None) -> None:
        """`replies`: the folder for the paid replies of a chat model.
        Raises: IndexMismatch: the shards were made by another encoder than that of the settings.
        """
        self.settings = settings or Settings()
        self._scatter = scatter
        self._replies = replies
        self._begin()

    def _begin(self) -> None:
        heads, commits = zip(*self._scatter.all(Shard.state), strict=True)
        self._heads: tuple[Head, ...] = heads
        self._commits: tuple[int, ...] = commits
        for number, head in enumerate(self._heads, start=1):
            check_encoder(f"shard {number} of {len(self._heads)}", head.encoder, self.encoder.identity)
        units, lengths = zip(*self._scatter.all(Shard.sizes), strict=True)
        self._units, self._length = sum(units), sum(lengths)

    def renew(self) -> None:
        """Search the last publication of every shard from now on."""
        try:
            self._scatter.renew()
        finally:  # some shards may have been renewed
            self._begin()

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder of the settings. Raises: UsageError, ModelUnavailable: it cannot be opened."""
        return open_encoder(self.settings.encoder)

    def search(self, question: str, recipe: str | None = None, limit: int | None = None) -> Ranking:
        """At most `limit` hits of a recipe, best first.
        Raises: UsageError: the recipe cannot search shards, or they lack what it needs; WorkFailed: a shard is lost.
        """
        with self._asking(question, recipe, LazyLanguage(self.language), limit) as opened:
            return opened.retrieve(check_question(question))

    def ask(self, question: str, recipe: str | None = None, language: Language | str | None = None) -> Answer:
        """Answer a question, or abstain, with evidence and trail. Raises: as `search`."""
        if language is None or isinstance(language, str):
            language = self.language(language)
        with self._asking(question, recipe, language) as opened:
            return opened.answer(check_question(question))

    def language(self, name: str | None = None) -> Language:
        """Open a language. Raises: UsageError: there is none of that name, or it cannot be used."""
        return open_language(name or self.settings.language, self._context)

    @cached_property
    def _context(self) -> LanguageContext:
        return LanguageContext(self.encoder, self._replies, self.settings.chat, self.settings.offline)

    @contextmanager
    def _asking(
        self, question: str, recipe: str | None, language: Language, limit: int | None = None
    ) -> Iterator[Recipe]:
        """The recipe over what was gathered for a question."""
        name = recipe or self.settings.recipe
        own = recipe_settings(name, self.settings.recipes)
        check_recipe(name)
        needed = needed_structures([name], self.settings.recipes)
        for number, head in enumerate(self._heads, start=1):
            if missing := sorted(needed - head.structures.keys()):
                raise UsageError(f"recipe {name} needs {', '.join(missing)}, which shard {number} does not hold.")
        depth = max(DEPTH, limit or own.k)
        if isinstance(own, HybridSettings):
            depth = max(depth, own.search.depth, own.rerank_depth)
        paths = AS_TRAINED if isinstance(own, TrailSettings) else None
        asked = self._asked(check_question(question), paths, by_vector=not isinstance(own, Bm25Settings))
        with self._gathered(asked, depth) as snapshot:
            corpus = Corpus(snapshot, lambda: self.encoder, self.settings.structures)
            yield open_recipe(name, corpus, language, self.settings.recipes, limit)

    @contextmanager
    def _gathered(self, asked: Asked, depth: int) -> Iterator[Snapshot]:
        leads = self._scatter.all(partial(Shard.find, asked=asked, depth=depth))
        ids = {*_best([lead.by_words for lead in leads], depth), *_best([lead.by_vectors for lead in leads], depth)}
        if asked.paths:
            ids |= self._on_paths(asked, asked.paths, [lead.departures for lead in leads])
        contents = partial(Shard.contents, ids=frozenset(ids), sentences=asked.paths is not None)
        with candidate_index(self._scatter.all(contents), self._heads[0], self, self.encoder) as snapshot:
            yield snapshot

    def _on_paths(self, asked: Asked, paths: AskedPaths, found: Sequence[tuple[Departure, ...]]) -> set[str]:
        """The candidates of path search in all shards."""
        departures = tuple(departure for several in found for departure in several)
        bridges = self._scatter.all(partial(Shard.bridges, asked=asked, departures=departures))
        promising = _best_bridges(bridge for several in bridges for bridge in several)
        names = sorted({bridge.text for bridge in promising})
        counts = reduce(np.add, self._scatter.all(partial(Shard.passages_with, names=names)))
        chosen = choose_bridges(promising, dict(zip(names, counts.tolist(), strict=True)), paths.settings.bridges)
        vectors = bridge_vectors(chosen, paths.queries, self.encoder)
        most = max(LEAST_ON_PATHS, TIMES_ON_PATHS * paths.settings.candidates // len(self._heads))
        search = partial(Shard.on_paths, asked=asked, departures=departures, bridges=chosen, vectors=vectors, most=most)
        return set[str]().union(*self._scatter.all(search))

    def _asked(self, question: str, paths: CandidateSettings | None, *, by_vector: bool) -> Asked:
        queries = PathQueries.of(question) if paths else None
        texts = (*queries.texts, *queries.words) if queries else (question,)
        words = sorted({word for text in texts for word in keyword_words(text)})
        counts = self.frequencies(words).tolist()
        return Asked(
            question,
            CountedWords(self._units, self._length, dict(zip(words, counts, strict=True))),
            self._commits,
            self.encoder.encode([question])[0] if by_vector else None,
            AskedPaths(queries, self.encoder.encode(queries.texts), paths) if queries and paths else None,
        )

    def sizes(self) -> tuple[int, int]:
        """See `corpus.keywords.WordCounts`."""
        return self._units, self._length

    def frequencies(self, words: Sequence[str]) -> NDArray[np.int64]:
        """See `corpus.keywords.WordCounts`: every shard counts."""
        return reduce(np.add, self._scatter.all(partial(Shard.frequencies, words=tuple(words))))


def check_recipe(name: str) -> None:
    """Raises: UsageError: shards cannot be asked with a recipe of this name."""
    if name.partition(":")[0] not in RECIPES:
        raise UsageError(f"recipe {name} cannot search shards. These can: {', '.join(RECIPES)}.")


def _best_bridges(bridges: Iterable[Bridge]) -> list[Bridge]:
    """The most promising names of all shards, each with its step."""
    best: dict[tuple[str, int], Bridge] = {}
    for bridge in bridges:
        key = bridge.text, bridge.step
        if key not in best or best[key].promise < bridge.promise:
            best[key] = bridge
    return sorted(best.values(), key=lambda bridge: (-bridge.promise, bridge.text, bridge.step))


def _best(found: Iterable[Found], depth: int) -> list[str]:
    """The ids with the highest scores, equal ones by rising id, as one index orders them."""
    ordered = sorted((pair for part in found for pair in part), key=lambda pair: (-pair[1], pair[0]))
    return [id_ for id_, _ in ordered[:depth]]


@contextmanager
def candidate_index(
    parts: Sequence[ShardContents], head: Head, whole: WordCounts, encoder: Encoder
) -> Iterator[Snapshot]:
    """A snapshot of the passages of all parts, until the end of `with`.

    Words count as in the `whole` corpus. `head` is that of a shard. Names are found anew, because a sentence of one shard may
    name a document of another.
    """
    # Errors of cleaning up are ignored, because Windows still has files mapped.
    with TemporaryDirectory(prefix="hoptrail-question-", ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary)
        with writing_to(folder, head.encoder) as writer:
            _put(parts, writer)
            writer.structures.update(head.structures)
            if MENTIONS in head.structures and any(part.extractions for part in parts):
                writer.names.renew(NAMES, _names(parts, BuildContext(writer, encoder, ignore, lambda: None)))
            writer.publish(Usage())
        with Snapshot.open(folder) as snapshot:
            snapshot.keywords.whole = whole
            yield snapshot


def _names(parts: Sequence[ShardContents], context: BuildContext) -> Iterator[tuple[str, str]]:
    """Names with the ids of their units. A title stays with the passage that has it in its shard: of a document the first passage
    that was gathered may be another.
    """
    titled = {name for part in parts for name in part.titled}
    passages = {unit.id for part in parts for unit in part.units if unit.kind is Kind.PASSAGE}
    for row in TitleMentions().rows(context, None):
        if isinstance(row, Name) and (row.unit in titled or row.unit not in passages):
            yield row.key, row.unit


def _put(parts: Sequence[ShardContents], writer: Writer) -> None:
    """Write all parts. A document that two shards hold is one document."""
    documents = {document.id: document for part in parts for document in part.documents}
    units = {unit.id: unit for part in parts for unit in part.units}
    vectors = {unit.id: vector for part in parts for unit, vector in zip(part.units, part.vectors, strict=True)}
    writer.put_documents([documents[name] for name in sorted(documents)])
    if units:
        names = sorted(units)
        writer.put_units([units[name] for name in names], np.stack([vectors[name] for name in names]))
    writer.put_extractions({name: extraction for part in parts for name, extraction in part.extractions.items()})
