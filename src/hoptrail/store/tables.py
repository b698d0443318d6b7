"""The one place that calls the database: opening it, pinning a table to a version, and saying plainly what went wrong."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from hoptrail.errors import HoptrailError, IndexDamaged, StorageError, UsageError
from hoptrail.store.files import RETRIES, RETRY_SECONDS, Files
from hoptrail.store.place import Place, without_tls
from hoptrail.store.refusals import first_line, known_refusal

if TYPE_CHECKING:
    from lancedb.db import DBConnection
    from lancedb.table import Table

HEAD_TAG = "head"
"""Marks, in each table, the version that the head names, so that sweeping never removes it."""

MOST_HOURS, MOST_LEASE = 876_000, 86_400
"""A hundred years; a day, in seconds. Dates and waits of more than that cannot be told."""

LEAST_MEMORY = 256
"""MiB: libraries and an encoder take most of it."""

SHARES = 16
"""Of `memory_mb`: one for a batch of units with its vectors, two or three for libraries."""

ARRAYS = 32
"""Parts of `memory_mb`, one for an array that is kept in memory: the sentence graph of millions has some twenty."""

METADATA_CACHE = 16 << 20
"""Bytes of manifests and file footers that the store keeps in mind, 1 GiB by itself. Those of an index take one or two; but
every version that a build writes names all files of its table, and 1,200 versions took 354 MiB, for nothing.
"""

READ_AHEAD = 128 << 20
"""Bytes that the store reads ahead in a scan, 2 GiB by itself. It waits for ever where what it needs at once does not fit: a page
of each of up to seven columns, which has 8 MiB or what was written at a time. Summaries of a million passages wanted more than 16
MiB and at most 28 (ways of writing them differ), once perhaps more than 64.
"""

LEAST_SORTED = 32 << 20
"""Bytes in which the store may sort an index's values, before it uses files: of less, some 90 million links make too many."""

CLOCKS = timedelta(hours=1)
"""How much longer a version is kept than it need be: for clocks that differ, and for the time that sweeping itself takes."""


@dataclass(frozen=True, slots=True)
class StorageSettings:
    """How an index is written and read.

    Above `exact_up_to` vectors of a kind the store's index finds the nearest (`vectors.py`), up to it one product with all of
    them. A build holds about `memory_mb` MiB, however large the corpus, but for what docs/scale.md names: what would be more
    lies in files beside the index. A reader keeps at most `index_cache_mb` MiB of the indexes that ids and links are looked up
    in: questions that look up thousands take twice as long where these, some 40 bytes a sentence and a link, do not fit. The
    rest is for object stores: what a commit has replaced is kept for `keep_hours`, because readers cannot be seen there: one
    that holds on to a state for longer may find its files gone. A writer that has died keeps others out for `lease_seconds`.
    """

    keep_hours: float = 48.0
    lease_seconds: float = 60.0
    exact_up_to: int = 200_000
    memory_mb: int = 1024
    index_cache_mb: int = 256

    def __post_init__(self) -> None:
        if not (0 <= self.keep_hours <= MOST_HOURS and 1 <= self.lease_seconds <= MOST_LEASE):
            raise UsageError(f"keep_hours must be from 0 to {MOST_HOURS:,}, and lease_seconds from 1 to {MOST_LEASE:,}")
        if not (self.exact_up_to >= 1 and self.index_cache_mb >= 1):
            raise UsageError("exact_up_to and index_cache_mb must be at least 1")
        if not self.memory_mb >= LEAST_MEMORY:
            raise UsageError(f"memory_mb must be at least {LEAST_MEMORY}, not {self.memory_mb}")

    @property
    def share(self) -> int:
        """Bytes that a batch may take."""
        return (self.memory_mb << 20) // SHARES

    @property
    def held(self) -> int:
        """Bytes up to which an array, or records that are sorted, are kept in memory."""
        return (self.memory_mb << 20) // ARRAYS


def connect(place: Place | Path, storage: StorageSettings | None = None) -> DBConnection:
    """The database at a place; one in an object store finds credentials and endpoint in the environment by itself."""
    # It reads this once, and else tells the user's terminal of its inner workings, hundreds of times in a large corpus.
    os.environ.setdefault("LANCEDB_LOG", "error")
    import lancedb

    place = Place.of(place)
    indexes = (storage or StorageSettings()).index_cache_mb << 20
    session = lancedb.Session(index_cache_size_bytes=indexes, metadata_cache_size_bytes=METADATA_CACHE)
    if place.is_local:
        return lancedb.connect(place.folder, session=session)
    options = {
        "allow_http": str(without_tls()).lower(),
        "client_max_retries": str(RETRIES),
        "client_retry_timeout": str(RETRY_SECONDS),
    }
    return lancedb.connect(place.address, storage_options=options, session=session)


def bound_memory(storage: StorageSettings) -> None:
    """Tell the store what it may read ahead in a scan, and sort an index's values in, 150 MiB by itself.

    It takes both from the environment: one for all of a process, that of the first that writes, or of whoever has set them.
    """
    os.environ.setdefault("LANCE_DEFAULT_IO_BUFFER_SIZE", str(READ_AHEAD))
    os.environ.setdefault("LANCE_MEM_POOL_SIZE", str(max(storage.held, LEAST_SORTED)))


def open_tables(database: DBConnection, versions: Mapping[str, int]) -> dict[str, Table]:
    """Each table pinned to its version: handles that no later commit changes."""
    tables = {}
    for name, version in versions.items():
        tables[name] = database.open_table(name)
        tables[name].checkout(version)
    return tables


def one_of(column: str, values: Iterable[str]) -> str:
    """A filter: the column's value is one of these."""
    listed = ", ".join("'" + value.replace("'", "''") + "'" for value in values)
    return f"{column} IN ({listed})"


def between(column: str, first: str, last: str) -> str:
    """A filter: the column's value is one of these or between them."""
    low, high = (value.replace("'", "''") for value in (first, last))
    return f"{column} >= '{low}' AND {column} <= '{high}'"


def sweep(table: Table) -> None:
    """Remove every version but the newest and the tagged one, with the files that only those needed."""
    # A millisecond, because the library warns about 0 that readers may break; our callers know that there are none.
    table.optimize(cleanup_older_than=timedelta(milliseconds=1), delete_unverified=True)


def untag_replaced(table: Table) -> None:
    """Take away the marks of all versions but the one that the head names."""
    for name in table.tags.list():
        if name.startswith(f"{HEAD_TAG}-"):
            table.tags.delete(name)


def untag_after(table: Table, version: int) -> None:
    """Take away the marks of versions that were to be published after this one, and were not."""
    for name, tag in table.tags.list().items():
        if int(tag["version"]) > version:
            table.tags.delete(name)


def sweep_stored(table: Table, files: Files, keep_hours: float, *, every: bool) -> None:
    """`sweep_aged` on an object store; whoever keeps nothing for any time says that nobody reads meanwhile."""
    if keep_hours:
        sweep_aged(table, files, datetime.now(UTC) - timedelta(hours=keep_hours), every=every)
    else:
        untag_replaced(table)
        sweep(table)


def sweep_aged(table: Table, files: Files, moment: datetime, *, every: bool) -> None:
    """Remove the versions of a table that were replaced before a moment. Readers may have opened the tagged ones, or,
    of the head's own table, `every` one.

    What counts is when a version was replaced, not when it was written: the newest published version that is older was
    still the head at that moment, so only those before it go. It counts as replaced from when the table's next published
    version was written; the head that names that one is committed a little later, when all tables are, so a replaced version
    is kept for shorter than it should be by as long as the publishing took.
    """
    written = {
        version: when
        for name, when in files.written(f"{table.name}.lance/_versions/").items()
        if (version := version_of(name)) is not None
    }
    tags = {name: int(tag["version"]) for name, tag in table.tags.list().items()}
    opened = set(written if every else tags.values()) & written.keys()
    kept_from = max((version for version in opened if written[version] <= moment), default=min(written))
    if kept_from == min(written):
        return
    for name, version in tags.items():
        if version < kept_from:
            table.tags.delete(name)
    # The table store goes by the moment that a version itself names; reading those takes a request a version.
    own = next(found["timestamp"] for found in table.list_versions() if found["version"] == kept_from)
    table.optimize(cleanup_older_than=datetime.now(UTC) - own.astimezone() + CLOCKS)


def manifest_of(version: int) -> str:
    """The name of a version's manifest in a table's `_versions`: the format counts down from the largest 64-bit number."""
    return f"{2**64 - 1 - version}.manifest"


def version_of(manifest: str) -> int | None:
    """The version whose manifest has this name, with or without folders before it; None for other files."""
    stem, _, ending = manifest.rpartition("/")[2].partition(".")
    return 2**64 - 1 - int(stem) if ending == "manifest" and stem.isdigit() else None


def tag_head(table: Table, *, as_well: bool = False) -> None:
    """Mark the version that the next head names; with `as_well`, so that the one before stays marked, too."""
    _tag(table, HEAD_TAG)
    if as_well:
        _tag(table, f"{HEAD_TAG}-{table.version}")


def _tag(table: Table, name: str) -> None:
    tags = table.tags
    if name in tags.list():
        tags.update(name, table.version)
    else:
        tags.create(name, table.version)


@contextmanager
def reading(place: Place) -> Iterator[None]:
    """Failures of the database while reading, as ours."""
    try:
        yield
    except HoptrailError:
        raise
    except (OSError, RuntimeError, ValueError) as error:
        raise (
            _exhausted(place, error)
            or known_refusal(place, error)
            or IndexDamaged(f"{place} cannot be read: {first_line(error)}. Run `hoptrail repair --index {place}`.")
        ) from error


@contextmanager
def writing(place: Place) -> Iterator[None]:
    """Failures of the database or the disk while writing, as ours. Nothing is committed before the head is."""
    try:
        yield
    except HoptrailError:
        raise
    except (OSError, RuntimeError, ValueError) as error:
        if isinstance(error, ValueError) and place.is_local:
            raise
        raise (
            _exhausted(place, error)
            or known_refusal(place, error)
            or StorageError(
                f"cannot write to {place}: {first_line(error)}. The index is as it was last committed; free space or mend the "
                f"permissions, then run the same command again."
            )
        ) from error


def _exhausted(place: Place, error: Exception) -> StorageError | None:
    """What to tell a user where the store was not let hold enough (`bound_memory`)."""
    if "Resources exhausted" not in str(error):
        return None
    return StorageError(
        f"{place}: the store could not put values in order within what it may hold, because many are very long (titles of "
        f"thousands of characters). The index is as it was last committed; shorten them, or raise storage.memory_mb, and run "
        f"the same command again."
    )
