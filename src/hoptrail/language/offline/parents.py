"""Which of two parents a statement names: `the son of Jon Lunt, a farmer, and his wife Ada Berg` names the father first.

Reads `son of A and B`, `born to A and B` and `his mother is B, daughter of C`. Where only one parent is named, without the word
`father` or `mother`, it says nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from hoptrail.language.offline.reader_input import Found
from hoptrail.text.lexicon import DEMONYMS, PREPOSITIONS
from hoptrail.text.mentions import Shape, find_mentions
from hoptrail.text.questions import Question, Wanted
from hoptrail.text.words import stem, words

_BOTH = re.compile(r"\b(?:(?:son|daughter) of|born to)\s+(?P<parents>[^;()]+)")
_ENDS = re.compile(
    r"\.(?:\s+(?=[A-Z][a-z]+ [a-z])|\s*$)"
    r"|,? (?:and )?(?:the |an? )?(?:eldest |older |younger )?(?:grand)?(?:son|daughter|brother|sister|widow|nephew|niece)s? of\b"
    r"|, (?:and|who|whose|where) (?!his\b|her\b)"
)
"""Ends the parents' names: the next sentence, the next relative, another clause."""
_AND = re.compile(r",? and ")
_CHILD_OF = re.compile(r"^(?:(?:his|her|their|whose) (?:father|mother) (?:is|was)|(?:the )?(?:son|daughter|child) of) ")
"""Comes before the name in an answer to `who`."""
_WOMAN = re.compile(r"(?:the )?(?:Queen|Princess|Lady|Mrs|Empress|Duchess|Countess)\b")
_SAID = r"\b{kin}(?:,? (?:is|was|named|called)|,|:)? (?=[A-Z])"


def parent_found(found: Found, start: int, end: int, question: Question) -> Found | None:
    """The answer at these offsets of a page to who somebody's father or mother is, as its statement tells the two apart. None if
    it is another relative; other answers as they are.
    """
    if question.wanted is not Wanted.PERSON or found.in_title:
        return found
    found = replace(found, text=_CHILD_OF.sub("", found.text))
    kin = next((kin for kin in ("father", "mother") if stem(kin) in question.relations), "")
    child = next((anchor.text for anchor in question.anchors), "")
    parent = named_parent(kin, child, found.part.said.alone) if kin and child else None
    if parent is None:
        return found
    name = parent.read(found.text, start - found.part.start, end - found.part.start)
    return replace(found, text=name) if name else None


@dataclass(frozen=True, slots=True)
class Parent:
    """The name of the parent asked for, and offsets in the statement: of what is said of this one, and of all relatives."""

    name: str
    own: tuple[int, int]
    named: tuple[int, int]

    def read(self, answer: str, start: int, end: int) -> str:
        """An answer at these offsets of the statement, as it may stand: the parent's name for what is said of this parent,
        nothing for another relative.
        """
        first, last = self.own
        if end <= self.named[0] or start >= self.named[1]:
            return answer
        if start < last and end > first:
            return answer if self.name in answer and end <= last else self.name
        return ""


def named_parent(kin: str, child: str, statement: str) -> Parent | None:
    """The `father` or `mother` that a statement names beside the other parent, or right after that word.

    Where the `child` is one of two parents itself, none of those named is the one asked for.
    """
    if said := re.search(_SAID.format(kin=kin), statement):
        ends = _ENDS.search(statement, said.end())
        own = said.end(), ends.start() if ends else len(statement)
        name = _first_name(statement[slice(*own)])
        return Parent(name, own, (said.end(), len(statement))) if name and name.lower() not in DEMONYMS else None
    both = _BOTH.search(statement)
    if both is None:
        return None
    start, ends = both.start("parents"), _ENDS.search(statement, both.start("parents"))
    end = min(both.end("parents"), ends.start() if ends else len(statement))
    joined = list(_AND.finditer(statement, start, end))[-1:]
    sides = [(start, joined[0].start()), (joined[0].end(), end)] if joined else []
    said_of = [statement[slice(*side)] for side in sides]
    names = list(map(_first_name, said_of))
    if not names or not all(names) or any(name.lower() in DEMONYMS for name in names):
        return None
    first, second = said_of
    if " of " in first and " " not in names[1]:
        return None  # one name or office, as in `Minister of Trade and Industry`
    mother_first = bool(_WOMAN.match(first) or second.startswith("her husband "))
    named, at = (start, len(statement)), int((kin == "mother") != mother_first)
    is_parent = re.search(rf"\b{re.escape(child)}\b", statement[start:end])
    return Parent("", (start, start), named) if is_parent else Parent(names[at], sides[at], named)


def _first_name(text: str) -> str:
    """The first name in a text that is no owner's (`Karl's daughter Ada`); empty after a preposition (`and lived in Arden`)."""
    names = (one for one in find_mentions(text) if one.shape is Shape.NAME)
    name = next((one for one in names if not text.startswith(("'s", "’s"), one.end)), None)
    is_placed = name is not None and any(word.text in PREPOSITIONS for word in words(text[: name.start]))
    return "" if name is None or is_placed else name.text
