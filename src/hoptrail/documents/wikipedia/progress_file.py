"""Stores the progress of reading a dump, and the data needed at its end, in an SQLite file beside the documents.

A redirect may stand before or after its target, and a wiki has more redirects than memory should hold. Data and progress are
committed together, so that a killed run resumes from a consistent state.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import partial
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
# All titles that redirect to a page, directly or not. They form a tree, because each redirect leads to one title.
_LEADING_TO = """
WITH RECURSIVE leading(title) AS (
    SELECT title FROM redirects WHERE target = ?
    UNION SELECT redirects.title FROM redirects JOIN leading ON redirects.target = leading.title
) SELECT title FROM leading ORDER BY title
"""

_COUNTED = "INSERT INTO dropped VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET number = number + excluded.number"


@dataclass(slots=True)
class Progress:
    """The progress of reading a dump.

    `size`: bytes of the file of documents. `words`: of all documents. `profiled`: pages with a profile. `finished`: whether the
    whole dump was read. `ended`: why the dump is cut off, else empty; `last_title` and `unpacked` (bytes of XML) say where.
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
        """Read the progress that `Notebook.commit` stored."""
        values = json.loads(text)
        values["forms"], values["left_out"] = Counter(values["forms"]), Counter(values["left_out"])
        return cls(**values)


@dataclass(frozen=True, slots=True)
class Profile:
    """The infobox pairs of all pages with one title, case aside (nearly always one page). `also`: titles that redirect to it."""

    title: str
    also: tuple[str, ...]
    ambiguous: bool
    pairs: tuple[Pair, ...]


@dataclass(frozen=True)
class Notebook:
    """The progress file. Use `open_notebook`."""

    connection: sqlite3.Connection

    def begun(self) -> tuple[str, Progress] | None:
        """The task of an earlier run (dump and settings) and its progress; None if there was none."""
        row = self.connection.execute("SELECT task, progress FROM state").fetchone()
        return (row[0], Progress.from_json(row[1])) if row else None

    def enter(self, page: Converted) -> None:
        """Store what is needed of a page at the end."""
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
        """Commit all pages entered so far. Files must be on disk as `progress` describes them."""
        content = json.dumps({item.name: getattr(progress, item.name) for item in fields(progress)}, ensure_ascii=False)
        self.connection.execute("INSERT OR REPLACE INTO state VALUES (1, ?, ?)", (task, content))
        self.connection.commit()

    def faults(self, most: int) -> list[tuple[str, str]]:
        """The first faulty pages with their reasons, in the order of the dump."""
        return self.connection.execute("SELECT title, reason FROM faults ORDER BY rowid LIMIT ?", (most,)).fetchall()

    def dropped(self, most: int) -> list[tuple[str, int]]:
        """The templates that most often showed nothing, with counts."""
        return self.connection.execute(
            "SELECT name, number FROM dropped ORDER BY number DESC, name LIMIT ?", (most,)
        ).fetchall()

    def profiles(self) -> Iterator[Profile]:
        """Yield the profiles by title. Titles that differ only in case share one profile, because look-ups ignore case."""
        self.connection.executescript(_INDEXES)
        rows = self.connection.execute("SELECT folded, title, pairs, listing FROM pages ORDER BY folded, rowid")
        for _, group in groupby(rows, key=lambda row: row[0]):
            pages = list(group)
            titles = [title for _, title, _, _ in pages]
            pairs = [(key, value) for _, _, stored, _ in pages for key, value in json.loads(stored)]
            rows_of = partial(self.connection.execute, _LEADING_TO)
            also = [name for title in dict.fromkeys(titles) for (name,) in rows_of((title,))]
            ambiguous = any(listing for *_, listing in pages) or self._is_namesake(titles[0])
            yield Profile(titles[0], tuple(dict.fromkeys(also)), ambiguous, tuple(dict.fromkeys(pairs)))

    def _is_namesake(self, title: str) -> bool:
        """Whether a disambiguation page lists the name in this title, and the title is more than that name.

        `Paris` beside `Paris (disambiguation)` is the primary topic, so it is not ambiguous.
        """
        name = folded(base_title(title))
        shared = self.connection.execute("SELECT 1 FROM shared WHERE name = ?", (name,))
        return name != folded(title) and shared.fetchone() is not None


@contextmanager
def open_notebook(file: Path) -> Iterator[Notebook]:
    """Open or create the notebook in a file; uncommitted data of earlier runs is lost.

    Raises:
        StorageError: the file cannot be created, read or written.
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
