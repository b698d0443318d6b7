"""Replies that were paid for, and the ledger of what they cost, in one SQLite file.

A call is entered, with the most it may cost, before it goes out, and marked as sent when it has; its reply and its real cost
are entered together, in one transaction, before anybody uses the reply. So a crash at any moment leaves either nothing, a
call that counts with its estimate, or a reply that is never paid again. Safe for several threads and processes: a call that
another live one is making is waited for. Knows nothing of HTTP, retries or tasks. The tables stand in `reply_tables.py`; a
call goes through these states:

    entered -> sent -> settled     the reply is here
       |         |---> lost        it went out whole; no reply, or a broken one
       |---------|---> refused     the server said no, or was not reached: costs nothing
       |-------------> broken      the connection broke while it went out
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from hoptrail.errors import StorageError
from hoptrail.models.chat import ChatRequest
from hoptrail.models.completion import ChatReply
from hoptrail.models.logprobs import last_tokens
from hoptrail.models.reply_tables import FORMAT, POLL_SECONDS, WAIT_SECONDS, prepare
from hoptrail.models.spending import Cost, Ledger, Limits

FILE = "replies.sqlite"
STANDS_SECONDS = 600.0
"""How long a prompt that did not fit is not sent again. Windows grow when servers are started anew, and asking is free."""

_RECOUNT = """
INSERT INTO totals SELECT count(*), coalesce(sum(prompt_tokens), 0), coalesce(sum(completion_tokens), 0),
    coalesce(sum(money), 0.0) FROM calls WHERE state != 'refused'
"""
# What was kept for a refused call, or by an older version for none, only stands in for a reply.
_KNOWN = """
SELECT reply FROM replies WHERE key = ? AND (SELECT state != 'refused' OR sent > ? FROM calls WHERE id = replies.call)
"""
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
UPDATE calls SET reason = :reason,
    state = CASE WHEN NOT :paid THEN 'refused' WHEN state = 'entered' THEN 'broken' ELSE 'lost' END WHERE id = :call
"""
_SUMS = """
SELECT count(*) FILTER (WHERE paid), coalesce(sum(prompt_tokens) FILTER (WHERE paid), 0),
    coalesce(sum(completion_tokens) FILTER (WHERE paid), 0), coalesce(sum(money) FILTER (WHERE paid), 0.0),
    count(*) FILTER (WHERE paid AND state != 'settled'), count(*) FILTER (WHERE paid AND estimated),
    count(*) FILTER (WHERE NOT paid), count(*) FILTER (WHERE paid AND money IS NULL),
    count(*) FILTER (WHERE state IN ('entered', 'broken'))
FROM (SELECT *, state != 'refused' AS paid FROM calls)
"""


@dataclass(frozen=True, slots=True)
class StoredReply:
    """A reply with what it answers, as exported."""

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
        self._recounted = False

    def reply(self, key: str) -> ChatReply | None:
        """The reply to the request of that key, if it was ever given, or what stands in for one now."""
        if self._connection is None and not self.path.exists():
            return None
        with self.transaction(write=False) as connection:
            row = connection.execute(_KNOWN, (key, time.time() - STANDS_SECONDS)).fetchone()
        return _parse(row[0]) if row else None

    def wait_for_others(self, key: str, longest: float) -> ChatReply | None:
        """The reply to a request that another process is asking right now, once it is there; None when nobody is asking."""
        while self._asked_elsewhere(key, longest):
            time.sleep(POLL_SECONDS)
        return self.reply(key)

    def reserve(self, request: ChatRequest, most: Cost, limits: Limits) -> int:
        """Enter a call that is about to go out, at the most it may cost; gives its number.

        Raises:
            BudgetExhausted: it could pass a limit. Nothing is entered.
        """
        self._recount(limits)
        with self.transaction() as connection:
            return _enter(connection, request, most, limits, self.path)

    def reserve_first(self, request: ChatRequest, most: Cost, limits: Limits, longest: float) -> int | None:
        """As `reserve`, but None (and nothing entered) where another process is asking the same, or has the reply by now."""
        self._recount(limits)
        with self.transaction() as connection:
            there = connection.execute(_KNOWN, (request.key, time.time() - STANDS_SECONDS)).fetchone()
            if there or _is_asked_elsewhere(connection, request.key, longest):
                return None
            return _enter(connection, request, most, limits, self.path)

    def mark_sent(self, call: int) -> None:
        """Enter that the whole request was handed to the operating system."""
        with self.transaction() as connection:
            connection.execute("UPDATE calls SET state = 'sent' WHERE id = ? AND state = 'entered'", (call,))

    def settle(self, call: int, answered: Mapping[ChatRequest, ChatReply], cost: Cost) -> None:
        """Enter what a call really cost and the replies that it gave, each to its request, at once."""
        estimated = any(reply.estimated for reply in answered.values())
        with self.transaction() as connection:
            connection.execute(_SETTLE, (cost.prompt_tokens, cost.completion_tokens, cost.money, estimated, call))
            for request, reply in answered.items():
                _keep(connection, request, reply, call)

    def keep(self, call: int, request: ChatRequest, reply: ChatReply) -> None:
        """Remember for a while what `call`, which was refused, would only be refused again: a prompt that does not fit."""
        with self.transaction() as connection:
            _keep(connection, request, reply, call)

    def close_call(self, call: int, reason: str, *, paid: bool) -> None:
        """Enter that a call got no reply. One that may have been `paid` keeps counting, at its estimate."""
        with self.transaction() as connection:
            connection.execute(_CLOSE, {"paid": paid, "reason": reason[:300], "call": call})

    def ledger(self) -> Ledger:
        """The sums over every call ever entered, those in flight included."""
        if not self.path.exists():
            return Ledger()
        with self.transaction(write=False) as connection:
            return Ledger(*connection.execute(_SUMS).fetchone())

    def stored(self) -> Iterator[StoredReply]:
        """Every reply, in the order of keys: the same on every run."""
        if not self.path.exists():
            return
        with self.transaction(write=False) as connection:
            rows = connection.execute("SELECT key, task, place, model, reply FROM replies ORDER BY key").fetchall()
        for key, task, place, model, reply in rows:
            yield StoredReply(key, task, place, model, _parse(reply))

    def documents(self) -> set[str]:
        """Every document whose text a request held, or that what it held was made from."""
        if not self.path.exists():
            return set()
        with self.transaction(write=False) as connection:
            return {row[0] for row in connection.execute("SELECT DISTINCT document FROM mentions")}

    def forget(self, documents: Iterable[str]) -> int:
        """Forget every reply to a request that held text of these documents, or text that was made from it; how many.

        What they cost stays in the ledger, what failed calls said does not. A request says by itself which documents it
        rests on (`ChatRequest.documents`; for words of earlier replies see `language.chat.origins`, which also says what it
        cannot know). Not covered: requests that were kept under format 1 and held words of earlier replies, and recordings
        that were exported.
        """
        if not self.path.exists():
            return 0
        with self.transaction() as connection:
            connection.execute("CREATE TEMP TABLE IF NOT EXISTS gone (key TEXT PRIMARY KEY)")
            connection.execute("DELETE FROM gone")
            connection.executemany(
                "INSERT OR IGNORE INTO gone SELECT key FROM mentions WHERE document = ?",
                [(document,) for document in documents],
            )
            count = connection.execute("DELETE FROM replies WHERE key IN (SELECT key FROM gone)").rowcount
            connection.execute("DELETE FROM mentions WHERE key IN (SELECT key FROM gone)")
            connection.execute("UPDATE calls SET reason = '' WHERE key IN (SELECT key FROM gone)")
        with self.transaction(write=False) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return count

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _recount(self, limits: Limits) -> None:
        """Sum up the ledger, once a connection: older files have no totals yet, and others may have been changed by hand."""
        if limits == Limits():
            return
        with self._lock:
            self._connected()
            if not self._recounted:
                with self.transaction() as connection:
                    connection.execute("DELETE FROM totals")
                    connection.execute(_RECOUNT)
                self._recounted = True

    def _asked_elsewhere(self, key: str, longest: float) -> bool:
        if not self.path.exists():
            return False
        with self.transaction(write=False) as connection:
            return _is_asked_elsewhere(connection, key, longest)

    @contextmanager
    def transaction(self, *, write: bool = True) -> Iterator[sqlite3.Connection]:
        """The connection, for one thread at a time; what is written is there as a whole or not at all.

        Raises:
            StorageError: the file cannot be used.
        """
        try:
            with self._lock:
                connection = self._connected()
                if write:
                    connection.execute("BEGIN IMMEDIATE")
                try:
                    yield connection
                except BaseException:
                    if write:
                        connection.execute("ROLLBACK")
                    raise
                if write:
                    connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise StorageError(
                f"cannot use the replies in {self.path}: {error}. Free some space or check the permissions; if the file is "
                "damaged, move it away, and only what it held is paid again"
            ) from error

    def _connected(self) -> sqlite3.Connection:
        """The connection of this process; after a fork the child makes its own."""
        if self._connection is None or self._owner != os.getpid():
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StorageError(f"cannot make the folder of {self.path}: {error.strerror or error}.") from error
            connection = sqlite3.connect(self.path, WAIT_SECONDS, isolation_level=None, check_same_thread=False)
            version = prepare(connection)
            if version > FORMAT:
                connection.close()
                raise StorageError(f"{self.path} was written by a newer hoptrail (format {version}). Update hoptrail.")
            self._connection, self._owner, self._recounted = connection, os.getpid(), False
        return self._connection


def _enter(connection: sqlite3.Connection, request: ChatRequest, most: Cost, limits: Limits, path: Path) -> int:
    if limits != Limits():
        limits.check(Ledger(*connection.execute("SELECT * FROM totals").fetchone()), most, str(path))
    made = connection.execute(
        _ENTER,
        (
            *(request.key, request.task, request.place, request.model),
            *(most.prompt_tokens, most.completion_tokens, most.money, os.getpid(), time.time()),
        ),
    )
    _mention(connection, request)
    return int(made.lastrowid or 0)


def _is_asked_elsewhere(connection: sqlite3.Connection, key: str, longest: float) -> bool:
    """Whether another process entered this call less than `longest` seconds ago, lives, and has not got the reply."""
    in_flight = "SELECT process, sent FROM calls WHERE key = ? AND state IN ('entered', 'sent')"
    rows = connection.execute(in_flight, (key,)).fetchall()
    now = time.time()
    return any(process != os.getpid() and now - sent < longest and _lives(process) for process, sent in rows)


def _keep(connection: sqlite3.Connection, request: ChatRequest, reply: ChatReply, call: int) -> None:
    content = json.dumps(asdict(reply), ensure_ascii=True, sort_keys=True)
    connection.execute(
        _KEEP,
        (request.key, request.task, request.place, request.model, content, call),
    )
    _mention(connection, request)


def _mention(connection: sqlite3.Connection, request: ChatRequest) -> None:
    """Also for a call without a reply: why it failed may quote what the model said."""
    mentions = [(document, request.key) for document in request.documents]
    connection.executemany("INSERT OR IGNORE INTO mentions VALUES (?, ?)", mentions)


def _parse(text: str) -> ChatReply:
    content = json.loads(text)
    return ChatReply(**content | {"logprobs": last_tokens(content.get("logprobs", ()))})


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)
    return True
