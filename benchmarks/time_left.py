"""Measures the error of the time left that indexing reports, at a tenth, a half and nine tenths of the run, relative to the true
value.

    python -m benchmarks.time_left CORPUS... [--lines N] [--recipe NAME] [--out FILE.json]

CORPUS: files or folders; of a JSONL file the first N lines. Time is CPU time, which other load does not affect; the encoder is
warm.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from benchmarks.common import parser, print_table, write_results

from hoptrail.index import Index
from hoptrail.indexing import Watcher
from hoptrail.structures.course import Course, Progress

PARTS = (0.1, 0.5, 0.9)


@dataclass(frozen=True, slots=True)
class TimeLeft:
    """For a corpus: seconds of the run, seconds until the first report, and the error at each of PARTS."""

    corpus: str
    seconds: float
    told_from: float
    errors: tuple[float, ...]


@dataclass(frozen=True)
class ByProcessor(Watcher):
    """Records the reported time left, with the CPU second of the report."""

    told: list[tuple[float, float]] = field(default_factory=list)
    began: float = field(default_factory=time.process_time)

    def course(self) -> Course:
        return Course(self._keep, clock=time.process_time)

    def _keep(self, progress: Progress) -> None:
        if progress.left is not None:
            self.told.append((time.process_time() - self.began, progress.left))


def main() -> None:
    options = parser(__doc__)
    options.add_argument("corpora", nargs="+", type=Path, metavar="CORPUS")
    options.add_argument("--lines", type=int, default=1000)
    options.add_argument("--recipe", default="trail")
    arguments = options.parse_args()
    found = [measured(corpus, arguments.lines, arguments.recipe) for corpus in arguments.corpora]
    header = ("corpus", "run, CPU s", "told from", *(f"error at {part:.0%}" for part in PARTS))
    rows = [
        (one.corpus, f"{one.seconds:.1f}", f"{one.told_from:.1%}", *(f"{error:+.1%}" for error in one.errors))
        for one in found
    ]
    print_table(header, rows)
    write_results(arguments.out, {"lines": arguments.lines, "recipe": arguments.recipe, "runs": found})


def measured(corpus: Path, lines: int, recipe: str) -> TimeLeft:
    """Index one corpus and compare the reported times with the true ones."""
    with tempfile.TemporaryDirectory(prefix="hoptrail-left-") as ground:
        source = corpus
        if corpus.suffix == ".jsonl":
            source = Path(ground, corpus.name)
            with corpus.open(encoding="utf-8") as whole:
                source.write_text("".join(islice(whole, lines)), encoding="utf-8")
        index = Index(Path(ground, "index"))
        index.encoder.encode(["warm"])
        watcher = ByProcessor()
        index.add(source, recipe, watcher)
        seconds = time.process_time() - watcher.began
    reports = watcher.told
    errors = []
    for part in PARTS:
        now, left = min(reports, key=lambda one: abs(one[0] - part * seconds))
        errors.append((left - (seconds - now)) / (seconds - now))
    name = corpus.parent.name if corpus.suffix == ".jsonl" else corpus.name
    return TimeLeft(name, seconds, reports[0][0] / seconds, tuple(errors))


if __name__ == "__main__":
    main()
