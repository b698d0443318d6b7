"""Compares clusterings by how well they keep together what a question needs, and their cost: ours, RAPTOR's, spherical k-means.

    python -m benchmarks.clustering [--work DIR] [--data A,B] [--out FILE.json]

Over the passages of the corpus and the gold pairs of the development questions: two passages that support the same question, or
occur in its context if that is given ("all"). Many memberships or large groups cover pairs easily, so the output also has
the number of pairs predicted; the last row enlarges our groups until they predict as many pairs as RAPTOR's.
`leaves a summary` counts all levels above the passages together, as table 3 of the paper (there 7.5 to 16), with the mean
of a group's vectors in place of its summary's: at most three levels, and none above a single group.

RAPTOR's packages come with the extra (`pip install hoptrail[raptor]`); without them its rows and k-means are left out. UMAP
compiles in every new process, which is a separate row. Nothing is summarised or searched.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from benchmarks.common import data_folder, parser, print_table, write_results

from hoptrail import Index, Kind
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.evaluation.clusterings import Pair, coverage, gold_pairs, pairs_of
from hoptrail.evaluation.datasets import Dataset, load_dataset
from hoptrail.evaluation.runner import INDEX_FOLDER
from hoptrail.models.encoder import FloatMatrix
from hoptrail.structures.clustering import ClusteringSettings, Groups, open_clusterer

DATA = ("2wiki",)
LEIDEN = ClusteringSettings()
RAPTOR = ClusteringSettings(method="raptor")
LEVELS = 3
COMPILED_ON = 4200
"""Number of rows: from 4,096 on UMAP finds neighbours in another way, and compiles that too."""
LARGER = (12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
HAS_RAPTOR = find_spec("umap") is not None
Cluster = Callable[[FloatMatrix, Sequence[int]], Groups]


@dataclass(frozen=True, slots=True)
class Corpus:
    """Passages of one data set: `ids` are their ids in the data (parts of one passage share it)."""

    dataset: Dataset
    ids: tuple[str, ...]
    vectors: FloatMatrix
    words: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """Coverages in hundredths; `pairs` is how many pairs of passages are predicted."""

    data: str
    method: str
    groups: int
    rows_a_group: float
    leaves_a_summary: float
    memberships: float
    largest: int
    pairs: int
    coverage: float
    coverage_all: float
    cpu_seconds: float
    seconds: float


def read_corpus(name: str, work: Path) -> Corpus:
    """Read the corpus, indexing it first if necessary."""
    dataset = load_dataset(data_folder(name))
    folder = work / name / INDEX_FOLDER
    Index(folder).add([dataset.corpus], ("dense",))
    snapshot = Snapshot.open(folder)
    mirror = snapshot.search.vectors(Kind.PASSAGE)
    units = {unit.id: unit for unit in snapshot.units(Kind.PASSAGE)}
    read_under = {entry.id: entry.sources[0].rpartition("#")[2] for entry in snapshot.register.entries}
    ids = tuple(read_under[units[one].document] for one in mirror.ids)
    return Corpus(dataset, ids, mirror.matrix, tuple(len(units[one].text.split()) for one in mirror.ids))


def timed(cluster: Cluster, vectors: FloatMatrix, words: Sequence[int]) -> tuple[Groups, float, float]:
    """Groups, CPU seconds of all threads, seconds."""
    cpu, started = time.process_time(), time.perf_counter()
    groups = cluster(vectors, words)
    return groups, time.process_time() - cpu, time.perf_counter() - started


def measure(corpus: Corpus, method: str, cluster: Cluster) -> Row:
    """Measure one clustering of a corpus."""
    groups, cpu_seconds, seconds = timed(cluster, corpus.vectors, corpus.words)
    print(f"{corpus.dataset.name}: {method}, {cpu_seconds:.1f} CPU seconds", file=sys.stderr, flush=True)
    predicted = predicted_pairs(corpus, groups)
    gold, everything = (gold_pairs(corpus.dataset.questions, with_candidates=given) for given in (False, True))
    return Row(
        corpus.dataset.name,
        method,
        len(groups),
        len(corpus.ids) / len(groups),
        len(corpus.ids) / count_summaries(corpus.vectors, groups, cluster),
        sum(map(len, groups)) / len(corpus.ids),
        max(map(len, groups)),
        len(predicted),
        100 * coverage(predicted, gold),
        100 * coverage(predicted, everything),
        cpu_seconds,
        seconds,
    )


def predicted_pairs(corpus: Corpus, groups: Iterable[Sequence[int]]) -> frozenset[Pair]:
    """The pairs of passages that share a group."""
    return pairs_of([corpus.ids[row] for row in group] for group in groups)


def count_summaries(vectors: FloatMatrix, groups: Groups, cluster: Cluster) -> int:
    """Number of groups on all levels; above the passages, words are not counted, since summaries are short."""
    summaries = len(groups)
    for _ in range(LEVELS - 1):
        if len(groups) == 1:
            break
        means = np.stack([vectors[list(group)].mean(axis=0) for group in groups])
        vectors = means / np.linalg.norm(means, axis=1, keepdims=True)
        groups = cluster(vectors, [1] * len(vectors))
        summaries += len(groups)
    return summaries


def spherical_k_means(vectors: FloatMatrix, words: Sequence[int]) -> Groups:
    """Spherical k-means of scikit-learn with as many clusters as our target size implies; one membership per row, no caps."""
    from sklearn.cluster import KMeans

    labels = KMeans(max(1, len(words) // LEIDEN.target), n_init=1, random_state=0).fit_predict(vectors)
    return Groups.of(np.flatnonzero(labels == label) for label in np.unique(labels))


def as_many_pairs(corpus: Corpus, pairs: int) -> Row | None:
    """Our largest groups that predict at most this many pairs; None if even the smallest predict more."""
    best: ClusteringSettings | None = None
    for target in LARGER:
        wider = replace(LEIDEN, target=target, largest=4 * target)
        if len(predicted_pairs(corpus, open_clusterer(wider)(corpus.vectors, corpus.words))) > pairs:
            break
        best = wider
    return measure(corpus, f"leiden, target {best.target}", open_clusterer(best)) if best else None


def compile_raptor(corpus: Corpus) -> tuple[float, float]:
    """CPU seconds and seconds of a first run on some of the rows, minus those of a second; small mixtures suffice."""
    cluster = open_clusterer(replace(RAPTOR, components=2))
    vectors, words = corpus.vectors[:COMPILED_ON], corpus.words[:COMPILED_ON]
    (_, cpu, seconds), (_, cpu_again, again) = (timed(cluster, vectors, words) for _ in range(2))
    return cpu - cpu_again, seconds - again


def measure_all(corpus: Corpus) -> list[Row]:
    """All methods on one corpus."""
    rows = [measure(corpus, "leiden (default)", open_clusterer(LEIDEN))]
    rows.append(measure(corpus, "leiden, one membership", open_clusterer(replace(LEIDEN, memberships=1))))
    if not HAS_RAPTOR:
        return rows
    rows.append(measure(corpus, "spherical k-means", spherical_k_means))
    rows.append(measure(corpus, "raptor", open_clusterer(RAPTOR)))
    wider = as_many_pairs(corpus, rows[-1].pairs)
    return [*rows, wider] if wider else rows


def ratios(rows: Sequence[Row]) -> list[tuple[str, str, float, float, float, float]]:
    """Each method relative to RAPTOR on the same data: pairs, coverage, CPU seconds, seconds."""
    raptor = {row.data: row for row in rows if row.method == "raptor"}
    compared = ((one, raptor[one.data]) for one in rows if one.method != "raptor")
    return [
        (
            one.data,
            one.method,
            one.pairs / peer.pairs,
            one.coverage / peer.coverage,
            one.cpu_seconds / peer.cpu_seconds,
            one.seconds / peer.seconds,
        )
        for one, peer in compared
    ]


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--work", type=Path, metavar="DIR", help="keep indexes here")
    arguments.add_argument("--data", default=",".join(DATA), metavar="A,B")
    options = arguments.parse_args()
    rows: list[Row] = []
    compiling: tuple[float, float] | None = None
    if not HAS_RAPTOR:
        print("the extra raptor is not installed: only our clustering is measured", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        for name in options.data.split(","):
            corpus = read_corpus(name, options.work or Path(temporary))
            if HAS_RAPTOR and compiling is None:
                compiling = compile_raptor(corpus)
            rows += measure_all(corpus)
    header = ("data", "method", "groups", "rows a group", "leaves a summary", "memberships", "largest", "pairs")
    print_table(
        (*header, "coverage", "coverage of all", "CPU s", "s"),
        [tuple(getattr(row, name) for name in Row.__slots__) for row in rows],
    )
    if compiling is not None:
        print_table(("beside raptor (1)", "method", "pairs", "coverage", "CPU s", "s"), ratios(rows))
        print_table(("", "CPU s", "s"), [("raptor compiles first", *compiling)])
    write_results(options.out, {"rows": rows, "raptor_compiles": compiling})


if __name__ == "__main__":
    main()
