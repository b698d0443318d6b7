"""Exit code 3: a signal during work saves finished work, and the same command continues from there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from command import Hoptrail
from hoptrail import Index
from hoptrail.corpus.repairing import damage
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.models.encoder import FloatMatrix, Progress
from hoptrail.structures import declaration
from waiting import wait_until
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
    assert len(encoder.texts) == len(FACTS) + 3, "both are new together or not at all, so that one was encoded twice"


SLOW = """
import sys, time
import hoptrail.models.encoder_factory
from hoptrail.serving.cli import main
from hoptrail.structures import declaration
from world import HashingEncoder

class Slow(HashingEncoder):
    def encode(self, texts, progress=None):
        print("encoding", flush=True)
        time.sleep(600)

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
    _, err = child.communicate(timeout=60)
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


@dataclass
class Command:
    """A command as a process, and what it has said on standard error."""

    arguments: list[object]
    said: list[str] = field(default_factory=list)

    def start(self, folder: Path) -> Command:
        command = [sys.executable, "-c", HEEDING, str(EXECUTABLE), *map(str, self.arguments)]
        nothing = subprocess.DEVNULL
        self.process = subprocess.Popen(
            command, cwd=folder, stdin=nothing, stdout=nothing, stderr=subprocess.PIPE, text=True
        )
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        return self

    def _read(self) -> None:
        assert self.process.stderr
        with self.process.stderr as lines:
            self.said.extend(lines)

    @property
    def err(self) -> str:
        return "".join(self.said)

    def interrupt(self, number: signal.Signals = signal.SIGINT) -> None:
        """Send a signal and wait for the end."""
        self.process.send_signal(number)
        self.process.wait(timeout=60)
        self.reader.join(60)

    def wait_for(self, words: str) -> None:
        wait_until(lambda: words in self.err or self.process.poll() is not None)
        assert self.process.poll() is None, self.err


def children_of(process: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """So many notes that the real encoder takes a while."""
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(300):
        text = " ".join(f"Bridge {number} {part} crosses the river Isk near Dunmere." for part in range(80))
        (folder / f"{number}.md").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_server_ends_while_it_indexes(many: Path, number: signal.Signals) -> None:
    pytest.importorskip("fastapi")
    serving = Command(["serve", many, "--port", 0]).start(many)
    serving.wait_for("Uvicorn running on")
    wait_until(lambda: Snapshot.exists(many / ".hoptrail"))
    serving.interrupt(number)
    assert serving.process.returncode == 0, serving.err
    assert "Traceback" not in serving.err
    assert "terminate called" not in serving.err
    assert damage(many / ".hoptrail") == []
    assert Index(many / ".hoptrail").contents().reached, "it did not wait until all was indexed"


@pytest.mark.skipif(sys.platform != "linux", reason="children are looked up in /proc")
def test_a_parser_at_work_ends_with_the_command(tmp_path: Path) -> None:
    """The file takes minutes to parse: the command does not wait for it, and its process does not stay."""
    (tmp_path / "deep.html").write_text("<div>" * 400 + "<table>" + "<tr><td>a" * 200_000, encoding="utf-8")
    indexing = Command(["index", tmp_path / "deep.html", "--index", tmp_path / "index"]).start(tmp_path)
    wait_until(lambda: children_of(indexing.process.pid) or indexing.process.poll() is not None)
    parsers = children_of(indexing.process.pid)
    indexing.interrupt()
    assert indexing.process.returncode in (0, 3, 4), indexing.err
    assert "Traceback" not in indexing.err
    wait_until(lambda: not any(Path(f"/proc/{one}").exists() for one in parsers))


@pytest.mark.skipif(sys.platform != "linux", reason="children are looked up in /proc")
def test_a_parser_ends_with_a_killed_command(tmp_path: Path, many: Path) -> None:
    indexing = Command(["index", many, "--index", tmp_path / "index"]).start(tmp_path)
    wait_until(lambda: children_of(indexing.process.pid))
    parsers = children_of(indexing.process.pid)
    indexing.interrupt(signal.SIGKILL)
    wait_until(lambda: not any(Path(f"/proc/{one}").exists() for one in parsers))


@pytest.mark.skipif(sys.platform != "linux", reason="what a process has loaded is looked up in /proc")
@pytest.mark.parametrize("loaded", ["apsw", "onnxruntime"])
def test_a_question_ends_at_every_moment(world: Path, tmp_path: Path, loaded: str) -> None:
    """While it imports, and while it gets ready to read."""
    index = Index(tmp_path / "index")
    index.add([world], "bm25")
    asking = Command(["ask", "Where was the designer of the bridge born?", "--recipe", "bm25", "--index", index.folder])
    asking.start(tmp_path)
    memory = Path(f"/proc/{asking.process.pid}/maps")
    wait_until(lambda: asking.process.poll() is not None or loaded in memory.read_text())
    asking.interrupt()
    assert asking.process.returncode in (0, 3, -signal.SIGINT), asking.err
    assert "/hoptrail/" not in asking.err, "a traceback"


@pytest.mark.skipif(sys.platform == "win32", reason="there are no terminals of this kind")
def test_at_the_prompt_the_terminal_is_as_before(world: Path, tmp_path: Path) -> None:
    import pty
    import termios

    index = Index(tmp_path / "index")
    index.add([world], "bm25")
    command = [sys.executable, "-c", HEEDING, str(EXECUTABLE), "ask", "--recipe", "bm25", "--index", str(index.folder)]
    child, terminal = pty.fork()
    if not child:
        os.execv(command[0], command)
    before, shown = termios.tcgetattr(terminal), b""
    while b"? " not in shown:
        shown += os.read(terminal, 1024)
    time.sleep(0.3)
    os.kill(child, signal.SIGINT)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    assert termios.tcgetattr(terminal) == before
    with suppress(OSError):  # the end of a terminal whose process has ended
        shown += os.read(terminal, 1024)
    assert b"Traceback" not in shown
    os.close(terminal)
