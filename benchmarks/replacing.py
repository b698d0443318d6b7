"""Stops the replacement of documents by new versions at every stage: is then the old version there, or the new one, whole?

    python -m benchmarks.replacing [--trials N] [--of WAY]... [--out FILE.json]

New versions come in five ways: as files uploaded to a server, as an uploaded JSONL file, as a JSONL file and as files of a
folder for `hoptrail index`, and as files of a watched folder. They are stopped in one of these manners:

    CANCELLED   between two steps: a job by its client, a command by Ctrl-C, a watch by its caller
    KILLED      the process is killed before an operation on the index folder (`operations`)
    TORN        it is killed in the middle of a write
    FULL        this operation and all later ones that need space fail with ENOSPC
    BROKEN      one of the new files is damaged; nothing stops the run

Trials are spread evenly over the steps or operations of the run. After each, a reader must see exactly what it saw before the
run, or what it sees after an undisturbed one: documents, units, links, rankings. Uploaded files are committed in batches, so
there each document must be as before or as after. Then the same is done again, or, every other time, the job is cancelled and
discarded. That must end well. Counted are documents that are

    lost        in neither version
    doubled     in both versions
    silent      in one version but not whole, or not what the command or the server has reported, or in damaged files

A kill or a full disk may leave files that do not belong to the index until the next command; nothing else may. In an undisturbed
run a reader looks at each step, and must see the state before it.

Vectors are hashed words. Linux, with `cc`.
"""

from __future__ import annotations

import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path

from benchmarks import small_world
from benchmarks.common import origin, parser, print_table, write_results
from benchmarks.operations import Ended, Fault, preload, run
from benchmarks.replaced_world import (
    KEPT,
    STOPPED,
    TITLES,
    WAYS,
    Command,
    Way,
    by_watching,
    discard,
    looking,
    parts_of,
    stopped_at,
    text_of,
    title_of,
)
from benchmarks.small_world import Failure, Seen, copy, look, print_failures

from hoptrail.corpus.repairing import damage
from hoptrail.errors import HoptrailError

CANCELLED, BROKEN = "CANCELLED", "BROKEN"
FAULTS = {fault.name: fault for fault in (Fault.KILLED, Fault.TORN, Fault.FULL)}
MANNERS = (CANCELLED, *FAULTS, BROKEN)
STOP = "after the stop"


@dataclass(frozen=True, slots=True)
class Ground:
    """A way with its folders: `template` is the disk before the run, `done` that after an undisturbed run, by whether a file is
    broken; what a reader sees before and after it; the numbers of its operations and steps.
    """

    way: Way
    world: Path
    disk: Path
    template: Path
    done: Mapping[bool, Path]
    before: Seen
    after: Mapping[bool, Seen]
    operations: int
    steps: int
    wrong: str  # the steps at which a reader saw another state than before; [] for none

    def command(self, *, broken: bool = False) -> Command:
        """Replace the documents; the new sources are written now, except those of a watched folder."""
        index, change = self.disk / "index", partial(self.way.write, self.world, 2, broken=broken)
        if self.way.is_watched:
            self.way.write(self.world, 1, broken=False)
            return partial(by_watching, self.world, index, change)
        change()
        return partial(self.way.replace, self.world, index)


@dataclass
class Results:
    """Counts of trials, by way and manner; of those after which the new version was there, by way; of what was wrong, by kind."""

    tried: Counter[str] = field(default_factory=Counter)
    already_new: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)

    def show(self) -> None:
        """Print a table, and the first failures."""
        rows = []
        for way in WAYS:
            counts = [self.tried[f"{way.name}: {manner}"] for manner in MANNERS]
            failed = sum(one.step == way.name for one in self.failures)
            rows.append((way.name, *counts, self.already_new[way.name], failed))
        print_table(("way", *(manner.lower() for manner in MANNERS), "already new", "failures"), rows)
        print(f"{self.tried.total()} replacements stopped: {self._counts()}")
        print_failures(self.failures)

    def plain(self) -> dict[str, object]:
        versions = [[text_of(title, version) for title in TITLES] for version in (1, 2)]
        return {
            "of": origin((KEPT, versions)),
            "trials": self.tried,
            "already new": self.already_new,
            **self._counts(),
            "failures": self.failures,
            "total": self.tried.total(),
        }

    def _counts(self) -> dict[str, int]:
        return {kind: self.wrong[kind] for kind in ("lost", "doubled", "silent")}


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--trials", type=int, default=500, help="total number")
    options.add_argument("--of", choices=[way.name for way in WAYS], action="append", help="only this way (all)")
    arguments = options.parse_args()
    preload()
    small_world.use_hashed_words()
    ways = [way for way in WAYS if arguments.of is None or way.name in arguments.of]
    results, each = Results(), max(1, arguments.trials // len(ways) // len(MANNERS))
    with tempfile.TemporaryDirectory(prefix="hoptrail-replacing-") as folder:
        for number, way in enumerate(ways):
            _try(_ground(way, Path(folder).resolve() / str(number)), each, results)
            write_results(arguments.out, results.plain())
    results.show()
    sys.exit(bool(results.failures))


def _try(ground: Ground, each: int, results: Results) -> None:
    """All trials of a way, `each` of a manner."""
    name = ground.way.name
    print(f"{name}: {ground.operations} operations, {ground.steps} steps", file=sys.stderr, flush=True)
    if ground.wrong != "[]":
        results.wrong["doubled"] += 1
        results.failures.append(Failure(name, "undisturbed", f"a reader saw another state at {ground.wrong}"))
    for turn, manner in enumerate(MANNERS):
        for number in range(each):
            trial = Trial(ground, manner, number, each, turn)
            trial.run()
            results.tried[f"{name}: {manner}"] += 1
            results.already_new[name] += trial.is_new
            results.wrong.update(trial.kinds)
            results.failures += [Failure(name, f"{manner}, trial {number}", what) for what in trial.words]


def _ground(way: Way, folder: Path) -> Ground:
    if way.is_served:
        import_module("hoptrail.serving.server.app")  # before any process is forked, each of which would have to
    world, disk, template = folder / "world", folder / "disk", folder / "template"
    disk.mkdir(parents=True)
    way.write(world, 1, broken=False)
    _undisturbed(way, partial(way.replace, world, disk / "index"), disk)
    copy(disk, template)
    before = look(disk / "index")
    done = {True: folder / "done with a broken file", False: folder / "done"}
    start = Ground(way, world, disk, template, done, before, {}, 0, 0, "")
    after: dict[bool, Seen] = {}
    for broken in (True, False):
        copy(template, disk)
        command = partial(looking, disk / "index", None if way.is_batched else before, start.command(broken=broken))
        ended = _undisturbed(way, command, disk, broken=broken)
        copy(disk, done[broken])
        after[broken] = look(disk / "index")
    steps, wrong = ended.said.partition("\nsteps: ")[2].split(", wrong at: ")
    return Ground(way, world, disk, template, done, before, after, ended.operations, int(steps), wrong.splitlines()[0])


def _undisturbed(way: Way, command: Command, disk: Path, *, broken: bool = False) -> Ended:
    ended = run(command, disk)
    if ended.code and not (broken and ended.code == 4):
        sys.exit(f"{way.name} ended with {ended.code}: {ended.said}")
    return ended


@dataclass
class Trial:
    """The `number`-th of `count` trials of a way and manner; `turn` shifts the places of the manners against each other."""

    ground: Ground
    manner: str
    number: int
    count: int
    turn: int
    is_new: bool = False
    kinds: Counter[str] = field(default_factory=Counter)
    words: list[str] = field(default_factory=list)

    def run(self) -> None:
        """Stop a replacement, look, do it again or discard it, and look."""
        ground, way, index = self.ground, self.ground.way, self.ground.disk / "index"
        copy(ground.template, ground.disk)
        command = ground.command(broken=self.is_broken)
        if self.manner in FAULTS:
            ended = run(command, ground.disk, fault=FAULTS[self.manner], at=self._place(ground.operations))
        else:
            step = 0 if self.is_broken else self._place(ground.steps)
            ended = run(partial(stopped_at, step, way.stop, command), ground.disk)
        if ended.code not in {0, 1, STOPPED, 4, -signal.SIGKILL} or "Traceback" in ended.said:
            self._fail("silent", f"it ended with {ended.code}: {ended.said[-300:]}")
        self.is_new = self._looked(STOP)
        if ended.code == 0 and not self.is_new:
            self._fail("silent", "it ended with 0 and has replaced nothing")
        way.write(ground.world, 2, broken=self.is_broken)
        discarded = way.is_served and self.number % 2 == 0
        ended = run(partial(discard, index) if discarded else partial(way.again, ground.world, index), ground.disk)
        if ended.code and not (self.is_broken and ended.code == 4):
            self._fail("silent", f"afterwards {ended.code}: {ended.said[-300:]}")
        if not self._looked("in the end") and not discarded:
            self._fail("silent", "the new version does not come")

    @property
    def is_broken(self) -> bool:
        return self.manner == BROKEN

    def _place(self, among: int) -> int:
        return 1 + (self.number * among + self.turn * among // len(MANNERS)) // self.count % among

    def _looked(self, when: str) -> bool:
        """Look at the index. Returns whether the new version is there."""
        ground, index = self.ground, self.ground.disk / "index"
        try:
            seen, faults = look(index), damage(index)
        except HoptrailError as error:
            self._fail("silent", f"{when}: {type(error).__name__}: {error}")
            return False
        if self.manner in FAULTS and when == STOP:
            faults = [fault for fault in faults if "does not belong" not in fault]
        if faults:
            self._fail("silent", f"{when}: {faults[0]}")
        after = ground.after[self.is_broken]
        if seen not in (ground.before, after):
            self._compare(when)
        return seen == after

    def _compare(self, when: str) -> None:
        """Say what is wrong with a state that is neither the one before nor the one after."""
        ground = self.ground
        done = ground.done[self.is_broken]
        known = parts_of(ground.template / "index") | parts_of(done / "index")
        now = parts_of(ground.disk / "index")
        versions = Counter(title_of(text) for text in now)
        for title in {title_of(text) for text in known}:
            if versions[title] != 1:
                self._fail("doubled" if versions[title] else "lost", f"{when}: {title}")
        in_part = [title_of(text) for text, part in now.items() if known.get(text) != part]
        if in_part or not ground.way.is_batched:
            self._fail("silent", f"{when}: neither as before nor as after: {in_part}")

    def _fail(self, kind: str, what: str) -> None:
        self.kinds[kind] += 1
        self.words.append(f"{kind}: {what}".replace(str(self.ground.disk), ""))


if __name__ == "__main__":
    main()
