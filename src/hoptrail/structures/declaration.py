"""What a structure declares, and the generic update of declared rows.

A structure is one class, and one line in `catalogue.py`. It declares its rows (`units`, `links`, `names`), what it is built from
and its settings. Most are `Derived` from stored rows; `PassageTasks` have one row per passage, made by a language; those that
grow (trees, links) write their own rows. The writer removes rows that were made from removed documents.
"""

from __future__ import annotations

import json
import zlib
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hoptrail.corpus.columns import NONE, rows_of
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import Writer
from hoptrail.documents.blocks import pack, unpack
from hoptrail.execution.executor import batched
from hoptrail.fingerprints import fingerprint
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.encoding import Encoded, encode_batches, kept_at_once
from hoptrail.structures.json_lines import LinesFile
from hoptrail.types import Kind, Span, Unit

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

BATCH = 512
"""The least number of units stored at a time: about ten seconds of encoding on two cores, which a kill can cost."""

_RUN = 512  # rows that are compared and packed together


class Structure(ABC):
    """What is built once per corpus, stored, and kept up to date with the documents of the writer."""

    __slots__ = ()
    name: str
    units: tuple[Kind, ...] = ()
    links: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """The kinds of units, of links and of names (`corpus/names.py`) that belong to this structure alone."""
    encodes: Kind | None = None  # the kind of text that is encoded for it, which determines its cost
    cost: float = 0.05
    """The cost of other structures per character of the corpus, in characters to encode; for estimates of the time left."""

    @property
    def settings(self) -> DataclassInstance | None:
        return None

    @property
    def needs_language(self) -> bool:
        """Whether language tasks make it. It is then built anew for another language."""
        return False

    @property
    @abstractmethod
    def built_from(self) -> tuple[str, ...]:
        """The structures that must be built before this one."""

    def over(self, known: Mapping[str, Structure]) -> Structure:
        """The structure with what it needs to know of those built before it."""
        del known
        return self

    @property
    def fingerprint(self) -> str:
        """Changes when the settings that shape this structure change, or the content of the file that their `from_file` names
        (wherever it is); it is then built anew. Raises: UsageError: the file cannot be read.
        """
        settings = self.settings
        if path := getattr(settings, "from_file", ""):
            settings = replace(settings, from_file=LinesFile(Path(path), self.name).digest())  # type: ignore[type-var]
        return "1" if settings is None else fingerprint(settings)

    def discard(self, writer: Writer) -> None:
        for kind in self.units:
            writer.drop_units(kind)
        for link in self.links:
            writer.links.drop(link)
        for name in self.names:
            writer.names.renew(name, ())

    @abstractmethod
    def update(self, context: BuildContext) -> None:
        """Bring it up to date with the writer's documents, from nothing or from an earlier state."""


class Name(NamedTuple):
    """A row: a unit that has or mentions a name, identified by its key."""

    kind: str
    key: str
    unit: str


Row = Unit | Name


class Target(NamedTuple):
    """The rows that a structure should have, and whether these are all; else they are the added ones, and all names of the units
    `renamed`. Of several units with the same id, the first is used.
    """

    rows: Iterable[Row]
    whole: bool
    renamed: Collection[str] = ()


class Derived(Structure):
    """A structure whose units and names are a function of stored rows. Only added documents are looked at where changes are known
    and each row is made from one document. Units of `shared` kinds, whose ids depend on their text alone, may be made from
    several documents; a stored one stays as it is.
    """

    __slots__ = ()
    shared: tuple[Kind, ...] = ()

    @property
    def by_document(self) -> bool:
        return True

    @abstractmethod
    def rows(self, context: BuildContext, documents: Collection[str] | None) -> Iterable[Row]:
        """The rows that there should be: all, or those made from these documents."""

    def target_rows(self, context: BuildContext) -> Target:
        added = context.change.added if context.change and self.by_document else None
        return Target(self.rows(context, added), added is None)

    def vectors(
        self, context: BuildContext, kind: Kind, batches: Iterable[Sequence[Unit]], total: int
    ) -> Iterator[Encoded]:
        """Each batch of units of a kind, `total` units in all, with the vectors of their texts."""
        del kind
        return encode_batches(context, batches, total)

    def update(self, context: BuildContext) -> None:
        """Make the stored rows equal to the target rows, units before names. A stopped run resumes after its last batch."""
        target, writer = self.target_rows(context), context.writer
        snapshot = writer.snapshot()
        differs = {
            kind: _UnitDiffer(snapshot, kind, by_id=not target.whole or kind in self.shared, whole=target.whole)
            for kind in self.units
        }
        names = {kind: _Packed() for kind in self.names}
        for batch in batched(target.rows, _RUN):
            for kind, units in differs.items():
                units.compare([row for row in batch if isinstance(row, Unit) and row.kind is kind])
            for name, packed in names.items():
                packed.put([(row.key, row.unit) for row in batch if isinstance(row, Name) and row.kind == name])
        outdated = {kind: units.outdated for kind, units in differs.items()}
        for kind, units in differs.items():
            writer.remove_units(kind, outdated[kind])
            size = kept_at_once(context, units.count, BATCH)
            batches = whole_documents(units, size) if self.by_document else batched(units, size)
            for encoded, vectors in self.vectors(context, kind, batches, units.count) if units.count else ():
                writer.put_units(encoded, vectors)
        for name, packed in names.items():  # after the units, which they need
            context.pause()
            writer.names.renew(name, packed, None if target.whole else target.renamed)
        context.pause()  # committed before another structure is begun


class _Packed:
    """Rows of JSON values, packed: ten million as objects take gigabytes. Iterating yields them as lists, once."""

    def __init__(self) -> None:
        self._packed: deque[bytes] = deque()

    def put(self, rows: Sequence[Sequence[object]]) -> None:
        self._packed.append(zlib.compress(json.dumps(rows).encode(), 1))

    def __iter__(self) -> Iterator[Any]:
        while self._packed:
            yield from json.loads(zlib.decompress(self._packed.popleft()))


class _UnitDiffer:
    """Compares the units of a kind that there should be with the stored ones. Iterating yields those to write, once."""

    def __init__(self, snapshot: Snapshot, kind: Kind, *, by_id: bool, whole: bool) -> None:
        """`by_id`: a stored unit with the id of a new one stays as it is. `whole`: the others become outdated."""
        self._kind, self._texts, self._by_id = kind, snapshot.numbered, by_id
        self._stored = snapshot.numbered.origins(kind).numbers if whole else NONE
        self._kept = np.zeros(len(self._stored), np.bool_)  # the stored units that have been put
        self._new: set[str] = set()
        self._packed = _Packed()

    def compare(self, units: Iterable[Unit]) -> None:
        given: dict[str, Unit] = {}
        for unit in units:
            if unit.id not in self._new:
                given.setdefault(unit.id, unit)
        numbers = self._texts.numbers(list(given))
        rows = rows_of(numbers, self._stored)
        stored = {} if self._by_id else {unit.id: unit for unit in self._texts.units(numbers[numbers > 0])}
        new = []
        for unit, number, row in zip(given.values(), numbers.tolist(), rows.tolist(), strict=True):
            unchanged = number > 0 if self._by_id else stored.get(unit.id) == unit
            if not unchanged and (row < 0 or not self._kept[row]):
                spans = [(span.document, span.start, span.end) for span in unit.sources]
                new.append((unit.id, unit.title, unit.text, spans, pack(unit.blocks), unit.sentence_ends))
        self._new.update(row[0] for row in new)
        self._packed.put(new)
        self._kept[rows[rows >= 0]] = True

    @property
    def outdated(self) -> list[str]:
        return self._texts.ids(self._stored[~self._kept])

    @property
    def count(self) -> int:
        return len(self._new)

    def __iter__(self) -> Iterator[Unit]:
        for id_, title, text, sources, blocks, ends in self._packed:
            spans = tuple(Span(*source) for source in sources)
            yield Unit(id_, self._kind, title, text, spans, unpack(blocks), tuple(ends))


def whole_documents(units: Iterable[Unit], size: int) -> Iterator[Sequence[Unit]]:
    """Batches of at least `size` units. The units of a document stay together, so that all or none of them are stored."""
    documents = (list(same) for _, same in groupby(units, key=lambda unit: unit.document))
    return (list(chain.from_iterable(batch)) for batch in batched(documents, size, len, size))
