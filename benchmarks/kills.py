"""Kills indexing and removing at random moments: does the index always hold the state before or after, and nothing else?

    python -m benchmarks.kills [--trials N] [--real N] [--seed N] [--out FILE.json]

A world of about sixty documents that this file makes up goes through known states. Each trial takes a copy of an index, runs
`hoptrail index` or `hoptrail remove` in a process, ends it by SIGKILL after a random share of the time that the command takes,
and looks: the index must open and hold exactly one of the two states (documents, passages, vectors, what a keyword search
finds, checksums); where there was no index before, there may be none. Then the same command runs again to its end, and must
leave the state after. In every second trial a reader in a process of its own keeps opening the index meanwhile.

The `--trials` run the command line's code in forked processes, with a small encoder that notes in a file what it has finished
and with batches of a few documents, so that a run has many steps to be killed in and repeated encoding can be counted. The
`--real` trials kill the installed executable with the default encoder. Only the process dies: power cuts and disks that lie
about writing are not covered.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.common import parser, print_table, write_results
from hoptrail import Index, IndexingReport, Kind
from hoptrail.documents.splitting import PassageLimits, passages
from hoptrail.errors import HoptrailError, IndexUnavailable
from hoptrail.models.encoder import EncoderIdentity, FloatMatrix, Progress
from hoptrail.store.snapshot import Snapshot

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerProcess

BATCH = 12
"""Documents read, and passages encoded, between two checkpoints in forked trials (the product's numbers are in hundreds)."""

EXECUTABLE = Path(sys.executable).parent / "hoptrail"
NOUNS = "river harbour bridge engineer village lighthouse council orchard foundry chapel".split()

# --- the world


State = dict[str, str]
"""File name to text: what an index of a world must hold."""


def text_of(number: int, version: int, chance: random.Random) -> str:
    """A few sentences; every tenth document is long enough for several passages. Its words tell number and version."""
    count = 90 if number % 10 == 0 else 3
    sentences = [f"The {chance.choice(NOUNS)} near the {chance.choice(NOUNS)} has {n} stones." for n in range(count)]
    return f"Document{number} stands in edition{version}. " + " ".join(sentences)


@dataclass(frozen=True, slots=True)
class Step:
    """One command that leads from a state to another: arguments of `hoptrail` after the world's folder is in place."""

    name: str
    before: State | None
    after: State
    removed: tuple[str, ...] = ()

    def arguments(self, world: Path, index: Path) -> list[str]:
        if self.removed:
            return ["remove", *(str(world / name) for name in self.removed), "--index", str(index)]
        return ["index", str(world), "--index", str(index)]


def make_steps(seed: int) -> list[Step]:
    """A first indexing of sixty documents; then twenty of them changed and five new; then fifteen removed."""
    chance = random.Random(seed)
    first = {f"note-{number}.txt": text_of(number, 1, chance) for number in range(60)}
    changed = {f"note-{number}.txt": text_of(number, 2, chance) for number in [*range(0, 40, 2), *range(60, 65)]}
    second = first | changed
    removed = tuple(chance.sample(sorted(second), 15))
    third = {name: text for name, text in second.items() if name not in removed}
    return [
        Step("first index", None, first),
        Step("index again, 25 changed", first, second),
        Step("remove 15", second, third, removed),
    ]


def write_world(state: State, world: Path) -> None:
    world.mkdir(parents=True, exist_ok=True)
    for name, text in state.items():
        (world / name).write_text(text, encoding="utf-8")


# --- the encoder of the forked trials


@dataclass(frozen=True)
class NotingEncoder:
    """Bags of hashed words, and a line in `journal` with the number of texts of each batch that was finished."""

    journal: Path | None = None
    dimension: int = 64

    @property
    def identity(self) -> EncoderIdentity:
        return EncoderIdentity("noting", hashlib.sha256(b"noting").hexdigest(), self.dimension)

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> FloatMatrix:
        matrix = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().replace(".", " ").split():
                matrix[row, hashlib.sha256(word.encode()).digest()[0] % self.dimension] += 1
        if progress is not None:
            progress(len(texts), len(texts))
        if self.journal is not None:
            with self.journal.open("a") as journal:
                journal.write(f"{len(texts)}\n")
        scaled: FloatMatrix = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
        return scaled


def run_forked(arguments: Sequence[str], journal: Path, ready: Connection) -> None:
    """In a forked process: the command line as it is, but for the encoder and the size of the steps."""
    import hoptrail.index
    import hoptrail.indexing
    import hoptrail.structures.passages
    from hoptrail.serving import cli

    hoptrail.index.open_encoder = lambda _: NotingEncoder(journal)
    hoptrail.indexing.BATCH_DOCUMENTS = BATCH
    hoptrail.structures.passages.BATCH = BATCH
    sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - the process's own
    sys.argv = ["hoptrail", *arguments]
    ready.send("ready")
    cli.main()


# --- looking


def fault_of(index: Path, step: Step, encoder: NotingEncoder | None) -> str:
    """What is wrong with an index that must hold the state before or after `step`; empty where nothing is."""
    try:
        snapshot = Snapshot.open(index)
    except IndexUnavailable:
        return "" if step.before is None else "the index is gone"
    except HoptrailError as error:
        return f"does not open: {error}"
    documents = {Path(document.sources[0]).name: document for document in snapshot.documents()}
    texts = {name: document.text for name, document in documents.items()}
    if texts not in (step.before, step.after):
        return f"{len(texts)} documents, of neither state"
    expected = {unit.id: unit for document in documents.values() for unit in passages(document, PassageLimits())}
    units = {unit.id: unit for unit in snapshot.units(Kind.PASSAGE)}
    mirror = snapshot.vectors(Kind.PASSAGE)
    if units != expected or list(mirror.ids) != sorted(expected):
        return "passages or vectors are not those of the documents"
    ordered = [units[name].searchable for name in mirror.ids]
    if encoder is not None and not np.allclose(mirror.matrix, encoder.encode(ordered), atol=1e-6):
        return "vectors are not those of their passages"
    if fault := search_fault(snapshot, texts):
        return fault
    try:
        Index(index).verify()
    except HoptrailError as error:
        return str(error)
    return ""


def search_fault(snapshot: Snapshot, texts: State) -> str:
    """Keyword search for one edition's word must find each document of that edition and no other."""
    for edition in ("edition1", "edition2"):
        hits = snapshot.search_keywords(Kind.PASSAGE, edition, 200)
        found = sorted(unit.text.split(maxsplit=1)[0] for unit, _ in hits)
        wanted = sorted(text.split(maxsplit=1)[0] for text in texts.values() if f" {edition}." in text)
        if found != wanted:
            return f"a search for {edition} finds {len(found)} passages instead of {len(wanted)}"
    return ""


def holds(index: Path, state: State) -> bool:
    if not Snapshot.exists(index):
        return False
    return {Path(entry.sources[0]).name for entry in Snapshot.open(index).entries} == set(state) and {
        document.text for document in Snapshot.open(index).documents()
    } == set(state.values())


def read_on(index: Path, step: Step, results: Connection) -> None:
    """In a process of its own: open and look until told to stop; then tell how often, and every fault."""
    looks, faults = 0, []
    while not results.poll():
        looks += 1
        if fault := fault_of(index, step, NotingEncoder()):
            faults.append(f"reader: {fault}")
    results.send((looks, faults))


# --- trials


@dataclass(slots=True)
class Tally:
    """What happened in the trials of one step."""

    step: str
    encoder: str
    kills: int = 0
    finished_before_the_kill: int = 0
    states: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    looks_by_readers: int = 0
    trials_with_repeated_encoding: int = 0
    most_passages_repeated: int = 0


@dataclass(frozen=True, slots=True)
class Ground:
    """Where trials take place: a folder for each, and for each step the index it starts from and its world."""

    folder: Path
    step: Step
    template: Path | None
    world: Path

    def copy(self, number: int) -> Path:
        index = self.folder / f"trial-{number}"
        if self.template is not None:
            shutil.copytree(self.template, index)
        return index


Begin = Callable[[list[str]], "Running"]


@dataclass(frozen=True, slots=True)
class Running:
    """A command under way: how to kill it and how to wait for it; both give its exit code, negative if it was killed."""

    kill: Callable[[], int]
    wait: Callable[[], int]


def begin_forked(context: multiprocessing.context.ForkServerContext, journal: Path) -> Begin:
    def begin(arguments: list[str]) -> Running:
        ours, theirs = context.Pipe()
        process = context.Process(target=run_forked, args=(arguments, journal, theirs), daemon=True)
        process.start()
        ours.recv()
        return Running(lambda: _killed(process), lambda: _joined(process))

    return begin


def _killed(process: ForkServerProcess) -> int:
    process.kill()
    return _joined(process)


def _joined(process: ForkServerProcess) -> int:
    process.join()
    return process.exitcode if process.exitcode is not None else 1


def begin_executable(arguments: list[str]) -> Running:
    process = subprocess.Popen([EXECUTABLE, *arguments], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def kill() -> int:
        process.kill()
        return process.wait()

    return Running(kill, process.wait)


def trial(ground: Ground, number: int, begin: Begin, moment: float, tally: Tally, encoder: NotingEncoder | None) -> None:
    """Kill after `moment` seconds, look, run again, look."""
    index = ground.copy(number)
    arguments = ground.step.arguments(ground.world, index)
    running = begin(arguments)
    time.sleep(moment)
    if running.kill() < 0:
        tally.kills += 1
    else:
        tally.finished_before_the_kill += 1
    if fault := fault_of(index, ground.step, encoder):
        tally.faults.append(f"trial {number}, after the kill: {fault}")
    changed = holds(index, ground.step.after)
    tally.states["after" if changed else "before"] += 1
    if ground.step.removed and changed:  # nothing is left that these names could mean
        shutil.rmtree(index)
        return
    code = begin(arguments).wait()
    fault = fault_of(index, ground.step, encoder)
    if code != 0 or fault or not holds(index, ground.step.after):
        tally.faults.append(f"trial {number}, run again: exit code {code}, {fault or 'not the state after'}")
    shutil.rmtree(index)


def watched(context: multiprocessing.context.ForkServerContext, index: Path, step: Step, tally: Tally) -> Callable[[], None]:
    """Start a reader of `index`; the result ends it and enters what it saw."""
    ours, theirs = context.Pipe()
    reader = context.Process(target=read_on, args=(index, step, theirs), daemon=True)
    reader.start()

    def end() -> None:
        ours.send("stop")
        looks, faults = ours.recv()
        reader.join()
        tally.looks_by_readers += looks
        tally.faults += faults

    return end


def passages_to_encode(step: Step) -> int:
    """How many passages have to be encoded between the two states, by running it once in an empty folder."""
    raise NotImplementedError


def main() -> None:
    pass


if __name__ == "__main__":
    main()
