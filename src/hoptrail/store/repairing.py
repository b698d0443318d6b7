"""Setting damaged files aside, so that an index opens again and the rest can be rebuilt from its documents.

A damaged head is replaced by the one before it, which names the same state (every publish writes two). A damaged table of
units or links goes as a whole; a damaged keyword index only needs renewing. Damaged documents cannot be made again here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from hoptrail.errors import IndexDamaged, IndexUnavailable
from hoptrail.store import layout
from hoptrail.store.head import Head, read_head, write_head
from hoptrail.store.integrity import damaged_files
from hoptrail.store.lock import writers_lock
from hoptrail.store.tables import connect, writing

if TYPE_CHECKING:
    from lancedb.db import DBConnection


@dataclass(frozen=True, slots=True)
class Damage:
    """`files` were missing or altered; `structures` the index held; `stale` are tables whose keyword index to renew."""

    files: tuple[str, ...]
    structures: frozenset[str]
    stale: frozenset[str]


def set_damage_aside(folder: Path) -> Damage:
    """Make the index in `folder` open again. Where anything is lost, it holds no structure until those are built again.

    Raises:
        IndexUnavailable: there is no such folder.
        IndexDamaged: documents are damaged, or no head can be read; nothing has been touched.
        IndexBusy: another process is writing.
    """
    if not folder.is_dir():
        raise IndexUnavailable(f"there is no index at {folder}, so nothing to repair.")
    with writers_lock(folder), writing(folder):
        database = connect(folder)
        head, broken = _last_readable_head(database, folder)
        files = tuple(name for name, _ in damaged_files(folder, head.checksums or {}, read_all=True))
        damaged = {table: list(names) for table, names in groupby(files, key=lambda name: name.split(".lance/")[0])}
        if layout.DOCUMENTS in damaged:
            raise IndexDamaged(
                f"{folder}/{damaged[layout.DOCUMENTS][0]} is damaged, and with it the stored documents: they cannot be rebuilt "
                f"from here. Index their sources into a new folder; `hoptrail show` may still list them."
            )
        stale = {table for table, names in damaged.items() if all("/_indices/" in name for name in names)}
        lost = set(damaged) - stale
        if lost:
            kept = {name: version for name, version in head.tables.items() if name not in lost}
            emptied = replace(head, tables=kept, structures={}, pending={}, pending_structures={}, checksums=None)
            write_head(database, str(folder), emptied)
        elif broken or stale:
            write_head(database, str(folder), replace(head, checksums=None))
        return Damage((*broken, *files), frozenset(head.structures), frozenset(stale))


def _last_readable_head(database: DBConnection, folder: Path) -> tuple[Head, tuple[str, ...]]:
    """The newest head that can be read, and the files of newer ones, which are renamed out of the way."""
    broken: list[str] = []
    manifests = sorted((folder / f"{layout.HEAD}.lance" / "_versions").glob("*.manifest"))
    for manifest in manifests:
        try:
            head = read_head(database, str(folder))
        except IndexDamaged:
            manifest.rename(manifest.with_suffix(".damaged"))
            broken.append(manifest.relative_to(folder).as_posix())
            continue
        if head is not None:
            return head, tuple(broken)
    for name in broken:
        path = folder / name
        path.with_suffix(".damaged").rename(path)
    raise IndexDamaged(f"{folder} has no head that can be read. Index the documents' sources into a new folder.")
