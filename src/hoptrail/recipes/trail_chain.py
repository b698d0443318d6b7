"""The opinions of the stages of `trail`, their combined confidence, and the stage that is a chain of sub-questions.

Confidences come from the language. Stages with the same answer have read much the same passages, so together they have the
highest of their confidences. Different answers do not lower it. The chain completes sub-questions from earlier answers, tries
each at most twice, and concludes:

    question      one at a time, completed before searching (ChainRAG, HiRAG)                      hopwise.py
    first try     the passages of the path, and the best for the sub-question                      here
    verify        optional: check an uncertain answer against its evidence (HiRAG)                 here, task verify
    second try    without an answer: further passages for the sub-question alone (Rethink)         here
    conclusion    from answers and passages together (SUNAR's MER), from the answers alone         here, task integrate
                  (ChainRAG's AnsInt), or both, the one checking the other

It has the confidence of its least confident hop, because one wrong step makes the rest a guess, and gives no answer if a hop
has none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Literal

from hoptrail.errors import TaskFailed
from hoptrail.language.tasks import Integrate, Reading, Verify
from hoptrail.recipes.answering import CitedHop, findings_of, report_hops
from hoptrail.recipes.hopwise import QuestionBudget, conclusion, failed_hop, next_questions, read_packed
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.paths.search import search_paths
from hoptrail.retrieval.rankings import interleave, pack, without_repeats
from hoptrail.retrieval.units.unit_search import hybrid_search
from hoptrail.setting_limits import AtLeast0, AtLeast1, Limited, Share
from hoptrail.text.normal_forms import same_words
from hoptrail.types import AnswerKind, Hop, Ranking, Span, Verdict


@dataclass(frozen=True, slots=True)
class Opinion:
    """One stage's answer to the question or None, its confidence (0 without an answer), its hops, and the promising spans and the
    notes of its reading. `withheld` is the hop of an answer that the reading was not sure enough to give, with its probability.
    """

    answer: str | None
    confidence: float
    hops: list[CitedHop]
    kind: AnswerKind = AnswerKind.SHORT
    items: tuple[str, ...] = ()
    promising: tuple[Span, ...] = ()
    withheld: tuple[float, CitedHop | None] = (0.0, None)
    notes: tuple[str, ...] = ()


def combined_confidence(opinion: Opinion, opinions: Sequence[Opinion]) -> float:
    """The highest confidence among the opinions with the same answer; 0 without an answer."""
    if opinion.answer is None:
        return 0.0
    return max(
        other.confidence for other in opinions if other.answer is not None and same_words(other.answer, opinion.answer)
    )


def best_opinion(opinions: Sequence[Opinion]) -> tuple[Opinion, float]:
    """The opinion with the highest combined confidence (then its own, then answered hops), and that confidence."""

    def rank(opinion: Opinion) -> tuple[float, float, int]:
        answered = sum(cited.hop.answer is not None for cited in opinion.hops)
        return combined_confidence(opinion, opinions), opinion.confidence, answered

    best = max(opinions, key=rank)
    return best, combined_confidence(best, opinions)


def left_open(opinion: Opinion, opinions: Sequence[Opinion]) -> list[CitedHop]:
    """The hops of one opinion, the last of them without the opinion's answer, because it is not given; if none of them failed,
    with the failed hops of the other opinions in order.
    """
    *before, last = opinion.hops
    if last.hop.answer is not None and last.hop.answer == opinion.answer:
        last = CitedHop(replace(last.hop, answer=None, verdict=Verdict.UNANSWERED))
    if any(map(_failed, opinion.hops)):
        return [*before, last]
    hops = ([*before, last] if other is opinion else filter(_failed, other.hops) for other in opinions)
    return list(chain.from_iterable(hops))


def concluding_hop(opinion: Opinion) -> CitedHop:
    """The hop that gives an opinion's answer: its last, or one that cites what all cite, if the answer is concluded from them."""
    last = opinion.hops[-1]
    if opinion.answer is None or last.hop.answer == opinion.answer:
        return last
    hits = without_repeats(hit for cited in opinion.hops for hit in cited.hop.hits)
    hop = replace(last.hop, hits=hits, answer=opinion.answer, verdict=Verdict.ANSWERED)
    return CitedHop(hop, tuple(dict.fromkeys(span for cited in opinion.hops for span in cited.support)))


def _failed(cited: CitedHop) -> bool:
    return cited.hop.verdict is Verdict.FAILED


TASKS_A_HOP = 3
"""The next question, its completion, its reading."""
TASKS_BESIDES = 2
"""The last request for a next question, and the conclusion."""


@dataclass(frozen=True, slots=True)
class ChainSettings(Limited):
    """At most `most_hops` sub-questions (0: no chain). Each reads the path's best `path_read` passages and `search` of its own.

    Without an answer, `rethink` further passages are read (0: none). With `verify`, an answer with a confidence below `doubt` is
    checked against its evidence, and dropped if that does not support it. `conclude` says from what the answer is concluded;
    `both` costs one task more and gives two opinions.
    """

    most_hops: AtLeast0 = 6
    path_read: AtLeast1 = 8
    search: AtLeast0 = 3
    rethink: AtLeast0 = 9
    verify: bool = False
    doubt: Share = 0.5
    conclude: Literal["evidence", "answers", "both"] = "evidence"

    @property
    def most_tasks(self) -> tuple[int, int]:
        """Upper bounds on the tasks of a chain: with evidence, and without."""
        if not self.most_hops:
            return 0, 0
        tries = 2 if self.rethink else 1
        concluding = 2 if self.conclude == "both" else 1
        return self.most_hops * tries * (2 if self.verify else 1) + concluding, 2 * self.most_hops


@dataclass(frozen=True, slots=True)
class HopAttempt:
    """A sub-question's hop after one try, the confidence of its answer (0 without one), and what its reading found promising."""

    cited: CitedHop
    confidence: float = 0.0
    promising: tuple[Span, ...] = ()


@dataclass(slots=True)
class Chain:
    """One question's chain over the passages `found` for it; at most `tokens` of evidence are read at a time."""

    corpus: Corpus
    found: Ranking
    settings: ChainSettings
    tokens: int
    budget: QuestionBudget
    attempts: list[HopAttempt] = field(default_factory=list)

    def opinions(self, question: str) -> Iterator[Opinion]:
        """The chain's conclusions, one or two; none if the budget does not afford a hop, or if the question is not taken apart,
        because it has been read already.
        """
        if not self.settings.most_hops or not self._may_continue([]):
            return
        most = self.settings.most_hops
        hops = next_questions(question, self.budget.meter, most, self._hop, self._may_continue, {question})
        if not hops:
            return
        if any(cited.hop.answer is None for cited in hops):
            yield Opinion(None, 0.0, hops, promising=self.attempts[-1].promising if self.attempts else ())
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

    def _hop(self, question: str, asked: str) -> CitedHop:
        """A first try, and a second if the first gave no supported answer."""
        found = self._search(asked)
        hits = without_repeats((*found[: self.settings.search], *self.found[: self.settings.path_read]))
        attempt = self._try(question, asked, hits)
        read = {hit.unit.id for hit in hits}
        further = tuple(hit for hit in found if hit.unit.id not in read)[: self.settings.rethink]
        unanswered = attempt.cited.hop.verdict is Verdict.UNANSWERED
        if further and unanswered and self.budget.affords(1 + TASKS_BESIDES):
            second = self._try(question, asked, further)
            hop = replace(second.cited.hop, hits=(*hits, *further))
            attempt = replace(second, cited=replace(second.cited, hop=hop))
        self.attempts.append(attempt)
        return attempt.cited

    def _search(self, asked: str) -> Ranking:
        """The passages of a sub-question for both tries, by words and vectors and by path search in turn; none if neither try has
        any of its own.
        """
        own, further = self.settings.search, self.settings.rethink
        if not own and not further:
            return ()
        limit = own + self.settings.path_read + further
        alone = hybrid_search(self.corpus, asked, limit)
        return interleave([alone, search_paths(self.corpus, asked, limit)], limit)

    def _try(self, question: str, asked: str, hits: Ranking) -> HopAttempt:
        reading, cited = read_packed(question, asked, hits, self.tokens, self.budget.meter)
        try:
            holds = self._holds(asked, reading, hits)
        except TaskFailed:
            return HopAttempt(failed_hop(question, asked, hits))
        if not holds:
            return HopAttempt(CitedHop(Hop(question, asked, hits, None, Verdict.UNANSWERED)))
        return HopAttempt(cited, reading.confidence if reading.answer is not None else 0.0, reading.promising)

    def _holds(self, asked: str, reading: Reading, hits: Ranking) -> bool:
        """Whether an answer may stand: it is sure, is not to be verified, or its evidence supports it."""
        if reading.answer is None or not self.settings.verify or reading.confidence >= self.settings.doubt:
            return True
        if not self.budget.affords(1 + TASKS_BESIDES):
            return True
        units = tuple(hit.unit for hit in pack(hits, self.tokens))
        return self.budget.meter.perform(Verify(asked, units, reading.answer)) >= self.settings.doubt

    def _conclude(self, question: str, hops: list[CitedHop], sure: float, packed: Ranking) -> Opinion:
        task = Integrate(question, findings_of(hops), tuple(hit.unit for hit in packed))
        try:
            reading, concluding = conclusion(task, hops, packed, self.budget.meter)
        except TaskFailed:
            return Opinion(
                None, 0.0, [*hops, *report_hops([failed_hop(question, question, packed)], self.budget.meter)]
            )
        confidence = min(sure, reading.confidence) if reading.answer is not None else 0.0
        shown = [*hops, *report_hops(concluding, self.budget.meter)]
        return Opinion(reading.answer, confidence, shown, promising=self.attempts[-1].promising)
