"""The chain of `trail`: sub-questions completed from earlier answers, each tried twice at most, and a conclusion.

    question      one at a time, completed before searching (ChainRAG, HiRAG)                      hopwise.py
    first try     the passages of the path, and the best for the sub-question                      here
    verify        optional: check an uncertain answer against its evidence (HiRAG)                 here, task verify
    second try    without an answer: further passages for the sub-question alone (Rethink)         here
    conclusion    from answers and passages together (SUNAR's MER), from the answers alone         here, task integrate
                  (ChainRAG's AnsInt), or both, the one checking the other

A chain has the confidence of its least confident hop, and gives no answer if a hop has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from hoptrail.errors import TaskFailed
from hoptrail.language.meter import Meter
from hoptrail.language.tasks import Integrate, Reading, Verify
from hoptrail.recipes.answering import CitedHop, findings_of, report_hops
from hoptrail.recipes.hopwise import conclusion, failed_hop, next_questions, read_packed
from hoptrail.recipes.opinions import Opinion
from hoptrail.recipes.question_budget import QuestionBudget
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.pack import pack
from hoptrail.retrieval.units.hybrid import HybridSearchSettings, hybrid_search
from hoptrail.types import Hit, Hop, Ranking, Span, Verdict

TASKS_A_HOP = 3
"""The next question, its completion, its reading."""
TASKS_BESIDES = 2
"""The last request for a next question, and the conclusion."""


@dataclass(frozen=True, slots=True)
class ChainSettings:
    """At most `most_hops` sub-questions (0: no chain). Each reads the path's best `path_read` passages and `search` of its own.

    Without an answer, `rethink` further passages are read (0: none). With `verify`, an answer with a confidence below `doubt` is
    checked against its evidence, and dropped if that does not support it. `conclude` says from what the answer is concluded;
    `both` costs one task more and gives two opinions.
    """

    most_hops: int = 6
    path_read: int = 8
    search: int = 3
    hybrid: HybridSearchSettings = field(default_factory=HybridSearchSettings)
    rethink: int = 9
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
        """Upper bounds on the tasks of a chain: with evidence, and without."""
        if not self.most_hops:
            return 0, 0
        tries = 2 if self.rethink else 1
        concluding = 2 if self.conclude == "both" else 1
        return self.most_hops * tries * (2 if self.verify else 1) + concluding, 2 * self.most_hops


@dataclass(frozen=True, slots=True)
class Attempt:
    """A sub-question's hop after one try, the confidence of its answer (0 without one), and the leads of its reading."""

    cited: CitedHop
    confidence: float = 0.0
    leads: tuple[Span, ...] = ()


@dataclass(slots=True)
class Chain:
    """One question's chain over the passages `found` for it; at most `tokens` of evidence are read at a time."""

    corpus: Corpus
    found: Ranking
    settings: ChainSettings
    tokens: int
    budget: QuestionBudget
    attempts: list[Attempt] = field(default_factory=list)

    def opinions(self, question: str) -> Iterator[Opinion]:
        """The chain's conclusions, one or two; none if the budget does not afford a hop."""
        if not self.settings.most_hops or not self._may_continue([]):
            return
        hops = next_questions(
            question,
            self._meter,
            self.settings.most_hops,
            lambda following, asked, _: self._hop(following, asked),
            self._may_continue,
        )
        if not hops or any(cited.hop.answer is None for cited in hops):
            leads = self.attempts[-1].leads if self.attempts else ()
            yield Opinion(
                None, 0.0, hops or [CitedHop(Hop(question, question, (), None, Verdict.UNANSWERED))], leads=leads
            )
            return
        sure = min(attempt.confidence for attempt in self.attempts)
        if self.settings.conclude != "answers":
            yield self._conclude(question, hops, sure, pack(self.found[: self.settings.path_read], self.tokens))
        if self.settings.conclude != "evidence" and self.budget.affords(1):
            yield self._conclude(question, hops, sure, ())

    def _may_continue(self, hops: Sequence[CitedHop]) -> bool:
        """Whether one more hop fits the budget and is of use: after a hop without an answer it is not."""
        answered = all(cited.hop.answer is not None for cited in hops)
        return answered and self.budget.affords(TASKS_A_HOP + TASKS_BESIDES)

    @property
    def _meter(self) -> Meter:
        return self.budget.meter

    def _hop(self, question: str, asked: str) -> CitedHop:
        """A first try, and a second if the first gave no supported answer."""
        own = self._search(asked, self.settings.search)
        hits = without_repeats((*own, *self.found[: self.settings.path_read]))
        attempt = self._try(question, asked, hits)
        unanswered = attempt.cited.hop.verdict is Verdict.UNANSWERED
        further = self._further(asked, hits) if unanswered and self.budget.affords(1 + TASKS_BESIDES) else ()
        if further:
            second = self._try(question, asked, further)
            hop = replace(second.cited.hop, hits=(*hits, *further))
            attempt = replace(second, cited=replace(second.cited, hop=hop))
        self.attempts.append(attempt)
        return attempt.cited

    def _search(self, asked: str, limit: int) -> Ranking:
        return hybrid_search(self.corpus, asked, limit, self.settings.hybrid) if limit else ()

    def _further(self, asked: str, read: Ranking) -> Ranking:
        """Passages that the sub-question finds beyond those already read."""
        most, seen = self.settings.rethink, {hit.unit.id for hit in read}
        found = self._search(asked, most + len(read)) if most else ()
        return tuple(hit for hit in found if hit.unit.id not in seen)[:most]

    def _try(self, question: str, asked: str, hits: Ranking) -> Attempt:
        reading, cited = read_packed(question, asked, hits, self.tokens, self._meter)
        try:
            holds = self._holds(asked, reading, hits)
        except TaskFailed:
            return Attempt(failed_hop(question, asked, hits))
        if not holds:
            return Attempt(CitedHop(Hop(question, asked, hits, None, Verdict.UNANSWERED)))
        return Attempt(cited, reading.confidence if reading.answer is not None else 0.0, reading.leads)

    def _holds(self, asked: str, reading: Reading, hits: Ranking) -> bool:
        """Whether an answer may stand: it is sure, is not to be verified, or its evidence supports it."""
        if reading.answer is None or not self.settings.verify or reading.confidence >= self.settings.doubt:
            return True
        if not self.budget.affords(1 + TASKS_BESIDES):
            return True
        units = tuple(hit.unit for hit in pack(hits, self.tokens))
        return self._meter.perform(Verify(asked, units, reading.answer)) >= self.settings.doubt

    def _conclude(self, question: str, hops: list[CitedHop], sure: float, packed: Ranking) -> Opinion:
        task = Integrate(question, findings_of(hops), tuple(hit.unit for hit in packed))
        try:
            reading, concluding = conclusion(task, hops, packed, self._meter)
        except TaskFailed:
            return Opinion(None, 0.0, [*hops, *report_hops([failed_hop(question, question, packed)], self._meter)])
        confidence = min(sure, reading.confidence) if reading.answer is not None else 0.0
        shown = [*hops, *report_hops(concluding, self._meter)]
        return Opinion(reading.answer, confidence, shown, leads=self.attempts[-1].leads)


def without_repeats(hits: Iterable[Hit]) -> Ranking:
    """The first hit of each unit."""
    first: dict[str, Hit] = {}
    for hit in hits:
        first.setdefault(hit.unit.id, hit)
    return tuple(first.values())
