"""A reader without weights, for tests that are about what is done with readings, not about what is read."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from hoptrail.models.reader import SpanAnswer, TextReading, ToRead

_NAME = re.compile(r"(?!(?:A|An|The|He|She|It|They|His|Her|Its|Their|In|At|On|Of) )[A-Z]\w+(?: [A-Z]\w+)+")


class NameReader:
    """Every name of several words in a text that the question lacks is an answer. A text with a name of the question helps."""

    def read(self, pairs: Sequence[ToRead]) -> list[TextReading]:
        """The readings, in order."""
        return [self._reading(pair) for pair in pairs]

    def _reading(self, pair: ToRead) -> TextReading:
        names = [found for found in _NAME.finditer(pair.text) if found.group() not in pair.question]
        answers = tuple(SpanAnswer(found.start(), found.end(), 6.0 - number) for number, found in enumerate(names[:4]))
        shared = any(found in pair.text for found in _NAME.findall(pair.question))
        helps, settles = (0.9, 6.0) if answers and shared else (0.1, -6.0)
        return TextReading(answers, yes=0.05, no=0.05, neither=0.9, helps=helps, settles=settles)


def use_name_reader(patch: pytest.MonkeyPatch) -> None:
    """In place of the installed reader."""
    patch.setattr("hoptrail.language.offline.performer.installed_reader", lambda _: NameReader())
