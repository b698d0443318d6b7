"""HiRAG with Rethink (Zhang et al. 2024, "Hierarchical Retrieval-Augmented Generation Model with Rethink for Multi-hop Question
Answering"). Not the HiRAG that retrieves from hierarchies of knowledge graphs, nor any other system of that name.

    section 4.2   Decomposer: one sub-question at a time in the light of the answers         task decompose
                  Definer: done, asked before, or the limit on turns                         here, `hops`
                  Summarizer: the answer from the sub-answers                                task integrate
    section 4.3   Hierarchical retriever, profiles, semantic enrichment                      rethinking.py, structures/profiles.py
    section 4.4   Filter: verifying, two-level rethinking, the model's own knowledge         rethinking.py

Deviations: a sub-question that points back is completed (task complete; the paper leaves this to the Decomposer); the name it
is about is the longest title in it, found without a model; an answer is verified against its evidence (the paper asks only
whether the question is answered); Algorithm 1 is taken as its text describes it, since as printed it never stays on a page;
an ambiguous name whose enriched question is not settled is looked up page by page all the same, and the fallback engine is
the corpus unless one on the web is named (the paper's "local" has no other either); a question with nothing to take apart is
its own sub-question; where no sub-question has an answer, the Summarizer is given what was read in vain (the paper's has
its model's memory then). Without a language model an ambiguous sub-question is not reworded, but searched for together with its
context. By default, but not in the paper's presets: pages that searching finds stand behind those that are
named, after the last attempt the fallback engine is asked once more for the same sub-question, memory is off, and an infobox
is also part of a page's text.

The released code votes everywhere, which the paper does not mention: 3 replies to a sub-question (preset `votes`, voting.py),
5 on whether it is answered, 6 decompositions, 3 conclusions. One is the default of all. Verifying asks for a probability in
the place of a share of votes; the code counts its decompositions and then strips the mark of their disagreement, so nothing
depends on them; a conclusion is from findings, which the task sample does not take.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, Literal

from hoptrail.errors import TaskFailed
from hoptrail.language.effort import Effort
from hoptrail.language.meter import Meter
from hoptrail.language.tasks import Abstain, Complete, Decompose, Finding, Integrate, Recall
from hoptrail.recipes.answering import CitedHop, findings_of, remembered, report_hops
from hoptrail.recipes.hopwise import Hopwise, completed, failed, integrated
from hoptrail.recipes.rethinking import READ, Asked, Rethinking, RethinkSettings
from hoptrail.recipes.voting import VotingSettings
from hoptrail.retrieval.fuse import interleave
from hoptrail.retrieval.pack import pack
from hoptrail.retrieval.pages.hierarchy import HierarchySettings
from hoptrail.retrieval.units.engines import stored
from hoptrail.retrieval.units.pool import Pool
from hoptrail.structures.structure_names import PASSAGES, PROFILES
from hoptrail.text.lexicon import QUESTION_WORDS
from hoptrail.text.normal_forms import folded
from hoptrail.text.words import content_stems, words
from hoptrail.types import Kind, Ranking

_DOES = frozenset({"do", "does", "did"})


@dataclass(frozen=True, slots=True)
class HiragSettings:
    """How a question is taken apart and put together, and (`rethink`) how each part is settled.

    With `decompose` off, the question is its own sub-question (the plug-in of Table 6). At most `turns` are asked; one whose
    words are shared with an earlier one to `repeats` (0 to 1) was asked before. Without `retrieval` every sub-question is
    answered from memory. `integration` is from the `answers` alone, or from `both` answers and what was found. `abstain`: see
    `PassageSettings`.
    """

    k: int = 20
    decompose: bool = True
    turns: int = 5
    repeats: float = 0.95
    retrieval: bool = True
    integration: Literal["answers", "both"] = "both"
    evidence_tokens: int = 6000
    abstain: Abstain = Abstain.ALWAYS
    rethink: RethinkSettings = field(default_factory=RethinkSettings)

    def __post_init__(self) -> None:
        if min(self.k, self.turns, self.evidence_tokens) < 1:
            raise ValueError("k, turns and evidence_tokens are at least 1")
        if not 0 < self.repeats <= 1:
            raise ValueError(f"repeats lies above 0 and at most at 1, not at {self.repeats}")

    @property
    def _reads_profiles(self) -> bool:
        return self.retrieval and self.rethink.profile_tries > 0

    @property
    def structures(self) -> tuple[str, ...]:
        """The structures that must have been built, besides those that they are built from."""
        return (PASSAGES, PROFILES) if self._reads_profiles else (PASSAGES,)

    @property
    def pool(self) -> Pool:
        """The units that are searched."""
        return Pool((Kind.PASSAGE, Kind.PROFILE) if self._reads_profiles else (Kind.PASSAGE,))

    @property
    def effort(self) -> Effort:
        """A turn is planned, completed, and settled; without retrieval it is settled by memory alone."""
        turns = self.turns if self.decompose else 1
        readings, others = self.rethink.most_tasks if self.retrieval else (0, 1)
        return Effort((1, turns * readings + 1), (int(self.decompose), turns * (2 + others)))


def _with(settings: HiragSettings, **rethink: object) -> HiragSettings:
    """The settings with another way of rethinking."""
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
"""Titles alone lead to pages: of those that share a word with the name (sparse retrieval) the most similar, however little.
Chunks have the code's size; the paper tells none."""

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
        pages=HierarchySettings(names="question", search="keyword", chunk_characters=400, chunk_words=100),
    ),
)
"""As the released code runs: five attempts on one page, the whole sub-question compared with titles. Its search on the web is
not repeated: name an engine under `rethink.online` for that."""


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

    def everything(self, hops: Sequence[CitedHop]) -> Ranking:
        """What all hops found in the index, in turns."""
        return interleave([stored(cited.hop.hits) for cited in hops], self.settings.k)

    def hops(self, question: str, meter: Meter) -> list[CitedHop]:
        """One a turn, until nothing is left to ask, a sub-question was asked before, a task fails, or the turns are used up."""
        hops: list[CitedHop] = []
        for _ in range(self.settings.turns if self.settings.decompose else 1):
            findings = findings_of(hops)
            try:
                following = self._following(question, findings, meter)
                if following is None:
                    break
                asked = completed(following, findings, lambda: meter.perform(Complete(following, findings)))  # noqa: B023
            except TaskFailed:
                hops += report_hops([failed(question, question)], meter)
                break
            if any(repeats(asked, finding.asked) >= self.settings.repeats for finding in findings):
                break
            meter.asked(following, asked)
            hops += report_hops([self._hop(Asked(following, asked, question, findings), meter)], meter)
        return hops

    def _following(self, question: str, findings: tuple[Finding, ...], meter: Meter) -> str | None:
        """The next sub-question, None when nothing is left to ask."""
        if not self.settings.decompose:
            return question
        questions = meter.perform(Decompose(question, findings, one_at_a_time=True)).questions
        return questions[0] if questions else None if findings else question

    def _hop(self, asked: Asked, meter: Meter) -> CitedHop:
        if self.settings.retrieval:
            return self._rethinking.hop(asked, meter)
        try:
            return remembered(asked.question, asked.asked, meter.perform(Recall(asked.asked)))
        except TaskFailed:
            return failed(asked.question, asked.asked)

    def conclude(
        self, question: str, hops: Sequence[CitedHop], found: Ranking, meter: Meter
    ) -> tuple[str | None, list[CitedHop]]:
        """From the answers, or from them and what was found, with a hop of its own where these gave an answer that no hop had.

        Where a question must not be left open and no hop has an answer, what was read in vain is weighed once more, not what
        was only found: the latter would give back what an ablation takes away.
        """
        answered = tuple(finding for finding in findings_of(hops) if finding.answer is not None)
        guesses = not answered and meter.abstain is Abstain.NEVER
        if not guesses and (not answered or [cited.hop.question for cited in hops] == [question]):
            return hops[0].hop.answer if hops else None, []
        evidence = found if self.settings.integration == "both" else self._read_in_vain(hops) if guesses else ()
        packed = pack(evidence, self.settings.evidence_tokens)
        units = tuple(hit.unit for hit in packed)
        return integrated(Integrate(question, answered, units), hops, packed, meter)

    def _read_in_vain(self, hops: Sequence[CitedHop]) -> Ranking:
        """What the attempts of all hops read of the index, in turns."""
        read = [tuple(hit for hit in stored(cited.hop.hits) if hit.channel in READ) for cited in hops]
        return interleave(read, self.settings.k)

    @cached_property
    def _rethinking(self) -> Rethinking:
        return Rethinking(self.corpus, self.settings.rethink, self.settings.k)


def repeats(question: str, earlier: str) -> float:
    """How much of their words two questions share, 0 to 1: those that carry meaning, in any form and order. None of them, where
    one asks who and the other when, or one for the giver and the other for the receiver: who did it, and to whom it was done.

    Letters would not do: questions about two namesakes differ in one or two.
    """
    first, second = content_stems(question), content_stems(earlier)
    if not first or not second:
        return float(folded(question) == folded(earlier))
    if _wanted(question) != _wanted(earlier) or _from_the_named(question) != _from_the_named(earlier):
        return 0.0
    return len(first & second) / len(first | second)


def _wanted(question: str) -> set[str]:
    """What kind of thing is asked for: the question words, in one form each."""
    alike = {"whom": "who", "which": "what"}
    return {alike.get(word.lower, word.lower) for word in words(question) if word.lower in QUESTION_WORDS}


def _from_the_named(question: str) -> bool:
    """Whether the relation goes out from what is named, and its other end is asked for: by whom something was done is named
    (`Who was helped by Ann?`), or it is the subject (`Who did Ann help?`, `Who is Ann the mother of?`).
    """
    said = [word.lower for word in words(question)]
    by = any(one == "by" and other not in QUESTION_WORDS for one, other in pairwise(said))
    return by or not _DOES.isdisjoint(said) or said[-1:] == ["of"]
