"""HiRAG with Rethink (Zhang et al. 2024, "Hierarchical Retrieval-Augmented Generation Model with Rethink for Multi-hop Question
Answering"). Not the HiRAG that retrieves from hierarchies of knowledge graphs, nor any other system of that name.

    section 4.2   Decomposer: one sub-question at a time in the light of the answers         task decompose
                  Definer: done, asked before, or the limit on turns                         here, `hops`
                  Summarizer: the answer from the sub-answers                                task integrate
    section 4.3   Hierarchical retriever, profiles, semantic enrichment                      rethinking.py, profiles.py
    section 4.4   Filter: verifying, two-level rethinking, the model's own knowledge         rethinking.py

Deviations: a sub-question that points back is completed (task complete; the paper leaves this to the Decomposer). The name it
is about is the longest title in it, found without a model; the pages of other names follow. Titles are ranked by the rare words,
then the letters that they share with the name (the paper: BM25). The model's memory counts from a
stated confidence of `acceptance` on. An answer is verified against its evidence (the paper asks only
whether the question is answered). Algorithm 1 follows the paper's text, because as printed it never stays on a page. An
ambiguous name whose enriched question finds no answer is still looked up page by page. The fallback engine is the corpus unless
one on the web is named (the paper's "local" has no other either). A question that cannot be decomposed is its own sub-question.
If no sub-question has an answer, the Summarizer gets what the attempts read (the paper's has its model's memory then). Without
a language model an ambiguous sub-question is not reworded, but searched for together with its context. By default, but not in
the paper's presets: pages found by searching follow the named ones, the fallback engine is asked once more after the last
attempt, memory is off, and an infobox is also part of a page's text.

The released code votes, which the paper does not mention: 3 replies to a sub-question (preset `votes`, voting.py), 5 on whether
it is answered, 6 decompositions (without effect: it strips the mark of their disagreement), 3 conclusions. Our default is one
of each. Verifying asks for a probability; conclusions do not vote, because the task sample does not take findings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, Literal

from hoptrail.corpus.structure_names import PASSAGES, PROFILES
from hoptrail.errors import TaskFailed
from hoptrail.language.listener import Meter
from hoptrail.language.tasks import Abstain, Effort, Integrate
from hoptrail.recipes.answering import CitedHop, findings_of, report_hops, stored_hits
from hoptrail.recipes.hopwise import Concluded, Hopwise, failed_hop, integrate, next_step, recalled
from hoptrail.recipes.recipe import PassageSettings
from hoptrail.retrieval.rankings import Pool, interleave, pack
from hoptrail.setting_limits import AtLeast1, ShareAbove0
from hoptrail.text.lexicon import QUESTION_WORDS
from hoptrail.text.normal_forms import folded
from hoptrail.text.words import content_stems, words
from hoptrail.types import Kind, Ranking
from hoptrail_papers.baselines.voting import VotingSettings
from hoptrail_papers.hirag.hierarchy import HierarchySettings
from hoptrail_papers.hirag.rethinking import READ, Rethinking, RethinkSettings, SubQuestion

_DOES = frozenset({"do", "does", "did"})


@dataclass(frozen=True, slots=True)
class HiragSettings(PassageSettings):
    """How a question is decomposed and concluded, and (`rethink`) how each sub-question is answered.

    Without `decompose` the question is its own sub-question (the plug-in of Table 6). At most `turns` sub-questions are asked;
    one whose `word_overlap` with an earlier one is at least `repeats` counts as asked before. Without `retrieval` every
    sub-question is answered from memory. `integration` is from the `answers` alone, or from `both` answers and hits.
    """

    decompose: bool = True
    turns: AtLeast1 = 5
    repeats: ShareAbove0 = 0.95
    retrieval: bool = True
    integration: Literal["answers", "both"] = "both"
    rethink: RethinkSettings = field(default_factory=RethinkSettings)

    @property
    def structures(self) -> tuple[str, ...]:
        return (PASSAGES, PROFILES) if self.retrieval and self.rethink.profile_tries else (PASSAGES,)

    @property
    def pool(self) -> Pool:
        return Pool((Kind.PASSAGE, Kind.PROFILE) if PROFILES in self.structures else (Kind.PASSAGE,))

    @property
    def effort(self) -> Effort:
        """Each turn is planned, completed and answered; without retrieval, answered from memory alone."""
        turns = self.turns if self.decompose else 1
        readings, others = self.rethink.most_tasks if self.retrieval else (0, 1)
        plans = (1, 2 * turns) if self.decompose else (0, 0)
        return Effort((int(self.retrieval), turns * readings + 1), plans, (int(not self.retrieval), turns * others))


def _with(settings: HiragSettings, **rethink: object) -> HiragSettings:
    return replace(settings, rethink=replace(settings.rethink, **rethink))  # type: ignore[arg-type]


PAPER = HiragSettings(
    abstain=Abstain.NEVER,
    integration="answers",
    rethink=RethinkSettings(
        acceptance=0.5,
        last_resort=1,
        profile_tries=4,
        fall_back=False,
        memory=True,
        pages=HierarchySettings(
            least_similarity=0, search="none", chunk_characters=400, chunk_words=100, profile_lines=False
        ),
    ),
)
"""Pages are found by title alone: of the titles that share a word with the name (sparse retrieval), the most similar, however
low the similarity. Chunks have the code's size, as the paper gives none."""

REFERENCE = HiragSettings(
    abstain=Abstain.NEVER,
    integration="answers",
    rethink=RethinkSettings(
        attempts=5,
        chunk_tries=5,
        page_rethink=False,
        acceptance=0.5,
        last_resort=1,
        lead_chunk=True,
        profile_tries=2,
        memory=True,
        pages=HierarchySettings(names="question", search="keyword", chunk_characters=400, chunk_words=100),
    ),
)
"""Like the released code: five attempts on one page, titles compared with the whole sub-question; the code asks memory as if an
attempt fewer had failed. Its web search is left out: name an engine under `rethink.online` for that."""


@dataclass(frozen=True)
class Hirag(Hopwise):
    """One sub-question at a time; pages by title, chunk by chunk, until an answer holds against its evidence."""

    settings: HiragSettings = field(default_factory=HiragSettings)

    name: ClassVar[str] = "hirag"
    presets: ClassVar[Mapping[str, HiragSettings]] = {
        "paper": PAPER,
        "reference": REFERENCE,
        "no-chunk-rethink": _with(PAPER, chunk_rethink=False),
        "no-document-rethink": _with(PAPER, page_rethink=False),
        "no-rethink": _with(PAPER, chunk_rethink=False, page_rethink=False),
        "no-profile": _with(PAPER, profile_tries=0),
        "no-enrichment": _with(PAPER, enrichment=False),
        "no-memory": _with(PAPER, memory=False),
        "fallback": _with(PAPER, fall_back=True),
        "votes": _with(PAPER, voting=VotingSettings(replies=3, equivalence="meaning")),
        "plugin": replace(PAPER, decompose=False),
        "no-retrieval": replace(PAPER, retrieval=False),
    }

    def hops(self, question: str, meter: Meter) -> list[CitedHop]:
        """One hop a turn, until no question is left, one was asked before, a task fails, or the turns are used up."""
        hops: list[CitedHop] = []
        for _ in range(self.settings.turns if self.settings.decompose else 1):
            findings = findings_of(hops)
            try:
                step = next_step(question, findings, meter) if self.settings.decompose else (question, question)
            except TaskFailed:
                hops += report_hops([failed_hop(question, question)], meter)
                break
            if step is None:
                break
            following, asked = step
            if any(word_overlap(asked, finding.asked) >= self.settings.repeats for finding in findings):
                break
            meter.asked(following, asked)
            if self.settings.retrieval:
                hop = self._rethinking.hop(SubQuestion(following, asked, question, findings), meter)
            else:
                _, hop = recalled(following, asked, meter)
            hops += report_hops([hop], meter)
        return hops

    def conclude(self, question: str, hops: Sequence[CitedHop], found: Ranking, meter: Meter) -> Concluded:
        """Conclude from the answers, or from answers and hits; adds a hop if these gave an answer that no hop had. Without
        answers, if it must not abstain, from the hits that were read: unread ones would give back what an ablation takes away.
        """
        answered = tuple(finding for finding in findings_of(hops) if finding.answer is not None)
        guesses = not answered and meter.abstain is Abstain.NEVER
        if not guesses and (not answered or [cited.hop.question for cited in hops] == [question]):
            return hops[0].hop.answer if hops else None, []
        evidence: Ranking = ()
        if self.settings.integration == "both":
            evidence = found
        elif guesses:
            read = [tuple(hit for hit in stored_hits(cited.hop.hits) if hit.channel in READ) for cited in hops]
            evidence = interleave(read, self.settings.k)
        packed = pack(evidence, self.settings.evidence_tokens)
        units = tuple(hit.unit for hit in packed)
        return integrate(Integrate(question, answered, units), hops, packed, meter)

    @cached_property
    def _rethinking(self) -> Rethinking:
        return Rethinking(self.corpus, self.settings.rethink, self.settings.k, self.settings.evidence_tokens)


def word_overlap(question: str, earlier: str) -> float:
    """The share of content words, in any form and order, that two questions have in common, 0 to 1. 0 if one asks who and the
    other when, or if one asks who did something and the other to whom it was done.

    Similarity of letters would not do: questions about two namesakes differ in one or two letters.
    """
    first, second = content_stems(question), content_stems(earlier)
    if not first or not second:
        return float(folded(question) == folded(earlier))
    if _question_words(question) != _question_words(earlier) or _named_is_agent(question) != _named_is_agent(earlier):
        return 0.0
    return len(first & second) / len(first | second)


def _question_words(question: str) -> set[str]:
    """The question words, `whom` as `who` and `which` as `what`."""
    alike = {"whom": "who", "which": "what"}
    return {alike.get(word.lower, word.lower) for word in words(question) if word.lower in QUESTION_WORDS}


def _named_is_agent(question: str) -> bool:
    """Whether the named one acts: `Who was helped by Ann?`, `Who did Ann help?`, `Who is Ann the mother of?`."""
    said = [word.lower for word in words(question)]
    by = any(one == "by" and other not in QUESTION_WORDS for one, other in pairwise(said))
    return by or not _DOES.isdisjoint(said) or said[-1:] == ["of"]
