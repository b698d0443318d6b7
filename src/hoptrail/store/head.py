"""The head: one record that says which versions of the tables are valid. Writing it is the only act that commits.

The store has no transaction over several tables, so tables are written first and the head last. A reader opens exactly the
versions under `tables`. `pending` are versions that a writer has finished but not published (a half-done indexing run): no
reader sees them, the next writer goes on from them. Anything newer than both is rolled back.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict, RootModel, ValidationError

from hoptrail.errors import IndexBusy, IndexDamaged, IndexMismatch
from hoptrail.models.encoder import EncoderIdentity
from hoptrail.store.files import Files, files_of
from hoptrail.store.layout import HEAD
from hoptrail.store.place import Place
from hoptrail.store.refusals import first_line, known_refusal
from hoptrail.store.tables import manifest_of, version_of
from hoptrail.types import Usage

if TYPE_CHECKING:
    import pyarrow as pa
    from lancedb.db import DBConnection
    from lancedb.table import Table

FIRST = manifest_of(1)
"""The manifest of the head's first version: an empty table made for a first commit, or (once) that commit itself."""

FORMAT = 3
"""Raised by one whenever an older hoptrail could misread what a newer one writes."""


@dataclass(frozen=True, slots=True)
class Checksum:
    """Size in bytes and CRC-32 of a file that will never change."""

    size: int
    crc: int


@dataclass(frozen=True, slots=True)
class Head:
    """`structures` maps each structure present to the fingerprint of its settings, `unfinished` those of which there may be
    rows though they were not brought up to date, because a run was stopped or something was lost: these are not present, and
    whoever builds one goes on with its rows. `pending_structures` and `pending_unfinished` are the same of `pending`.
    `languages` maps those that a language made (published or pending) to its name; `spent` is what building cost so far.

    `settled` maps those that wanted nothing more when they were last brought up to date to what they hung on; it holds for
    the published state. `checksums` (path below the index folder to checksum) is None between a commit and the sweep that
    follows it.
    """

    encoder: EncoderIdentity
    structures: dict[str, str] = field(default_factory=dict)
    unfinished: dict[str, str] = field(default_factory=dict)
    tables: dict[str, int] = field(default_factory=dict)
    pending: dict[str, int] = field(default_factory=dict)
    pending_structures: dict[str, str] = field(default_factory=dict)
    pending_unfinished: dict[str, str] = field(default_factory=dict)
    languages: dict[str, str] = field(default_factory=dict)
    settled: dict[str, str] = field(default_factory=dict)
    spent: Usage = field(default_factory=Usage)
    checksums: dict[str, Checksum] | None = None

    @property
    def newest(self) -> dict[str, int]:
        """The versions a writer goes on from."""
        return self.pending or self.tables

    @property
    def published(self) -> Head:
        """What readers go by: the same while a writer works."""
        return replace(self, pending={}, pending_structures={}, pending_unfinished={}, languages={}, settled={})


class _Payload(RootModel[Head]):
    """The head as JSON, strictly read: the file may have been made by anybody."""

    model_config = ConfigDict(strict=True)


class HeadRecord:
    """The head's table as it was found at a place. What is committed replaces what was found, or nothing.

    The table store refuses to overwrite a version that is no longer the newest, in a folder as on an object store (there the
    newest version's manifest is written only if there is none of that number). So of two that found the same head one commits.
    """

    def __init__(self, database: DBConnection, place: Place) -> None:
        """Finds the newest version; `head` tells what it says."""
        self._database = database
        self._place = place
        self._table: Table | None = None
        if ever_committed(place):
            try:
                self._table = database.open_table(HEAD)
            except (OSError, RuntimeError, ValueError) as error:
                raise known_refusal(place, error) or _damaged(place, f"cannot be read ({first_line(error)})") from error

    @property
    def table(self) -> Table | None:
        return self._table

    def head(self) -> Head | None:
        """What was found, or None where nothing was ever committed.

        Raises:
            IndexMismatch: written by a newer hoptrail.
            IndexDamaged: the record cannot be read back.
        """
        if self._table is None:
            return None
        try:
            rows = self._table.to_arrow().to_pylist()
        except (OSError, RuntimeError, ValueError) as error:
            raise known_refusal(self._place, error) or _damaged(
                self._place, f"cannot be read ({first_line(error)})"
            ) from error
        if not rows and self._table.version == 1:  # made for the first commit, which did not come
            return None
        return _parsed(rows, self._place)

    def commit(self, head: Head) -> None:
        """Write `head` as the one row of the table, in place of what was found or committed before: an atomic act.

        Raises:
            IndexBusy: somebody else has committed since.
        """
        payload = _Payload(head).model_dump_json()
        row = _row(payload)
        if self._table is None:
            # Of two that create a table at once both may succeed, so an empty one is made, and the commit is a second step.
            self._table = self._database.create_table(HEAD, schema=row.schema, exist_ok=True)
            if self._table.version != 1:
                raise _overtaken(self._place)
        try:
            self._table.add(row, mode="overwrite")
        except (OSError, RuntimeError, ValueError) as error:
            newest = self._database.open_table(HEAD)
            if newest.to_arrow().column("payload").to_pylist() == [payload]:  # only the word of it was lost
                self._table = newest
            elif newest.version != self._table.version:
                raise _overtaken(self._place) from error
            else:
                raise


def read_head(database: DBConnection, place: Place) -> Head | None:
    """The last committed head, or None where nothing was ever committed. Raises: as `HeadRecord.head` does."""
    return HeadRecord(database, place).head()


def newest_commit(files: Files) -> str:
    """A name for the newest version of the head, as cheaply as can be: one listing. Empty where there was never any.

    A write that is under way, or was killed, has a folder and files with other names; the hint names the newest version, and
    tells that there was one where all versions have vanished.
    """
    names = sorted(files.sizes(f"{HEAD}.lance/_versions"))
    manifests = [name for name in names if version_of(name) is not None]
    hints = [name for name in names if name.endswith("/latest_version_hint.json")]
    return next(iter([*manifests, *hints]), "")  # the newest has the lowest number


def ever_committed(place: Place) -> bool:
    """Whether a head was ever written here."""
    return bool(newest_commit(files_of(place)))


def _row(payload: str) -> pa.Table:
    import pyarrow as pa

    return pa.table({"format": [FORMAT], "payload": [payload], "crc": [zlib.crc32(payload.encode())]})


def _parsed(rows: list[dict[str, Any]], place: Place) -> Head:
    if len(rows) != 1:
        raise _damaged(place, f"has {len(rows)} rows instead of one")
    found = rows[0]["format"]
    if found > FORMAT:
        raise IndexMismatch(
            f"{place} has index format {found}; this hoptrail reads formats up to {FORMAT}. Update hoptrail, or index the "
            f"documents into a new folder."
        )
    if found < FORMAT:
        raise IndexMismatch(
            f"{place} has index format {found}, of an earlier hoptrail that stored less of each document. Index the documents "
            f"into a new folder; what was paid for can come along: copy replies.sqlite there before."
        )
    payload = rows[0]["payload"]
    if zlib.crc32(payload.encode()) != rows[0]["crc"]:
        raise _damaged(place, "does not match its checksum")
    try:
        return _Payload.model_validate_json(payload).root
    except ValidationError as error:
        raise _damaged(place, f"is not a head record ({error.error_count()} faults)") from error


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


def _damaged(place: Place, what: str) -> IndexDamaged:
    return IndexDamaged(f"{place}/{HEAD}.lance {what}. Run `hoptrail repair --index {place}`.")


def _overtaken(place: Place) -> IndexBusy:
    return IndexBusy(
        f"{place} was committed to by another writer meanwhile; nothing of this one's work since its last checkpoint is kept. "
        f"Run the same command again."
    )
