"""Measures the cost of syncing: the same index run, and one small update of it, with and without syncing, in turns.

    python -m benchmarks.syncing [--documents N] [--turns N] [--folder DIR] [--out FILE.json]

Vectors are hashed words, which cost almost nothing, so that syncing has its greatest weight; with the encoder that ships
a document takes about a hundred times as long. DIR is on the disk to be measured. Each run is a forked process. Without
syncing, neither our code nor SQLite syncs anything; only this benchmark can do that.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median

from benchmarks.common import origin, parser, print_table, write_results
from benchmarks.operations import command_line
from benchmarks.small_world import TEXTS, use_hashed_words

WORDS = " ".join(TEXTS.values()).replace(".", "").split()


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds, medians over the turns."""

    command: str
    synced: float
    unsynced: float

    @property
    def times(self) -> float:
        return self.synced / self.unsynced


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--documents", type=int, default=1000)
    options.add_argument("--turns", type=int, default=5)
    options.add_argument("--folder", type=Path)
    arguments = options.parse_args()
    use_hashed_words()
    with tempfile.TemporaryDirectory(prefix="hoptrail-syncing-", dir=arguments.folder) as ground:
        costs = measured(Path(ground), arguments.documents, arguments.turns)
    rows = [(one.command, f"{one.synced:.3f}", f"{one.unsynced:.3f}", f"{one.times:.2f}") for one in costs]
    print_table(("command", "synced s", "unsynced s", "times"), rows)
    of = origin((arguments.documents, arguments.turns))
    write_results(arguments.out, {"of": of, "documents": arguments.documents, "turns": arguments.turns, "costs": costs})


def measured(ground: Path, documents: int, turns: int) -> list[Cost]:
    world, draw = ground / "world", Random(1)
    world.mkdir()
    for number in range(documents):
        text = ". ".join(" ".join(draw.choices(WORDS, k=12)) for _ in range(20))
        (world / f"{number}.txt").write_text(text, encoding="utf-8")
    index = command_line(["index", world, "--index", ground / "index"])
    update = command_line(["index", world / "0.txt", "--index", ground / "index"])
    seconds: dict[tuple[str, bool], list[float]] = {}
    for turn in range(turns):
        for synced in (True, False) if turn % 2 else (False, True):
            shutil.rmtree(ground / "index", ignore_errors=True)
            os.sync()
            seconds.setdefault(("index", synced), []).append(_forked(index, synced=synced))
            (world / "0.txt").write_text(f"The note of turn {turn} is {'synced' if synced else 'not synced'}.")
            os.sync()
            seconds.setdefault(("one small update", synced), []).append(_forked(update, synced=synced))
    names = dict.fromkeys(name for name, _ in seconds)
    return [Cost(name, median(seconds[name, True]), median(seconds[name, False])) for name in names]


def _forked(command: Callable[[], int], *, synced: bool) -> float:
    begun = time.perf_counter()
    child = os.fork()
    if not child:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        if not synced:
            _sync_nothing()
        os._exit(command())
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        raise SystemExit("the command failed")
    return time.perf_counter() - begun


def _sync_nothing() -> None:
    from hoptrail.corpus import connecting, durable

    vars(durable)["_sync"] = lambda _: None
    settings = vars(connecting)["_SETTINGS"]
    vars(connecting)["_SETTINGS"] = settings.replace("synchronous = FULL", "synchronous = OFF")


if __name__ == "__main__":
    main()
