"""Writing an index by ids: one writer at a time, and a stopped run goes on where it was.

    put, remove    written into a transaction, which no reader sees and a crash undoes
    checkpoint     commits it; structures that are still being built stay unfinished
    publish        commits it as the end of a run

Ids come from content, so work that is done again cannot appear twice.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus import writer as corpus
from hoptrail.corpus.links import Edges
from hoptrail.corpus.names import NameList
from hoptrail.corpus.numbers import Numbers, numbers_of
from hoptrail.corpus.snapshot import Snapshot as View
from hoptrail.errors import StillRead
from hoptrail.executing.executor import batched
from hoptrail.language.tasks import Extraction
from hoptrail.models.encoder import EncoderIdentity, FloatMatrix
from hoptrail.store.columns import Directed, PackedIds
from hoptrail.store.head import Head, check_encoder
from hoptrail.store.place import index_folder
from hoptrail.store.scratch import Scratch
from hoptrail.store.snapshot import Snapshot
from hoptrail.types import Document, Kind, Link, Unit, Usage

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


class Writer:
    """The one process that changes an index. Use `writing_to`.

    `structures` maps the structures that are present to the fingerprints of their settings, `unfinished` the others that there
    may be rows of, and `languages` those that a language made to its name; whoever builds one enters it in `unfinished` before
    its first row, and in `structures` after its last.
    """

    def __init__(self, folder: Path, inner: corpus.Writer, encoder: EncoderIdentity, before: View | None) -> None:
        self.folder = folder
        self.scratch = Scratch()
        self._inner = inner
        self._before = before
        """The state that the last whole run left, held open until the end of this one."""
        self.head = Head.of(inner.snapshot().state, encoder)
        self.structures, self.unfinished = dict(self.head.structures), dict(self.head.unfinished)
        self.languages = dict(self.head.languages)
        self._came: set[str] = set()
        self._went: set[str] = set()
        self._all_known = before is not None
        """Whether these two are all that has happened to the documents since the last whole run."""
        self._dirty = False
        self._remaking = False
        """Whether units that their structures make again have gone: readers are not to see the state in between."""

    def snapshot(self) -> Snapshot:
        """What has been written so far, committed or not."""
        return Snapshot(self.folder, self._inner.snapshot(), self.head)

    def change(self) -> Change | None:
        """What has happened to the documents since the last whole run; None where an earlier run was stopped, where there was
        none, and where too much has happened for it to be kept.
        """
        if not self._all_known or self._before is None:
            return None
        before = self._before
        return Change(frozenset(self._came), frozenset(self._went), lambda: Snapshot(self.folder, before))

    def _follow(self, came: Collection[str] = (), went: Collection[str] = ()) -> None:
        self._came.update(came)
        self._went.update(went)
        if len(self._came) + len(self._went) > MOST_FOLLOWED:
            self._all_known = False
        if not self._all_known:
            self._came, self._went = set(), set()

    @property
    def committed(self) -> bool:
        """Whether anything was ever committed."""
        return self._inner.snapshot().commit > 0

    @property
    def changed(self) -> bool:
        """Whether anything has been written that the last whole run did not leave."""
        return self._dirty or not self.head.whole or self.structures != self.head.structures

    def put_documents(self, documents: Sequence[Document]) -> None:
        """Add documents, or give those of the same id other sources."""
        if documents:
            known = {entry.id for entry in self.snapshot().entries_of([document.id for document in documents])}
            self._inner.put_documents(documents)
            self._follow(came={document.id for document in documents} - known)
            self._dirty = True

    def put_units(self, units: Sequence[Unit], vectors: FloatMatrix) -> None:
        """Add or replace units; `vectors` has one row a unit. What was found in a unit that is replaced stays."""
        if units:
            view = self._inner.snapshot()
            stored = view.texts.numbers([unit.id for unit in units])
            found = dict(view.texts.extractions(np.unique(stored[stored > 0])))
            self._inner.put_units(units, vectors)
            self._inner.put_extractions(found)
            self._dirty = True

    def put_links(self, links: Sequence[Link]) -> None:
        """Add links, or replace those between the same two units with the same kind."""
        by_kind: dict[str, list[Link]] = {}
        for link in links:
            by_kind.setdefault(link.kind, []).append(link)
        for kind, some in by_kind.items():
            numbers = self._inner.reserve([link.source for link in some] + [link.target for link in some])
            weights = np.array([link.weight for link in some])
            self._inner.put_links(kind, Edges(numbers[: len(some)], numbers[len(some) :], weights))
            self._dirty = True

    def put_link_rows(self, ids: PackedIds, links: Mapping[str, Directed]) -> None:
        """As `put_links`, by kind, without a record a link: the ends are rows of `ids`."""
        numbers = self._inner.reserve(list(ids))
        for kind, rows in links.items():
            if len(rows.sources):
                self._inner.put_links(kind, Edges(numbers[rows.sources], numbers[rows.targets], rows.weights))
                self._dirty = True

    def stale_links(self, kind: str, wanted: NDArray[np.void], among: Collection[str] | None) -> Edges:
        """Remove the links of one kind that are not among those `wanted` (rows of `LINK`), of all units or of some; gives those
        that are yet to be put. Links are removed by what they lead from, so that what else leads from there is put again.
        """
        ids, places = np.unique(np.concatenate([wanted["source"], wanted["target"]]), return_inverse=True)
        numbers = self._inner.reserve([id_.decode() for id_ in ids.tolist()])[places]
        edges = Edges(numbers[: len(wanted)], numbers[len(wanted) :], np.array(wanted["weight"]))
        edges = edges.where(np.unique(edges.keys, return_index=True)[1])
        view = self._inner.snapshot()
        held = view.texts.numbers(list(among or ()), reserved=True)
        stored = view.links.all(kind) if among is None else view.links.leaving(kind, held[held > 0])
        lost = np.unique(stored.sources[~np.isin(stored.keys, edges.keys)])
        if len(lost):
            self._inner.remove_links(kind, lost)
            self._dirty = True
        kept = stored.where(~np.isin(stored.sources, lost))
        same = np.isin(edges.keys, kept.keys)
        same[same] = kept.weights[np.searchsorted(kept.keys, edges.keys[same])] == edges.weights[same]
        return edges.where(~same)

    def put_edges(self, kind: str, edges: Edges) -> None:
        """As `put_links`, by number."""
        self._inner.put_links(kind, edges)
        self._dirty = True

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
            self._inner.remove_names(kind)
        else:
            self._inner.remove_names(kind, view.texts.numbers(list(among)))
        self._inner.put_names(kind, wanted)
        self._dirty = True

    def put_extractions(self, extractions: Mapping[str, Extraction]) -> None:
        """Add or replace what was found in passages, by their ids."""
        if extractions:
            numbers = self._inner.snapshot().texts.numbers(list(extractions)).tolist()
            if not all(numbers):
                raise KeyError("something was found in passages that are not stored")
            self._inner.put_extractions(dict(zip(numbers, extractions.values(), strict=True)))
            self._dirty = True

    def remove_documents(self, ids: Collection[str]) -> None:
        """Remove documents, every unit that has a source in one of them, what was found in it, and its links.

        The links of kinds that are made again from what is left (REMADE) stay, so that groups outlive their members' change.
        """
        gone = frozenset(ids)
        if not gone:
            return
        self._follow(went=gone - self._came)
        self._came -= gone
        snapshot = self.snapshot()
        for kind in snapshot.kinds:
            self._remove(snapshot.view.texts.numbers(list(snapshot.ids_within(kind, gone))), remade=kind in REMADE)
        self._inner.remove_documents(gone)
        self._dirty = True

    def remove_units(self, kind: Kind, ids: Iterable[str]) -> int:
        """Remove units of one kind with what was found in them and their links. How many ids there were."""
        given = 0
        for some in batched(ids, _REMOVED):
            given += len(some)
            snapshot = self.snapshot()
            stored = sorted(snapshot.stored_ids(kind, some))
            self._inner.remove_links_of(snapshot.view.texts.numbers(some, reserved=True))
            self._remove(snapshot.view.texts.numbers(stored))
        return given

    def remove_links(self, kind: str, sources: Collection[str]) -> None:
        """Remove the links of one kind that lead from `sources`."""
        numbers = self._inner.snapshot().texts.numbers(list(sources), reserved=True)
        if numbers.any():
            self._inner.remove_links(kind, np.unique(numbers[numbers > 0]))
            self._dirty = True

    def drop_units(self, kind: Kind) -> None:
        """Remove all units of a kind, to build them anew. Their links are their structure's to drop."""
        numbers = self._inner.snapshot().texts.origins(kind).numbers
        if len(numbers):
            self._inner.remove_units(numbers, keep_links=True)
            self._dirty = True

    def drop_links(self, kind: str) -> None:
        """Remove all links of a kind, to build them anew."""
        if self._inner.snapshot().links.count().get(kind):
            self._inner.remove_links(kind)
            self._dirty = True

    def drop_extractions(self) -> None:
        """Remove what was found in all passages, to find it anew."""
        self._inner.remove_extractions()
        self._dirty = True

    def checkpoint(self) -> None:
        """Keep what has been written, for this or a later run to go on from. Readers see it: what has come can be searched."""
        if self._dirty and not self._remaking:
            self._commit(replace(self._now(), whole=False), clean=False)

    def publish(self, spent: Usage, settled: Mapping[str, str] | None = None, removed: Collection[str] = ()) -> None:
        """Make everything written so far the state of a whole run.

        `spent` is added to what the index has cost; `settled` is nothing where it is not known; `removed`: see `Head`.

        Raises:
            StillRead: it is committed, but a process reads the state before, whose removed text stays for it.
        """
        self._end_run()
        self._inner.release()
        whole = replace(self._now(), settled=dict(settled or {}), spent=self.head.spent + spent, whole=True)
        self._commit(replace(whole, removed=tuple(sorted(removed))))

    def note_spent(self, spent: Usage) -> None:
        """Add what a run that was stopped has cost to what the index has; what it has not finished is forgotten. Nothing where
        nothing was ever committed.
        """
        self._end_run()
        self._inner.roll_back()
        view = self._inner.snapshot()
        if spent.calls and view.commit:
            head = Head.of(view.state, self.head.encoder)
            self._inner.put_state(replace(head, spent=head.spent + spent).state())
            self._inner.commit(clean=False)

    def settle(self, settled: Mapping[str, str]) -> None:
        """Note what is settled where nothing was written: no news for readers."""
        self._end_run()
        self.head = replace(self.head, settled=dict(settled))
        self._inner.put_state(self.head.state())
        self._inner.commit(counted=False)

    def clean(self) -> bool:
        """See that nothing that was removed is left in any file; False where a reader of an earlier state is in the way."""
        self._end_run()
        try:
            self._inner.clean()
        except StillRead:
            return False
        return True

    def _end_run(self) -> None:
        """Let go of the state before, which would keep the log from being emptied."""
        if self._before is not None:
            self._before.close()
            self._before = None
        self._all_known = False

    def _now(self) -> Head:
        return replace(
            self.head,
            structures=dict(sorted(self.structures.items())),
            unfinished=dict(sorted(self.unfinished.items())),
            languages=dict(sorted(self.languages.items())),
            removed=(),
        )

    def _commit(self, head: Head, *, clean: bool = True) -> None:
        self._inner.put_state(head.state())
        self.head, self._dirty, self._remaking = head, False, False
        self._inner.commit(clean=clean)

    def _remove(self, numbers: Numbers, *, remade: bool = False) -> None:
        wanted = numbers_of(numbers[numbers > 0])
        if not len(wanted):
            return
        if not remade:
            self._inner.remove_links_of(wanted)
        self._inner.remove_units(wanted, keep_links=remade)
        self._remaking |= remade
        self._dirty = True


@contextmanager
def writing_to(where: Path, encoder: EncoderIdentity) -> Iterator[Writer]:
    """Write to the index in a folder, which is made if it is not there.

    Raises:
        IndexBusy: another process is writing.
        IndexMismatch: the index was made by another encoder, or by another version of hoptrail.
        IndexDamaged: a file is missing or altered.
        StorageError: the disk refuses.
    """
    folder = index_folder(where)
    with corpus.writing_to(folder) as inner:
        state = inner.snapshot().state
        if state.encoder is not None:
            check_encoder(str(folder), state.encoder, encoder)
        before = View.open(folder) if state.whole and inner.snapshot().commit else None
        try:
            yield Writer(folder, inner, encoder, before)
        finally:
            if before is not None:
                before.close()
