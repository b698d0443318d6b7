"""A building site: an index in a folder, and structures brought up to date in it one run at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import writing_to
from hoptrail.documents.splitting import PassageLimits
from hoptrail.errors import TaskFailed
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.tasks import Extract, Language, Reply, Summarise, Task
from hoptrail.structures.build_context import Account, BuildContext
from hoptrail.structures.declaration import Structure
from hoptrail.structures.passages import Passages
from hoptrail.types import Document, Kind, Unit, Usage
from world import Counting

T = TypeVar("T")


class Rules:
    """The rules of `offline`, without its encoder: keeps the titles it was asked about, and fails those it is told to."""

    name = "rules"

    def __init__(self, *failing: str) -> None:
        self.failing = set(failing)
        self.asked: list[str] = []
        self._rules = OfflineLanguage()

    def perform(self, task: Task[T]) -> Reply[T]:
        unit = task.unit if isinstance(task, Extract) else task.units[0] if isinstance(task, Summarise) else None
        if unit is not None:
            self.asked.append(unit.title)
            if unit.title in self.failing:
                raise TaskFailed("no usable reply", Usage(calls=1))
        return Reply(self._rules.perform(task).value, Usage(calls=1))


def names_of(snapshot: Snapshot, kind: str) -> set[tuple[str, str]]:
    """The names of a kind, each with the id of a unit."""
    names = snapshot.names.of(kind)
    return {(key.decode(), id_) for row, key in enumerate(names) for id_ in snapshot.numbered.ids(names.numbers(row))}


@dataclass
class Site:
    """One index. `said` is what was reported, `pauses` how often it paused."""

    folder: Path
    encoder: Counting = field(default_factory=Counting)
    limits: PassageLimits = field(default_factory=PassageLimits)
    said: list[tuple[str, int, int]] = field(default_factory=list)

    def build(
        self,
        *structures: Structure,
        add: Sequence[Document] = (),
        remove: Sequence[Document] = (),
        language: Language | None = None,
        workers: int = 1,
        follow: bool = False,
    ) -> Account:
        """One run: documents go and come, then passages and `structures` are brought up to date, then all is published. With
        `follow` they are told what has happened.
        """
        account = Account()
        with writing_to(self.folder, self.encoder.identity) as writer:
            writer.remove_documents([document.id for document in remove])
            writer.put_documents(add)
            context = BuildContext(
                writer,
                self.encoder,
                lambda *said: self.said.append(said),
                writer.checkpoint,
                language,
                workers,
                account,
                change=writer.change if follow else None,
            )
            for structure in (Passages(self.limits), *structures):
                structure.update(context)
            if writer.changed:
                writer.publish(Usage())
        return account

    @property
    def snapshot(self) -> Snapshot:
        return Snapshot.open(self.folder)

    def units(self, kind: Kind) -> dict[str, Unit]:
        return {unit.id: unit for unit in self.snapshot.units(kind)}

    def texts(self, kind: Kind) -> dict[str, str]:
        """Texts by title; parts of one title together."""
        found: dict[str, str] = {}
        for unit in sorted(self.units(kind).values(), key=lambda unit: unit.sources):
            found[unit.title] = f"{found[unit.title]}\n{unit.text}" if unit.title in found else unit.text
        return found
