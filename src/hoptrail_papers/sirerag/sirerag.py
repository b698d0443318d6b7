"""SiReRAG (Zhang et al., ICLR 2025): a similarity tree and a relatedness tree, all their nodes in one flat pool.

    section 4.1   similarity tree: summaries over passages                    trees.py
    section 4.2   relatedness tree: facts about one entity are aggregated,    structures/extractions.py, aggregates.py
                  summaries over the aggregates                               trees.py
    section 4.3   passages, aggregates and all summaries in one pool          pool_search.py
    section 5     the 20 best units are read, one call                        here

With `--settings paper:sirerag` dates and numbers are entities like others, summaries have up to 600 words (the paper sets no
limit: "as many key details as needed"), and the model's window is GPT-4o's, so that all 20 units are read; a smaller window
leaves units out, and the log says so. Closed-book may guess, like every row there.

Deviations: the query is the bare question (the released code adds its instruction for short answers, see preset `reference`).
Every node is in the pool (the released code loses those without a cluster). By default an aggregate too long for the encoder is
cut into parts of the same entity, and clusters come from Leiden (with `--settings paper:sirerag` aggregates are whole, and
clusters are Gaussian mixtures). The paper asks a model three times: to rewrite a chunk given the one before (figure 6), for
entities with their types (7), for facts with triplets (8). Here one prompt shows a passage with the one before it and asks for
entities with types, and for facts with one triplet each, with names in place of references. Names that are not word for word in
the passage or the one before it are dropped, and with them facts that name nothing else: small models invent names. Aggregates
resolve a family name to the full name in the same document, ignore case, and drop single mentions as the code does. The paper
asks for as few words as possible, our prompt for steps with quotes and then a short answer; self-ask reads, then concludes, and
its prompt does not ask for follow-up questions. ColBERTv2 is the encoder's own token vectors over the 100 nearest units. Without
a language model, sentences serve as propositions, passages are read alone, and summaries are extracts, see `language/offline`.
Clusters, aggregates and summaries are set under [structures].
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from hoptrail.corpus import structure_names
from hoptrail.language.listener import Meter
from hoptrail.language.tasks import FROM_MEMORY, Abstain, Effort, Finding, Integrate, Read, Reading, Recall, Step
from hoptrail.recipes.answering import CitedHop, memory_hop
from hoptrail.recipes.recipe import PassageSettings
from hoptrail.recipes.single_pass import SinglePass
from hoptrail.retrieval.rankings import pack
from hoptrail.text.normal_forms import same_words
from hoptrail.types import Kind, Ranking, Unit
from hoptrail_papers.sirerag.pool_search import Scorer, TreePool, search_pool
from hoptrail_papers.sirerag.tree_store import TREES

_NODES = {
    "similarity_summaries": structure_names.SIMILARITY_TREE,
    "aggregates": structure_names.AGGREGATES,
    "facts": structure_names.FACTS,
    "relatedness_summaries": structure_names.RELATEDNESS_TREE,
    "entity_clusters": structure_names.ENTITY_TREE,
    "joint_summaries": structure_names.JOINT_TREE,
}
"""The structure of the nodes that each setting switches on."""


@dataclass(frozen=True, slots=True)
class PooledSettings(PassageSettings):
    """`scorer` ranks the pool (SiReRAG Table 6). `reader` (SiReRAG Table 9): `direct` reads once; `self-ask` reads, then
    concludes from the sub-questions that the reading answered (two calls); `closed-book` asks the model's memory and retrieves
    nothing. `question_suffix` is appended to the search query, as in the released code of SiReRAG. With `repeats` a unit is
    read even if units before it cover all its sources, as in papers that read their k best units.
    """

    scorer: Scorer = "dense"
    reader: Literal["direct", "self-ask", "closed-book"] = "direct"
    question_suffix: str = ""
    repeats: bool = False

    @property
    def effort(self) -> Effort:
        """One reading, two for `self-ask`; none for `closed-book`, which asks the model's memory once."""
        return {"direct": Effort(), "self-ask": Effort((2, 2)), "closed-book": FROM_MEMORY}[self.reader]


@dataclass(frozen=True)
class Pooled(SinglePass):
    """Search a flat pool, read."""

    settings: PooledSettings

    def retrieve(self, question: str) -> Ranking:
        """The `k` best units of the pool by `scorer`; nothing if the reader is `closed-book`."""
        if self.settings.reader == "closed-book":
            return ()
        asked, pool = f"{question} {self.settings.question_suffix}".strip(), self.settings.pool
        return search_pool(self.corpus, asked, TreePool.of(pool), self.settings.k, self.settings.scorer)

    def packed(self, ranking: Ranking) -> Ranking:
        """The hits that fit `evidence_tokens`; with `repeats` also those whose sources earlier ones cover."""
        return pack(ranking, self.settings.evidence_tokens, repeats=self.settings.repeats)

    def read(self, question: str, packed: Ranking, meter: Meter) -> Reading:
        """The answer of the chosen reader; `closed-book` ignores the hits. Raises: TaskFailed: from the language."""
        units = tuple(hit.unit for hit in packed)
        match self.settings.reader:
            case "direct":
                return meter.perform(Read(question, units, meter.abstain))
            case "self-ask":
                return _read_twice(question, units, meter)
            case "closed-book":
                return meter.perform(Recall(question, meter.abstain))

    def hops(self, question: str, reading: Reading, found: Ranking, packed: Ranking) -> list[CitedHop]:
        """As in `SinglePass.hops`; an answer from memory is one hop that cites nothing."""
        if self.settings.reader == "closed-book":
            return [memory_hop(question, question, reading)]
        return SinglePass.hops(self, question, reading, found, packed)


def _read_twice(question: str, units: tuple[Unit, ...], meter: Meter) -> Reading:
    """Read, then conclude from the answered sub-questions (appendix B: two iterations), citing the last if it agrees."""
    first = meter.perform(Read(question, units))
    findings = tuple(Finding(step.question, step.question, step.answer) for step in first.steps)
    last = meter.perform(Integrate(question, findings, units, meter.abstain))
    if last.answer is None:
        return Reading(None, first.steps)
    if last.steps:
        return last
    if first.steps and same_words(first.steps[-1].answer, last.answer):
        return Reading(last.answer, first.steps, last.confidence)
    return Reading(last.answer, (*first.steps, Step(question, last.answer, ())), last.confidence)


@dataclass(frozen=True, slots=True)
class SireragSettings(PooledSettings):
    """The nodes in the pool besides passages (section 6.2 and appendix A)."""

    similarity_summaries: bool = True
    aggregates: bool = True
    relatedness_summaries: bool = True
    facts: bool = False
    entity_clusters: bool = False
    joint_summaries: bool = False

    @property
    def structures(self) -> tuple[str, ...]:
        return (structure_names.PASSAGES, *(name for setting, name in _NODES.items() if getattr(self, setting)))

    @property
    def pool(self) -> TreePool:
        """Passages and the nodes that are switched on; beside the entity tree, the similarity tree has its lowest level only."""
        kinds = (Kind.PASSAGE, *[Kind.AGGREGATE] * self.aggregates, *[Kind.FACT] * self.facts)
        lowest = (structure_names.SIMILARITY_TREE,) if self.entity_clusters else ()
        return TreePool(kinds, tuple(name for name in self.structures if name in TREES), lowest)


PAPER = SireragSettings(evidence_tokens=100_000, repeats=True, abstain=Abstain.NEVER)
"""All of the 20 best units are read: a model's window of 128,000 tokens holds them."""
SELF_ASK = replace(PAPER, reader="self-ask", k=10)
"""Both of its iterations read ten candidates (appendix B)."""


def _passages_alone(settings: SireragSettings, **more: Any) -> SireragSettings:
    """The same settings over passages only: the baselines of tables 6 and 9."""
    return replace(settings, similarity_summaries=False, aggregates=False, relatedness_summaries=False, **more)


@dataclass(frozen=True)
class Sirerag(Pooled):
    """Passages, everything about one entity together, and two trees of summaries in one pool, read once."""

    settings: SireragSettings = field(default_factory=SireragSettings)

    name: ClassVar[str] = "sirerag"
    presets: ClassVar[Mapping[str, SireragSettings]] = {
        "paper": PAPER,
        "reference": replace(PAPER, question_suffix="Answer briefly, in as few words as possible."),
        "a": replace(PAPER, relatedness_summaries=False),
        "b": replace(PAPER, facts=True),
        "c": replace(PAPER, facts=True, aggregates=False),
        "d": replace(PAPER, facts=True, aggregates=False, relatedness_summaries=False),
        "e": replace(PAPER, aggregates=False, relatedness_summaries=False, entity_clusters=True),
        "joint": replace(PAPER, joint_summaries=True),
        "bm25": replace(PAPER, scorer="bm25"),
        "late-interaction": replace(PAPER, scorer="late-interaction"),
        "self-ask": SELF_ASK,
        "closed-book": replace(PAPER, reader="closed-book"),
        "passages-bm25": _passages_alone(PAPER, scorer="bm25"),
        "passages-late-interaction": _passages_alone(PAPER, scorer="late-interaction"),
        "passages-self-ask": _passages_alone(SELF_ASK),
    }
