"""Questions that offer their answers, `Which is X, A or B?`, decided by which side's sentences say more of the rest.

For choices that no ordering settles (those are comparisons); `A or B` must be two names. Says nothing where both sides say as
much.
"""

from __future__ import annotations

from itertools import pairwise

from hoptrail.language.offline.evidence import Line
from hoptrail.language.offline.paths import Paths
from hoptrail.language.offline.reading import Found
from hoptrail.language.offline.told import Name
from hoptrail.text.mentions import Shape, find_mentions
from hoptrail.text.normal_forms import squeeze
from hoptrail.text.words import content_stems

_PAGE = 0.3
"""What all of a side's page says counts this much of what its best sentence says."""


def find_sides(question: str) -> tuple[str, str] | None:
    """The two names between which a question lets choose."""
    found = [
        mention for mention in find_mentions(question, question=True) if mention.shape in {Shape.NAME, Shape.QUOTED}
    ]
    for one, other in pairwise(found):
        between = question[one.end : other.start].lower().replace("the ", "").strip(' ,".')
        if between == "or":
            return one.text, other.text
    return None


def choose(question: str, paths: Paths) -> Found | None:
    """The side of which the evidence says more that is asked; its confidence is the difference, between 0 and 1."""
    sides = find_sides(question)
    if sides is None:
        return None
    names = content_stems(sides[0]), content_stems(sides[1])
    first, second = (_said(name, names[0] | names[1], paths) for name in names)
    if first is None or second is None or first[0] == second[0]:
        return None
    at = 0 if first[0] > second[0] else 1
    best = (first, second)[at]
    support = dict.fromkeys((*best[1].support, *(second, first)[at][1].support))
    return Found(squeeze(sides[at]), tuple(support), round(min(1.0, abs(first[0] - second[0])), 4))


def _said(name: Name, named: Name, paths: Paths) -> tuple[float, Line] | None:
    """How much of the rest is said of `name`, and its best sentence; None when the evidence does not know the name."""
    terms = paths.terms
    rest = terms.full & ~terms.mask(named)
    about = [
        (page, line) for page, line in paths.evidence.lines if name and (name <= page.title_stems or name <= line.stems)
    ]
    if not about:
        return None
    _, line = max(about, key=lambda one: (terms.part(terms.mask(one[1].stems), rest), -one[1].place))
    whole = terms.mask(frozenset[str]().union(*(line.stems for _, line in about)))
    return terms.part(terms.mask(line.stems), rest) + _PAGE * terms.part(whole, rest), line
