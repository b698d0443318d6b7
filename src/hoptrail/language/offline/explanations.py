"""Answers that are no span: the steps of a procedure, the sentences that give a reason.

Both are taken as they stand from blocks of the evidence: nothing is worded anew. What the question asks about is found by
its closest statement (`language.closeness`), and belief in it is the share of the question's words that it says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from hoptrail.language.closeness import Close, Similarity, close_statements
from hoptrail.language.offline.contradicting import ALIKE, replaced
from hoptrail.language.offline.listing import belief, item_of, listed
from hoptrail.language.tasks import Reading, Step
from hoptrail.text.entries import is_entry
from hoptrail.text.evidence_groups import Group, groups_of
from hoptrail.text.statements import Said, statements_of, support_of
from hoptrail.text.words import content_stems
from hoptrail.types import AnswerKind, BlockKind, Unit

_WHOLE_BLOCK = 700
"""Characters up to which a block is given whole; of a longer one the closest sentence with the one before and the one after."""
_REASON = re.compile(
    r"\b(?:because|caused?|reason|due to|since|so that|in order to|therefore|to avoid|led to)\b", re.IGNORECASE
)
_REASON_BONUS = 0.25
_ASKS_REASON = re.compile(r"^\s*why\b|\b(?:reason|cause)\b", re.IGNORECASE)
_LEAST_SHARE, _LEAST_CLOSENESS = 0.45, 0.9
"""What a statement has to say of the question's words, and how close it has to be, to be given as an answer."""
_NUMBERED = re.compile(r"^\s*(?:[-*•]|\(?[\dA-Z]{1,2}(?:\.\d+)*[.)])\s+|^\s*Q:\s*")
_SAME_BELIEF = 0.85
_LEAST_STEPS = 2
_CLOSE = 8
"""Statements that are weighed, closest first."""
_REFERENCE = re.compile(r"\s*\W?(?:see|refer to|cf\.)\s", re.IGNORECASE)
_AS_CLOSE = 0.1
"""How much less close a later statement may be to take the place of an earlier one."""


def explain(question: str, units: Sequence[Unit], similarity: Similarity | None) -> Reading:
    """The block, or the sentences, that say why or what about; an abstention where none comes close."""
    close = [one for one in close_statements(question, units, similarity)[:_CLOSE] if _explains(one.said)]
    wants_reason = _ASKS_REASON.search(question) is not None

    def rank(one: Close) -> float:
        return one.closeness + (_REASON_BONUS if wants_reason and _REASON.search(_around(one.said)[0]) else 0.0)

    best = max(close, key=rank, default=None)
    if best is None or best.share < _LEAST_SHARE or best.closeness < _LEAST_CLOSENESS:
        return Reading(None, kind=AnswerKind.PASSAGE)
    same = [one for one in close if _says_as_much(one, best)]
    latest = max(same, key=lambda one: one.said.date)
    best = latest if latest.said.date > best.said.date else best
    earlier = [one for one in same if one.said.date < best.said.date]
    text, start, end = _around(best.said)
    support = support_of(best.said.unit, start, end)
    for one in earlier:  # what was said before is cited beside what holds now
        support += replaced(one.said.support)
    return Reading(text, (Step(question, text, support),), belief(best.share), AnswerKind.PASSAGE)


def answer_to_the_same(question: str, units: Sequence[Unit]) -> Reading:
    """What a list of frequent questions says to this very question, which is a heading or a statement there."""
    for unit in units:
        before: Said | None = None
        for said in statements_of(unit):
            headed = bool(said.path) and _is_the_same(said.path[-1], question)
            after = before is not None and _is_the_same(before.text, question)
            if (headed or after) and not said.text.rstrip().endswith("?"):
                text, start, end = _around(said)
                return Reading(
                    text, (Step(question, text, support_of(unit, start, end)),), _SAME_BELIEF, AnswerKind.PASSAGE
                )
            before = said
    return Reading(None)


def _is_the_same(text: str, question: str) -> bool:
    """Whether a text is the question, in its words and beginning with the same one, whatever number stands before it."""
    bare = _NUMBERED.sub("", text)
    asked = content_stems(question)
    return (
        bare.rstrip().endswith("?")
        and bool(asked)
        and bare.split()[0].lower() == question.split(maxsplit=1)[0].lower()
        and content_stems(bare) == asked
    )


def _explains(said: Said) -> bool:
    """Whether a statement says something by itself: code does not, nor a reference (`See ...`), nor a lead whose list or example
    is not at hand.
    """
    if said.block is not None and said.block.kind is BlockKind.CODE:
        return False
    every = statements_of(said.unit)
    leads_nowhere = said.text.rstrip().endswith(":") and not _introduced(said, every[every.index(said) + 1 :])
    return not leads_nowhere and not _REFERENCE.match(said.text)


def _says_as_much(one: Close, best: Close) -> bool:
    """Whether a dated statement says the same of the question as the best one, of the same thing, at another date."""
    dated = bool(one.said.date and best.said.date) and one.said.unit.id != best.said.unit.id
    mine, other = _explained(one.said), _explained(best.said)
    alike = len(mine & other) >= ALIKE * len(mine | other)
    return one == best or (dated and alike and one.share >= best.share and best.closeness - one.closeness <= _AS_CLOSE)


def _explained(said: Said) -> frozenset[str]:
    """The words of a statement up to its reason: reasons differ where a later one replaces an earlier one."""
    return content_stems(_REASON.split(said.said, maxsplit=1)[0]) or content_stems(said.said)


def _around(said: Said) -> tuple[str, int, int]:
    """The block of a statement, or three sentences of it, with what a colon introduces, and their place in the unit's text."""
    unit, block = said.unit, said.block
    if block is not None and block.kind is BlockKind.ROW:
        return said.said, said.start, said.end
    every = statements_of(unit)
    siblings = [one for one in every if one.block == block]
    if block is not None and siblings[-1].end - siblings[0].start <= _WHOLE_BLOCK:
        kept = siblings
    else:
        at = siblings.index(said)
        kept = siblings[max(0, at - 1) : at + 2]
    kept += _introduced(kept[-1], every[every.index(kept[-1]) + 1 :])
    start, end = kept[0].start, kept[-1].end
    return " ".join(unit.text[start:end].split()), start, end


def _introduced(said: Said, after: Sequence[Said]) -> list[Said]:
    """What a statement that ends with a colon introduces: the next block, all items where it is a list; cut at `_WHOLE_BLOCK`."""
    if not said.text.rstrip().endswith(":") or not after or after[0].block is None:
        return []
    first = after[0].block
    is_list = first.kind in {BlockKind.ITEM, BlockKind.ROW}
    together = takewhile(
        lambda one: one.block is not None and (one.block == first or (is_list and one.block.kind is first.kind)), after
    )
    return [one for one in together if one.end - after[0].start <= _WHOLE_BLOCK]


def _defines_terms(group: Group) -> bool:
    """Whether a list explains terms or options, one an item: its items are no steps."""
    entries = sum(is_entry(said.text) for said in group.members)
    return not group.ordered and 2 * entries > len(group.members)


def steps(question: str, units: Sequence[Unit], similarity: Similarity | None) -> Reading:
    """The items of the list that says how, in order; else the block that comes closest."""
    asked = content_stems(question)
    best: tuple[float, Group] | None = None
    for place, group in enumerate(groups_of(units)):
        if group.kind is not BlockKind.ITEM or len(group.members) < _LEAST_STEPS or _defines_terms(group):
            continue
        heading = content_stems(group.heading)
        inside = content_stems(" ".join(said.text for said in group.members))
        share = (len(asked & heading) + 0.5 * len(asked & inside - heading)) / max(1, len(asked))
        score = share + (0.3 if group.ordered else 0.0) - 0.01 * place
        if share >= _LEAST_SHARE and (best is None or score > best[0]):
            best = score, group
    if best is None:
        return explain(question, units, similarity)
    members = best[1].members
    return listed(question, members, tuple(map(item_of, members)), AnswerKind.STEPS, belief(min(1.0, best[0])))
