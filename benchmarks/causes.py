"""Shows why answers are wrong: one table over several runs, with a row per run and a column per cause.

    python -m benchmarks.causes RUN... [--out FILE.json]

RUN is a folder that `hoptrail evaluate --work DIR` leaves in DIR/runs, or DIR/runs itself, which means every finished run in it
that has answers. Causes are those of `hoptrail errors` (`evaluation/error_analysis.py`), counted over wrong answers and
abstentions; the shares at the end of a row are of all its questions. `hoptrail errors RUN --examples N` shows single questions.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.common import parser, print_table, write_results

from hoptrail.errors import UsageError
from hoptrail.evaluation.error_analysis import Cause, analyse_errors
from hoptrail.evaluation.run_folder import RESULTS, Run, open_run


@dataclass(frozen=True, slots=True)
class Row:
    """One run. `wrong` and `abstained` count questions by cause."""

    data: str
    recipe: str
    language: str
    questions: int
    right: int
    failed: int
    wrong: dict[str, int]
    abstained: dict[str, int]

    def cells(self) -> tuple[object, ...]:
        """The row of the table."""
        counts = (f"{self.wrong[cause]} + {self.abstained[cause]}" for cause in Cause)
        wrong, abstained = sum(self.wrong.values()), sum(self.abstained.values())
        shares = (f"{count / self.questions:.1%}" for count in (self.right, wrong, abstained))
        return self.data, self.recipe, self.language, self.questions, *counts, self.failed, *shares


def row(run: Run) -> Row:
    """The causes of one run, counted."""
    found = analyse_errors(run)
    wrong = {cause.value: found.count(cause, abstained=False) for cause in Cause}
    abstained = {cause.value: found.count(cause, abstained=True) for cause in Cause}
    header = run.header
    counts = found.questions, found.right, found.failed
    return Row(header.data, header.recipe, header.language.partition(":")[0], *counts, wrong, abstained)


def runs_in(places: Iterable[Path]) -> Iterator[Run]:
    """Every run named, and the runs with answers in the folders named."""
    for place in places:
        inside = sorted(path.parent for path in place.glob(f"*/{RESULTS}"))
        if not inside:
            yield open_run(place)
        for folder in inside:
            run = open_run(folder)
            if not run.header.retrieval_only:
                yield run


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    options = arguments.parse_args()
    try:
        rows = [row(run) for run in runs_in(options.runs)]
    except UsageError as error:
        sys.exit(str(error))
    rows.sort(key=lambda one: (one.data, one.language, -one.right))
    print("Wrong answers + abstentions, by first cause.\n")
    header = ("data", "recipe", "language", "questions", *(cause.value for cause in Cause), "failed")
    print_table((*header, "right", "wrong", "abstained"), [one.cells() for one in rows])
    write_results(options.out, rows)


if __name__ == "__main__":
    main()
