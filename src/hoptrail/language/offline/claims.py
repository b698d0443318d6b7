"""Yes or no by what one statement says outright: it asserts all that the question says, or denies a part of it.

`Can I bring a dog into the galleries?` is a no where a statement about dogs and galleries says `not in the galleries`: a word
that denies stands in the same clause, before a word of the question. A yes needs a statement that says every word of the
question and takes nothing back. What no single statement says is left open: that nothing says it makes no `no`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from hoptrail.language.closeness import Similarity, close_statements
from hoptrail.language.tasks import Reading, Step
from hoptrail.text.lexicon import COPULAS, word_set
from hoptrail.text.mentions import Shape, find_mentions
from hoptrail.text.statements import Said
from hoptrail.text.words import RELATED, Word, content_stems, words
from hoptrail.types import AnswerKind, Unit

_CLOSE = 6
"""Statements that are looked at, closest first."""
_FEWEST = 2
"""Words of the question that a statement itself has to say: one alone is about too much."""
_DENYING = word_set("not no never nobody none neither nor cannot without forbidden prohibited refused")
_TAKEN_BACK = word_set("if unless except only until before after than or may might should planned proposed whether")
"""Words with which a statement says less than the question asks."""
_PERMITTED = content_stems("allowed allow permitted possible okay ok must should have need")
_ACTORS = word_set("i we you one it they he she")
_CLAUSE = re.compile(r"[,;:()–—.]|\bbut\b|\band\b")
_ASSERTED, _DENIED = 0.7, 0.6
"""Raw belief in a yes, and in a no: a denial may be of something else in its clause."""


def claim(question: str, units: Sequence[Unit], similarity: Similarity | None) -> Reading:
    """Yes or no, citing the statement that says so; an abstention where none does, or the question denies something itself."""
    asked = words(question)
    open_ended = Reading(None, kind=AnswerKind.YES_NO)
    if any(_denies(word) or word.lower in {"or", "than"} for word in asked) or _says_what_one_is(question, asked):
        return open_ended
    acts = frozenset(after.stem for word, after in pairwise(asked) if word.lower in _ACTORS)
    named = content_stems(question) - _PERMITTED - acts
    acts &= content_stems(question)
    if len(named) < _FEWEST:
        return open_ended
    verdicts: list[tuple[str, Said]] = []
    for close in close_statements(question, units, similarity)[:_CLOSE]:
        said = close.said
        own = content_stems(said.text)
        above = content_stems(" ".join((said.unit.title, *said.path, said.block.lead if said.block else "")))
        if len(_met(named, own)) < _FEWEST or _met(named, own | above) != named:
            continue
        asks = said.text.rstrip().endswith("?")
        if not asks and any(_denied(clause, named) for clause in _clauses(said.text)):
            verdicts.append(("no", said))
        elif not takes_back(said.text, question) and _met(acts - _PERMITTED, own) == acts - _PERMITTED:
            verdicts.append(("yes", said))
    decided = _undisputed(verdicts)
    return open_ended if decided is None else _given(question, *decided)


def _undisputed(verdicts: Sequence[tuple[str, Said]]) -> tuple[str, Said] | None:
    """The first verdict, or the one said last where another document says the contrary; None where dates do not tell."""
    first = next(iter(verdicts), None)
    if first is None:
        return None
    contrary = [one for one in verdicts if one[0] != first[0] and _alike(one[1], first[1])]
    dates = [one[1].date for one in (first, *contrary)]
    if contrary and (not all(dates) or len(set(dates)) < len(dates)):
        return None
    return max((first, *contrary), key=lambda one: one[1].date) if contrary else first


def _says_what_one_is(question: str, asked: Sequence[Word]) -> bool:
    """Whether what a name stands for is asked: there the words alone do not tell of whom they are said (`the son of a poet`)."""
    named = any(one.shape in {Shape.NAME, Shape.QUOTED} for one in find_mentions(question, question=True))
    return named and asked[0].lower in COPULAS


def takes_back(text: str, question: str) -> bool:
    """Whether a statement says less than the question asks, the contrary, or only asks itself."""
    asked = {word.lower for word in words(question)}
    hedged = any(word.text in _TAKEN_BACK - asked for word in words(text))  # as written: May is a month
    named = content_stems(question)
    return text.rstrip().endswith("?") or hedged or any(_denied(clause, named) for clause in _clauses(text))


def _met(asked: frozenset[str], said: frozenset[str]) -> frozenset[str]:
    return frozenset(stem for stem in asked if stem in said or RELATED.get(stem, frozenset()) & said)


def _clauses(text: str) -> Iterator[tuple[Word, ...]]:
    for part in _CLAUSE.split(text):
        yield words(part)


def _denied(clause: Sequence[Word], named: frozenset[str]) -> bool:
    """Whether a word that denies comes before a word of the question."""
    at = next((at for at, word in enumerate(clause) if _denies(word)), None)
    return at is not None and any(word.stem in named for word in clause[at + 1 :])


def _denies(word: Word) -> bool:
    return word.lower in _DENYING or word.lower.replace("’", "'").endswith("n't")


def _alike(one: Said, other: Said) -> bool:
    """Whether two documents say it in much the same words: half of them."""
    first, second = content_stems(one.said), content_stems(other.said)
    return one.unit.document != other.unit.document and 2 * len(first & second) >= len(first | second)


def _given(question: str, answer: str, said: Said) -> Reading:
    belief = _ASSERTED if answer == "yes" else _DENIED
    step = Step(question, answer, said.support)
    return Reading(answer, (step,), belief, AnswerKind.YES_NO)
