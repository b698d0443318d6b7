"""Compares a corpus in shards with the same corpus in one index: the same hits, recall, CPU time.

    python -m benchmarks.shards --work DIR [--data A,B] [--recipes A,B] [--shards N] [--out FILE.json]

Both are built in DIR for each data set, unless an earlier run has. The shards are asked in this process one after another, so
their CPU times add up what several machines would do at once.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks import common

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.documents.splitting import CorpusPart
from hoptrail.evaluation.datasets import Dataset, load_dataset
from hoptrail.evaluation.question_run import corpus_ids
from hoptrail.evaluation.retrieval_measures import JudgedRanking, summarise_retrieval
from hoptrail.evaluation.runner import corpus_ids_by_document
from hoptrail.index.index import Index
from hoptrail.index.settings import Settings
from hoptrail.types import Ranking
from hoptrail_scale.sharding.building import build_part
from hoptrail_scale.sharding.shard import LocalShards
from hoptrail_scale.sharding.sharded_index import RECIPES, ShardedIndex

WHOLE = "whole"
MEASURES = ("recall@5", "full@5", "recall@10")


@dataclass(frozen=True, slots=True)
class Row:
    """One recipe over one corpus. `same` counts the questions to which both give the same hits in the same order; pairs are (one
    index, shards), scores in hundredths.
    """

    data: str
    recipe: str
    shards: int
    questions: int
    same: int
    scores: tuple[dict[str, float], ...]
    cpu_milliseconds: tuple[float, ...]
    of: common.Origin


def build(data: Dataset, folder: Path, count: int) -> tuple[Index, ShardedIndex]:
    """The index and its shards, built unless they are there."""
    whole, parts = Index(folder / WHOLE), [CorpusPart(number, count) for number in range(1, count + 1)]
    if whole.is_empty:
        whole.add(data.corpus, ["trail"])
    for part in parts:
        if not Snapshot.exists(folder / str(part)):
            build_part(folder / str(part), [data.corpus], ["trail"], Settings(), part, whole.encoder)
    return whole, ShardedIndex(LocalShards([folder / str(part) for part in parts]))


def measure(name: str, data: Dataset, both: tuple[Index, ShardedIndex], recipe: str, shards: int) -> Row:
    with both[0].reading() as snapshot:
        ids = corpus_ids_by_document(snapshot, data)
    same = 0
    judged: tuple[list[JudgedRanking], list[JudgedRanking]] = ([], [])
    spent: tuple[list[float], list[float]] = ([], [])
    for question in data.questions:
        found: list[Ranking] = []
        for search, rankings, milliseconds in zip((both[0].search, both[1].search), judged, spent, strict=True):
            started = time.process_time()
            found.append(search(question.question, recipe))
            milliseconds.append(1000 * (time.process_time() - started))
            ranked = dict.fromkeys(name for hit in found[-1] for name in corpus_ids(hit.unit, ids))
            rankings.append((tuple(ranked), question.supporting))
        here, there = ([hit.unit.id for hit in ranking] for ranking in found)
        same += here == there
    scores = tuple(common.in_hundredths(summarise_retrieval(rankings))[0] for rankings in judged)
    times = tuple(map(median, spent))
    return Row(name, recipe, shards, len(data.questions), same, scores, times, common.origin_of_data(name))


def table(rows: Sequence[Row]) -> None:
    lines = []
    for row in rows:
        scores = (" / ".join(f"{part[one]:.1f}" for part in row.scores) for one in MEASURES)
        times = " / ".join(map(common.shown, row.cpu_milliseconds))
        lines.append((f"{row.data} {row.recipe}", f"{row.same} of {row.questions}", *scores, times))
    common.print_table(("one index / shards", "same hits", *MEASURES, "CPU ms"), lines)


def main() -> None:
    options = common.parser(__doc__)
    options.add_argument("--work", type=Path, metavar="DIR", required=True)
    options.add_argument("--data", default="2wiki,musique", metavar="A,B")
    options.add_argument("--recipes", default=",".join(RECIPES), metavar="A,B")
    options.add_argument("--shards", type=int, default=4, metavar="N")
    given = options.parse_args()
    rows = []
    for name in given.data.split(","):
        data = load_dataset(common.data_folder(name))
        both = build(data, given.work / name, given.shards)
        rows += [measure(name, data, both, recipe, given.shards) for recipe in given.recipes.split(",")]
    table(rows)
    common.write_results(given.out, rows)


if __name__ == "__main__":
    main()
