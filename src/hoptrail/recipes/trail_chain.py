"""The chain of `trail`: sub-questions completed from earlier answers, each tried twice at most, and a conclusion.

    question      one at a time, completed before anything is searched (ChainRAG, HiRAG)           hopwise.py
    first try     the passages of the path, and the best that are found for the sub-question       here
    verify        an answer that is in doubt is held against its evidence (HiRAG); a setting       here, task verify
    second try    where nothing held: further passages for the sub-question alone (Rethink),       here; passages/frontier.py
                  by search or along links under a budget of readings (SUNAR's NAR)
    conclusion    from answers and passages together (SUNAR's MER), from the answers alone         here, task integrate
                  (ChainRAG's AnsInt), or both, the one checking the other

A chain is no surer than its least sure hop, and one with a hop that nothing answers has no say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from hoptrail.errors import TaskFailed
from hoptrail.language.meter import Meter
from hoptrail.language.tasks import Integrate, Reading, Verify
from hoptrail.recipes.answering import CitedHop, findings_of, report_hops
from hoptrail.recipes.hopwise import conclusion, failed, next_questions, read_packed
from hoptrail.recipes.opinions import Opinion
from hoptrail.recipes.question_budget import QuestionBudget
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.pack import pack
from hoptrail.retrieval.passages.frontier import FrontierSettings, search_frontier
from hoptrail.retrieval.units.hybrid import HybridSearchSettings, hybrid_search
from hoptrail.types import Hit, Hop, Ranking, Verdict

TASKS_A_HOP = 3
"""The next question, its completion, its reading."""
TASKS_BESIDES = 2
"""The question that finds nothing left to ask, and the conclusion."""


@dataclass(frozen=True, slots=True)
class ChainSettings:
    """At most `most_hops` sub-questions (0: no chain), read in the path's best `path_read` passages and in `search` of their own.

    Where these give no answer, `rethink` further passages are read (0: none), found by `rethink_by`. With `verify`, an answer of
    a confidence below `doubt` is held against its evidence, and rethought where that does not bear it. `conclude` says from
    what the answer is concluded; `both` costs one task more and gives two opinions.
    """

    most_hops: int = 6
    path_read: int = 8
    search: int = 3
    hybrid: HybridSearchSettings = field(default_factory=HybridSearchSettings)
    rethink: int = 9
    rethink_by: Literal["search", "frontier"] = "search"
    frontier: FrontierSettings = field(default_factory=FrontierSettings)
    verify: bool = False
    doubt: float = 0.5
    conclude: Literal["evidence", "answers", "both"] = "evidence"

    def __post_init__(self) -> None:
        if min(self.most_hops, self.search, self.rethink) < 0 or self.path_read < 1:
            raise ValueError("most_hops, search and rethink are at least 0, path_read at least 1")
        if not 0 <= self.doubt <= 1:
            raise ValueError("doubt lies between 0 and 1")

    @property
    def most_tasks(self) -> tuple[int, int]:
        """How many tasks a chain takes, at the most: with evidence, and without."""
        if not self.most_hops:
            return 0, 0
        tries = 2 if self.rethink else 1
        concluding = 2 if self.conclude == "both" else 1
        return self.most_hops * tries * (2 if self.verify else 1) + concluding, 2 * self.most_hops


@dataclass(frozen=True, slots=True)
class Tried:
    """A sub-question after a try: its hop, and how sure its answer is (0 without one)."""

    cited: CitedHop
    confidence: float = 0.0


@dataclass(slots=True)
class Chain:
    """One question's chain over the passages that were `found` for it; at most `tokens` of evidence are read at a time."""

    corpus: Corpus
    found: Ranking
    settings: ChainSettings
    tokens: int
    budget: QuestionBudget
    tried: list[Tried] = field(default_factory=list)

    def opinions(self, question: str) -> Iterator[Opinion]:
        """What the chain concludes, once or twice; nothing where the budget has no room for a hop."""
        if not self.settings.most_hops or not self._goes_on([]):
            return
        hops = next_questions(
            question,
            self._meter,
            self.settings.most_hops,
            lambda following, asked, _: self._hop(following, asked),
            self._goes_on,
        )
        if not hops or any(cited.hop.answer is None for cited in hops):
            yield Opinion(None, 0.0, hops or [CitedHop(Hop(question, question, (), None, Verdict.UNANSWERED))])
            return
        sure = min(tried.confidence for tried in self.tried)
        if self.settings.conclude != "answers":
            yield self._concluded(question, hops, sure, pack(self.found[: self.settings.path_read], self.tokens))
        if self.settings.conclude != "evidence" and self.budget.affords(1):
            yield self._concluded(question, hops, sure, ())

    def _goes_on(self, hops: Sequence[CitedHop]) -> bool:
        """Whether one more hop fits the budget, and can matter: after one without an answer it cannot."""
        answered = all(cited.hop.answer is not None for cited in hops)
        return answered and self.budget.affords(TASKS_A_HOP + TASKS_BESIDES)

    @property
    def _meter(self) -> Meter:
        return self.budget.meter

    def _hop(self, question: str, asked: str) -> CitedHop:
        """A first try, and a second where it gave nothing that holds."""
        own = self._search(asked, self.settings.search)
        hits = _once((*own, *self.found[: self.settings.path_read]))
        tried = self._try(question, asked, hits)
        unanswered = tried.cited.hop.verdict is Verdict.UNANSWERED
        further = self._further(asked, hits) if unanswered and self.budget.affords(1 + TASKS_BESIDES) else ()
        if further:
            again = self._try(question, asked, further)
            hop = replace(again.cited.hop, hits=(*hits, *further))
            tried = replace(again, cited=replace(again.cited, hop=hop))
        self.tried.append(tried)
        return tried.cited

    def _search(self, asked: str, limit: int) -> Ranking:
        return hybrid_search(self.corpus, asked, limit, self.settings.hybrid) if limit else ()

    def _further(self, asked: str, read: Ranking) -> Ranking:
        """What the sub-question finds by itself beyond what was read."""
        chosen = self.settings
        limit = chosen.rethink + len(read)
        if not chosen.rethink:
            return ()
        if chosen.rethink_by == "frontier":
            found = search_frontier(self.corpus, asked, limit, chosen.hybrid, chosen.frontier)
        else:
            found = self._search(asked, limit)
        seen = {hit.unit.id for hit in read}
        return tuple(hit for hit in found if hit.unit.id not in seen)[: chosen.rethink]

    def _try(self, question: str, asked: str, hits: Ranking) -> Tried:
        reading, cited = read_packed(question, asked, hits, self.tokens, self._meter)
        try:
            holds = self._holds(asked, reading, hits)
        except TaskFailed:
            return Tried(failed(question, asked, hits))
        if not holds:
            return Tried(CitedHop(Hop(question, asked, hits, None, Verdict.UNANSWERED)))
        return Tried(cited, reading.confidence if reading.answer is not None else 0.0)

    def _holds(self, asked: str, reading: Reading, hits: Ranking) -> bool:
        """Whether an answer may stand: it is sure, or not to be verified, or its evidence bears it."""
        if reading.answer is None or not self.settings.verify or reading.confidence >= self.settings.doubt:
            return True
        if not self.budget.affords(1 + TASKS_BESIDES):
            return True
        units = tuple(hit.unit for hit in pack(hits, self.tokens))
        return self._meter.perform(Verify(asked, units, reading.answer)) >= self.settings.doubt

    def _concluded(self, question: str, hops: list[CitedHop], sure: float, packed: Ranking) -> Opinion:
        task = Integrate(question, findings_of(hops), tuple(hit.unit for hit in packed))
        try:
            reading, concluding = conclusion(task, hops, packed, self._meter)
        except TaskFailed:
            return Opinion(None, 0.0, [*hops, *report_hops([failed(question, question, packed)], self._meter)])
        confidence = min(sure, reading.confidence) if reading.answer is not None else 0.0
        return Opinion(reading.answer, confidence, [*hops, *report_hops(concluding, self._meter)])


def _once(hits: Ranking) -> Ranking:
    """Hits without repeats of a unit; the first of each stays."""
    first: dict[str, Hit] = {}
    for hit in hits:
        first.setdefault(hit.unit.id, hit)
    return tuple(first.values())
