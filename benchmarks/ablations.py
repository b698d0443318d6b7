"""Measures the five systems with their ablations by rules, each with its paper's settings, in one or more checkouts side by side.

    python -m benchmarks.ablations --work DIR [--code NAME=CHECKOUT,...] [--papers A,B] [--data A,B] [--limit N] [--rounds A,B]

Asks the first N development questions that come with passages, over all these passages; ChainRAG asks each over its own, as its
paper does. A checkout has its environment in `.venv`. Runs go one after the other: all papers, data sets and checkouts with the
first round's number of questions, then with the next, up to N. `results/ablations.json` has the last complete round of each paper
on each data set. A stopped run goes on; results are kept by commit, so that other code is measured afresh. The rows of a paper
share what is read (`shared_readings.py`), so that times say nothing and are left out. SiReRAG's trees are cut by the default
clustering, which wants no extra, and rows whose models do not ship with the package are left out.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.by_rules import WITH_PASSAGES, small_set
from benchmarks.common import ROOT, Origin, commit_of, origin_of_data, parser, write_results

PAPERS = ("comprag", "hirag", "chainrag", "sirerag", "sunar")
DATA = ("2wiki", "hotpotqa", "musique")
RESULTS = ROOT / "results" / "ablations.json"
WEIGHTS = re.compile("late-interaction|paper-models")
"""In the names of presets whose models do not ship with the package."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a paper's tables on one data set, by the code of one checkout: shares of 1, tasks a question."""

    code: str
    paper: str
    recipe: str
    data: str
    questions: int
    pool: int
    failed: int
    recall_5: float | None
    full_5: float | None
    em: float
    f1: float
    tasks: float
    of: Origin


@dataclass(frozen=True, slots=True)
class Code:
    """A checkout: its name in the results and its folder."""

    name: str
    folder: Path

    def presets(self, paper: str) -> str:
        """The text of a paper's presets."""
        return (self.folder / "src" / "hoptrail_papers" / "presets" / f"{paper}.toml").read_text(encoding="utf-8")

    def recipes(self, paper: str) -> list[str]:
        """The recipes of the paper's rows, its own and those compared with it."""
        rows: list[str] = list(tomllib.loads(self.presets(paper))["rows"].values())
        return [recipe for recipe in rows if recipe.startswith(paper) and not WEIGHTS.search(recipe)]


def settings_of(code: Code, paper: str, work: Path) -> str:
    """What `--settings` names: the paper's, without a clustering that wants an extra."""
    text = code.presets(paper)
    if "clustering" not in text:
        return f"paper:{paper}"
    plain = text[text.index("[settings]") :].replace("[settings]\n", "").replace("[settings.", "[")
    file = work / f"{paper}.toml"
    file.write_text(re.sub("^clustering = .*\n", "", plain, flags=re.MULTILINE), encoding="utf-8")
    return str(file)


def measure(code: Code, paper: str, name: str, count: int, pool: int, work: Path) -> list[Row]:
    """Run `hoptrail evaluate` of a checkout for the first questions over the passages of `pool` questions; exits if it fails."""
    dataset, commit = small_set(name, work / str(pool), pool), commit_of(code.folder)
    own = work / str(pool) / f"{code.name}-{commit.removesuffix('-dirty')[:12]}" / paper
    own.mkdir(parents=True, exist_ok=True)
    out = own / f"{name}-{count}.json"
    if not out.exists():
        command = [code.folder / ".venv/bin/python", ROOT / "benchmarks" / "shared_readings.py", "evaluate"]
        command += [dataset.corpus.parent, "--limit", count]
        command += ["--recipes", ",".join(code.recipes(paper)), "--language", "offline", "--work", own, "--out", out]
        command += ["--settings", settings_of(code, paper, own), *(["--own-context"] if paper == "chainrag" else [])]
        started = time.time()
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}: {done.stderr[-600:]}")
        print(f"{name} {paper} {code.name}: {count} questions in {time.time() - started:.0f} s", flush=True)
    of = replace(origin_of_data(name, dataset.corpus.parent), commit=commit)
    reports: Mapping[str, Any] = json.loads(out.read_text(encoding="utf-8"))["recipes"]
    return [_row(code.name, paper, recipe, name, found, of) for recipe, found in reports.items()]


def _row(code: str, paper: str, recipe: str, name: str, found: Mapping[str, Any], of: Origin) -> Row:
    retrieval = found.get("retrieval") or {}
    return Row(
        *(code, paper, recipe, name),
        questions=found["n"],
        pool=round(found["pool_size"]),
        failed=found["failed"],
        recall_5=retrieval.get("recall@5"),
        full_5=retrieval.get("full@5"),
        em=found["em"],
        f1=found["f1"],
        tasks=found["tasks"] / found["n"],
        of=replace(of, settings=found["fingerprint"]),
    )


def rounds_of(
    codes: Sequence[Code], papers: Sequence[str], data: Sequence[str], counts: Sequence[int], work: Path
) -> Iterator[list[Row]]:
    """The rows of each paper on each data set by all checkouts, in every round."""
    for count in counts:
        for paper in papers:
            for name in data:
                yield [row for code in codes for row in measure(code, paper, name, count, counts[-1], work)]


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--work", type=Path, required=True, metavar="DIR", help="corpora, indexes and results")
    arguments.add_argument("--code", default=f"here={ROOT}", metavar="NAME=CHECKOUT,...")
    arguments.add_argument("--papers", default=",".join(PAPERS), metavar="A,B")
    arguments.add_argument("--data", default=",".join(DATA), metavar="A,B")
    arguments.add_argument("--limit", type=int, default=200, metavar="N")
    arguments.add_argument("--rounds", default="", metavar="A,B", help="smaller numbers of questions to ask before")
    options = arguments.parse_args()
    codes = [Code(name, Path(folder)) for name, _, folder in (one.partition("=") for one in options.code.split(","))]
    counts = [*(int(count) for count in options.rounds.split(",") if count), options.limit]
    data = [WITH_PASSAGES.get(name, name) for name in options.data.split(",")]
    options.work.mkdir(parents=True, exist_ok=True)
    out = options.out or RESULTS
    for rows in rounds_of(codes, options.papers.split(","), data, counts, options.work):
        before = json.loads(out.read_text(encoding="utf-8")) if out.exists() else []
        others = [row for row in before if (row["paper"], row["data"]) != (rows[0].paper, rows[0].data)]
        write_results(out, [*others, *rows])


if __name__ == "__main__":
    main()
