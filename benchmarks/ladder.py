"""The ablation ladder: what every part adds to a simpler recipe, question by question, with paired tests.

    python -m benchmarks.ladder --data 2wiki,hotpotqa,musique --work DIR [--language oracle] [--limit N] [--out FILE.json]

A rung names the rung below it, because parts build on different ones. All rungs of a data set share an index in `--work`, and
earlier measurements are reused. Recall, full support and F1 are means over the same questions; `p` is that of a
randomisation test of the difference from the rung below, uncorrected.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.common import ROOT, Origin, data_folder, markdown, origin_of_data, parser, write_results

if TYPE_CHECKING:
    from hoptrail.evaluation.run_folder import Run

MEASURES = ("recall@5", "full@5", "f1")
RESULTS = ROOT / "results" / "ladder.json"


@dataclass(frozen=True, slots=True)
class Rung:
    """A recipe, what it adds, and the recipe to which it adds that (empty for the lowest)."""

    recipe: str
    adds: str
    below: str = ""


LADDER = (
    Rung("dense", "vectors of passages"),
    Rung("hybrid", "keywords", "dense"),
    Rung("comprag:mixed", "a channel of triples", "hybrid"),
    Rung("sirerag:a", "aggregates, and summaries by likeness", "hybrid"),
    Rung("sirerag", "summaries by relatedness", "sirerag:a"),
    Rung("selfask", "sub-questions, completed", "hybrid"),
    Rung("chainrag", "a graph of sentences", "selfask"),
    Rung("hirag", "pages by title, verifying, rethinking", "selfask"),
    Rung("sunar:rerank-only", "weighing all evidence at the end", "selfask"),
    Rung("sunar", "neighbours in a frontier", "sunar:rerank-only"),
    Rung("sunar:guided", "feedback from sampled answers", "sunar"),
    Rung("trail:one-reading", "whole paths", "hybrid"),
    Rung("trail:no-chain", "few passages first", "trail:one-reading"),
    Rung("trail:no-rethink", "a chain where that is not believed", "trail:no-chain"),
    Rung("trail", "second tries", "trail:no-rethink"),
    Rung("trail:verified", "verifying", "trail"),
    Rung("trail:cross-checked", "a conclusion from the answers alone", "trail"),
)


@dataclass(frozen=True, slots=True)
class Reached:
    """The mean of one measure on a rung; its difference from the rung below, with 95 % interval and p (None for the lowest).

    `hops` selects questions by number of hops, "" for all.
    """

    data: str
    recipe: str
    adds: str
    below: str
    measure: str
    mean: float
    gain: float | None
    low: float | None
    high: float | None
    p: float | None
    hops: str
    of: Origin


def climb(name: str, rungs: Sequence[Rung], work: Path, language: str, limit: int | None) -> list[Reached]:
    """Run every rung over a data set and compare it with the rung below."""
    from hoptrail.evaluation.datasets import load_dataset
    from hoptrail.evaluation.run_folder import RUNS_FOLDER, open_run
    from hoptrail.evaluation.runner import INDEX_FOLDER, evaluate
    from hoptrail.index.index import Index
    from hoptrail.index.indexing import Watcher

    dataset = load_dataset(data_folder(name), None, limit)
    index = Index(work / INDEX_FOLDER / name)
    runs: dict[str, Run] = {}
    for rung in rungs:
        report = evaluate(dataset, [rung.recipe], index, work, language, Watcher()).recipes[0][1]
        runs[rung.recipe] = open_run(work / RUNS_FOLDER / report.run)
        print(f"{name}: {rung.recipe} done", file=sys.stderr, flush=True)
    return [one for rung in rungs for one in compared(name, rung, runs)]


def compared(name: str, rung: Rung, runs: Mapping[str, Run]) -> Iterator[Reached]:
    """A rung's means over all questions and by hops, and their differences from the rung below, if that was run."""
    from hoptrail_papers.comparing.run_comparison import Breakdown, compare

    of = origin_of_data(name)
    beside = rung.below if rung.below in runs else next(recipe for recipe in runs if recipe != rung.recipe)
    for score in compare([runs[beside], runs[rung.recipe]]).scores:
        if score.group.by is Breakdown.TYPE or score.measure not in MEASURES or score.run != rung.recipe:
            continue
        paired = score.difference if beside == rung.below else None
        gain, p = (paired.mean, paired.p) if paired else (None, None)
        low, high = paired.interval if paired else (None, None)
        parts = (rung.recipe, rung.adds, rung.below)
        yield Reached(name, *parts, score.measure, score.mean, gain, low, high, p, score.group.value, of)


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--data", default="2wiki,hotpotqa,musique", metavar="A,B")
    arguments.add_argument("--work", type=Path, required=True, metavar="DIR", help="keep indexes and results here")
    arguments.add_argument("--language", default="offline", metavar="NAME")
    arguments.add_argument("--limit", type=int, metavar="N", help="only the first N questions")
    arguments.add_argument("--rungs", metavar="A,B", help="only these recipes")
    options = arguments.parse_args()
    wanted = options.rungs.split(",") if options.rungs else [rung.recipe for rung in LADDER]
    rungs = [rung for rung in LADDER if rung.recipe in wanted]
    if len(rungs) < 2:
        arguments.error("name at least two rungs: each is compared with another")
    reached: list[Reached] = []
    for name in options.data.split(","):
        reached += climb(name, rungs, options.work, options.language, options.limit)
    for name, table in zip(options.data.split(","), tables(reached), strict=True):
        print(f"\n{name}, language {options.language}\n\n{table}")
    write_results(options.out, reached)


def stored() -> list[Reached]:
    """The stored results of the present rungs, for docs/results.md."""
    rows, rungs = json.loads(RESULTS.read_text(encoding="utf-8")), {rung.recipe for rung in LADDER}
    return [Reached(**{**one, "of": Origin(**one["of"])}) for one in rows if one["recipe"] in rungs]


def tables(reached: Sequence[Reached]) -> Iterator[str]:
    """One table per data set, in order, each followed by the same by number of hops if measured."""
    for name in dict.fromkeys(one.data for one in reached):
        among = [one for one in reached if one.data == name]
        whole = markdown(("recipe", "adds", "to", *MEASURES), map(_line, _rungs(among, "")))
        parts = sorted({one.hops for one in among if one.hops})
        by_hops = [[hops, *_line(rung)] for hops in parts for rung in _rungs(among, hops)]
        split = [markdown(("hops", "recipe", "adds", "to", *MEASURES), by_hops)] if len(parts) > 1 else []
        yield "\n\n".join([whole, *split])


def _rungs(reached: Sequence[Reached], hops: str) -> list[list[Reached]]:
    rungs: dict[str, list[Reached]] = {}
    for one in reached:
        if one.hops == hops:
            rungs.setdefault(one.recipe, []).append(one)
    return list(rungs.values())


def _line(rung: Sequence[Reached]) -> list[str]:
    first, cells = rung[0], {}
    for one in rung:
        gain = "" if one.gain is None else f" ({one.gain:+.3f}, p {one.p:.3f})"
        cells[one.measure] = f"{one.mean:.3f}{gain}"
    return [f"`{first.recipe}`", first.adds, first.below, *(cells[measure] for measure in MEASURES)]


if __name__ == "__main__":
    main()
