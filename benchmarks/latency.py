"""Measures search latency: our keyword and dense search beside bm25s and a plain NumPy product, and the cost of opening.

    python -m benchmarks.latency [--units N,N] [--questions N] [--out FILE.json]

Indexes of 6,119 units (the corpus of 2wiki) and of 100,000 (all corpora beside the repository, each passage once unchanged,
then mixtures of two until there are enough, so that words keep their frequencies). Vectors are random unit vectors written
through the store: search does not depend on their origin, and nothing is encoded. Questions are those of the
development sets; a dense question is a random vector too, since `encoders.py` measures the encoding of questions.

Ours and the peer alternate, question by question, in one process, so that other load affects both; `ratio` is of
medians. CPU time counts all threads. Ours returns units with texts and sources read from disk, the peers positions in a list.
Opening is measured in a separate process for each kind of search, together with its peak memory.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
from benchmarks.common import (
    DATA,
    Passage,
    data_folder,
    parser,
    percentile,
    print_table,
    read_passages,
    run_measured,
    write_results,
)
from benchmarks.peers.keyword_peers import Bm25s
from benchmarks.peers.sentence_transformers_peer import Matrix, nearest_rows

from hoptrail import Kind, Span, Unit, Usage
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import writing_to
from hoptrail.evaluation.datasets import load_dataset
from hoptrail.models.encoder import Encoder, EncoderIdentity
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.units.dense import nearest
from hoptrail.retrieval.units.keyword import keyword_search

DIMENSION = 384
LIMIT = 20
BLOCK = 4096
SEED = 20260401
IDENTITY = EncoderIdentity("random", "0" * 64, DIMENSION)
QUESTION_SETS = ("2wiki", "hotpotqa", "musique")


@dataclass(frozen=True, slots=True)
class Latency:
    """One search over one index, in milliseconds per question."""

    units: int
    search: str
    median: float
    p95: float
    cpu: float
    peer: str
    peer_median: float
    peer_p95: float
    peer_cpu: float


@dataclass(frozen=True, slots=True)
class Opening:
    """A process that opens an index and asks one question, in seconds; `imports` comes first."""

    units: int
    search: str
    imports: float
    opening: float
    first: float
    second: float
    peak_megabytes: float


def make_passages(number: int) -> list[Passage]:
    """The passages of 2wiki, then of all corpora, then mixtures: the first half of one's words with the second of another's."""
    names = ["2wiki", *sorted(folder.name for folder in DATA.iterdir() if any(folder.glob("corpus.jsonl*")))]
    real: dict[str, Passage] = {}
    for name in dict.fromkeys(names):
        if len(real) < number:
            real |= {passage.id: passage for passage in read_passages(name)}
    passages, chance = list(real.values())[:number], random.Random(SEED)
    for place in range(len(passages), number):
        one, other = chance.choice(passages), chance.choice(passages)
        words = one.text.split()[::2] + other.text.split()[1::2]
        passages.append(Passage(f"m{place}", one.title, " ".join(words)))
    return passages


def make_vectors(number: int, seed: int) -> Matrix:
    """Random unit vectors, shape (number, DIMENSION)."""
    vectors = np.random.default_rng(seed).standard_normal((number, DIMENSION), dtype=np.float32)
    scaled: Matrix = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return scaled


def make_index(passages: Sequence[Passage], vectors: Matrix, folder: Path) -> float:
    """Write and publish; returns the seconds. Documents are left out: searching does not read them."""
    units = [
        Unit(one.id, Kind.PASSAGE, one.title, one.text, (Span(f"d{one.id}", 0, len(one.text)),)) for one in passages
    ]
    started = time.perf_counter()
    with writing_to(folder, IDENTITY) as writer:
        for start in range(0, len(units), BLOCK):
            writer.put_units(units[start : start + BLOCK], vectors[start : start + BLOCK])
        writer.publish(Usage())
    return time.perf_counter() - started


def questions(number: int) -> list[str]:
    """Questions from each set in turn."""
    sets = [load_dataset(data_folder(name)).questions for name in QUESTION_SETS]
    return [question.question for together in zip(*sets, strict=False) for question in together][:number]


def no_encoder() -> Encoder:
    """Fails: no encoder may be opened."""
    raise AssertionError("vectors are given here")


Timed = tuple[list[float], float]


def take_turns(ours: Callable[[int], object], peer: Callable[[int], object], number: int) -> tuple[Timed, Timed]:
    """Milliseconds of each call, and CPU milliseconds per call. The first twentieth is warm-up and not counted."""
    warm = max(3, number // 20)
    results: tuple[Timed, Timed] = ([], 0.0), ([], 0.0)
    for place in range(number):
        timed = [_timed(work, place) for work in ((ours, peer) if place % 2 else (peer, ours))]
        if place >= warm:
            pair = timed if place % 2 else timed[::-1]
            results = tuple(  # type: ignore[assignment]  # two in, two out
                ([*each, wall], cpu + spent) for (each, cpu), (wall, spent) in zip(results, pair, strict=True)
            )
    counted = number - warm
    (one, one_cpu), (other, other_cpu) = results
    return (one, one_cpu / counted), (other, other_cpu / counted)


def _timed(work: Callable[[int], object], place: int) -> tuple[float, float]:
    started, processor = time.perf_counter(), time.process_time()
    work(place)
    return 1000 * (time.perf_counter() - started), 1000 * (time.process_time() - processor)


def latency(units: int, search: str, ours: Timed, peer: str, theirs: Timed) -> Latency:
    """The row of one search and its peer."""
    (one, one_cpu), (other, other_cpu) = ours, theirs
    return Latency(
        units,
        search,
        percentile(one, 0.5),
        percentile(one, 0.95),
        one_cpu,
        peer,
        percentile(other, 0.5),
        percentile(other, 0.95),
        other_cpu,
    )


def measure_search(passages: Sequence[Passage], vectors: Matrix, folder: Path, number: int) -> Iterator[Latency]:
    """Measure keyword and dense search beside their peers."""
    asked, corpus = questions(number), Corpus(Snapshot.open(folder), no_encoder)
    asked_vectors, bm25s = make_vectors(len(asked), SEED + 1), Bm25s([one.searchable for one in passages])
    turns = take_turns(
        lambda place: keyword_search(corpus, asked[place], LIMIT),
        lambda place: bm25s.search(asked[place], LIMIT),
        len(asked),
    )
    yield latency(len(passages), "keyword", turns[0], "bm25s in memory", turns[1])
    turns = take_turns(
        lambda place: nearest(corpus, asked_vectors[place], LIMIT, Kind.PASSAGE),
        lambda place: nearest_rows(vectors, asked_vectors[place], LIMIT),
        len(asked),
    )
    yield latency(len(passages), "dense", turns[0], "NumPy product", turns[1])


def open_once(search: str, folder: Path) -> None:
    """Runs in a separate process: import what is needed, open, ask twice, print the seconds of each."""
    started = time.perf_counter()
    for module in ("apsw",):
        import_module(module)
    points = [time.perf_counter()]
    corpus = Corpus(Snapshot.open(folder), no_encoder)
    points.append(time.perf_counter())
    vector = make_vectors(1, SEED)[0]
    for question in ("Who designed the bridge?", "Where was the director of the film born?"):
        if search == "keyword":
            keyword_search(corpus, question, LIMIT)
        else:
            nearest(corpus, vector, LIMIT, Kind.PASSAGE)
        points.append(time.perf_counter())
    print(json.dumps([after - before for before, after in zip([started, *points], points, strict=False)]))


def measure_opening(units: int, folder: Path) -> Iterator[Opening]:
    """Measure opening in separate processes."""
    for search in ("keyword", "dense"):
        done = run_measured([sys.executable, "-m", "benchmarks.latency", "--opening", search, str(folder)])
        imports, opening, first, second = json.loads(done.output)
        yield Opening(units, search, imports, opening, first, second, done.peak_megabytes)


def show(latencies: Sequence[Latency], openings: Sequence[Opening]) -> None:
    """Print both tables."""
    print("Milliseconds per question:\n")
    print_table(
        ("units", "search", "median", "p95", "CPU", "peer", "its median", "its p95", "its CPU", "ratio"),
        [(*astuple(one), one.median / one.peer_median) for one in latencies],
    )
    print("Seconds from the start of a process (the first dense question reads all vectors into memory):\n")
    print_table(
        ("units", "search", "imports", "opening", "first question", "second", "peak MB"),
        [astuple(one) for one in openings],
    )


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--units", default="6119,100000", metavar="N,N")
    arguments.add_argument("--questions", type=int, default=300, metavar="N")
    arguments.add_argument("--opening", nargs=2, metavar=("SEARCH", "FOLDER"), help="measure one opening and print it")
    options = arguments.parse_args()
    if options.opening:
        open_once(options.opening[0], Path(options.opening[1]))
        return
    latencies: list[Latency] = []
    openings: list[Opening] = []
    for units in map(int, options.units.split(",")):
        passages, vectors = make_passages(units), make_vectors(units, SEED)
        with tempfile.TemporaryDirectory() as folder:
            seconds = make_index(passages, vectors, Path(folder))
            print(f"{units:,} units were written in {seconds:.1f} s, without encoding", file=sys.stderr)
            latencies += measure_search(passages, vectors, Path(folder), options.questions)
            openings += measure_opening(units, Path(folder))
    show(latencies, openings)
    write_results(options.out, {"searches": latencies, "openings": openings})


if __name__ == "__main__":
    main()
