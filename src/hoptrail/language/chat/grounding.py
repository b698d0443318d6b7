"""Ground a model's extraction in the text, and shorten its summaries.

Entities that are not in the text are dropped; the others are spelt as in the text. Entities of facts may be in the preceding
passage, which the text refers to. Dates and quantities are no entities, even if a model lists them, unless it was asked to.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from hoptrail.language.chat.context import Sentence
from hoptrail.language.chat.schemas import ExtractReply, FactReply
from hoptrail.text.lexicon import word_set
from hoptrail.text.normal_forms import squeeze
from hoptrail.text.sentences import sentence_spans
from hoptrail.text.statements import support_of
from hoptrail.types import Extraction, Fact, Triple, Unit

FIGURES = word_set(
    "date time year month day period duration age number figure quantity amount measure measurement distance weight money price "
    "currency percentage percent ordinal cardinal"
)
"""Words in types that are no entities."""


def extraction_from(
    unit: Unit, reply: ExtractReply, sentences: Sequence[Sentence], before: Unit | None = None, *, figures: bool = False
) -> Extraction:
    """The parts of `reply` that are grounded in the unit's text or the passage before it."""
    reply = reply if figures else _without_figures(reply)
    named = _find_named(unit, reply, before)
    facts = tuple(_fact(unit, fact, named, sentences) for fact in grounded_facts(unit, reply, before, figures=figures))
    return Extraction(tuple(dict.fromkeys(entity.name for entity in sorted(named.values()))), facts)


def grounded_facts(
    unit: Unit, reply: ExtractReply, before: Unit | None = None, *, figures: bool = False
) -> list[FactReply]:
    """The facts with a text and at least one known entity, if they have any: small models repeat the prompt's example."""
    reply = reply if figures else _without_figures(reply)
    named = _find_named(unit, reply, before)
    return [
        fact
        for fact in reply.facts
        if fact.text.strip() and (not fact.entities or any(name in named for name in fact.entities))
    ]


def _find_named(unit: Unit, reply: ExtractReply, before: Unit | None) -> dict[str, _Occurrence]:
    """Entities in the unit; those of facts may also be in the passage before it."""
    names = [name for fact in reply.facts for name in fact.entities]
    named = _verbatim([*(entity.name for entity in reply.entities), *names], unit.searchable)
    back = _verbatim([name for name in names if name not in named], before.searchable) if before else {}
    return named | {name: replace(one, position=len(unit.searchable) + one.position) for name, one in back.items()}


def _without_figures(reply: ExtractReply) -> ExtractReply:
    """The reply without dates and quantities, by the types that it gives."""
    figures = {_folded(one.name) for one in reply.entities if not FIGURES.isdisjoint(one.type.casefold().split())}

    def kept(names: Iterable[str]) -> list[str]:
        return [name for name in names if _folded(name) not in figures]

    entities = [one for one in reply.entities if _folded(one.name) not in figures]
    facts = [fact.model_copy(update={"entities": kept(fact.entities)}) for fact in reply.facts]
    return ExtractReply(entities=entities, facts=facts)


def shortened(summary: str, words: int) -> str:
    """The first sentences of a summary with at most `words` words; a longer first sentence is cut."""
    text = summary.strip()
    kept, count = 0, 0
    for start, end in sentence_spans(text, limit=words):
        count += len(text[start:end].split())
        if count > words:
            break
        kept = end
    return text[:kept] if kept else " ".join(text.split()[:words])


def _fact(unit: Unit, fact: FactReply, named: dict[str, _Occurrence], sentences: Sequence[Sentence]) -> Fact:
    number = next((number for number in fact.sentence if 1 <= number <= len(sentences)), None)
    source = unit.sources[0]
    if number is not None:
        sentence = sentences[number - 1]
        source = support_of(unit, sentence.start, sentence.end)[0]
    entities = dict.fromkeys(named[name].name for name in fact.entities if name in named)
    return Fact(squeeze(fact.text), tuple(entities), source, _triple(fact.triple, entities))


def _triple(slots: Sequence[str], entities: Iterable[str]) -> Triple | None:
    """The triple of a fact, if it has three non-empty slots and its subject or object is an entity of the fact."""
    said = [squeeze(slot) for slot in slots]
    if len(said) != 3 or not all(said):
        return None
    return Triple(*said) if {_folded(said[0]), _folded(said[2])} & set(map(_folded, entities)) else None


@dataclass(frozen=True, slots=True, order=True)
class _Occurrence:
    """An entity as the text spells it, and its first position."""

    position: int
    name: str


def _verbatim(names: Iterable[str], text: str) -> dict[str, _Occurrence]:
    """The names in `text` with their spelling there."""
    folded = _folded(text)
    found: dict[str, _Occurrence] = {}
    for name in dict.fromkeys(names):
        words = [re.escape(word) for word in name.split()]
        edges = (r"(?<!\w)", r"(?!\w)") if name.isascii() else ("", "")
        matched = re.search(edges[0] + r"\s+".join(words) + edges[1], text, re.IGNORECASE) if words else None
        if matched:
            found[name] = _Occurrence(matched.start(), squeeze(matched.group()))
        elif not name.isascii() and _folded(name) in folded:
            found[name] = _Occurrence(len(text), squeeze(name))
    return found


def _folded(text: str) -> str:
    return squeeze(unicodedata.normalize("NFKC", text)).casefold()
