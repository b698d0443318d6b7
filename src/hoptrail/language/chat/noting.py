"""From a model's notes to an extraction that the text bears out, and from its summary to one of the length asked for.

An entity that does not stand in the text is dropped; one that does is written as the text writes it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hoptrail.language.chat.context import Sentence, one_line
from hoptrail.language.chat.schemas import ExtractReply, FactReply
from hoptrail.language.offline.evidence import support_of
from hoptrail.language.tasks import Extraction, Fact
from hoptrail.text.sentences import sentence_spans
from hoptrail.types import Unit


def extraction_of(unit: Unit, reply: ExtractReply, sentences: Sequence[Sentence]) -> Extraction:
    """What of `reply` the unit's text bears out."""
    named = _verbatim([*reply.entities, *(name for fact in reply.facts for name in fact.entities)], unit.searchable)
    facts = tuple(_fact(unit, fact, named, sentences) for fact in reply.facts if fact.text.strip())
    return Extraction(tuple(dict.fromkeys(entity.name for entity in sorted(named.values()))), facts)


def shortened(summary: str, words: int) -> str:
    """The sentences of a summary that keep to `words` words, at least the first (cut, if it alone is too long)."""
    text = summary.strip()
    kept, count = 0, 0
    for start, end in sentence_spans(text, limit=words):
        count += len(text[start:end].split())
        if count > words:
            break
        kept = end
    return text[:kept] if kept else " ".join(text.split()[:words])


def _fact(unit: Unit, fact: FactReply, named: dict[str, _Named], sentences: Sequence[Sentence]) -> Fact:
    number = next((number for number in fact.sentence if 1 <= number <= len(sentences)), None)
    source = unit.sources[0]
    if number is not None:
        sentence = sentences[number - 1]
        source = support_of(unit, sentence.start, sentence.end)[0]
    entities = dict.fromkeys(named[name].name for name in fact.entities if name in named)
    return Fact(one_line(fact.text), tuple(entities), source)


@dataclass(frozen=True, slots=True, order=True)
class _Named:
    """An entity as the text writes it, and where it first does."""

    position: int
    name: str


def _verbatim(names: Iterable[str], text: str) -> dict[str, _Named]:
    """Each name that stands in `text`, and how it is written there."""
    folded = _folded(text)
    found: dict[str, _Named] = {}
    for name in dict.fromkeys(names):
        words = [re.escape(word) for word in name.split()]
        edges = (r"(?<!\w)", r"(?!\w)") if name.isascii() else ("", "")
        matched = re.search(edges[0] + r"\s+".join(words) + edges[1], text, re.IGNORECASE) if words else None
        if matched:
            found[name] = _Named(matched.start(), one_line(matched.group()))
        elif not name.isascii() and _folded(name) in folded:
            found[name] = _Named(len(text), one_line(name))
    return found


def _folded(text: str) -> str:
    return one_line(unicodedata.normalize("NFKC", text)).casefold()
