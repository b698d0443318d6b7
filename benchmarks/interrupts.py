"""Interrupts real commands by Ctrl-C: what do they say, how soon do they end, and is the same command enough afterwards?

    python -m benchmarks.interrupts [--trials N] [--of COMMAND,...] [--out FILE.json]

Each command gets one SIGINT in each trial, at a moment between its start and the end of an undisturbed run; the moments are
spread evenly. A dialogue runs in a terminal of its own and also waits at its prompt; a server is interrupted while it indexes a
folder, at a moment after it listens. Afterwards the index must have no damage, and the same command must end with 0 (for a
server `index` of the folder; of commands that only read, after every tenth trial).

A trial fails if there is a traceback, if the exit code is neither that of a stop (3; for a server 0) nor 0, if the index is
damaged, or if the command cannot be run again. A signal that comes before the interpreter runs our code is answered by the
interpreter, and counted as `before`. Seconds depend on the load of the machine. FILE.json keeps its rows of other commands.
"""

from __future__ import annotations

import json
import os
import pty
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.common import COMMAND, Origin, free_port, origin, parser, print_table, write_results

from hoptrail.corpus.repairing import damage
from hoptrail.errors import HoptrailError, IndexUnavailable

NOTES, SENTENCES = 12, 24
SUBJECTS = ("harbour", "bridge", "school", "library", "mill", "ferry", "market", "museum")
PEOPLE = ("Ilse Brandt", "Tomas Lind", "Maeve Corrigan", "Alban Pugh", "Ada Lunt", "Victor Abell")
QUESTION = "Who designed the bridge of town 7?"
PATIENCE = 120.0  # seconds after which a command is killed, which is a failure


def notes() -> dict[str, str]:
    chance = random.Random(20261128)
    verbs = ("designed", "opened", "repaired", "described")
    return {
        f"note{number}": " ".join(
            f"The {chance.choice(SUBJECTS)} of town {chance.randrange(30)} was {chance.choice(verbs)} by "
            f"{chance.choice(PEOPLE)} in {chance.randrange(1800, 2000)}."
            for _ in range(SENTENCES)
        )
        for number in range(NOTES)
    }


@dataclass(frozen=True, slots=True)
class Trial:
    """Seconds from the start to the signal, and from there to the first line on standard error (None: none) and to the end."""

    moment: float
    first_line: float | None
    end: float
    code: int
    before: bool = False  # whether the signal came before our code was run


@dataclass(frozen=True, slots=True)
class Case:
    """A command in a folder that `prepare` makes anew for each trial. `stopped`: the code of a stopped run; `again`: what is run
    afterwards; `index`: where its index is; `listens`: moments count from when its port answers.
    """

    name: str
    prepare: Callable[[Path], None]
    arguments: Sequence[str]
    stopped: int = 3
    again: Sequence[str] = ()
    index: str = "index"
    listens: bool = False
    reads: bool = False  # whether it only reads: then it is run again after every tenth trial
    typed: str = ""  # into the terminal that it gets


class Running:
    """A command that runs, and when it said something."""

    def __init__(self, case: Case, folder: Path) -> None:
        self.port = free_port()
        arguments = [*case.arguments, *(["--port", str(self.port)] if case.listens else [])]
        self._stream, theirs = pty.openpty() if case.typed else os.pipe()
        other = theirs if case.typed else subprocess.DEVNULL
        self.began = time.monotonic()
        self.process = subprocess.Popen([COMMAND, *arguments], cwd=folder, stdin=other, stdout=other, stderr=theirs)
        os.close(theirs)
        self.said: list[tuple[float, str]] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        if case.typed:
            os.write(self._stream, case.typed.encode())
        while case.listens and "Uvicorn running on" not in self.words:
            time.sleep(0.05)
            if self.process.poll() is not None:
                sys.exit(f"{case.name} did not start: {self.words}")

    def _read(self) -> None:
        with suppress(OSError):  # the terminal is closed
            while got := os.read(self._stream, 1 << 16):
                self.said.append((time.monotonic(), got.decode(errors="replace")))

    @property
    def words(self) -> str:
        return "".join(text for _, text in self.said)

    def end(self) -> int:
        """Wait for the end; returns the code."""
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self._reader.join(2)
        os.close(self._stream)
        return code


@dataclass
class Row:
    """The trials of a command, the codes of the commands run afterwards, and what was wrong."""

    command: str
    of: Origin = field(default_factory=lambda: origin(notes()))
    trials: list[Trial] = field(default_factory=list)
    again: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def plain(self) -> dict[str, object]:
        each = [[round(trial.moment, 3), round(trial.end, 3)] for trial in self.trials]
        return {"of": asdict(self.of), **self.summary(), "each": each, "failures": self.failures}

    def summary(self) -> dict[str, object]:
        lines = [trial.first_line for trial in self.trials if trial.first_line is not None]
        ends = [trial.end for trial in self.trials]
        return {
            "command": self.command,
            "trials": len(self.trials),
            "codes": dict(Counter(str(trial.code) for trial in self.trials)),
            "before": sum(trial.before for trial in self.trials),
            "first line, median": statistics.median(lines) if lines else None,
            "first line, longest": max(lines, default=None),
            "end, median": statistics.median(ends),
            "end, longest": max(ends),
            "codes of the command again": dict(self.again),
        }


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--trials", type=int, default=50, help="of each command")
    options.add_argument("--of", default="", help="commands, with commas; default: all")
    arguments = options.parse_args()
    # A shell lets its background ignore it, and so would our children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    failures: list[str] = []
    with tempfile.TemporaryDirectory(prefix="hoptrail-interrupts-") as temporary:
        ground = Path(temporary).resolve()
        for case in _cases(ground):
            if not arguments.of or case.name in arguments.of.split(","):
                row = Row(case.name)
                _try(case, ground / "trial", arguments.trials, row, arguments.out)
                print_table(tuple(row.summary()), [tuple(row.summary().values())])
                failures += row.failures
    print("\n".join(failures))
    sys.exit(bool(failures))


def _cases(ground: Path) -> list[Case]:
    """The commands. One index, and one work folder of an evaluation, are made once and copied."""
    indexed, index = ground / "indexed", ["index", "notes", "--index", "index"]
    _write_notes(indexed)
    _run(index, indexed)

    def copied(folder: Path) -> None:
        shutil.copytree(indexed, folder)

    ask, dialogue, serve = ["ask", QUESTION, "--index", "index"], ["ask", "--index", "index"], ["serve", "notes"]
    evaluate = ["evaluate", "data", "--recipes", "hybrid", "--work", "work"]
    return [
        Case("index", _write_notes, index),
        Case("serve", _write_notes, serve, stopped=0, again=index[:2], index="notes/.hoptrail", listens=True),
        Case("ask", copied, ask, reads=True),
        Case("search", copied, ["search", *ask[1:]], reads=True),
        Case("dialogue", copied, dialogue, again=ask, reads=True, typed=f"{QUESTION}\n"),
        Case("evaluate", _write_data, evaluate, index="work/index/data"),
    ]


def _write_notes(folder: Path) -> None:
    (folder / "notes").mkdir(parents=True)
    for name, text in notes().items():
        (folder / "notes" / f"{name}.txt").write_text(text, encoding="utf-8")


def _write_data(folder: Path) -> None:
    data, gold = folder / "data", {"answers": [PEOPLE[0]], "supporting": ["note1"]}
    data.mkdir(parents=True)
    corpus = [{"id": name, "title": name, "text": text} for name, text in notes().items()]
    asked = ((f"q{town}", f"Who designed the bridge of town {town}?") for town in range(4))
    questions = [{"id": name, "question": question, **gold} for name, question in asked]
    for name, rows in (("corpus", corpus), ("questions", questions)):
        (data / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def _run(arguments: Sequence[str], folder: Path) -> tuple[int, float, str]:
    """Run a command to its end; returns its code, its seconds and its standard error."""
    began = time.monotonic()
    done = subprocess.run(
        [COMMAND, *arguments], cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
    return done.returncode, time.monotonic() - began, done.stderr


def _try(case: Case, folder: Path, count: int, row: Row, out: Path | None) -> None:
    """Enter the trials of a command, and write them after every tenth."""
    case.prepare(folder)
    code, seconds, said = _run(case.again or case.arguments, folder)
    if code:
        sys.exit(f"{case.name} ended with {code}: {said}")
    shutil.rmtree(folder)
    for number in range(count):
        case.prepare(folder)
        trial, what = _trial(case, folder, seconds * number / count)
        row.trials.append(trial)
        tenth = (number + 1) % 10 == 0
        if tenth or not case.reads:
            again, _, said = _run(case.again or case.arguments, folder)
            row.again[str(again)] += 1
            if again:
                what += f"; again: {again}, {said[-200:]}"
        if what:
            row.failures.append(f"at {trial.moment:.2f} s: {what}")
        shutil.rmtree(folder)
        if tenth or number == count - 1:
            kept = json.loads(out.read_text(encoding="utf-8")) if out and out.exists() else []
            write_results(out, [*(other for other in kept if other["command"] != row.command), row.plain()])


def _trial(case: Case, folder: Path, moment: float) -> tuple[Trial, str]:
    """One interrupt, and what was wrong; empty if nothing was."""
    running = Running(case, folder)
    time.sleep(moment)
    asked = time.monotonic()
    with suppress(ProcessLookupError):
        running.process.send_signal(signal.SIGINT)
    code = running.end()
    ended = time.monotonic()
    lines = [at - asked for at, text in running.said if at >= asked and text.strip()]
    before = code == -signal.SIGINT or ("KeyboardInterrupt" in running.words and "/hoptrail/" not in running.words)
    trial = Trial(asked - running.began, min(lines, default=None), ended - asked, code, before)
    what = []
    if not before and code not in (0, case.stopped):
        what.append(f"ended with {code}")
    if not before and any(word in running.words for word in ("Traceback", "terminate called", "Exception ignored")):
        what.append(running.words[-400:])
    try:
        what += damage(folder / case.index)
    except IndexUnavailable:
        pass  # nothing was committed yet
    except HoptrailError as error:
        what.append(str(error))
    return trial, "; ".join(what)


if __name__ == "__main__":
    main()
