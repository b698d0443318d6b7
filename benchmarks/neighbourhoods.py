"""Measures neighbourhood graphs: the cost of building and updating them beside an exact search, and the gain of NAR at equal
budgets.

    python -m benchmarks.neighbourhoods --work DIR [--data A,B,C] [--sizes N,N] [--budgets N,N] [--peer-python PYTHON]
                                        [--late N] [--out FILE.json]

DIR/NAME/index is the index of a data set, as `hoptrail evaluate --work DIR/NAME` keeps it; missing passages are
built first and not measured. Then, each in a separate process:

    stored   the first data set: both graphs built and written in a copy of its index, one document removed, and one added again
    scaled   links by vectors built in memory over those of the first data set's passages, and over N random vectors
             (whose neighbours are as far away as possible: only time and memory are meaningful); with --peer-python the same by
             faiss, exactly and with one thread, as here
    latency  the first data set: milliseconds of NAR at a budget of 100 per question, first stage included, by scorer; late
             interaction, which reads about twenty passages a second, only over the first N questions (--late)
    found    every data set: recall@5 and @10 and full@10 on the questions themselves, for the first stage alone, reranked,
             and by NAR, with the hybrid scorer; p by a paired randomisation test of NAR against reranking alone

It measures neither the recall of late interaction nor answers.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.common import data_folder, parser, percentile, print_table, run_measured, seconds_of, write_results

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import Writer, writing_to
from hoptrail.documents.read_sources import ReadingLimits
from hoptrail.documents.splitting import PassageLimits
from hoptrail.evaluation.corpus_sources import corpus_ids_by_document
from hoptrail.evaluation.datasets import Dataset, Question, load_dataset
from hoptrail.evaluation.paired_tests import randomisation_p
from hoptrail.evaluation.retrieval_measures import full_at, recall_at
from hoptrail.evaluation.runner import INDEX_FOLDER
from hoptrail.indexing import Watcher, update_index
from hoptrail.language.meter import Meter
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.models.encoder import Encoder, FloatMatrix
from hoptrail.models.encoder_factory import open_encoder
from hoptrail.recipes.sunar import Sunar, SunarSettings
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.passages.adaptive import AdaptiveSettings
from hoptrail.retrieval.passages.scoring import HYBRID
from hoptrail.retrieval.units.dense import dense_search
from hoptrail.retrieval.units.keyword import keyword_search
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.course import ignore
from hoptrail.structures.nearest import Nearest
from hoptrail.structures.neighbours import Bm25Neighbours, DenseNeighbours, DenseNeighbourSettings
from hoptrail.structures.passages import Passages
from hoptrail.types import Kind, Ranking, Usage

GRAPHS = (DenseNeighbours(), Bm25Neighbours())
DIMENSION = 384
DEPTH = 100

PEER = """
import sys, time, faiss, numpy
vectors = numpy.load(sys.argv[1])
faiss.omp_set_num_threads(1)
started = time.process_time()
index = faiss.IndexFlatIP(vectors.shape[1])
index.add(vectors)
index.search(vectors, 11)
print(time.process_time() - started)
"""


@dataclass(frozen=True, slots=True)
class Stored:
    """Seconds in an index of this many passages: building a graph, no change, one document removed, the same one added again."""

    graph: str
    passages: int
    made: float
    nothing_new: float
    one_removed: float
    one_added: float


@dataclass(frozen=True, slots=True)
class Scaled:
    """CPU seconds of finding the neighbours of all rows, ours and the peer's; memory is the peak of the process, including
    vectors and libraries.
    """

    vectors: str
    rows: int
    cpu_seconds: float
    peak_megabytes: float
    peer_cpu_seconds: float | None
    peer_peak_megabytes: float | None
    ratio: float | None


@dataclass(frozen=True, slots=True)
class Latency:
    """Latency of one question; `ms` by the clock, `cpu_ms` of all threads."""

    scorer: str
    questions: int
    p50_ms: float
    p95_ms: float
    p50_cpu_ms: float
    p95_cpu_ms: float


@dataclass(frozen=True, slots=True)
class Found:
    """Means over the questions; `outside` counts gold passages outside the first stage's 100, `reached` those of them that were
    read.
    """

    data: str
    first_stage: str
    way: str
    budget: int
    recall_5: float
    recall_10: float
    full_10: float
    p_recall_10: float | None
    outside: int
    reached: int
    milliseconds: float


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--work", type=Path, required=True, metavar="DIR")
    arguments.add_argument("--data", default="2wiki,hotpotqa,musique", metavar="A,B,C")
    arguments.add_argument("--sizes", default="10000,100000", metavar="N,N")
    arguments.add_argument("--budgets", default="25,50,100", metavar="N,N")
    arguments.add_argument("--peer-python", metavar="PYTHON", help="an interpreter that has faiss")
    arguments.add_argument("--late", type=int, default=10, metavar="N", help="questions read by late interaction")
    arguments.add_argument("--only", help="some of the measurements: stored,scaled,latency,found")
    arguments.add_argument("--child", choices=tuple(CHILDREN), help="used by the program itself")
    arguments.add_argument("--vectors", type=Path, help="used by the program itself")
    chosen = arguments.parse_args()
    if chosen.vectors:
        print(linking_seconds(np.load(chosen.vectors)))
        return
    if chosen.child:
        print(json.dumps([asdict(row) for row in CHILDREN[chosen.child](chosen)]))
        return
    for name in chosen.data.split(","):
        prepare(index_of(chosen.work, name), name)
    modes = chosen.only.split(",") if chosen.only else CHILDREN
    write_results(chosen.out, {mode: run_child(mode, chosen) for mode in modes})


def run_child(mode: str, chosen: Namespace) -> list[dict[str, Any]]:
    """One kind of measurement in a separate process, as a table."""
    own = ["--work", str(chosen.work), "--data", chosen.data, "--sizes", chosen.sizes, "--budgets", chosen.budgets]
    own += ["--late", str(chosen.late)]
    own += ["--peer-python", chosen.peer_python] if chosen.peer_python else []
    done = run_measured([sys.executable, "-m", "benchmarks.neighbourhoods", "--child", mode, *own])
    rows: list[dict[str, Any]] = json.loads(done.output)
    print(f"{mode}: {done.seconds:.0f} s, {done.cpu_seconds:.0f} CPU s, at most {done.peak_megabytes:.0f} MB\n")
    print_table([key.replace("_", " ") for key in rows[0]], [list(row.values()) for row in rows])
    return rows


def index_of(work: Path, name: str) -> Path:
    """The index, also if `evaluate` has put it into a folder of the data set's name."""
    folder = work / name / INDEX_FOLDER
    return folder / name if (folder / name).is_dir() else folder


def prepare(folder: Path, name: str) -> None:
    if not Snapshot.exists(folder):
        corpus = load_dataset(data_folder(name)).corpus
        update_index(folder, [corpus], open_encoder("minilm"), [Passages(PassageLimits())], ReadingLimits(), Watcher())


def context(writer: Writer) -> BuildContext:
    """A build context; nothing is left to encode here."""
    return BuildContext(writer, open_encoder("minilm"), ignore, writer.checkpoint)


def stored(chosen: Namespace) -> list[Stored]:
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(temporary, "index")
        shutil.copytree(index_of(chosen.work, chosen.data.split(",")[0]), copy)
        with writing_to(copy, Snapshot.open(copy).head.encoder) as writer:
            return [measure_graph(writer, graph) for graph in GRAPHS]


def measure_graph(writer: Writer, graph: DenseNeighbours | Bm25Neighbours) -> Stored:
    graph.discard(writer)
    seconds = seconds_of(lambda: graph.update(context(writer)))
    nothing = seconds_of(lambda: graph.update(context(writer)))
    snapshot = writer.snapshot()
    units = sorted(snapshot.units(Kind.PASSAGE), key=lambda unit: unit.id)
    vectors, at = snapshot.search.vectors(Kind.PASSAGE), len(units) // 2
    writer.remove_units(Kind.PASSAGE, {units[at].id})
    removed = seconds_of(lambda: graph.update(context(writer)))
    writer.put_units([units[at]], vectors.matrix[[at]])
    added = seconds_of(lambda: graph.update(context(writer)))
    return Stored(graph.name, len(units), seconds, nothing, removed, added)


def scaled(chosen: Namespace) -> list[Scaled]:
    name = chosen.data.split(",")[0]
    rows = [
        compared(
            name, Snapshot.open(index_of(chosen.work, name)).search.vectors(Kind.PASSAGE).matrix, chosen.peer_python
        )
    ]
    for size in map(int, chosen.sizes.split(",")):
        vectors = np.random.default_rng(0).normal(size=(size, DIMENSION)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        rows.append(compared("by chance", vectors, chosen.peer_python))
    return rows


def compared(name: str, vectors: FloatMatrix, python: str | None) -> Scaled:
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary, "vectors.npy")
        np.save(path, vectors)
        ours = run_measured([sys.executable, "-m", "benchmarks.neighbourhoods", "--work", ".", "--vectors", path])
        seconds = float(ours.output)
        if python is None:
            return Scaled(name, len(vectors), seconds, ours.peak_megabytes, None, None, None)
        peer = run_measured([python, "-c", PEER, path])
        theirs = float(peer.output)
    ratio = seconds / theirs
    return Scaled(name, len(vectors), seconds, ours.peak_megabytes, theirs, peer.peak_megabytes, ratio)


def linking_seconds(vectors: FloatMatrix) -> float:
    """CPU seconds of our links by vectors."""
    started = time.process_time()
    chosen = DenseNeighbourSettings()
    search = Nearest(vectors, chosen.neighbours, chosen.exact_up_to, chosen.probes, chosen.seed)
    search.of(np.arange(len(vectors), dtype=np.int32))
    return time.process_time() - started


def latency(chosen: Namespace) -> list[Latency]:
    name = chosen.data.split(",")[0]
    encoder = open_encoder("minilm")
    corpus = Corpus(with_graphs(index_of(chosen.work, name), encoder), lambda: encoder)
    questions = [question.question for question in load_dataset(data_folder(name)).questions]
    return [
        latency_by(HYBRID, corpus, questions),
        *([latency_by("late-interaction", corpus, questions[: chosen.late])] if chosen.late else []),
    ]


def latency_by(scorer: str, corpus: Corpus, questions: Sequence[str]) -> Latency:
    """Asks the first question once in advance, so that nothing is loaded while the clock runs."""
    language = OfflineLanguage()
    recipe = Sunar(corpus, language, SunarSettings(scorer=scorer))
    clock, busy = [], []
    for question in (questions[0], *questions):
        started, spent = time.perf_counter(), time.process_time()
        recipe.search(question, keyword_search(corpus, question, DEPTH), Meter(language))
        clock.append(1000 * (time.perf_counter() - started))
        busy.append(1000 * (time.process_time() - spent))
    shares = (percentile(times[1:], share) for times in (clock, busy) for share in (0.5, 0.95))
    return Latency(scorer, len(questions), *shares)


def found(chosen: Namespace) -> list[Found]:
    encoder = open_encoder("minilm")
    rows = []
    for name in chosen.data.split(","):
        dataset = load_dataset(data_folder(name))
        corpus = Corpus(with_graphs(index_of(chosen.work, name), encoder), lambda: encoder)
        for first_stage in ("bm25", "dense"):
            rows += Comparison(corpus, dataset, first_stage).rows([int(one) for one in chosen.budgets.split(",")])
    return rows


def with_graphs(folder: Path, encoder: Encoder) -> Snapshot:
    """The index with both graphs, built if they are missing."""
    with writing_to(folder, encoder.identity) as writer:
        for graph in GRAPHS:
            writer.structures[graph.name] = graph.fingerprint
            graph.update(context(writer))
        if writer.changed:
            writer.publish(Usage())
    return Snapshot.open(folder)


class Comparison:
    """Measure one data set and first stage, method by method."""

    def __init__(self, corpus: Corpus, dataset: Dataset, first_stage: str) -> None:
        self.corpus, self.dataset, self.first_stage = corpus, dataset, first_stage
        self.names = corpus_ids_by_document(corpus.snapshot, dataset)
        self.questions = [question for question in dataset.questions if question.supporting]
        search = keyword_search if first_stage == "bm25" else dense_search
        self.first = [search(corpus, question.question, DEPTH) for question in self.questions]

    def rows(self, budgets: Sequence[int]) -> list[Found]:
        made, _ = self._row("first stage", 0, lambda _, first: first, None)
        rows = [made]
        for budget in budgets:
            alone, judged = self._row("reranked", budget, self._search("off", budget), None)
            rows += [alone, self._row("NAR", budget, self._search("vanilla", budget), judged)[0]]
        return rows

    def _search(self, nar: Any, budget: int) -> Callable[[Question, Ranking], Ranking]:
        adaptive = AdaptiveSettings(budget=budget)
        stage: Any = self.first_stage
        language = OfflineLanguage()
        recipe = Sunar(self.corpus, language, SunarSettings(k=10**6, nar=nar, first_stage=stage, adaptive=adaptive))
        return lambda question, first: recipe.search(question.question, first, Meter(language))

    def _row(
        self,
        way: str,
        budget: int,
        search: Callable[[Question, Ranking], Ranking],
        beside: Sequence[float] | None,
    ) -> tuple[Found, list[float]]:
        times, scores, outside, reached = [], [], 0, 0
        for question, first in zip(self.questions, self.first, strict=True):
            started = time.perf_counter()
            order = self._documents(search(question, first))
            times.append(1000 * (time.perf_counter() - started))
            gold = set(question.supporting)
            missing = gold - set(self._documents(first))
            outside, reached = outside + len(missing), reached + len(missing & set(order))
            scores.append((recall_at(5, order, gold), recall_at(10, order, gold), full_at(10, order, gold)))
        recall = [score[1] for score in scores]
        recall_5, recall_10, full_10 = map(float, np.mean(scores, axis=0))
        p = None if beside is None else randomisation_p(np.subtract(recall, beside), seed=0)
        means = (recall_5, recall_10, full_10, p, outside, reached, percentile(times, 0.5))
        return Found(self.dataset.name, self.first_stage, way, budget, *means), recall

    def _documents(self, ranking: Ranking) -> list[str]:
        return list(dict.fromkeys(name for hit in ranking for name in self.names[hit.unit.document]))


CHILDREN: dict[str, Callable[[Namespace], Sequence[Any]]] = {
    "stored": stored,
    "scaled": scaled,
    "latency": latency,
    "found": found,
}


if __name__ == "__main__":
    main()
