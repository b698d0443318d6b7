"""What a structure declares, and the one place where declared rows are written, kept up to date and taken away.

A structure is one class in a file of its own, and one line in `catalogue.py`. It declares which rows it holds (`units` and
`links`), what it is built from, its settings, and a function that derives its rows from those that are stored. Inserting,
deleting, resuming and finding what is out of date follow from that, and are the same for all:

    Derived     units and links that are a function of stored rows     `Derived.update`
    Asked       one row for each passage, which a language makes       `asking.py`
    others      structures that grow (trees, graphs of neighbours) write themselves; what they hold is declared all the same

Rows that were made from a removed document go with it: that is the writer's affair.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hoptrail.corpus.columns import Directed
from hoptrail.corpus.writer import Writer
from hoptrail.execution.executor import batched
from hoptrail.fingerprints import fingerprint
from hoptrail.models.encoder import FloatMatrix
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.encoding import encode_batches, kept_at_once
from hoptrail.types import Kind, Link, Unit

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

BATCH = 512
"""Units kept at a time at least: about ten seconds of encoding on two cores, which is what a kill can cost."""

LINKED = 65_536
"""Links written at a time."""


class Structure(ABC):
    """What is built once per corpus, stored, and brought up to date with the documents that the writer holds."""

    __slots__ = ()
    name: str
    units: tuple[Kind, ...] = ()
    links: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """The kinds of units, of links and of names (`corpus/names.py`) that are this structure's alone."""
    encodes: Kind | None = None
    """The kind of text that is encoded for it, which is what it costs."""
    cost: float = 0.05
    """Else what a character that it looks at costs, in characters to be encoded: a run foretells its time by that."""

    @classmethod
    def made(cls, settings: object, known: Mapping[str, Structure]) -> Structure:
        """It, with its settings, or the defaults for None; `known` are those before it in the catalogue."""
        del known
        return cls() if settings is None else cls(settings)  # type: ignore[call-arg]

    @property
    def settings(self) -> DataclassInstance | None:
        """What it is built with; None where there is nothing to set."""
        return None

    @property
    def needs_language(self) -> bool:
        """Whether language tasks make it: it is then built anew when another language is to go on with it."""
        return False

    @property
    @abstractmethod
    def built_from(self) -> tuple[str, ...]:
        """The structures that must stand before this one."""

    @property
    def fingerprint(self) -> str:
        """Changes when the settings that shape this structure do; it is then built anew."""
        return "1" if self.settings is None else fingerprint(self.settings)

    def discard(self, writer: Writer) -> None:
        """Take away all of it."""
        for kind in self.units:
            writer.drop_units(kind)
        for link in self.links:
            writer.links.drop(link)
        for name in self.names:
            writer.renew_names(name, ())

    @abstractmethod
    def update(self, context: BuildContext) -> None:
        """Bring it up to date with the writer's documents, from nothing or from where it was."""


@dataclass(frozen=True, slots=True)
class Name:
    """Among rows: a unit bears or says a name, known by its key."""

    kind: str
    key: str
    unit: str


@dataclass(frozen=True, slots=True)
class Anew:
    """Among rows: the links from these units, and their names, are those that follow, and no others."""

    units: Collection[str]


Row = Unit | Link | Name | Anew


@dataclass(frozen=True, slots=True)
class Wanted:
    """Rows that a structure should have: all of them if `whole`, else those that are added, and the links of `Anew` units. Units
    may repeat: of several with one id the first counts.
    """

    rows: Iterable[Row]
    whole: bool = True


class Derived(Structure):
    """A structure whose units, links and names follow from what is stored: `rows` says how.

    Where it is known which documents came and went, and each row is made from one document (`by_document`), only those that came
    are looked at. Units of `shared` kinds (with ids that say all of their text) may be made from several documents: one that is
    stored stays as it is.
    """

    __slots__ = ()
    shared: tuple[Kind, ...] = ()

    @property
    def by_document(self) -> bool:
        """Whether each row is made from one document."""
        return True

    @abstractmethod
    def rows(self, context: BuildContext, documents: Collection[str] | None) -> Iterable[Row]:
        """The rows that there should be: all, or those that are made from some documents."""

    def wanted(self, context: BuildContext) -> Wanted:
        """The rows to be brought up to date."""
        came = context.change.added if context.change and self.by_document else None
        return Wanted(self.rows(context, came), came is None)

    def vectors(
        self, context: BuildContext, kind: Kind, batches: Iterable[Sequence[Unit]], total: int
    ) -> Iterator[tuple[Sequence[Unit], FloatMatrix]]:
        """Each batch of units of a kind, `total` in all, with vectors: those of their texts."""
        del kind
        return encode_batches(context, batches, total)

    def update(self, context: BuildContext) -> None:
        """Make the stored rows those that are wanted: units kind by kind, then links. A stopped run goes on after its last batch;
        where nothing differs, nothing is written.
        """
        wanted = self.wanted(context)
        differ = _Differ(self, context, whole=wanted.whole)
        for row in wanted.rows:
            differ.put(row)
        differ.write()


class _Differ:
    """Compares the rows that a structure should have with those that it has."""

    def __init__(self, structure: Derived, context: BuildContext, *, whole: bool) -> None:
        self._structure, self._workshop, self._whole = structure, context, whole
        self._snapshot = context.writer.snapshot()
        self._stored = {kind: self._digests(kind) if whole else {} for kind in structure.units}
        """By id what tells units that differ apart."""
        self._units: dict[Kind, dict[str, Unit | None]] = {kind: {} for kind in structure.units}
        """Those that are wanted, None where it is stored as it should be."""
        self._rows: dict[str, int] = {}
        """The ids that links lead from and to, by which links are held: there may be very many."""
        self._links = {kind: (array("i"), array("i"), array("d")) for kind in structure.links}
        """Sources, targets, weights."""
        self._names: dict[str, list[tuple[str, str]]] = {kind: [] for kind in structure.names}
        self._anew: set[str] = set()

    def put(self, row: Row) -> None:
        if isinstance(row, Link):
            sources, targets, weights = self._links[row.kind]
            sources.append(self._rows.setdefault(row.source, len(self._rows)))
            targets.append(self._rows.setdefault(row.target, len(self._rows)))
            weights.append(row.weight)
        elif isinstance(row, Name):
            self._names[row.kind].append((row.key, row.unit))
        elif isinstance(row, Anew):
            self._anew.update(row.units)
        elif row.id not in self._units[row.kind]:
            same = self._stored[row.kind].get(row.id) == self._digest(row)
            self._units[row.kind][row.id] = None if same else row

    def write(self) -> None:
        """Units first, because links need them. What was written is kept before another structure is begun."""
        writer = self._workshop.writer
        for kind, units in self._units.items():
            writer.remove_units(kind, [id_ for id_ in self._stored[kind] if id_ not in units])
            self._write_units(kind, [unit for unit in units.values() if unit is not None])
        for link in self._structure.links:
            self._write_links(link)
        for name, pairs in self._names.items():
            self._workshop.pause()
            writer.renew_names(name, pairs, None if self._whole else self._anew)
        if writer.dirty:
            self._workshop.pause()

    def _write_units(self, kind: Kind, units: list[Unit]) -> None:
        if not self._whole:
            known = self._snapshot.table.stored(kind, [unit.id for unit in units])
            units = [unit for unit in units if unit.id not in known]
        if units:
            size = kept_at_once(self._workshop, len(units), BATCH)
            batches = whole_documents(units, size) if self._structure.by_document else batched(units, size)
            for batch, vectors in self._structure.vectors(self._workshop, kind, batches, len(units)):
                self._workshop.writer.put_units(batch, vectors)

    def _write_links(self, kind: str) -> None:
        writer, (sources, targets, weights) = self._workshop.writer, self._links.pop(kind)
        wanted = Directed(np.array(sources, np.int32), np.array(targets, np.int32), np.array(weights, np.float64))
        due = writer.links.stale(kind, list(self._rows), wanted, None if self._whole else self._anew)
        for start in range(0, len(due), LINKED):
            self._workshop.pause()
            writer.links.put_edges(kind, due.where(np.arange(start, min(start + LINKED, len(due)))))
            self._workshop.report(f"linking {self._structure.name}", min(start + LINKED, len(due)), len(due))

    def _digests(self, kind: Kind) -> dict[str, int]:
        if kind in self._structure.shared:
            return dict.fromkeys(self._snapshot.table.ids(kind), 0)
        return {unit.id: hash(unit) for unit in self._snapshot.units(kind)}

    def _digest(self, unit: Unit) -> int:
        return 0 if unit.kind in self._structure.shared else hash(unit)


def whole_documents(units: Iterable[Unit], size: int) -> Iterator[Sequence[Unit]]:
    """At least so many at a time, those of a document together: of a document either all are stored or none is."""
    batch: list[Unit] = []
    for unit in units:
        if len(batch) >= size and unit.document != batch[-1].document:
            yield batch
            batch = []
        batch.append(unit)
    if batch:
        yield batch
