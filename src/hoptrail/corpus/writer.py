"""Writing an index: one writer at a time, one transaction is one commit, and a stopped run can be resumed.

put, remove    write into a transaction, which no reader sees and a crash undoes; the writer's `snapshot` sees it at once
checkpoint     commits it; structures that are being built stay unfinished
publish        commits it as the end of a run; removed text is then erased from all files
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from hoptrail.corpus.connecting import still_read
from hoptrail.corpus.content import Change, Content
from hoptrail.corpus.database import Database
from hoptrail.corpus.head import NO_ENCODER, Head, check_encoder, read_head, write_head
from hoptrail.corpus.locations import index_folder
from hoptrail.corpus.segments import Family, in_order
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.errors import HoptrailError, IndexBusy
from hoptrail.models.encoder import EncoderIdentity
from hoptrail.types import Usage

WAIT = 5.0  # seconds that a removal waits for readers of the removed text

LOG = 1 << 26
"""Bytes of the log from which a commit without removals moves it into the database, if no reader prevents it."""


class Writer(Content):
    """The only writer of an index. Use `writing_to`. `structures`, `unfinished` and `languages` are those of `Head`: the builder
    of a structure enters it in `unfinished` before its first row, and in `structures` after its last.
    """

    head: Head
    """The metadata of the last commit."""

    def __init__(self, database: Database, encoder: EncoderIdentity | None) -> None:
        """Raises: IndexMismatch: the index was made by another encoder."""
        super().__init__(database)
        if (
            self._unclean
        ):  # a writer was stopped before it had erased what it removed; the next commit waits for its readers
            self.erase_removed(wait=False)
        self.undivided = False
        if encoder is not None:
            if self.head.encoder == NO_ENCODER:
                self.head = replace(self.head, encoder=encoder)
            check_encoder(str(database.folder), self.head.encoder, encoder)
            self.begin_run(undivided=False)

    def _start(self) -> None:
        super()._start()
        self.head = read_head(self._database)
        self.structures, self.unfinished = dict(self.head.structures), dict(self.head.unfinished)
        self.languages = dict(self.head.languages)
        self._unclean = self.head.unclean

    def snapshot(self) -> Snapshot:
        """Everything written so far, committed or not; valid until more is written."""
        return Snapshot(self._database, self._segments, self.head, borrowed=True)

    def begin_run(self, *, undivided: bool, built: bool = False) -> None:
        """Note changes from now on. `undivided`: until `publish` nothing is committed, because documents are removed or replaced,
        and readers must see neither a part of that nor groups without their members. `built`: this process has just brought all
        structures up to date, so that the changes are all there are, though the index is not whole yet.
        """
        self.forget_change()
        self.undivided = undivided
        if (self.head.whole or built) and self.head.commit:
            self.change = Change(Snapshot.open(self._database.folder))

    @property
    def changed(self) -> bool:
        """Whether the index differs from its state after the last whole run."""
        return self._segments.changed or not self.head.whole or self.structures != self.head.structures

    def checkpoint(self) -> None:
        """Commit what was written, so that this or a later run can continue from it and readers can search it.
        Undivided runs wait for `publish`.
        """
        if self._segments.changed and not self.undivided:
            self.commit(self._current_head(whole=False), clean=False)

    def publish(self, spent: Usage, settled: Mapping[str, str] | None = None, *, last: bool = True) -> None:
        """Commit everything written so far, and add `spent` to the cost of the run; `settled`: see `Head`. The `last` commit of
        a run makes the index whole, and erases removed text.
        Raises: StillRead: see `commit`.
        """
        self.forget_change()
        self.links.release()
        head = replace(self._current_head(whole=last), settled=dict(settled or {}), spent=self.head.spent + spent)
        self.commit(head, clean=last)

    def note_spent(self, spent: Usage) -> None:
        """Discard what a stopped run has not committed, and add its cost to that of the index, if anything was ever committed."""
        self.forget_change()
        self._database.roll_back()
        self._database.begin()
        self._start()
        if spent.calls and self.head.commit:
            self.commit(replace(self.head, spent=self.head.spent + spent), clean=False)

    def settle(self, settled: Mapping[str, str]) -> None:
        """Store `settled` (see `Head`) where nothing else was written, which is no change for readers."""
        self.commit(replace(self.head, settled=dict(settled)), counted=False)

    def _current_head(self, *, whole: bool) -> Head:
        structures, unfinished = dict(self.structures), dict(self.unfinished)
        return replace(
            self.head, structures=structures, unfinished=unfinished, languages=dict(self.languages), whole=whole
        )

    def commit(self, head: Head | None = None, *, clean: bool = True, counted: bool = True) -> None:
        """Commit everything written so far, with new metadata `head` if given. Removed text is erased then, unless not `clean`:
        then a later commit or `erase_removed` does it. A commit that is not `counted` changes nothing for readers.
        Raises: StillRead: it is committed, but a process reads an earlier commit, so that the log keeps the removed text.
        """
        if clean:
            self.forget_change()
        self._segments.merge(Family.UNITS, in_order)
        for part in (self._postings, self.links, self.names):
            part.merge()
        self.head = replace(head or self.head, commit=self.head.commit + counted, unclean=self._unclean)
        write_head(self._database, self.head)
        self._segments.sync()
        self._database.commit()
        self._segments.changed = False
        if not self._begin(clean=clean):
            raise still_read(self._database.folder)

    def erase_removed(self, *, wait: bool = True) -> bool:
        """Discard what is not committed, and erase removed text from all files, also that of a writer that was stopped. Returns
        False while another process still reads an earlier commit, for which it may `wait`.
        """
        self.forget_change()
        self._database.roll_back()
        erased = self._begin(clean=True, wait=wait)
        self._start()
        return erased

    def close(self) -> None:
        """Discard what is not committed; empty the log and remove unused files, if no reader prevents it."""
        self.forget_change()
        self._database.roll_back()
        if self._database.empty_log():
            with suppress(IndexBusy):  # the other writer does it
                self._database.begin()
                self._segments.sweep()
                self._database.roll_back()

    def _begin(self, *, clean: bool, wait: bool = True) -> bool:
        """Steps 4 and 5 of `durable.py`, then begin the next transaction. After a removal, `clean` may `wait` for readers of the
        removed text. Returns False if they are still there.
        """
        erases = self._unclean and clean
        emptied = (erases or self._database.log_size > LOG) and self._database.empty_log(WAIT if erases and wait else 0)
        self._database.begin()
        if emptied:
            self._segments.sweep()
        if erases and emptied:
            write_head(self._database, replace(read_head(self._database), unclean=False))
            self._database.commit()
            self._unclean = False
            self._database.empty_log()
            self._database.begin()
        return emptied or not erases


@contextmanager
def writing_to(where: Path, encoder: EncoderIdentity | None = None) -> Iterator[Writer]:
    """Open the index in a folder for writing; it is made if there is none. What is not committed is discarded. Without an
    `encoder`, vectors may be of any.
    Raises: IndexBusy, IndexMismatch (it was made by another encoder or version of hoptrail), IndexDamaged, StorageError.
    """
    with closing(Database.to_write(index_folder(where))) as database:
        writer = Writer(database, encoder)
        try:
            yield writer
        except HoptrailError:
            with suppress(HoptrailError):  # the disk may be full: then it gets back what was not committed
                writer.close()
            raise
        finally:
            writer.forget_change()
        writer.close()
