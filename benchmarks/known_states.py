"""A made-up world whose every state is known, and a look at an index that says what is wrong with it: for `kills.py`.

A state is the texts that an index must hold, by file name. An index is compared with the states that it may be in by all that
a reader can see: documents, passages, vectors, what a keyword search finds, checksums. Knows nothing of processes.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hoptrail import Document, Kind, Unit
from hoptrail.documents.splitting import PassageLimits, passages
from hoptrail.errors import HoptrailError, IndexUnavailable
from hoptrail.models.encoder import EncoderIdentity, FloatMatrix, Progress
from hoptrail.store.integrity import verify
from hoptrail.store.snapshot import Snapshot

EDITIONS = ("edition1", "edition2")
NOUNS = ("river", "harbour", "bridge", "engineer", "village", "lighthouse", "council", "orchard", "foundry", "chapel")

State = dict[str, str]


@dataclass(frozen=True, slots=True)
class Step:
    """One command that leads from a state to another. `removed` are the files that it names, if it is `remove`."""

    name: str
    before: State
    after: State
    removed: tuple[str, ...] = ()

    def arguments(self, world: Path, index: Path) -> list[str]:
        """Those of `hoptrail`, when the files of `after` lie in `world`."""
        if self.removed:
            return ["remove", *(str(world / name) for name in self.removed), "--index", str(index)]
        return ["index", str(world), "--index", str(index)]


def make_steps(seed: int) -> list[Step]:
    """Sixty documents indexed into nothing; then twenty of them changed and five new; then fifteen removed."""
    chance = random.Random(seed)
    first = {f"note-{number}.txt": _text(number, EDITIONS[0], chance) for number in range(60)}
    changed = {
        f"note-{number}.txt": _text(number, EDITIONS[1], chance) for number in [*range(0, 40, 2), *range(60, 65)]
    }
    second = first | changed
    removed = tuple(chance.sample(sorted(second), 15))
    third = {name: text for name, text in second.items() if name not in removed}
    return [
        Step("first index", {}, first),
        Step("index 25 changed", first, second),
        Step("remove 15", second, third, removed),
    ]


def _text(number: int, edition: str, chance: random.Random) -> str:
    """Its first words tell number and edition; every tenth document is long enough for several passages."""
    count = 90 if number % 10 == 0 else 3
    sentences = [f"The {chance.choice(NOUNS)} near the {chance.choice(NOUNS)} has {n} stones." for n in range(count)]
    return f"Document{number} is of {edition}. " + " ".join(sentences)


def write_world(state: State, world: Path) -> None:
    world.mkdir(parents=True, exist_ok=True)
    for name, text in state.items():
        (world / name).write_text(text, encoding="utf-8")


@dataclass(frozen=True)
class NotingEncoder:
    """Bags of hashed words. Each finished call is a line in `journal`: how many texts it encoded."""

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


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen: the texts by file name, and what is wrong (empty: nothing)."""

    state: State
    fault: str = ""


def look(folder: Path, allowed: Collection[State], encoder: NotingEncoder | None) -> Look:
    """Everything that a reader of the index can see; no index counts as an empty one. Vectors are compared with `encoder`'s."""
    try:
        return _look(Snapshot.open(folder), allowed, encoder)
    except HoptrailError as error:
        absent = type(error) is IndexUnavailable  # damage is a kind of it, and no excuse
        return Look({}, "" if absent and {} in allowed else f"cannot be read: {error}")


def _look(snapshot: Snapshot, allowed: Collection[State], encoder: NotingEncoder | None) -> Look:
    documents = list(snapshot.documents())
    state = {Path(document.sources[0]).name: document.text for document in documents}
    if state not in allowed or len(state) != len(documents):
        return Look(state, f"holds {len(documents)} documents that are none of the states allowed")
    if snapshot.head.checksums is not None:  # else a writer is between its commit and their making
        verify(snapshot.place, snapshot.head.checksums, limit=None)
    return Look(state, _passage_fault(snapshot, documents, encoder) or _search_fault(snapshot, state))


def _passage_fault(snapshot: Snapshot, documents: Sequence[Document], encoder: NotingEncoder | None) -> str:
    expected = {unit.id: unit for document in documents for unit in passages(document, PassageLimits())}
    found: list[Unit] = list(snapshot.units(Kind.PASSAGE))
    if len(found) != len(expected) or {unit.id: unit for unit in found} != expected:
        return f"{len(found)} passages, which are not the {len(expected)} of its documents"
    mirror = snapshot.vectors(Kind.PASSAGE)
    if list(mirror.ids) != sorted(expected):
        return f"{len(mirror.ids)} vectors, which are not those of its passages"
    if encoder is not None and expected:
        vectors = encoder.encode([expected[name].searchable for name in mirror.ids])
        if not np.allclose(mirror.matrix, vectors, atol=1e-6):
            return "a vector is not that of its passage"
    return ""


def _search_fault(snapshot: Snapshot, state: State) -> str:
    """A keyword search for an edition must find each of its documents, by their first passages, and nothing else."""
    for edition in EDITIONS:
        hits = snapshot.search_keywords(edition, 2 * len(state) + 1)
        found = sorted(unit.text.split(maxsplit=1)[0] for unit, _ in hits)
        wanted = sorted(text.split(maxsplit=1)[0] for text in state.values() if f" {edition}." in text)
        if found != wanted:
            return f"a search for {edition} finds {len(found)} passages, not {len(wanted)}"
    return ""
