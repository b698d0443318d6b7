"""Measures recall of gold passages: our keyword, dense and hybrid search beside bm25s and sentence-transformers.

    python -m benchmarks.retrieval [--work DIR] [--peer-python PYTHON] [--data A,B] [--out FILE.json]

On the development questions, over the whole corpus, searching the title line and the text. Ours goes through
`hoptrail.evaluation` as `hoptrail evaluate --retrieval-only` does; the peers' rankings are scored by the same measures. The
dense peer is exact cosine over vectors of the same published weights, computed by sentence-transformers, so it should agree
with ours except on a question or two. Answers are not covered.

`--work DIR` keeps indexes (in DIR/NAME/index, as `hoptrail evaluate --work DIR/NAME` does) and the peer's vectors.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks import common
from benchmarks.peers.keyword_peers import bm25s_search
from benchmarks.peers.sentence_transformers_peer import nearest_rows, remembered_vectors

from hoptrail import Index, Watcher
from hoptrail.evaluation.datasets import Dataset, Question, load_dataset
from hoptrail.evaluation.retrieval_measures import DEEPEST_CUTOFF, JudgedRanking, summarise_retrieval
from hoptrail.evaluation.runner import INDEX_FOLDER, evaluate

OURS = ("bm25", "dense", "hybrid")
MEASURES = ("recall@2", "recall@5", "recall@10", "recall@20", "full@5")
Search = Callable[[Question], list[str]]


@dataclass(frozen=True, slots=True)
class Row:
    """One system on one data set; `scores` has all measures, in hundredths, `by_hops` the same by number of hops."""

    data: str
    system: str
    questions: int
    scores: Mapping[str, float]
    by_hops: Mapping[int, Mapping[str, float]]
    of: common.Origin


def ours(dataset: Dataset, work: Path) -> list[Row]:
    """Results are computed again every time; only the index is kept."""
    index = Index(work / INDEX_FOLDER)
    with tempfile.TemporaryDirectory() as results:
        report = evaluate(dataset, OURS, index, Path(results), "offline", Watcher(), retrieval_only=True)
    of = common.origin_of_data(dataset.name)
    return [
        Row(
            *(
                dataset.name,
                f"hoptrail {name}",
                found["n"] - found["without_gold"],
                common.in_hundredths(found["retrieval"]),
            ),
            *({int(hops): common.in_hundredths(means) for hops, means in found["by_hops"].items()}, of),
        )
        for name, found in report.to_json()["recipes"].items()
    ]


def judged(dataset: Dataset, system: str, search: Search) -> Row:
    """Score the rankings of a search."""
    rankings = [
        JudgedRanking(tuple(search(question)), frozenset(question.supporting), question.hops)
        for question in dataset.questions
    ]
    summary = summarise_retrieval(rankings)
    scores, by_hops = common.summary_in_hundredths(summary)
    questions = len(rankings) - summary.without_gold
    return Row(dataset.name, system, questions, scores, by_hops, common.origin_of_data(dataset.name))


def by_bm25s(passages: list[common.Passage]) -> Search:
    """A search with bm25s."""
    search = bm25s_search([passage.searchable for passage in passages], DEEPEST_CUTOFF)
    return lambda question: [passages[place].id for place in search(question.question)]


def by_sentence_transformers(dataset: Dataset, passages: list[common.Passage], python: Path, work: Path) -> Search:
    """Exact cosine search over the vectors of sentence-transformers."""
    asked = [question.question for question in dataset.questions]
    vectors = remembered_vectors(python, [*(passage.searchable for passage in passages), *asked], work)
    matrix, questions = vectors[: len(passages)], vectors[len(passages) :]
    vector_of = dict(zip((question.id for question in dataset.questions), questions, strict=True))
    return lambda question: [
        passages[place].id for place in nearest_rows(matrix, vector_of[question.id], DEEPEST_CUTOFF)
    ]


def measure(name: str, work: Path, python: Path | None) -> list[Row]:
    """All systems on one data set."""
    dataset, passages = load_dataset(common.data_folder(name)), common.read_passages(name)
    rows = [*ours(dataset, work), judged(dataset, "bm25s", by_bm25s(passages))]
    if python is not None:
        search = by_sentence_transformers(dataset, passages, python, work)
        rows.append(judged(dataset, "sentence-transformers", search))
    return rows


def main() -> None:
    arguments = common.parser(__doc__)
    arguments.add_argument("--work", type=Path, metavar="DIR", help="keep indexes and the peer's vectors here")
    arguments.add_argument(
        "--peer-python", type=Path, metavar="PYTHON", help="an interpreter with sentence-transformers"
    )
    arguments.add_argument("--data", default="2wiki,hotpotqa,musique", metavar="A,B")
    options = arguments.parse_args()
    if options.peer_python is None:
        print("sentence-transformers is left out: no --peer-python", file=sys.stderr)
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or Path(temporary)
        rows = [row for name in options.data.split(",") for row in measure(name, work / name, options.peer_python)]
    common.print_table(
        ("data", "system", "questions", *MEASURES),
        [(one.data, one.system, one.questions, *(f"{one.scores[name]:.1f}" for name in MEASURES)) for one in rows],
    )
    common.print_table(
        ("data", "system", "hops", *MEASURES),
        [
            (one.data, one.system, str(hops), *(f"{scores[name]:.1f}" for name in MEASURES))
            for one in rows
            for hops, scores in one.by_hops.items()
        ],
    )
    common.write_results(options.out, rows)


if __name__ == "__main__":
    main()
