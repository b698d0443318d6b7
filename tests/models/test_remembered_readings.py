"""Readings that are kept: what was read is not read again, and the oldest make room."""

from __future__ import annotations

import pytest

from hoptrail.models import remembered_readings
from hoptrail.models.reader import ToRead
from hoptrail.models.remembered_readings import Remembered
from language.offline.scripted_reader import ScriptedReader

PAIRS = [ToRead("Who?", text) for text in ("Ida Berg.", "Bo Marsh.", "Cy Teal.")]


def test_nothing_is_read_twice() -> None:
    reader = ScriptedReader({"Who?": {"Ida Berg": 2.0, "Bo Marsh": 1.0}})
    kept = Remembered(reader)
    first = kept.read([PAIRS[0], PAIRS[1], PAIRS[0]])
    assert kept.read([PAIRS[1], PAIRS[0]]) == [first[1], first[0]]
    assert reader.asked == PAIRS[:2]


def test_the_oldest_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered_readings, "_KEPT", 2)
    reader = ScriptedReader({})
    kept = Remembered(reader)
    for pair in (PAIRS[0], PAIRS[1], PAIRS[0], PAIRS[2], PAIRS[0], PAIRS[1]):
        kept.read([pair])
    assert reader.asked == [*PAIRS, PAIRS[1]]
