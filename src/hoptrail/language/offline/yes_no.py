"""Yes or no by what one statement says outright: it asserts all that the question says, or denies a part of it.

`Can I bring a dog into the galleries?` is a no where a statement about dogs and galleries says `not in the galleries`: a word
that denies stands in the same clause, before a word of the question. A yes needs a statement that says every word of the
question and takes nothing back; to `Was Ada Lunt a painter?`, one that says it of her. What no single statement says is left
open: that nothing says it makes no `no`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from hoptrail.language.closeness import Similarity, close_statements
from hoptrail.language.offline.contradicting import Assertion, replaced, which_holds
from hoptrail.language.offline.evidence import EvidencePages
from hoptrail.language.tasks import Reading, Step
from hoptrail.text.lexicon import COPULAS, FUNCTION_WORDS, KIN_WORDS, NAMED_AFTER, word_set
from hoptrail.text.mentions import find_names
from hoptrail.text.normal_forms import base_title, squeeze
from hoptrail.text.questions import Question
from hoptrail.text.statements import Said, statements_of
from hoptrail.text.words import KIN, RELATED, Word, content_stems, words
from hoptrail.types import AnswerKind, BlockKind, Span, Unit

_CLOSE = 6
"""Statements that are looked at, closest first."""
_FEWEST = 2
"""Words of the question that a statement itself has to say: one alone is about too much."""
_DENYING = word_set(
    "not no never nobody none neither nor cannot without forbidden prohibited refused unsupported impossible"
)
_TURNING = word_set("or than before after")
"""Words with which a question orders or lets choose: a statement that says all its words may then say the contrary."""
_TAKEN_BACK = word_set("if unless except only until before after than or may might should planned proposed whether")
"""Words with which a statement says less than the question asks."""
_PERMITTED = content_stems("allowed allow permitted possible okay ok must should have need work support supported")
_ACTORS = word_set("i we you one it they he she")
_CLAUSE = re.compile(r"[,;:()–—.]|\bbut\b|\band\b")
_ASSERTED, _DENIED = 0.7, 0.6
"""Raw belief in a yes, and in a no: a denial may be of something else in its clause."""
_OUTRIGHT = re.compile(r"\s*(?:yes|no)(?:[,.:;!]|\s*[–—])", re.IGNORECASE)
"""A statement that answers a question in its first word, as those of lists of frequent questions do."""
_OUTRIGHT_SHARE = 0.6
"""What it has to say of the question's words."""
_KIND = re.compile(r",? (?:an?|one of the) (?:(?:type|kind|sort)s? of (?:an? )?)?(?P<kind>[\w -]+)", re.IGNORECASE)
_GROUPS = "genus|species|family|breed|variety|type|kind|sort|form|style|class|group"
"""What is a group of something is that: `a genus of shrubs`."""
_PARENTHESIS = re.compile(r" ?\([^()]*\)")
_OWNED = re.compile(
    rf"(?:['’]s|\b(?:his|her|its|their)) (?P<owned>[a-z]+(?: [a-z]+){{0,2}})"
    rf"|^(?:the )?(?:[a-z]+ )?(?P<kin>{'|'.join(sorted(KIN_WORDS))}) of\b",
    re.IGNORECASE,
)
"""What a statement is about in place of its owner: `brother` in `Her brother Karl was ...`."""


def claim(question: str, units: Sequence[Unit], similarity: Similarity | None) -> Reading:
    """Yes or no, citing the statement that says so; an abstention where none does, or the question denies something itself."""
    open_ended = Reading(None, kind=AnswerKind.YES_NO)
    asked = _Asked.of(question)
    if asked is None:
        return open_ended
    near = close_statements(question, units, similarity)[:_CLOSE]
    if outright := next((one for one in near if one.share >= _OUTRIGHT_SHARE and _OUTRIGHT.match(one.said.text)), None):
        answer = outright.said.text.split(maxsplit=1)[0].strip(",.:;!–—").lower()
        return Reading(answer, (Step(question, answer, outright.said.support),), _ASSERTED, AnswerKind.YES_NO)
    close = [one.said for one in near]
    verdicts = [(verdict, said) for said in close if (verdict := asked.verdict(said))]
    asserted = [
        Assertion(verdict, content_stems(said.said), said.unit.document, said.date) for verdict, said in verdicts
    ]
    held = which_holds(asserted) if asserted else None
    if held is None:
        return open_ended
    answer, said = verdicts[held]
    belief = _ASSERTED if answer == "yes" else _DENIED
    earlier = [other for one, (_, other) in zip(asserted, verdicts, strict=True) if one.contradicts(asserted[held])]
    support = (*said.support, *(span for one in earlier for span in replaced(one.support)))
    return Reading(answer, (Step(question, answer, support),), belief, AnswerKind.YES_NO)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question of yes or no: the name it begins with (stems), what that is said to be (`kind`, or nothing), its other words,
    and those for what somebody does.
    """

    text: str
    name: frozenset[str]
    kind: re.Pattern[str] | None
    named: frozenset[str]
    acts: frozenset[str]

    @classmethod
    def of(cls, question: str) -> _Asked | None:
        """None where it denies, orders or lets choose, or says too little."""
        names = find_names(question)
        asked = words(question)
        free = [word for word in asked if not any(name.start <= word.start < name.end for name in names)]
        after = [word for before, word in pairwise(free) if word.lower == "after" and before.lower in NAMED_AFTER]
        if any(_denies(word) or (word.lower in _TURNING and word not in after) for word in free):
            return None
        acts = frozenset(following.stem for word, following in pairwise(asked) if word.lower in _ACTORS)
        stems = content_stems(question)
        is_fronted = bool(names) and question[: names[0].start].lower().strip() in COPULAS
        name = content_stems(base_title(names[0].text)) if is_fronted else frozenset[str]()
        kind = _kind(question.rstrip(" ?.!"), names[0].end) if is_fronted else None
        named = stems - _PERMITTED - acts
        return cls(question, name, kind, named, (acts & stems) - _PERMITTED) if len(named) >= _FEWEST else None

    def verdict(self, said: Said) -> str:
        """`yes` or `no` where a statement says so, else nothing. Code says nothing."""
        if said.block is not None and said.block.kind is BlockKind.CODE:
            return ""
        if self.kind:
            return "yes" if _says_of(self.kind, self.name, said) else ""
        own, seen = content_stems(said.text), content_stems(said.seen)
        if _met(self.named, own | seen) != self.named or len(_met(self.named, own)) + bool(self.name) < _FEWEST:
            return ""
        rest = self.named - self.name  # what is asked of a name has to be said of it, not of its owner or above it
        if self.name and (_met(rest, own) != rest or _owned(said.text) & KIN - self.named):
            return ""
        if not said.text.rstrip().endswith("?") and _is_denied(said.text, self.named):
            return "no"
        return "yes" if not takes_back(said.text, self.text) and _met(self.acts, own) == self.acts else ""


def takes_back(text: str, question: str) -> bool:
    """Whether a statement says less than the question asks, the contrary, or only asks itself."""
    asked = {word.lower for word in words(question)}
    hedged = any(word.text in _TAKEN_BACK - asked for word in words(text))  # as written: May is a month
    return text.rstrip().endswith("?") or hedged or _is_denied(text, content_stems(question))


def _met(asked: frozenset[str], said: frozenset[str]) -> frozenset[str]:
    return frozenset(stem for stem in asked if stem in said or RELATED.get(stem, frozenset()) & said)


def _is_denied(text: str, named: frozenset[str]) -> bool:
    """Whether a word that denies comes before a word of the question in its clause."""
    return any(_denied(words(clause), named) for clause in _CLAUSE.split(text))


def _denied(clause: Sequence[Word], named: frozenset[str]) -> bool:
    at = next((at for at, word in enumerate(clause) if _denies(word)), None)
    return at is not None and any(word.stem in named for word in clause[at + 1 :])


def _denies(word: Word) -> bool:
    return word.lower in _DENYING or word.lower.replace("’", "'").endswith("n't")


def _kind(question: str, name_end: int) -> re.Pattern[str] | None:
    """What says it of a subject in `Is NAME a KIND?`: `was a Norwegian painter`, but neither `a painter's wife` nor `the son of
    one`; None for a question of another form.
    """
    match = _KIND.fullmatch(question, name_end)
    if match is None or any(word.lower in FUNCTION_WORDS for word in words(match["kind"])):
        return None
    noun = re.escape(re.sub("(?<!s)s$", "", match["kind"]))
    return re.compile(
        rf"(?:is|was|are|were) (?:also )?an? (?:(?:{_GROUPS}) of )?(?P<described>(?:[\w-]+ ){{0,3}}?){noun}s?(?![\w-]|['’]s)",
        re.IGNORECASE,
    )


def _says_of(kind: re.Pattern[str], name: frozenset[str], said: Said) -> bool:
    """Whether a statement says it of what is called `name`: as its page's first one or after a pronoun, else by its name."""
    text = _PARENTHESIS.sub("", said.text)
    match = kind.search(text)
    if match is None or any(word.lower in FUNCTION_WORDS for word in words(match["described"])):
        return False
    first = said == statements_of(said.unit)[0] or words(text)[0].lower in _ACTORS
    by_title = name == content_stems(base_title(said.unit.title)) and first and not _owned(said.text)
    return by_title or content_stems(text[: match.start()]) == name


def _owned(text: str) -> frozenset[str]:
    """What a statement is about in place of its owner."""
    verb = next((word.start for word in words(text) if word.lower in COPULAS), len(text))
    found = _OWNED.finditer(squeeze(_PARENTHESIS.sub("", text[:verb])))
    return content_stems(" ".join(match["owned"] or match["kin"] for match in found))


def settled(question: Question, evidence: EvidencePages) -> tuple[str, tuple[Span, ...], float] | None:
    """The verdict on a question among several, with what says so and the belief in it; None where nothing does."""
    found = claim(question.text, [page.unit for page in evidence.pages], None)
    return (found.answer, found.steps[0].support, found.confidence) if found.answer else None
