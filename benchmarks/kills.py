"""Kills and fails `hoptrail index`, an update, a sync, `remove` and `repair` at their writes: is the same command then enough?

    python -m benchmarks.kills [--trials N] [--of COMMAND] [--out FILE.json]

Counts the operations by which a command changes the index folder (`operations`). In each trial, one of them does not happen:

    killed      the process is killed before it
    torn        the process is killed in the middle of the next write, half of which is done
    refused     it fails with EIO
    full        it and all later ones that need space fail with ENOSPC

Afterwards every acknowledged document must still be there, and the same command, run again, must end with 0 and leave the same
state as an undisturbed run: documents, units, links, rankings; no damage, no stray file, no text of a removed document in any
file. Trials are spread evenly over the operations of a command. Commands that write nothing cannot be tested this way. Linux,
with `cc`.
"""

from __future__ import annotations

import signal
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks import small_world
from benchmarks.common import parser
from benchmarks.operations import Ended, Fault, preload, run
from benchmarks.small_world import Findings

from hoptrail.corpus.repairing import damage
from hoptrail.errors import HoptrailError

FAULTS = (Fault.KILLED, Fault.TORN, Fault.REFUSED, Fault.FULL)


@dataclass(frozen=True, slots=True)
class Ground:
    """One step: the folder before it, what a reader sees before and after it, its number of operations."""

    step: small_world.Step
    world: Path
    template: Path
    folder: Path
    before: small_world.Seen | None
    after: small_world.Seen
    files: frozenset[str]
    operations: int


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--trials", type=int, default=600, help="total number")
    options.add_argument("--of", choices=[step.name for step in small_world.STEPS], help="only this command")
    arguments = options.parse_args()
    preload()
    small_world.use_hashed_words()
    names = [fault.name for fault in FAULTS]
    findings = Findings(names, cases="trials", outcome="finished", column="ended all the same")
    steps = 1 if arguments.of else len(small_world.STEPS)
    with tempfile.TemporaryDirectory(prefix="hoptrail-kills-") as ground:
        for one in grounds(Path(ground).resolve()):
            if arguments.of in (None, one.step.name):
                _try(one, max(1, arguments.trials // steps // len(FAULTS)), findings)
    findings.report(arguments.out)


def grounds(ground: Path) -> Iterator[Ground]:
    """Each step with the folder before it and the result of an undisturbed run."""
    world, folder, template = ground / "world", ground / "disk", ground / "template"
    folder.mkdir()
    before = None
    for step in small_world.STEPS:
        step.before(world, folder / "index")
        small_world.copy(folder, template)
        if step.name.startswith("repair") and not damage(folder / "index"):
            sys.exit(f"{step.name}: there is nothing to repair")
        ended = run(step.command(world, folder / "index"), folder)
        if ended.code:
            sys.exit(f"{step.name} ended with {ended.code}: {ended.said}")
        after, files = small_world.look(folder / "index"), _files(folder)
        done = ground / "done"
        small_world.copy(folder, done)
        yield Ground(step, world, template, folder, before, after, files, ended.operations)
        small_world.copy(done, folder)
        before = after


def _files(folder: Path) -> frozenset[str]:
    return frozenset(str(path.relative_to(folder)) for path in folder.rglob("*"))


def _try(ground: Ground, count: int, findings: Findings) -> None:
    findings.operations[ground.step.name] = ground.operations
    for turn, fault in enumerate(FAULTS):
        for number in range(count):
            at = 1 + (number * ground.operations + turn * ground.operations // len(FAULTS)) // count % ground.operations
            findings.tried[f"{ground.step.name}: {fault.name}"] += 1
            what = _trial(ground, fault, at, findings)
            findings.note(ground.step.name, f"{fault.name.lower()} at operation {at}", what)


def _trial(ground: Ground, fault: Fault, at: int, findings: Findings) -> str:
    """The problems after one fault; empty if there are none."""
    small_world.copy(ground.template, ground.folder)
    index = ground.folder / "index"
    command = ground.step.command(ground.world, index)
    ended = run(command, ground.folder, fault=fault, at=at)
    findings.well[ground.step.name] += ended.code == 0
    if ended.code not in (0, 1, -signal.SIGKILL) or "Traceback" in ended.said:
        return f"ended with {ended.code}: {ended.said[-300:]}"
    try:
        return kept(ground, ended) or _again(ground, ended)
    except HoptrailError as error:
        return f"{type(error).__name__}: {error}".replace(str(ground.folder), "")


def kept(ground: Ground, ended: Ended) -> str:
    """Whether a reader sees the state before the command or the state after it."""
    if ground.before is None or ground.step.name.startswith("repair"):
        return ""
    view = small_world.look(ground.folder / "index")
    if ended.code == 0 and set(view.documents.values()) != set(ground.after.documents.values()):
        return "the command ended with 0 and its work is not done"
    return small_world.lost(ground.before.documents, ground.after.documents, view)


def _again(ground: Ground, ended: Ended) -> str:
    """Whether running the same command again leaves the expected state."""
    index = ground.folder / "index"
    if ended.code == 0 and (removed := _removed_text(ground)):
        return f"the command ended with 0 and {removed}"
    again = run(ground.step.command(ground.world, index), ground.folder)
    if again.code and not (ground.step.name == "remove" and ended.code == 0):
        return f"the same command again ended with {again.code}: {again.said[-300:]}"
    if found := damage(index):
        return found[0]
    if small_world.look(index) != ground.after:
        return "not the state that an undisturbed run leaves"
    if removed := _removed_text(ground):
        return removed
    changed = _files(ground.folder) ^ ground.files
    strange = {Path(one).parent for one in changed} - {Path("index/arrays")}
    return f"files that do not belong: {sorted(changed)}" if strange else ""


def _removed_text(ground: Ground) -> str:
    """The files that hold the text of a removed document; empty if none do."""
    found = small_world.files_with(ground.folder, small_world.REMOVED) if ground.step.gone else []
    return f"removed text is in {found}" if found else ""


if __name__ == "__main__":
    main()
