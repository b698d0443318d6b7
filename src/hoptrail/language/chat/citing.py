"""Turn the numbers and quotes of a model's reply into spans of documents. Citations of text that it was not shown are dropped.

Spans are whole sentences: the quoted one, else those with the step's answer, else the whole passage. All come from the units' own
text, so a citation cannot say what the document does not.

Rules then check whether the answer is in the cited sentences, the ones before them, or the title. They compare words and numbers.
Conclusions from several facts (a yes or no, a count, a difference, a choice between two names in the question) cannot be checked
and count as supported. Synonyms count as unsupported.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from hoptrail.language.chat.context import YES_NO, folded, heading_of, sentences_of
from hoptrail.language.chat.reply_parsing import is_refusal, says_unknown
from hoptrail.language.chat.schemas import ReadingReply, StepReply
from hoptrail.language.tasks import Reading, Step
from hoptrail.text.normal_forms import squeeze, stands_in, without_article
from hoptrail.text.statements import support_of
from hoptrail.text.words import content_stems
from hoptrail.types import Kind, Span, Unit

SHORTEST_QUOTE = 12
"""Characters of the shortest quote or sentence that identifies a passage."""
UNSUPPORTED_TRUST = 0.25
"""Factor on the confidence of a reading with an unsupported step: so low that not even two such readings make an answer."""
NAME_STEMS = 3
"""Answers up to this many words (names, dates) need all of them in the cited text."""
SHARE = 2 / 3
"""Share of a longer answer's words that must be in the cited text."""

_RECKONED = re.compile(r"(?!1\d{3}$|20\d{2}$)\W*\d[\d.,]*(?:\s[\w%]+)?")
"""A bare figure that is no year: it may be the sum or the difference of others."""
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def reading_from(question: str, reply: ReadingReply, units: Sequence[Unit]) -> Reading:
    """The reading in a reply. Its steps are checked, and kept even without an answer: later hops may use them."""
    answer = parse_answer(reply.answer, units)
    steps = [
        _step(squeeze(step.question) or question, found, support_of_step(step, found, units), units)
        for step in reply.steps
        if (found := parse_answer(step.answer, units)) is not None
    ]
    if answer is None:
        return Reading(None, tuple(steps))
    if not steps or steps[-1].answer.casefold() != answer.casefold():
        last = steps[-1].support if steps else _first_mention(answer, units)
        steps.append(_step(question, answer, last, units))
    reading = Reading(answer, tuple(steps), reply.confidence)
    return reading if reading.supported else replace(reading, confidence=UNSUPPORTED_TRUST * reply.confidence)


def _step(question: str, answer: str, support: tuple[Span, ...], units: Sequence[Unit]) -> Step:
    return Step(question, answer, support, is_supported(question, answer, support, units))


def parse_answer(answer: str | None, units: Sequence[Unit] = ()) -> str | None:
    """An answer on one line; None if it says that there is none, unless the evidence has its words as a name (`Unknown`)."""
    words = squeeze(answer or "")
    bare = words.strip(" .!?\"'“”()[]<>*_")
    if says_unknown(bare):
        meant = any(_names(unit, bare) for unit in units)
    elif is_refusal(bare):
        meant = any(stands_in(folded(bare), folded(unit.searchable)) for unit in units)
    else:
        meant = bool(bare)
    return words if meant else None


def _names(unit: Unit, words: str) -> bool:
    """Whether common words ("unknown", "none") are a name in this unit: its title, or capitalised within a sentence."""
    if folded(unit.title.partition(" (")[0]) == folded(words):
        return True
    mixed = not words.islower() and not words.isupper()
    return mixed and re.search(rf"[\w,;] [\"'“‘(]*{re.escape(words)}(?!\w)", squeeze(unit.text)) is not None


def support_of_step(step: StepReply, answer: str, units: Sequence[Unit]) -> tuple[Span, ...]:
    """The spans of the sentences that support a step, without repeats."""
    cited = [units[number - 1] for number in dict.fromkeys(step.evidence) if 1 <= number <= len(units)]
    quote = folded(step.quote or "")
    if not cited:
        cited = [unit for unit in units if _holds(unit, quote)][:1]
    if not cited:
        return _first_mention(answer, units)
    spans = [span for unit in cited for span in _sentences_in(unit, quote, folded(answer))]
    return tuple(dict.fromkeys(spans))


def _sentences_in(unit: Unit, quote: str, answer: str) -> tuple[Span, ...]:
    found = [sentence for sentence in sentences_of(unit) if _quotes(quote, folded(sentence.text))]
    if not found and answer not in YES_NO:
        found = [sentence for sentence in sentences_of(unit) if stands_in(answer, folded(sentence.text))]
    if not found:
        return support_of(unit, 0, len(unit.text))
    return tuple(span for sentence in found for span in support_of(unit, sentence.start, sentence.end))


def _first_mention(answer: str, units: Sequence[Unit]) -> tuple[Span, ...]:
    """The first sentence of the evidence with the answer word for word. For an answer of several words else the one with most of
    them, if it has all together with its title and the sentence before.
    """
    said = folded(answer).strip(" .!?")
    if said in YES_NO:
        return ()
    stems, most = content_stems(said), 0
    found: tuple[Span, ...] = ()
    for unit in units:
        before = unit.title
        for sentence in sentences_of(unit):
            if stands_in(said, folded(sentence.text)):
                return support_of(unit, sentence.start, sentence.end)
            shared = len(stems & content_stems(sentence.text))
            if shared > most and len(stems) >= NAME_STEMS and stems <= content_stems(f"{before}. {sentence.text}"):
                most, found = shared, support_of(unit, sentence.start, sentence.end)
            before = f"{unit.title}. {sentence.text}"
    return found


def _holds(unit: Unit, quote: str) -> bool:
    """Whether a unit contains the quote, or the quote contains one of its sentences."""
    whole = len(quote) >= SHORTEST_QUOTE and quote in folded(unit.text)
    return whole or any(_quotes(quote, folded(sentence.text)) for sentence in sentences_of(unit))


def _quotes(quote: str, sentence: str) -> bool:
    if len(quote) < SHORTEST_QUOTE:
        return False
    return quote in sentence or (len(sentence) >= SHORTEST_QUOTE and sentence in quote)


def is_supported(question: str, answer: str, support: Sequence[Span], units: Sequence[Unit]) -> bool:
    """Whether `support`, which lies in `units`, may support the answer; False only if it cannot."""
    said = folded(without_article(answer).strip(" .!?"))
    if said in YES_NO or stands_in(said, folded(question)):
        return True
    said_there = [text for span in support for text in _texts_at(span, units)]
    text = folded("\n".join(said_there))
    if stands_in(said, text):
        return True
    numbers = set(_NUMBER.findall(said))
    if not numbers <= set(_NUMBER.findall(text)):
        return _RECKONED.fullmatch(said) is not None and len(set(_NUMBER.findall("\n".join(said_there[1::2])))) > 1
    stems = content_stems(said)
    shared = len(stems & content_stems(text))
    return bool(stems) and shared >= (len(stems) if len(stems) <= NAME_STEMS else SHARE * len(stems))


def _texts_at(span: Span, units: Sequence[Unit]) -> list[str]:
    """For each unit that contains a span: its title, and its text there with the sentence before."""
    texts: list[str] = []
    for unit in units:
        place = next((source for source in unit.sources if source.covers(span)), None)
        if place is None:
            continue
        exact = unit.kind in {Kind.PASSAGE, Kind.SENTENCE} and place.end - place.start == len(unit.text)
        start, end = (span.start - place.start, span.end - place.start) if exact else (0, len(unit.text))
        before = max((one.start for one in sentences_of(unit) if one.end <= start), default=start)
        shown = [one.text for one in sentences_of(unit) if one.start < end and before < one.end]
        texts += [heading_of(unit), "\n".join((unit.text[before:end], *shown))]
    return texts
