"""Yes or no where the rules are exact: one sentence says all that is asked, or says that the thing is of another kind.

That no sentence says it makes no other `no`: what is asked may be true all the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from hoptrail.language.offline.claims import takes_back
from hoptrail.language.offline.evidence import EvidencePages, Line, Page
from hoptrail.language.offline.kinds import kind_asked, of_kind, owned_by_subject
from hoptrail.language.offline.questions import Question
from hoptrail.text.lexicon import NAMED_AFTER, word_set
from hoptrail.text.normal_forms import base_title
from hoptrail.text.words import KIN, RELATED, content_stems, words
from hoptrail.types import Span

_ASSERTED, _EXCLUDED = 0.7, 0.4
"""Raw belief in a yes, and in a no because of another kind."""
_WHOLE = 0.9
"""How much of a name has to stand in a sentence or its title."""

_TURNING = word_set("before after than or not never")


def _turned(question: Question) -> bool:
    """Whether a question orders, lets choose or denies: a sentence that says all its words may then say the contrary."""
    named = [(mention.start, mention.end) for mention in question.anchors]
    free = [word for word in words(question.text) if not any(start <= word.start < end for start, end in named)]
    turning = [at for at, word in enumerate(free) if word.lower in _TURNING]
    return any(free[at].lower != "after" or free[at - 1].lower not in NAMED_AFTER for at in turning)


def settled(question: Question, evidence: EvidencePages) -> tuple[str, tuple[Span, ...], float] | None:
    """`yes` or `no` with the sentence that says so and the belief in it; None where no sentence does."""
    anchors = [_anchor_stems(anchor.text) for anchor in question.anchors]
    if not anchors or _turned(question):
        return None
    if kind := kind_asked(question):
        found = of_kind(kind, anchors[0], evidence)
        return found and ("yes" if found[0] else "no", found[1].support, _ASSERTED if found[0] else _EXCLUDED)
    asked = question.relations.union(*anchors[1:])
    for page, line in evidence.lines:
        said = bool(asked) and all((RELATED.get(part, frozenset()) | {part}) & line.stems for part in asked)
        plainly = said and not owned_by_subject(line) & KIN - asked and not takes_back(line.text, question.text)
        if plainly and _anchored(anchors[:1], page, line) >= _WHOLE:
            return "yes", line.support, _ASSERTED
    return None


def _anchor_stems(text: str) -> frozenset[str]:
    base = base_title(text)
    return content_stems(base) or frozenset(word.stem for word in words(base))


def _anchored(anchors: Sequence[frozenset[str]], page: Page, line: Line) -> float:
    """How much of the names stands in the line or its title, the mean over names."""
    return sum(_one_anchored(anchor, page, line) for anchor in anchors) / len(anchors)


def _one_anchored(anchor: frozenset[str], page: Page, line: Line) -> float:
    if not anchor:
        return 0.0
    shared = len(anchor & page.title_stems)
    titled = shared / len(anchor) * (0.5 + 0.5 * shared / max(1, len(page.title_stems)))
    said = len(anchor & line.stems) / len(anchor)
    elsewhere = len(anchor & page.stems) / len(anchor)
    return max(titled, 0.9 * said, 0.4 * elsewhere)


def _expressions(asked: str) -> frozenset[str]:
    return RELATED.get(asked, frozenset()) | {asked}
