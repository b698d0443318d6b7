"""What must be remembered of a dump until its end, and how far the work has come: an SQLite file beside the documents.

Redirects may stand anywhere, before or after the page they lead to, and a wiki has more of them than memory should hold. What is
entered and how far that is are committed together, so that a killed run goes on from one consistent state. How a page is
converted is not known here.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from itertools import groupby
from pathlib import Path

from hoptrail.documents.wikipedia.converting import Converted, Form
from hoptrail.documents.wikipedia.infobox import Pair
from hoptrail.errors import StorageError
from hoptrail.text.normal_forms import base_title, folded

_TABLES = """
CREATE TABLE IF NOT EXISTS state (one INTEGER PRIMARY KEY CHECK (one = 1), task TEXT NOT NULL, progress TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS pages (title TEXT NOT NULL, folded TEXT NOT NULL, pairs TEXT NOT NULL, listing INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS redirects (title TEXT NOT NULL, target TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS shared (name TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS faults (title TEXT NOT NULL, reason TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS dropped (name TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;
"""
_INDEXES = """
CREATE INDEX IF NOT EXISTS redirect_by_target ON redirects (target);
CREATE INDEX IF NOT EXISTS page_by_name ON pages (folded);
"""
# Followed against their direction from a page that is no redirect, redirects form a tree: each leads to one title.
_LEADING_TO = """
WITH RECURSIVE leading(title) AS (
    SELECT title FROM redirects WHERE target = ?
    UNION SELECT redirects.title FROM redirects JOIN leading ON redirects.target = leading.title
) SELECT title FROM leading ORDER BY title
"""

_COUNTED = "INSERT INTO dropped VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET number = number + excluded.number"


@dataclass(slots=True)
class Progress:
    """How far a dump was read: pages, of what forms, the length of the file of documents in bytes, their words; whether the
    reading has come to an end (`finished`), and if that is not the end of the dump, why (`ended`) and behind which page and
    how many bytes of unpacked XML.
    """

    pages: int = 0
    size: int = 0
    words: int = 0
    documents: int = 0
    profiled: int = 0
    forms: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    finished: bool = False
    ended: str = ""
    last_title: str = ""
    unpacked: int = 0

    @classmethod
    def from_json(cls, text: str) -> Progress:
        given = json.loads(text)
        given["forms"], given["left_out"] = Counter(given["forms"]), Counter(given["left_out"])
        return cls(**given)


@dataclass(frozen=True, slots=True)
class Profile:
    """What is said of the pages that share a title but for case: in nearly all cases one page."""

    title: str
    also: tuple[str, ...]
    ambiguous: bool
    pairs: tuple[Pair, ...]


@dataclass(frozen=True)
class Notebook:
    """Use `open_notebook`."""

    connection: sqlite3.Connection

    def begun(self) -> tuple[str, Progress] | None:
        """The task (what is being read, and how) and how far it has come, if there is one."""
        row = self.connection.execute("SELECT task, progress FROM state").fetchone()
        return (row[0], Progress.from_json(row[1])) if row else None

    def enter(self, page: Converted) -> None:
        """What must be remembered of a page."""
        run = self.connection.execute
        self.connection.executemany(_COUNTED, page.dropped)
        match page.form:
            case Form.REDIRECT:
                run("INSERT INTO redirects VALUES (?, ?)", (page.title, page.detail))
            case Form.FAULT:
                run("INSERT INTO faults VALUES (?, ?)", (page.title, page.detail))
            case Form.ENTITY | Form.DISAMBIGUATION:
                listing = page.form is Form.DISAMBIGUATION
                pairs = json.dumps(page.pairs, ensure_ascii=False)
                run("INSERT INTO pages VALUES (?, ?, ?, ?)", (page.title, folded(page.title), pairs, listing))
                if listing:
                    run("INSERT OR IGNORE INTO shared VALUES (?)", (folded(base_title(page.title)),))

    def commit(self, task: str, progress: Progress) -> None:
        """Keep everything entered so far. What `progress` says of files must be on the disk by now."""
        content = json.dumps({one.name: getattr(progress, one.name) for one in fields(progress)}, ensure_ascii=False)
        self.connection.execute("INSERT OR REPLACE INTO state VALUES (1, ?, ?)", (task, content))
        self.connection.commit()

    def faults(self, most: int) -> list[tuple[str, str]]:
        """The first pages that could not be used, with their reasons, in the order of the dump."""
        return self.connection.execute("SELECT title, reason FROM faults ORDER BY rowid LIMIT ?", (most,)).fetchall()

    def dropped(self, most: int) -> list[tuple[str, int]]:
        """The templates that most often showed nothing, with how often."""
        return self.connection.execute(
            "SELECT name, number FROM dropped ORDER BY number DESC, name LIMIT ?", (most,)
        ).fetchall()

    def profiles(self) -> Iterator[Profile]:
        """One a title, by title without case. Titles that differ only in case have one, since they are looked up as one."""
        self.connection.executescript(_INDEXES)
        rows = self.connection.execute("SELECT folded, title, pairs, listing FROM pages ORDER BY folded, rowid")
        for _, group in groupby(rows, key=lambda row: row[0]):
            pages = list(group)
            titles = [title for _, title, _, _ in pages]
            pairs = [(key, value) for _, _, found, _ in pages for key, value in json.loads(found)]
            also = [
                name for title in dict.fromkeys(titles) for (name,) in self.connection.execute(_LEADING_TO, (title,))
            ]
            ambiguous = any(listing for *_, listing in pages) or self._is_namesake(titles[0])
            yield Profile(titles[0], tuple(dict.fromkeys(also)), ambiguous, tuple(dict.fromkeys(pairs)))

    def _is_namesake(self, title: str) -> bool:
        """Whether a disambiguation page lists this title's name, and the title is not that name itself.

        `Paris` beside `Paris (disambiguation)` is the primary topic: what the name mostly means.
        """
        name = folded(base_title(title))
        return (
            name != folded(title)
            and self.connection.execute("SELECT 1 FROM shared WHERE name = ?", (name,)).fetchone() is not None
        )


@contextmanager
def open_notebook(file: Path) -> Iterator[Notebook]:
    """The notebook in this file, made if it is not there; what was not committed is gone.

    Raises:
        StorageError: it cannot be made, read or written.
    """
    try:
        connection = sqlite3.connect(file)
        try:
            connection.execute("PRAGMA synchronous = FULL")
            connection.executescript(_TABLES)
            yield Notebook(connection)
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise StorageError(f"{file} cannot be used: {error}. Is the disk full, or the folder not writable?") from error
