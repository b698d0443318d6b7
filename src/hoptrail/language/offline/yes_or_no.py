"""Yes where the rules are exact: one sentence says all that is asked, or what somebody is (`Was Ada Brun a painter?`).

That no sentence says it makes no `no`: what is asked may be true all the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hoptrail.language.offline.claims import takes_back
from hoptrail.language.offline.evidence import EvidencePages, Line, Page
from hoptrail.text.lexicon import AUXILIARIES, FUNCTION_WORDS, KIN_WORDS, NAMED_AFTER, word_set
from hoptrail.text.normal_forms import base_title, squeeze
from hoptrail.text.questions import Question
from hoptrail.text.words import KIN, RELATED, content_stems, words
from hoptrail.types import Span

_ASSERTED = 0.7
"""Raw belief in a yes."""
_WHOLE = 0.9
"""How much of a name has to stand in a sentence or its title."""

_TURNING = word_set("before after than or not never")
_KIND = re.compile(r",? (?:an?|one of the) (?:(?:type|kind|sort)s? of (?:an? )?)?(?P<kind>[\w -]+)", re.IGNORECASE)
_SUBJECTS = word_set("he she it they")
_GROUPS = "genus|species|family|breed|variety|type|kind|sort|form|style|class|group"
"""What is a group of something is that: `a genus of shrubs`."""
_PARENTHESIS = re.compile(r" ?\([^()]*\)")
_OWNED = re.compile(
    rf"(?:['’]s|\b(?:his|her|its|their)) (?P<owned>[a-z]+(?: [a-z]+){{0,2}})"
    rf"|^(?:the )?(?:[a-z]+ )?(?P<kin>{'|'.join(sorted(KIN_WORDS))}) of\b",
    re.IGNORECASE,
)
"""What a sentence is about in place of its owner: `brother` in `Her brother Karl was ...`."""


def _turned(question: Question) -> bool:
    """Whether a question orders, lets choose or denies: a sentence that says all its words may then say the contrary."""
    named = [(mention.start, mention.end) for mention in question.anchors]
    free = [word for word in words(question.text) if not any(start <= word.start < end for start, end in named)]
    turning = [at for at, word in enumerate(free) if word.lower in _TURNING]
    return any(free[at].lower != "after" or free[at - 1].lower not in NAMED_AFTER for at in turning)


def settled(question: Question, evidence: EvidencePages) -> tuple[str, tuple[Span, ...], float] | None:
    """`yes` with the sentence that says so and the belief in it; None where no sentence does."""
    anchors = [_anchor_stems(anchor.text) for anchor in question.anchors]
    if not anchors or _turned(question):
        return None
    if kind := _kind_asked(question):
        pattern = _saying(kind)
        kinds = (line for page, line in evidence.lines if _says_of(pattern, anchors[0], page, line))
        return next((("yes", line.support, _ASSERTED) for line in kinds), None)
    asked = question.relations.union(*anchors[1:])
    for page, line in evidence.lines:
        said = bool(asked) and all((RELATED.get(part, frozenset()) | {part}) & line.stems for part in asked)
        plainly = said and not _owned(line) & KIN - asked and not takes_back(line.text, question.text)
        if plainly and _anchored(anchors[:1], page, line) >= _WHOLE:
            return "yes", line.support, _ASSERTED
    return None


def _kind_asked(question: Question) -> str:
    """KIND in `Is NAME a KIND?`; empty in a question of another form."""
    name, text = next(iter(question.anchors), None), question.text.rstrip(" ?.!")
    if name is None or text[: name.start].lower().strip() not in {"is", "was", "are", "were"}:
        return ""
    match = _KIND.fullmatch(text, name.end)
    kind = match["kind"] if match else ""
    return "" if any(word.lower in FUNCTION_WORDS for word in words(kind)) else kind


def _saying(kind: str) -> re.Pattern[str]:
    """A predicate that says it of its subject: `was a Norwegian painter`, but neither `a painter's wife` nor `the son of one`."""
    noun = re.escape(re.sub("(?<!s)s$", "", kind))
    return re.compile(
        rf"(?:is|was|are|were) (?:also )?an? (?:(?:{_GROUPS}) of )?(?P<described>(?:[\w-]+ ){{0,3}}?){noun}s?(?![\w-]|['’]s)",
        re.IGNORECASE,
    )


def _says_of(said: re.Pattern[str], name: frozenset[str], page: Page, line: Line) -> bool:
    """Whether a line says it of what is called `name`: as its page's first line or after a pronoun there, else by its name."""
    text = _PARENTHESIS.sub("", line.text)
    match = said.search(text)
    if match is None or any(word.lower in FUNCTION_WORDS for word in words(match["described"])):
        return False
    opens = bool(line.words) and line.words[0].lower in _SUBJECTS
    by_title = name == page.title_stems and (line.place == 0 or opens) and not _owned(line)
    return by_title or content_stems(text[: match.start()]) == name


def _owned(line: Line) -> frozenset[str]:
    first = next((word.start for word in line.words if word.lower in AUXILIARIES), len(line.text))
    found = _OWNED.finditer(squeeze(_PARENTHESIS.sub("", line.text[:first])))
    return content_stems(" ".join(match["owned"] or match["kin"] for match in found))


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
