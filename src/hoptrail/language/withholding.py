"""Why an answer is withheld, in the order in which an answer meets the reasons, and when it is shown as a guess.

    silence         no statement gives an answer, so that there is none to withhold         offline/statement_reading.py
    contradiction   a statement of another document says otherwise: the latest holds; where `contradict`, `those_that_hold`
                    dates do not tell, all are given as one answer, with what tells them    `told_apart`, `all_of`
                    apart, and none of them alone
    kind            it is neither yes nor no, where the question asks for these             `of_kind`
    threshold       it is less likely to be right than the offline language asks for        `LEAST_SHARE`, `held_to`
    recipe          the best answer of all stages of `trail` is less likely than that asks  recipes/trail.py
    meaning         the question was completed, and something else may be meant             `doubted`

What is withheld keeps its evidence, and is a guess where it is likely enough (`is_guess`). A chat model withholds by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hoptrail.language.tasks import Abstain, Reading, Step
from hoptrail.models.reader import log_odds
from hoptrail.text.words import content_stems
from hoptrail.types import Answer, AnswerKind, Guess, Hop, Verdict

if TYPE_CHECKING:
    from hoptrail.language.offline.answer_weights import Candidate, ReadAnswer, Weighed

_ALIKE, _RIVAL = 0.5, 1.5
"""Least share of common words of two statements that contradict each other, and how far behind in log odds the other may be."""
LEAST_SHARE = {Abstain.ALWAYS: 1.0, Abstain.ALLOWED: 0.25, Abstain.NEVER: 0.0}
"""What counts of the offline language's least confidence; a quarter where an answer is withheld only if nothing helps."""
_LEAST_MEANT = 0.5
"""Where a completed question is meant with less, its answer is a guess: of 222 turns of dialogues 18 instead of 23 get a wrong
answer, and 71 instead of 78 a right one.
"""
_LEAST_GUESS = 0.15
"""Below this probability of being right not even a guess is shown: on folders of strangers hardly any of them is right."""


def contradict(best: Weighed, other: Weighed) -> bool:
    """Whether a statement of another document says much the same as the best answer's and is about as likely, but differs."""
    behind = log_odds(best.probability) - log_odds(other.probability)
    one, two = best.candidate, other.candidate
    return behind < _RIVAL and one.said.unit.document != two.said.unit.document and say_alike(one, two)


def say_alike(best: Candidate, other: Candidate) -> bool:
    """Whether two statements say much the same but for their answers."""
    values = content_stems(f"{best.answer} {other.answer}")
    mine, theirs = content_stems(best.said.said) - values, content_stems(other.said.said) - values
    return len(mine & theirs) >= _ALIKE * len(mine | theirs)


def those_that_hold(disputed: list[ReadAnswer]) -> list[ReadAnswer]:
    """Of answers that contradict one another the latest, if all have dates: it cites the others as replaced. Otherwise none
    holds more than the others: they share the confidence.
    """
    if len(disputed) < 2:
        return disputed
    dates = [one.said.date if one.said else "" for one in disputed]
    if dates.count(max(dates)) > 1 or not all(dates):
        return [replace(one, confidence=one.confidence / len(disputed)) for one in disputed]
    holds = disputed[dates.index(max(dates))]
    others = (replace(span, replaced=True) for one in disputed if one is not holds for span in one.support)
    return [replace(holds, support=(*holds.support, *others), confidence=disputed[0].confidence)]


def told_apart(disputed: list[ReadAnswer]) -> list[ReadAnswer]:
    """Answers that contradict one another, each with what tells it from the others (`311 (Finance)`); none where one holds."""
    if len(those_that_hold(disputed)) < 2:
        return []
    above = [(one.said.unit.title, *one.said.path) for one in disputed if one.said]
    apart: list[ReadAnswer] = []
    for one, names in zip(disputed, above, strict=True):
        name = next((name for name in reversed(names) if not all(name in other for other in above)), "")
        apart.append(replace(one, answer=f"{one.answer} ({name})") if name else one)
    return apart


def all_of(question: str, disputed: Sequence[ReadAnswer]) -> Reading:
    """The reading that gives every one of some answers that contradict one another. It is no likelier than the likeliest: whether
    the question is answered at all is as open as for each.
    """
    items, spans = tuple(one.answer for one in disputed), (span for one in disputed for span in one.support)
    step = Step(question, "; ".join(items), tuple(dict.fromkeys(spans)))
    return Reading(step.answer, (step,), round(max(one.confidence for one in disputed), 4), AnswerKind.LIST, items)


def of_kind(kind: AnswerKind, reading: Reading) -> Reading:
    """The reading with its kind; without its answer if the question asks yes or no and the answer is neither."""
    if reading.answer in {"yes", "no"}:
        return replace(reading, kind=AnswerKind.YES_NO)
    if kind is AnswerKind.YES_NO:
        return replace(reading, answer=None, items=(), kind=AnswerKind.YES_NO)
    return reading


def held_to(least: float, reading: Reading) -> Reading:
    """The reading; if it is less confident, without its answer, whose step is kept as `withheld`."""
    if reading.confidence >= least:
        return reading
    answered = reading.steps[-1] if reading.answer is not None else None
    return Reading(None, reading.steps[:-1], reading.confidence, reading.kind, withheld=answered)


def doubted(answer: Answer, probability: float) -> Answer:
    """The answer to a question that is meant with a probability: it is right if both are, and a guess if that is unlikely."""
    if answer.confidence is None:
        return answer
    confidence = round(answer.confidence * probability, 4)
    if probability >= _LEAST_MEANT or answer.text is None:
        guess = answer.guess and replace(answer.guess, confidence=confidence)
        return replace(answer, confidence=confidence, guess=guess)
    said = tuple(one for one in answer.evidence if one.hop == answer.evidence[-1].hop)
    guess = Guess(answer.text, confidence, said)
    return replace(answer, text=None, items=(), confidence=confidence, guess=guess)


def is_guess(withheld: Hop, confidence: float) -> bool:
    """Whether an answer that is withheld is shown as a guess: it is likely enough, and what it cites supports it."""
    return withheld.verdict is Verdict.ANSWERED and confidence >= _LEAST_GUESS
