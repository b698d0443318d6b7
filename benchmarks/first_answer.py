"""Measures how soon `hoptrail index` makes something findable: seconds to the first commit, and to the first answer.

    python -m benchmarks.first_answer [--corpus FILE] [--turns N] [--out FILE.json]

A separate process asks the question while the first one indexes, as a user would. On a busy machine trust the CPU seconds:
those of indexing until its first commit, and those of asking.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.common import cpu_seconds_of_children, parser, print_table, write_results

from hoptrail.corpus.snapshot import Snapshot

HOPTRAIL = [sys.executable, "-m", "hoptrail"]
QUESTION = "Where was the director of film Ronnie Rocket born?"


@dataclass(frozen=True, slots=True)
class FirstAnswer:
    """Seconds since the command began, wall clock and CPU, and the reported state."""

    asked: str
    kept: float
    kept_cpu: float
    answered: float
    answering_cpu: float
    said: str


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--corpus", type=Path, default=Path("shared/data/2wiki/corpus.jsonl"))
    options.add_argument("--turns", type=int, default=3)
    arguments = options.parse_args()
    found = [first_answer(arguments.corpus, how) for _ in range(arguments.turns) for how in ("search", "ask")]
    header = ("asked by", "first commit s", "its CPU s", "first answer s", "CPU s of asking")
    rows = [
        (one.asked, f"{one.kept:.2f}", f"{one.kept_cpu:.2f}", f"{one.answered:.2f}", f"{one.answering_cpu:.2f}")
        for one in found
    ]
    print_table(header, rows)
    write_results(arguments.out, {"corpus": arguments.corpus.name, "answers": found})


def first_answer(corpus: Path, how: str) -> FirstAnswer:
    """Index a corpus, and ask as soon as there is a commit."""
    with tempfile.TemporaryDirectory(prefix="hoptrail-first-") as ground:
        index = Path(ground, "index")
        begun = time.perf_counter()
        indexing = subprocess.Popen([*HOPTRAIL, "index", corpus, "--index", index], stderr=subprocess.DEVNULL)
        try:
            while not Snapshot.exists(index):
                if indexing.poll() is not None:
                    raise SystemExit("indexing failed")
                time.sleep(0.02)
            kept, kept_cpu = time.perf_counter() - begun, _seconds_of(indexing.pid)
            before = cpu_seconds_of_children()
            ended = subprocess.run(
                [*HOPTRAIL, how, QUESTION, "--index", index], capture_output=True, text=True, check=True
            )
            answered = time.perf_counter() - begun
            return FirstAnswer(
                how, kept, kept_cpu, answered, cpu_seconds_of_children() - before, " ".join(ended.stderr.split())
            )
        finally:
            indexing.send_signal(signal.SIGTERM)
            indexing.wait()


def _seconds_of(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
