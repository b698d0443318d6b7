"""Nested questions taken apart from the inside: `the X of the Y that Z` becomes a chain of plain questions.

Three kinds of nested description are resolved, innermost first: a possessive (`Marie's father`), a noun with `of` and a
name (`the designer of the Candlerock Lighthouse`), and a noun with a clause (`the town where #1 was born`). Each becomes
`Who is ...?` or `What is ...?` and leaves its number, `#1`, in the rest. Anything else stays one question. Comparisons are
split in `comparing`. (systems.md names this chain ChainRAG 2.6 and HiRAG 3.6: the innermost noun phrase first.)
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hoptrail.language.offline.entities import Shape, find_mentions
from hoptrail.language.offline.lexicon import (
    ARTICLES,
    AUXILIARIES,
    COPULAS,
    FUNCTION_WORDS,
    KINSHIP,
    ORGANISATION_NOUNS,
    PREPOSITIONS,
    PRONOUNS,
    QUESTION_WORDS,
    word_set,
)
from hoptrail.language.offline.questions import Wanted, is_person_noun, type_of_noun
from hoptrail.language.offline.text import Word, squeeze, words

_CLAUSE_WORDS = word_set("who that which where whose whom when")
_UNRELATIONAL = word_set(
    "part name number kind type end beginning start one some member members most all side lot group version example "
    "form each death birth abdication reign era history end percentage half rest top bottom name names type types "
    "sort use meaning list result because out"
)
_IRREGULAR_PARTICIPLES = word_set(
    "born built made held found founded known set sung won written begun sold lost left led buried shot fought "
    "spoken taught grown brought sent given taken drawn struck named"
)
_REFERENCE = re.compile(r"#\d{1,3}")
_POSSESSIVE_ASKED = re.compile(
    r"^(who|what) (?:is|was) (?!the )([^?]{2,80})['’]s ([a-z-]+(?: [a-z-]+)?)\?$", re.IGNORECASE
)
_WHOLE = re.compile(r"(?:who|what|which|where|when) (?:is|was|are|were)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Description:
    """A stretch of the question that describes its thing without naming it, and the question that finds it."""

    start: int
    end: int
    question: str


def chain(question: str, most: int, offset: int = 0) -> tuple[str, ...]:
    """The sub-questions of `question`, the last being what is left of it; references count from `offset` + 1.

    At most `most` questions come back; a question nested deeper keeps its outer part whole.
    """
    rest = _POSSESSIVE_ASKED.sub(r"\1 is the \3 of \2?", squeeze(question))
    steps: list[str] = []
    while len(steps) < most - 1:
        found = _innermost(rest)
        if found is None:
            break
        steps.append(found.question)
        rest = f"{rest[: found.start]}#{offset + len(steps)}{rest[found.end :]}"
    return _with_kin((*steps, rest), most, offset)


def _innermost(question: str) -> _Description | None:
    mentions = tuple(
        mention for mention in find_mentions(question, question=True) if mention.shape in {Shape.NAME, Shape.QUOTED}
    )
    free = [
        word for word in words(question) if not any(mention.start <= word.start < mention.end for mention in mentions)
    ]
    named = [
        (mention.start - quoted, mention.end + quoted)
        for mention in mentions
        for quoted in (mention.shape is Shape.QUOTED and mention.start > 0,)
    ]
    anchors = sorted(named + [match.span() for match in _REFERENCE.finditer(question)])
    free = [word for word in free if not word.text.startswith("#")]
    candidates = (_possessive(question, free, anchors), _relation(question, free, anchors), _clause(question, free))
    for found in candidates:
        if found is not None and not _is_whole(question, found) and not _asks(question[found.start : found.end]):
            return found
    return None


def _is_whole(question: str, found: _Description) -> bool:
    """Whether nothing would be left to ask: `Who is the father of #1?`."""
    before = question[: found.start].strip()
    after = question[found.end :].strip(" ?.!")
    return not after and (not before or _WHOLE.match(before) is not None)


def _asks(description: str) -> bool:
    """Whether the word that asks stands inside: `the leader of which revolution`."""
    return any(word.lower in {"what", "which"} for word in words(description))


def _possessive(question: str, free: list[Word], anchors: list[tuple[int, int]]) -> _Description | None:
    """`NAME's noun` as `the noun of NAME`."""
    for start, end in anchors:
        if question[end : end + 2].lower() not in {"'s", "’s"}:
            continue
        group = [word for word in free if word.start >= end + 2 and word.lower != "s"]
        taken = _noun_group(question, group, end + 3)
        found = _describe(question, start, taken[-1].end, taken, question[start:end]) if taken else None
        if found is not None and not _is_whole(question, found):
            return found
    return None


def _noun_group(question: str, group: list[Word], start: int) -> list[Word]:
    """The words from `start` that can be one noun with what stands before it: none of them a function word or a verb form."""
    taken: list[Word] = []
    for word in group:
        adjacent = word.start - (taken[-1].end if taken else start) <= 1
        if not adjacent or word.lower in FUNCTION_WORDS or len(taken) == 3 or _looks_verbal(word, taken):
            break
        taken.append(word)
        if is_person_noun(word.text):
            break
    # the last word of a fronted question is its verb: `Where did X's capital fall?`
    if len(taken) > 1 and _fronted(question, start) and not question[taken[-1].end :].strip(" ?"):
        taken.pop()
    return taken


def _looks_verbal(word: Word, taken: list[Word]) -> bool:
    return bool(taken) and (word.lower.endswith(("ed", "ing")) or word.lower in _IRREGULAR_PARTICIPLES)


def _fronted(question: str, position: int) -> bool:
    return any(
        word.lower in {"did", "does", "do", "was", "were", "is", "are"} for word in words(question[:position])[:5]
    )


def _describe(question: str, start: int, end: int, noun: list[Word], of: str) -> _Description | None:
    head = noun[-1]
    phrase = question[noun[0].start : head.end]
    if head.lower in _UNRELATIONAL:
        return None
    asker = "Who" if is_person_noun(head.text) else "What"
    return _Description(start, end, f"{asker} is the {phrase} of {of}?")


def _relation(question: str, free: list[Word], anchors: list[tuple[int, int]]) -> _Description | None:
    """`the noun of (the kind) NAME`, the last one first, since it is the innermost."""
    for start, end in reversed(anchors):
        before = [word for word in free if word.end <= start]
        kind = _words_back(question, before, start, until={"of"})
        if kind is None:
            continue
        position = len(before) - kind - 1
        noun = _words_back(question, before[:position], before[position].start, until=ARTICLES)
        count = noun if noun is not None else _bare_noun(before[:position], before[position].start)
        if not count:
            continue
        group = before[position - count : position]
        article = noun is not None and position - count - 1 >= 0
        left = before[position - count - 1].start if article else group[0].start
        if _in_clause(question, free, left) and not _is_role(group[-1].text):
            continue
        of = question[before[position].end : end].strip()
        found = _describe(question, left, end, group, of)
        if found is not None and not _is_whole(question, found) and question[end : end + 2] not in {"'s", "’s"}:
            return found
    return None


def _in_clause(question: str, free: list[Word], position: int) -> bool:
    """Whether a relative clause is open at `position`: there `the lens of X` belongs to what the clause says."""
    return any(word.lower in _CLAUSE_WORDS and question[: word.start].strip() for word in free if word.start < position)


def _is_role(noun: str) -> bool:
    """Whether a noun stands for something that has a name of its own: a person, a place, an organisation."""
    return type_of_noun(noun) is not Wanted.THING or noun.lower() in ORGANISATION_NOUNS


def _words_back(question: str, before: list[Word], end: int, until: set[str] | frozenset[str]) -> int | None:
    """How many plain words stand directly before `end`, back to a word of `until`; None when something else stands there."""
    count = 0
    for word in reversed(before):
        if end - word.end > 2 or count > 3:
            return None
        if word.lower in until:
            return count
        if word.lower in FUNCTION_WORDS - ARTICLES - {"of"} or (word.lower == "of" and not _of_birth(question, word)):
            return None
        end = word.start
        count += word.lower not in ARTICLES or "of" not in until
        if word.lower in ARTICLES and "of" in until:
            count += 1
    return None


def _of_birth(question: str, word: Word) -> bool:
    """`place of birth`, `date of death`, `head of state`: an `of` that belongs to the noun."""
    before = question[: word.start].rstrip().rpartition(" ")[2].lower()
    return before in {"place", "date", "cause", "head", "country", "year"}


def _bare_noun(before: list[Word], end: int) -> int:
    """1 when a noun for people stands before `end` without an article: `director of film X`."""
    if before and end - before[-1].end <= 1 and is_person_noun(before[-1].text):
        return 1
    return 0


def _clause(question: str, free: list[Word]) -> _Description | None:
    """`the noun who/that/where ...`, the last clause first."""
    for at in range(len(free) - 1, 0, -1):
        word = free[at]
        if word.lower not in _CLAUSE_WORDS:
            continue
        start = _noun_start(free, at)
        if start is None:
            continue
        end = _clause_end(question, free, at)
        head = free[_head(free, at)]
        if end <= word.end:
            continue
        asker = "Who" if is_person_noun(head.text) else "What"
        phrase = question[start].lower() + question[start + 1 : end]
        found = _Description(start, end, f"{asker} is {phrase}?")
        if not _is_whole(question, found):
            return found
    return None


def _head(free: list[Word], at: int) -> int:
    """The place of the noun before a clause word; a preposition may stand between (`people from whom`)."""
    return at - 2 if free[at - 1].lower in PREPOSITIONS and at >= 2 else at - 1


def _noun_start(free: list[Word], at: int) -> int | None:
    """Where the described noun starts (at its article), or None when no article leads it or it is itself asked for."""
    head = _head(free, at)
    if head < 0 or free[head].lower in FUNCTION_WORDS or not free[head].text[0].isalpha():
        return None
    for back in range(1, 5):
        place = head - back
        if place < 0 or free[place + 1].start - free[place].end > 1:
            return None
        lower = free[place].lower
        if lower in ARTICLES:
            return free[place].start
        if lower in PRONOUNS | QUESTION_WORDS | AUXILIARIES:
            return None
        if lower in PREPOSITIONS:
            return free[head].start
    return None


def _clause_end(question: str, free: list[Word], at: int) -> int:
    """The end of the clause: of the question, less the question's own predicate where that comes last."""
    inside = [word for word in free if word.start > free[at].start]
    for word in inside:
        if word.lower in {"what", "which"}:
            clause = [other for other in inside if other.end <= word.start]
            while clause and clause[-1].lower in PREPOSITIONS | AUXILIARIES:
                clause.pop()
            return clause[-1].end if clause else free[at].end
    tail = _outer_verb(free, at, inside) or _tail_verb(question, free, inside)
    return len(question[:tail].rstrip(" ,?.!"))


def _outer_verb(free: list[Word], at: int, inside: list[Word]) -> int | None:
    """Where the verb of an enclosing clause starts: `the town where the man who won X was born`."""
    before = [word.lower for word in free[: _head(free, at)]]
    while before and before[-1] not in ARTICLES | _CLAUSE_WORDS:
        before.pop()
    if len(before) < 2 or before[-2] not in _CLAUSE_WORDS:
        return None
    verbs = [word.start for word in inside[1:-1] if word.lower in AUXILIARIES]
    return verbs[-1] if verbs else None


def _tail_verb(question: str, free: list[Word], inside: list[Word]) -> int:
    """Where the question's own verb starts, when it comes last: `When was the firm that made X founded?`; else the end.

    That takes an auxiliary with an article after it, and a last word that the clause does not need itself.
    """
    end = len(question.rstrip(" ?.!"))
    auxiliary = next((at for at, word in enumerate(free[:6]) if word.lower in AUXILIARIES), None)
    if auxiliary is None or auxiliary + 1 >= len(free) or free[auxiliary + 1].lower not in ARTICLES or not inside:
        return end
    last = len(inside) - 1
    if inside[last].lower in PREPOSITIONS and last > 0:
        last -= 1
    word = inside[last]
    before = question[: word.start].rsplit(maxsplit=1)[-1].lower()
    if inside[-1].end != end or before in COPULAS | ARTICLES | PREPOSITIONS | _CLAUSE_WORDS:
        return end
    participle = word.lower.endswith("ed") or word.lower in _IRREGULAR_PARTICIPLES
    return word.start if free[auxiliary].lower in {"did", "do", "does"} or participle else end


_KIN = re.compile(r"(?P<ask>who) (?:is|was) the (?P<kin>[a-z-]+(?: [a-z]+)?) of (?P<of>.+?)\?", re.IGNORECASE)


def _with_kin(questions: tuple[str, ...], most: int, offset: int) -> tuple[str, ...]:
    """Kin two steps away asked in two steps; later references move up accordingly."""
    result: list[str] = []
    moved: dict[int, int] = {}
    for number, question in enumerate(questions, offset + 1):
        current = _REFERENCE.sub(
            lambda match: f"#{moved.get(int(match.group()[1:]), int(match.group()[1:]))}", question
        )
        match = _KIN.fullmatch(current)
        kin = KINSHIP.get(match["kin"].lower()) if match else None
        if match and kin and len(questions) + len(result) - (number - offset - 1) < most:
            result.append(f"Who is the {kin[0]} of {match['of']}?")
            current = f"Who is the {kin[1]} of #{offset + len(result)}?"
        result.append(current)
        moved[number] = offset + len(result)
    return tuple(result)
