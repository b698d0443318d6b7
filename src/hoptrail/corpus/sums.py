"""Checksums of the contents of a database. They do not depend on how rows lie on pages, so that any SQLite program may read,
copy, vacuum or checkpoint the file.

The table `sums` has the number of rows of each table and the sum of their checksums. Those of small tables are stored with each
commit and compared whenever the database is opened (SEALED); the others are kept by triggers, which refuse a writer without our
function. A row that answers are made of also has its own checksum in a column (ROWS), compared whenever the row is read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from zlib import crc32

import apsw

ROWS = {
    "documents": "number, id, title, text, sentence_ends, notes, date, date_from",
    "blocks": "document, start, packed",
    "units": "number, id, kind, document, start, end, further, title, text, sentence_ends",
    "further_sources": "unit, place, document, start, end",
    "extractions": "unit, entities, facts",
    "postings": "segment, term, docs, tfs",
}
"""The tables whose rows have a checksum, and the columns that it is of."""

_MADE = """
CREATE TABLE IF NOT EXISTS sums (name TEXT PRIMARY KEY, rows INTEGER NOT NULL, sum INTEGER NOT NULL) WITHOUT ROWID
"""

SEALED = {
    "header": "user_version FROM pragma_user_version",
    "sqlite_schema": "type, name, tbl_name, sql FROM sqlite_schema WHERE type != 'trigger' AND name NOT LIKE 'sqlite%'",
    "sqlite_sequence": "name, seq FROM sqlite_sequence",
    "settings": "name, value FROM settings",
    "structures": "name, fingerprint, language, finished, settled FROM structures",
    "segments": "number, family, kind, rows FROM segments",
    "arrays": "segment, name, type, shape, checksum, data IS NULL FROM arrays",
    "gone": "segment, part, rows FROM gone",
}
"""What is read of tables whose sums are stored with each commit. (Other programs may add statistics to the schema.)"""

_BETWEEN = 0x9E3779B9  # makes ("ab", "c") another row than ("a", "bc")


def row_checksum(*values: apsw.SQLiteValue) -> int:
    """CRC-32 of the values of a row; an SQL function of the same name on connections that `use_checksums`."""
    checksum = 0
    for value in values:
        # One bit of a page makes a blob of a text, with the same bytes.
        checksum = (
            crc32(value, ~checksum) if isinstance(value, bytes) else crc32(str(value).encode(), checksum ^ _BETWEEN)
        )
    return checksum


def checksum_of(table: str) -> str:
    """SQL for the checksum of a row of one of ROWS."""
    return f"row_checksum({ROWS[table]})"


def use_checksums(connection: apsw.Connection) -> None:
    """Make `row_checksum` known to a connection, and its triggers run when a row is replaced."""
    connection.create_scalar_function("row_checksum", row_checksum, deterministic=True, flags=apsw.SQLITE_INNOCUOUS)
    connection.execute("PRAGMA recursive_triggers = ON")


def insert(connection: apsw.Connection, table: str, rows: Iterable[tuple[apsw.SQLiteValue, ...]]) -> None:
    """Insert rows into one of ROWS, with their checksums. The sums are changed once, which the triggers would do for each row."""
    checksums: list[int] = []

    def summed() -> Iterator[tuple[apsw.SQLiteValue, ...]]:
        for row in rows:
            checksums.append(row_checksum(*row))
            yield (*row, checksums[-1])

    marks = "?, " * len(ROWS[table].split(", "))
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    try:
        connection.executemany(f"INSERT INTO {table} ({ROWS[table]}, checksum) VALUES ({marks}?)", summed())
    finally:
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 1)
    sums = len(checksums), sum(checksums), table
    connection.execute("UPDATE sums SET rows = rows + ?, sum = sum + ? WHERE name = ?", sums)


def keep_sums(connection: apsw.Connection) -> bool:
    """Make what is missing of the sums and their triggers, in a transaction. Returns whether anything was."""
    connection.execute(_MADE)
    made = False
    for table, triggers in _lacking(connection).items():
        made = True
        for name, sql in triggers.items():
            connection.execute(f"DROP TRIGGER IF EXISTS {name}")
            connection.execute(sql)
        sums = _summed(connection, table)
        connection.execute("INSERT OR REPLACE INTO sums (name, rows, sum) VALUES (?, ?, ?)", (table, *sums))
    return made


def _lacking(connection: apsw.Connection) -> dict[str, dict[str, str]]:
    stored: dict[str, dict[str, str]] = {}
    for table, name, sql in connection.execute("SELECT tbl_name, name, sql FROM sqlite_schema WHERE type = 'trigger'"):
        stored.setdefault(table, {})[name] = sql
    wanted = {table: _triggers(table, _columns(connection, table)) for table in _tables(connection)}
    return {table: triggers for table, triggers in wanted.items() if triggers != stored.get(table)}


def seal(connection: apsw.Connection) -> None:
    """Store the sums of SEALED: the last command before a commit."""
    connection.executemany(
        "INSERT OR REPLACE INTO sums (name, rows, sum) VALUES (?, ?, ?)",
        [(name, *_summed(connection, name)) for name in _sealed(connection)],
    )


def is_sealed(connection: apsw.Connection) -> bool:
    said = _said(connection)
    return all(said.get(name) == _summed(connection, name) for name in _sealed(connection))


def altered(connection: apsw.Connection, names: Collection[str] = ()) -> list[str]:
    """The tables, all or those among `names`, that do not match their checksums. Reads all of them."""
    said = _said(connection)
    differ = [f"{table} (its triggers)" for table in _lacking(connection)] if not names else []
    for name in names or [*_sealed(connection), *_tables(connection)]:
        try:
            summed = _summed(connection, name)
            wrong = f"SELECT 1 FROM {name} WHERE checksum != {checksum_of(name)} LIMIT 1" if name in ROWS else ""
            intact = summed == said.get(name) and not (wrong and connection.execute(wrong).fetchall())
        except UnicodeDecodeError:  # a text that is none
            intact = False
        if not intact:
            differ.append(name)
    return differ


def _sealed(connection: apsw.Connection) -> list[str]:
    there = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")} | {"header", "sqlite_schema"}
    return [name for name in SEALED if name in there]


def _said(connection: apsw.Connection) -> dict[str, list[int]]:
    return {name: sums for name, *sums in connection.execute("SELECT name, rows, sum FROM main.sums")}


def _tables(connection: apsw.Connection) -> list[str]:
    sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name != 'sums' ORDER BY name"
    return [name for (name,) in connection.execute(sql) if name not in SEALED]


def _columns(connection: apsw.Connection, table: str) -> list[str]:
    return [name for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))]


def _checksum(table: str, columns: list[str], row: str = "") -> str:
    return f"{row}checksum" if table in ROWS else f"row_checksum({', '.join(row + column for column in columns)})"


def _triggers(table: str, columns: list[str]) -> dict[str, str]:
    old, new = (_checksum(table, columns, row) for row in ("old.", "new."))
    changes = {
        "insert": f"rows = rows + 1, sum = sum + {new}",
        "delete": f"rows = rows - 1, sum = sum - ({old})",
        "update": f"sum = sum - ({old}) + ({new})",
    }
    return {
        f"sums_{table}_{event}": f"CREATE TRIGGER sums_{table}_{event} AFTER {event.upper()} ON {table} "
        f"BEGIN UPDATE sums SET {change} WHERE name = '{table}'; END"
        for event, change in changes.items()
    }


def _summed(connection: apsw.Connection, table: str) -> list[int]:
    """The number of rows of a table and the sum of their checksums."""
    if table in SEALED:
        columns, _, rest = SEALED[table].partition(" FROM ")
        checksum = f"row_checksum({columns})"
    else:
        checksum, rest = _checksum(table, _columns(connection, table)), table
    [sums] = connection.execute(f"SELECT count(*), coalesce(sum({checksum}), 0) FROM {rest}").fetchall()
    return [int(it or 0) for it in sums]
