"""From the numbers and quotes of a model's reply to spans of documents. Citations of what it was not shown are dropped.

A span is a whole sentence: the one quoted, else those that hold the step's answer, else all of the piece. Everything comes
from the units' own text, so a citation cannot say what the document does not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from hoptrail.language.chat.context import YES_NO, folded, one_line, whole_sentences
from hoptrail.language.chat.reply_parsing import is_refusal, says_unknown
from hoptrail.language.chat.schemas import ReadingReply, StepReply
from hoptrail.language.chat.supporting import is_supported
from hoptrail.language.tasks import Reading, Step
from hoptrail.text.normal_forms import stands_in
from hoptrail.text.statements import support_of
from hoptrail.types import Span, Unit

SHORTEST_QUOTE = 12
"""Characters below which a quote or a sentence says too little to be recognised by."""
UNSUPPORTED_TRUST = 0.25
"""How much of its confidence a reading keeps that says what it does not cite: so little that saying it twice is not believed."""


def reading_of(question: str, reply: ReadingReply, units: Sequence[Unit]) -> Reading:
    """The reading that a reply amounts to, its steps cited from `units` (in the order in which they were numbered), each held
    against what it cites.

    Steps stay where the question was not settled: others may go on from what they found.
    """
    answer = settled(reply.answer, units)
    steps = [
        _step(one_line(step.question) or question, found, support_of_step(step, found, units), units)
        for step in reply.steps
        if (found := settled(step.answer, units)) is not None
    ]
    if answer is None:
        return Reading(None, tuple(steps))
    if not steps or steps[-1].answer.casefold() != answer.casefold():
        last = steps[-1].support if steps else _told_by(answer, units)
        steps.append(_step(question, answer, last, units))
    reading = Reading(answer, tuple(steps), reply.confidence)
    return reading if reading.supported else replace(reading, confidence=UNSUPPORTED_TRUST * reply.confidence)


def _step(question: str, answer: str, support: tuple[Span, ...], units: Sequence[Unit]) -> Step:
    return Step(question, answer, support, is_supported(question, answer, support, units))


def settled(answer: str | None, units: Sequence[Unit] = ()) -> str | None:
    """An answer on one line, or None where its words say that there is none. Titles may sound so too ("Unknown", "Sorry, Wrong
    Number"): those that stand in the evidence are answers.
    """
    words = one_line(answer or "")
    bare = words.strip(" .!?\"'“”()[]<>*_")
    if says_unknown(bare):
        meant = any(_names(unit, bare) for unit in units)
    elif is_refusal(bare):
        meant = any(stands_in(folded(bare), folded(unit.searchable)) for unit in units)
    else:
        meant = bool(bare)
    return words if meant else None


def _names(unit: Unit, words: str) -> bool:
    """Whether words that any text may hold ("unknown", "none") are a name in this one: its title, or in mixed letters inside
    a sentence, where only names have capitals.
    """
    if folded(unit.title.partition(" (")[0]) == folded(words):
        return True
    mixed = not words.islower() and not words.isupper()
    return mixed and re.search(rf"[\w,;] [\"'“‘(]*{re.escape(words)}(?!\w)", one_line(unit.text)) is not None


def support_of_step(step: StepReply, answer: str, units: Sequence[Unit]) -> tuple[Span, ...]:
    """The sentences a step rests on, without repeats."""
    cited = [units[number - 1] for number in dict.fromkeys(step.evidence) if 1 <= number <= len(units)]
    quote = folded(step.quote or "")
    if not cited:
        cited = [unit for unit in units if _holds(unit, quote)][:1]
    if not cited:
        return _told_by(answer, units)
    spans = [span for unit in cited for span in _sentences_in(unit, quote, folded(answer))]
    return tuple(dict.fromkeys(spans))


def _sentences_in(unit: Unit, quote: str, answer: str) -> tuple[Span, ...]:
    found = [sentence for sentence in whole_sentences(unit) if _quotes(quote, folded(sentence.text))]
    if not found and answer not in YES_NO:
        found = [sentence for sentence in whole_sentences(unit) if stands_in(answer, folded(sentence.text))]
    if not found:
        return support_of(unit, 0, len(unit.text))
    return tuple(span for sentence in found for span in support_of(unit, sentence.start, sentence.end))


def _told_by(answer: str, units: Sequence[Unit]) -> tuple[Span, ...]:
    """Where nothing was cited: the first sentence of the evidence that holds the answer word for word, if one does."""
    sought = folded(answer)
    if sought in YES_NO:
        return ()
    for unit in units:
        for sentence in whole_sentences(unit):
            if stands_in(sought, folded(sentence.text)):
                return support_of(unit, sentence.start, sentence.end)
    return ()


def _holds(unit: Unit, quote: str) -> bool:
    """Whether a quote stands in a unit, or one of its sentences in the quote."""
    whole = len(quote) >= SHORTEST_QUOTE and quote in folded(unit.text)
    return whole or any(_quotes(quote, folded(sentence.text)) for sentence in whole_sentences(unit))


def _quotes(quote: str, sentence: str) -> bool:
    if len(quote) < SHORTEST_QUOTE:
        return False
    return quote in sentence or (len(sentence) >= SHORTEST_QUOTE and sentence in quote)
