"""Writing an index by ids: one writer at a time, and a stopped run goes on where it was.

    put, remove    written into a transaction, which no reader sees and a crash undoes
    checkpoint     commits it; structures that are still being built stay unfinished
    publish        commits it as the end of a run

Ids come from content, so work that is done again cannot appear twice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from hoptrail.corpus.content_writer import Change, ContentWriter
from hoptrail.corpus.head import NO_ENCODER, Head, check_encoder
from hoptrail.corpus.places import index_folder
from hoptrail.corpus.row_writer import RowWriter, writing_rows
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.errors import StillRead
from hoptrail.models.encoder import EncoderIdentity
from hoptrail.types import Usage

__all__ = ["Change", "Writer", "writing_to"]


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
