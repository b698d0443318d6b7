"""Checksums of an index's files: every file a published version may need never changes, so its size and CRC-32 are kept
in the head and compared when the index is opened.

CRC-32 finds accidents (flipped bits, truncation), not forgery. Files of transactions and of other versions are left out. On
an object store, opening compares sizes only, by one listing a table: what is lost there is whole objects, since the store
guards the content of each itself. `verify` reads everything at either place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from hoptrail.errors import IndexDamaged, IndexUnavailable
from hoptrail.store.files import Files, crc_of, files_of
from hoptrail.store.head import Checksum
from hoptrail.store.place import Place
from hoptrail.store.tables import manifest_of

_PARTS = ("data", "_indices", "_deletions")

VERIFY_BYTES = 512 * 1024 * 1024
"""Opening compares checksums up to this many bytes (about half a second); sizes are always compared."""


def checksums(files: Files, tables: Mapping[str, int], known: Mapping[str, Checksum] | None) -> dict[str, Checksum]:
    """The checksum of every file under `tables` (name to version); those in `known` are not read again."""
    sizes = {name: size for table, version in tables.items() for name, size in _needed(files, table, version).items()}
    before = {name: checksum for name, checksum in (known or {}).items() if sizes.get(name) == checksum.size}
    new = sorted(sizes.keys() - before)
    found = before | {name: Checksum(sizes[name], crc) for name, crc in zip(new, _crcs(files, new), strict=True)}
    return dict(sorted(found.items()))


def verify(place: Place, expected: Mapping[str, Checksum], limit: int | None = VERIFY_BYTES) -> None:
    """Compare every file with its checksum (None: however many bytes that is).

    Raises:
        IndexDamaged: names the first file, in order of name, that is missing or altered.
    """
    total = sum(checksum.size for checksum in expected.values())
    read_all = limit is None or (place.is_local and total <= limit)
    for name, what in damaged_files(files_of(place), expected, read_all):
        raise IndexDamaged(
            f"{place}/{name} {what}. Run `hoptrail repair --index {place}` to rebuild what the stored documents allow."
        )


def nothing_committed(place: Place) -> IndexUnavailable:
    """What to tell whoever wants to look at what a first run has not come to."""
    return IndexUnavailable(
        f"nothing is committed to {place} yet: its first run is under way or was stopped, and what it has finished is kept. Run "
        f"the same `hoptrail index` again."
    )


def missing_table(place: Place, table: str) -> IndexDamaged:
    """What to tell whoever finds no trace of a table that the head names."""
    return IndexDamaged(f"{table}.lance of {place} is missing. Run `hoptrail repair --index {place}`.")


def damaged_files(files: Files, expected: Mapping[str, Checksum], read_all: bool) -> Iterator[tuple[str, str]]:
    """Each file that is not as it was written, with what is wrong; sizes are compared, contents where `read_all`."""
    sizes: dict[str, int] = {}
    for table in sorted({name.partition("/")[0] for name in expected}):
        sizes |= files.sizes(table)
    same = [name for name in sorted(expected) if sizes.get(name) == expected[name].size] if read_all else []
    crcs = dict(zip(same, _crcs(files, same), strict=True))
    for name, checksum in sorted(expected.items()):
        if name not in sizes:
            yield name, "is missing"
        elif sizes[name] != checksum.size:
            yield name, f"has {sizes[name]} bytes instead of {checksum.size}"
        elif name in crcs and crcs[name] != checksum.crc:
            yield name, "does not match its checksum"


def _needed(files: Files, table: str, version: int) -> dict[str, int]:
    """The files that a version of a table may need, with their sizes."""
    manifest = f"{table}.lance/_versions/{manifest_of(version)}"
    return {
        name: size
        for name, size in files.sizes(f"{table}.lance").items()
        if name == manifest or name.split("/")[1] in _PARTS
    }


def _crcs(files: Files, names: Sequence[str]) -> list[int]:
    with ThreadPoolExecutor(files.streams) as pool:
        return list(pool.map(lambda name: crc_of(files, name), names))
