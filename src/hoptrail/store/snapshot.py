"""Reading an index by ids: an unchanging view of one commit, and what is made of it (graphs, indexes in memory).

A snapshot keeps later writers from clearing what they remove; parked, it does not, and is of no use until it is resumed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator
from pathlib import Path
from threading import RLock
from typing import TypeVar, cast

import numpy as np

from hoptrail.corpus import snapshot as corpus
from hoptrail.corpus.numbers import numbers_of
from hoptrail.corpus.refusals import absent
from hoptrail.errors import IndexUnavailable
from hoptrail.executing.executor import batched
from hoptrail.language.tasks import Extraction
from hoptrail.models.encoder import EncoderIdentity
from hoptrail.store.head import Head
from hoptrail.store.place import index_folder
from hoptrail.store.reading import DocumentsById, LinksById, Searching, UnitsById
from hoptrail.types import Document, Kind, Link, Unit

T = TypeVar("T")

NOTHING = EncoderIdentity("", "", 0)
"""Of an index without vectors."""

_ROWS = 1024
"""Extractions that are records at a time in a stream."""


class Snapshot:
    """One committed state of an index (or, inside a writer, the state it has reached).

    `view` has the query objects of this state, which go by numbers; `register` (documents), `table` (units), `graph` (links) and
    `search` go by ids.
    """

    def __init__(self, folder: Path, view: corpus.Snapshot, head: Head | None = None) -> None:
        self.folder = folder
        self.head = head or Head.of(view.state, NOTHING)
        self.commit = view.commit
        """How many commits came before this state, and it."""
        self.view = view
        self.register = DocumentsById(view)
        self.table = UnitsById(view)
        self.graph = LinksById(view)
        self.search = Searching(view, self.head.encoder.dimension)
        self._derived: dict[Hashable, object] = {}
        self._making = RLock()

    @staticmethod
    def exists(where: Path) -> bool:
        """Whether something was ever committed to the index in a folder."""
        try:
            return corpus.newest_commit(index_folder(where)) > 0
        except IndexUnavailable:
            return False

    @classmethod
    def open(cls, where: Path) -> Snapshot:
        """The last commit of the index in a folder.

        Raises:
            IndexUnavailable: there is none.
            IndexDamaged: a file is missing or altered.
            IndexMismatch: written by another version of hoptrail.
            StorageError: the disk refuses.
        """
        folder = index_folder(where)
        view = corpus.Snapshot.open(folder)
        if not view.commit:
            view.close()
            raise absent(folder)
        return cls(folder, view)

    def park(self) -> None:
        """Let writers clear what they remove; nothing may be asked until `resume`."""
        self.view.database.end_reading()

    def resume(self) -> bool:
        """Go on after `park`; False where another commit has come since, after which it is closed."""
        if self.view.database.resume_reading() and self.view.commit == self.commit:
            return True
        self.close()
        return False

    def is_current(self) -> bool:
        """Whether no other commit has come since this one."""
        try:
            return corpus.newest_commit(self.folder) == self.commit
        except IndexUnavailable:
            return False

    def close(self) -> None:
        """Let go of the commit; it is of no use afterwards."""
        self.view.close()

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def documents(self, ids: Collection[str] | None = None) -> Iterator[Document]:
        """Documents as a stream, all or those of `ids`."""
        return self.view.documents.read(ids)

    def units(self, kind: Kind, ids: Collection[str] | None = None) -> Iterator[Unit]:
        """Units of a kind as a stream, all or those of `ids`, by rising number."""
        return self.table.read(kind, ids)

    def links(self, kind: str | None = None) -> Iterator[Link]:
        """Links, all or those of one kind."""
        return self.graph.all(kind)

    def count(self, kind: Kind) -> int:
        """How many units there are of a kind."""
        return self.view.texts.count()[kind]

    def extractions(self, ids: Collection[str] | None = None) -> Iterator[tuple[str, Extraction]]:
        """Ids of passages with what was found in them, all or those of `ids`."""
        numbers = None if ids is None else np.unique(numbers_of(self.view.texts.numbers(list(ids))))
        for some in batched(self.view.texts.extractions(numbers), _ROWS):
            names = self.view.texts.names(numbers_of([number for number, _ in some]))
            yield from ((names[number], found) for number, found in some if number in names)

    def derived(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` makes of this state, made once and kept as long as the snapshot is; threads wait for one another."""
        if key not in self._derived:
            with self._making:  # re-entrant, because what is made may be made of what is derived
                if key not in self._derived:
                    self._derived[key] = make()
        return cast("T", self._derived[key])
