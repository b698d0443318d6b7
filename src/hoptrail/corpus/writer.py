"""Writing an index by ids: one writer at a time, and a stopped run goes on where it was.

    put, remove    written into a transaction, which no reader sees and a crash undoes
    checkpoint     commits it; structures that are still being built stay unfinished
    publish        commits it as the end of a run

Ids come from content, so work that is done again cannot appear twice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hoptrail.corpus.columns import Numbers, numbers_of
from hoptrail.corpus.head import NO_ENCODER, Head, check_encoder
from hoptrail.corpus.links import LinkWriter
from hoptrail.corpus.names import NameList
from hoptrail.corpus.places import index_folder
from hoptrail.corpus.row_writer import RowWriter, writing_rows
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.documents.marks import FileMark
from hoptrail.errors import StillRead
from hoptrail.execution.executor import batched
from hoptrail.language.tasks import Extraction
from hoptrail.models.encoder import EncoderIdentity, FloatMatrix
from hoptrail.types import Document, Kind, Unit, Usage

REMADE = frozenset({Kind.AGGREGATE, Kind.SUMMARY, Kind.SLOT})
"""Kinds whose ids stand for an entity, a group or a word of several documents: their structures make them again, or drop their
links.
"""

_REMOVED = 1 << 16
"""Units that are removed together."""

MOST_FOLLOWED = 10_000
"""Documents that come and go of which a writer keeps the ids."""


@dataclass(frozen=True, slots=True)
class Change:
    """Documents that came since the last whole run, and that went; one whose units went and that came again did both."""

    came: frozenset[str]
    went: frozenset[str]
    before: Snapshot
    """The state that the last whole run left."""

    @property
    def nothing(self) -> bool:
        return not self.came and not self.went


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


class ContentWriter:
    """What has been written is seen by `snapshot` at once."""

    def __init__(self, inner: RowWriter, head: Head, *, whole: bool) -> None:
        """`whole`: whether the last run came to its end."""
        self.head = head
        self.followed = Followed(whole=whole)
        self.has_files = False
        """Whether it was written how files are known again."""
        self.remaking = False
        """Whether units that their structures make again have gone: readers are not to see the state in between."""
        self._inner = inner

    def snapshot(self) -> Snapshot:
        """What has been written so far, committed or not."""
        return self._inner.snapshot(self.head)

    @property
    def links(self) -> LinkWriter:
        """Writes links."""
        return self._inner.links

    @property
    def dirty(self) -> bool:
        """Whether something that readers go by has been written since the last commit."""
        return self._inner.dirty

    def put_documents(self, documents: Sequence[Document]) -> None:
        """Add documents, or give those of the same id other sources or another date."""
        if documents:
            known = {entry.id for entry in self.snapshot().register.of([document.id for document in documents])}
            self._inner.put_documents(documents)
            self.followed.note(came={document.id for document in documents} - known)

    def put_files(self, files: Mapping[str, FileMark], reading: str) -> None:
        """How files are known again: no news for readers."""
        if files:
            self._inner.documents.put_files(files, reading)
            self.has_files = True

    def put_units(self, units: Sequence[Unit], vectors: FloatMatrix | None) -> None:
        """Add or replace units; `vectors` has one row a unit, or comes later (`put_vectors`): passages are found by their words
        until then. What was found in a unit that is replaced stays.
        """
        if units:
            self._inner.put_units(units, vectors)

    def put_vectors(self, units: Sequence[Unit], vectors: FloatMatrix) -> None:
        """The vectors of passages that were put without, in the order of putting: shape (len(units), dimension)."""
        numbers = self.snapshot().texts.numbers([unit.id for unit in units])
        self._inner.units.put_vectors(Kind.PASSAGE, numbers, vectors)

    def renew_names(self, kind: str, pairs: Collection[tuple[str, str]], among: Collection[str] | None = None) -> None:
        """Make the names of a kind, keys with ids of units, exactly these; with `among` add them, and make the names of these few
        units exactly these.
        """
        view = self.snapshot()
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

    def put_extractions(self, extractions: Mapping[str, Extraction]) -> None:
        """Add or replace what was found in passages, by their ids."""
        if extractions:
            numbers = self.snapshot().texts.numbers(list(extractions)).tolist()
            if not all(numbers):
                raise KeyError("something was found in passages that are not stored")
            self._inner.extractions.put(dict(zip(numbers, extractions.values(), strict=True)))

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
            self._remove(snapshot.texts.numbers(list(snapshot.table.ids_within(kind, gone))), remade=kind in REMADE)
        self._inner.remove_documents(gone)

    def remove_units(self, kind: Kind, ids: Iterable[str]) -> int:
        """Remove units of one kind with what was found in them and their links. How many ids there were."""
        given = 0
        for some in batched(ids, _REMOVED):
            given += len(some)
            snapshot = self.snapshot()
            stored = sorted(snapshot.table.stored(kind, some))
            self._inner.links.forget(snapshot.texts.numbers(some, reserved=True))
            self._remove(snapshot.texts.numbers(stored))
        return given

    def drop_units(self, kind: Kind) -> None:
        """Remove all units of a kind, to build them anew. Their links are their structure's to drop."""
        texts = self.snapshot().texts
        numbers = np.union1d(texts.origins(kind).numbers, texts.unencoded(kind)).astype(np.int32)
        if len(numbers):
            self._inner.remove_units(numbers, keep_links=True)

    def drop_extractions(self) -> None:
        """Remove what was found in all passages, to find it anew."""
        self._inner.extractions.drop()

    def _remove(self, numbers: Numbers, *, remade: bool = False) -> None:
        wanted = numbers_of(numbers[numbers > 0])
        if not len(wanted):
            return
        if not remade:
            self._inner.links.forget(wanted)
        self._inner.remove_units(wanted, keep_links=remade)
        self.remaking |= remade


class Writer(ContentWriter):
    """The one process that changes an index. Use `writing_to`.

    `structures` maps the structures that are present to the fingerprints of their settings, `unfinished` the others that there
    may be rows of, and `languages` those that a language made to its name; whoever builds one enters it in `unfinished` before
    its first row, and in `structures` after its last.
    """

    def __init__(self, inner: RowWriter, head: Head, before: Snapshot | None) -> None:
        """`before`: the state that the last whole run left, held open until the end of this one."""
        super().__init__(inner, head, whole=before is not None)
        self._before = before
        self.structures, self.unfinished = dict(self.head.structures), dict(self.head.unfinished)
        self.languages = dict(self.head.languages)

    def change(self) -> Change | None:
        """What has happened to the documents since the last whole run; None where an earlier run was stopped, where there was
        none, and where too much has happened for it to be kept.
        """
        if not self.followed.whole or self._before is None:
            return None
        return Change(frozenset(self.followed.came), frozenset(self.followed.went), self._before)

    @property
    def committed(self) -> bool:
        """Whether anything was ever committed."""
        return self.snapshot().commit > 0

    @property
    def changed(self) -> bool:
        """Whether anything has been written that the last whole run did not leave."""
        return self.dirty or not self.head.whole or self.structures != self.head.structures

    def checkpoint(self) -> None:
        """Keep what has been written, for this or a later run to go on from. Readers see it: what has come can be searched."""
        if self.dirty and not self.remaking:
            self._commit(replace(self._now(), whole=False), clean=False)

    def publish(self, spent: Usage, settled: Mapping[str, str] | None = None, removed: Collection[str] = ()) -> None:
        """Make everything written so far the state of a whole run.

        `spent` is added to what the index has cost; `settled` is nothing where it is not known; `removed`: see `Head`.

        Raises:
            StillRead: it is committed, but a process reads the state before, whose removed text stays for it.
        """
        self._end_run()
        self._inner.links.release()
        whole = replace(self._now(), settled=dict(settled or {}), spent=self.head.spent + spent, whole=True)
        self._commit(replace(whole, removed=tuple(sorted(removed))))

    def note_spent(self, spent: Usage) -> None:
        """Add what a run that was stopped has cost to what the index has; what it has not finished is forgotten. Nothing where
        nothing was ever committed.
        """
        self._end_run()
        self._inner.roll_back()
        stored = self._inner.snapshot()
        if spent.calls and stored.commit:
            self._inner.put_head(replace(stored.head, spent=stored.head.spent + spent))
            self._inner.commit(clean=False)

    def settle(self, settled: Mapping[str, str]) -> None:
        """Note what is settled where nothing was written: no news for readers."""
        self._end_run()
        self.head = replace(self.head, settled=dict(settled))
        self._inner.put_head(self.head)
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
        self.followed.whole = False

    def _now(self) -> Head:
        return replace(
            self.head,
            structures=dict(sorted(self.structures.items())),
            unfinished=dict(sorted(self.unfinished.items())),
            languages=dict(sorted(self.languages.items())),
            removed=(),
        )

    def _commit(self, head: Head, *, clean: bool = True) -> None:
        self._inner.put_head(head)
        self.head, self.remaking = head, False
        self._inner.commit(clean=clean)


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
    with writing_rows(folder) as inner:
        stored = inner.snapshot()
        if stored.head.encoder != NO_ENCODER:
            check_encoder(str(folder), stored.head.encoder, encoder)
        head = stored.head if stored.head.encoder != NO_ENCODER else replace(stored.head, encoder=encoder)
        before = Snapshot.open(folder) if head.whole and stored.commit else None
        try:
            yield Writer(inner, head, before)
        finally:
            if before is not None:
                before.close()
