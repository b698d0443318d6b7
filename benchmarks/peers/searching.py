"""Compares searching: our recipes beside bm25s, rank_bm25, LlamaIndex and txtai, on the same passages, vectors, questions and
machine.

    python -m benchmarks.peers.searching --environments DIR [--work DIR] [--data A,B] [--recipes A,B] [--out FILE.json]

All search our passages (the title line and the text) for the 20 best, the dense ones with the vectors of our encoder.
No figure includes the time of the encoder, except that our recipes encode the question, as they do for users. Rankings are scored
as by `hoptrail evaluate --retrieval-only`, on the development questions. Each peer is a separate process, one after the
other; searches are timed one by one, after a warm-up search. A peer that fails or has no environment
(benchmarks/README.md) is left out with the reason.

`--work DIR` keeps the index in DIR/index/NAME, as `hoptrail evaluate --work DIR` does; an existing one is not changed.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from statistics import median

import numpy as np
from benchmarks import common
from benchmarks.peers.searched import Search, Searched, SearchJob, read_searched, search_all

from hoptrail import Index, Watcher
from hoptrail.evaluation.datasets import Dataset, load_dataset
from hoptrail.evaluation.question_run import corpus_ids
from hoptrail.evaluation.retrieval_measures import DEEPEST_CUTOFF, summarise_retrieval
from hoptrail.evaluation.runner import INDEX_FOLDER, corpus_ids_by_document, index_corpus
from hoptrail.retrieval.corpus import Corpus
from hoptrail.types import Kind, Unit

PEERS = {"keyword_peers": "keywords", "llamaindex_search": "llamaindex", "txtai_search": "txtai"}
"""The peers' modules and environments."""
MEASURES = ("recall@2", "recall@5", "recall@10", "recall@20", "full@5")
RECIPES = "bm25,dense,hybrid"
OURS = "hoptrail"


@dataclass(frozen=True, slots=True)
class Row:
    """One system on one data set: scores in hundredths, times of one search in milliseconds, `cpu` the median of all threads'.

    `build_seconds` are None where an index was opened that lies on the disk. `by_hops` are the scores of questions of so many
    hops.
    """

    data: str
    system: str
    version: str
    build_seconds: float | None
    scores: Mapping[str, float]
    by_hops: Mapping[int, Mapping[str, float]]
    p50: float
    p95: float
    cpu: float
    of: common.Origin


@dataclass(frozen=True)
class Pieces:
    """Our passages of a data set's corpus, and the ids that each was made from."""

    dataset: Dataset
    index: Index
    corpus: Corpus

    @cached_property
    def units(self) -> list[Unit]:
        return sorted(self.corpus.snapshot.units(Kind.PASSAGE), key=lambda unit: unit.id)

    @cached_property
    def ids(self) -> list[list[str]]:
        names = corpus_ids_by_document(self.corpus.snapshot, self.dataset)
        return [corpus_ids(unit, names) for unit in self.units]

    def job(self, folder: Path) -> SearchJob:
        """The job; vectors are written to a file in `folder`."""
        questions = [question.question for question in self.dataset.questions]
        mirror = self.corpus.snapshot.search.vectors(Kind.PASSAGE)
        assert list(mirror.ids) == [unit.id for unit in self.units]
        np.save(folder / "vectors.npy", np.concatenate([mirror.matrix, self.corpus.encoder.encode(questions)]))
        texts = [f"{unit.title}\n{unit.text}" if unit.title else unit.text for unit in self.units]
        return SearchJob(texts, questions, DEEPEST_CUTOFF, str(folder / "vectors.npy"))

    def row(self, searched: Searched) -> Row:
        return Row(
            *(self.dataset.name, searched.system, searched.version),
            None if searched.system.startswith(OURS) else searched.build_seconds,
            *self.scores(searched.found),
            *(median(searched.milliseconds), common.percentile(searched.milliseconds, 0.95)),
            median(searched.cpu_milliseconds),
            common.origin_of_data(self.dataset.name),
        )

    def scores(self, found: Iterable[Iterable[int]]) -> tuple[dict[str, float], dict[int, dict[str, float]]]:
        """See `in_hundredths`; of each question the positions that were found."""
        ranked = (tuple(dict.fromkeys(name for row in rows for name in self.ids[row])) for rows in found)
        gold = (question.supporting for question in self.dataset.questions)
        return common.in_hundredths(summarise_retrieval(list(zip(ranked, gold, strict=True))))


def open_pieces(name: str, work: Path) -> Pieces:
    dataset = load_dataset(common.data_folder(name))
    index = Index(work / INDEX_FOLDER / name)
    if not index.folder.exists():
        index_corpus(dataset, RECIPES.split(","), index, Watcher())
    return Pieces(dataset, index, index.recipe("hybrid").corpus)


def ours(pieces: Pieces, recipes: Sequence[str], job: SearchJob) -> Iterator[Searched]:
    place = {unit.id: row for row, unit in enumerate(pieces.units)}

    def build(name: str) -> Search:
        recipe = pieces.index.recipe(name)
        return lambda question: [place[hit.unit.id] for hit in recipe.retrieve(question)[: job.limit]]

    for name in recipes:
        yield search_all(f"{OURS} {name}", OURS, partial(build, name), job)


def interpreters(peers: Mapping[str, str], environments: Path) -> Iterator[tuple[str, Path]]:
    """The peers that have their environments, with the interpreters of these."""
    for peer, environment in peers.items():
        python = environments.absolute() / environment / "bin" / "python"
        if python.exists():
            yield peer, python
        else:
            print(f"{peer} is left out: there is no environment {environment} in {environments}", file=sys.stderr)


def peers(job: SearchJob, environments: Path, folder: Path) -> Iterator[Searched]:
    """The results of all peers, each in its environment."""
    given, made = folder / "job.json", folder / "found.json"
    job.write(given)
    for module, python in interpreters(PEERS, environments):
        ended = common.try_measured([python, "-m", f"benchmarks.peers.{module}", given, made])
        if isinstance(ended, common.Failed):
            print(f"{module} is left out: {ended.why}", file=sys.stderr)
        else:
            yield from read_searched(made)


def measure(name: str, recipes: Sequence[str], work: Path, environments: Path) -> Iterator[Row]:
    pieces = open_pieces(name, work)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        job = pieces.job(folder)
        for searched in (*ours(pieces, recipes, job), *peers(job, environments, folder)):
            yield pieces.row(searched)


def main() -> None:
    arguments = common.parser(__doc__)
    arguments.add_argument("--environments", type=Path, metavar="DIR", required=True)
    arguments.add_argument("--work", type=Path, metavar="DIR", help="keep indexes here")
    arguments.add_argument("--data", default="2wiki,hotpotqa,musique", metavar="A,B")
    arguments.add_argument("--recipes", default=RECIPES, metavar="A,B", help="our recipes, those that rank passages")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or Path(temporary)
        names, recipes = options.data.split(","), options.recipes.split(",")
        rows = [row for name in names for row in measure(name, recipes, work, options.environments)]
    lines = []
    for row in rows:
        built = "on disk" if row.build_seconds is None else row.build_seconds
        scores = (f"{row.scores[name]:.1f}" for name in MEASURES)
        lines.append((row.data, row.system, row.version, built, *scores, row.p50, row.p95, row.cpu))
    header = ("data", "system", "version", "seconds to build", *MEASURES, "p50 ms", "p95 ms", "p50 CPU ms")
    common.print_table(header, lines)
    common.write_results(options.out, rows)


if __name__ == "__main__":
    main()
