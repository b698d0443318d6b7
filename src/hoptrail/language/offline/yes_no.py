"""Answer yes or no if one statement says so outright: it asserts all words of the question, or denies one.

`Can I bring a dog into the galleries?` gets a no from a statement about dogs and galleries with `not in the galleries`: a word of
denial precedes a word of the question in the same clause. A yes needs a statement with every word of the question and no
reservation. If no single statement decides, the question stays open: silence is not a no. What somebody is (`Was Ada Lunt a
painter?`) and who belongs to something is only taken from lists and minutes (`claim_by_list`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from hoptrail.language.closeness import Similarity, close_statements, is_covered
from hoptrail.language.offline.contradicting import Assertion, settle
from hoptrail.language.offline.listing import listing
from hoptrail.language.tasks import Reading, Step
from hoptrail.text.lexicon import COPULAS, NAMED_AFTER, word_set
from hoptrail.text.mentions import find_names
from hoptrail.text.normal_forms import base_title
from hoptrail.text.statements import UnitStatement, statements_of
from hoptrail.text.words import KIN, Word, content_stems, words
from hoptrail.types import AnswerKind, BlockKind, Span, Unit

_CLOSE = 6  # number of closest statements that are considered
_FEWEST = 2  # least number of the question's words in a statement
_DENYING = word_set(
    "not no never nobody none neither nor cannot without forbidden prohibited refused unsupported impossible"
)
_TURNING = word_set("or than before after")
"""Words of a question that orders or offers a choice: a statement with all its words may still say the contrary."""
_TAKEN_BACK = word_set("if unless except only until before after than or may might should planned proposed whether")
"""Words of reservation in a statement."""
_PERMITTED = content_stems("allowed allow permitted possible okay ok must should have need work support supported")
_ACTORS = word_set("i we you one it they he she")
_CLAUSE = re.compile(r"[,;:()–—.]|\bbut\b|\band\b")
_ASSERTED, _DENIED = 0.7, 0.6  # confidence in a yes, and in a no: a denial may concern something else in its clause
_OUTRIGHT = re.compile(r"\s*(?P<answer>yes|no)(?:[,.:;!]|\s*[–—])", re.IGNORECASE)
_OUTRIGHT_SHARE = 0.6  # least share of the question's words in a statement that begins with yes or no
_KIND = re.compile(r",? (?:an?|one of the) ", re.IGNORECASE)
"""After a name, asks what it is. Words alone do not tell: `Karl Holm was the son of a poet`."""
_IS_A = re.compile(
    r"(?:is|are|was|were) (?P<name>[^?]+?) (?:an?|one of (?:the|our)) (?P<kind>[\w -]+?)s?\s*[?.]*", re.IGNORECASE
)
_ATTENDED = re.compile(
    r"(?:was|were|is|did|has) (?P<name>[^?]+?) (?:(?:present )?at|attend(?:ed)?|join(?:ed)?|come to|tak(?:e|en) part in) "
    r"(?P<event>[^?]+?)\s*[?.]*",
    re.IGNORECASE,
)
_ATTENDANCE = re.compile(r"\s*(?P<key>[A-Za-z ]{4,30}):\s*(?P<names>\S.*)", re.DOTALL)
_PRESENT = word_set("present attending attendees attended participants")
_ABSENT = word_set("apologies absent excused regrets")
_MEETING = content_stems("meeting meet session call")
_LISTED = 0.7  # confidence in what a list says


def claim(question: str, units: Sequence[Unit], similarity: Similarity | None) -> Reading:
    """Yes or no with the statement that says so; an abstention if none does, or if the question itself has a denial."""
    open_ended = Reading(None, kind=AnswerKind.YES_NO)
    asked = _YesNoQuestion.of(question)
    if asked is None:
        return open_ended
    near = close_statements(question, units, similarity)[:_CLOSE]
    for one in near:
        if one.share >= _OUTRIGHT_SHARE and (outright := _OUTRIGHT.match(one.said.text)):
            return _verdict(question, outright["answer"].lower(), one.said.support, _ASSERTED)
    decided = [(one.said, verdict) for one in near if (verdict := asked.verdict(one.said))]
    asserted = [Assertion(verdict, content_stems(one.said), one.support, one.date) for one, verdict in decided]
    settled = settle(asserted) if asserted else None
    if settled is None or settled.contested:
        return open_ended
    said, answer = decided[settled.place]
    return _verdict(question, answer, (*said.support, *settled.others), _ASSERTED if answer == "yes" else _DENIED)


def _verdict(question: str, answer: str, support: tuple[Span, ...], confidence: float) -> Reading:
    return Reading(answer, (Step(question, answer, support),), confidence, AnswerKind.YES_NO)


@dataclass(frozen=True, slots=True)
class _YesNoQuestion:
    """A yes-no question: the stems of the name it begins with, those to be said, and those for what somebody does (`acts`)."""

    text: str
    name: frozenset[str]
    named: frozenset[str]
    acts: frozenset[str]

    @classmethod
    def of(cls, question: str) -> _YesNoQuestion | None:
        """The parsed question; None if it has a denial, orders, offers a choice, asks what a name is, or says too little."""
        names = find_names(question)
        asked = words(question)
        free = [word for word in asked if not any(name.start <= word.start < name.end for name in names)]
        after = [word for before, word in pairwise(free) if word.lower == "after" and before.lower in NAMED_AFTER]
        if any(_denies(word) or (word.lower in _TURNING and word not in after) for word in free):
            return None
        acts = frozenset(following.stem for word, following in pairwise(asked) if word.lower in _ACTORS)
        stems, name = content_stems(question), frozenset[str]()
        if names and question[: names[0].start].lower().strip() in COPULAS:
            if _KIND.match(question, names[0].end):
                return None
            name = content_stems(base_title(names[0].text))
        named = stems - _PERMITTED - acts
        return cls(question, name, named, (acts & stems) - _PERMITTED) if len(named) >= _FEWEST else None

    def verdict(self, said: UnitStatement) -> str:
        """`yes` or `no` if the statement says so, else empty. Code says neither."""
        if said.block is not None and said.block.kind is BlockKind.CODE:
            return ""
        own, seen = content_stems(said.text), content_stems(said.seen)
        if _said(self.named, own | seen) != self.named or len(_said(self.named, own)) + bool(self.name) < _FEWEST:
            return ""
        rest = self.named - self.name  # must be said of the name itself, not of its kin or in a heading
        if self.name and (_said(rest, own) != rest or _subject(said.text) & KIN - self.named):
            return ""
        if not said.text.rstrip().endswith("?") and _is_denied(said.text, self.named):
            return "no"
        return "yes" if not _has_reservation(said.text, self.text) and _said(self.acts, own) == self.acts else ""


def _has_reservation(text: str, question: str) -> bool:
    """Whether a statement has a reservation that the question lacks, denies it, or is a question itself."""
    asked = {word.lower for word in words(question)}
    hedged = any(word.text in _TAKEN_BACK - asked for word in words(text))  # as written: May is a month
    return text.rstrip().endswith("?") or hedged or _is_denied(text, content_stems(question))


def _said(asked: frozenset[str], said: frozenset[str]) -> frozenset[str]:
    return frozenset(stem for stem in asked if is_covered(stem, said))


def _is_denied(text: str, named: frozenset[str]) -> bool:
    """Whether a word of denial comes before a word of the question in one clause."""
    for clause in map(words, _CLAUSE.split(text)):
        at = next((at for at, word in enumerate(clause) if _denies(word)), len(clause))
        if any(word.stem in named for word in clause[at + 1 :]):
            return True
    return False


def _denies(word: Word) -> bool:
    return word.lower in _DENYING or word.lower.replace("’", "'").endswith("n't")


def _subject(text: str) -> frozenset[str]:
    """The stems before the verb of a statement."""
    return content_stems(text[: next((word.start for word in words(text) if word.lower in COPULAS), len(text))])


def claim_by_list(question: str, units: Sequence[Unit], similarity: Similarity | None) -> Reading:
    """Yes or no by a list, citing it: yes if the name is among those of the kind asked for, no if it is among the apologies. A
    name that is missing gives no answer, because the list may be incomplete.
    """
    line = " ".join(question.split())
    if match := _IS_A.fullmatch(line):
        found = listing(f"List all {match['kind']}s", units, similarity)
        name = content_stems(match["name"])
        if name and any(name <= content_stems(item) for item in found.items):
            return _verdict(question, "yes", found.steps[0].support, _LISTED)
    if match := _ATTENDED.fullmatch(line):
        name, event = content_stems(match["name"]), content_stems(match["event"]) - _MEETING
        for said in (said for unit in units for said in statements_of(unit)):
            if answer := _attended(said, name, event):
                return _verdict(question, answer, said.support, _LISTED)
    return Reading(None, kind=AnswerKind.YES_NO)


def _attended(said: UnitStatement, name: frozenset[str], event: frozenset[str]) -> str:
    """`yes` or `no` if the statement is a line of the event's minutes that says who was present or absent, else empty."""
    line = _ATTENDANCE.fullmatch(said.text.strip())
    above = content_stems(" ".join((said.unit.title, *said.path)))
    if line is None or not name or not name <= content_stems(line["names"]) or not event or not event <= above:
        return ""
    key = line["key"].strip().lower()
    return "yes" if key in _PRESENT else "no" if key in _ABSENT else ""
