"""Lists as answers, quoted from the evidence: matching rows or items, or the parts of an enumeration.

The evidence is read in groups: the items of a list, the rows of a table (one group again where it was split over passages). The
confidence in a list is the share of the question's words in its headings, its headers and the chosen rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain, takewhile

from hoptrail.language.tasks import Reading, Step
from hoptrail.text.lexicon import FUNCTION_WORDS
from hoptrail.text.normal_forms import squeeze
from hoptrail.text.statements import UnitStatement, statements_of
from hoptrail.text.words import content_stems, words
from hoptrail.types import AnswerKind, Block, BlockKind, Cell, Unit

_LEAST = 0.6  # share of the question's words that a list says; with less it lists something else
_MOST_WORDS = 5  # words of an item in a sentence
_LONGEST_LEAD = 120  # characters of the longest line before a list that is taken for its lead
_LONGEST_ITEM = 160  # characters of the longest paragraph or part of a sentence that is an item

_COMMANDS = content_stems("list show give tell enumerate")
_KEYED = re.compile(r"^(?P<key>[^:\n]{2,60}):\s*(?P<values>[^:;]+[,;][^:]+?)\.?$")
_QUOTED = r"[\"“][^\"“”]{1,80}[\"”]"
_SERIES = re.compile(
    rf"(?:[^,;:.()]{{1,80}}, )+[^,;:.()]{{1,60}}?,? (?:and|or) [^,;:.()]{{1,60}}|{_QUOTED} and {_QUOTED}|"
    r"[^,;:.() ]+ and [^,;:.() ]+"
)
_PARTS = re.compile(r",\s*(?:and\s+|or\s+)?|\s+(?:and|or)\s+|;\s*")


def listing(question: str, units: Sequence[Unit]) -> Reading:
    """The items, rows or values after a colon that the question asks for; an abstention if no list matches."""
    asked = _list_question(question)
    found = [*_of_groups(question, asked, units), *_of_keyed_lines(question, asked, units)]
    score, reading = max(found, key=lambda pair: pair[0], default=(0.0, Reading(None)))
    return reading if score >= _LEAST else Reading(None, kind=AnswerKind.LIST)


def list_by_reading(units: Sequence[Unit], quoted: Reading, reading: Reading) -> Reading:
    """The likelier of `quoted`, which may confirm the reader's answer, and the enumeration that this answer is or belongs to.
    Where nothing is listed, the reader's answer is all there is.
    """
    answer = reading.answer or ""
    kept = reading if quoted.answer is None else replace(quoted, promising=reading.promising)
    given = content_stems(answer)
    if not given or reading.confidence <= quoted.confidence:
        return kept
    if len(quoted.items) > 1 and any(given == content_stems(item) for item in quoted.items):
        return replace(quoted, confidence=reading.confidence)
    *before, last = reading.steps
    texts = (said.text for unit in units for said in statements_of(unit) if said.support[:1] == last.support[:1])
    for series in chain.from_iterable(_SERIES.findall(squeeze(text)) for text in (answer, *texts)):
        items = _parts_of(series)
        if items and series[0] not in '"“':  # `only possible on Linux, macOS` begins with `Linux`
            named = list(takewhile(lambda word: word.lower not in FUNCTION_WORDS, reversed(words(items[0]))))
            items = (items[0][named[-1].start :] if named else items[0], *items[1:])
        short = all(len(words(item)) <= _MOST_WORDS for item in items)
        if short and len(items) > 1 and given <= content_stems(" ".join(items)):
            step = replace(last, answer="; ".join(items))
            return Reading(step.answer, (*before, step), reading.confidence, AnswerKind.LIST, items, reading.promising)
    return kept


def list_reading(
    question: str, members: Sequence[UnitStatement], items: tuple[str, ...], kind: AnswerKind, confidence: float
) -> Reading:
    """A reading with `items`, citing the `members` they come from."""
    spans = dict.fromkeys(span for said in members for span in said.support)
    step = Step(question, "; ".join(items), tuple(spans))
    return Reading(step.answer, (step,), confidence, kind, () if kind is AnswerKind.SHORT else items)


def confidence_of(share: float) -> float:
    """The confidence in a quoted answer whose statement says this share of the question's words."""
    return round(min(0.9, max(0.1, share - 0.15)), 4)


_MARK = re.compile(r"^(?:[-*+•‣◦▪·]|\(?\d{1,3}[.)])\s+")


@dataclass(frozen=True, slots=True)
class _ListQuestion:
    """The stems of a question for a list, and the one or two of them for the listed things."""

    words: frozenset[str]
    noun: frozenset[str]

    def share(self, said: Set[str], more: int = 0) -> float:
        """The share of the words that are `said`, and some `more` of them."""
        return (len(self.words & said) + more) / max(1, len(self.words))


def item_of(said: UnitStatement, asked: _ListQuestion | None = None) -> str:
    """A statement without its bullet or number; of a table row, the cell under the listed noun, else the first cell."""
    block = said.block
    if block is None or not block.cells:
        return _MARK.sub("", squeeze(said.text))
    cell = next((cell for cell in block.cells if asked and _is_listed(said, cell, asked)), block.cells[0])
    return said.unit.part(cell) or said.said


def _is_listed(said: UnitStatement, cell: Cell, asked: _ListQuestion) -> bool:
    """Whether a cell is under the listed noun, and not said by the question: `Which people have the home port Foss?`"""
    header = content_stems(cell.header)
    return bool(header) and header <= asked.noun and not content_stems(said.unit.part(cell)) <= asked.words


def _list_question(question: str) -> _ListQuestion:
    asked = content_stems(question) - _COMMANDS or content_stems(question)
    first = [word for word in words(question) if word.stem in asked][:2]
    noun = first[:1] if first and first[0].lower.endswith("s") else first
    return _ListQuestion(asked, frozenset(word.stem for word in noun))


def _of_groups(question: str, asked: _ListQuestion, units: Sequence[Unit]) -> Iterator[tuple[float, Reading]]:
    for place, group in enumerate(groups_of(units)):
        if group.kind not in {BlockKind.ITEM, BlockKind.ROW}:
            continue
        bonus = 0.02 / (1 + place)
        heading = content_stems(group.heading)
        members, share = _matching_members(group, asked, heading)
        if not members:
            continue
        items = tuple(item_of(said, asked) for said in members)
        if group.kind is BlockKind.ROW or all(len(item) <= _LONGEST_ITEM for item in items):
            kind = AnswerKind.LIST if len(items) > 1 else AnswerKind.SHORT
            yield share + bonus, list_reading(question, members, items, kind, confidence_of(share))


def _matching_members(
    group: Group, asked: _ListQuestion, heading: frozenset[str]
) -> tuple[tuple[UnitStatement, ...], float]:
    """The rows with most of the words that the headings lack, or all items of a list, and the share covered."""
    remaining = frozenset[str]() if group.kind is BlockKind.ITEM else asked.words - heading
    counts = [len(remaining & _conditions(said, asked)) for said in group.members]
    most = max(counts, default=0)
    best = tuple(said for said, count in zip(group.members, counts, strict=True) if count == most)
    if most:
        return best, asked.share(heading, most)
    if len(group.members) > 1:
        return group.members, asked.share(heading)
    return (), 0.0


def _conditions(said: UnitStatement, asked: _ListQuestion) -> frozenset[str]:
    """The stems in the columns whose headers the question names (`who reports to`), else in the whole statement."""
    block = said.block
    if block is None:
        return content_stems(said.said)
    named = [one for one in block.cells if asked.words & content_stems(one.header) and not _is_listed(said, one, asked)]
    return content_stems(" ".join(map(said.unit.part, named)) if named else said.unit.part(block))


def _of_keyed_lines(question: str, asked: _ListQuestion, units: Sequence[Unit]) -> Iterator[tuple[float, Reading]]:
    """`Present: Ada, Bo and Cy`."""
    for unit in units:
        for said in statements_of(unit):
            if found := _KEYED.match(said.text.strip()):
                stems = content_stems(f"{said.seen.partition(': ')[0]} {found['key']}")
                share = asked.share(stems)
                items = _parts_of(found["values"])
                yield share + 0.03, list_reading(question, [said], items, AnswerKind.LIST, confidence_of(share))


def _parts_of(values: str) -> tuple[str, ...]:
    return tuple(part for value in _PARTS.split(values) if (part := value.strip(' ."“”')))


@dataclass(frozen=True, slots=True)
class Group:
    """Members in order, a paragraph represented by its first statement. `heading`: what stands above them, from the title to the
    lead of a list or the headers of a table.
    """

    kind: BlockKind
    heading: str
    members: tuple[UnitStatement, ...]
    ordered: bool = False


def groups_of(units: Sequence[Unit]) -> tuple[Group, ...]:
    """Group the statements of `units`, in order of first appearance."""
    parts: dict[tuple[object, ...], list[tuple[UnitStatement, Block]]] = {}
    for unit in units:
        previous: Block | None = None
        key: tuple[object, ...] = ()
        for said in statements_of(unit):
            block = said.block
            if block is None or block == previous:
                continue
            if previous is None or not _same_group(previous, block):
                headers = tuple(cell.header for cell in block.cells)
                key = (unit.document, said.path, headers) if headers else (unit.id, said.start)
            parts.setdefault(key, []).append((said, block))
            previous = block
    return tuple(map(_build_group, parts.values()))


def _same_group(one: Block, other: Block) -> bool:
    """Whether two consecutive blocks belong to one group: rows need more than half of their columns in common."""
    alike = one.kind is other.kind and one.path == other.path and other.start <= one.end
    first, second = ({cell.header for cell in block.cells} for block in (one, other))
    return alike and (one.kind is not BlockKind.ROW or 2 * len(first & second) > max(len(first), len(second)))


def _build_group(statements: Sequence[tuple[UnitStatement, Block]]) -> Group:
    first, block = statements[0]
    above = dict.fromkeys((first.unit.title, *block.path))
    line_before = first.unit.text[: first.start].rstrip().rpartition("\n")[2]
    is_lead = block.kind is BlockKind.ITEM and len(line_before) < _LONGEST_LEAD
    lead = block.lead or (line_before if is_lead else "")
    ordered = sorted(statements, key=lambda pair: pair[1].start) if block.cells else statements
    headers = (cell.header for cell in ordered[0][1].cells)
    return Group(block.kind, " ".join((*above, lead, *headers)), tuple(said for said, _ in ordered), block.ordered)
