"""Measures how building and searching grow with the corpus: time, memory and disk by structure, latency by recipe, recall,
exponents.

    python -m benchmarks.growth --work DIR [--sizes N,N] [--structures A,B] [--recipes A,B] [--questions N]
                                [--out FILE.json]

Each size has a generated corpus in DIR/N (`made_corpora.py`: its encoder hashes words, so encoding costs almost nothing). What an
earlier run has built there is not built again, and its figures are kept beside it (DIR/N/built.json). Separate processes measure:

    built      one structure built for the corpus, on top of those it needs. `disk` is the growth of the index folder; peak memory
               is of the whole process, `own` without file pages
    asked      a recipe's retrieval for generated questions, after three warm-up questions; `first` includes opening what it reads
               once; `recall` is the share of the gold passages among its hits; `checked` is the share of the CPU seconds
               of the first question in which arrays are compared with their checksums, `later` that of the others

An exponent is the slope of a line through the logarithms: 1 doubles with the corpus, 0 does not grow. Slopes of few and close
sizes, and of seconds on a busy machine, are rough; CPU seconds are steadier. Answering is not measured.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import common
from benchmarks.made_corpora import MadeCorpus, WordHashes, name_of, write_corpus

LIMIT = 10
WARM = 3


@dataclass(frozen=True, slots=True)
class Built:
    """One structure over one corpus. `disk_megabytes` is what it added."""

    passages: int
    structure: str
    seconds: float
    cpu_seconds: float
    peak_megabytes: float
    own_megabytes: float
    disk_megabytes: float


@dataclass(frozen=True, slots=True)
class Asked:
    """One recipe over one corpus: milliseconds per question, `first` in seconds."""

    passages: int
    recipe: str
    first: float
    median: float
    p95: float
    cpu: float
    recall: float
    checked: float
    later: float
    peak_megabytes: float
    own_megabytes: float


def build(structure: str, folder: Path) -> None:
    """Runs in a separate process."""
    from hoptrail.documents.splitting import PassageLimits
    from hoptrail.index.indexing import BuildLanguage, Watcher, update_index
    from hoptrail.language.factory import LanguageContext, open_language
    from hoptrail.language.tasks import OFFLINE
    from hoptrail.structures.catalogue import structures_by_name, with_foundations

    encoder = WordHashes()
    performer = BuildLanguage(open_language(OFFLINE, LanguageContext(encoder)))
    sources = [] if (folder / "built.json").exists() else [folder / "corpus.jsonl"]
    structures = with_foundations([structure], structures_by_name(PassageLimits()))
    update_index(folder / "index", sources, encoder, structures, Watcher(), performer)


def measure_building(size: int, structures: Iterable[str], folder: Path) -> list[Built]:
    """Measured once and kept beside the index."""
    figures_file = folder / "built.json"
    rows = [Built(**row) for row in json.loads(figures_file.read_text())] if figures_file.exists() else []
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "corpus.jsonl").exists():
        write_corpus(MadeCorpus(size), folder / "corpus.part")
        (folder / "corpus.part").rename(folder / "corpus.jsonl")
    for structure in structures:
        if any(row.structure == structure for row in rows):
            continue
        before = common.size_of(folder / "index")
        done = common.run_measured([sys.executable, "-m", "benchmarks.growth", "--build", structure, folder])
        disk = (common.size_of(folder / "index") - before) / 1e6
        used = (done.seconds, done.cpu_seconds, done.peak_megabytes, done.own_megabytes)
        rows.append(Built(size, structure, *used, disk))
        figures_file.write_text(json.dumps([asdict(row) for row in rows], indent=1), encoding="utf-8")
    return rows


def ask(recipe: str, folder: Path, size: int, number: int) -> None:
    """Runs in a separate process: prints the figures of `Asked` up to `later`."""
    from hoptrail.corpus.arrays import StoredArray
    from hoptrail.index.index import Index

    compare, comparing = vars(StoredArray)["_matches"], [0.0]

    def timed(*given: Any) -> Any:
        began = time.thread_time()
        matches = compare(*given)
        comparing[-1] += time.thread_time() - began
        return matches

    setattr(StoredArray, "_matches", timed)  # noqa: B010 - in this process alone
    index = Index(folder / "index")
    index.encoder = WordHashes()
    questions = list(MadeCorpus(size).questions(number + WARM))
    names = {name for question in questions for name in question.supporting}
    titles = {name: name_of(int(name[1:])) for name in names}
    started, processor = time.perf_counter(), time.process_time()
    opened = index.recipe(recipe, limit=LIMIT)
    opened.retrieve(questions[0].question)
    first, checked = time.perf_counter() - started, comparing[0] / (time.process_time() - processor)
    comparing.append(0.0)
    for question in questions[1:WARM]:
        opened.retrieve(question.question)
    processor, times, found = time.process_time(), [], []
    for question in questions[WARM:]:
        started = time.perf_counter()
        ranking = opened.retrieve(question.question)
        times.append(1000 * (time.perf_counter() - started))
        gold = {titles[name] for name in question.supporting}
        found.append(len(gold & {hit.unit.title for hit in ranking[:LIMIT]}) / len(gold))
    cpu = 1000 * (time.process_time() - processor) / number
    middle = common.percentile(times, 0.5), common.percentile(times, 0.95)
    print(json.dumps([first, *middle, cpu, sum(found) / number, checked, 1000 * comparing[1] / number / cpu]))


def measure_asking(size: int, recipes: Iterable[str], folder: Path, number: int) -> Iterator[Asked]:
    for recipe in recipes:
        command = [sys.executable, "-m", "benchmarks.growth", "--ask", recipe, folder, size, number]
        done = common.try_measured([str(part) for part in command])
        if isinstance(done, common.Failed):
            print(f"{recipe} over {size} passages failed: {done.why}", file=sys.stderr)
            continue
        figures: list[float] = [*json.loads(done.output), done.peak_megabytes, done.own_megabytes]
        yield Asked(size, recipe, *figures)


MEMORY = {"peak memory": "peak_megabytes"}
OF_BUILDING = (
    {"seconds": "seconds", "CPU seconds": "cpu_seconds"}
    | MEMORY
    | {"own memory": "own_megabytes", "disk": "disk_megabytes"}
)
OF_ASKING = {"median": "median", "CPU a question": "cpu"} | MEMORY
"""The fields whose exponents are shown, by the names of the quantities."""


def exponents(built: Sequence[Built], asked: Sequence[Asked]) -> Iterator[tuple[str, str, float]]:
    """The growth of all quantities: slopes of their logarithms over the logarithm of the number of passages."""
    for found, of, fields in ((built, "structure", OF_BUILDING), (asked, "recipe", OF_ASKING)):
        rows = list(map(asdict, found))
        for name in dict.fromkeys(row[of] for row in rows):
            for quantity, field in fields.items():
                points = [(row["passages"], row[field]) for row in rows if row[of] == name and row[field] > 0]
                if len(points) > 1:
                    sizes, values = np.log(points).T
                    yield name, quantity, float(np.polyfit(sizes, values, 1)[0])


BUILDING = ("passages", "structure", "seconds", "CPU seconds", "peak MB", "own MB", "disk MB")
ASKING = (
    *("passages", "recipe", "first (s)", "median", "p95", "CPU", "recall of gold@10", "checked", "later"),
    *("peak MB", "own MB"),
)


def show(built: Sequence[Built], asked: Sequence[Asked]) -> None:
    print("Building, each structure on top of those it needs:\n")
    common.print_table(BUILDING, map(astuple, built))
    print("Searching, milliseconds per question:\n")
    common.print_table(ASKING, map(astuple, asked))
    print("Exponents:\n")
    common.print_table(("what", "quantity", "exponent"), exponents(built, asked))


def main() -> None:
    arguments = common.parser(__doc__)
    arguments.add_argument("--work", type=Path, metavar="DIR")
    arguments.add_argument("--sizes", default="10000,100000", metavar="N,N")
    arguments.add_argument("--structures", default="passages", metavar="A,B", help="in the order of building")
    arguments.add_argument("--recipes", default="bm25,dense,hybrid", metavar="A,B")
    arguments.add_argument("--questions", type=int, default=100, metavar="N")
    arguments.add_argument("--build", nargs=2, metavar=("STRUCTURE", "FOLDER"), help="build one silently")
    arguments.add_argument("--ask", nargs=4, metavar=("RECIPE", "FOLDER", "SIZE", "N"), help="ask, and print the times")
    options = arguments.parse_args()
    if options.build:
        build(options.build[0], Path(options.build[1]))
        return
    if options.ask:
        ask(options.ask[0], Path(options.ask[1]), int(options.ask[2]), int(options.ask[3]))
        return
    if options.work is None:
        arguments.error("--work DIR says where the corpora and indexes are kept")
    built: list[Built] = []
    asked: list[Asked] = []
    for size in map(int, options.sizes.split(",")):
        folder = options.work.resolve() / str(size)
        built += measure_building(size, options.structures.split(","), folder)
        asked += measure_asking(size, options.recipes.split(","), folder, options.questions)
    show(built, asked)
    common.write_results(options.out, {"built": built, "asked": asked})


if __name__ == "__main__":
    main()
