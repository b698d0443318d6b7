"""A reader of texts that finds what it is told to find, so that what is made of readings can be tested by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from hoptrail.models.reader import SpanAnswer, TextReading, ToRead


class ScriptedReader:
    """Gives for each question the answers listed for it, where a text holds them: their words with their margins.

    A text settles the question as likely as it holds an answer. `settles`: further words with the log odds that a text with them
    settles the question.
    """

    def __init__(
        self, script: Mapping[str, Mapping[str, float]], settles: Mapping[str, float] = MappingProxyType({})
    ) -> None:
        self._script = script
        self._settles = settles
        self.asked: list[ToRead] = []

    def read(self, pairs: Sequence[ToRead]) -> list[TextReading]:
        """A reading of each."""
        self.asked += pairs
        return [self._reading(pair) for pair in pairs]

    def _reading(self, pair: ToRead) -> TextReading:
        listed = self._script.get(pair.question, {})
        places = {words: pair.text.find(words) for words in listed}
        found = [SpanAnswer(at, at + len(words), listed[words]) for words, at in places.items() if at >= 0]
        best = tuple(sorted(found, key=lambda one: -one.margin))
        odds = [odds for words, odds in self._settles.items() if words in pair.text]
        settles = max([*odds, *(one.margin for one in best)], default=-8.0)
        return TextReading(best, yes=0.0, no=0.0, neither=1.0, helps=0.97 if best else 0.1, settles=settles)
