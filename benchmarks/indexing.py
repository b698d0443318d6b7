"""Measures the cost of indexing beyond encoding: seconds, memory and disk of `hoptrail index`, and of encoding the same texts.

    python -m benchmarks.indexing [--data NAME] [--passages N] [--for RECIPE] [--out FILE.json]

Each row is a separate process, one after the other, so all include start-up: our encoder alone, and `hoptrail index` of the
corpus. The target is that indexing takes at most 1.25 times our encoder alone. On a busy machine, the CPU seconds of all
threads, and the seconds that the same process spent encoding, tell more than the clock. Then, on the same index: again with
nothing changed, one document more, one document less, and a process that only imports what they need. `--for RECIPE` first
builds what that recipe needs, with the offline language; it is then kept up to date.

`--passages N` uses only the first N; the encoding rows use the texts of the corpus, which hoptrail splits if they are long.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from benchmarks import common

from hoptrail.evaluation.datasets import load_dataset
from hoptrail.evaluation.lines import read_lines
from hoptrail.types.json_object import JsonObject

ENCODE = """
import json, sys, time
from hoptrail.models.local import MiniLmEncoder
texts = json.load(open(sys.argv[1]))
started = time.perf_counter()
MiniLmEncoder().encode(texts)
print(time.perf_counter() - started)
"""
INDEX = """
import atexit, sys, time
from hoptrail.models.local import LocalEncoder
from hoptrail.serving import cli
spent, encode = [], LocalEncoder.encode
def timed(*arguments):
    started = time.perf_counter()
    vectors = encode(*arguments)
    spent.append(time.perf_counter() - started)
    return vectors
LocalEncoder.encode = timed
atexit.register(lambda: print(sum(spent)))
cli.main()
"""
IMPORT = "import hoptrail.serving.cli, apsw"


@dataclass(frozen=True, slots=True)
class Row:
    """One process. `encoding` is its seconds of encoding; `disk_megabytes` is what it left in the index folder."""

    what: str
    seconds: float
    cpu_seconds: float
    peak_megabytes: float
    encoding: float | None = None
    disk_megabytes: float | None = None


def row(what: str, measured: common.Measured, index: Path | None = None) -> Row:
    disk = common.size_of(index) / 1e6 if index else None
    encoding = float(measured.output) if measured.output else None
    return Row(what, measured.seconds, measured.cpu_seconds, measured.peak_megabytes, encoding, disk)


def measure_building(passages: list[JsonObject], folder: Path, recipe: str | None) -> list[Row]:
    """Measure encoding alone, and the first index run."""
    corpus, index, texts = folder / "corpus.jsonl", folder / "index", folder / "ours.json"
    corpus.write_text("".join(f"{json.dumps(one)}\n" for one in passages), encoding="utf-8")
    texts.write_text(json.dumps(["\n".join(filter(None, (one["title"], one["text"]))) for one in passages]), "utf-8")
    command: list[str | Path] = [sys.executable, "-c", INDEX, "index", corpus, "--index", index]
    rows = [
        row("our encoder alone", common.run_measured([sys.executable, "-c", ENCODE, texts])),
        row("hoptrail index", common.run_measured(command), index),
    ]
    if recipe is not None:
        rows.append(row(f"what {recipe} needs besides", common.run_measured([*command, "--for", recipe]), index))
    return rows


def measure_changes(folder: Path) -> list[Row]:
    """Measure runs with nothing changed, one document more, and one less."""
    note, index = folder / "one more.txt", folder / "index"
    note.write_text("The ferry at Wrenmouth crosses the Isk every hour. It is the oldest ferry of the coast.", "utf-8")
    changes = {
        "index again, nothing changed": ("index", folder / "corpus.jsonl"),
        "add one document": ("index", note),
        "remove one document": ("remove", note),
    }
    return [
        row("importing alone", common.run_measured([sys.executable, "-c", IMPORT])),
        *(
            row(what, common.run_measured([common.COMMAND, *command, "--index", index]), index)
            for what, command in changes.items()
        ),
    ]


def show(rows: list[Row], passages: int) -> None:
    """Print the table, with ratios to our encoder alone."""
    alone = rows[0]
    print(f"{passages:,} passages; ratios are to {alone.what}:\n")
    lines = []
    for one in rows:
        clock = (one.seconds, one.encoding or "", one.seconds / alone.seconds)
        processor = (one.cpu_seconds, one.cpu_seconds / alone.cpu_seconds)
        lines.append((one.what, *clock, *processor, one.peak_megabytes, one.disk_megabytes or ""))
    header = ("process", "seconds", "of which encoding", "ratio", "CPU seconds", "ratio", "peak MB", "disk MB")
    common.print_table(header, lines)


def main() -> None:
    arguments = common.parser(__doc__)
    arguments.add_argument("--data", default="2wiki", metavar="NAME")
    arguments.add_argument("--passages", type=int, metavar="N")
    arguments.add_argument("--for", dest="recipe", metavar="RECIPE")
    options = arguments.parse_args()
    corpus = load_dataset(common.data_folder(options.data)).corpus
    passages = [line.content for line in islice(read_lines(corpus), options.passages)]
    with tempfile.TemporaryDirectory() as folder:
        rows = measure_building(passages, Path(folder), options.recipe) + measure_changes(Path(folder))
    show(rows, len(passages))
    common.write_results(options.out, rows)


if __name__ == "__main__":
    main()
