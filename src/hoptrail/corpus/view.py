"""Views: restricting an index to documents by labels or sources, and to statements by their dates. Enforced below every query.

A label is a name for patterns of sources. In a snapshot with a view the tables are SQL views without the hidden rows, and hidden
units, their links and their postings are masked in the segments. So no query can return, count or score by them. A unit that was
made from several documents (such as a summary) is hidden with any of them.
"""

from __future__ import annotations

import datetime as dt
import fnmatch
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import groupby

import numpy as np

from hoptrail.corpus.columns import NONE, Numbers, numbers_of
from hoptrail.corpus.database import Database
from hoptrail.corpus.rows import numbers_from, said_date
from hoptrail.corpus.segments import Family, Segment
from hoptrail.documents.blocks import unpack
from hoptrail.errors import UsageError
from hoptrail.text.dates import date_above
from hoptrail.types import Block, BlockKind, Kind, Unit
from hoptrail.types.sources import UPLOADED

_DATE = re.compile(r"\d{4}(-\d\d(-\d\d)?)?")
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_VERBATIM = frozenset({Kind.PASSAGE, Kind.SENTENCE})
"""Kinds of units whose text is exactly their source, so that a part of it can be cut out."""


@dataclass(frozen=True, slots=True)
class View:
    """Which documents and statements are visible.

    - `sources`: patterns (`*` is any text); documents with a source that matches one. None: all.
    - `as_of`: an ISO date (a year, a month or a day); statements without a date or not dated later. Empty: all.
    - `documents`: ids of the visible documents. None: all.
    """

    as_of: str = ""
    sources: tuple[str, ...] | None = None
    documents: frozenset[str] | None = None

    def __post_init__(self) -> None:
        if self.as_of:
            object.__setattr__(self, "as_of", checked_date(self.as_of))


EVERYTHING = View()


def check_label(rule: str) -> tuple[str, str]:
    """Split a rule `NAME=PATTERN` into name and pattern. Raises: UsageError: the rule is malformed."""
    name, _, pattern = rule.partition("=")
    if not _LABEL.fullmatch(name) or not pattern:
        raise UsageError(
            f"{rule!r} is not NAME=PATTERN, as in `public=*/handbook/*`: a name has letters, digits, - and _."
        )
    return name, pattern


def patterns_of(labels: Collection[str], rules: Iterable[str]) -> tuple[str, ...]:
    """The patterns of some labels, for `View.sources`. Raises: UsageError: no rule defines one of them."""
    named = [check_label(rule) for rule in rules]
    if unknown := sorted(set(labels) - {name for name, _ in named}):
        raise UsageError(f"there is no label {', '.join(unknown)}: the setting `labels` defines them.")
    return tuple(sorted({pattern for name, pattern in named if name in labels}))


def checked_date(text: str) -> str:
    """Returns the date. Raises: UsageError: it is not an ISO date."""
    with suppress(ValueError):
        if _DATE.fullmatch(text):
            dt.date.fromisoformat(f"{text}-01-01"[:10])
            return text
    raise UsageError(f"{text[:40]!r} is not a date: give a year, a month or a day, as in 2024, 2024-03 or 2024-03-05.")


def is_later(date: str, than: str) -> bool:
    """Whether an ISO date is after another, compared at the precision of both: 2024-03 is not later than 2024-03-05."""
    precision = min(len(date), len(than))
    return date[:precision] > than[:precision]


@dataclass(frozen=True, slots=True)
class Hidden:
    """Hidden sources, documents and units. `cut` maps partly visible units to the visible start and end in the document."""

    sources: Collection[str] = ()
    documents: Numbers = field(default_factory=lambda: NONE)
    units: Numbers = field(default_factory=lambda: NONE)
    cut: Mapping[int, tuple[int, int]] = field(default_factory=dict)

    def install(self, database: Database) -> None:
        """Shadow the tables of a connection by SQL views, which last as long as the connection."""
        hidden = (("documents", "INTEGER", self.documents.tolist()), ("units", "INTEGER", self.units.tolist()))
        for name, type_, values in (*hidden, ("sources", "TEXT", self.sources)):
            # A column of another type than the one it is compared with would be searched without its index.
            database.run(f"CREATE TEMP TABLE hidden_{name} (value {type_} PRIMARY KEY)")
            database.run_each(f"INSERT INTO hidden_{name} (value) VALUES (?)", ((value,) for value in values))
        for table, condition in _VISIBLE.items():
            database.run(f"CREATE TEMP VIEW {table} AS SELECT * FROM main.{table} WHERE {condition}")

    def mask(self, segment: Segment) -> Segment:
        """The segment with hidden rows marked as removed. Hidden names are left out when they are read."""
        if segment.family in (Family.NAMES, Family.GRAPHS) or not len(self.units):
            return segment
        if segment.family is Family.LINKS:
            sources = np.repeat(segment.arrays["nodes"], np.diff(segment.arrays["starts"]))
            visible = ~(np.isin(sources, self.units) | np.isin(segment.arrays["targets"], self.units))
        else:
            visible = ~np.isin(segment.arrays["numbers"], self.units)
        return replace(segment, alive=visible if segment.alive is None else visible & segment.alive)

    def visible_part(self, number: int, unit: Unit) -> Unit:
        if number not in self.cut:
            return unit
        (start, end), first = self.cut[number], unit.sources[0].start
        ends = [min(sentence_end, end - first) - (start - first) for sentence_end in unit.sentence_ends]
        return replace(
            unit,
            text=unit.text[start - first : end - first],
            sources=(replace(unit.sources[0], start=start, end=end),),
            blocks=tuple(block for block in unit.blocks if block.start < end and start < block.end),
            sentence_ends=tuple(dict.fromkeys(sentence_end for sentence_end in ends if sentence_end > 0)),
        )


NOTHING = Hidden()

_VISIBLE = {
    "documents": "number NOT IN temp.hidden_documents",
    "blocks": "document NOT IN temp.hidden_documents",
    "sources": "document NOT IN temp.hidden_documents AND source NOT IN temp.hidden_sources",
    "files": "document NOT IN temp.hidden_documents AND path NOT IN temp.hidden_sources",
    "units": "number NOT IN temp.hidden_units",
    "further_sources": "unit NOT IN temp.hidden_units",
    "extractions": "unit NOT IN temp.hidden_units",
}
"""The condition of visible rows of each table."""

_Runs = list[tuple[int, int]]  # starts and ends of disjoint parts of a document


def hidden_by(view: View, database: Database) -> Hidden:
    """Restrict a reading connection to a view. Returns what is hidden of the commit that it reads."""
    if view == EVERYTHING:
        return NOTHING
    sources, hidden = ([], set()) if view.sources is None else _without_match(view.sources, database)
    parts = _visible_parts(view.as_of, database) if view.as_of else {}
    hidden |= {document for document, visible in parts.items() if not visible}
    if view.documents is not None:
        rows = database.rows("SELECT number, id FROM documents")
        hidden |= {number for number, id_ in rows if id_ not in view.documents}
    documents = numbers_of(sorted(hidden))
    uncuttable, cut = _cut_units({document: visible for document, visible in parts.items() if visible}, database)
    units = np.union1d(numbers_of(uncuttable), numbers_from(database, documents))
    result = Hidden(sources, documents, numbers_of(units), cut)
    result.install(database)
    return result


def _without_match(patterns: Collection[str], database: Database) -> tuple[list[str], set[int]]:
    pattern = re.compile("|".join(map(fnmatch.translate, patterns)) or r"(?!)")
    hidden: list[str] = []
    visible: set[int] = set()
    for source, document in database.each("SELECT source, document FROM sources"):
        uploaded = UPLOADED.fullmatch(source)  # its path is the index's: `#` and the name stand for it
        if pattern.match(f"#{uploaded['name']}" if uploaded else source):
            visible.add(document)
        else:
            hidden.append(source)
    return hidden, set(database.column("SELECT number FROM documents")) - visible


def _visible_parts(as_of: str, database: Database) -> dict[int, _Runs]:
    """The parts not later than a date, of documents that have later ones."""
    later: set[int] = set()
    parts: dict[int, _Runs] = {}
    for document, start, end, date in _dated_blocks(database):
        visible = parts.setdefault(document, [])
        if is_later(date, as_of):
            later.add(document)
        elif visible and visible[-1][1] == start:
            visible[-1] = visible[-1][0], end
        else:
            visible.append((start, end))
    return {document: parts[document] for document in later}


def _dated_blocks(database: Database) -> Iterator[tuple[int, int, int, str]]:
    """The document, start, end and date of every block; a document without blocks counts as one block."""
    rows = database.each(
        "SELECT d.number, d.title, d.date, d.date_from, length(d.text), b.packed FROM documents d "
        "LEFT JOIN blocks b ON b.document = d.number ORDER BY d.number, b.start"
    )
    above = lru_cache(maxsize=1 << 16)(date_above)
    for (document, title, date, origin, length), same in groupby(rows, key=lambda row: row[:5]):
        document_date = said_date(date, origin)
        blocks = [block for *_, packed in same for block in unpack(packed or "")]
        if not blocks:
            yield document, 0, length, document_date or above((), title)
        below: Block | None = None
        dates: list[str] = []
        for block in reversed(blocks):
            own = block.date or ("" if block.kind is BlockKind.QUOTE else document_date) or above(block.path, title)
            heads = block.kind is BlockKind.HEADING and below is not None and len(below.path) > len(block.path)
            dates.append(dates[-1] if heads else own)  # a heading has the date of the block below it
            below = block
        for block, own in zip(blocks, reversed(dates), strict=True):
            yield document, block.start, block.end, own


def _cut_units(parts: Mapping[int, _Runs], database: Database) -> tuple[list[int], dict[int, tuple[int, int]]]:
    """The hidden and the cut units of partly visible documents. Of several visible parts of a unit the longest is kept."""
    hidden: list[int] = []
    cut: dict[int, tuple[int, int]] = {}
    rows = database.rows(
        "SELECT number, kind, document, start, end FROM units WHERE document IN (SELECT value FROM carray(?1)) "
        "UNION ALL SELECT unit, '', document, start, end FROM further_sources "
        "WHERE document IN (SELECT value FROM carray(?1))",
        list(parts),
    )
    for number, kind, document, start, end in rows:
        runs = [(max(start, first), min(end, last)) for first, last in parts[document] if first < end and start < last]
        if (start, end) in runs:
            continue
        if kind in _VERBATIM and runs:
            cut[number] = max(runs, key=lambda run: run[1] - run[0])
        else:
            hidden.append(number)
    return hidden, cut
