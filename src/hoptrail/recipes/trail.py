"""`trail`, hoptrail's own recipe: retrieve whole paths of passages, then read in stages until the answer is confident enough.

    retrieval     passages on paths of up to four hops, chosen together, without a model      retrieval/paths/search.py
    reading       the few best at once; the hops are read off the text                        stage 1
    chain         sub-questions completed from earlier answers, tried twice if the first      stage 2, `Chain`
                  reading gives nothing, and concluded together
    wide reading  everything that was found, at once                                          stage 3
    confidence    combined over the stages; below `least_confidence` the recipe abstains      `combined_confidence`
    order         the answer's passages: what was found to be evidence comes first            `order_by_reading`

Stages run from the cheapest to the dearest. Those with the same answer have read much the same passages, so together they have
the highest of their confidences. Different answers do not lower it. The chain, in the order of its work:

    question      one at a time, completed before searching (ChainRAG, HiRAG, SUNAR)          `next_questions` in hopwise.py
    first try     the passages of the path, and the best for the sub-question
    verify        optional: check an uncertain answer against its evidence (HiRAG)            task verify
    second try    without an answer: further passages for the sub-question alone (Rethink)
    conclusion    from answers and passages together (SUNAR's MER), from the answers alone    task integrate
                  (ChainRAG's AnsInt), or both, the one checking the other

It has the confidence of its least confident hop, because one wrong step makes the rest a guess, and gives no answer if a hop
has none. Not adopted, because they gained nothing here (docs/decisions/diary.md): summaries, a frontier under a budget (SUNAR),
feedback from sampled answers, the triple channel. Retrieval asks no language, so `search` gives the same hits with any language.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import ClassVar, Literal

from hoptrail.errors import TaskFailed
from hoptrail.language.listener import Meter
from hoptrail.language.tasks import Abstain, Effort, Integrate, Language, Read, Reading, Verify
from hoptrail.models.question_tagger import tag_question
from hoptrail.recipes.answering import (
    CitedHop,
    cite,
    covers_any,
    findings_of,
    guess_of,
    hops_of,
    report_hops,
    withheld_hop,
)
from hoptrail.recipes.closest import closest
from hoptrail.recipes.hopwise import QuestionBudget, conclusion, failed_hop, next_questions, read_packed
from hoptrail.recipes.recipe import PassageSettings
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.paths.search import STRUCTURES, search_paths
from hoptrail.retrieval.rankings import by_position, interleave, pack, without_repeats
from hoptrail.retrieval.units.unit_search import hybrid_search
from hoptrail.setting_limits import AtLeast0, AtLeast1, Limited, Share
from hoptrail.text.normal_forms import same_words
from hoptrail.types import Answer, AnswerKind, Hop, Ranking, Trail, Verdict

TASKS_A_HOP = 3  # the next question, its completion, its reading
TASKS_BESIDES = 2  # the last request for a next question, and the conclusion
KEPT = 2  # the best passages of the search keep their places in the answer, whatever was read
_READ_OFF = {AnswerKind.PASSAGE, AnswerKind.STEPS, AnswerKind.LIST}
"""Kinds of answers that are read off one place in the text, without hops."""


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
class TrailSettings(PassageSettings):
    """Stages read the `k` passages found until an answer has the combined confidence `sure`.

    The first stage reads the best `first_read` passages, the second is the `chain`, the third (`wide`) reads all `k`. Below
    `least_confidence` the recipe abstains. A question spends at most `tasks` language tasks, and starts none after spending
    `tokens` (0: no limit); steps that do not fit are skipped.
    """

    first_read: AtLeast1 = 8
    chain: ChainSettings = field(default_factory=ChainSettings)
    wide: bool = True
    sure: Share = 0.65
    least_confidence: Share = 0.65
    tasks: AtLeast0 = 0
    tokens: AtLeast0 = 0
    structures = STRUCTURES

    @property
    def effort(self) -> Effort:
        """At least one reading; at most every stage, within `tasks`."""
        readings, others = self.chain.most_tasks
        readings += 2 if self.wide and self.k > self.first_read else 1
        if self.tasks:
            readings = min(readings, self.tasks)
            others = min(others, self.tasks - readings)
        return Effort((1, readings), (0, others))


NO_CHAIN = ChainSettings(most_hops=0)


@dataclass(frozen=True)
class TrailRecipe:
    """Passages on whole paths, read at once, then step by step, until an answer is confident enough."""

    corpus: Corpus
    language: Language
    settings: TrailSettings = field(default_factory=TrailSettings)

    name: ClassVar[str] = "trail"
    presets: ClassVar[Mapping[str, TrailSettings]] = {
        "one-reading": TrailSettings(first_read=20, chain=NO_CHAIN, wide=False),
        "no-chain": TrailSettings(chain=NO_CHAIN),
        "every-stage": TrailSettings(sure=1.0),
        "no-rethink": TrailSettings(chain=ChainSettings(rethink=0)),
        "verified": TrailSettings(chain=ChainSettings(verify=True)),
        "cross-checked": TrailSettings(chain=ChainSettings(conclude="both")),
        "answers-only": TrailSettings(chain=ChainSettings(conclude="answers")),
        "guessing": TrailSettings(least_confidence=0.0, abstain=Abstain.NEVER),
    }

    def retrieve(self, question: str) -> Ranking:
        return search_paths(self.corpus, question, self.settings.k)

    def answer(self, question: str) -> Answer:
        meter = Meter(self.language, self.settings.abstain)
        found = self.retrieve(question)
        opinions: list[Opinion] = []
        for opinion in self._stages(question, found, meter):
            opinions.append(opinion)
            if opinion.reading.answer is not None and combined_confidence(opinion, opinions) >= self.settings.sure:
                break
        best, combined = best_opinion(opinions)
        reading = best.reading
        text = reading.answer if combined >= self.settings.least_confidence else None
        # An abstention shows the failed hops of all stages, because they may be its cause.
        hops = best.hops if text is not None else left_open(best, opinions)
        evidence = cite(hops, self.corpus)
        unsure = [(combined, concluding_hop(best)), *((one.reading.confidence, one.withheld) for one in opinions)]
        confidence, guessed = (combined, None) if text is not None else max(unsure, key=lambda one: one[0])
        read = (hit for opinion in opinions for cited in opinion.hops for hit in cited.hop.hits)
        shown = without_repeats((*found, *read))
        trail = Trail(tuple(cited.hop for cited in hops))
        ordered = order_by_reading(found, shown, opinions)
        # First those of several hops, whose last hop asks what is left of the question.
        by_hops = sorted(opinions, key=lambda opinion: len(opinion.hops) < 2)
        promising = tuple(dict.fromkeys(span for opinion in by_hops for span in opinion.reading.promising))
        return Answer(
            *(question, text, self.name, self.language.name, evidence, trail, meter.total, ordered, confidence),
            kind=reading.kind,
            items=reading.items if text is not None else (),
            closest=closest(question, shown, self.corpus, self.language, promising),
            guess=guess_of(guessed, confidence, self.corpus, len(hops) - 1),
            notes=reading.notes or opinions[0].reading.notes,
        )

    def _stages(self, question: str, found: Ranking, meter: Meter) -> Iterator[Opinion]:
        chosen = self.settings
        tokens, budget = chosen.evidence_tokens, QuestionBudget(meter, chosen.tasks, chosen.tokens)
        few = pack(found[: chosen.first_read], tokens)
        yield self._reading(question, few, meter)
        if tag_question(question).kind not in _READ_OFF:
            yield from Chain(self.corpus, found, chosen.chain, tokens, budget).opinions(question)
        everything = pack(found, tokens)
        if chosen.wide and everything != few and budget.affords(1):  # the same text read twice is one opinion
            yield self._reading(question, everything, meter)

    def _reading(self, question: str, packed: Ranking, meter: Meter) -> Opinion:
        meter.asked(question, question)
        try:
            reading = meter.perform(Read(question, tuple(hit.unit for hit in packed), meter.abstain))
            hops = report_hops(hops_of(question, reading, packed, packed), meter)
        except TaskFailed:
            return Opinion(Reading(None), report_hops([failed_hop(question, question, packed)], meter))
        return Opinion(reading, hops, withheld_hop(question, reading, packed))


@dataclass(frozen=True, slots=True)
class Opinion:
    """What one stage reads or concludes, its hops, and the hop of an answer that was withheld."""

    reading: Reading
    hops: list[CitedHop]
    withheld: CitedHop | None = None

    @property
    def confidence(self) -> float:
        """0 without an answer."""
        return 0.0 if self.reading.answer is None else self.reading.confidence


# --- stage 2


@dataclass(slots=True)
class Chain:
    """One question's chain over the passages `found` for it; at most `tokens` of evidence are read at a time."""

    corpus: Corpus
    found: Ranking
    settings: ChainSettings
    tokens: int
    budget: QuestionBudget
    readings: list[Reading] = field(default_factory=list)

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
            yield Opinion(Reading(None, promising=self.readings[-1].promising if self.readings else ()), hops)
            return
        least = min(reading.confidence for reading in self.readings)
        if self.settings.conclude != "answers":
            yield self._conclude(question, hops, least, pack(self.found[: self.settings.path_read], self.tokens))
        if self.settings.conclude != "evidence" and self.budget.affords(1):
            yield self._conclude(question, hops, least, ())

    def _may_continue(self, hops: Sequence[CitedHop]) -> bool:
        """Whether one more hop fits the budget and is of use: after a hop without an answer it is not."""
        answered = all(cited.hop.answer is not None for cited in hops)
        return answered and self.budget.affords(TASKS_A_HOP + TASKS_BESIDES)

    def _hop(self, question: str, asked: str) -> CitedHop:
        """A first try, and a second if the first gave no supported answer."""
        found = self._search(asked)
        hits = without_repeats((*found[: self.settings.search], *self.found[: self.settings.path_read]))
        reading, cited = self._try(question, asked, hits)
        read = {hit.unit.id for hit in hits}
        further = tuple(hit for hit in found if hit.unit.id not in read)[: self.settings.rethink]
        unanswered = cited.hop.verdict is Verdict.UNANSWERED
        if further and unanswered and self.budget.affords(1 + TASKS_BESIDES):
            reading, cited = self._try(question, asked, further)
            cited = replace(cited, hop=replace(cited.hop, hits=(*hits, *further)))
        self.readings.append(reading)
        return cited

    def _search(self, asked: str) -> Ranking:
        """The passages of a sub-question for both tries, by hybrid and by path search in turn; none if neither has its own."""
        own, further = self.settings.search, self.settings.rethink
        if not own and not further:
            return ()
        limit = own + self.settings.path_read + further
        alone = hybrid_search(self.corpus, asked, limit)
        return interleave([alone, search_paths(self.corpus, asked, limit)], limit)

    def _try(self, question: str, asked: str, hits: Ranking) -> tuple[Reading, CitedHop]:
        """An answer less likely than `doubt` does not stand if it is to be verified and the evidence does not support it."""
        meter, chosen = self.budget.meter, self.settings
        reading, cited = read_packed(question, asked, hits, self.tokens, meter)
        doubtful = chosen.verify and reading.confidence < chosen.doubt
        if reading.answer is not None and doubtful and self.budget.affords(1 + TASKS_BESIDES):
            units = tuple(hit.unit for hit in pack(hits, self.tokens))
            try:
                supported = meter.perform(Verify(asked, units, reading.answer)) >= chosen.doubt
            except TaskFailed:
                return Reading(None), failed_hop(question, asked, hits)
            if not supported:
                return Reading(None), CitedHop(Hop(question, asked, hits, None, Verdict.UNANSWERED))
        return reading, cited

    def _conclude(self, question: str, hops: list[CitedHop], least: float, packed: Ranking) -> Opinion:
        task = Integrate(question, findings_of(hops), tuple(hit.unit for hit in packed))
        try:
            reading, concluding = conclusion(task, hops, packed, self.budget.meter)
        except TaskFailed:
            failed = report_hops([failed_hop(question, question, packed)], self.budget.meter)
            return Opinion(Reading(None), [*hops, *failed])
        confidence = min(least, reading.confidence) if reading.answer is not None else 0.0
        concluded = Reading(reading.answer, confidence=confidence, promising=self.readings[-1].promising)
        return Opinion(concluded, [*hops, *report_hops(concluding, self.budget.meter)])


# --- what the stages say together


def combined_confidence(opinion: Opinion, opinions: Sequence[Opinion]) -> float:
    """The highest confidence among the opinions with the same answer; 0 without an answer."""
    if (answer := opinion.reading.answer) is None:
        return 0.0
    same = (one for one in opinions if one.reading.answer is not None and same_words(one.reading.answer, answer))
    return max(one.confidence for one in same)


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
    if last.hop.answer is not None and last.hop.answer == opinion.reading.answer:
        last = CitedHop(replace(last.hop, answer=None, verdict=Verdict.UNANSWERED))
    if any(map(_failed, opinion.hops)):
        return [*before, last]
    hops = ([*before, last] if other is opinion else filter(_failed, other.hops) for other in opinions)
    return list(chain.from_iterable(hops))


def concluding_hop(opinion: Opinion) -> CitedHop:
    """The hop that gives an opinion's answer: its last, or one that cites what all cite, if the answer is concluded from them."""
    last = opinion.hops[-1]
    if opinion.reading.answer is None or last.hop.answer == opinion.reading.answer:
        return last
    hits = without_repeats(hit for cited in opinion.hops for hit in cited.hop.hits)
    hop = replace(last.hop, hits=hits, answer=opinion.reading.answer, verdict=Verdict.ANSWERED)
    return CitedHop(hop, tuple(dict.fromkeys(span for cited in opinion.hops for span in cited.support)))


def _failed(cited: CitedHop) -> bool:
    return cited.hop.verdict is Verdict.FAILED


def order_by_reading(found: Ranking, shown: Ranking, opinions: Sequence[Opinion]) -> Ranking:
    """As many passages as in `found`, with scores 1 / position. `shown` are these and all that the opinions read.

    After the first KEPT come those that the opinions cite, the most confident opinion first; then the best passage for a
    sub-question that was asked after an answered one and found no answer; then the rest in their order.
    """
    confident = sorted(opinions, key=lambda opinion: -opinion.confidence)
    support = (span for opinion in confident for cited in opinion.hops for span in cited.support)
    holders = (next((hit for hit in shown if covers_any(hit.unit, [span])), None) for span in support)
    cited = (hit for hit in holders if hit is not None)
    last = (opinion.hops[-1].hop for opinion in opinions if len(opinion.hops) > 1)
    asked_on = chain.from_iterable(hop.hits[:1] for hop in last if hop.verdict is Verdict.UNANSWERED)
    return by_position(without_repeats((*found[:KEPT], *cited, *asked_on, *found))[: len(found)])
