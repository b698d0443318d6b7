"""The tables of the file of replies (`remembered.py`), made and brought up to date.

calls      one row a try: its state, what it cost
replies    one row a request answered: the reply, the call that paid for it; for a prompt that did not fit what stands in for
           a reply, and the call that was refused
mentions   which documents' text a request held, so that forgetting a document forgets its replies
rungs      the rung of the ladder that works, per endpoint and model (`known_servers.py`)
dialects   the parameters that are refused, likewise
totals     one row: what the calls come to, for limits. Triggers keep it, so it changes in the transactions of `calls`

Files of every earlier format are upgraded when they are opened.
"""

from __future__ import annotations

import logging
import sqlite3
import time

FORMAT = 5
"""In format 1 a call was `sent` once entered; up to 2 there were no totals; up to 3 prompts were others; up to 4
what servers refuse was not kept. All are upgraded."""
WAIT_SECONDS = 60.0
"""How long a writer waits for another's transaction."""
POLL_SECONDS = 0.05
PROMPTS = 4
"""The format since which prompts are as they are now."""

_log = logging.getLogger(__name__)

_TABLES = """
CREATE TABLE IF NOT EXISTS calls (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL, task TEXT NOT NULL, place TEXT NOT NULL, model TEXT NOT NULL,
    state TEXT NOT NULL, prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL, money REAL,
    estimated INTEGER NOT NULL, process INTEGER NOT NULL, sent REAL NOT NULL, reason TEXT NOT NULL DEFAULT '');
CREATE INDEX IF NOT EXISTS calls_in_flight ON calls (key) WHERE state IN ('entered', 'sent');
CREATE TABLE IF NOT EXISTS replies (
    key TEXT PRIMARY KEY, task TEXT NOT NULL, place TEXT NOT NULL, model TEXT NOT NULL, reply TEXT NOT NULL, call INTEGER);
CREATE TABLE IF NOT EXISTS mentions (document TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (document, key)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS rungs (place TEXT NOT NULL, model TEXT NOT NULL, rung TEXT NOT NULL, PRIMARY KEY (place, model));
CREATE TABLE IF NOT EXISTS dialects (
    place TEXT NOT NULL, model TEXT NOT NULL, dialect TEXT NOT NULL, PRIMARY KEY (place, model));
CREATE TABLE IF NOT EXISTS totals (
    calls INTEGER NOT NULL, prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL, money REAL NOT NULL);
"""
_COUNT = """
UPDATE totals SET calls = calls {sign} 1, prompt_tokens = prompt_tokens {sign} {row}.prompt_tokens,
    completion_tokens = completion_tokens {sign} {row}.completion_tokens, money = money {sign} coalesce({row}.money, 0.0)
WHERE {row}.state != 'refused';
"""
_BEFORE, _AFTER = _COUNT.format(sign="-", row="old"), _COUNT.format(sign="+", row="new")
_TRIGGERS = (
    f"CREATE TRIGGER IF NOT EXISTS call_entered AFTER INSERT ON calls BEGIN {_AFTER} END",
    f"CREATE TRIGGER IF NOT EXISTS call_changed AFTER UPDATE ON calls BEGIN {_BEFORE} {_AFTER} END",
    f"CREATE TRIGGER IF NOT EXISTS call_removed AFTER DELETE ON calls BEGIN {_BEFORE} END",
)
_UPGRADE = """
UPDATE calls SET state = 'entered' WHERE state = 'sent';
DROP INDEX IF EXISTS calls_by_key;
"""


def prepare(connection: sqlite3.Connection) -> int:
    """Make the tables where there are none yet; the format found.

    SQLite does not wait for another process that changes the journal's mode, so we do.
    """
    give_up = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            version = int(connection.execute("PRAGMA user_version").fetchone()[0])
            if version == 0:
                connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript("PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;")
            if version < FORMAT:
                version = _upgrade(connection)
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > give_up:
                raise
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            time.sleep(POLL_SECONDS)
        else:
            return version


def _upgrade(connection: sqlite3.Connection) -> int:
    """From an empty file or an older format, unless another process was faster; the format now. Whether a call had left was
    not known in format 1.
    """
    connection.execute("BEGIN IMMEDIATE")
    found = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if found < FORMAT:
        older = _UPGRADE.split(";") if found == 1 else []
        for statement in (*older, *_TABLES.split(";"), *_TRIGGERS, f"PRAGMA user_version = {FORMAT}"):
            connection.execute(statement)
        if found < PROMPTS and (kept := connection.execute("SELECT count(*) FROM replies").fetchone()[0]):
            _log.warning(
                "%d replies answer prompts of an earlier version: what they cost counts, but they are asked for anew",
                kept,
            )
    connection.execute("COMMIT")
    return max(found, FORMAT)
