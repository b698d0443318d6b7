"""Writing the rows of an index by ids: documents, units, links, names and what was found in passages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus import writer as corpus
from hoptrail.corpus.links import Edges
from hoptrail.corpus.names import NameList
from hoptrail.corpus.numbers import Numbers, numbers_of
from hoptrail.documents.marks import FileMark
from hoptrail.executing.executor import batched
from hoptrail.language.tasks import Extraction
from hoptrail.models.encoder import FloatMatrix
from hoptrail.store.columns import Directed, PackedIds
from hoptrail.store.head import Head
from hoptrail.store.snapshot import Snapshot
from hoptrail.types import Document, Kind, Link, Unit

REMADE = frozenset({Kind.AGGREGATE, Kind.SUMMARY, Kind.SLOT})
"""Kinds whose ids stand for an entity, a group or a word of several documents: their structures make them again, or drop their
links.
"""

_REMOVED = 1 << 16
"""Units that are removed together."""

MOST_FOLLOWED = 10_000
"""Documents that come and go of which a writer keeps the ids."""


@dataclass(frozen=True)
class Change:
    """Documents that came since the last whole run, and that went; one whose units went and that came again did both."""

    came: frozenset[str]
    went: frozenset[str]
    open_before: Callable[[], Snapshot]

    @property
    def nothing(self) -> bool:
        return not self.came and not self.went

    @cached_property
    def before(self) -> Snapshot:
        """The state that the last whole run left."""
        return self.open_before()


class Followed:
    """The documents that came and went since the last whole run, as far as they are kept."""

    def __init__(self, *, whole: bool) -> None:
        """`whole`: whether the run before came to its end."""
        self.came: set[str] = set()
        self.went: set[str] = set()
        self.whole = whole
        """Whether these two are all that has happened."""

    def note(self, came: Collection[str] = (), went: Collection[str] = ()) -> None:
        self.went.update(id_ for id_ in went if id_ not in self.came)
        self.came.difference_update(went)
        self.came.update(came)
        self.whole &= len(self.came) + len(self.went) <= MOST_FOLLOWED
        if not self.whole:
            self.came, self.went = set(), set()


class RowWriter:
    """What has been written is seen by `snapshot` at once."""

    def __init__(self, folder: Path, inner: corpus.Writer, head: Head, *, whole: bool) -> None:
        """`whole`: whether the last run came to its end."""
        self.folder = folder
        self.head = head
        self.followed = Followed(whole=whole)
        self.dirty = False
        self.has_files = False
        """Whether it was written how files are known again."""
        self.remaking = False
        """Whether units that their structures make again have gone: readers are not to see the state in between."""
        self._inner = inner
        self.links = LinkRows(self, inner)

    def snapshot(self) -> Snapshot:
        """What has been written so far, committed or not."""
        return Snapshot(self.folder, self._inner.snapshot(), self.head)

    def put_documents(self, documents: Sequence[Document]) -> None:
        """Add documents, or give those of the same id other sources or another date."""
        if documents:
            known = {entry.id for entry in self.snapshot().register.of([document.id for document in documents])}
            self._inner.put_documents(documents)
            self.followed.note(came={document.id for document in documents} - known)
            self.dirty = True

    def put_files(self, files: Mapping[str, FileMark], reading: str) -> None:
        """How files are known again: no news for readers."""
        if files:
            self._inner.documents.put_files(files, reading)
            self.has_files = True

    def put_units(self, units: Sequence[Unit], vectors: FloatMatrix) -> None:
        """Add or replace units; `vectors` has one row a unit. What was found in a unit that is replaced stays."""
        if units:
            view = self._inner.snapshot()
            stored = view.texts.numbers([unit.id for unit in units])
            found = dict(view.texts.extractions(np.unique(stored[stored > 0])))
            self._inner.put_units(units, vectors)
            self._inner.extractions.put(found)
            self.dirty = True

    def renew_names(self, kind: str, pairs: Collection[tuple[str, str]], among: Collection[str] | None = None) -> None:
        """Make the names of a kind, keys with ids of units, exactly these; with `among` add them, and make the names of these few
        units exactly these.
        """
        view = self._inner.snapshot()
        numbers = view.texts.numbers([unit for _, unit in pairs]).tolist()
        wanted = [(key, number) for (key, _), number in zip(pairs, numbers, strict=True) if number]
        stored = view.names.of(kind)
        if among is None:
            if stored == NameList.of((key.encode(errors="surrogatepass"), number) for key, number in wanted):
                return
            self._inner.names.drop(kind)
        else:
            self._inner.names.forget(view.texts.numbers(list(among)), kind)
        self._inner.names.put(kind, wanted)
        self.dirty = True

    def put_extractions(self, extractions: Mapping[str, Extraction]) -> None:
        """Add or replace what was found in passages, by their ids."""
        if extractions:
            numbers = self._inner.snapshot().texts.numbers(list(extractions)).tolist()
            if not all(numbers):
                raise KeyError("something was found in passages that are not stored")
            self._inner.extractions.put(dict(zip(numbers, extractions.values(), strict=True)))
            self.dirty = True

    def remove_documents(self, ids: Collection[str]) -> None:
        """Remove documents, every unit that has a source in one of them, what was found in it, and its links.

        The links of kinds that are made again from what is left (REMADE) stay, so that groups outlive their members' change.
        """
        gone = frozenset(ids)
        if not gone:
            return
        self.followed.note(went=gone)
        snapshot = self.snapshot()
        for kind in snapshot.table.kinds:
            self._remove(
                snapshot.view.texts.numbers(list(snapshot.table.ids_within(kind, gone))), remade=kind in REMADE
            )
        self._inner.remove_documents(gone)
        self.dirty = True

    def remove_units(self, kind: Kind, ids: Iterable[str]) -> int:
        """Remove units of one kind with what was found in them and their links. How many ids there were."""
        given = 0
        for some in batched(ids, _REMOVED):
            given += len(some)
            snapshot = self.snapshot()
            stored = sorted(snapshot.table.stored(kind, some))
            self._inner.links.forget(snapshot.view.texts.numbers(some, reserved=True))
            self._remove(snapshot.view.texts.numbers(stored))
        return given

    def drop_units(self, kind: Kind) -> None:
        """Remove all units of a kind, to build them anew. Their links are their structure's to drop."""
        numbers = self._inner.snapshot().texts.origins(kind).numbers
        if len(numbers):
            self._inner.remove_units(numbers, keep_links=True)
            self.dirty = True

    def drop_extractions(self) -> None:
        """Remove what was found in all passages, to find it anew."""
        self._inner.extractions.drop()
        self.dirty = True

    def _remove(self, numbers: Numbers, *, remade: bool = False) -> None:
        wanted = numbers_of(numbers[numbers > 0])
        if not len(wanted):
            return
        if not remade:
            self._inner.links.forget(wanted)
        self._inner.remove_units(wanted, keep_links=remade)
        self.remaking |= remade
        self.dirty = True


class LinkRows:
    """The links that a writer writes."""

    def __init__(self, owner: RowWriter, inner: corpus.Writer) -> None:
        self._owner, self._inner = owner, inner

    def put(self, links: Sequence[Link]) -> None:
        """Add links, or replace those between the same two units with the same kind."""
        by_kind: dict[str, list[Link]] = {}
        for link in links:
            by_kind.setdefault(link.kind, []).append(link)
        for kind, some in by_kind.items():
            numbers = self._inner.links.reserve([link.source for link in some] + [link.target for link in some])
            weights = np.array([link.weight for link in some])
            self._inner.links.put(kind, Edges(numbers[: len(some)], numbers[len(some) :], weights))
            self._owner.dirty = True

    def put_rows(self, ids: PackedIds, links: Mapping[str, Directed]) -> None:
        """As `put`, by kind, without a record a link: the ends are rows of `ids`."""
        numbers = self._inner.links.reserve(list(ids))
        for kind, rows in links.items():
            if len(rows.sources):
                self._inner.links.put(kind, Edges(numbers[rows.sources], numbers[rows.targets], rows.weights))
                self._owner.dirty = True

    def stale(self, kind: str, wanted: NDArray[np.void], among: Collection[str] | None) -> Edges:
        """Remove the links of one kind that are not among those `wanted` (rows of `LINK`), of all units or of some; gives those
        that are yet to be put. Links are removed by what they lead from, so that what else leads from there is put again.
        """
        ids, places = np.unique(np.concatenate([wanted["source"], wanted["target"]]), return_inverse=True)
        numbers = self._inner.links.reserve([id_.decode() for id_ in ids.tolist()])[places]
        edges = Edges(numbers[: len(wanted)], numbers[len(wanted) :], np.array(wanted["weight"]))
        edges = edges.where(np.unique(edges.keys, return_index=True)[1])
        view = self._inner.snapshot()
        held = view.texts.numbers(list(among or ()), reserved=True)
        stored = view.links.all(kind) if among is None else view.links.leaving(kind, held[held > 0])
        lost = np.unique(stored.sources[~np.isin(stored.keys, edges.keys)])
        if len(lost):
            self._inner.links.remove(kind, lost)
            self._owner.dirty = True
        kept = stored.where(~np.isin(stored.sources, lost))
        same = np.isin(edges.keys, kept.keys)
        same[same] = kept.weights[np.searchsorted(kept.keys, edges.keys[same])] == edges.weights[same]
        return edges.where(~same)

    def put_edges(self, kind: str, edges: Edges) -> None:
        """As `put`, by number."""
        self._inner.links.put(kind, edges)
        self._owner.dirty = True

    def remove(self, kind: str, sources: Collection[str]) -> None:
        """Remove the links of one kind that lead from `sources`."""
        numbers = self._inner.snapshot().texts.numbers(list(sources), reserved=True)
        if numbers.any():
            self._inner.links.remove(kind, np.unique(numbers[numbers > 0]))
            self._owner.dirty = True

    def drop(self, kind: str) -> None:
        """Remove all links of a kind, to build them anew."""
        if self._inner.snapshot().links.count().get(kind):
            self._inner.links.remove(kind)
            self._owner.dirty = True
