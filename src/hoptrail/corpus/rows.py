"""Converting between rows of the database and records."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from hoptrail.corpus.columns import Numbers, numbers_of
from hoptrail.corpus.database import Database
from hoptrail.documents.blocks import unpack
from hoptrail.documents.marks import FILE_TIME
from hoptrail.types import Block, BlockKind, Document, Extraction, Fact, Kind, Span, Triple, Unit


def said_date(date: str, date_from: str) -> str:
    """The date of a document; empty where it is only the time of its file, which says nothing about the text."""
    return "" if date_from == FILE_TIME else date


def units(database: Database, numbers: Numbers, *, dated: bool = False) -> dict[int, Unit]:
    """Units by number, in the order of `numbers`; removed ones are left out. With `dated`, blocks without a date get that of
    their document. (It is not stored with blocks, because renaming a file may change it.)
    """
    tables = "carray(?) c CROSS JOIN units t ON t.number = c.value JOIN documents d ON d.number = t.document"
    found = list(database.checked("units", tables, numbers, beside="d.id, d.date, d.date_from"))
    further = _further(database, numbers) if any(row[6] for row in found) else {}
    blocks = _blocks(database, numbers)
    return {
        number: Unit(
            *(id_, Kind(kind), title, text),
            (Span(document, start, end), *further.get(number, ())),
            tuple(_dated(block, said_date(date, origin)) if dated else block for block in blocks.get(number, ())),
            unpacked_ends(ends),
        )
        for number, id_, kind, _, start, end, _, title, text, ends, document, date, origin in found
    }


def _dated(block: Block, date: str) -> Block:
    """The block; without a date with that of its document, but a quotation may be older than its document."""
    return replace(block, date=date) if date and not block.date and block.kind is not BlockKind.QUOTE else block


def _further(database: Database, numbers: Numbers) -> dict[int, list[Span]]:
    spans: dict[int, list[Span]] = {}
    tables = (
        "carray(?) c CROSS JOIN further_sources t ON t.unit = c.value JOIN documents d ON d.number = t.document "
        "ORDER BY t.unit, t.place"
    )
    for unit, _, _, start, end, document in database.checked("further_sources", tables, numbers, beside="d.id"):
        spans.setdefault(unit, []).append(Span(document, start, end))
    return spans


def _blocks(database: Database, numbers: Numbers) -> dict[int, list[Block]]:
    """The blocks that overlap passages and sentences, the only kinds whose text is part of a document."""
    blocks: dict[int, list[Block]] = {}
    tables = (
        "carray(?) c CROSS JOIN units u ON u.number = c.value CROSS JOIN blocks t "
        "ON t.document = u.document AND t.start < u.end AND t.start >= "
        "(SELECT max(start) FROM blocks WHERE document = u.document AND start <= u.start) "
        "WHERE u.kind IN ('passage', 'sentence') ORDER BY c.value, t.start"
    )
    for _, _, packed, number in database.checked("blocks", tables, numbers, beside="c.value"):
        blocks.setdefault(number, []).extend(unpack(packed))
    return blocks


def documents(database: Database, numbers: Iterable[int]) -> Iterator[Document]:
    """Documents by number, one at a time, because a text may be long."""
    for given in numbers:
        for number, id_, title, text, ends, notes, date, date_from in database.checked(
            "documents", "documents t WHERE t.number = ?", given
        ):
            packed = database.checked("blocks", "blocks t WHERE t.document = ? ORDER BY t.start", number)
            sources = database.column("SELECT source FROM sources WHERE document = ? ORDER BY source", number)
            yield Document(
                *(id_, title, text, unpacked_ends(ends), tuple(sources), tuple(json.loads(notes))),
                tuple(block for *_, blocks in packed for block in unpack(blocks)),
                *(date, date_from),
            )


def packed_ends(ends: Sequence[int]) -> bytes:
    return np.array(ends, np.int32).tobytes()


def unpacked_ends(packed: bytes) -> tuple[int, ...]:
    return tuple(np.frombuffer(packed, np.int32).tolist())


def packed_extraction(extraction: Extraction) -> tuple[str, str]:
    facts = [
        [
            *(fact.text, fact.entities, fact.source.document, fact.source.start, fact.source.end),
            None if fact.triple is None else [fact.triple.subject, fact.triple.relation, fact.triple.object],
        ]
        for fact in extraction.facts
    ]
    return json.dumps(extraction.entities, ensure_ascii=False), json.dumps(facts, ensure_ascii=False)


def extraction_of(entities: str, facts: str) -> Extraction:
    return Extraction(
        tuple(json.loads(entities)),
        tuple(
            Fact(text, tuple(named), Span(document, start, end), None if triple is None else Triple(*triple))
            for text, named, document, start, end, triple in json.loads(facts)
        ),
    )


def among_documents(ids: Collection[str] | None) -> tuple[str, tuple[Collection[str], ...]]:
    """All documents, or those with these ids, as the table `d` of a query, and the query's values for it."""
    if ids is None:
        return "documents d", ()
    return "carray(?) c CROSS JOIN documents d ON d.id = CAST(c.value AS TEXT)", (ids,)


def ids_of(database: Database, table: str, numbers: Numbers) -> list[str]:
    """The ids of rows of a table, in the order of `numbers`; missing ones are left out."""
    return database.column(f"SELECT t.id FROM carray(?) c CROSS JOIN {table} t ON t.number = c.value", numbers)


def numbers_by_id(database: Database, table: str, ids: Collection[str]) -> dict[str, int]:
    """The numbers of the rows of a table with these ids; missing ones are left out."""
    sql = f"SELECT t.id, t.number FROM carray(?) c CROSS JOIN {table} t ON t.id = CAST(c.value AS TEXT)"
    return dict(database.rows(sql, ids))


def numbers_from(database: Database, documents: Numbers) -> Numbers:
    """The numbers, sorted, of the units of all kinds that have a source in one of these documents."""
    return numbers_of(
        database.column(
            "SELECT u.number FROM carray(?1) c CROSS JOIN units u ON u.document = c.value UNION "
            "SELECT f.unit FROM carray(?1) c CROSS JOIN further_sources f ON f.document = c.value ORDER BY 1",
            documents,
        )
    )


def next_number(database: Database, table: str) -> int:
    """The lowest number that no row of a table has ever had."""
    last = database.column("SELECT seq FROM sqlite_sequence WHERE name = ?", table)
    return last[0] + 1 if last else 1
