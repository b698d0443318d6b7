"""The overall progress of an indexing run, and the time that is left.

The cost of each structure is estimated from the work to do, in characters to encode. The run itself measures the speed, so the
estimate works on any machine as soon as some work is done, as long as the proportions hold. These were measured with the encoder
that ships (docs/decisions/diary.md). The work of a chat model is not estimated.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from hoptrail.types import Kind

TEXT = 14  # the fixed cost of a text, in characters
MANY = 1000  # a plan with fewer texts to encode is not announced; this many take about a minute on one core
LONG = 60.0  # a shorter time left, in seconds, is not announced
_ANNOUNCED_AFTER = 5.0  # seconds of work after which the time left is announced


@dataclass(frozen=True, slots=True)
class Progress:
    """`done` of `total` (0: unknown) of a step; the `share` of the run, from 0 to 1, and the seconds `left` (None: unknown)."""

    what: str = ""
    done: int = 0
    total: int = 0
    share: float | None = None
    left: float | None = None

    @property
    def line(self) -> str:
        step = f"{self.what} {self.done:,} of {self.total:,}" if self.total else f"{self.what} {self.done:,}"
        share = "" if self.share is None else f"{100 * self.share:.0f} %, "
        return f"{share}{step}" + ("" if self.left is None else f", {in_words(self.left)} left")


def in_words(seconds: float) -> str:
    if seconds < LONG:
        return f"about {max(1, round(seconds)):,} s"
    return f"about {round(seconds / 60):,} min" if seconds < 5400 else f"about {seconds / 3600:,.1f} h"


def ignore(*_: object) -> None:
    """The default of callbacks that only report something."""


@dataclass(frozen=True, slots=True)
class BuildStep:
    """A structure to update: its cost in characters (None: unknown), the texts to encode, and whose most of them are."""

    name: str
    cost: float | None
    texts: int = 0
    kind: Kind | None = None
    mostly: str = ""


class ProgressTracker:
    """Tracks the progress of one run. `notify` gets each progress, `say` announcements."""

    def __init__(
        self,
        notify: Callable[[Progress], None] = ignore,
        say: Callable[[str], None] = ignore,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._notify, self._say, self._clock = notify, say, clock
        self._began = self._planned = clock()
        self._costs: dict[str, float] = {}
        self._known = False
        self._done, self._current, self._part = 0.0, "", 0.0
        self._share = 0.0
        self._announced = True

    def plan(self, steps: Iterable[BuildStep]) -> None:
        """Set the steps of the run, or of its next part, once all documents are read. Long ones are announced."""
        planned = list(steps)
        self._planned = self._clock()
        self._done, self._current, self._part, self._share = 0.0, "", 0.0, 0.0
        self._costs = {step.name: step.cost or 0.0 for step in planned}
        self._known = all(step.cost is not None for step in planned) and sum(self._costs.values()) > 0
        if sum(step.texts for step in planned) >= MANY:
            self._announced = False
            self._say(_announcement(planned))

    def begin(self, name: str) -> None:
        """Begin a structure; the one before is up to date."""
        self._done += self._costs.get(self._current, 0.0)
        self._current, self._part = name, 0.0

    def report(self, what: str, done: int, total: int) -> None:
        if total and self._current:
            self._part = max(self._part, done / total)
            what = f"{what} {self._current}" if what == "encoding" else what
        left = self._left()
        if left is not None:
            spent = self._clock() - self._began
            self._share = max(self._share, spent / max(spent + left, 1e-9))
            if not self._announced and self._clock() - self._planned >= _ANNOUNCED_AFTER:
                self._announced = True
                if left >= LONG:
                    self._say(f"{in_words(left)} more; a stopped run can be resumed later")
        self._notify(Progress(what, done, total, None if left is None else self._share, left))

    def _left(self) -> float | None:
        """Seconds left at the speed so far."""
        done = self._done + self._costs.get(self._current, 0.0) * self._part
        if not self._known or not done:
            return None
        return (self._clock() - self._planned) / done * max(0.0, sum(self._costs.values()) - done)


def _announcement(steps: list[BuildStep]) -> str:
    whole = sum(step.cost or 0.0 for step in steps) or 1.0
    parts = []
    for step in steps:
        encoded = f"{step.texts:,} {step.kind}s to encode" if step.texts else ""
        encoded += f", {step.mostly}" if step.mostly else ""
        share = "by a model" if step.cost is None else f"{100 * step.cost / whole:.0f} %"
        if step.cost is None or step.cost:
            parts.append(f"{step.name} ({', '.join(filter(None, (encoded, share)))})")
    return f"to do: {', '.join(parts)}"
