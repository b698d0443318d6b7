"""Checksums of an index's files: every file a published version may need never changes, so its size and CRC-32 are kept
in the head and compared when the index is opened.

CRC-32 finds accidents (flipped bits, truncation), not forgery. Files of transactions and of other versions are left out.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from hoptrail.errors import IndexDamaged
from hoptrail.store.head import Checksum

_PARTS = ("data", "_indices", "_deletions")
_BLOCK = 1 << 20

VERIFY_BYTES = 512 * 1024 * 1024
"""Opening compares checksums up to this many bytes (about half a second); sizes are always compared."""


def checksums(folder: Path, tables: Mapping[str, int], known: Mapping[str, Checksum] | None) -> dict[str, Checksum]:
    """The checksum of every file under `tables` (name to version); those in `known` are not read again."""
    found: dict[str, Checksum] = {}
    for path in _files(folder, tables):
        name = path.relative_to(folder).as_posix()
        before = (known or {}).get(name)
        size = path.stat().st_size
        found[name] = before if before is not None and before.size == size else Checksum(size, _crc(path))
    return found


def verify(folder: Path, expected: Mapping[str, Checksum], limit: int | None = VERIFY_BYTES) -> None:
    """Compare every file with its checksum (None: however many bytes that is).

    Raises:
        IndexDamaged: names the first file, in order of name, that is missing or altered.
    """
    read_all = limit is None or sum(checksum.size for checksum in expected.values()) <= limit
    for name, what in damaged_files(folder, expected, read_all):
        raise IndexDamaged(
            f"{folder}/{name} {what}. Run `hoptrail repair --index {folder}` to rebuild what the stored documents allow."
        )


def damaged_files(folder: Path, expected: Mapping[str, Checksum], read_all: bool) -> Iterator[tuple[str, str]]:
    """Each file that is not as it was written, with what is wrong; sizes are compared, contents where `read_all`."""
    for name, checksum in sorted(expected.items()):
        path = folder / name
        if not path.is_file():
            yield name, "is missing"
        elif (size := path.stat().st_size) != checksum.size:
            yield name, f"has {size} bytes instead of {checksum.size}"
        elif read_all and _crc(path) != checksum.crc:
            yield name, "does not match its checksum"


def _files(folder: Path, tables: Mapping[str, int]) -> list[Path]:
    files: list[Path] = []
    for name, version in tables.items():
        root = folder / f"{name}.lance"
        files += [path for part in _PARTS for path in (root / part).rglob("*") if path.is_file()]
        # The table format names a version's manifest by its distance from the largest 64-bit number.
        files.append(root / "_versions" / f"{2**64 - 1 - version}.manifest")
    return sorted(files)


def _crc(path: Path) -> int:
    crc = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            crc = zlib.crc32(block, crc)
    return crc
