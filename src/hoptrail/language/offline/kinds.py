"""Whether something is of a kind (`Is Ada Brun a painter?`), by what sentences say that it is.

What a sentence says somebody else is does not count: `Her brother was the painter Karl Holm` makes only him one. Kinds are
words here: that a painter is an artist is not known, so nothing is ever said not to be of a broad kind.
"""

from __future__ import annotations

import re

from hoptrail.language.offline.evidence import EvidencePages, Line, Page
from hoptrail.language.offline.questions import Question
from hoptrail.text.lexicon import (
    ARTICLES,
    AUXILIARIES,
    COPULAS,
    FUNCTION_WORDS,
    KIN_WORDS,
    PREPOSITIONS,
    PRONOUNS,
    QUESTION_WORDS,
    word_set,
)
from hoptrail.text.normal_forms import squeeze
from hoptrail.text.values import country_of
from hoptrail.text.words import Word, content_stems, words

_LEAD = re.compile(r"(?:is|was|are|were) (?:the (?:[a-z]+ )?)?", re.IGNORECASE)
_KIND = re.compile(r",? (?:an?|one of the) (?:(?:type|kind|sort)s? of (?:an? )?)?(?P<kind>.+)")
_MOST_WORDS = 5
"""Of a kind."""
_CLASS_WORDS = 14
"""Looked at of what a sentence says something is."""
_GROUPS = word_set("genus species family breed variety type kind sort form style class chain group series one")
"""What is a group of something is that: `a genus of shrubs`, `one of the towns`."""
_CLASS_ENDS = (PREPOSITIONS | QUESTION_WORDS | PRONOUNS | word_set("but not")) - {"of"}
_SUBJECTS = word_set("he she it they")
_PARENTHESIS = re.compile(r"\([^()]*\)")
_OWNED = re.compile(
    r"(?:['’]s|\b(?:his|her|its|their)) (?P<owned>[a-z]+(?: [a-z]+){0,2})"
    rf"|^(?:the )?(?:[a-z]+ )?(?P<kin>{'|'.join(sorted(KIN_WORDS))}) of\b",
    re.IGNORECASE,
)


def kind_asked(question: Question) -> tuple[Word, ...]:
    """The words of KIND in `Is NAME a KIND?`; none in a question of another form."""
    name = question.anchors[0] if question.anchors else None
    text = question.text.rstrip(" ?.!")
    match = _KIND.fullmatch(text, name.end) if name and _LEAD.fullmatch(text, 0, name.start) else None
    kind = words(match["kind"]) if match else ()
    return kind if len(kind) <= _MOST_WORDS and not any(word.lower in FUNCTION_WORDS for word in kind) else ()


def of_kind(kind: tuple[Word, ...], name: frozenset[str], evidence: EvidencePages) -> tuple[bool, Line] | None:
    """Whether what is called `name` (by stems) is of the kind, and the sentence that says so.

    It is where one sentence says so in these words. It is not where a page opens by saying that it is something else, or its
    own page says so of it by name, and the page has no word of the kind for it. None where neither is so.
    """
    otherwise = None
    for page, line in evidence.lines:
        said = _said_to_be(page, line, name)
        if said and _forms(kind) <= _forms(said):
            return True, line
        defines = line.place == 0 or (name == page.title_stems and not _opens_with_pronoun(line))
        if otherwise is None and said and defines and _excludes(said, kind, page):
            otherwise = line
    return (False, otherwise) if otherwise else None


def owned_by_subject(line: Line) -> frozenset[str]:
    """Stems of what a sentence is about in place of its owner: `brother` in `Her brother Karl was ...`."""
    return content_stems(" ".join(match["owned"] or match["kin"] for match in _OWNED.finditer(_clause(line)[0])))


def _clause(line: Line) -> tuple[str, tuple[Word, ...]]:
    """A sentence up to its first auxiliary, without what stands in parentheses, and the words from there on."""
    text = squeeze(_PARENTHESIS.sub("", line.text))
    first = next((word for word in words(text) if word.lower in AUXILIARIES), None)
    return (text[: first.start], words(text[first.start :])) if first else (text, ())


def _said_to_be(page: Page, line: Line, name: frozenset[str]) -> tuple[Word, ...]:
    """From its article on, what `line` says that `name` is: `a Norwegian painter`; empty where it says nothing of the sort.

    The first sentence of a page is about its title, whatever it calls it, and a pronoun stands for that; elsewhere it has to
    be called by its whole name.
    """
    if not name <= page.title_stems | line.stems:
        return ()
    subject, predicate = _clause(line)
    by_title = (
        name == page.title_stems and (line.place == 0 or _opens_with_pronoun(line)) and not owned_by_subject(line)
    )
    if not (by_title or content_stems(subject) == name) or not predicate or predicate[0].lower not in COPULAS:
        return ()
    said = tuple(word for word in predicate[1:] if word.lower != "also")[:_CLASS_WORDS]
    if not said or said[0].lower not in ARTICLES | {"one"}:
        return ()
    end = next((at for at in range(1, len(said)) if _ends_class(said[at - 1 : at + 1])), len(said))
    owners = [at for at in range(end) if said[at].lower == "s"]
    return (said[0], *said[owners[-1] + 1 if owners else 1 : end])  # `a painter's wife` is a wife


def _ends_class(pair: tuple[Word, ...]) -> bool:
    """Whether the second of two words no longer says what something is."""
    before, word = (one.lower for one in pair)
    return before not in _GROUPS if word == "of" else word in _CLASS_ENDS


def _opens_with_pronoun(line: Line) -> bool:
    return bool(line.words) and line.words[0].lower in _SUBJECTS


def _excludes(said: tuple[Word, ...], kind: tuple[Word, ...], page: Page) -> bool:
    """Whether being `said` leaves no room for the kind: another noun, or the same of another country."""
    no_kind = said[0].lower == "the"  # `the winner of a prize`
    if no_kind or _singular(kind[-1].lower) in _BROAD:
        return False
    asked, told = ({country_of(word.text) for word in group} - {None} for group in (kind, said))
    own = (line.stems for line in page.lines if not owned_by_subject(line))
    return kind[-1].stem not in frozenset[str]().union(*own) or (bool(asked and told) and not asked & told)


def _forms(group: tuple[Word, ...]) -> set[str]:
    """Nouns whether singular or plural; not their families, in which an actor is a player."""
    return {_singular(part) for word in group for part in word.lower.split("-")}


def _singular(word: str) -> str:
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return (word[:-1] if word.endswith("s") and not word.endswith("ss") else word).removesuffix("e")


_BROAD = frozenset(
    _singular(word)
    for word in word_set(
        "person people human man woman boy girl citizen native celebrity artist performer entertainer musician writer author "
        "scholar scientist academic athlete sportsman sportswoman player professional worker politician official leader noble "
        "royal creature animal plant organism place location area region settlement building structure work publication company "
        "business organisation organization institution group team event object product thing"
    )
)
"""Kinds that hold many others, in the singular: a page that opens with one of those says nothing against them."""
