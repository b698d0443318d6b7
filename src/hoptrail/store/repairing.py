"""Setting damaged files aside, so that an index opens again and the rest can be rebuilt from its documents.

A damaged head is replaced by the one before it, which names the same state (every publish writes two). A damaged table of
units or links goes as a whole; a damaged keyword index only needs renewing. Damaged documents cannot be made again here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from hoptrail.errors import IndexDamaged, IndexUnavailable
from hoptrail.store import layout
from hoptrail.store.files import Files, files_of
from hoptrail.store.head import Head, HeadRecord, ever_committed
from hoptrail.store.integrity import damaged_files, nothing_committed
from hoptrail.store.lock import writers_lock
from hoptrail.store.place import Place
from hoptrail.store.tables import StorageSettings, connect, writing

if TYPE_CHECKING:
    from lancedb.db import DBConnection


@dataclass(frozen=True, slots=True)
class Damage:
    """`files` were missing or altered; `stale` are tables whose keyword index to renew."""

    files: tuple[str, ...]
    stale: frozenset[str]


def set_damage_aside(where: Path | Place, storage: StorageSettings | None = None) -> Damage:
    """Make the index at a place open again. Where anything is lost, all its structures are unfinished until they are built again.

    Raises:
        IndexUnavailable: there is no index, or nothing was ever committed to it.
        IndexDamaged: documents are damaged, or no head can be read; nothing has been touched.
        IndexBusy: another process is writing.
    """
    place, files = Place.of(where), files_of(Place.of(where))
    if not (place.folder.is_dir() if place.is_local else ever_committed(place)):
        raise _absent(place)
    with writers_lock(place, (storage or StorageSettings()).lease_seconds), writing(place):
        database = connect(place)
        record, head, broken = _last_readable_head(database, place, files)
        damaged_names = tuple(name for name, _ in damaged_files(files, head.checksums or {}, read_all=True))
        gone = head.newest.keys() - set(database.list_tables().tables) - {_table_of(name) for name in damaged_names}
        damaged_names += tuple(f"{name}.lance" for name in sorted(gone))  # of which there need be no checksums
        if not (head.tables or damaged_names or broken):
            raise nothing_committed(place)
        damaged = {table: list(names) for table, names in groupby(damaged_names, key=_table_of)}
        if layout.DOCUMENTS in damaged:
            raise IndexDamaged(
                f"{place}/{damaged[layout.DOCUMENTS][0]} is damaged, and with it the stored documents: they cannot be rebuilt "
                f"from here. Index their sources into a new folder; `hoptrail show` may still list them."
            )
        stale = {table for table, names in damaged.items() if all("/_indices/" in name for name in names)}
        lost = set(damaged) - stale
        if head.checksums is None:  # whoever was cut short may have been about to renew any of them
            stale = set(head.tables) - lost
        if lost:
            kept = {name: version for name, version in head.tables.items() if name not in lost}
            record.commit(
                replace(
                    head,
                    tables=kept,
                    structures={},
                    unfinished=head.unfinished | head.structures,
                    settled={},
                    pending={},
                    pending_structures={},
                    pending_unfinished={},
                    checksums=None,
                )
            )
        elif broken or stale:
            record.commit(replace(head, checksums=None))
        return Damage((*broken, *damaged_names), frozenset(stale))


def _last_readable_head(database: DBConnection, place: Place, files: Files) -> tuple[HeadRecord, Head, tuple[str, ...]]:
    """The newest head that can be read, and the files of newer ones, which are renamed out of the way."""
    broken: list[str] = []
    manifests = [name for name in files.sizes(f"{layout.HEAD}.lance/_versions") if name.endswith(".manifest")]
    for manifest in sorted(manifests):
        try:
            record = HeadRecord(database, place)
            head = record.head()
        except IndexDamaged:
            files.move(manifest, _aside(manifest))
            broken.append(manifest)
            continue
        if head is not None:
            return record, head, tuple(broken)
    if not broken and (manifests or not ever_committed(place)):
        if not database.list_tables().tables:
            raise _absent(place)
        raise IndexUnavailable(
            f"the first run at {place} was stopped before it had kept anything, so there is nothing to repair. Run the same "
            f"`hoptrail index` again."
        )
    for name in broken:
        files.move(_aside(name), name)
    raise IndexDamaged(f"{place} has no head that can be read. Index the documents' sources into a new folder.")


def _absent(place: Place) -> IndexUnavailable:
    return IndexUnavailable(f"there is no index at {place}, so nothing to repair.")


def _table_of(name: str) -> str:
    return name.partition(".lance")[0]


def _aside(manifest: str) -> str:
    return str(PurePosixPath(manifest).with_suffix(".damaged"))
