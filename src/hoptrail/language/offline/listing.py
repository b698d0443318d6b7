"""Lists as answers: the rows or items that meet what a question asks, the parts of an enumeration, and how many they are.

Everything is taken as it stands in the evidence. Belief in a list is the share of the question's words that its headings, its
headers and the rows that were chosen say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hoptrail.language.closeness import Similarity, close_statements
from hoptrail.language.tasks import Reading, Step
from hoptrail.text.enumerations import enumerated_in, parts_of
from hoptrail.text.evidence_groups import Group, groups_of
from hoptrail.text.lexicon import word_set
from hoptrail.text.statements import Said, statements_of
from hoptrail.text.words import RELATED, content_stems, words
from hoptrail.types import AnswerKind, BlockKind, Cell, Span, Unit

_LEAST = 0.6
_FEWEST_COUNTED = 2
_COUNTING = 0.7
"""What counting a list takes from the belief in it: one row too many is a wrong number."""
_LONGEST_ITEM = 160
"""Characters of a paragraph or of a part of a sentence that can be an item."""
_FREE_TEXT = 0.15
"""What a group of paragraphs, or an enumeration in a sentence, is behind rows and items that say as much."""
_CLOSE = 5
"""Statements in which an enumeration is looked for."""

_COMMAND = re.compile(
    r"^\s*(?:please )?(?:list|name|show me|show|give me|enumerate|tell me|which|what|how many)?\s*"
    r"(?:a list of|all of|all|every|each|of)?\s*(?:the |our |my )?",
    re.IGNORECASE,
)
_LIGHT = content_stems("take part involve accord according belong exist include kind type sort overall")
"""Words of a question that say little of what is listed."""
_PLURALS = word_set("people men women children staff")
_COUNTED = re.compile(r"^\s*how many\b", re.IGNORECASE)
_KEYED = re.compile(r"^(?P<key>[^:\n]{2,60}):\s*(?P<values>[^:;]+[,;][^:]+?)\.?$")


def asks_count(question: str) -> bool:
    """Whether a question asks how many there are."""
    return _COUNTED.match(question) is not None


def count(question: str, units: Sequence[Unit]) -> Reading:
    """How many rows or items of one table or list are what the question asks for; an abstention where no list is about it."""
    asked = _Asked.of(question)
    best = _best(found for found in _of_groups(question, asked, units))
    if best.answer is None or len(best.items) < _FEWEST_COUNTED:
        return Reading(None)
    number = str(len(best.items))
    return Reading(number, (Step(question, number, best.steps[0].support),), round(_COUNTING * best.confidence, 4))


def listing(question: str, units: Sequence[Unit], similarity: Similarity | None) -> Reading:
    """The items, rows or enumerated values that the question asks for; an abstention where no list is about it."""
    asked = _Asked.of(question)
    return _best(
        [
            *_of_groups(question, asked, units),
            *_of_keyed_lines(question, asked, units),
            *_of_sentences(question, asked, units, similarity),
        ]
    )


def listed(question: str, said: Sequence[Said], items: tuple[str, ...], kind: AnswerKind, belief: float) -> Reading:
    """Items as an answer that cites the statements they are from."""
    spans: tuple[Span, ...] = tuple(span for one in said for span in one.support)
    step = Step(question, "; ".join(items), tuple(dict.fromkeys(spans)))
    return Reading(step.answer, (step,), belief, kind, items)


def belief(share: float) -> float:
    """How likely an answer is right whose statement says this share of the question's words."""
    return round(min(0.9, max(0.1, share - 0.15)), 4)


_MARK = re.compile(r"^(?:[-*+•‣◦▪·]|\(?\d{1,3}[.)])\s+")


def item_of(said: Said, listed_noun: frozenset[str] = frozenset()) -> str:
    """A statement without its mark; of a table row the cell under the noun that is listed, else the first."""
    block = said.block
    if block is None or not block.cells:
        return _MARK.sub("", " ".join(said.text.split()))
    start = said.unit.sources[0].start
    cell = next((cell for cell in block.cells if _is_of(cell, listed_noun)), block.cells[0])
    return said.unit.text[max(0, cell.start - start) : max(0, cell.end - start)] or said.said


def _is_of(cell: Cell, noun: frozenset[str]) -> bool:
    header = content_stems(cell.header)
    return bool(header) and header <= noun


@dataclass(frozen=True, slots=True)
class _Asked:
    """The meaningful words of a question for a list, and the one or two of them that say what is listed."""

    words: frozenset[str]
    noun: frozenset[str]

    @classmethod
    def of(cls, question: str) -> _Asked:
        rest = _COMMAND.sub("", question)
        asked = content_stems(rest)
        first = words(rest)[:2]
        noun = first[:1] if first and (first[0].lower in _PLURALS or first[0].lower.endswith("s")) else first
        return cls(asked - _LIGHT or asked, frozenset(word.stem for word in noun))


def _best(found: Iterator[tuple[float, Reading]] | Sequence[tuple[float, Reading]]) -> Reading:
    best = max(found, key=lambda one: one[0], default=None)
    return best[1] if best is not None and best[0] >= _LEAST else Reading(None, kind=AnswerKind.LIST)


def _of_groups(question: str, asked: _Asked, units: Sequence[Unit]) -> Iterator[tuple[float, Reading]]:
    for place, group in enumerate(groups_of(units)):
        if group.kind is BlockKind.CODE:  # lines of a program are no list
            continue
        bonus = 0.02 / (1 + place)
        heading = content_stems(group.heading) | group.headers
        members, share = _meeting(group, asked, heading)
        if not members:
            continue
        if group.kind is BlockKind.PARAGRAPH:
            share -= _FREE_TEXT
        items = tuple(item_of(said, asked.noun) for said in members)
        if group.kind is BlockKind.ROW or all(len(item) <= _LONGEST_ITEM for item in items):
            yield share + bonus, listed(question, members, items, AnswerKind.LIST, belief(share))


def _meeting(group: Group, asked: _Asked, heading: frozenset[str]) -> tuple[tuple[Said, ...], float]:
    """The members that say most of what the headings leave open, and what share of the question that makes.

    Of a list without such members all; of paragraphs at least two.
    """
    left = asked.words - heading
    said = [left & _conditions(one, asked) for one in group.members] if group.kind is not BlockKind.ITEM else []
    most = max(map(len, said), default=0)
    fewest = 2 if group.kind is BlockKind.PARAGRAPH else 1
    if most:
        met = max(said, key=len)
        chosen = tuple(one for one, words_said in zip(group.members, said, strict=True) if len(words_said) == most)
        if len(chosen) >= fewest:
            return chosen, (len(asked.words & heading) + len(met)) / max(1, len(asked.words))
    if len(group.members) > 1 and group.kind is not BlockKind.PARAGRAPH:
        return group.members, len(asked.words & heading) / max(1, len(asked.words))
    return (), 0.0


def _conditions(said: Said, asked: _Asked) -> frozenset[str]:
    """Where a condition has to hold: in the columns whose headers the question names (`who reports to`), else anywhere."""
    block, first = said.block, said.unit.sources[0].start
    if block is None:
        return content_stems(said.said)
    named = [cell for cell in block.cells if asked.words & content_stems(cell.header) and not _is_of(cell, asked.noun)]
    spans = [(cell.start, cell.end) for cell in named] or [(block.start, block.end)]
    return content_stems(" ".join(said.unit.text[max(0, start - first) : max(0, end - first)] for start, end in spans))


def _of_keyed_lines(question: str, asked: _Asked, units: Sequence[Unit]) -> Iterator[tuple[float, Reading]]:
    """`Present: Ada, Bo and Cy`."""
    for unit in units:
        for said in statements_of(unit):
            if found := _KEYED.match(said.text.strip()):
                stems = content_stems(f"{said.seen.partition(': ')[0]} {found['key']}")
                share = len(asked.words & stems) / max(1, len(asked.words))
                yield share + 0.03, listed(question, [said], parts_of(found["values"]), AnswerKind.LIST, belief(share))


def _of_sentences(
    question: str, asked: _Asked, units: Sequence[Unit], similarity: Similarity | None
) -> Iterator[tuple[float, Reading]]:
    """`It runs on Linux, macOS and FreeBSD.`, in the statements closest to the question."""
    for close in close_statements(question, units, similarity)[:_CLOSE]:
        said = close.said
        if said.block is not None and (said.block.cells or said.block.kind is BlockKind.CODE):
            continue
        for items in enumerated_in(said.text):
            stems = content_stems(said.seen)
            wanted = asked.words - asked.noun or asked.words
            matching = [word for word in wanted if word in stems or RELATED.get(word, frozenset()) & stems]
            share = len(matching) / len(wanted)
            new = all(item and not content_stems(item) <= asked.words for item in items)
            if new and len(items) >= _FEWEST_COUNTED and all(len(words(item)) <= 5 for item in items):
                share -= _FREE_TEXT
                yield share, listed(question, [said], items, AnswerKind.LIST, belief(share))
