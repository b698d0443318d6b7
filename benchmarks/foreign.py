"""Lets other SQLite programs open an index after a kill, and damages its files: is anything lost, or wrong without a word?

    python -m benchmarks.foreign [--kills N] [--alterations N] [--out FILE.json]

After a kill at a numbered write operation (`kills`), Python's own SQLite reads the database, vacuums it, moves its log into it,
or puts a copy in its place. Then the index must open, show the state before or after the command, and match its checksums; and
the same command must end with 0.

In arrays and in the last page of the database, a bit, a byte or 64 bytes are altered, the end is cut off, or bytes are appended.
Then a reader must be told or see what it saw before, `verify` must name an altered array and any other size, and `repair` must
mend it, or say that documents themselves are damaged. Linux, with `cc`.
"""

from __future__ import annotations

import random
import signal
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from benchmarks import small_world
from benchmarks.common import parser
from benchmarks.kills import Ground, grounds, kept
from benchmarks.operations import Fault, command_line, preload, run
from benchmarks.small_world import Findings

from hoptrail.corpus.arrays import ARRAYS
from hoptrail.corpus.locations import DATABASE
from hoptrail.corpus.repairing import damage
from hoptrail.errors import HoptrailError, IndexDamaged, IndexUnavailable

PAGE = 4096
LAST_PAGE = "last page"


def _executing(statement: str) -> Callable[[Path], None]:
    def execute(path: Path) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute(statement).fetchall()

    return execute


def _copy(path: Path) -> None:
    copy = path.with_name("copy")
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    for one in path.parent.glob(f"{DATABASE}*"):
        one.unlink()
    copy.rename(path)


PROGRAMS = {
    "read": _executing("SELECT count(*) FROM sqlite_schema"),
    "vacuum": _executing("VACUUM"),
    "checkpoint": _executing("PRAGMA wal_checkpoint(TRUNCATE)"),
    "copy": _copy,
}

Alter = Callable[[bytes, int], bytes]
ALTERATIONS: dict[str, Alter] = {
    "bit": lambda content, at: content[:at] + bytes([content[at] ^ 1 << at % 8]) + content[at + 1 :],
    "byte": lambda content, at: content[:at] + bytes([(content[at] + 77) % 256]) + content[at + 1 :],
    "zeros": lambda content, at: content[:at] + bytes(len(content[at : at + 64])) + content[at + 64 :],
    "cut": lambda content, at: content[:at],
    "appended": lambda content, at: content + content[: at % 5000 + 1],
}
"""By name; `at` is a place in the content."""


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--kills", type=int, default=200, help="total number")
    options.add_argument("--alterations", type=int, default=300, help="total number")
    arguments = options.parse_args()
    preload()
    small_world.use_hashed_words()
    findings = Findings([*PROGRAMS, *ALTERATIONS], cases="trials", outcome="unharmed", column="unharmed or mended")
    with tempfile.TemporaryDirectory(prefix="hoptrail-foreign-") as folder:
        for ground in grounds(Path(folder).resolve()):
            if ground.step.name.startswith("repair"):
                break
            for number in range(arguments.kills // _COMMANDS):
                _kill(ground, number, arguments.kills // _COMMANDS, findings)
            last = ground
        _alter_all(last, arguments.alterations, findings)
    findings.report(arguments.out)


_COMMANDS = sum(not step.name.startswith("repair") for step in small_world.STEPS)


def _kill(ground: Ground, number: int, count: int, findings: Findings) -> None:
    findings.operations[ground.step.name] = ground.operations
    program = [*PROGRAMS][number % len(PROGRAMS)]
    at = 1 + number * ground.operations // count
    findings.tried[f"{ground.step.name}: {program}"] += 1
    small_world.copy(ground.template, ground.folder)
    index = ground.folder / "index"
    command = ground.step.command(ground.world, index)
    ended = run(command, ground.folder, fault=Fault.KILLED, at=at)
    what = "" if ended.code in (0, -signal.SIGKILL) else f"ended with {ended.code}: {ended.said[-300:]}"
    try:
        if (index / DATABASE).exists():
            PROGRAMS[program](index / DATABASE)
            what = what or kept(ground, ended) or _faults(index)
        if not what and (again := run(command, ground.folder)).code:
            what = f"the same command again ended with {again.code}: {again.said[-300:]}"
        what = what or ("" if small_world.look(index) == ground.after else "not the state of an undisturbed run")
    except (HoptrailError, sqlite3.Error) as error:
        what = f"{type(error).__name__}: {error}"
    _note(findings, ground.step.name, f"{program} after a kill at operation {at}", what)


def _faults(index: Path) -> str:
    try:
        return next((fault for fault in damage(index) if "does not belong" not in fault), "")
    except IndexUnavailable as error:  # there is none if the first run was killed before its first commit
        return "" if "there is no index" in str(error) else str(error)


def _alter_all(ground: Ground, count: int, findings: Findings) -> None:
    """A third in the last page, the others in arrays, each in turn."""
    draw = random.Random(8)
    good = ground.folder.with_name("good")
    small_world.copy(ground.folder, good)
    files = sorted((good / "index" / ARRAYS).iterdir())
    before = small_world.look(good / "index")
    for number in range(count):
        kind = [*ALTERATIONS][number // 3 % len(ALTERATIONS)]
        path = good / "index" / DATABASE if number % 3 == 0 else files[number % len(files)]
        content = path.read_bytes()
        at = draw.randrange(len(content) - PAGE if path.name == DATABASE else 0, len(content))
        name = LAST_PAGE if path.name == DATABASE else ARRAYS
        findings.operations[name] = 1 if name == LAST_PAGE else len(files)
        findings.tried[f"{name}: {kind}"] += 1
        small_world.copy(good, ground.folder)
        altered, what = ALTERATIONS[kind](content, at), ""
        (ground.folder / path.relative_to(good)).write_bytes(altered)
        if altered != content:
            how = {"in_database": name == LAST_PAGE, "resized": len(altered) != len(content)}
            what = _after_alteration(ground.folder, before, **how)
        _note(findings, name, f"{kind} at {at} of {path.name}", what)


def _after_alteration(folder: Path, before: small_world.Seen, *, in_database: bool, resized: bool) -> str:
    """What is wrong after an alteration; empty where nothing is."""
    index = folder / "index"
    told = _look(index, before)
    if told not in ("", "told"):
        return told
    named = damage(index)
    if not named and (told or not in_database or resized):
        return "verify finds nothing"
    repaired = run(command_line(["repair", "--index", index]), folder)
    if repaired.code == 1 and in_database and "Index their sources into a new folder" in repaired.said:
        return ""
    if repaired.code:
        return f"repair ended with {repaired.code}: {repaired.said[-300:]}"
    return _faults(index) or _look(index, before).replace("told", "still damaged after repair")


def _look(index: Path, before: small_world.Seen) -> str:
    """Empty if a reader sees what it saw before, `told` if it is told of damage, otherwise what is wrong."""
    try:
        return "" if small_world.look(index) == before else "other results without a word"
    except IndexDamaged:
        return "told"
    except Exception as error:  # noqa: BLE001 - a reader would see it as a traceback
        return f"{type(error).__name__}: {error}"


def _note(findings: Findings, step: str, where: str, what: str) -> None:
    findings.well[step] += not what
    findings.note(step, where, what)


if __name__ == "__main__":
    main()
