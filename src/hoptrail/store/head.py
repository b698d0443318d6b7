"""The head: one record that says which versions of the tables are valid. Writing it is the only act that commits.

The store has no transaction over several tables, so tables are written first and the head last. A reader opens exactly the
versions under `tables`. `pending` are versions that a writer has finished but not published (a half-done indexing run): no
reader sees them, the next writer goes on from them. Anything newer than both is rolled back.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ConfigDict, RootModel, ValidationError

from hoptrail.errors import IndexDamaged, IndexMismatch
from hoptrail.models.encoder import EncoderIdentity
from hoptrail.store.layout import HEAD
from hoptrail.types import Usage

if TYPE_CHECKING:
    from lancedb.db import DBConnection

FORMAT = 1
"""Raised by one whenever an older hoptrail could misread what a newer one writes."""


@dataclass(frozen=True, slots=True)
class Checksum:
    """Size in bytes and CRC-32 of a file that will never change."""

    size: int
    crc: int


@dataclass(frozen=True, slots=True)
class Head:
    """`structures` maps each structure present to the fingerprint of its settings, `pending_structures` those of `pending`;
    `languages` maps those that a language made (published or pending) to its name; `spent` is what building cost so far.

    `checksums` (path below the index folder to checksum) is None between a commit and the sweep that follows it.
    """

    encoder: EncoderIdentity
    structures: dict[str, str] = field(default_factory=dict)
    tables: dict[str, int] = field(default_factory=dict)
    pending: dict[str, int] = field(default_factory=dict)
    pending_structures: dict[str, str] = field(default_factory=dict)
    languages: dict[str, str] = field(default_factory=dict)
    spent: Usage = field(default_factory=Usage)
    checksums: dict[str, Checksum] | None = None

    @property
    def newest(self) -> dict[str, int]:
        """The versions a writer goes on from."""
        return self.pending or self.tables

    @property
    def published(self) -> Head:
        """What readers go by: the same while a writer works."""
        return replace(self, pending={}, pending_structures={}, languages={})


class _Payload(RootModel[Head]):
    """The head as JSON, strictly read: the file may have been made by anybody."""

    model_config = ConfigDict(strict=True)


def write_head(database: DBConnection, place: str, head: Head) -> None:
    """Commit `head` as the one row of its table: an atomic act, on a local folder as on an object store."""
    import pyarrow as pa

    payload = _Payload(head).model_dump_json()
    row = pa.table({"format": [FORMAT], "payload": [payload], "crc": [zlib.crc32(payload.encode())]})
    if ever_committed(place):
        database.open_table(HEAD).add(row, mode="overwrite")
    else:
        database.create_table(HEAD, data=row)


def read_head(database: DBConnection, place: str) -> Head | None:
    """The last committed head, or None where nothing was ever committed.

    Raises:
        IndexMismatch: written by a newer hoptrail.
        IndexDamaged: the record cannot be read back.
    """
    if not ever_committed(place):
        return None
    try:
        rows = database.open_table(HEAD).to_arrow().to_pylist()
    except (OSError, RuntimeError, ValueError) as error:
        raise IndexDamaged(_damaged(place, f"cannot be read ({_first_line(error)})")) from error
    if len(rows) != 1:
        raise IndexDamaged(_damaged(place, f"has {len(rows)} rows instead of one"))
    found = rows[0]["format"]
    if found > FORMAT:
        raise IndexMismatch(
            f"{place} has index format {found}; this hoptrail reads formats up to {FORMAT}. Update hoptrail, or index the "
            f"documents into a new folder."
        )
    payload = rows[0]["payload"]
    if zlib.crc32(payload.encode()) != rows[0]["crc"]:
        raise IndexDamaged(_damaged(place, "does not match its checksum"))
    try:
        return _Payload.model_validate_json(payload).root
    except ValidationError as error:
        raise IndexDamaged(_damaged(place, f"is not a head record ({error.error_count()} faults)")) from error


def ever_committed(place: str) -> bool:
    """Whether a head was ever written here.

    A write that is under way, or was killed, has a folder and files with other names; the hint names the newest version, and
    tells that there was one where all versions have vanished.
    """
    versions = Path(place, f"{HEAD}.lance", "_versions")
    return (versions / "latest_version_hint.json").exists() or any(
        path.stem.isdigit() for path in versions.glob("*.manifest")
    )


def check_encoder(place: str, made: EncoderIdentity, wanted: EncoderIdentity) -> None:
    """Refuse to mix vectors of two encoders.

    Raises:
        IndexMismatch: `wanted` is not the encoder that the index at `place` was `made` with.
    """
    if (made.digest, made.dimension) != (wanted.digest, wanted.dimension):
        raise IndexMismatch(
            f"{place} was made with encoder {made.name} ({made.dimension} dimensions, {made.digest[:12]}), not with "
            f"{wanted.name} ({wanted.dimension} dimensions, {wanted.digest[:12]}): their vectors do not compare. Use encoder "
            f"{made.name}, or index the documents into a new folder."
        )


def _damaged(place: str, what: str) -> str:
    return f"{place}/{HEAD}.lance {what}. Run `hoptrail repair --index {place}`."


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__
