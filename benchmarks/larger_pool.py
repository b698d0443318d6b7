"""How much harder a larger pool is: each data set's questions over its own corpus, and over all corpora merged into one.

    python -m benchmarks.larger_pool --work DIR [--data A,B] [--recipes A,B] [--out FILE.json]

The merged corpus holds every passage of every data set beside the repository once: ids are made from content. DIR/pool keeps it
with its index, DIR/NAME the index of one corpus; an existing one is not built again. Measured are recall@5, recall@10 and full@5
of the development questions, and the median CPU milliseconds of a search. Answering is not measured.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks import common

from hoptrail import Index, Watcher
from hoptrail.evaluation.datasets import CORPUS_FILES, QUESTION_FILES, Dataset, first_file, load_dataset
from hoptrail.evaluation.lines import read_lines
from hoptrail.evaluation.question_run import corpus_ids
from hoptrail.evaluation.retrieval_measures import DEEPEST_CUTOFF, JudgedRanking, summarise_retrieval
from hoptrail.evaluation.runner import INDEX_FOLDER, corpus_ids_by_document, index_corpus
from hoptrail.recipes.recipe import Recipe

MEASURES = ("recall@5", "recall@10", "full@5")
POOL = "pool"


@dataclass(frozen=True, slots=True)
class Row:
    """One recipe over one corpus of so many passages; scores in hundredths, `by_hops` those of questions of so many hops."""

    data: str
    recipe: str
    pool: str
    passages: int
    scores: Mapping[str, float]
    by_hops: Mapping[int, Mapping[str, float]]
    cpu_milliseconds: float
    of: common.Origin


def merge_corpora(folder: Path, corpora: Iterable[Path]) -> None:
    """Write each passage of the corpora once into `folder/corpus.jsonl`, in order of corpus and line."""
    folder.mkdir(parents=True, exist_ok=True)
    merged = folder / CORPUS_FILES[0]
    if merged.exists():
        return
    unfinished = folder / "unfinished.jsonl"
    seen: set[str] = set()
    with unfinished.open("w", encoding="utf-8") as lines:
        for corpus in corpora:
            for line in read_lines(corpus):
                passage = {key: line.content[key] for key in ("id", "title", "text")}
                if passage["id"] not in seen:
                    seen.add(passage["id"])
                    lines.write(json.dumps(passage, ensure_ascii=False) + "\n")
    unfinished.rename(merged)


def measure(dataset: Dataset, name: str, pool: str, index: Index, recipes: list[str]) -> Iterator[Row]:
    index_corpus(dataset, recipes, index, Watcher())
    for recipe in recipes:
        judged, milliseconds = _search(dataset, index.recipe(recipe))
        scores = common.in_hundredths(summarise_retrieval(judged))
        of = common.origin_of_data(name)
        yield Row(name, recipe, pool, dataset.passages, *scores, median(milliseconds), of)


def _search(dataset: Dataset, recipe: Recipe) -> tuple[list[JudgedRanking], list[float]]:
    ids = corpus_ids_by_document(recipe.corpus.snapshot, dataset)
    recipe.retrieve(dataset.questions[0].question)
    judged: list[JudgedRanking] = []
    milliseconds = []
    for question in dataset.questions:
        started = time.process_time()
        ranking = recipe.retrieve(question.question)
        milliseconds.append(1000 * (time.process_time() - started))
        ranked = tuple(dict.fromkeys(name for hit in ranking for name in corpus_ids(hit.unit, ids)))
        judged.append((ranked[:DEEPEST_CUTOFF], question.supporting))
    return judged, milliseconds


def main() -> None:
    options = common.parser(__doc__)
    options.add_argument("--work", type=Path, metavar="DIR", required=True)
    options.add_argument("--data", default="2wiki,hotpotqa,musique", metavar="A,B")
    options.add_argument("--recipes", default="bm25,hybrid,trail", metavar="A,B")
    given = options.parse_args()
    names, recipes = given.data.split(","), given.recipes.split(",")
    merge_corpora(given.work / POOL, sorted(path for name in CORPUS_FILES for path in common.DATA.glob(f"*/{name}")))
    merged = Index(given.work / POOL / INDEX_FOLDER)
    rows: list[Row] = []
    for name in names:
        own = load_dataset(common.data_folder(name))
        rows += measure(own, name, "own", Index(given.work / name / INDEX_FOLDER), recipes)
        all_passages = load_dataset(given.work / POOL, first_file(common.data_folder(name), QUESTION_FILES))
        rows += measure(all_passages, name, "all", merged, recipes)
    lines = []
    for row in rows:
        scores = (f"{row.scores[one]:.1f}" for one in MEASURES)
        lines.append((row.data, row.recipe, row.pool, row.passages, *scores, row.cpu_milliseconds))
    common.print_table(("data", "recipe", "pool", "passages", *MEASURES, "CPU ms"), lines)
    common.write_results(given.out, rows)


if __name__ == "__main__":
    main()
