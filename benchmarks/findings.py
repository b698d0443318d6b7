"""What `kills` and `power_cuts` find: how often each fault was tried in each command, and what was wrong afterwards."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from benchmarks.common import origin, print_table, write_results
from benchmarks.small_world import LATER, NEW, TEXTS


@dataclass(frozen=True, slots=True)
class Failure:
    """Something wrong after a fault: in which command, at which fault and operation, and what."""

    step: str
    where: str
    what: str


@dataclass
class Findings:
    """`tried` counts by step and kind of fault, `well` by step, `operations` by step.

    `kinds`: the kinds of fault; `cases`: what one try is called; `outcome`: what is counted in `well`, and `column` its header.
    """

    kinds: Sequence[str]
    cases: str
    outcome: str
    column: str
    operations: dict[str, int] = field(default_factory=dict)
    tried: Counter[str] = field(default_factory=Counter)
    well: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)

    def report(self, out: Path | None) -> NoReturn:
        """Print the table and the first failures, write all as JSON, and exit: with 1 if there are failures."""
        header = ("command", "operations", *(kind.lower() for kind in self.kinds), self.column, "failures")
        print_table(header, [self._row(step) for step in self.operations])
        print(f"{self.tried.total():,} {self.cases}, {len(self.failures)} failures")
        for failure in self.failures[:40]:
            print(f"{failure.step}, {failure.where}: {failure.what}")
        write_results(out, self._plain())
        sys.exit(bool(self.failures))

    def _row(self, step: str) -> tuple[object, ...]:
        counts = (self.tried[f"{step}: {kind}"] for kind in self.kinds)
        return (step, self.operations[step], *counts, self.well[step], sum(one.step == step for one in self.failures))

    def _plain(self) -> dict[str, object]:
        return {
            "of": origin((TEXTS, NEW, LATER)),
            "operations": self.operations,
            self.cases: dict(self.tried),
            self.outcome: dict(self.well),
            "failures": self.failures,
            "total": self.tried.total(),
        }
