"""Exit code 3: a signal during work saves finished work, and the same command continues from there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from command import Hoptrail
from hoptrail import Index
from hoptrail.models.encoder import FloatMatrix, Progress
from hoptrail.structures import declaration
from world import FACTS, HashingEncoder

EXECUTABLE = Path(sys.executable).with_name("hoptrail")
TESTS = Path(__file__).parents[1]
HEEDING = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"
"""Starts a command that handles Ctrl-C even if the tests ignore it, as in the background of a shell."""


@dataclass(frozen=True)
class Interrupting(HashingEncoder):
    """Sends a signal to its process during the call that `when` selects by the texts encoded so far."""

    number: signal.Signals = signal.SIGINT
    when: Callable[[list[str]], bool] = bool
    texts: list[str] = field(default_factory=list)

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> FloatMatrix:
        if self.when(self.texts):
            os.kill(os.getpid(), self.number)
        self.texts.extend(texts)
        return super().encode(texts, progress)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_keeps_what_is_finished_and_the_next_does_the_rest(
    hoptrail: Hoptrail, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    monkeypatch.setattr(declaration, "BATCH", 2)
    encoder = Interrupting(number=number, when=lambda before: len(before) == 2)
    monkeypatch.setattr("hoptrail.models.encoder_factory.open_encoder", lambda _: encoder)
    before = signal.getsignal(number)
    command = ["index", world, "--index", tmp_path / "index", "--for", "hybrid"]
    ended = hoptrail(*command)
    assert (ended.code, ended.out) == (3, "")
    assert "Run the same command again to resume here" in ended.err
    assert len(encoder.texts) == 4
    shown = hoptrail("show", "--index", tmp_path / "index", "--json").json
    assert shown["units"] == {"passage": 6}, "all is found by its words"
    assert signal.getsignal(number) is before
    assert hoptrail(*command).code == 0
    assert len(encoder.texts) == len(set(encoder.texts)) == len(FACTS)
    assert len(hoptrail("show", "--index", tmp_path / "index", "--json").json["documents"]) == len(FACTS)


def test_a_signal_during_a_change_leaves_every_document_to_readers_old_or_new(
    hoptrail: Hoptrail, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(declaration, "BATCH", 1)
    encoder = Interrupting(when=lambda before: len(before) == len(FACTS))
    monkeypatch.setattr("hoptrail.models.encoder_factory.open_encoder", lambda _: encoder)
    options = ["--index", tmp_path / "index"]
    building = [*options, "--for", "hybrid"]
    assert hoptrail("index", world, *building).code == 0
    for name in ("Isk", "Dunmere"):
        (world / f"{name}.txt").write_text(f"{name} is a zeppelin.", encoding="utf-8")
    assert hoptrail("index", world, *building).code == 3
    for words in ("Hills", "freezes"):
        assert hoptrail("search", words, "--recipe", "bm25", "--json", *options).json["hits"]
    assert hoptrail("index", world, *building).code == 0
    assert len(hoptrail("search", "zeppelin", "--recipe", "bm25", "--json", *options).json["hits"]) == 2
    assert len(encoder.texts) == len(FACTS) + 2


SLOW = """
import sys, time
import hoptrail.models.encoder_factory
from hoptrail.serving.cli import main
from hoptrail.structures import declaration
from world import HashingEncoder

class Slow(HashingEncoder):
    def encode(self, texts, progress=None):
        print("encoding", flush=True)
        time.sleep(60)

hoptrail.models.encoder_factory.open_encoder = lambda name: Slow()
sys.argv = ["hoptrail", *sys.argv[1:]]
main()
"""


def test_a_second_signal_ends_at_once_and_nothing_is_lost(world: Path, tmp_path: Path) -> None:
    """The first signal waits for the batch, the second one does not."""
    index = Index(tmp_path / "index")
    index.encoder = HashingEncoder()
    index.add([world])
    (world / "Isk.txt").write_text("The Isk is a zeppelin.", encoding="utf-8")
    child = subprocess.Popen(
        [sys.executable, "-c", SLOW, "index", str(world), "--index", str(index.folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(TESTS)]))},
    )
    assert child.stdout
    assert child.stdout.readline() == b"encoding\n"
    child.send_signal(signal.SIGINT)
    time.sleep(0.3)
    assert child.poll() is None
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=10)
    assert child.returncode == 3
    first, second = err.decode().splitlines()
    assert first.startswith("stopping after this step: encoding passages 0 of 1. The same command goes on from there")
    assert second == "hoptrail: stopped; what was finished is kept."
    assert [hit.unit.title for hit in index.search("rises", "bm25")] == ["Isk"]
    report = index.add([world])
    assert (report.documents, len(index.search("zeppelin", "bm25"))) == (len(FACTS), 1)


def test_a_command_that_saves_nothing_ends_with_the_same_code(tmp_path: Path) -> None:
    """The command waits for a pipe without a writer."""
    pipe = tmp_path / "predictions.jsonl"
    os.mkfifo(pipe)
    command: list[str | Path] = [sys.executable, "-c", HEEDING, EXECUTABLE, "score", pipe, "--rule", "cover"]
    child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    with pipe.open("w"):
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=30)
    assert child.returncode == 3
    assert "Traceback" not in err
