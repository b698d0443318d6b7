"""CompRAG (Paranjape, Prathap, Tamton, Sachan; student poster): triples as composed vectors, searched by the question's triples.

    Methodology   triples by rule; slots encoded and composed; the question's    triples.py,
                  triples find the nearest, whose chunks are read                composition.py, space.py
    Analysis      role binding, for direction; just-in-time local graphs         graph.py

Deviations: by default triples are fused with keyword and dense search, because alone they find less than BM25 does. Eight of the
first ten hits come from those two, and triples influence their order. The presets search by triples alone. Every passage competes
with every other (the code drops passages outside the question's own contexts, which leaves most questions of its files without
any). Passages are read in the order of their scores (the code sorts them by length). A question without a triple is searched by
its vector and counts in every measure (the code drops it). There is no filter by TF-IDF. Triples are extracted by our rules, the
poster's by spaCy: name a pipeline under [structures.triples] for that. A fact that a model states as a triple is taken as it is:
as the poster's triples are by rules, no model should build its index. The 20 best passages are read as far as they fit (the code:
three chunks, by flan-t5-base).

Preset `poster` binds slots to roles by random unitary vectors, as the poster does not give its operator, omits open slots, and
has the poster's depth 4, 10 seeds and 8 branches. Preset `reference` is the released code: the plain product of projected slots,
which the poster's analysis abandons because it ignores direction, with "?" in open slots.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from hoptrail.corpus.structure_names import TRIPLES
from hoptrail.language.tasks import Abstain
from hoptrail.recipes.recipe import PassageSettings
from hoptrail.recipes.single_pass import SinglePass
from hoptrail.retrieval.rankings import rescored, scores_of
from hoptrail.retrieval.units.unit_search import HybridSearchSettings, dense_search, hybrid_search
from hoptrail.setting_limits import Share, check_limits
from hoptrail.types import Ranking
from hoptrail_papers.comprag.composition import CompositionSettings
from hoptrail_papers.comprag.graph import TripleGraphSettings, search_triples
from hoptrail_papers.comprag.question_triples import QuestionTriples, question_triples
from hoptrail_papers.comprag.space import TripleSpace, how_to_add

AHEAD = 10  # the first hits, among which triples get only some places


@dataclass(frozen=True, slots=True)
class CompragSettings(PassageSettings):
    """How triples are compared (`space`), and searched by walking a `graph`.

    With `noun_phrases` noun phrases of the question that are not names are partial patterns too. `hybrid_weight` is the weight of
    keyword and dense search (`search`) in the fusion; 0: triples alone. Their first `kept` hits stay among the first ten.
    """

    noun_phrases: bool = False
    space: CompositionSettings = field(default_factory=CompositionSettings)
    graph: TripleGraphSettings = field(default_factory=TripleGraphSettings)
    hybrid_weight: Share = 0.9
    kept: int = 8
    search: HybridSearchSettings = field(default_factory=HybridSearchSettings)
    structures = (TRIPLES,)

    def __post_init__(self) -> None:
        check_limits(self)
        if not 0 <= self.kept <= AHEAD:
            raise ValueError(f"kept lies between 0 and {AHEAD}, not {self.kept}")

    @property
    def built_with(self) -> Mapping[str, str]:
        setting = self.space.needed_setting
        return {f"{TRIPLES}.{setting}": how_to_add(setting)} if setting else {}


ALONE = CompragSettings(hybrid_weight=0)  # triples without any other search, to compare compositions and graphs

POSTER = replace(
    ALONE,
    abstain=Abstain.NEVER,
    noun_phrases=True,
    space=CompositionSettings(centred=False),
    graph=TripleGraphSettings(depth=4, seed_k=10, branching_k=8, links=("similarity",)),
)
PRODUCT = CompositionSettings("product", unitary=True, centred=False)


@dataclass(frozen=True)
class Comprag(SinglePass):
    """Triples of the corpus and of the question compared as composed vectors, beside other searches; their passages read once."""

    settings: CompragSettings = field(default_factory=CompragSettings)

    name: ClassVar[str] = "comprag"
    presets: ClassVar[Mapping[str, CompragSettings]] = {
        "poster": POSTER,
        "poster-no-graph": replace(POSTER, graph=replace(POSTER.graph, depth=1)),
        "poster-depth-2": replace(POSTER, graph=replace(POSTER.graph, depth=2)),
        "poster-product": replace(POSTER, space=replace(PRODUCT, unitary=False)),
        "poster-lemmatised": replace(POSTER, space=replace(POSTER.space, lemmatise=True)),
        "reference": replace(POSTER, space=replace(PRODUCT, open_slots="?")),
        "triples": ALONE,
        "product": replace(ALONE, space=CompositionSettings("product")),
        "product-permuted": replace(ALONE, space=CompositionSettings("permuted-product")),
        "shift-sum": replace(ALONE, space=CompositionSettings("shift-sum")),
        "concatenation": replace(ALONE, space=CompositionSettings("concatenation")),
        "mean": replace(ALONE, space=CompositionSettings("mean")),
        "text": replace(ALONE, space=CompositionSettings("text")),
        "uncentred": replace(ALONE, space=CompositionSettings(centred=False)),
        "unitary": replace(ALONE, space=CompositionSettings(unitary=True)),
        "lemmatised": replace(ALONE, space=CompositionSettings(lemmatise=True)),
        "no-graph": replace(ALONE, graph=TripleGraphSettings(depth=1)),
        "similarity-links": replace(ALONE, graph=TripleGraphSettings(links=("similarity",))),
        "both-links": replace(ALONE, graph=TripleGraphSettings(links=("similarity", "entity"))),
        "pagerank": replace(ALONE, graph=TripleGraphSettings(score="pagerank")),
        "hybrid-rrf": CompragSettings(hybrid_weight=0.8, search=HybridSearchSettings(fusion="rrf")),
        "mixed": CompragSettings(hybrid_weight=0.8, kept=0),
    }

    def retrieve(self, question: str) -> Ranking:
        """Search by triples, alone or fused with the other searches. The channel of a hit says what found it."""
        limit, settings = self.settings.k, self.settings
        if not settings.hybrid_weight:
            return self.by_triples(question, limit) or dense_search(self.corpus, question, limit)
        depth = max(limit, settings.search.depth)
        others = hybrid_search(self.corpus, question, depth, settings.search)
        triples = self.by_triples(question, depth)
        if not triples:
            return others[:limit]
        both, weight = [others, triples], settings.hybrid_weight
        scores = settings.search.fused(list(map(scores_of, both)), [weight, 1 - weight], depth)
        return keep_ahead(rescored(both, scores, 2 * depth), others, settings.kept, AHEAD)[:limit]

    def by_triples(self, question: str, limit: int) -> Ranking:
        """The passages that triples find; none if the question or the corpus has no triples."""
        asked = self.asked(question)
        if not asked.patterns:
            return ()
        return search_triples(self.space(), asked, limit, self.settings.graph)

    def asked(self, question: str) -> QuestionTriples:
        return question_triples(question, noun_phrases=self.settings.noun_phrases)

    def space(self) -> TripleSpace:
        return TripleSpace.of(self.corpus, self.settings.space)


def keep_ahead(fused: Ranking, ranking: Ranking, kept: int, ahead: int) -> Ranking:
    """Reorder `fused` so that the first `kept` hits of `ranking` are among its first `ahead`.

    Both parts keep their order. Scores after the first `ahead` are scaled down so that scores still fall.
    """
    protected = {hit.unit.id for hit in ranking[:kept]}
    others = [hit.unit.id for hit in fused if hit.unit.id not in protected]
    first = protected.union(others[: ahead - len(protected)])
    head = tuple(hit for hit in fused if hit.unit.id in first)
    tail = tuple(hit for hit in fused if hit.unit.id not in first)
    if not head or not tail or tail[0].score <= head[-1].score:
        return (*head, *tail)
    lowest, scale = head[-1].score, head[-1].score / tail[0].score
    return (*head, *(replace(hit, score=min(lowest, hit.score * scale)) for hit in tail))
