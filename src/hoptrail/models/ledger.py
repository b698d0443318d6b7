"""Paid replies and the ledger of their cost, in one SQLite file; and recordings of the replies.

A call is entered with the most it may cost before it is sent. Its reply and its real cost are stored together in one transaction
before the reply is used. So a crash at any moment leaves nothing, a call that counts with its estimate, or a reply that is never
paid again. Safe for several threads and processes: a call that another live process is making is waited for. States of a call:

    entered -> settled     the reply is stored
       |-----> lost        no reply, or a broken one; the server may have billed it
       |-----> refused     the server refused it, or was not reached: costs nothing

A prompt that did not fit has a placeholder for a reply, and the call that was refused. Files of earlier formats are upgraded when
they are opened. Prices are per million tokens, in any currency of the user's choice.

A recording is made from stored replies, so after any run: JSON lines, one reply each, with a checksum. It has replies, not
prompts: a request is found by its key, which changes with every character of the prompt and every setting that affects the reply.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any, Literal

from hoptrail.errors import BudgetExhausted, RecordingError, StorageError, UsageError, disk_errors
from hoptrail.models.chat import ChatReply, ChatRequest, ChatSettings
from hoptrail.system.atomic_write import replace_file
from hoptrail.types.json_object import JsonObject, reader_of

FILE = "replies.sqlite"
STANDS_SECONDS = 600.0
"""How long a prompt that did not fit is not sent again. A restarted server may have a larger window, and asking is free."""
FORMAT = 7
"""Format 6 had a table of totals; earlier ones lack tables."""
WAIT_SECONDS = 60.0
"""How long a writer waits for the transaction of another."""
POLL_SECONDS = 0.05

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
DROP TRIGGER IF EXISTS call_entered; DROP TRIGGER IF EXISTS call_changed; DROP TRIGGER IF EXISTS call_removed;
DROP TABLE IF EXISTS totals
"""
# What is stored for a refused call, or by older versions without a call, is a placeholder for a reply.
_KNOWN = """
SELECT reply FROM replies WHERE key = ? AND (SELECT state != 'refused' OR sent > ? FROM calls WHERE id = replies.call)
"""
# Earlier versions told `sent` calls, and `broken` ones, from the others.
_IN_FLIGHT = "SELECT process, sent FROM calls WHERE key = ? AND state IN ('entered', 'sent')"
_KEEP = """
INSERT INTO replies VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET reply = excluded.reply, call = excluded.call
WHERE coalesce((SELECT state = 'refused' FROM calls WHERE id = replies.call), 1)
"""
_ENTER = """
INSERT INTO calls (key, task, place, model, state, prompt_tokens, completion_tokens, money, estimated, process, sent)
VALUES (?, ?, ?, ?, 'entered', ?, ?, ?, 1, ?, ?)
"""
_SETTLE = """
UPDATE calls SET state = 'settled', prompt_tokens = ?, completion_tokens = ?, money = ?, estimated = ? WHERE id = ?
"""
_CLOSE = """
UPDATE calls SET reason = :reason, state = CASE WHEN :paid THEN 'lost' ELSE 'refused' END WHERE id = :call
"""
_SUMS = """
SELECT count(*) FILTER (WHERE paid), coalesce(sum(prompt_tokens) FILTER (WHERE paid), 0),
    coalesce(sum(completion_tokens) FILTER (WHERE paid), 0), coalesce(sum(money) FILTER (WHERE paid), 0.0),
    count(*) FILTER (WHERE paid AND state != 'settled'), count(*) FILTER (WHERE paid AND estimated),
    count(*) FILTER (WHERE NOT paid), count(*) FILTER (WHERE paid AND money IS NULL)
FROM (SELECT *, state != 'refused' AS paid FROM calls)
"""
_MENTIONING = "SELECT key FROM mentions WHERE document IN (SELECT value FROM json_each(?))"


@dataclass(frozen=True, slots=True)
class Cost:
    """The actual or greatest cost of a call. `money` is None where a price is unknown."""

    prompt_tokens: int
    completion_tokens: int
    money: float | None


def cost_of(prompt_tokens: int, completion_tokens: int, settings: ChatSettings) -> Cost:
    known = settings.prompt_price >= 0 and settings.completion_price >= 0
    money = (prompt_tokens * settings.prompt_price + completion_tokens * settings.completion_price) / 1_000_000
    return Cost(prompt_tokens, completion_tokens, money if known else None)


@dataclass(frozen=True, slots=True)
class Ledger:
    """The sums of a ledger.

    - `calls`: all calls that the server may have billed; it has billed `calls - unsettled` at least.
    - `unsettled`: those of them without a reply (a crash, a broken connection), counted with their reserved estimate.
    - `estimated`: those of them whose tokens we estimated, because the server's count was missing or implausible.
    - `refused`: calls that were not billed, because the server refused them or was not reached.
    - `unpriced`: calls without a known price.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    money: float = 0.0
    unsettled: int = 0
    estimated: int = 0
    refused: int = 0
    unpriced: int = 0

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def check(self, coming: Cost, settings: ChatSettings, place: Path) -> None:
        """Check that a call that may cost `coming` keeps within the limits; calls in flight count with their greatest cost.
        Raises: BudgetExhausted: it does not; nothing was spent on it.
        """
        for what, limit, before, cost in (
            ("calls", settings.limit_calls, self.calls, 1),
            ("tokens", settings.limit_tokens, self.tokens, coming.prompt_tokens + coming.completion_tokens),
            ("money", settings.limit_money, self.money, coming.money or 0.0),
        ):
            if limit and before + cost > limit:
                raise BudgetExhausted(
                    f"the limit of {limit:,g} {what} would be passed: {place} has entered {before:,.6g}, and the next call may "
                    f"cost {cost:,.6g}. Nothing was sent; what was finished is kept. Raise limit_{what} under [chat] and run the "
                    "same command again to continue"
                )


@dataclass(frozen=True, slots=True)
class StoredReply:
    """A reply and its request, as exported."""

    key: str
    task: str
    place: str
    model: str
    reply: ChatReply


class RememberedReplies:
    """The file at `path`, made on first use. Opening it reads nothing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._owner = 0

    def reply(self, key: str, longest: float = 0.0) -> ChatReply | None:
        """The stored reply to the request with a key, or a placeholder that still applies; None where there is neither. Waits for
        another process that is making the call, and began it less than `longest` seconds ago.
        """
        while longest and _is_asked_elsewhere(self._rows(_IN_FLIGHT, key), longest):
            time.sleep(POLL_SECONDS)
        rows = self._rows(_KNOWN, key, time.time() - STANDS_SECONDS)
        return _parse(rows[0][0]) if rows else None

    def reserve(
        self, request: ChatRequest, most: Cost, settings: ChatSettings, longest: float | None = None
    ) -> int | None:
        """Enter a call that is about to be sent, at the most it may cost. Returns its number; with `longest`, the seconds that a
        call may take, None (and enters nothing) if another process is making the call or has its reply by now.
        Raises: BudgetExhausted: it could pass a limit; it is not entered.
        """
        with self._transaction() as connection:
            if longest is not None:
                known = connection.execute(_KNOWN, (request.key, time.time() - STANDS_SECONDS)).fetchone()
                if known or _is_asked_elsewhere(connection.execute(_IN_FLIGHT, (request.key,)), longest):
                    return None
            if settings.limit_calls or settings.limit_tokens or settings.limit_money:
                Ledger(*connection.execute(_SUMS).fetchone()).check(most, settings, self.path)
            about = (request.key, request.task, request.place, request.model)
            _mention(connection, request)
            return connection.execute(_ENTER, (*about, *astuple(most), os.getpid(), time.time())).lastrowid

    def settle(self, call: int, answered: Mapping[ChatRequest, ChatReply], cost: Cost | None = None) -> None:
        """Store the real cost of a call and its replies, by request, in one transaction. Without a cost, the call was refused,
        and the reply is a placeholder for a prompt that does not fit. It applies for a while.
        """
        estimated = any(reply.estimated for reply in answered.values())
        with self._transaction() as connection:
            if cost:
                connection.execute(_SETTLE, (*astuple(cost), estimated, call))
            for request, reply in answered.items():
                content = json.dumps(asdict(reply), ensure_ascii=True, sort_keys=True)
                connection.execute(_KEEP, (request.key, request.task, request.place, request.model, content, call))
                _mention(connection, request)

    def close_call(self, call: int, reason: str, *, paid: bool) -> None:
        """Note that a call got no reply. One that may have been `paid` still counts, with its estimate."""
        with self._transaction() as connection:
            connection.execute(_CLOSE, {"paid": paid, "reason": reason[:300], "call": call})

    def ledger(self) -> Ledger:
        """The sums over all calls ever entered, including those in flight."""
        return Ledger(*(value for row in self._rows(_SUMS) for value in row))

    def stored(self) -> Iterator[StoredReply]:
        """All replies, ordered by key."""
        rows = self._rows("SELECT key, task, place, model, reply FROM replies ORDER BY key")
        yield from (StoredReply(key, task, place, model, _parse(reply)) for key, task, place, model, reply in rows)

    def known(self, what: Literal["rungs", "dialects"], place: str, model: str) -> str:
        """What is known of a model at an endpoint; empty where nothing is."""
        rows = self._rows(f"SELECT * FROM {what} WHERE place = ? AND model = ?", place, model)
        return str(rows[0][2]) if rows else ""

    def note(self, what: Literal["rungs", "dialects"], place: str, model: str, value: str) -> None:
        with self._transaction() as connection:
            connection.execute(f"INSERT OR REPLACE INTO {what} VALUES (?, ?, ?)", (place, model, value))

    def documents(self) -> set[str]:
        """The documents from which the text of requests was taken or derived."""
        return {row[0] for row in self._rows("SELECT DISTINCT document FROM mentions")}

    def forget(self, documents: Iterable[str]) -> int:
        """Remove the replies to requests with text taken or derived from these documents. Returns their number.

        Their cost stays in the ledger; the messages of failed calls are removed too. A request lists its documents
        (`ChatRequest.documents`; `language.chat.performer` says which words of earlier replies are traced). Not covered: exported
        recordings.
        """
        if not self.path.exists():
            return 0
        named = (json.dumps(list(documents)),)
        with self._transaction() as connection:
            count = connection.execute(f"DELETE FROM replies WHERE key IN ({_MENTIONING})", named).rowcount
            connection.execute(f"UPDATE calls SET reason = '' WHERE key IN ({_MENTIONING})", named)
            connection.execute(f"DELETE FROM mentions WHERE key IN ({_MENTIONING})", named)
        self._rows("PRAGMA wal_checkpoint(TRUNCATE)")
        return count

    def close(self) -> None:
        """Close the connection; the next call opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _rows(self, query: str, *values: str | float) -> list[tuple[Any, ...]]:
        """The rows that a query selects; none where there is no file yet."""
        if not self.path.exists():
            return []
        with self._transaction(write=False) as connection:
            return connection.execute(query, values).fetchall()

    @contextmanager
    def _transaction(self, *, write: bool = True) -> Iterator[sqlite3.Connection]:
        """The connection, in a transaction, for one thread at a time. Raises: StorageError: the file cannot be used."""
        try:
            with self._lock:
                connection = self._connection
                if connection is None or self._owner != os.getpid():  # a forked child opens its own
                    with disk_errors(f"cannot make the folder of {self.path}"):
                        self.path.parent.mkdir(parents=True, exist_ok=True)
                    connection = self._connection = _connected_to(self.path)
                    self._owner = os.getpid()
                if write:
                    connection.execute("BEGIN IMMEDIATE")
                with connection:  # commits, or rolls back
                    yield connection
        except sqlite3.Error as error:
            raise StorageError(
                f"cannot use the replies in {self.path}: {error}. Free some space or check the permissions. If the file is "
                "damaged, move it away: then the replies in it are paid for again"
            ) from error


def _connected_to(path: Path) -> sqlite3.Connection:
    """A connection to the file, whose tables are made or upgraded. Raises: StorageError: it is of a newer format.

    SQLite does not wait for another process that changes the journal mode, so this does.
    """
    connection = sqlite3.connect(path, WAIT_SECONDS, isolation_level=None, check_same_thread=False)
    give_up = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if not version:
                connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript("PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;")
            if version < FORMAT:
                connection.executescript(f"BEGIN IMMEDIATE; {_TABLES}; PRAGMA user_version = {FORMAT}; COMMIT")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > give_up:
                raise
            time.sleep(POLL_SECONDS)
        else:
            if version <= FORMAT:
                return connection
            connection.close()
            raise StorageError(f"{path} was written by a newer hoptrail (format {version}). Update hoptrail.")


def _is_asked_elsewhere(in_flight: Iterable[tuple[int, float]], longest: float) -> bool:
    """Whether another live process entered one of these calls less than `longest` seconds ago."""
    now = time.time()
    return any(process != os.getpid() and now - sent < longest and _lives(process) for process, sent in in_flight)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)
    return True


def _mention(connection: sqlite3.Connection, request: ChatRequest) -> None:
    """Store the documents of a request, also for a call without a reply: its error message may quote the model."""
    mentions = [(document, request.key) for document in request.documents]
    connection.executemany("INSERT OR IGNORE INTO mentions VALUES (?, ?)", mentions)


def _parse(text: str) -> ChatReply:
    reply: ChatReply = reader_of(ChatReply).validate_json(text)
    return reply


# --- recordings


def write_recording(replies: Iterable[StoredReply], path: Path) -> int:
    """Write replies as JSON lines. Returns their number. Raises: StorageError: the file cannot be written."""
    contents = [asdict(reply) for reply in replies]
    lines = [json.dumps(content | {"sum": _sum(content)}, sort_keys=True) + "\n" for content in contents]
    with disk_errors(f"cannot write {path}"):
        replace_file(path, "".join(lines).encode())
    return len(lines)


def read_recording(path: Path) -> list[StoredReply]:
    """The replies of a recording.
    Raises: RecordingError: a line was altered or is not one of a recording; the message names it. UsageError: no file to be read.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the recording {path} cannot be read: {error}") from error
    return [_recorded(line, f"{path}:{number}") for number, line in enumerate(lines, 1) if line.strip()]


def _recorded(line: str, place: str) -> StoredReply:
    from pydantic import ValidationError

    try:
        content = json.loads(line)
        if content.pop("sum", None) != _sum(content):
            call = f"{content.get('key')} ({content.get('task')})"
            raise RecordingError(f"{place} was altered: the reply to the call {call} does not match its checksum")
        reply: StoredReply = reader_of(StoredReply).validate_python(content, strict=False)
    except (ValueError, RecursionError, AttributeError, TypeError) as error:
        reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
        raise RecordingError(f"{place} is not a line of a recording: {reason}. Record the run again") from None
    return reply


def _sum(content: JsonObject) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
