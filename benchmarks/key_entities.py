"""Counts the links by shared entities (EC) of ChainRAG's sentence graph beside those by the paper's formula, written out here.

    python -m benchmarks.key_entities --work DIR [--data musique] [--questions N]

Each question that has passages of its own gets a graph of these. hoptrail builds it with `--settings paper:chainrag`. The formula
is BM25 as rank_bm25 has it (a word in more than half of the texts weighs a quarter of the mean), the mean of an entity's scores
over all sentences, and of the entities those at the 40th percentile or above. Both sides have the same sentences and mentions.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path
from statistics import fmean

import numpy as np
from benchmarks.common import data_folder, parser, print_table, write_results

from hoptrail import Index
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.evaluation.datasets import load_dataset
from hoptrail.evaluation.runner import Contexts, index_corpus
from hoptrail.index.indexing import Watcher
from hoptrail.index.settings import load_settings
from hoptrail.text.normal_forms import folded
from hoptrail.types import Kind

RECIPE = "chainrag:paper"


@dataclass(frozen=True, slots=True)
class Links:
    """Pairs of sentences linked by entities: all that share one, those by the formula, those that hoptrail stores."""

    questions: int
    all: int
    by_formula: int
    stored: int


def entities_by_sentence(snapshot: Snapshot) -> list[set[str]]:
    facts = [fact for _, extraction in snapshot.extractions() for fact in extraction.facts]
    return [
        {
            folded(name)
            for fact in facts
            if fact.source.document == place.document
            and fact.source.start < place.end
            and place.start < fact.source.end
            for name in fact.entities
        }
        for place in (unit.sources[0] for unit in snapshot.units(Kind.SENTENCE))
    ]


def key_by_formula(sentences: list[set[str]], percentile: float = 40) -> set[str]:
    size, mean = len(sentences), fmean(map(len, sentences))
    counts = Counter(name for sentence in sentences for name in sentence)
    idf = {name: math.log(size - count + 0.5) - math.log(count + 0.5) for name, count in counts.items()}
    floor = 0.25 * fmean(idf.values()) if idf else 0.0
    importance = {
        name: fmean(
            (floor if value < 0 else value) * 2.5 / (1 + 1.5 * (0.25 + 0.75 * len(one) / mean)) if name in one else 0.0
            for one in sentences
        )
        for name, value in idf.items()
    }
    least = np.percentile(list(importance.values()), percentile) if importance else 0.0
    return {name for name, value in importance.items() if value >= least}


def count(contexts: Contexts) -> Links:
    found = Links(0, 0, 0, 0)
    for _, alone, index in contexts.open_each():
        index_corpus(alone, [RECIPE], index, Watcher())
        snapshot = Snapshot.open(index.folder)
        sentences = entities_by_sentence(snapshot)
        key = key_by_formula(sentences)
        pairs = list(combinations(sentences, 2))
        found = Links(
            found.questions + 1,
            found.all + sum(bool(one & other) for one, other in pairs),
            found.by_formula + sum(bool(one & other & key) for one, other in pairs),
            found.stored + snapshot.graph.count()["EC"],
        )
    return found


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--data", default="musique")
    arguments.add_argument("--questions", type=int, default=36, metavar="N")
    arguments.add_argument("--work", type=Path, required=True, metavar="DIR")
    options = arguments.parse_args()
    dataset = load_dataset(data_folder(options.data))
    usable = [question for question in dataset.questions if question.candidates]
    dataset = replace(dataset, questions=tuple(usable[: options.questions]))
    index = Index(options.work / "index", load_settings("paper:chainrag"))
    found = count(Contexts(dataset, (RECIPE,), index, options.work, Watcher()))
    print_table(list(asdict(found)), [tuple(asdict(found).values())])
    write_results(options.out, [found])


if __name__ == "__main__":
    main()
