"""Ground what a model says in the text that it was shown.

The numbers and quotes of a reply become spans of documents: whole sentences, the quoted one, else those with the step's answer,
else the whole passage. Rules then check whether the words and numbers of the answer are in the cited sentences, the ones before
them, or the title. Conclusions from several facts (a yes or no, a count, a difference, a choice between two names in the
question) cannot be checked and count as supported. Synonyms count as unsupported.

Extracted entities that are not in the text are dropped; the others are spelt as in the text. Entities of facts may be in the
preceding passage. Dates and quantities are no entities, even if a model lists them, unless it was asked to.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace

from hoptrail.language.chat.context import YES_NO, folded, heading_of, sentences_of
from hoptrail.language.chat.reply_parsing import is_refusal, says_unknown
from hoptrail.language.chat.schemas import ExtractReply, FactReply, ReadingReply, StepReply
from hoptrail.language.tasks import Extract, Reading, Step
from hoptrail.text.lexicon import word_set
from hoptrail.text.normal_forms import squeeze, stands_in, without_article
from hoptrail.text.sentences import sentence_spans
from hoptrail.text.statements import UnitStatement, support_of
from hoptrail.text.words import content_stems
from hoptrail.types import Extraction, Fact, Kind, Span, Triple, Unit

SHORTEST_QUOTE = 12  # characters of the shortest quote or sentence that identifies a passage
UNSUPPORTED_TRUST = 0.25
"""Factor on the confidence of a reading with an unsupported step: so low that not even two such readings make an answer."""
NAME_STEMS = 3  # answers up to this many words (names, dates) need all of them in the cited text
SHARE = 2 / 3  # share of a longer answer's words that must be in the cited text

_RECKONED = re.compile(r"(?!1\d{3}$|20\d{2}$)\W*\d[\d.,]*(?:\s[\w%]+)?")
"""A bare figure that is no year: it may be the sum or the difference of others."""
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")

FIGURES = word_set(
    "date time year month day period duration age number figure quantity amount measure measurement distance weight money price "
    "currency percentage percent ordinal cardinal"
)
"""Words in types that are no entities."""
Named = dict[str, tuple[int, str]]
"""A name that a model gives -> where it first stands in the text, and how it is spelt there."""


def reading_from(question: str, reply: ReadingReply, units: Sequence[Unit]) -> Reading:
    """The reading in a reply. Its steps are checked, and kept even without an answer: later hops may use them."""
    answer = parse_answer(reply.answer, units)
    steps = [
        _step(squeeze(step.question) or question, found, _support_of_step(step, found, units), units)
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


def _support_of_step(step: StepReply, answer: str, units: Sequence[Unit]) -> tuple[Span, ...]:
    quote = folded(step.quote or "")
    quote = quote if len(quote) >= SHORTEST_QUOTE else ""
    cited = [units[number - 1] for number in dict.fromkeys(step.evidence) if 1 <= number <= len(units)]
    if not cited and quote:
        cited = [unit for unit in units if quote in folded(unit.text) or _quoted(unit, quote)][:1]
    if not cited:
        return _first_mention(answer, units)
    return tuple(dict.fromkeys(span for unit in cited for span in _support_in(unit, quote, folded(answer))))


def _support_in(unit: Unit, quote: str, answer: str) -> tuple[Span, ...]:
    found = _quoted(unit, quote) if quote else []
    if not found and answer not in YES_NO:
        found = [sentence for sentence in sentences_of(unit) if stands_in(answer, folded(sentence.said))]
    return tuple(span for sentence in found for span in sentence.support) or support_of(unit, 0, len(unit.text))


def _quoted(unit: Unit, quote: str) -> list[UnitStatement]:
    """The sentences that contain the quote, or that it contains."""
    said = ((sentence, folded(sentence.said)) for sentence in sentences_of(unit))
    return [one for one, text in said if quote in text or (len(text) >= SHORTEST_QUOTE and text in quote)]


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
            if stands_in(said, folded(sentence.said)):
                return sentence.support
            shared = len(stems & content_stems(sentence.said))
            if shared > most and len(stems) >= NAME_STEMS and stems <= content_stems(f"{before}. {sentence.said}"):
                most, found = shared, sentence.support
            before = f"{unit.title}. {sentence.said}"
    return found


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
        shown = [one.said for one in sentences_of(unit) if one.start < end and before < one.end]
        texts += [heading_of(unit), "\n".join((unit.text[before:end], *shown))]
    return texts


def extraction_from(task: Extract, reply: ExtractReply) -> Extraction:
    """The parts of `reply` that are grounded in the unit's text or the passage before it."""
    facts, named = grounded_facts(task, reply)
    entities = dict.fromkeys(name for _, name in sorted(named.values()))
    return Extraction(tuple(entities), tuple(_fact(task.unit, fact, named) for fact in facts))


def grounded_facts(task: Extract, reply: ExtractReply) -> tuple[list[FactReply], Named]:
    """The facts with a text and at least one known entity, if they have any, as the model gave them (small models repeat the
    prompt's example), and the entities in the unit; those of facts may also be in the passage before it, and come last.
    """
    reply = reply if task.figures else _without_figures(reply)
    names = [name for fact in reply.facts for name in fact.entities]
    text = task.unit.searchable
    named = _verbatim([*(entity.name for entity in reply.entities), *names], text)
    back = _verbatim([name for name in names if name not in named], task.before.searchable) if task.before else {}
    named |= {name: (len(text) + position, spelt) for name, (position, spelt) in back.items()}
    facts = [one for one in reply.facts if one.text.strip() and (not one.entities or set(one.entities) & named.keys())]
    return facts, named


def _without_figures(reply: ExtractReply) -> ExtractReply:
    """The reply without dates and quantities, by the types that it gives."""
    figures = {_folded(one.name) for one in reply.entities if not FIGURES.isdisjoint(one.type.casefold().split())}
    entities = [one for one in reply.entities if _folded(one.name) not in figures]
    facts = [
        one.model_copy(update={"entities": [name for name in one.entities if _folded(name) not in figures]})
        for one in reply.facts
    ]
    return ExtractReply(entities=entities, facts=facts)


def shortened(summary: str, words: int) -> str:
    """The first sentences of a summary with at most `words` words; a longer first sentence is cut."""
    text = summary.strip()
    ends = [end for _, end in sentence_spans(text, limit=words) if len(text[:end].split()) <= words]
    return text[: ends[-1]] if ends else " ".join(text.split()[:words])


def _fact(unit: Unit, fact: FactReply, named: Named) -> Fact:
    sentences = sentences_of(unit)  # a second, smaller draft shows fewer under the same numbers
    number = next((number for number in fact.sentence if 1 <= number <= len(sentences)), None)
    source = unit.sources[0] if number is None else sentences[number - 1].support[0]
    entities = dict.fromkeys(named[name][1] for name in fact.entities if name in named)
    return Fact(squeeze(fact.text), tuple(entities), source, _triple(fact.triple, entities))


def _triple(slots: Sequence[str], entities: Iterable[str]) -> Triple | None:
    """The triple of a fact, if it has three non-empty slots and its subject or object is an entity of the fact."""
    said = [squeeze(slot) for slot in slots]
    if len(said) != 3 or not all(said):
        return None
    return Triple(*said) if {_folded(said[0]), _folded(said[2])} & set(map(_folded, entities)) else None


def _verbatim(names: Iterable[str], text: str) -> Named:
    """The names in `text` with their spelling there."""
    folded = _folded(text)
    found: Named = {}
    for name in dict.fromkeys(names):
        words = [re.escape(word) for word in name.split()]
        edges = (r"(?<!\w)", r"(?!\w)") if name.isascii() else ("", "")
        matched = re.search(edges[0] + r"\s+".join(words) + edges[1], text, re.IGNORECASE) if words else None
        if matched:
            found[name] = matched.start(), squeeze(matched.group())
        elif not name.isascii() and _folded(name) in folded:
            found[name] = len(text), squeeze(name)
    return found


def _folded(text: str) -> str:
    return squeeze(unicodedata.normalize("NFKC", text)).casefold()
