"""Answer a question from single statements, and from two that share a name: each is read once, under its title and headings.

    statements    of the first eight passages, by words and meaning; the `READ` closest          language/closeness.py
    paths         from these to a second statement that has the same name or code                paths.py
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
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import fmean

from hoptrail.language.closeness import UNITS, Close, Similarity, close_statements, judged, under_headings
from hoptrail.language.offline.answer_weights import (
    Candidate,
    confidence_numbers,
    contradict,
    say_alike,
    stored_weights,
    weighed,
)
from hoptrail.language.offline.paths import Path, find_paths
from hoptrail.language.offline.statement_text import StatementText, marked
from hoptrail.language.questions.times import TimeAsked, time_asked
from hoptrail.language.tasks import Step
from hoptrail.models.question_tagger import tag_question
from hoptrail.models.reader import TextReader, TextReading, ToRead, log_odds, settling
from hoptrail.text.dates import dates_within
from hoptrail.text.normal_forms import base_title
from hoptrail.text.statements import UnitStatement, statements_of
from hoptrail.text.words import content_stems, words
from hoptrail.types import AnswerKind, Span, Unit

READ, PATHS = 12, 8  # the number of closest statements that are read, and of paths
_KEPT = 64
"""Questions whose candidates are kept: the stages of an answer ask the same question of the same passages again."""
_SUREST = 14.0  # bound on log odds: higher ones carry no more information
_NO_SPANS = (("", -20.0), ("", -20.0))
_SHARPENED = 2.0  # power of the odds that a statement settles the question, as weights of verdicts
_NEAR = 2.0


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """An answer, the spans of the statement that gives it, the probability that it is right, that statement, but for yes and
    no, and the path that leads to it, if any.
    """

    answer: str
    support: tuple[Span, ...]
    confidence: float
    said: UnitStatement | None = None
    path: Path | None = None

    def steps(self, question: str) -> tuple[Step, ...]:
        """The steps to the answer: on a path first the name that leads on."""
        first = (Step(question, self.path.name, self.path.first.support),) if self.path else ()
        return (*first, Step(question, self.answer, self.support))


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


@dataclass(frozen=True, slots=True)
class ReadPath:
    """A path, the reading of its second statement after the first, the answers with their margins (`spans`), and the log odds
    that the first helps (`leads`).
    """

    path: Path
    reading: TextReading
    spans: list[tuple[str, float]]
    leads: float


class StatementReader:
    """Reads plain questions by `model` (None: there are no answers); `similarity` is part of closeness (None: words alone)."""

    def __init__(self, model: TextReader | None, similarity: Similarity | None) -> None:
        self.model = model
        self._similarity = similarity
        self._kept = lru_cache(_KEPT)(self._read)
        self._kept_paths = lru_cache(_KEPT)(self._read_paths)

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
        self, question: str, units: Sequence[Unit], avoid: Sequence[str] = (), *, paths: bool = False
    ) -> list[ReadAnswer]:
        """All distinct answers of the evidence, on `paths` too, except the names to `avoid`, best first; only yes and no where
        the question asks for these.
        """
        if tag_question(question).kind is AnswerKind.YES_NO:
            return self._verdicts(question, units)
        disputed, rest = self._answers(self.candidates(question, units, avoid, paths=paths))
        return [*_latest_first(disputed), *rest]

    def disputed(self, question: str, units: Sequence[Unit]) -> list[ReadAnswer]:
        """The likeliest answer and those that contradict it, where no dates tell which holds, each with what tells it from the
        others (`311 (Finance)`); none where there is no contradiction.
        """
        if tag_question(question).kind is AnswerKind.YES_NO:
            return []
        disputed, _ = self._answers(self.candidates(question, units))
        if len(_latest_first(disputed)) < 2:
            return []
        above = [(one.said.unit.title, *one.said.path) for one in disputed if one.said]
        apart: list[ReadAnswer] = []
        for one, names in zip(disputed, above, strict=True):
            name = next((name for name in reversed(names) if not all(name in other for other in above)), "")
            apart.append(replace(one, answer=f"{one.answer} ({name})") if name else one)
        return apart

    def _answers(self, candidates: Sequence[Candidate]) -> tuple[list[ReadAnswer], list[ReadAnswer]]:
        """The best answer and those that contradict it, then all others, each by likelihood."""
        weights = stored_weights()
        found = weighed(candidates, weights)
        answers: tuple[list[ReadAnswer], list[ReadAnswer]] = ([], [])
        for at, one in enumerate(found):
            said, confidence = one.candidate.said, weights.confidence.probability(confidence_numbers(at, found))
            is_other = at and not contradict(found[0], one)
            path = one.candidate.path
            answers[bool(is_other)].append(ReadAnswer(one.candidate.answer, said.support, confidence, said, path))
        return answers

    def candidates(
        self, question: str, units: Sequence[Unit], avoid: Sequence[str] = (), *, paths: bool = False
    ) -> tuple[Candidate, ...]:
        """The best span of each statement that was read, closest first, then on each of the `paths`. No names to `avoid`."""
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
        for one in self._kept_paths(question, tuple(units), time) if paths else ():
            if best := _best_span(one.spans, one.reading, avoided | {_stems(one.path.name)}):
                answer, odds = best
                settles, path = _cut(one.reading.settles), one.path
                numbers = settles, settles - highest, one.leads, path.share, path.gain
                link = path.linked, float(path.is_entry), 1 / (1 + path.place), 1 / (1 + path.rank)
                found.append(Candidate(answer, path.second, (*numbers, *link, *odds), path))
        settling_at = {one.said.place: odds for one, odds in zip(read.close, read.settles, strict=False)}
        marks = marked(question, units[:UNITS], settling_at) if found else []
        found = [one.beside(marks) for one in found]
        return tuple(_in_order(found, time) if found and time and time.is_ordered else found)

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
        neither = sum(weight * _cut(log_odds(reading.neither)) for weight, reading, _ in weighed_readings)
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
        return ReadStatements(close, tuple(readings), spans, tuple(_cut(reading.settles) for reading in readings))

    def _read_paths(self, question: str, units: tuple[Unit, ...], time: TimeAsked | None) -> list[ReadPath]:
        if self.model is None:
            return []
        read, question = self.read(question, units), time.question if time else question
        paths = find_paths(question, units, read.close[:READ], PATHS)
        paths = [path for path in paths if _fits(path.second, time)] if time else paths
        texts = [StatementText.of(path.second) for path in paths]
        readings = self.model.read(
            [ToRead(question, text.text, under_headings(path.first)) for path, text in zip(paths, texts, strict=True)]
        )
        return [
            ReadPath(path, reading, text.spans(reading), log_odds(read.readings[path.place].helps))
            for path, text, reading in zip(paths, texts, readings, strict=True)
        ]


def _best_span(
    spans: Sequence[tuple[str, float]], reading: TextReading, avoided: Collection[frozenset[str]]
) -> tuple[str, tuple[float, float, float]] | None:
    """The best of some answers with their margins that is not to be avoided, and its last three numbers; None: there is none."""
    allowed = [one for one in spans if _stems(one[0]) not in avoided] if avoided else spans
    (answer, margin), (_, other) = (*allowed, *_NO_SPANS)[:2]
    return (answer, (log_odds(reading.helps), _cut(margin), _cut(margin - other))) if answer else None


def affirms(reading: TextReading) -> float:
    """The log odds of yes over no."""
    return _cut(log_odds(reading.yes) - log_odds(reading.no))


def _latest_first(disputed: list[ReadAnswer]) -> list[ReadAnswer]:
    """Of answers that contradict one another the latest, if all have dates: it cites the others as replaced. Otherwise none
    holds: they share the confidence.
    """
    if len(disputed) < 2:
        return disputed
    dates = [one.said.date if one.said else "" for one in disputed]
    if dates.count(max(dates)) > 1 or not all(dates):
        return [replace(one, confidence=one.confidence / len(disputed)) for one in disputed]
    holds = disputed[dates.index(max(dates))]
    others = (replace(span, replaced=True) for one in disputed if one is not holds for span in one.support)
    return [replace(holds, support=(*holds.support, *others), confidence=disputed[0].confidence)]


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


def _cut(odds: float) -> float:
    return max(-_SUREST, min(_SUREST, odds))


def _stems(text: str) -> frozenset[str]:
    base = base_title(text)
    return content_stems(base) or frozenset(word.stem for word in words(base))
