"""How far a run of indexing is as a whole, all of its passes together, and how long it still takes.

What each structure costs is foretold from what there is to do, in characters to be encoded. How fast these go, the run itself
tells: so the estimate stands once the first of them are done, on any machine, as long as the proportions hold. They were measured
with the encoder that ships (docs/decisions/diary.md); what a chat model makes is not foretold.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from hoptrail.types import Kind

TEXT = 14
"""Characters that each text costs besides its own."""

MANY = 1000
"""Texts to encode that take about a minute on one core; of fewer nothing is said before."""

LONG = 60.0
"""Seconds that are worth telling."""

_TOLD_AFTER = 5.0
"""Seconds of work after which it is told how long the rest takes."""


@dataclass(frozen=True, slots=True)
class Progress:
    """`done` of `total` (0: not known) of what is being done; `share` of the whole run, from 0 to 1, and seconds that are `left`,
    None while that cannot be told.
    """

    what: str = ""
    done: int = 0
    total: int = 0
    share: float | None = None
    left: float | None = None

    @property
    def line(self) -> str:
        """In words, for logs and bars."""
        step = f"{self.what} {self.done:,} of {self.total:,}" if self.total else f"{self.what} {self.done:,}"
        share = "" if self.share is None else f"{100 * self.share:.0f} %, "
        return f"{share}{step}" + ("" if self.left is None else f", {in_words(self.left)} left")


def in_words(seconds: float) -> str:
    """About how long that is."""
    if seconds < LONG:
        return f"about {max(1, round(seconds)):,} s"
    return f"about {round(seconds / 60):,} min" if seconds < 5400 else f"about {seconds / 3600:,.1f} h"


def tell_no_progress(progress: Progress) -> None:
    """For callers that do not watch."""


@dataclass(frozen=True, slots=True)
class Step:
    """A structure to be brought up to date: what that costs, in characters to be encoded (None: cannot be told), and how many
    texts of a kind are encoded for it, and which document most of them are of.
    """

    name: str
    cost: float | None
    texts: int = 0
    kind: Kind | None = None
    mostly: str = ""


class Course:
    """Follows one run."""

    def __init__(
        self,
        tell: Callable[[Progress], None] = tell_no_progress,
        say: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._tell, self._say, self._clock = tell, say, clock
        self._began = self._planned = clock()
        self._costs: dict[str, float] = {}
        self._known = False
        self._done, self._current, self._part = 0.0, "", 0.0
        self._share = 0.0
        self._told = True

    def plan(self, steps: Iterable[Step]) -> None:
        """What is to be done, once all is read; it is said if it takes long."""
        found = list(steps)
        self._planned = self._clock()
        self._costs = {step.name: step.cost or 0.0 for step in found}
        self._known = all(step.cost is not None for step in found) and sum(self._costs.values()) > 0
        if sum(step.texts for step in found) >= MANY:
            self._told = False
            self._say(_said(found))

    def begin(self, name: str) -> None:
        """A structure is begun, and the one before is up to date."""
        self._done += self._costs.get(self._current, 0.0)
        self._current, self._part = name, 0.0

    def report(self, what: str, done: int, total: int) -> None:
        """So much is done of what there is to do for the structure at hand."""
        if total and self._current:
            self._part = max(self._part, done / total)
            what = f"{what} {self._current}" if what == "encoding" else what
        left = self._left()
        if left is not None:
            spent = self._clock() - self._began
            self._share = max(self._share, spent / max(spent + left, 1e-9))
            if not self._told and self._clock() - self._planned >= _TOLD_AFTER:
                self._told = True
                if left >= LONG:
                    self._say(f"{in_words(left)} more; a stopped run goes on later")
        self._tell(Progress(what, done, total, None if left is None else self._share, left))

    def _left(self) -> float | None:
        """Seconds, by the speed so far."""
        done = self._done + self._costs.get(self._current, 0.0) * self._part
        if not self._known or not done:
            return None
        return (self._clock() - self._planned) / done * max(0.0, sum(self._costs.values()) - done)


def _said(steps: list[Step]) -> str:
    """What each structure costs, before it is begun."""
    whole = sum(step.cost or 0.0 for step in steps) or 1.0
    parts = []
    for step in steps:
        encoded = f"{step.texts:,} {step.kind}s to encode" if step.texts else ""
        encoded += f", {step.mostly}" if step.mostly else ""
        share = "by a model" if step.cost is None else f"{100 * step.cost / whole:.0f} %"
        if step.cost is None or step.cost:
            parts.append(f"{step.name} ({', '.join(filter(None, (encoded, share)))})")
    return f"to do: {', '.join(parts)}"
