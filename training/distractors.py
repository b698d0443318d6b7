"""Finds texts that share a question's rare words and do not answer it, as retrieval returns them."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from training.examples import Example

_WORD = re.compile(r"\w{3,}")
_COMMON = 0.02
"""Words in more than this share of the texts are ignored."""

_TRIED = 12


@dataclass(frozen=True, slots=True)
class Distractors:
    """An index of texts by their rarer words."""

    texts: Sequence[str]
    places: dict[str, list[int]]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Distractors:
        """The texts without repeats."""
        once = list(dict.fromkeys(texts))
        places: dict[str, list[int]] = defaultdict(list)
        for place, text in enumerate(once):
            for word in sorted(words_of(text)):
                places[word].append(place)
        most = max(3.0, _COMMON * len(once))
        return cls(once, {word: found for word, found in places.items() if len(found) <= most})

    def near(self, example: Example) -> list[str]:
        """Texts that share the most with the question, best first, without its own text and those that name its answer."""
        shared: dict[int, float] = defaultdict(float)
        for word in sorted(words_of(example.question)):
            found = self.places.get(word, ())
            weight = math.log(len(self.texts) / max(1, len(found)))
            for place in found:
                shared[place] += weight
        best = sorted(shared, key=lambda place: (-shared[place], place))[:_TRIED]
        return [self.texts[place] for place in best if not _answers(self.texts[place], example)]


def words_of(text: str) -> set[str]:
    """The words of three letters and more, in lower case."""
    return set(_WORD.findall(text.lower()))


def _answers(text: str, example: Example) -> bool:
    own = text == example.text
    return own or (example.verdict is None and example.answer.lower() in text.lower())
