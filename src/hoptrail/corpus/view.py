"""What of an index is seen: documents by where they were read, statements by their dates. Enforced below every query.

A snapshot with a view has a connection whose tables are views without the rows that are hidden, and segments in which hidden
units, links to them and their postings do not count. So no query, whatever it asks, gives them, counts them or is scored by them.
What was made from several documents (a summary, say) is hidden with any of them.
"""

from __future__ import annotations

import datetime as dt
import fnmatch
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import groupby

import apsw
import numpy as np

from hoptrail.corpus.columns import NONE, Numbers, numbers_of
from hoptrail.corpus.database import Database
from hoptrail.corpus.places import UPLOADED
from hoptrail.corpus.rows import said_date
from hoptrail.corpus.segments import Family, Segment
from hoptrail.documents.blocks import unpack
from hoptrail.errors import UsageError
from hoptrail.text.dates import date_above
from hoptrail.types import Block, BlockKind, Kind, Unit

_DATE = re.compile(r"\d{4}(-\d\d(-\d\d)?)?")
_VERBATIM = frozenset({Kind.PASSAGE, Kind.SENTENCE})
"""Kinds of units whose text is that of their source, so that a part of it can be left out."""


@dataclass(frozen=True, slots=True)
class View:
    """Documents with a source that one of the patterns `sources` fits (None: all; `*` is any text), and in them what has no date
    or none after `as_of` (an ISO date: a year, a month or a day; empty: all). With `documents` (ids), these alone.
    """

    as_of: str = ""
    sources: tuple[str, ...] | None = None
    documents: frozenset[str] | None = None

    def __post_init__(self) -> None:
        if self.as_of:
            object.__setattr__(self, "as_of", checked_date(self.as_of))


EVERYTHING = View()


def checked_date(text: str) -> str:
    """Raises: UsageError: it is no ISO date."""
    if _DATE.fullmatch(text):
        try:
            dt.date.fromisoformat(f"{text}-01-01"[:10])
        except ValueError:
            pass
        else:
            return text
    raise UsageError(
        f"{text[:40]!r} is no date: a year, a month or a day is wanted, as in 2024, 2024-03 or 2024-03-05."
    )


def is_later(one: str, than: str) -> bool:
    """Whether an ISO date is after another, as far as both say: 2024-03 is not later than 2024-03-05."""
    known = min(len(one), len(than))
    return one[:known] > than[:known]


@dataclass(frozen=True, slots=True)
class Hidden:
    """What is not seen: `sources`, and numbers of documents and units; and of units that are seen in part, where in the document
    the part is.
    """

    sources: Collection[str] = ()
    documents: Numbers = field(default_factory=lambda: NONE)
    units: Numbers = field(default_factory=lambda: NONE)
    cut: Mapping[int, tuple[int, int]] = field(default_factory=dict)

    def install(self, database: Database) -> None:
        """Put views before the tables of a connection, outside of a transaction: they stay as long as it does."""
        for name, numbers in (("hidden_documents", self.documents), ("hidden_units", self.units)):
            database.run(f"CREATE TEMP TABLE {name} (number INTEGER PRIMARY KEY)")
            database.run_each(f"INSERT INTO {name} (number) VALUES (?)", ((number,) for number in numbers.tolist()))
        database.run("CREATE TEMP TABLE hidden_sources (source TEXT PRIMARY KEY) WITHOUT ROWID")
        database.run_each("INSERT INTO hidden_sources (source) VALUES (?)", ((source,) for source in self.sources))
        for table, seen in _SEEN.items():
            database.run(f"CREATE TEMP VIEW {table} AS SELECT * FROM main.{table} WHERE {seen}")

    def masked(self, segment: Segment) -> Segment:
        """The segment without rows of what is hidden. (Of names, keys are taken out when they are read.)"""
        if segment.family is Family.NAMES or not len(self.units):
            return segment
        if segment.family is Family.LINKS:
            sources = np.repeat(segment.arrays["nodes"], np.diff(segment.arrays["starts"]))
            seen = ~(np.isin(sources, self.units) | np.isin(segment.arrays["targets"], self.units))
        else:
            seen = ~np.isin(segment.arrays["numbers"], self.units)
        return replace(segment, alive=seen if segment.alive is None else seen & segment.alive)

    def cut_out(self, units: Mapping[int, Unit]) -> list[Unit]:
        """The units, those of which a part is seen with that part alone."""
        return [_part(unit, *self.cut[number]) if number in self.cut else unit for number, unit in units.items()]


NOTHING = Hidden()


_OF_UNIT = "NOT IN (SELECT number FROM temp.hidden_units)"
_OF_DOCUMENT = "NOT IN (SELECT number FROM temp.hidden_documents)"
_OF_SOURCE = "NOT IN (SELECT source FROM temp.hidden_sources)"
_SEEN = {
    "documents": f"number {_OF_DOCUMENT}",
    "blocks": f"document {_OF_DOCUMENT}",
    "sources": f"document {_OF_DOCUMENT} AND source {_OF_SOURCE}",
    "files": f"document {_OF_DOCUMENT} AND path {_OF_SOURCE}",
    "units": f"number {_OF_UNIT}",
    "further_sources": f"unit {_OF_UNIT}",
    "extractions": f"unit {_OF_UNIT}",
}
"""Which rows of each table are seen."""

_Runs = list[tuple[int, int]]
"""Starts and ends of parts of a document that do not touch."""


def hidden_by(view: View, database: Database) -> Hidden:
    """What a view leaves out of the state that a connection reads."""
    sources, documents = ([], NONE) if view.sources is None else _unfitting(view.sources, database)
    parts = _seen_parts(view.as_of, database) if view.as_of else {}
    gone = np.union1d(documents, numbers_of([document for document, seen in parts.items() if not seen]))
    if view.documents is not None:
        gone = np.union1d(gone, _others(view.documents, database))
    units, cut = _partly_seen({document: seen for document, seen in parts.items() if seen}, database)
    every = np.union1d(units, _units_from(gone, database))
    return Hidden(sources, numbers_of(gone), numbers_of(every), cut)


def _unfitting(patterns: Collection[str], database: Database) -> tuple[list[str], Numbers]:
    """The sources that none of the patterns fits, and the documents that have no other."""
    fits = re.compile("|".join(map(fnmatch.translate, patterns)) or r"(?!)")
    hidden: list[str] = []
    seen: set[int] = set()
    for source, document in database.each("SELECT source, document FROM sources"):
        if fits.match(_as_labelled(source)):
            seen.add(document)
        else:
            hidden.append(source)
    every = database.rows("SELECT number FROM documents ORDER BY number")
    return hidden, numbers_of([number for (number,) in every if number not in seen])


def _others(chosen: Collection[str], database: Database) -> Numbers:
    """The documents that are not among the chosen ids."""
    return numbers_of(
        [number for number, id_ in database.rows("SELECT number, id FROM documents") if id_ not in chosen]
    )


def _as_labelled(source: str) -> str:
    """What patterns are compared with: of an upload, which lies wherever the index does, `#` and its name."""
    uploaded = UPLOADED.fullmatch(source)
    return f"#{uploaded['name']}" if uploaded else source


def _units_from(documents: Numbers, database: Database) -> Numbers:
    """The units with a source in one of some documents."""
    if not len(documents):
        return NONE
    found = database.rows(
        "SELECT number FROM units WHERE document IN (SELECT value FROM carray(?1)) UNION "
        "SELECT unit FROM further_sources WHERE document IN (SELECT value FROM carray(?1))",
        apsw.carray(numbers_of(documents)),
    )
    return numbers_of([number for (number,) in found])


def _seen_parts(as_of: str, database: Database) -> dict[int, _Runs]:
    """Of the documents in which something is later than a date, the parts that are not."""
    later: set[int] = set()
    parts: dict[int, _Runs] = {}
    for document, start, end, said in _dated(database):
        seen = parts.setdefault(document, [])
        if is_later(said, as_of):
            later.add(document)
        elif seen and seen[-1][1] == start:
            seen[-1] = seen[-1][0], end
        else:
            seen.append((start, end))
    return {document: parts[document] for document in later}


def _dated(database: Database) -> Iterator[tuple[int, int, int, str]]:
    """Every block with its document, start, end and date; a document without blocks as one."""
    rows = database.each(
        "SELECT d.number, d.title, d.date, d.date_from, length(d.text), b.packed FROM documents d "
        "LEFT JOIN blocks b ON b.document = d.number ORDER BY d.number, b.start"
    )
    above = lru_cache(maxsize=1 << 16)(date_above)
    for (document, title, date, origin, length), found in groupby(rows, key=lambda row: row[:5]):
        said = said_date(date, origin)
        blocks = [block for *_, packed in found for block in unpack(packed or "")]
        if not blocks:
            yield document, 0, length, said or above((), title)
        below: Block | None = None
        dates: list[str] = []
        for block in reversed(blocks):
            own = block.date or ("" if block.kind is BlockKind.QUOTE else said) or above(block.path, title)
            heads = block.kind is BlockKind.HEADING and below is not None and len(below.path) > len(block.path)
            dates.append(dates[-1] if heads else own)  # a heading is as old as what stands under it
            below = block
        for block, own in zip(blocks, reversed(dates), strict=True):
            yield document, block.start, block.end, own


def _partly_seen(parts: Mapping[int, _Runs], database: Database) -> tuple[Numbers, dict[int, tuple[int, int]]]:
    """Of the units from documents of which parts are seen, those that are hidden, and those that are seen in part: passages and
    sentences, where they hold something that is seen.
    """
    if not parts:
        return NONE, {}
    hidden: list[int] = []
    cut: dict[int, tuple[int, int]] = {}
    found = database.rows(
        "SELECT number, kind, document, start, end FROM units WHERE document IN (SELECT value FROM carray(?1)) "
        "UNION ALL SELECT unit, '', document, start, end FROM further_sources "
        "WHERE document IN (SELECT value FROM carray(?1))",
        apsw.carray(numbers_of(list(parts))),
    )
    for number, kind, document, start, end in found:
        seen = [(max(start, first), min(end, last)) for first, last in parts[document] if first < end and start < last]
        if (start, end) in seen:
            continue
        if kind in _VERBATIM and seen:
            cut[number] = max(seen, key=lambda run: run[1] - run[0])
        else:
            hidden.append(number)
    return numbers_of(np.unique(hidden)), cut


def _part(unit: Unit, start: int, end: int) -> Unit:
    """Characters `start` to `end` of its document, of a unit whose text stands there."""
    first = unit.sources[0].start
    return replace(
        unit,
        text=unit.text[start - first : end - first],
        sources=(replace(unit.sources[0], start=start, end=end),),
        blocks=tuple(block for block in unit.blocks if block.start < end and start < block.end),
        sentence_ends=tuple(
            dict.fromkeys(
                min(sentence, end - first) - (start - first)
                for sentence in unit.sentence_ends
                if sentence > start - first
            )
        ),
    )
