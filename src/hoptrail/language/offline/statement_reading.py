"""Answer a question from single statements, and from two that share a name: each is read once, under its title and headings.

    statements    of the first eight passages, by words and meaning; the `READ` closest          language/closeness.py
    pairs         from these to a second statement that has the same name or code                statement_pairs.py
    candidates    the best span of each statement, and of each second one read after its first   here
    right         how likely a candidate is right, by a logistic regression over its numbers     answer_weights.py
    together      the two likeliest candidates with one answer count together                    answer_weights.py
    confidence    a second regression, which sees the next other answer, and what the            here, statement_text.py
                  question tagger marks among their neighbours: the same words, or others
    verdict       where the question begins with a verb: the mean of all verdicts, those of      here
                  statements that seem to settle it counting most

`training/answers.py` fits the regressions. The same question of the same passages is read once.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean

from hoptrail.language.closeness import UNITS, Close, Similarity, close_statements, judged, under_headings
from hoptrail.language.offline.answer_weights import Candidate, ReadAnswer, confidence_numbers, stored_weights, weighed
from hoptrail.language.offline.statement_pairs import StatementPair, find_pairs
from hoptrail.language.offline.statement_text import StatementText, marked
from hoptrail.language.questions.times import TimeAsked, time_asked
from hoptrail.language.withholding import contradict, say_alike, those_that_hold, told_apart
from hoptrail.models.question_tagger import tag_question
from hoptrail.models.reader import TextReader, TextReading, ToRead, bounded, log_odds, settling
from hoptrail.text.dates import dates_within
from hoptrail.text.normal_forms import base_title
from hoptrail.text.statements import UnitStatement, statements_of
from hoptrail.text.words import content_stems, words
from hoptrail.types import AnswerKind, Unit

READ, PAIRS = 12, 8  # the number of closest statements that are read, and of pairs
_KEPT = 64  # questions: the stages of an answer ask the same one of the same passages again
_NO_SPANS = (("", -20.0), ("", -20.0))  # below the margins that spans have
_SHARPENED = 2.0  # power of the odds that a statement settles the question, as weights of verdicts
_NEAR = 2.0  # log odds by which what is about as likely as the likeliest is less likely


@dataclass(frozen=True, slots=True)
class ReadStatements:
    """The statements of some passages, closest to a question first, and of the first `READ` the readings, the answers with their
    margins (`spans`), and the log odds that each `settles` the question.
    """

    close: tuple[Close, ...]
    readings: tuple[TextReading, ...]
    spans: tuple[list[tuple[str, float]], ...]
    settles: tuple[float, ...]

    @property
    def weights(self) -> list[float]:
        """The weights of the readings by the odds that each statement settles the question, with the sum 1."""
        weights = [math.exp(_SHARPENED * (one - max(self.settles))) for one in self.settles]
        return [weight / sum(weights) for weight in weights]


class StatementReader:
    """Reads plain questions by `model` (None: there are no answers); `similarity` is part of closeness (None: words alone)."""

    def __init__(self, model: TextReader | None, similarity: Similarity | None) -> None:
        self.model = model
        self._similarity = similarity
        self._kept = lru_cache(_KEPT)(self._read)
        self._kept_pairs = lru_cache(_KEPT)(self._read_pairs)

    def read(self, question: str, units: Sequence[Unit]) -> ReadStatements:
        """The statements of the first `UNITS` units, and the readings of the closest."""
        if time := time_asked(question):
            units = [one for one in units if any(_fits(said, time) for said in statements_of(one))]
        return self._kept(question, tuple(units[:UNITS]), time)

    def judged(self, question: str, units: Sequence[Unit]) -> tuple[Close, ...]:
        """The statements, closest first, where those that seem to settle the question count as closer."""
        read = self.read(question, units)
        return judged(read.close, read.settles)

    def settling(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """The log odds that each text settles the question; none without a model."""
        return settling(self.model, question, texts) if self.model else ()

    def ranked(
        self,
        question: str,
        units: Sequence[Unit],
        avoid: Sequence[str] = (),
        *,
        pairs: bool = False,
        spans: bool = False,
    ) -> list[ReadAnswer]:
        """All distinct answers, from `pairs` too, but no names to `avoid`, best first; only yes and no if these are asked for,
        unless `spans` are.
        """
        if not spans and tag_question(question).kind is AnswerKind.YES_NO:
            return self._verdicts(question, units)
        disputed, rest = self._answers(self.candidates(question, units, avoid, pairs=pairs))
        return [*those_that_hold(disputed), *rest]

    def disputed(self, question: str, units: Sequence[Unit]) -> list[ReadAnswer]:
        """The likeliest answer and those that contradict it, as `told_apart`, where no dates tell which holds; else none."""
        if tag_question(question).kind is AnswerKind.YES_NO:
            return []
        return told_apart(self._answers(self.candidates(question, units))[0])

    def _answers(self, candidates: Sequence[Candidate]) -> tuple[list[ReadAnswer], list[ReadAnswer]]:
        """The best answer and those that contradict it, then all others, each by likelihood."""
        weights = stored_weights()
        found = weighed(candidates, weights)
        answers: tuple[list[ReadAnswer], list[ReadAnswer]] = ([], [])
        for at, one in enumerate(found):
            said, confidence = one.candidate.said, weights.confidence.probability(confidence_numbers(at, found))
            is_other = at and not contradict(found[0], one)
            pair = one.candidate.pair
            answers[bool(is_other)].append(ReadAnswer(one.candidate.answer, said.support, confidence, said, pair))
        return answers

    def candidates(
        self, question: str, units: Sequence[Unit], avoid: Sequence[str] = (), *, pairs: bool = False
    ) -> tuple[Candidate, ...]:
        """The best span of each statement that was read, closest first, then that of each of the `pairs`. No names to `avoid`."""
        time, read, avoided = time_asked(question), self.read(question, units), {_stems(name) for name in avoid}
        ranks = {unit.id: rank for rank, unit in reversed(list(enumerate(units, 1)))}
        mean = fmean(read.settles) if read.settles else 0.0
        found: list[Candidate] = []
        for close, reading, spans, settles in zip(read.close, read.readings, read.spans, read.settles, strict=False):
            if best := _best_span(spans, reading, avoided):
                answer, odds = best
                numbers = settles, settles - mean, close.closeness, close.share, 1 / ranks[close.said.unit.id]
                found.append(Candidate(answer, close.said, (*numbers, *odds)))
        highest = max(read.settles, default=0.0)
        for pair, reading, spans in self._kept_pairs(question, tuple(units), time) if pairs else ():
            if best := _best_span(spans, reading, avoided | {_stems(pair.name)}):
                answer, odds = best
                settles, leads = bounded(reading.settles), log_odds(read.readings[pair.place].helps)
                numbers = settles, settles - highest, leads, pair.share, pair.gain
                link = pair.linked, float(pair.is_entry), 1 / (1 + pair.place), 1 / (1 + pair.rank)
                found.append(Candidate(answer, pair.second, (*numbers, *link, *odds), pair))
        settling_at = {one.said.place: odds for one, odds in zip(read.close, read.settles, strict=False)}
        marks = marked(question, units[:UNITS], settling_at) if found else []
        found = [one.beside(marks) for one in found]
        return tuple(_in_order(found, time) if found and time and not time.ends else found)

    def looked_at(self, question: str, units: Sequence[Unit]) -> tuple[str, ...]:
        """A note on the dates that were looked at, if the question asks for a time."""
        if (time := time_asked(question)) is None:
            return ()
        return (time.note({when for one in self.read(question, units).close if (when := _when(one.said, time))}),)

    def verdict_numbers(self, question: str, units: Sequence[Unit]) -> dict[str, tuple[float, ...]]:
        """The numbers of yes and of no (`VERDICT`); none if nothing was read."""
        read = self.read(question, units)
        if not read.readings:
            return {}
        weighed_readings = list(zip(read.weights, read.readings, read.close, strict=False))
        verdict = sum(weight * affirms(reading) for weight, reading, _ in weighed_readings)
        neither = sum(weight * bounded(log_odds(reading.neither)) for weight, reading, _ in weighed_readings)
        share = sum(weight * one.share for weight, _, one in weighed_readings)
        settled = verdict * max(read.settles)
        return {"yes": (verdict, settled, neither, share, 0.0), "no": (-verdict, -settled, neither, share, 1.0)}

    def _verdicts(self, question: str, units: Sequence[Unit]) -> list[ReadAnswer]:
        """Yes and no, the likelier first, each with the statement that says most for it."""
        read, answers = self.read(question, units), []
        for answer, numbers in self.verdict_numbers(question, units).items():
            sign = 1 if answer == "yes" else -1
            said = [sign * weight * affirms(one) for weight, one in zip(read.weights, read.readings, strict=True)]
            support = read.close[said.index(max(said))].said.support
            answers.append(ReadAnswer(answer, support, stored_weights().verdict.probability(numbers)))
        return sorted(answers, key=lambda one: -one.confidence)

    def _read(self, question: str, units: tuple[Unit, ...], time: TimeAsked | None) -> ReadStatements:
        question = time.question if time else question
        close = close_statements(question, units, self._similarity)
        close = tuple(one for one in close if _fits(one.said, time)) if time else close
        texts = [StatementText.of(one.said) for one in close[:READ]] if self.model else []
        readings = self.model.read([ToRead(question, one.text) for one in texts]) if self.model else []
        spans = tuple(text.spans(reading) for text, reading in zip(texts, readings, strict=True))
        return ReadStatements(close, tuple(readings), spans, tuple(bounded(reading.settles) for reading in readings))

    def _read_pairs(
        self, question: str, units: tuple[Unit, ...], time: TimeAsked | None
    ) -> list[tuple[StatementPair, TextReading, list[tuple[str, float]]]]:
        """Pairs with the reading of the second statement after the first, and the answers there with their margins."""
        if self.model is None:
            return []
        close, question = self.read(question, units).close, time.question if time else question
        pairs = find_pairs(question, units, close[:READ], PAIRS)
        pairs = [pair for pair in pairs if _fits(pair.second, time)] if time else pairs
        texts = [StatementText.of(pair.second) for pair in pairs]
        asked = [ToRead(question, text.text, under_headings(one.first)) for one, text in zip(pairs, texts, strict=True)]
        readings = self.model.read(asked)
        answers = (text.spans(reading) for text, reading in zip(texts, readings, strict=True))
        return list(zip(pairs, readings, answers, strict=True))


def _best_span(
    spans: Sequence[tuple[str, float]], reading: TextReading, avoided: Collection[frozenset[str]]
) -> tuple[str, tuple[float, float, float]] | None:
    """The best of some answers with their margins that is not to be avoided, and its last three numbers; None: there is none."""
    allowed = [one for one in spans if _stems(one[0]) not in avoided] if avoided else spans
    (answer, margin), (_, other) = (*allowed, *_NO_SPANS)[:2]
    return (answer, (log_odds(reading.helps), bounded(margin), bounded(margin - other))) if answer else None


def affirms(reading: TextReading) -> float:
    """The log odds of yes over no."""
    return bounded(log_odds(reading.yes) - log_odds(reading.no))


def _in_order(found: Sequence[Candidate], time: TimeAsked) -> Sequence[Candidate]:
    """The candidates without those that are about as likely as the likeliest, and whose statements stand beside that one's or say
    much the same, but at another date than the latest of these, or the earliest.
    """
    weights = stored_weights()
    likely = [log_odds(weights.probability(one)) for one in found]
    best = found[likely.index(max(likely))]
    headings = (best.said.unit.document, best.said.path)
    same = [
        one
        for one, odds in zip(found, likely, strict=True)
        if _when(one.said, time)
        and odds > max(likely) - _NEAR
        and (headings == (one.said.unit.document, one.said.path) or say_alike(best, one))
    ]
    if best not in same:
        return found
    date = time.chosen([_when(one.said, time) for one in same])
    return [one for one in found if one not in same or _when(one.said, time) == date]


def _when(said: UnitStatement, time: TimeAsked) -> str:
    """The first date in a statement that fits, else that above it."""
    return next((date for date in dates_within(said.said) if time.fits((date,), "")), said.date)


def _fits(said: UnitStatement, time: TimeAsked) -> bool:
    return time.fits(dates_within(said.said), said.date)


def _stems(text: str) -> frozenset[str]:
    base = base_title(text)
    return content_stems(base) or frozenset(word.stem for word in words(base))
