"""Trains the scorer of path search on training questions and writes its trees into the package.

    python -m benchmarks.train_paths [--work DIR] [--seed N] [--folds-only] [--judge A,B]

Learns from the questions of musique_train and hotpotqa_train, over the merged corpora of all training sets (13,967 passages:
what is learned over a set's own corpus fails over a larger one), and from questions about the folders in `training/written`,
each over its own folder: single ones, which one passage answers, and pairs joined by `and`, which need two. Half of the runs
learn from the single ones, half from the pairs. docs/decisions/paths.md says why. `--judge` names data sets on whose development
questions, each over its own corpus, the finished scorer is measured.

The first stage predicts for every candidate whether it is gold, the second for every pair of the best whether both are; the third
is the first with features from the pairs. A later stage learns from predictions of the earlier ones on held-out questions, in
FOLDS folds; the recall printed for the training questions comes from the same folds. Each stage is the mean of its runs, which
have different seeds.

Needs lightgbm. The vectors are those of the index, so another encoder needs another training; the same data, encoder and seed
give the same trees. `--work DIR` keeps the merged corpus and the indexes (DIR/pool/index, DIR/NAME/index, DIR/written/NAME).
"""

from __future__ import annotations

import argparse
import io
import random
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.common import data_folder, print_table
from benchmarks.larger_pool import POOL, merge_corpora
from numpy.typing import NDArray

from hoptrail import Unit, Watcher
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.documents.splitting import PassageLimits
from hoptrail.evaluation.datasets import CORPUS_FILES, QUESTION_FILES, Dataset, Question, first_file, load_dataset
from hoptrail.evaluation.outcomes import settles
from hoptrail.evaluation.question_run import corpus_ids
from hoptrail.evaluation.retrieval_measures import summarise_retrieval
from hoptrail.evaluation.runner import INDEX_FOLDER, corpus_ids_by_document
from hoptrail.index.indexing import BuildLanguage, update_index
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.models.encoder import FloatMatrix
from hoptrail.models.encoder_factory import open_encoder
from hoptrail.models.reader import installed_reader
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.paths import scoring
from hoptrail.retrieval.paths.candidates import AS_TRAINED, CandidateSettings
from hoptrail.retrieval.paths.features import PAIR_FEATURES, PASSAGE_FEATURES, CandidateFeatures
from hoptrail.retrieval.paths.search import STRUCTURES, describe, judge
from hoptrail.structures.catalogue import structures_by_name, with_foundations
from training import written as written_folders

TRAINING = ("musique_train", "hotpotqa_train")
DISTRACTING = ("2wiki_train",)
"""Data sets whose passages are only searched."""
SINGLE, JOINED = "single", "joined"
"""The questions about folders, as data sets."""
PER_FOLDER = 80
"""Questions of each of these kinds about a folder; the parts of a joined one have less than LONGEST characters."""
JOINS = ("{one} and {other}?", "{one}, and {other}?", "{one}? {Other}?", "{one} and {other}")
LONGEST = 90
MOST_STATING = 4  # a quote that more candidates state is no evidence for a question
ENCODER = "minilm"
FOLDS = 4
RUNS = 3
ROUNDS = 180
PARAMETERS = {
    "objective": "binary",
    "num_leaves": scoring.MOST_LEAVES,
    "learning_rate": 0.05,
    "feature_fraction": 0.6,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "lambda_l2": 5.0,
    "verbose": -1,
    "num_threads": 1,
    "deterministic": True,
}
LEAST_IN_LEAF = {"passage": 20, "pair": 50, "linked": 20}
Booleans = NDArray[np.bool_]


@dataclass(frozen=True)
class Example:
    """A question's candidates, which of them are gold, the fold that holds it out, and what measuring needs."""

    data: str
    described: CandidateFeatures
    gold: Booleans
    fold: int
    passages: tuple[tuple[str, ...], ...]
    supporting: frozenset[str]


def training_examples(work: Path, seed: int) -> list[Example]:
    """All training questions that have gold passages: of the sets, over the merged corpora, and of the written folders."""
    corpora = [first_file(data_folder(name), CORPUS_FILES) for name in (*TRAINING, *DISTRACTING)]
    merge_corpora(work / POOL, corpora)
    found = []
    for name in TRAINING:
        dataset = load_dataset(work / POOL, first_file(data_folder(name), QUESTION_FILES))
        found += examples(name, dataset, work / POOL / INDEX_FOLDER, seed)
    for folder in written_folders.worlds():
        corpus = opened_corpus(folder / "documents", work / written_folders.FOLDER.name / folder.name)
        asked = asked_about(folder, seed)
        found += folder_examples(SINGLE, corpus, [(one.question, (one.quote,)) for one in asked], seed)
        found += folder_examples(JOINED, corpus, joined(asked, seed), seed)
    return found


def examples(name: str, dataset: Dataset, folder: Path, seed: int) -> list[Example]:
    """All questions of a data set that have gold passages; `folder` is the index of its corpus."""
    corpus = opened_corpus(dataset.corpus, folder)
    ids = corpus_ids_by_document(corpus.snapshot, dataset)
    folds = np.random.default_rng(seed).integers(FOLDS, size=len(dataset.questions))
    found = []
    for question, fold in zip(dataset.questions, folds, strict=True):
        described = describe(corpus, question.question, CandidateSettings())
        if not question.supporting or described is None:
            continue
        units = described.scores.graph.passages(described.candidates.rows)
        passages = tuple(tuple(corpus_ids(unit, ids)) for unit in units.values())
        supporting = frozenset(question.supporting)
        gold = np.array([not supporting.isdisjoint(names) for names in passages])
        found.append(Example(name, described, gold, int(fold), passages, supporting))
    return found


Asked = tuple[str, tuple[str, ...]]  # a question with its quotes: gold passages state one of them, and together all


def asked_about(folder: Path, seed: int) -> list[written_folders.Question]:
    """The questions that a written folder answers, in random order."""
    asked = [one for one in written_folders.questions_of(folder) if one.kind != "none"]
    random.Random(seed).shuffle(asked)
    return asked


def joined(asked: Sequence[written_folders.Question], seed: int) -> Iterator[Asked]:
    """Pairs of questions with short answers, as one question."""
    draw = random.Random(seed)
    short = [one for one in asked if one.kind == "span" and len(one.question) < LONGEST]
    for one, other in zip(short[::2], short[1::2], strict=False):
        first, second = (part.question.strip().rstrip("?") for part in (one, other))
        words = {"one": first, "other": second[:1].lower() + second[1:], "Other": second}
        yield draw.choice(JOINS).format(**words), (one.quote, other.quote)


def folder_examples(name: str, corpus: Corpus, asked: Iterable[Asked], seed: int) -> list[Example]:
    """The first `PER_FOLDER` of the questions whose quotes are stated by candidates."""
    draw = random.Random(seed)
    found: list[Example] = []
    for question, quotes in asked:
        described = describe(corpus, question, CandidateSettings())
        if described is None:
            continue
        units = list(described.scores.graph.passages(described.candidates.rows).values())
        stated = np.array([_stating(question, units, quote) for quote in quotes])
        if np.all((stated.sum(axis=1) > 0) & (stated.sum(axis=1) <= MOST_STATING)):
            # Named by the quotes that they state, so that any of the passages that state a quote counts as evidence for it.
            stating = enumerate(map(np.flatnonzero, stated.T))
            names = tuple(tuple(map(str, states)) or (f"other {place}",) for place, states in stating)
            gold, supporting = np.logical_or.reduce(stated), frozenset(map(str, range(len(quotes))))
            found.append(Example(name, described, gold, draw.randrange(FOLDS), names, supporting))
        if len(found) == PER_FOLDER:
            break
    return found


def _stating(question: str, units: Sequence[Unit], quote: str) -> Booleans:
    shown = Question("", question, (), shows=(quote,))
    return np.array([settles(shown, [unit.text]) for unit in units])


def opened_corpus(source: Path, folder: Path) -> Corpus:
    """The corpus of a file or folder with the structures that path search needs, built by rules."""
    encoder = open_encoder(ENCODER)
    structures = with_foundations(STRUCTURES, structures_by_name(PassageLimits()))
    performer = BuildLanguage(OfflineLanguage(), rebuild=True)
    update_index(folder, [source], encoder, structures, Watcher(), performer)
    return Corpus(Snapshot.open(folder), lambda: encoder)


def fitted(stage: str, values: FloatMatrix, wanted: Booleans, seeds: Iterable[int]) -> list[Any]:
    import lightgbm

    parameters = PARAMETERS | {"min_child_samples": LEAST_IN_LEAF[stage]}
    data = values.astype(np.float64)
    return [
        lightgbm.train(parameters | {"seed": seed}, lightgbm.Dataset(data, wanted.astype(np.float64)), ROUNDS)
        for seed in seeds
    ]


def learn(
    stage: str,
    names: Sequence[str],
    values: Sequence[FloatMatrix],
    wanted: Sequence[Booleans],
    trained: Sequence[Example],
    seed: int,
) -> tuple[list[FloatMatrix], scoring.BoostedTrees]:
    """The held-out predictions of a stage for each question, as probabilities; and the trees of all folds.

    `RUNS` boosters learn without the single questions about folders, and as many without the joined ones.
    """
    mixes = [[at for at, example in enumerate(trained) if example.data != without] for without in (SINGLE, JOINED)]
    predicted = [np.zeros(0, dtype=np.float32)] * len(values)
    for fold in range(FOLDS):
        others = [[at for at in mix if trained[at].fold != fold] for mix in mixes]
        boosters = [one for mix in others for one in fitted(stage, *_together(values, wanted, mix), [seed])]
        trees = gathered(names, boosters)
        for at, example in enumerate(trained):
            if example.fold == fold:
                predicted[at] = trees.probabilities(values[at])
    boosters = []
    for start, mix in zip(range(seed, seed + RUNS * len(mixes), RUNS), mixes, strict=True):
        boosters += fitted(stage, *_together(values, wanted, mix), range(start, start + RUNS))
    return predicted, gathered(names, boosters)


def _together(
    values: Sequence[FloatMatrix], wanted: Sequence[Booleans], chosen: Sequence[int]
) -> tuple[FloatMatrix, Booleans]:
    return np.concatenate([values[at] for at in chosen]), np.concatenate([wanted[at] for at in chosen])


def gathered(names: Sequence[str], boosters: Sequence[Any]) -> scoring.BoostedTrees:
    """The trees of several boosters, whose leaves add up to the mean of their log-odds."""
    trees = [_Flat.of(tree["tree_structure"]) for booster in boosters for tree in booster.dump_model()["tree_info"]]
    types = {"features": np.int16, "thresholds": np.float32, "masks": np.uint8, "leaves": np.float32}
    parts: dict[str, Any] = {
        name: np.array([getattr(tree, name) for tree in trees], dtype) for name, dtype in types.items()
    }
    parts["leaves"] /= np.float32(len(boosters))
    return scoring.BoostedTrees(tuple(names), **parts)


@dataclass(frozen=True)
class _Flat:
    """One tree in the form of `BoostedTrees`."""

    features: list[int]
    thresholds: list[np.float32]
    masks: list[int]
    leaves: list[float]

    @classmethod
    def of(cls, structure: dict[str, Any]) -> _Flat:
        flat = cls([], [], [], [])
        flat._add(structure)
        spare = scoring.MOST_LEAVES - 1 - len(flat.features)
        return cls(
            flat.features + [0] * spare,
            flat.thresholds + [np.float32(np.inf)] * spare,
            flat.masks + [255] * spare,
            flat.leaves + [0.0] * (scoring.MOST_LEAVES - len(flat.leaves)),
        )

    def _add(self, node: dict[str, Any]) -> None:
        """Number leaves from the left; a node's mask removes those on its left side."""
        if "leaf_value" in node:
            self.leaves.append(node["leaf_value"])
            return
        before = len(self.leaves)
        self._add(node["left_child"])
        self.masks.append(255 ^ ((1 << len(self.leaves)) - (1 << before)))
        self.features.append(node["split_feature"])
        self.thresholds.append(_not_above(node["threshold"]))
        self._add(node["right_child"])


def _not_above(threshold: float) -> np.float32:
    """The largest 32-bit number up to a threshold: it splits 32-bit features as the threshold does."""
    near = np.float32(threshold)
    return near if float(near) <= threshold else np.nextafter(near, np.float32(-np.inf))


def train(trained: Sequence[Example], seed: int) -> tuple[scoring.PathScorer, list[FloatMatrix]]:
    """The scorer, and the held-out scores of each question."""
    gold = [example.gold for example in trained]
    passages = [example.described.passages for example in trained]
    first, passage = learn("passage", PASSAGE_FEATURES, passages, gold, trained, seed)
    pairs = [
        example.described.pairs(scoring.best_places(scored), scored)
        for example, scored in zip(trained, first, strict=True)
    ]
    both = [known[pair.first] & known[pair.second] for known, pair in zip(gold, pairs, strict=True)]
    paired, pair_trees = learn("pair", PAIR_FEATURES, [pair.values for pair in pairs], both, trained, seed)
    described = [example.described for example in trained]
    values = list(map(scoring.linked_features, described, first, pairs, paired))
    last, linked = learn("linked", scoring.LINKED_FEATURES, values, gold, trained, seed)
    scores = [
        np.log(score / (1 - score)) + scoring.DIRECT * scoring.direct_share(one)
        for one, score in zip(described, last, strict=True)
    ]
    return scoring.PathScorer(passage, pair_trees, linked), scores


def measured(data: str, judged: Sequence[Example], orders: Sequence[Sequence[int]]) -> Iterator[list[object]]:
    """Rows of the table: the measures of one data set, over all questions and by hops, from the candidates' ranks."""
    rankings = [
        (tuple(dict.fromkeys(name for place in order for name in example.passages[place])), example.supporting)
        for example, order in zip(judged, orders, strict=True)
        if example.data == data
    ]
    for hops, means in summarise_retrieval(rankings).items():
        among = [example for example in judged if example.data == data and hops in (0, len(example.supporting))]
        found = [example.supporting <= {name for names in example.passages for name in names} for example in among]
        cells = [f"{means.scores[name]:.3f}" for name in MEASURES]
        yield [data, str(hops or "all"), means.questions, f"{np.mean(found):.3f}", *cells]


MEASURES = ("recall@2", "recall@5", "recall@10", "full@5", "full@10")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, metavar="DIR", help="keep the indexes here")
    parser.add_argument("--seed", type=int, default=7, metavar="N")
    parser.add_argument("--folds-only", action="store_true", help="only measure; do not change the package's trees")
    parser.add_argument("--judge", default="", metavar="A,B", help="data sets to measure the finished scorer on")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or Path(temporary)
        trained = training_examples(work, options.seed)
        scorer, scores = train(trained, options.seed)
        held_out = [np.argsort(-one, kind="stable").tolist() for one in scores]
        rows = [row for name in (*TRAINING, SINGLE, JOINED) for row in measured(name, trained, held_out)]
        if not options.folds_only:
            target, content = Path(scoring.__file__).parents[1] / "weights" / "paths.npz", written(scorer)
            target.write_bytes(content)
            print(f"wrote {len(content):,} bytes to {target}", file=sys.stderr)
        encoder, reader = open_encoder(ENCODER), installed_reader()
        for name in filter(None, options.judge.split(",")):
            judged = examples(name, load_dataset(data_folder(name)), work / name / INDEX_FOLDER, options.seed)
            ranked = ((one.described, judge(one.described, scorer, encoder, reader)) for one in judged)
            orders = [scoring.in_order(described, scores, AS_TRAINED.leading) for described, scores in ranked]
            rows += measured(name, judged, orders)
    print_table(("data", "hops", "questions", "all found", *MEASURES), rows)


def written(scorer: scoring.PathScorer) -> bytes:
    """The content that `scoring.read_scorer` reads."""
    arrays: dict[str, Any] = {}
    for stage, trees in {"passage": scorer.passage, "pair": scorer.pair, "linked": scorer.linked}.items():
        arrays[f"{stage}.names"] = np.array(trees.names)
        arrays |= {f"{stage}.{part}": getattr(trees, part) for part in ("features", "thresholds", "masks", "leaves")}
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


if __name__ == "__main__":
    main()
