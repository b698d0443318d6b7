"""The one place that calls the database: opening it, pinning a table to a version, and saying plainly what went wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from hoptrail.errors import HoptrailError, IndexDamaged, StorageError

if TYPE_CHECKING:
    from lancedb.db import DBConnection
    from lancedb.table import Table

HEAD_TAG = "head"
"""Marks, in each table, the version that the head names, so that sweeping never removes it."""


def connect(folder: Path) -> DBConnection:
    import lancedb

    return lancedb.connect(folder)


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


def sweep(table: Table) -> None:
    """Remove every version but the newest and the tagged one, with the files that only those needed."""
    # A millisecond, because the library warns about 0 that readers may break; our callers know that there are none.
    table.optimize(cleanup_older_than=timedelta(milliseconds=1), delete_unverified=True)


def tag_head(table: Table) -> None:
    tags = table.tags
    if HEAD_TAG in tags.list():
        tags.update(HEAD_TAG, table.version)
    else:
        tags.create(HEAD_TAG, table.version)


@contextmanager
def reading(folder: Path) -> Iterator[None]:
    """Failures of the database while reading, as ours."""
    try:
        yield
    except HoptrailError:
        raise
    except (OSError, RuntimeError, ValueError) as error:
        raise IndexDamaged(
            f"{folder} cannot be read: {first_line(error)}. Run `hoptrail repair --index {folder}`."
        ) from error


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Failures of the database or the disk while writing, as ours. Nothing is committed before the head is."""
    try:
        yield
    except HoptrailError:
        raise
    except (OSError, RuntimeError) as error:
        raise StorageError(
            f"cannot write to {folder}: {first_line(error)}. The index is as it was last committed; free space or mend the "
            f"permissions, then run the same command again."
        ) from error


def first_line(error: BaseException) -> str:
    """The first line of a message, without the library's source positions that follow it."""
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    return text.split(", /", 1)[0][:300]
