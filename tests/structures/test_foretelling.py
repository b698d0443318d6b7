"""What is said of a long encoding before and while it is done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest

from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.splitting import PassageLimits
from hoptrail.indexing import Watcher, update_index
from hoptrail.models.encoder import FloatMatrix, Progress
from hoptrail.structures import encoding
from hoptrail.structures.catalogue import structures_by_name
from world import HashingEncoder


@dataclass
class Clock:
    """Seconds that pass only while something is encoded."""

    now: float = 0.0


@dataclass(frozen=True)
class Slow(HashingEncoder):
    """Takes a tenth of a second a text."""

    clock: Clock = field(default_factory=Clock)

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> FloatMatrix:
        self.clock.now += len(texts) / 10
        return super().encode(texts, progress)


def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: int, notes: int) -> list[str]:
    """What a run says that finds a log and notes of so many passages each."""
    sources = [tmp_path / "build.log", tmp_path / "notes.txt"]
    for source, number in zip(sources, (log, notes), strict=True):
        source.write_text(
            "\n\n".join(f"The {source.stem} say that Isk rose {at} metres." for at in range(number)), encoding="utf-8"
        )
    clock, lines = Clock(), list[str]()
    monkeypatch.setattr(encoding, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    structures = [structures_by_name(PassageLimits(words=9))["passages"]]
    watcher = Watcher(say=lines.append)
    update_index(tmp_path / "index", sources, Slow(clock=clock), structures, ReadingLimits(), watcher)
    return lines


def test_a_long_encoding_is_told_with_the_document_that_is_most_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert said(tmp_path, monkeypatch, 1200, 200) == [
        f"1,400 passages to encode, 1,200 of them of {tmp_path / 'build.log'}",
        "encoding 1,400 passages takes about 2 min more; a stopped run goes on later",
    ]


def test_where_no_document_is_most_none_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(tmp_path, monkeypatch, 500, 500)[0] == "1,000 passages to encode"


def test_a_short_one_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(tmp_path, monkeypatch, 300, 10) == []
