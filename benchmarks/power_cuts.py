"""Cuts the power after every write operation of `hoptrail index`, an update, `remove`, `repair`, and of a server that accepts and
removes documents: is anything lost?

    python -m benchmarks.power_cuts [--seeds N] [--states N] [--of commands|server] [--out FILE.json]

Records the operations of each command (`operations`). For each of them it rebuilds the folder as a disk may hold it when the
power fails right after it:

    all         everything is on the disk
    synced      only synced data: contents of files, and names in folders, separately
    torn        of unsynced contents, some writes are there, the last of them up to a sector
    reordered   of unsynced names, some are there, later ones possibly without earlier ones

A server's requests are acknowledged before they are executed (`served_world`): what was acknowledged must be there once a server
has started on the state and done the remaining work.

What is unsynced when a command ends stays unsynced while the next one runs. Each state must open and hold every acknowledged
document. `repair` must remove stray files, and after a repair command the damage that it was to repair, without losing a
document; there must be no other damage; and the text of a document whose removal was
acknowledged must be in no file. States with the same bytes are checked once. Linux, with `cc`.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from random import Random

from benchmarks.common import parser
from benchmarks.disk import KINDS, Disk
from benchmarks.operations import Operation, preload, read_log, run
from benchmarks.served_world import ACKNOWLEDGED, TOLD, fault
from benchmarks.small_world import REMOVED, STEPS, Findings, Seen, Step, files_with, look, lost, use_hashed_words

from hoptrail.corpus.repairing import damage
from hoptrail.errors import HoptrailError, IndexUnavailable
from hoptrail.index.index import Index


@dataclass(frozen=True, slots=True)
class Expected:
    """The document texts before a command, and those that a reader sees after it."""

    before: Mapping[str, str]
    after: Seen

    def fault(self, seen: Seen, *, ended: bool) -> str:
        """The problems in what a reader sees; empty if there are none. `ended`: the command was acknowledged."""
        if ended:
            return "" if seen == self.after else "not the state that was acknowledged"
        return lost(self.before, self.after.documents, seen)


Check = Callable[[Path, Findings, bool], str]
"""The problems of a state in a folder, before or after the acknowledgement; empty if there are none."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """The effects of a command on a disk. From the operation `acknowledged` on, its outcome must be durable."""

    name: str
    disk: Disk
    operations: list[Operation]
    acknowledged: int
    check: Check


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--seeds", type=int, default=3, help="random states of each kind after each operation")
    options.add_argument("--of", choices=("commands", "server"), help="only the commands, or only the server")
    options.add_argument("--states", type=int, default=0, help="check only about this many, evenly spread (0: all)")
    arguments = options.parse_args()
    preload()
    use_hashed_words()
    with tempfile.TemporaryDirectory(prefix="hoptrail-power-") as ground:
        findings = cut_everywhere(Path(ground).resolve(), arguments.seeds, arguments.states, arguments.of)
    findings.report(arguments.out)


def cut_everywhere(ground: Path, seeds: int, most: int, of: str | None) -> Findings:
    """Run and record all steps, and check the states that a power cut may leave."""
    findings = Findings(KINDS, cases="states", outcome="mended", column="fixed by repair")
    recorded = list(_record(ground)) if of != "server" else []
    recorded += _record_server(ground / "server") if of != "commands" else ()
    sum_ = sum(len(one.operations) for one in recorded) * seeds * len(KINDS)
    share = most / sum_ if most else 1.0
    draw = Random(1)
    for one in recorded:
        findings.operations[one.name] = len(one.operations)
        checked = set[bytes]()
        for number, operation in enumerate(one.operations, 1):
            one.disk.do(operation)
            ended, last = number >= one.acknowledged, number == len(one.operations)
            for seed in range(seeds):
                drawn = [kind for kind in KINDS if last or draw.random() <= share]
                if not drawn:
                    continue
                states = one.disk.states(Random(f"{one.name} {number} {seed}"))
                for kind in drawn:
                    mark = _mark(states[kind], ended=ended)
                    if mark in checked:
                        continue
                    checked.add(mark)
                    findings.tried[f"{one.name}: {kind}"] += 1
                    _lay_out(states[kind], ground / "cut")
                    after = f"{operation.kind} {operation.path if operation.kind in 'omudr' else operation.number}"
                    where = f"operation {number} ({after.replace(str(ground), '')}), {kind}, seed {seed}"
                    findings.note(one.name, where, one.check(ground / "cut", findings, ended))
    return findings


def _record(ground: Path) -> Iterator[Recorded]:
    world, folder = ground / "world", ground / "disk"
    folder.mkdir()
    disk = Disk(folder)
    before: dict[str, str] = {}
    for step in STEPS:
        step.before(world, folder / "index")
        if step.name.startswith("repair"):
            disk = Disk(folder)
        ended = run(step.command(world, folder / "index"), folder, log=ground / "log")
        if ended.code:
            sys.exit(f"{step.name} ended with {ended.code}: {ended.said}")
        after = look(folder / "index")
        operations = list(read_log(ground / "log"))
        yield Recorded(step.name, disk, operations, len(operations), partial(_look, step, Expected(before, after)))
        before = dict(after.documents)


def _record_server(ground: Path) -> Iterator[Recorded]:
    import_module("hoptrail.serving.server.app")  # before any process is forked, each of which would have to
    folder = ground / "disk"
    folder.mkdir(parents=True)
    disk = Disk(folder)
    before: dict[str, str] = {}
    for told in TOLD:
        ended = run(partial(told.perform, folder / "index"), folder, log=ground / "log")
        if ended.code:
            sys.exit(f"{told.name} ended with {ended.code}: {ended.said}")
        operations, after = list(read_log(ground / "log")), told.after(before)
        marked = (one.kind == "o" and one.path.endswith(ACKNOWLEDGED) for one in operations)
        acknowledged = 1 + next(number for number, mark in enumerate(marked) if mark)
        yield Recorded(told.name, disk, operations, acknowledged, partial(_look_served, before, after))
        before = after


def _look_served(before: dict[str, str], after: dict[str, str], folder: Path, _: Findings, acknowledged: bool) -> str:
    return fault(folder / "index", before, after, acknowledged=acknowledged)


def _mark(state: dict[str, bytes | None], *, ended: bool) -> bytes:
    digest = hashlib.sha256(b"ended" if ended else b"")
    for path, content in state.items():
        digest.update(path.encode() + b"\0" + hashlib.sha256(content or b"").digest())
    return digest.digest()


def _look(step: Step, expected: Expected, folder: Path, findings: Findings, ended: bool) -> str:
    """The problems of a state; empty if there are none."""
    if ((ended and step.gone) or step.starts_with_removed) and (removed := files_with(folder, REMOVED)):
        return f"removed text is in {', '.join(removed)}"
    index, repairing = folder / "index", step.name.startswith("repair")
    try:
        fault_seen = expected.fault(look(index), ended=ended) if ended or not repairing else ""
        if fault_seen:
            return fault_seen
        found = damage(index)
        altered = [one for one in found if not one.endswith("does not belong to the index")]
        if altered and not repairing:
            return altered[0]
        if found:
            findings.well[step.name] += 1
            Index(index).repair()
            if remaining := damage(index):
                return f"repair leaves: {remaining[0]}"
            return expected.fault(look(index), ended=ended or repairing)  # the outcome is that of the repair command
    except HoptrailError as error:
        if isinstance(error, IndexUnavailable) and not (expected.before or ended) and "there is no index" in str(error):
            return ""
        return f"{type(error).__name__}: {error}".replace(str(folder), "")
    return ""


def _lay_out(state: dict[str, bytes | None], folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for path, content in state.items():
        if content is None:
            (folder / path).mkdir()
        else:
            (folder / path).write_bytes(content)


if __name__ == "__main__":
    main()
