"""Builds the two corpora from a dump: corpus.jsonl, profiles.jsonl and counts.json. Resumable, in bounded memory.

Documents are appended to `corpus.jsonl.part`; all else goes to the database `unfinished.db`. A checkpoint makes the former safe,
then commits the latter with the length of the former and the place in the dump. A later run cuts the file to that length and
reads on from that place, so that it ends with the same bytes as a run that was not stopped. counts.json is written last: where it
is, the corpora are complete.

    corpus.jsonl     id, title, text: one line per entity; the text ends with the pairs of the infobox as lines `key: value`
    profiles.jsonl   title, profile, also, ambiguous: what `structures.profiles.from_file` takes
    counts.json      the dump, and `Counts`
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import BinaryIO

import apsw

from hoptrail.documents.limits import MIB
from hoptrail.errors import Interrupted, StorageError, UsageError, disk_errors
from hoptrail.execution.executor import batched
from hoptrail.system.atomic_write import replace_file
from hoptrail.text.normal_forms import folded
from hoptrail.types.json_object import JsonObject
from hoptrail_papers.hirag.wikipedia.converting import Child, Converted, PageForm, convert_all
from hoptrail_papers.hirag.wikipedia.dump import Dump, DumpPlace
from hoptrail_papers.hirag.wikipedia.wikitext import shared_name

CORPUS, PROFILES, COUNTS = "corpus.jsonl", "profiles.jsonl", "counts.json"
PART, UNFINISHED = "corpus.jsonl.part", "unfinished.db"
BATCH, BATCH_CHARACTERS = 50, 2 * MIB
CHECKPOINT = 2000  # pages between two checkpoints: the most that a kill loses
NAMED = 1000  # faults that counts.json names; all are counted
_CHAIN = 8  # the longest chain of redirects that is followed

_SCHEMA = """
CREATE TABLE IF NOT EXISTS state (value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS entities (key TEXT PRIMARY KEY, title TEXT NOT NULL, shared TEXT NOT NULL, pairs TEXT NOT NULL)
    WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS redirects (key TEXT PRIMARY KEY, name TEXT NOT NULL, target TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS namesakes (name TEXT PRIMARY KEY) WITHOUT ROWID;
"""
_FOLLOW = """UPDATE redirects SET target = (SELECT next.target FROM redirects next WHERE next.key = redirects.target)
    WHERE target IN (SELECT key FROM redirects) AND target NOT IN (SELECT key FROM entities)"""
_LINES = """SELECT title, pairs, shared IN (SELECT name FROM namesakes),
        (SELECT json_group_array(name) FROM (SELECT name FROM redirects WHERE target = entities.key ORDER BY name))
    FROM entities ORDER BY key"""


@dataclass(slots=True)
class Counts:
    """What a dump gave. `words` are those of all entities; `redirects_unused` lead to none; `faults` are title and reason of
    pages that could not be read, `damage` what of the dump itself could not.
    """

    pages: int = 0
    entities: int = 0
    words: int = 0
    profiles: int = 0
    redirects: int = 0
    redirects_unused: int = 0
    disambiguations: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    faults_in_all: int = 0
    faults: list[list[str]] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _State:
    """What a checkpoint has beside the rows: `size` of the documents in bytes, `place` in the dump, the wiki's own `names`."""

    task: str
    size: int = 0
    place: DumpPlace = field(default_factory=DumpPlace)
    names: list[str] = field(default_factory=list)
    is_read: bool = False
    counts: Counts = field(default_factory=Counts)


def build_corpora(
    dump: Path,
    out: Path,
    workers: int = 1,
    report: Callable[[str, int, int], None] = lambda *_: None,
    stopped: Callable[[], bool] = lambda: False,
) -> Counts:
    """Build the corpora of a dump in the folder `out`, or go on; finished ones are left as they are.

    Raises:
        DocumentError: the dump cannot be read at all.
        UsageError: `out` has the corpora of another dump.
        StorageError: a file cannot be written.
        Interrupted: `stopped` returned True; what was finished is kept.
    """
    source = _identity(dump)
    task = json.dumps([source, version("mwparserfromhell")])
    with disk_errors(f"{out} cannot be written"):
        out.mkdir(parents=True, exist_ok=True)
        if (out / COUNTS).exists():
            content = json.loads((out / COUNTS).read_text(encoding="utf-8"))
            _check_same(out, json.dumps([content.pop("dump"), content.pop("mwparserfromhell")]), task)
            return Counts(**content)
        with _database(out / UNFINISHED) as rows:
            builder = _Builder(dump, out, rows, _state_of(rows, task), report, stopped)
            _check_same(out, builder.state.task, task)
            if not builder.state.is_read:
                builder.read(workers)
            counts = builder.finish()
        made = {"dump": source, "mwparserfromhell": version("mwparserfromhell"), **asdict(counts)}
        replace_file(out / COUNTS, (json.dumps(made, indent=2, ensure_ascii=False) + "\n").encode())
        for name in (UNFINISHED, f"{UNFINISHED}-wal", f"{UNFINISHED}-shm"):
            (out / name).unlink(missing_ok=True)
    return counts


@dataclass
class _Builder:
    dump: Path
    out: Path
    rows: apsw.Connection
    state: _State
    report: Callable[[str, int, int], None]
    stopped: Callable[[], bool]

    def read(self, workers: int) -> None:
        """Read the dump to its end, from the last checkpoint of an earlier run."""
        state, counts = self.state, self.state.counts
        opened, whole = Dump(self.dump, state.place, state.names), self.dump.stat().st_size // MIB
        pages = batched(opened.pages(), BATCH, lambda page: len(page.text), BATCH_CHARACTERS)
        with self._documents() as documents:
            for batch in convert_all(pages, [Child(opened.names) for _ in range(workers)]):
                before = counts.pages // CHECKPOINT
                for one in batch:
                    self._keep(one, documents)
                state.place = batch[-1].page.place
                if self.stopped() or counts.pages // CHECKPOINT > before:
                    self._checkpoint(documents)
                    self.report(f"MiB of {self.dump.name}", state.place.offset // MIB, whole)
                if self.stopped():
                    raise Interrupted("stopped; finished pages are kept. The same command goes on from there.")
            counts.damage, state.is_read = opened.faults, True
            self._checkpoint(documents)

    def _keep(self, one: Converted, documents: BinaryIO) -> None:
        counts, page, key = self.state.counts, one.page, folded(one.page.title)
        counts.pages += 1
        match one.form:
            case PageForm.ENTITY:
                documents.write(_line({"id": page.id, "title": page.title, "text": one.text}))
                counts.entities, counts.words = counts.entities + 1, counts.words + one.words
                row = key, page.title, shared_name(page.title), json.dumps(one.pairs, ensure_ascii=False)
                self.rows.execute("INSERT OR REPLACE INTO entities VALUES (?, ?, ?, ?)", row)
            case PageForm.REDIRECT:
                counts.redirects += 1
                redirect = key, page.title, folded(one.detail)
                self.rows.execute("INSERT OR REPLACE INTO redirects VALUES (?, ?, ?)", redirect)
            case PageForm.DISAMBIGUATION:
                counts.disambiguations += 1
                self.rows.execute("INSERT OR IGNORE INTO namesakes VALUES (?)", (shared_name(page.title) or key,))
            case PageForm.LEFT_OUT:
                counts.left_out = dict(Counter(counts.left_out) + Counter([one.detail]))
            case PageForm.FAULT:
                counts.faults_in_all += 1
                counts.faults = [*counts.faults, [page.title, one.detail]][:NAMED]

    def _checkpoint(self, documents: BinaryIO) -> None:
        documents.flush()
        os.fsync(documents.fileno())
        self.state.size = documents.tell()
        self.rows.execute("DELETE FROM state")
        self.rows.execute("INSERT INTO state VALUES (?)", (json.dumps(asdict(self.state)),))
        self.rows.execute("COMMIT")
        self.rows.execute("BEGIN")

    @contextmanager
    def _documents(self) -> Iterator[BinaryIO]:
        """The file of documents, as long as the last checkpoint says."""
        path = self.out / PART
        path.touch()
        with path.open("r+b") as file:
            if file.seek(0, os.SEEK_END) < self.state.size:
                advice = f"remove the files in {self.out} and build again"
                raise StorageError(f"{path} is shorter than was written: {advice}.")
            file.truncate(self.state.size)
            file.seek(self.state.size)
            yield file

    def finish(self) -> Counts:
        """Write the profiles, and give the documents their name."""
        counts = self.state.counts
        for _ in range(_CHAIN):
            self.rows.execute(_FOLLOW)
        self.rows.execute("CREATE INDEX IF NOT EXISTS by_target ON redirects (target)")
        unused = self.rows.execute("SELECT count(*) FROM redirects WHERE target NOT IN (SELECT key FROM entities)")
        counts.redirects_unused, counts.profiles = int(str(unused.fetchall()[0][0])), 0
        part = self.out / f"{PROFILES}.part"
        with part.open("wb") as file:
            for title, pairs, ambiguous, also in self.rows.execute(_LINES):
                profile, names = json.loads(pairs), json.loads(also)
                counts.profiles += bool(profile)
                if profile or names or ambiguous:
                    line = {"title": title, "profile": profile, "also": names, "ambiguous": bool(ambiguous)}
                    file.write(_line(line))
            file.flush()
            os.fsync(file.fileno())
        part.replace(self.out / PROFILES)
        if (self.out / PART).exists():
            (self.out / PART).replace(self.out / CORPUS)
        return counts


def _line(content: JsonObject) -> bytes:
    return json.dumps(content, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


@contextmanager
def _database(path: Path) -> Iterator[apsw.Connection]:
    """The open database, in a transaction whose rest is given up at the end."""
    rows = apsw.Connection(str(path))
    try:
        rows.execute("PRAGMA journal_mode = WAL")
        rows.execute(_SCHEMA)
        rows.execute("BEGIN IMMEDIATE")
        yield rows
    except apsw.BusyError as error:
        raise UsageError(f"another process is building in {path.parent}: wait for it to end.") from error
    finally:
        rows.close()


def _state_of(rows: apsw.Connection, task: str) -> _State:
    stored = rows.execute("SELECT value FROM state").fetchall()
    if not stored:
        return _State(task)
    content: JsonObject = json.loads(str(stored[0][0]))
    return _State(**content | {"place": DumpPlace(**content["place"]), "counts": Counts(**content["counts"])})


def _check_same(out: Path, task: str, wanted: str) -> None:
    if json.loads(task) != json.loads(wanted):
        other = "the corpora of another dump, or of another version of the parser"
        raise UsageError(f"{out} has {other}: name another folder.")


def _identity(dump: Path) -> dict[str, str | int]:
    """Name, size in bytes, and SHA-256 of the first MiB."""
    with disk_errors(f"the dump {dump} cannot be read"), dump.open("rb") as file:
        return {"name": dump.name, "bytes": dump.stat().st_size, "first": hashlib.sha256(file.read(MIB)).hexdigest()}


def lines_of(counts: Counts, most: int = 10) -> Sequence[str]:
    """What a user should read of the counts."""
    lines = [f"not read: {title}: {reason}" for title, reason in counts.faults[:most]]
    if counts.faults_in_all > most:
        lines.append(f"not read: {counts.faults_in_all - most:,} more pages; {COUNTS} names them")
    lines += [f"the dump is damaged: {damage}" for damage in counts.damage]
    found = f"{counts.entities:,} entities of {counts.pages:,} pages, {counts.words:,} words; {counts.profiles:,} with a profile"
    return [*lines, f"{found}, {counts.redirects:,} redirects, {counts.disambiguations:,} disambiguation pages."]
