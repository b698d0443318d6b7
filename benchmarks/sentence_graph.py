"""Measures the sentence graph: the cost of building it, its size, what cells miss, and the speed of walking it.

    python -m benchmarks.sentence_graph --work DIR [--data A,B,C] [--sizes N,N] [--out FILE.json]

DIR/NAME/index/NAME is the index of a data set, as `hoptrail evaluate --work DIR/NAME` keeps it; missing passages, extractions by
rules and sentences are built first (encoding the sentences of three corpora takes an hour on two cores) and not measured.
Then, each in a separate process:

    stored   the first data set: links built and written in a copy of its index, one document removed, and the same one added
    scaled   links built in memory over N sentences: those of all data sets, repeated under other names until there are enough.
             Vectors of repeats are rotated a little (cosine about .9), so that no sentence has dozens of twins.

Recall is the share of exact mutual pairs that the cells find too, at 2,000 random sentences. Whether the graph helps to answer
is not measured here: that depends on the recipe that walks it.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.common import (
    data_folder,
    parser,
    percentile,
    print_table,
    run_measured,
    seconds_of,
    size_of,
    write_results,
)
from numpy.typing import NDArray

from hoptrail.corpus.columns import Directed
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import Writer, writing_to
from hoptrail.documents.read_sources import ReadingLimits
from hoptrail.documents.splitting import PassageLimits
from hoptrail.evaluation.datasets import load_dataset
from hoptrail.evaluation.runner import INDEX_FOLDER
from hoptrail.indexing import Performer, Watcher, update_index
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.models.encoder import FloatMatrix
from hoptrail.models.encoder_factory import open_encoder
from hoptrail.retrieval.sentences.graph import SentenceGraph
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.course import ignore
from hoptrail.structures.declaring import Structure
from hoptrail.structures.extractions import Extractions
from hoptrail.structures.linking import mutual_pairs
from hoptrail.structures.nearest import Nearest
from hoptrail.structures.passages import Passages
from hoptrail.structures.sentence_entities import Mentions
from hoptrail.structures.sentence_graph import KINDS, Nodes, SentenceGraphSettings, SentenceLinks, nodes_of
from hoptrail.structures.sentences import Sentences, sentence_places
from hoptrail.types import Kind, Usage

FOUNDATIONS: list[Structure] = [Passages(PassageLimits()), Extractions(), Sentences()]
ENTIRE = 10**9
JUDGED = 2000
TURN = 0.48
"""Length of the random vector that rotates a repeat: the cosine with the original is about .9."""


@dataclass(frozen=True, slots=True)
class KindFigures:
    """Links of one kind: their number, seconds of building them, links per sentence."""

    kind: str
    links: int
    seconds: float
    mean: float
    median: float
    ninth_decile: float
    most: int


@dataclass(frozen=True, slots=True)
class Scaled:
    """`recall` of exact mutual pairs, by cells; `seconds` of all kinds together, with those of each kind in `kinds`."""

    sentences: int
    seconds: float
    peak_megabytes: float
    recall: float
    kinds: tuple[KindFigures, ...]


@dataclass(frozen=True, slots=True)
class Stored:
    """Seconds of building and writing links, of `publish`, of updates; milliseconds of finding the neighbours of 3 sentences."""

    sentences: int
    update: float
    publish: float
    nothing_new: float
    one_document_added: float
    bytes_of_links: int
    open_graph: float
    neighbours_median: float
    neighbours_slow: float
    neighbours_found: float
    question_graph_median: float
    question_graph_slow: float
    peak_megabytes: float = 0.0


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--work", type=Path, required=True, metavar="DIR")
    arguments.add_argument("--data", default="2wiki,hotpotqa,musique", metavar="A,B,C")
    arguments.add_argument("--sizes", default="25000,50000,100000", metavar="N,N")
    arguments.add_argument("--child", choices=("stored", "scaled"), help="used by the program itself")
    chosen = arguments.parse_args()
    names = chosen.data.split(",")
    if chosen.child:
        result = (
            stored(index_of(chosen.work, names[0]))
            if chosen.child == "stored"
            else scaled(chosen.work, names, int(chosen.sizes))
        )
        print(json.dumps(asdict(result)))
        return
    for name in names:
        prepare(index_of(chosen.work, name), name)
    results = run_all(chosen)
    write_results(chosen.out, results)


def index_of(work: Path, name: str) -> Path:
    """The index folder of a data set."""
    return work / name / INDEX_FOLDER / name


def prepare(folder: Path, name: str) -> None:
    """Build missing passages, extractions and sentences."""
    if Snapshot.exists(folder) and Snapshot.open(folder).count(Kind.SENTENCE):
        return
    corpus = load_dataset(data_folder(name)).corpus
    performer = Performer(OfflineLanguage())
    update_index(folder, [corpus], open_encoder("minilm"), FOUNDATIONS, ReadingLimits(), Watcher(), performer)


def run_all(chosen: Namespace) -> dict[str, Any]:
    """Run children one after the other; print their figures as tables."""
    own = ["--work", str(chosen.work), "--data", chosen.data]
    kept, memory = child("stored", own)
    kept["peak_megabytes"] = memory
    print_table(["stored", "value"], [(key.replace("_", " "), value) for key, value in kept.items()])
    sizes = []
    for size in chosen.sizes.split(","):
        found, memory = child("scaled", [*own, "--sizes", size])
        found["peak_megabytes"] = memory
        sizes.append(found)
    print()
    print_table(
        [
            "sentences",
            "seconds",
            "MB",
            "recall",
            *(f"{kind} {what}" for kind in KINDS for what in ("links", "s", "p50", "p90", "max")),
        ],
        [
            (
                found["sentences"],
                found["seconds"],
                found["peak_megabytes"],
                found["recall"],
                *(
                    kind[what]
                    for kind in found["kinds"]
                    for what in ("links", "seconds", "median", "ninth_decile", "most")
                ),
            )
            for found in sizes
        ],
    )
    return {"stored": kept, "scaled": sizes}


def child(mode: str, own: list[str]) -> tuple[dict[str, Any], float]:
    """Run one measurement in a separate process; returns its figures and peak memory."""
    done = run_measured([sys.executable, "-m", "benchmarks.sentence_graph", "--child", mode, *own])
    return json.loads(done.output), done.peak_megabytes


def scaled(work: Path, names: list[str], size: int) -> Scaled:
    """Measure linking `size` sentences in memory."""
    nodes = repeated([read_nodes(index_of(work, name)) for name in names], size)
    kinds = []
    for kind in KINDS:
        links: list[Directed] = []
        seconds = seconds_of(lambda kind=kind, links=links: links.append(nodes.all_pairs(kind)))  # type: ignore[misc]
        kinds.append(figures(kind, links[0], seconds, size))
    total = sum(kind.seconds for kind in kinds)
    return Scaled(len(nodes), total, 0.0, recall(nodes), tuple(kinds))


def read_nodes(folder: Path) -> Nodes:
    """The sentences of an index, ready for linking."""
    snapshot = Snapshot.open(folder)
    return nodes_of(snapshot, sentence_places(snapshot), SentenceGraphSettings())


def figures(kind: str, pairs: Directed, seconds: float, size: int) -> KindFigures:
    """The figures of one kind of link."""
    degrees = np.bincount(pairs.sources, minlength=size) + np.bincount(pairs.targets, minlength=size)
    median, high = np.percentile(degrees, [50, 90])
    return KindFigures(
        kind, len(pairs), seconds, float(degrees.mean()), float(median), float(high), int(degrees.max(initial=0))
    )


def recall(nodes: Nodes) -> float:
    """The recall of exact mutual pairs at some rows."""
    size, settings = len(nodes), nodes.settings
    rows = np.sort(np.random.default_rng(1).choice(size, min(size, JUDGED), replace=False)).astype(np.int32)

    def pairs(exact_up_to: int) -> set[int]:
        search = Nearest(nodes.vectors(), settings.neighbours, exact_up_to, settings.probes, settings.seed)
        return set(mutual_pairs(search.portions, rows, size).keys.tolist())

    exact = pairs(ENTIRE)
    return len(exact & pairs(0)) / max(1, len(exact))


def repeated(parts: list[Nodes], size: int) -> Nodes:
    """The rows of all parts, repeated, up to `size` of them."""
    chance = np.random.default_rng(0)
    passages: list[NDArray[np.int32]] = []
    starts: list[NDArray[np.int64]] = []
    vectors: list[FloatMatrix] = []
    named: list[tuple[Mentions, int]] = []
    rows = 0
    while rows < size:
        for part in parts:
            first_passage = 1 + max((int(numbers.max(initial=-1)) for numbers in passages), default=-1)
            passages.append(part.passages + np.int32(first_passage))
            starts.append(part.starts)
            named.append((part.mentions, rows))
            vectors.append(part.vectors() if len(vectors) < len(parts) else turned(part.vectors(), chance))
            rows += len(part)
    matrix = np.concatenate(vectors)[:size]
    mentions = merged(named, size)
    return Nodes(
        np.concatenate(passages)[:size], np.concatenate(starts)[:size], mentions, lambda: matrix, parts[0].settings
    )


def turned(vectors: FloatMatrix, chance: np.random.Generator) -> FloatMatrix:
    """Vectors rotated a little in random directions."""
    noise = chance.normal(size=vectors.shape).astype(np.float32)
    moved = vectors + TURN * noise / np.linalg.norm(noise, axis=1, keepdims=True)
    unit: FloatMatrix = moved / np.linalg.norm(moved, axis=1, keepdims=True)
    return unit


def merged(named: Iterable[tuple[Mentions, int]], size: int) -> Mentions:
    """Mentions of consecutive rows; the same entity in several parts counts as one."""
    parts = list(named)
    digests = np.unique(np.concatenate([mentions.digests for mentions, _ in parts]))
    rows = np.concatenate([mentions.rows + np.int32(offset) for mentions, offset in parts])
    entities = np.concatenate(
        [digests.searchsorted(mentions.digests)[mentions.entities].astype(np.int32) for mentions, _ in parts]
    )
    order = np.lexsort((entities, rows))
    order = order[rows[order] < size]
    return Mentions(digests, rows[order], entities[order])


def stored(folder: Path) -> Stored:
    """Measure building, writing and updating links in a copy of an index."""
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(temporary, "index")
        shutil.copytree(folder, copy)
        identity = Snapshot.open(copy).head.encoder
        with writing_to(copy, identity) as writer:
            links = SentenceLinks()
            links.discard(writer)
            writer.publish(Usage())
            without = size_of(copy)
            update = seconds_of(lambda: links.update(context(writer)))
            publish = seconds_of(lambda: writer.publish(Usage()))
            nothing = seconds_of(lambda: links.update(context(writer)))
            added = add_again(writer, links)
            writer.publish(Usage())
        size = size_of(copy) - without
        partly = Stored(0, update, publish, nothing, added, size, *[0.0] * 6)
        return walked(partly, Snapshot.open(copy))


def context(writer: Writer) -> BuildContext:
    """A build context; nothing is left to encode here."""
    return BuildContext(writer, open_encoder("minilm"), ignore, writer.checkpoint)


def add_again(writer: Writer, links: SentenceLinks) -> float:
    """Seconds of linking one document's sentences, after their links have been removed."""
    snapshot = writer.snapshot()
    document = snapshot.register.entries[len(snapshot.register.entries) // 2].id
    vectors = snapshot.search.vectors(Kind.SENTENCE)
    units = [unit for unit in snapshot.units(Kind.SENTENCE) if unit.document == document]
    rows = [vectors.ids.index(unit.id) for unit in units]
    writer.remove_units(Kind.SENTENCE, {unit.id for unit in units})
    writer.put_units(units, vectors.matrix[rows])
    return seconds_of(lambda: links.update(context(writer)))


def walked(partly: Stored, snapshot: Snapshot) -> Stored:
    """The same with the times of opening and walking the graph."""
    opening = seconds_of(lambda: SentenceGraph.of(snapshot))
    graph = SentenceGraph.of(snapshot)
    chance = np.random.default_rng(2)
    times, found = [], []
    for _ in range(1000):
        seeds = [graph.ids[row] for row in chance.choice(len(graph.ids), 3, replace=False)]
        times.append(1000 * seconds_of(lambda seeds=seeds: found.append(len(graph.neighbours(seeds)))))  # type: ignore[misc]
    passages = sorted(snapshot.units(Kind.PASSAGE), key=lambda unit: unit.id)
    questions = []
    for _ in range(50):
        some = [passages[at] for at in chance.choice(len(passages), min(10, len(passages)), replace=False)]
        questions.append(1000 * seconds_of(lambda some=some: SentenceGraph.over(some, snapshot)))  # type: ignore[misc]
    return replace(
        partly,
        sentences=len(graph.ids),
        open_graph=opening,
        neighbours_median=percentile(times, 0.5),
        neighbours_slow=percentile(times, 0.95),
        neighbours_found=float(np.median(found)),
        question_graph_median=percentile(questions, 0.5),
        question_graph_slow=percentile(questions, 0.95),
    )


if __name__ == "__main__":
    main()
