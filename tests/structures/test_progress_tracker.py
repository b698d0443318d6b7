"""How far a run is as a whole, and how long it still takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from hoptrail.documents.splitting import PassageLimits
from hoptrail.index.indexing import Watcher, update_index
from hoptrail.models import encoder
from hoptrail.models.encoder import FloatMatrix
from hoptrail.structures import progress_tracker
from hoptrail.structures.catalogue import structures_by_name
from hoptrail.structures.progress_tracker import BuildStep, Progress, ProgressTracker, in_words
from hoptrail.types import Kind
from world import HashingEncoder


@dataclass
class Clock:
    """Seconds that pass only while something is encoded."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass(frozen=True)
class Slow(HashingEncoder):
    """Takes four milliseconds a character."""

    clock: Clock = field(default_factory=Clock)

    def encode(self, texts: Sequence[str], progress: encoder.Progress | None = None) -> FloatMatrix:
        self.clock.now += sum(len(text) + progress_tracker.TEXT for text in texts) / 250
        return super().encode(texts, progress)


@dataclass
class Followed:
    """A run with its news: when, and what."""

    lines: list[str] = field(default_factory=list)
    news: list[tuple[float, Progress]] = field(default_factory=list)
    seconds: float = 0.0


def followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: int, notes: int, *names: str) -> Followed:
    """A run that finds a log and notes of so many passages each."""
    sources = [tmp_path / "build.log", tmp_path / "notes.txt"]
    for source, number in zip(sources, (log, notes), strict=True):
        source.write_text(
            "\n\n".join(f"The {source.stem} say that Isk rose {at} metres." for at in range(number)), encoding="utf-8"
        )
    clock, found = Clock(), Followed()
    monkeypatch.setattr(progress_tracker, "MANY", 100)
    watcher = Watcher(say=found.lines.append, progress=lambda news: found.news.append((clock.now, news)))
    monkeypatch.setattr(Watcher, "tracker", lambda self: ProgressTracker(self._report_progress, self.say, clock))
    known = structures_by_name(PassageLimits(words=9))
    structures = [known[name] for name in names]
    update_index(tmp_path / "index", sources, Slow(clock=clock), structures, watcher)
    found.seconds = clock.now
    return found


def test_what_there_is_to_do_is_said_before_it_is_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = followed(tmp_path, monkeypatch, 300, 60, "passages", "sentences")
    mostly = f"300 of them of {tmp_path / 'build.log'}"
    assert found.lines == [
        f"to do: passages (360 passages to encode, {mostly}, 50 %), sentences (360 sentences to encode, 50 %)",
        "about 3 min more; a stopped run can be resumed later",
    ]


def test_of_little_nothing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert followed(tmp_path, monkeypatch, 30, 30, "passages").lines == []


def test_the_time_left_is_right_from_the_tenth_part_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = followed(tmp_path, monkeypatch, 80, 90, "passages", "sentences")
    late = [(now, news) for now, news in found.news if now >= found.seconds / 10]
    assert late
    for now, news in late:
        assert news.left is not None
        assert news.share is not None
        assert news.left == pytest.approx(found.seconds - now, abs=found.seconds / 20)
        assert news.share == pytest.approx(now / found.seconds, abs=0.05)
    assert [news.what for _, news in late][-1] == "encoding sentences"


def test_the_share_never_falls_and_nothing_is_told_too_early() -> None:
    clock, news = Clock(), list[Progress]()
    running = ProgressTracker(news.append, clock=clock)
    running.report("reading", 4, 0)
    running.plan([BuildStep("passages", 100.0, 10, Kind.PASSAGE), BuildStep("triples", 100.0)])
    running.begin("passages")
    clock.now = 10.0
    running.report("encoding", 5, 10)
    clock.now = 40.0
    running.report("encoding", 6, 10)
    assert news[0] == Progress("reading", 4, 0)
    assert (news[1].share, news[1].left) == (0.25, 30.0)
    assert [one.share for one in news[1:]] == [0.25, pytest.approx(0.3)]


def test_what_a_model_makes_is_not_foretold() -> None:
    news, said = list[Progress](), list[str]()
    running = ProgressTracker(news.append, said.append, Clock())
    running.plan([BuildStep("passages", 100.0, 1500, Kind.PASSAGE), BuildStep("facts", None)])
    running.begin("passages")
    running.report("encoding", 5, 10)
    assert (news[0].share, news[0].left) == (None, None)
    assert said == ["to do: passages (1,500 passages to encode, 100 %), facts (by a model)"]


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "about 1 s"), (42, "about 42 s"), (200, "about 3 min"), (9000, "about 2.5 h")]
)
def test_times_in_words(seconds: float, words: str) -> None:
    assert in_words(seconds) == words
