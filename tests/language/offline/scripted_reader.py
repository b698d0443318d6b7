"""A reader of texts that finds what it is told to find, so that what is made of readings can be tested by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hoptrail.models.reader import Answer, Reading, ToRead


class ScriptedReader:
    """Gives for each question the answers listed for it, where a text holds them: their words with their margins."""

    def __init__(self, script: Mapping[str, Mapping[str, float]]) -> None:
        self._script = script
        self.asked: list[ToRead] = []

    def read(self, pairs: Sequence[ToRead]) -> list[Reading]:
        """A reading of each."""
        self.asked += pairs
        return [self._reading(pair) for pair in pairs]

    def _reading(self, pair: ToRead) -> Reading:
        listed = self._script.get(pair.question, {})
        places = {words: pair.text.find(words) for words in listed}
        found = [Answer(at, at + len(words), listed[words]) for words, at in places.items() if at >= 0]
        best = tuple(sorted(found, key=lambda one: -one.margin))
        return Reading(best, yes=0.0, no=0.0, neither=1.0, helps=0.9 if best else 0.1)
