"""Long answers quoted from the evidence: the steps of a procedure, the sentences that give a reason.

Each statement near the question (`language.closeness`) is a candidate with the block around it. A judge reads that text and
estimates whether it settles the question; this selects the text and gives the confidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from statistics import fmean

from hoptrail.language.closeness import Close, Judge, below_headings
from hoptrail.language.offline.answer_weights import logistic
from hoptrail.language.offline.listing import Group, confidence_of, groups_of, item_of, list_reading
from hoptrail.language.questions.messages import asks
from hoptrail.language.tasks import Reading, Step
from hoptrail.models.question_tagger import tag_question
from hoptrail.text.normal_forms import squeeze
from hoptrail.text.statements import UnitStatement, statements_of, support_of
from hoptrail.text.words import content_stems
from hoptrail.types import AnswerKind, BlockKind, Unit

_WHOLE_BLOCK = 700
"""Characters of the longest block that is quoted whole; of a longer one, the closest sentence and its two neighbours."""
_REASON = re.compile(r"(?i)\b(?:because|caused?|reason|due to|since|so that|in order to|therefore|to avoid|led to)\b")
_SAME_QUESTION = 0.6  # least share of words in common for a heading to ask the question
_LEAST_SHARE = 0.45  # of the question's words in a list of steps
_LEAST_PROBABILITY = 0.5  # below it, a text around one statement may be better than a list of steps
_CLOSE = 12  # number of closest statements that are considered
_SETTLES = 0.2  # weight of the log odds that a text settles the question, relative to the closeness of its statement
_SLOPE, _EVEN, _OTHERS = 0.35, 3.5, 0.2
"""The probability that a quoted text is right is a logistic function of the log odds that it settles the question. The judge
learned to choose among statements, not how often one of them settles a question: it is one half at `_EVEN` if the mean of the
other texts' log odds is 0. Where all of them seem to settle it, they are about the same matter, and each is less likely to.
"""
_UNRELATED = -3.0  # least mean log odds of others, and where there are none: lower ones say nothing more
_ALIKE = 0.5  # least share of words in common for two statements to be about the same thing
_ENTRY = re.compile(r"\s*(?:-{1,2}\w|[^:\n]{1,120}:\s)")
"""The beginning of a list item that explains a term or an option."""
_AS_CLOSE = 0.1  # how much less close a later statement may be to replace an earlier one


def explain(question: str, units: Sequence[Unit], close: Sequence[Close], judge: Judge) -> Reading:
    """The block or sentences that explain: under a heading that asks the question, else those that `judge` prefers. An abstention
    if no statement explains anything, or if the judge does not judge.
    """
    close = _explanations(question, close)
    return _answered_below(question, units, close) or _preferred(question, close, _judged(question, close, judge))


def _explanations(question: str, close: Sequence[Close]) -> list[Close]:
    """The closest statements, where they explain by themselves, with both sides of what the question compares."""
    sides = [content_stems(question[start:end]) for start, end in tag_question(question).sides]
    apart = sides[0] ^ sides[1] if len(sides) == 2 else frozenset()  # `hard`, `soft` for hard and soft links
    explaining = [one for one in close[:_CLOSE] if _is_explanation(one.said)]
    return [one for one in explaining if not apart or apart <= content_stems(_as_judged(one.said))]


def _judged(question: str, close: Sequence[Close], judge: Judge) -> list[tuple[Close, float]]:
    """The statements with the log odds that the text quoted for each settles the question; none if the judge does not judge."""
    odds = judge(question, [_as_judged(one.said) for one in close]) if close else ()
    return list(zip(close, odds, strict=False))


def _answered_below(question: str, units: Sequence[Unit], close: Sequence[Close]) -> Reading | None:
    """A reading of the text under a heading that asks the question; None without one."""
    same = [said for one in close if (said := _under_same_question(question, one.said, units))]
    return _quote_latest(question, same, confidence_of(1.0)) if same else None


def _preferred(question: str, close: Sequence[Close], judged: Sequence[tuple[Close, float]]) -> Reading:
    """A reading of the text that the judge prefers; an abstention without one."""
    if not judged:
        return Reading(None, kind=AnswerKind.PASSAGE)
    best, settles = max(judged, key=lambda pair: pair[0].closeness + _SETTLES * pair[1])
    others = [odds for one, odds in judged if not _quotes_overlap(one.said, best.said)]
    as_much = [one.said for one in close if _says_as_much(one, best)]
    return _quote_latest(question, [best.said, *as_much], _probability(settles, others))


def _probability(settles: float, others: Sequence[float]) -> float:
    """The probability that a text is right, by the log odds that it and other texts settle the question."""
    mean = max(fmean(others), _UNRELATED) if others else _UNRELATED
    return round(logistic(_SLOPE * (settles - _EVEN) - _OTHERS * mean), 4)


def _as_judged(said: UnitStatement) -> str:
    return below_headings(said.unit.title, said.path, _quoted_text(said)[0])


def _quote_latest(question: str, same: Sequence[UnitStatement], confidence: float) -> Reading:
    """A reading that quotes the latest of statements about the same thing; the earlier ones are cited as replaced."""
    latest = max(same, key=lambda said: said.date)
    text, start, end = _quoted_text(latest)
    earlier = (replace(span, replaced=True) for said in same if said.date < latest.date for span in said.support)
    step = Step(question, text, (*support_of(latest.unit, start, end), *earlier))
    return Reading(text, (step,), confidence, AnswerKind.PASSAGE)


def _under_same_question(question: str, said: UnitStatement, units: Sequence[Unit]) -> UnitStatement | None:
    """The first statement under the heading above `said` if that asks the question, as in a list of frequent questions."""
    if not said.path or not asks(said.path[-1]):
        return None
    asked, heading = content_stems(question), content_stems(said.path[-1])
    if not asked or len(asked & heading) < _SAME_QUESTION * len(asked | heading):
        return None
    same = (unit for unit in units if unit.document == said.unit.document)
    under = [one for unit in same for one in statements_of(unit) if one.path == said.path]
    return next(filter(_is_explanation, sorted(under, key=lambda one: one.place)), None)


def _is_explanation(said: UnitStatement) -> bool:
    """Whether a statement explains by itself: it is no code, and no lead without its list or example."""
    is_code = said.block is not None and said.block.kind is BlockKind.CODE
    return not is_code and (not said.text.endswith(":") or bool(_introduced(said)))


def _says_as_much(one: Close, best: Close) -> bool:
    """Whether a dated statement of another unit is about the same thing as the best one and covers the question as well."""
    dated = bool(one.said.date and best.said.date) and one.said.unit.id != best.said.unit.id
    mine, other = _stems_before_reason(one.said), _stems_before_reason(best.said)
    alike = len(mine & other) >= _ALIKE * len(mine | other)
    return dated and alike and one.share >= best.share and best.closeness - one.closeness <= _AS_CLOSE


def _stems_before_reason(said: UnitStatement) -> frozenset[str]:
    """The stems of a statement before its reason: statements that replace each other differ in their reasons."""
    return content_stems(_REASON.split(said.said, maxsplit=1)[0]) or content_stems(said.said)


def _quoted_text(said: UnitStatement) -> tuple[str, int, int]:
    """The block of a statement, or three sentences of it, with anything a colon introduces, and their offsets in the unit."""
    unit, block = said.unit, said.block
    if block is not None and block.kind is BlockKind.ROW:
        return said.said, said.start, said.end
    siblings = [one for one in statements_of(unit) if one.block == block]
    if block is None or siblings[-1].end - siblings[0].start > _WHOLE_BLOCK:
        at = siblings.index(said)
        siblings = siblings[max(0, at - 1) : at + 2]
    quoted = [*siblings, *_introduced(siblings[-1])]
    start, end = quoted[0].start, quoted[-1].end
    is_item = quoted == [said] and block is not None and block.kind is BlockKind.ITEM
    return item_of(said) if is_item else squeeze(unit.text[start:end]), start, end


def _quotes_overlap(one: UnitStatement, other: UnitStatement) -> bool:
    (_, start, end), (_, first, last) = _quoted_text(one), _quoted_text(other)
    return one.unit.id == other.unit.id and start < last and first < end


def _introduced(said: UnitStatement) -> list[UnitStatement]:
    """The block that a statement with a final colon introduces, or all items of a list, up to `_WHOLE_BLOCK` characters."""
    every = statements_of(said.unit)
    after = every[every.index(said) + 1 :] if said.text.endswith(":") else ()
    if not after or after[0].block is None:
        return []
    first = after[0].block
    is_list = first.kind in {BlockKind.ITEM, BlockKind.ROW}
    together = takewhile(
        lambda one: one.block is not None and (one.block == first or (is_list and one.block.kind is first.kind)), after
    )
    return [one for one in together if one.end - after[0].start <= _WHOLE_BLOCK]


def _are_steps(group: Group) -> bool:
    """Whether a group is a list of several items that do not explain terms or options."""
    if group.kind is not BlockKind.ITEM or len(group.members) < 2:
        return False
    entries = sum(_ENTRY.match(said.text) is not None for said in group.members)
    return group.ordered or 2 * entries <= len(group.members)


def procedure(question: str, units: Sequence[Unit], close: Sequence[Close], judge: Judge) -> Reading:
    """The items of the list that describes the procedure, in order; without one, the closest block. No notes on changes."""
    units = [unit for unit in units if not are_change_notes(unit)]
    lists = list(_step_lists(question, filter(_are_steps, groups_of(units))))
    close = _explanations(question, [one for one in close if not are_change_notes(one.said.unit)])
    below = _answered_below(question, units, close)
    judged = _judged(question, close, judge) if lists or below is None else []
    odds = judge(question, [_list_as_judged(group) for group in lists]) if lists else ()
    found = []
    for group, settles in zip(lists, odds, strict=False):  # no odds if the judge does not judge
        items = tuple(map(item_of, group.members))
        others = [other for one, other in judged if one.said not in group.members]
        found.append(list_reading(question, group.members, items, AnswerKind.STEPS, _probability(settles, others)))
    best = max(found, key=lambda reading: reading.confidence, default=Reading(None))
    if best.confidence >= _LEAST_PROBABILITY:
        return best
    explained = below or _preferred(question, close, judged)
    return max(best, explained, key=lambda reading: reading.confidence) if best.steps else explained


def _step_lists(question: str, groups: Iterable[Group]) -> Iterator[Group]:
    """Lists near the question: with enough of its words, those of the items counting half."""
    asked = content_stems(question)
    for group in groups:
        heading = content_stems(group.heading)
        inside = content_stems(" ".join(said.text for said in group.members))
        if len(asked & heading) + 0.5 * len(asked & inside - heading) >= _LEAST_SHARE * max(1, len(asked)):
            yield group


def _list_as_judged(group: Group) -> str:
    first = group.members[0]
    lead = (first.block.lead,) if first.block is not None and first.block.lead else ()
    text = " ".join(squeeze(said.text) for said in group.members)
    return below_headings(first.unit.title, (*first.path, *lead), text)


_NOTES_TITLE = re.compile(
    r"(?i:^(?:[\w.-]+ )?change[ _-]?logs?[\w.-]*$|^(?:[\w.-]+ ){0,2}release[ _-]notes(?: \(.*\))?$)"
    r"|^(?:NEWS|CHANGES)(?:\.\w+)*$"
)
_CHANGES = re.compile(
    r";\s*urgency=\w"  # hello (2.10-3) unstable; urgency=medium
    r"|^\W*\d{4}-\d\d-\d\d\s.*@"  # 2022-10-10  Ann Lee  <ann@example.org>
    r"|\bchanges\b.{0,20}\b(?:in|since|between|with)\s+(?:version|release|v?\d+\.\d|\d{3}\b)"  # Noteworthy changes in version 1.9
    r"|^\W*(?:version |release )?v?\d+(?:\.\d+)+[a-z]?\W+(?:\d{4}-\d\d-\d\d|\d{1,2}[ -]\w{3,9}[ -]\d{2})",  # [1.2.0] - 2022-10-10
    re.IGNORECASE,
)
"""A heading above the changes of one version or day."""


def are_change_notes(unit: Unit) -> bool:
    """Whether a unit has notes on changes, by its title or first headings. They say what became possible, and not how."""
    headings = next((said.path for said in statements_of(unit)), ())
    return any(_NOTES_TITLE.search(line) or _CHANGES.search(line) for line in (unit.title, *headings))
