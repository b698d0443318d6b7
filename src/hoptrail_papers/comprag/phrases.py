"""A question as a sequence of tokens, each name being one token.

There is no part-of-speech tagger: a word is taken for a verb by its ending, its position and short lists of common verbs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hoptrail.language.questions.references import REFERENCE
from hoptrail.text.lexicon import AUXILIARIES, COPULAS, FUNCTION_WORDS
from hoptrail.text.mentions import Shape, find_names
from hoptrail.text.words import words
from hoptrail_papers.comprag.lemmas import BASE_VERBS, IRREGULAR_PASTS

_NAMED_AFTER_OF = re.compile(
    r"\b(?:the )?(?:city|town|village|county|island|kingdom|republic|state|province|region|district|municipality|port|borough|"
    r"parish) of (?:the )?$",
    re.IGNORECASE,
)
"""A prefix that belongs to the name after it: `the village of Foss` is Foss."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word, or a whole name, quoted title or reference to an earlier answer."""

    text: str
    start: int
    end: int
    name: bool

    @property
    def lower(self) -> str:
        """In lower case; empty for a name, so that it matches no word list."""
        return "" if self.name else self.text.lower()

    @property
    def content(self) -> bool:
        """Whether it may be part of a noun group."""
        return self.name or (self.lower not in FUNCTION_WORDS and self.text[0].isalpha())

    @property
    def participle(self) -> bool:
        """Whether it may be a past participle: it ends in `ed` or is an irregular form."""
        return self.lower.endswith("ed") or self.lower in IRREGULAR_PASTS

    @property
    def verb(self) -> bool:
        """Whether it looks like a finite verb, a participle or an auxiliary."""
        third = self.lower.removesuffix("es"), self.lower.removesuffix("s")
        return self.participle or self.lower in AUXILIARIES | COPULAS or not BASE_VERBS.isdisjoint({self.lower, *third})


def tokens_of(question: str) -> tuple[Token, ...]:
    """The tokens of a question in order; a quoted title has its quotation marks, and `the town of Arden` is one name."""
    spans = [match.span() for match in REFERENCE.finditer(question)]
    for mention in find_names(question):
        quoted = mention.shape is Shape.QUOTED and mention.start > 0
        before = _NAMED_AFTER_OF.search(question, 0, mention.start)
        start = before.start() if before else mention.start - quoted
        spans.append((start, mention.end + quoted))
    return tokens_around(question, spans)


def tokens_around(text: str, names: Sequence[tuple[int, int]]) -> tuple[Token, ...]:
    """The spans of names in a text and all other words, in order."""
    plain = [word for word in words(text) if not any(start <= word.start < end for start, end in names)]
    tokens = [Token(text[start:end], start, end, name=True) for start, end in names]
    tokens += [Token(word.text, word.start, word.end, name=False) for word in plain]
    return tuple(sorted(tokens, key=lambda token: token.start))
