"""A few documents with links between them, the commands that index, update, remove and repair them, a reader's view of
an index, and what was wrong with it: shared by `power_cuts` and `kills`. Vectors are hashed words, so that a command
takes a fraction of a second.
"""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from benchmarks.common import origin, print_table, write_results
from benchmarks.made_corpora import WordHashes
from benchmarks.operations import build_command_line, command_line

from hoptrail.corpus import segments
from hoptrail.corpus.arrays import ARRAYS
from hoptrail.corpus.locations import DATABASE
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.types import Kind

REMOVED = "Zyzzyva"
"""A word that occurs only in the document to be removed."""

QUESTION = "harbour river designed"

TEXTS = {
    "Alba": "Alba is a harbour on the river Orne. Its bridge was designed by Ilse Brandt.",
    "Brandt": "Ilse Brandt is an engineer. She was born in Corvia.",
    "Corvia": "Corvia is a town on the river Orne. Its mayor is Tomas Lind.",
    "Lind": "Tomas Lind is a teacher. He plays chess in Alba.",
    REMOVED: f"{REMOVED} is a ship. The {REMOVED} was built in Corvia by Tomas Lind.",
}
NEW = {
    "Brandt": "Ilse Brandt is a retired engineer. She was born in Corvia, and lives in Alba.",
    "Delia": "Delia is a village on the river Orne. Its harbour was designed by Ilse Brandt.",
}
LATER = {"Emmer": "Emmer is a farm near Delia. Ilse Brandt bought it."}


ENCODER = WordHashes(dimension=64)


def use_hashed_words() -> None:
    """Make commands of this process and its children encode by hashed words and store every array as a file."""
    import hoptrail.index.indexing
    import hoptrail.models.encoder_factory

    build_command_line()
    vars(hoptrail.models.encoder_factory)["open_encoder"] = lambda *_: ENCODER
    segments.SMALL = 0


@dataclass(frozen=True, slots=True)
class Step:
    """One command. `before` changes the sources or the index before it runs; `gone`: removed text must be nowhere after it."""

    name: str
    before: Callable[[Path, Path], None]
    arguments: Callable[[Path], list[object]]
    gone: bool = False
    starts_with_removed: bool = False  # whether removed text is already gone when it starts

    def command(self, world: Path, index: Path) -> Callable[[], int]:
        return command_line([*self.arguments(world), "--index", index])


def _write(texts: dict[str, str]) -> Callable[[Path, Path], None]:
    def write(world: Path, _: Path) -> None:
        world.mkdir(exist_ok=True)
        for title, text in texts.items():
            (world / f"{title}.txt").write_text(text, encoding="utf-8")

    return write


def _write_without_secret(world: Path, index: Path) -> None:
    (world / f"{REMOVED}.txt").unlink(missing_ok=True)
    _write(LATER)(world, index)


def _rename_and_delete(world: Path, _: Path) -> None:
    renamed, deleted, edited = sorted(title for title in TEXTS if title != REMOVED)[:3]
    (world / f"{renamed}.txt").rename(world / "renamed.txt")
    (world / f"{deleted}.txt").unlink()
    (world / f"{edited}.txt").write_text(f"{edited} is a mill near Delia.", encoding="utf-8")


def _harm_arrays(_: Path, index: Path) -> None:
    """One array is altered, one is missing, and there is a stray file."""
    first, second = sorted((index / ARRAYS).iterdir())[:2]
    content = bytearray(first.read_bytes())
    content[-1] ^= 1
    first.write_bytes(content)
    second.unlink()
    (index / ARRAYS / "99-letters.npy.new").write_bytes(b"half a file")


def _harm_database(_: Path, index: Path) -> None:
    """A row of the database that belongs to no document is altered."""
    import apsw

    connection = apsw.Connection(str(index / DATABASE), flags=apsw.SQLITE_OPEN_READONLY)
    ((term, docs),) = connection.execute("SELECT term, docs FROM postings ORDER BY segment, term LIMIT 1")
    connection.close()
    row = term.encode() + docs
    with (index / DATABASE).open("r+b") as file:
        place = file.read().index(row)  # not merely its page, where most may be unused
        file.seek(place)
        file.write(bytes([row[0] ^ 4]))


_WITHOUT = {"gone": True, "starts_with_removed": True}
STEPS = (
    Step("first index", _write(TEXTS), lambda world: ["index", world]),
    Step("update", _write(NEW), lambda world: ["index", world]),
    Step("remove", lambda *_: None, lambda world: ["remove", world / f"{REMOVED}.txt"], gone=True),
    Step("update after", _write_without_secret, lambda world: ["index", world], **_WITHOUT),
    Step("sync", _rename_and_delete, lambda world: ["index", world, "--sync"], **_WITHOUT),
    Step("repair arrays", _harm_arrays, lambda _: ["repair"], **_WITHOUT),
    Step("repair database", _harm_database, lambda _: ["repair"], **_WITHOUT),
)


@dataclass(frozen=True, slots=True)
class Seen:
    """Everything that a reader sees. `whole` is False if a run was stopped before its end."""

    documents: dict[str, str]
    passages: dict[str, str]
    units: frozenset[tuple[str, str, str]]
    links: frozenset[tuple[str, str, str, float]]
    ranking: tuple[tuple[str, float], ...]
    nearest: tuple[tuple[str, float], ...]
    whole: bool


def look(folder: Path) -> Seen:
    """Raises: HoptrailError: there is no index, or it cannot be read."""
    with Snapshot.open(folder) as snapshot:
        query = ENCODER.encode([QUESTION])
        units = (unit for kind in snapshot.table.kinds for unit in snapshot.units(kind))
        return Seen(
            {document.title: document.text for document in snapshot.documents()},
            {unit.document: unit.text for unit in snapshot.units(Kind.PASSAGE)},
            frozenset((unit.kind.value, unit.id, unit.text) for unit in units),
            frozenset((link.kind, link.source, link.target, round(link.weight, 5)) for link in snapshot.links()),
            tuple((unit.id, round(score, 5)) for unit, score in snapshot.search.keywords(QUESTION, 20)),
            tuple((id_, round(score, 5)) for id_, score in snapshot.search.nearest(Kind.PASSAGE, query, 20)[0]),
            snapshot.head.whole,
        )


def lost(before: Mapping[str, str], after: Mapping[str, str], seen: Seen) -> str:
    """The document of before and after that a reader sees in neither state, or what else it sees; empty if there is none."""
    found, passages = set(seen.documents.values()), set(seen.passages.values())
    if not found <= {*before.values(), *after.values()}:
        return "a text that was never written"
    for title in (title for title in before if title in after):
        either = {before[title], after[title]}
        if not (found & either and passages & either):
            return f"{title} is lost"
    return ""


def files_with(folder: Path, text: str) -> list[str]:
    """The files of a folder that contain a text, ignoring case."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return [str(path.relative_to(folder)) for path in files if text.lower().encode() in path.read_bytes().lower()]


def copy(folder: Path, to: Path) -> None:
    shutil.rmtree(to, ignore_errors=True)
    if folder.is_dir():
        shutil.copytree(folder, to)


@dataclass(frozen=True, slots=True)
class Failure:
    """Something wrong after a fault: in which command, at which fault and operation, and what."""

    step: str
    where: str
    what: str


def print_failures(failures: Sequence[Failure]) -> None:
    """Print the first of them."""
    for failure in failures[:40]:
        print(f"{failure.step}, {failure.where}: {failure.what}")


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
        rows = []
        for step, operations in self.operations.items():
            counts = (self.tried[f"{step}: {kind}"] for kind in self.kinds)
            failed = sum(one.step == step for one in self.failures)
            rows.append((step, operations, *counts, self.well[step], failed))
        header = ("command", "operations", *(kind.lower() for kind in self.kinds), self.column, "failures")
        print_table(header, rows)
        print(f"{self.tried.total():,} {self.cases}, {len(self.failures)} failures")
        print_failures(self.failures)
        results = {
            "of": origin((TEXTS, NEW, LATER)),
            "operations": self.operations,
            self.cases: dict(self.tried),
            self.outcome: dict(self.well),
            "failures": self.failures,
            "total": self.tried.total(),
        }
        write_results(out, results)
        sys.exit(bool(self.failures))

    def note(self, step: str, where: str, what: str) -> None:
        """Note what was wrong; nothing if it is empty."""
        if what:
            self.failures.append(Failure(step, where, what))
