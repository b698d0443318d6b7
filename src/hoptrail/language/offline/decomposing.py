"""Nested questions taken apart from the inside: `the X of the Y that Z` becomes a chain of plain questions.

Three kinds of nested description are resolved, innermost first: a possessive (`Marie's father`), a noun with `of` and a
name (`the designer of the Candlerock Lighthouse`), and a noun with a clause (`the town where #1 was born`). Each becomes
`Who is ...?` or `What is ...?` and leaves its number, `#1`, in the rest. Anything else stays one question. Comparisons are
split in `comparing`. (systems.md names this chain ChainRAG 2.6 and HiRAG 3.6: the innermost noun phrase first.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hoptrail.language.offline.clauses import Description, describing_clauses, is_relative
from hoptrail.text.lexicon import (
    ARTICLES,
    BASE_VERBS,
    FUNCTION_WORDS,
    IRREGULAR_PASTS,
    KINSHIP,
    ORGANISATION_NOUNS,
    word_set,
)
from hoptrail.text.normal_forms import squeeze
from hoptrail.text.phrases import CLAUSE_WORDS, REFERENCE, named_spans, tokens_of
from hoptrail.text.questions import Wanted, is_person_noun, type_of_noun
from hoptrail.text.words import Word, words

_UNRELATIONAL = word_set(
    "part name number kind type end beginning start one some member members most all side lot group version example "
    "form each death birth abdication reign era history end percentage half rest top bottom name names type types "
    "sort use meaning list result because out life work works collapse field period rest core purpose attempt body launch "
    "arrival abbreviation coast coasts"
)
_POSSESSIVE_ASKED = re.compile(
    r"^(who|what) (?:is|was) (?!the )([^?]{2,80})['’]s ([a-z-]+(?: [a-z-]+)?)\?$", re.IGNORECASE
)
_SHORTENED = re.compile(r"^(who|what)['’]s (?=[a-z#A-Z])", re.IGNORECASE)
_ASKED_NAME = re.compile(r"^(who|what) (?:is|was|are|were) the (?:full |first )?names? of (?=the [a-z])", re.IGNORECASE)
_SAME = re.compile(r"\bthe same (?=[a-z]+ (?:where|that|who|in which)\b)")
_WHILE = re.compile(
    r"(?:when|while|if|before|after|until|unless|because|since) (?:it|he|she|they|we|you|i)\b", re.IGNORECASE
)
"""What says when or why, and describes nothing: `the error of the meter when it was new`."""
_OWNER = re.compile(r"['’]s\b|(?<=[sz])['’](?= )")
_WHOLE = re.compile(r"(?:who|what|which|where|when)(?: (?P<noun>[a-z]+))? (?:is|was|are|were)$", re.IGNORECASE)


def chain(question: str, most: int, offset: int = 0) -> tuple[str, ...]:
    """The sub-questions of `question`, the last being what is left of it; references count from `offset` + 1.

    At most `most` questions come back; a question nested deeper keeps its outer part whole.
    """
    whole = rest = _plainly(squeeze(question))
    steps: list[str] = []
    while len(steps) < most - 1:
        found = _innermost(rest)
        if found is None:
            break
        steps.append(found.question)
        rest = f"{rest[: found.start]}#{offset + len(steps)}{rest[found.end :]}"
    if not all(map(_asks_something, (*steps, rest))):
        return (whole,)
    return _with_kin((*steps, rest), most, offset)


_NOUNS_WITH_VERB = re.compile(
    rf"(?:who|what) (?:is|was) the [a-z]+ (?:{'|'.join(sorted(BASE_VERBS))}) (?:who|that|which) ", re.IGNORECASE
)


def _asks_something(question: str) -> bool:
    """Whether a question reads as English: `In which city does #1?` lost its verb, `What is the person live who speaks?` has one
    too many.
    """
    if _NOUNS_WITH_VERB.match(question):
        return False
    tokens = tokens_of(question)
    at = next((at for at, token in enumerate(tokens) if token.lower in {"do", "does", "did"}), None)
    return at is None or any(token.content and not token.name for token in tokens[at + 1 :])


_EXTRAPOSED = re.compile(
    rf"\b(?P<aux>does|do|did) (?P<noun>the [a-z]+(?: [a-z]+)?) (?P<verb>{'|'.join(sorted(BASE_VERBS))}) "
    r"(?P<clause>(?:who|that|which) [^?]+?)\??$",
    re.IGNORECASE,
)


def _plainly(question: str) -> str:
    """`What's` and `what is the name of` in their shortest form, a possessive with `of`, a clause right behind its noun."""
    question = _EXTRAPOSED.sub(r"\g<aux> \g<noun> \g<clause> \g<verb>?", question)
    question = _SAME.sub("the ", question)
    question = _ASKED_NAME.sub(r"\1 is ", _SHORTENED.sub(r"\1 is ", question))
    return _POSSESSIVE_ASKED.sub(r"\1 is the \3 of \2?", question)


def _innermost(question: str) -> Description | None:
    anchors = named_spans(question)
    free = [
        word
        for word in words(question)
        if not any(start <= word.start < end for start, end in anchors) and not word.text.startswith("#")
    ]
    for found in _descriptions(question, free, anchors):
        if not _is_whole(question, found) and not _asks(found.question):
            return found
    return None


def _descriptions(question: str, free: list[Word], anchors: list[tuple[int, int]]) -> Iterator[Description]:
    for found in (
        _possessive(question, free, anchors),
        _relation(question, free, anchors),
    ):
        if found is not None:
            yield found
    yield from describing_clauses(question)


def _is_whole(question: str, found: Description) -> bool:
    """Whether nothing would be left to ask: `Who is the father of #1?`."""
    before = question[: found.start].strip()
    after = question[found.end :].strip(" ?.!")
    joined = after.startswith(("and ", "or ")) or not after  # `the father of Ada and Karl` is one father
    joined = joined or _WHILE.match(after) is not None
    if not joined or not before:
        return joined
    asked = _WHOLE.match(before)
    if asked is None or asked["noun"] is None:
        return asked is not None
    # `What city is the birthplace of #1?` asks for the birthplace, `What nationality is the author of #1?` for no author
    head = found.question.partition(" of ")[0].rpartition(" ")[2]
    return type_of_noun(asked["noun"]) is type_of_noun(head) is Wanted.PLACE


def _asks(description: str) -> bool:
    """Whether the word that asks stands inside: `the leader of which revolution`."""
    tokens = tokens_of(description)
    return any(tokens[at].lower in {"what", "which"} and not is_relative(tokens, at) for at in range(1, len(tokens)))


def _possessive(question: str, free: list[Word], anchors: list[tuple[int, int]]) -> Description | None:
    """`NAME's noun` as `the noun of NAME`."""
    for start, end in anchors:
        ending = _OWNER.match(question, end)
        if ending is None or question[:start].lower().endswith("one of "):
            continue
        group = [word for word in free if word.start >= ending.end() and word.lower != "s"]
        taken = _noun_group(question, group, ending.end() + 1)
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
    return bool(taken) and (word.lower.endswith(("ed", "ing")) or word.lower in IRREGULAR_PASTS)


def _fronted(question: str, position: int) -> bool:
    return any(
        word.lower in {"did", "does", "do", "was", "were", "is", "are"} for word in words(question[:position])[:5]
    )


def _describe(question: str, start: int, end: int, noun: list[Word], of: str) -> Description | None:
    head = noun[-1]
    phrase = question[noun[0].start : head.end]
    if head.lower in _UNRELATIONAL and phrase.lower() != "cast member":
        return None
    asker = "Who" if is_person_noun(head.text) or head.lower == "member" else "What"
    return Description(start, end, f"{asker} is the {phrase} of {of}?")


def _relation(question: str, free: list[Word], anchors: list[tuple[int, int]]) -> Description | None:
    """`the noun of (the kind) NAME`, the last one first, since it is the innermost."""
    for start, name_end in reversed(anchors):
        end = _end_of_compound(question, free, start, name_end)
        before = [word for word in free if word.end <= start]
        kind = _words_back(question, before, start, until={"of"})
        if kind is None:
            continue
        position = len(before) - kind - 1
        noun = _words_back(question, before[:position], before[position].start, until=ARTICLES)
        if not noun:
            continue
        group = before[position - noun : position]
        left = before[position - noun - 1].start if position > noun else group[0].start
        if _in_clause(question, free, left) and not _is_role(group[-1].text):
            continue
        of = question[before[position].end : end].strip()
        found = _describe(question, left, end, group, of)
        if found is not None and not _is_whole(question, found) and question[end : end + 2] not in {"'s", "’s"}:
            return found
    return None


def _end_of_compound(question: str, free: list[Word], start: int, end: int) -> int:
    """The end of `the NAME project`: nouns right behind a name with an article belong to it, but for the question's own verb."""
    if not question[:start].lower().endswith("the "):
        return end
    taken: list[Word] = []
    for word in (one for one in free if one.start >= end):
        known = (
            word.lower in FUNCTION_WORDS | BASE_VERBS
            or word.lower in IRREGULAR_PASTS
            or word.lower.endswith(("ed", "ing"))
        )
        if word.start - (taken[-1].end if taken else end) != 1 or known or len(taken) == 2:
            break
        taken.append(word)
    if taken and _fronted(question, start) and not question[taken[-1].end :].strip(" ?"):
        taken.pop()
    return taken[-1].end if taken else end


def _in_clause(question: str, free: list[Word], position: int) -> bool:
    """Whether a relative clause is open at `position`: there `the lens of X` belongs to what the clause says."""
    return any(word.lower in CLAUSE_WORDS and question[: word.start].strip() for word in free if word.start < position)


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


_KIN = re.compile(r"(?P<ask>who) (?:is|was) the (?P<kin>[a-z-]+(?: [a-z]+)?) of (?P<of>.+?)\?", re.IGNORECASE)


def _with_kin(questions: tuple[str, ...], most: int, offset: int) -> tuple[str, ...]:
    """Kin two steps away asked in two steps; later references move up accordingly."""
    result: list[str] = []
    moved: dict[int, int] = {}
    for number, question in enumerate(questions, offset + 1):
        current = REFERENCE.sub(lambda match: f"#{moved.get(int(match.group()[1:]), int(match.group()[1:]))}", question)
        match = _KIN.fullmatch(current)
        kin = KINSHIP.get(match["kin"].lower()) if match else None
        if match and kin and len(questions) + len(result) - (number - offset - 1) < most:
            result.append(f"Who is the {kin[0]} of {match['of']}?")
            current = f"Who is the {kin[1]} of #{offset + len(result)}?"
        result.append(current)
        moved[number] = offset + len(result)
    return tuple(result)
