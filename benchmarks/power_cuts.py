"""Cuts the power after every write operation of `hoptrail index`, an update, `remove` and `repair`: is anything lost?

    python -m benchmarks.power_cuts [--seeds N] [--states N] [--out FILE.json]

The operations of each command are recorded (`operations`). For each of them the folder is made as a disk may hold it when the
power goes right after it:

    all         everything is on the disk
    synced      only what was synced: contents of files, and names in folders, each by itself
    torn        of contents that were not synced, some writes are there, the last of them up to a sector
    reordered   of names that were not synced, some are there, later ones without earlier ones

What was not synced when a command ended stays so while the next one runs. Each state must open and hold every document that was
acknowledged; files that do not belong, and in a repair the damage that it is to mend, must be mended by `repair` without losing a
document, and there must be no other damage; and the text of a document whose removal was
acknowledged must be in no file. States with the same bytes are looked at once. Linux, with `cc`.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from benchmarks.common import parser, print_table, write_results
from benchmarks.operations import Operation, preload, read_log, run
from benchmarks.small_world import REMOVED, STEPS, Seen, Step, files_with, look, use_hashed_words

from hoptrail.corpus.repairing import damage
from hoptrail.errors import HoptrailError, IndexUnavailable
from hoptrail.index import Index

SECTOR = 512
"""Bytes that a disk writes whole or not at all."""

KINDS = ("all", "synced", "torn", "reordered")

Change = tuple[str, str, int]
"""Of names in a folder: a name that goes (or nothing), a name that comes (or nothing), and what that stands for."""


@dataclass(slots=True)
class _File:
    now: bytearray = field(default_factory=bytearray)
    synced: bytes = b""
    pending: list[Operation] = field(default_factory=list)

    def sync(self) -> None:
        self.synced, self.pending = bytes(self.now), []

    def torn(self, draw: Random) -> bytes:
        content = bytearray(self.synced)
        chosen = [operation for operation in self.pending if draw.random() < 0.5]
        for operation in chosen[:-1]:
            _apply(operation, content)
        for operation in chosen[-1:]:
            _apply(operation, content, draw.randrange(0, len(operation.data) + SECTOR, SECTOR))
        return bytes(content)


@dataclass(slots=True)
class _Folder:
    now: dict[str, int] = field(default_factory=dict)
    synced: dict[str, int] = field(default_factory=dict)
    pending: list[Change] = field(default_factory=list)

    def change(self, gone: str, come: str, what: int) -> None:
        self.pending.append((gone, come, what))
        _rename(self.now, gone, come, what)

    def sync(self) -> None:
        self.synced, self.pending = dict(self.now), []

    def reordered(self, draw: Random) -> dict[str, int]:
        names = dict(self.synced)
        for gone, come, what in self.pending:
            if draw.random() < 0.5:
                _rename(names, gone, come, what)
        return names


def _rename(names: dict[str, int], gone: str, come: str, what: int) -> None:
    names.pop(gone, None)
    if come:
        names[come] = what


def _apply(operation: Operation, content: bytearray, most: int | None = None) -> None:
    """A write or a truncation; of a write, so many bytes at the most."""
    if operation.kind == "t":
        content.extend(bytes(max(0, operation.number - len(content))))
        del content[operation.number :]
        return
    data, at = operation.data[:most], operation.number
    content.extend(bytes(max(0, at - len(content))))
    content[at : at + len(data)] = data


class Disk:
    """What is known to be on a disk, and what may be."""

    def __init__(self, folder: Path) -> None:
        """All that is in a folder is on the disk."""
        self._root = str(folder)
        self._things: list[_File | _Folder] = [_Folder()]
        self._open: dict[int, int] = {}
        self._from = ""
        for path in sorted(folder.rglob("*")):
            self._link(str(path), self._new(_Folder() if path.is_dir() else _File(bytearray(path.read_bytes()))))
        for thing in self._things:
            thing.sync()

    def do(self, operation: Operation) -> None:
        kind = operation.kind
        if kind == "o":
            self._open[operation.file] = self._opened(operation.path, empty=operation.number == 1)
        elif kind in "wt":
            file = self._things[self._open[operation.file]]
            assert isinstance(file, _File)
            file.pending.append(operation)
            _apply(operation, file.now)
        elif kind == "s":
            self._things[self._open[operation.file]].sync()
        elif kind == "c":
            del self._open[operation.file]
        elif kind == "f":
            self._from = operation.path
        elif kind == "r":
            self._rename(self._from, operation.path)
        elif kind == "m":
            self._link(operation.path, self._new(_Folder()))
        else:
            folder, name = self._parent(operation.path)
            folder.change(name, "", 0)

    def states(self, draw: Random) -> dict[str, dict[str, bytes | None]]:
        """Of each kind one state: contents by path, None for a folder."""
        return {kind: dict(self._state(kind, draw, 0, "")) for kind in KINDS}

    def _state(self, kind: str, draw: Random, number: int, path: str) -> Iterator[tuple[str, bytes | None]]:
        thing = self._things[number]
        if isinstance(thing, _File):
            if kind == "torn":
                yield path, thing.torn(draw)
            else:
                lost = kind == "synced" or (kind == "reordered" and draw.random() < 0.5)
                yield path, thing.synced if lost else bytes(thing.now)
            return
        if path:
            yield path, None
        names = {"synced": lambda: thing.synced, "reordered": lambda: thing.reordered(draw)}.get(
            kind, lambda: thing.now
        )()
        for name, what in sorted(names.items()):
            yield from self._state(kind, draw, what, f"{path}/{name}" if path else name)

    def _new(self, thing: _File | _Folder) -> int:
        self._things.append(thing)
        return len(self._things) - 1

    def _parent(self, path: str) -> tuple[_Folder, str]:
        *parents, name = path.removeprefix(self._root).strip("/").split("/")
        folder = self._things[0]
        for parent in parents:
            assert isinstance(folder, _Folder)
            folder = self._things[folder.now[parent]]
        assert isinstance(folder, _Folder)
        return folder, name

    def _link(self, path: str, what: int) -> None:
        folder, name = self._parent(path)
        folder.change("", name, what)

    def _opened(self, path: str, *, empty: bool) -> int:
        if path == self._root:
            return 0
        folder, name = self._parent(path)
        if name not in folder.now:
            self._link(path, self._new(_File()))
        elif empty:
            file = self._things[folder.now[name]]
            assert isinstance(file, _File)
            file.pending.append(Operation("t", 0, 0, b""))
            file.now.clear()
        return folder.now[name]

    def _rename(self, old: str, new: str) -> None:
        (source, was), (target, name) = self._parent(old), self._parent(new)
        what = source.now[was]
        if source is target:
            source.change(was, name, what)
        else:
            target.change("", name, what)
            source.change(was, "", 0)


@dataclass(frozen=True, slots=True)
class Expected:
    """Texts of documents before a command, and what a reader sees after it."""

    before: Mapping[str, str]
    after: Seen

    def fault(self, seen: Seen, *, ended: bool) -> str:
        """What is wrong with what a reader sees; empty where nothing is. `ended`: the command was acknowledged."""
        if ended:
            return "" if seen == self.after else "not the state that was acknowledged"
        now, then, found = self.before, self.after.documents, set(seen.documents.values())
        if not found <= {*now.values(), *then.values()}:
            return "a text that was never written"
        for title, text in now.items():
            wanted = {text, then[title]} if title in then else None
            if wanted and not (found & wanted and wanted & set(seen.passages.values())):
                return f"{title} is lost"
        return ""


@dataclass(frozen=True, slots=True)
class Failure:
    step: str
    operation: int
    after: str
    kind: str
    seed: int
    what: str


@dataclass
class Results:
    """`states` and `mended` count by step and kind; `operations` by step."""

    operations: dict[str, int] = field(default_factory=dict)
    states: Counter[str] = field(default_factory=Counter)
    mended: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)

    def plain(self) -> dict[str, object]:
        return {
            "operations": self.operations,
            "states": dict(self.states),
            "mended": dict(self.mended),
            "failures": self.failures,
            "total": self.states.total(),
        }


def main() -> None:
    options = parser(__doc__)
    options.add_argument(
        "--seeds", type=int, default=3, help="states of each kind that are drawn by lot, after each operation"
    )
    options.add_argument("--states", type=int, default=0, help="look at about so many only, evenly spread (0: at all)")
    arguments = options.parse_args()
    preload()
    use_hashed_words()
    with tempfile.TemporaryDirectory(prefix="hoptrail-power-") as ground:
        results = cut_everywhere(Path(ground).resolve(), arguments.seeds, arguments.states)
    rows = [
        (step.name, results.operations[step.name], *(results.states[f"{step.name}: {kind}"] for kind in KINDS),
         results.mended[step.name], sum(one.step == step.name for one in results.failures))
        for step in STEPS
    ]  # fmt: skip
    print_table(("command", "operations", *KINDS, "mended by repair", "failures"), rows)
    print(f"{results.states.total():,} states, {len(results.failures)} failures")
    for one in results.failures[:40]:
        print(f"{one.step}, operation {one.operation} ({one.after}), {one.kind}, seed {one.seed}: {one.what}")
    write_results(arguments.out, results.plain())
    sys.exit(bool(results.failures))


def cut_everywhere(ground: Path, seeds: int, most: int) -> Results:
    """Run all steps, recording them, and look at the states that a power cut may leave."""
    results = Results()
    recorded = [*_record(ground)]
    sum_ = sum(len(operations) for _, _, operations, _ in recorded) * seeds * len(KINDS)
    share = most / sum_ if most else 1.0
    draw = Random(1)
    for step, disk, operations, expected in recorded:
        results.operations[step.name] = len(operations)
        seen = set[bytes]()
        for number, operation in enumerate(operations, 1):
            disk.do(operation)
            ended = number == len(operations)
            for seed in range(seeds):
                for kind, state in disk.states(Random(f"{step.name} {number} {seed}")).items():
                    mark = _mark(state, ended=ended)
                    if mark in seen or (not ended and draw.random() > share):
                        continue
                    seen.add(mark)
                    results.states[f"{step.name}: {kind}"] += 1
                    what = _look(step, state, expected, ground / "cut", results, ended=ended)
                    if what:
                        after = f"{operation.kind} {operation.path if operation.kind in 'omudr' else operation.number}"
                        results.failures.append(
                            Failure(step.name, number, after.replace(str(ground), ""), kind, seed, what)
                        )
    return results


def _record(ground: Path) -> Iterator[tuple[Step, Disk, list[Operation], Expected]]:
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
        yield step, disk, list(read_log(ground / "log")), Expected(before, after)
        before = dict(after.documents)


def _mark(state: dict[str, bytes | None], *, ended: bool) -> bytes:
    digest = hashlib.sha256(b"ended" if ended else b"")
    for path, content in state.items():
        digest.update(path.encode() + b"\0" + hashlib.sha256(content or b"").digest())
    return digest.digest()


def _look(
    step: Step, state: dict[str, bytes | None], expected: Expected, folder: Path, results: Results, *, ended: bool
) -> str:
    """What is wrong with a state; empty where nothing is."""
    _lay_out(state, folder)
    if (ended and step.gone) or step.starts_with_removed:
        found = files_with(folder, REMOVED)
        if found:
            return f"removed text is in {', '.join(found)}"
    index = folder / "index"
    try:
        if not step.name.startswith("repair") or ended:
            fault = _fault(index, expected, ended=ended)
            if fault:
                return fault
        found = damage(index)
        altered = [one for one in found if not one.endswith("does not belong to the index")]
        if altered and not step.name.startswith("repair"):
            return altered[0]
        if found:
            results.mended[step.name] += 1
            Index(index).repair()
            left = damage(index)
            repairing = step.name.startswith("repair")  # its outcome is that of the command
            return f"repair leaves: {left[0]}" if left else _fault(index, expected, ended=ended or repairing)
    except HoptrailError as error:
        if (
            isinstance(error, IndexUnavailable)
            and not expected.before
            and not ended
            and "there is no index" in str(error)
        ):
            return ""
        return f"{type(error).__name__}: {error}".replace(str(folder), "")
    return ""


def _lay_out(state: dict[str, bytes | None], folder: Path) -> None:
    """A state as files."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for path, content in state.items():
        if content is None:
            (folder / path).mkdir()
        else:
            (folder / path).write_bytes(content)


def _fault(index: Path, expected: Expected, *, ended: bool) -> str:
    return expected.fault(look(index), ended=ended)


if __name__ == "__main__":
    main()
