"""What only words of its own can tell: who is kin to whom, and when somebody was born, died, founded or married.

`The brother of Ada` stands in no sentence without `brother` or `sibling`, whatever names it holds. So a sentence that lacks the
word, or says it of somebody else, is no place for the answer. Other relations are paraphrased too freely for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hoptrail.language.offline.evidence import Line, Page
from hoptrail.language.offline.questions import Wanted, analyse
from hoptrail.text.lexicon import DATED_EVENTS
from hoptrail.text.mentions import Shape, find_mentions
from hoptrail.text.words import KIN, RELATED, content_stems, stem

Name = frozenset[str]
"""A name by the stems of its words, so that `The Foss` and `Foss` are one."""

_SUBJECTS = frozenset({"he", "she", "it", "they", "his", "her", "its", "their"})
_DATED = frozenset(stem(word) for word in DATED_EVENTS)


@dataclass(frozen=True, slots=True)
class Told:
    """What the last hop asks that only words of its own can tell: kinship, and dates of birth, death, founding and marriage.

    `subject` are the words of the names it asks about, empty where those are an earlier answer; `given` those of all names
    in the question.
    """

    relations: Name
    subject: Name
    given: Name
    kin: bool

    @classmethod
    def of(cls, hops: Sequence[str]) -> Told:
        asked = analyse(hops[-1])
        if asked is None:
            return cls(frozenset(), frozenset(), frozenset(), kin=False)
        kin = asked.relations & KIN
        dated = asked.relations & _DATED if asked.wanted in {Wanted.DATE, Wanted.YEAR} else frozenset[str]()
        given = frozenset[str]().union(*(_named_in(hop) for hop in hops))
        return cls(kin or dated, _named_in(hops[-1]), given, bool(kin))

    def untold(self, page: Page, line: Line, reached: Name) -> bool:
        """Whether something of the kind is asked, and the sentence does not tell it of the subject."""
        subject = self.subject or reached
        return bool(self.relations) and (not self._told(line) or bool(subject and not subject & _about(page, line)))

    def ruled_out(self, page: Page, line: Line, reached: Name) -> bool:
        """Whether the sentence cannot tell it: where it lacks the words, or tells it of what the question started from.

        A subject that was only concluded may be wrong, and a date be told without its word: then nothing is ruled out.
        """
        if self.subject or self.kin:
            return self.untold(page, line, self.subject)
        elsewhere = not reached and self._told(line) and page.title_stems <= self.given
        return bool(self.relations) and elsewhere and opens_with_title(line, page.title_stems)

    def _told(self, line: Line) -> bool:
        said = line.stems | frozenset(line.lives.values())
        return any((RELATED.get(one, frozenset()) | {one}) & said for one in self.relations)


def _named_in(hop: str) -> Name:
    names = (
        content_stems(one.text) for one in find_mentions(hop, question=True) if one.shape in {Shape.NAME, Shape.QUOTED}
    )
    return frozenset[str]().union(*names)


def _about(page: Page, line: Line) -> Name:
    return page.title_stems | line.stems


def opens_with_title(line: Line, title: Name) -> bool:
    """Whether the line's subject is the page's title, by name or pronoun."""
    opening = line.words[:4]
    return bool(opening) and (opening[0].lower in _SUBJECTS or any(word.stem in title for word in opening))
