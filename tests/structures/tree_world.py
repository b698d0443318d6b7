"""A generated corpus of topics, a language that says whom it was asked about, and a way to grow trees over them."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar, cast

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import Writer, writing_to
from hoptrail.documents.splitting import PassageLimits
from hoptrail.errors import BudgetExhausted, Interrupted, TaskFailed
from hoptrail.language.tasks import Language, Reply, Summarise, Task
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.declaration import Structure
from hoptrail.structures.passages import Passages
from hoptrail.structures.progress_tracker import ignore
from hoptrail.types import Document, Kind, Unit, Usage
from hoptrail_papers.sirerag.clustering import ClusteringSettings
from hoptrail_papers.sirerag.tree_store import groups_of
from hoptrail_papers.sirerag.trees import SimilarityTree, SimilarityTreeSettings, TreeSettings
from world import HashingEncoder, make_document

T = TypeVar("T")

Children = dict[str, tuple[str, ...]]
"""The ids of a group's children, rising, by the group's id."""

ENCODER = HashingEncoder(dimension=256)
SMALL_GROUPS = ClusteringSettings(target=4, smallest=2, largest=6, neighbours=3)
SETTINGS = TreeSettings(clustering=SMALL_GROUPS, summary_words=40)
TREE = SimilarityTree(SimilarityTreeSettings(clustering=SMALL_GROUPS, summary_words=40))


def corpus(count: int, topics: int = 6, first: int = 0) -> list[Document]:
    """Documents `first` to `first + count`, each of ten words of its topic's twelve and one of its own."""
    found = []
    for number in range(first, first + count):
        chosen = random.Random(number).sample([f"t{number % topics}w{word}" for word in range(12)], 10)
        found.append(make_document(f"Item {number}", f"{' '.join(chosen)} own{number}."))
    return found


@dataclass
class Summariser:
    """Joins the first words of what it is given. Keeps every request; fails those that `failing` picks; refuses to go on
    after `budget` of them.
    """

    name: str = "summariser"
    failing: Callable[[Summarise], bool] = lambda _: False
    budget: int | None = None
    asked: list[tuple[str, ...]] = field(default_factory=list)

    def perform(self, task: Task[T]) -> Reply[T]:
        assert isinstance(task, Summarise)
        if self.budget is not None and len(self.asked) >= self.budget:
            raise BudgetExhausted("the limit is reached")
        self.asked.append(tuple(unit.id for unit in task.units))
        if self.failing(task):
            raise TaskFailed("no reply could be used")
        words = [word for unit in task.units for word in unit.text.split()[:8]]
        return Reply(cast("T", " ".join(words[: task.words])), Usage(1))


@dataclass
class Run:
    """What an update did."""

    changed: bool = False
    notes: list[str] = field(default_factory=list)
    pauses: int = 0


def grow(
    folder: Path,
    language: Language | None,
    trees: Sequence[Structure] = (TREE,),
    add: Sequence[Document] = (),
    remove: Collection[str] = (),
    prepare: Callable[[Writer], None] | None = None,
    stop_at: int | None = None,
    publish: bool = True,
) -> Run:
    """Add and remove documents, then bring passages and trees up to date; stop at the pause of that number.

    Raises:
        Interrupted: it was stopped.
    """
    run = Run()
    with writing_to(folder, ENCODER.identity) as writer:

        def pause() -> None:
            run.pauses += 1
            writer.checkpoint()
            if run.pauses == stop_at:
                raise Interrupted("stopped")

        writer.put_documents(add)
        if remove:
            writer.remove_documents(remove)
        Passages(PassageLimits()).update(BuildContext(writer, ENCODER, ignore, writer.checkpoint))
        if prepare:
            prepare(writer)
        context = BuildContext(writer, ENCODER, ignore, pause, language)
        for tree in trees:
            tree.update(context)
        run.changed = writer.changed
        run.notes = context.account.notes
        if publish and run.changed:
            writer.publish(Usage())
    return run


def groups(folder: Path, tree: str = TREE.name) -> Children:
    return {group: tuple(children) for group, children in groups_of(Snapshot.open(folder), tree).items()}


def units(folder: Path, kind: Kind = Kind.SUMMARY) -> dict[str, Unit]:
    return {unit.id: unit for unit in Snapshot.open(folder).units(kind)}


def state(folder: Path) -> tuple[object, ...]:
    """All summaries with their vectors, and all links."""
    snapshot = Snapshot.open(folder)
    vectors = snapshot.search.vectors(Kind.SUMMARY)
    links = sorted((link.kind, link.source, link.target, link.weight) for link in snapshot.links())
    return units(folder), vectors.ids, vectors.matrix.tobytes(), links


def ancestors(found: Children, *ids: str) -> set[str]:
    """The groups that hold one of these, directly or not."""
    above: set[str] = set()
    level = set(ids)
    while level:
        level = {group for group, children in found.items() if level & set(children)} - above
        above |= level
    return above


def passage_of(folder: Path, document: Document) -> str:
    return next(unit.id for unit in units(folder, Kind.PASSAGE).values() if unit.document == document.id)
