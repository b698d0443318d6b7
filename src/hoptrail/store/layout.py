"""How records become rows: the tables of an index folder, their columns, and the way back.

    documents        one row a document
    unit-KIND        one row a unit of that kind, with its vector (one table a kind: each may have its own vector length, and
                     building one never touches another; the only one with a keyword index is that of passages)
    links            one row a link
    extractions      one row a passage: the entities and facts found in it, and the triples of its facts (null for a fact
                     without; null as a whole in rows written before there were triples)
    terms            one row a name or word, in large corpora
    head             one row: which versions of the others are valid (`head.py`)

Knows Arrow; knows nothing of versions, locks or files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from hoptrail.documents.blocks import pack, unpack
from hoptrail.language.tasks import Extraction, Fact, Triple
from hoptrail.models.encoder import FloatMatrix
from hoptrail.store.columns import ID, SPAN, Directed, Origins, PackedIds, id_rows
from hoptrail.store.vectors import vector_index
from hoptrail.types import Document, Kind, Link, Span, Unit

if TYPE_CHECKING:
    import pyarrow as pa
    from lancedb.index import FTS, Bitmap, BTree, IvfFlat, IvfRq
    from lancedb.table import Table

    Index = FTS | IvfRq | IvfFlat | BTree | Bitmap

DOCUMENTS = "documents"
LINKS = "links"
EXTRACTIONS = "extractions"
TERMS = "terms"
HEAD = "head"
UNITS = "unit-"

STOP_WORDS = tuple(
    (  # noqa: SIM905 - a list of eighty quoted words reads worse
        "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to "
        "was will with who whom whose what which when where why how do does did were been being has have had i you he she we us "
        "our his her him its from s"
    ).split()
)
"""Lucene's English list, question words and auxiliaries, and pronouns: words of questions that tell passages apart from
nothing. (The store's own list mixes languages: it would drop "son" and "die".)"""


@dataclass(frozen=True, slots=True)
class Term:
    """A name or a word by `id` (`structures/terms.py`), and how many passages have it.

    `owners` are ids of the passages that the name calls, `namers` of those that have it, where they are few.
    """

    id: str
    passages: int
    owners: tuple[str, ...] = ()
    namers: tuple[str, ...] = ()


def unit_table(kind: Kind) -> str:
    return f"{UNITS}{kind.value}"


def document_schema() -> pa.Schema:
    import pyarrow as pa

    return pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("title", pa.string(), nullable=False),
            pa.field("text", pa.large_string(), nullable=False),
            pa.field("sentence_ends", pa.list_(pa.int64()), nullable=False),
            pa.field("sources", pa.list_(pa.string()), nullable=False),
            pa.field("notes", pa.list_(pa.string()), nullable=False),
            pa.field("blocks", pa.large_string(), nullable=False),
            pa.field("date", pa.string(), nullable=False),
            pa.field("date_from", pa.string(), nullable=False),
        ]
    )


def unit_schema(dimension: int) -> pa.Schema:
    """`searchable` is what search sees. Where a unit has no `blocks`, that is the title's line and the text; else `text` is."""
    import pyarrow as pa

    source = pa.struct([("document", pa.string()), ("start", pa.int64()), ("end", pa.int64())])
    return pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("title", pa.string(), nullable=False),
            pa.field("searchable", pa.string(), nullable=False),
            pa.field("text", pa.string(), nullable=False),
            pa.field("blocks", pa.string(), nullable=False),
            pa.field("sentence_ends", pa.list_(pa.int32()), nullable=False),
            pa.field("sources", pa.list_(source), nullable=False),
            pa.field("vector", pa.list_(pa.float32(), dimension), nullable=False),
        ]
    )


def link_schema() -> pa.Schema:
    import pyarrow as pa

    return pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("source", pa.string(), nullable=False),
            pa.field("target", pa.string(), nullable=False),
            pa.field("kind", pa.string(), nullable=False),
            pa.field("weight", pa.float64(), nullable=False),
        ]
    )


def extraction_schema() -> pa.Schema:
    import pyarrow as pa

    fact = pa.struct(
        [
            ("text", pa.string()),
            ("entities", pa.list_(pa.string())),
            ("document", pa.string()),
            ("start", pa.int64()),
            ("end", pa.int64()),
        ]
    )
    triple = pa.struct([("subject", pa.string()), ("relation", pa.string()), ("object", pa.string())])
    return pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("entities", pa.list_(pa.string()), nullable=False),
            pa.field("facts", pa.list_(fact), nullable=False),
            pa.field("triples", pa.list_(triple)),
        ]
    )


def term_schema() -> pa.Schema:
    import pyarrow as pa

    return pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("passages", pa.int64(), nullable=False),
            pa.field("owners", pa.list_(pa.string()), nullable=False),
            pa.field("namers", pa.list_(pa.string()), nullable=False),
        ]
    )


def keyword_index() -> FTS:
    """How the keyword index cuts text into words.

    Words by Unicode segmentation (which also cuts scripts without spaces) and at punctuation, lower-cased, accents folded to
    ASCII, STOP_WORDS left out, at most 40 characters; no stemming, which gained nothing on the development questions and
    knows English only. BM25 with k1 = 1.2 and b = 0.75 is the store's.
    """
    from lancedb.index import FTS

    return FTS(
        base_tokenizer="icu/split",
        language="English",
        lower_case=True,
        ascii_folding=True,
        remove_stop_words=True,
        custom_stop_words=list(STOP_WORDS),
        stem=False,
        max_token_length=40,
        with_position=False,
    )


SCANNED_UP_TO = 50_000
"""Up to so many rows a look-up reads the column, which takes milliseconds; above it, columns that are looked up have an index."""


def indexes_of(table: str, rows: int, exact_up_to: int, dimension: int) -> dict[str, Index]:
    """The indexes of a table of so many rows, by column; vectors, of that dimension, have one above `exact_up_to`."""
    from lancedb.index import Bitmap, BTree

    indexes: dict[str, Index] = {}
    if table == unit_table(Kind.PASSAGE):
        indexes["searchable"] = keyword_index()
    if table in {DOCUMENTS, unit_table(Kind.PASSAGE), unit_table(Kind.PROFILE)} and rows > SCANNED_UP_TO:
        indexes["title"] = BTree()
    if table.startswith(UNITS) and rows > exact_up_to:
        indexes["vector"] = vector_index(rows, dimension)
    if rows > SCANNED_UP_TO:
        indexes |= {"source": BTree(), "target": BTree(), "kind": Bitmap()} if table == LINKS else {"id": BTree()}
    return indexes


def documents_to_rows(documents: Sequence[Document]) -> pa.Table:
    import pyarrow as pa

    return pa.table(
        {
            "id": [document.id for document in documents],
            "title": [document.title for document in documents],
            "text": [document.text for document in documents],
            "sentence_ends": [list(document.sentence_ends) for document in documents],
            "sources": [list(document.sources) for document in documents],
            "notes": [list(document.notes) for document in documents],
            "blocks": [pack(document.blocks) for document in documents],
            "date": [document.date for document in documents],
            "date_from": [document.date_from for document in documents],
        },
        schema=document_schema(),
    )


def documents_from_rows(rows: pa.Table | pa.RecordBatch) -> Iterator[Document]:
    import pyarrow.compute as pc

    for part in _parted(rows, pc.binary_length(rows.column("text")), TEXT_AT_ONCE):
        for row in part.to_pylist():
            yield Document(
                row["id"],
                row["title"],
                row["text"],
                tuple(row["sentence_ends"]),
                tuple(row["sources"]),
                tuple(row["notes"]),
                unpack(row["blocks"]),
                row["date"],
                row["date_from"],
            )


def units_to_rows(units: Sequence[Unit], vectors: FloatMatrix) -> pa.Table:
    """`vectors` has one row a unit: shape (len(units), dimension)."""
    import pyarrow as pa

    dimension = vectors.shape[1]
    values = pa.array(np.ascontiguousarray(vectors, dtype=np.float32).reshape(-1))
    return pa.table(
        {
            "id": [unit.id for unit in units],
            "title": [unit.title for unit in units],
            "searchable": [unit.searchable for unit in units],
            "text": [unit.text if unit.blocks else "" for unit in units],
            "blocks": [pack(unit.blocks) for unit in units],
            "sentence_ends": [list(unit.sentence_ends) for unit in units],
            "sources": [
                [{"document": span.document, "start": span.start, "end": span.end} for span in unit.sources]
                for unit in units
            ],
            "vector": pa.FixedSizeListArray.from_arrays(values, dimension),
        },
        schema=unit_schema(dimension),
    )


TEXT_COLUMNS = ["title", "searchable", "text", "blocks"]
UNIT_COLUMNS = ["id", *TEXT_COLUMNS, "sentence_ends", "sources"]


SOURCES_AT_ONCE = 1 << 16
"""Sources that become records or are written at a time: those of a single summary high up in the tree of a million passages."""

SUMMARIES_AT_ONCE = 64
"""Summaries that are read at a time where their sources are, at the most: 254,314 of them with 44 million sources took 1,140 MB
of memory to read and 1,606 to write by the thousands, and 560 and 734 so.
"""

SUMMARIES_AMONG = 1 << 25
"""Summaries of a table among which one is read at a time: one high up has a seventh as many sources as the table has rows (67,936
among 490,097).
"""

TEXT_AT_ONCE = 1 << 20
"""Bytes of text that become documents at a time, or one document."""

DOCUMENTS_AT_ONCE = 2 << 20
"""Bytes of documents, as they are stored, that are read or written at a time where their texts are; of text some three times as
many.
"""

LEAST_DOCUMENTS = 2
"""Documents that are read or written at a time at least: one by one the store reads ahead of whoever takes them. Reading 16 of
20 MB took 943 MB of memory so, and 425 two by two.
"""


def rows_at_once(table: Table, rows: int, columns: Collection[str] | None = None) -> int:
    """How many rows of a table to have in memory where `rows` of most tables are few; `columns`: all, or those that are read."""
    if table.name == unit_table(Kind.SUMMARY) and (columns is None or "sources" in columns):
        return min(rows, SUMMARIES_AT_ONCE, max(1, SUMMARIES_AMONG // max(1, int(table.count_rows()))))
    if table.name == DOCUMENTS and (columns is None or "text" in columns):
        stored = cast("Mapping[str, int]", table.stats())  # a plain mapping, which its own types do not tell
        fitting = DOCUMENTS_AT_ONCE * stored["num_rows"] // max(1, stored["total_bytes"])
        return min(rows, max(LEAST_DOCUMENTS, fitting))
    return rows


def small_parts(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows, as many at a time as have few sources, to be written: the store makes a page of what it is given, and has to
    hold a page to read from it.
    """
    for batch in batches:
        yield from _by_sources(batch) if "sources" in batch.schema.names else [batch]


def units_from_rows(rows: pa.Table | pa.RecordBatch, kind: Kind) -> Iterator[Unit]:
    for part in _by_sources(rows.select(UNIT_COLUMNS)):
        for row in part.to_pylist():
            text = _text_of(*(row[column] for column in TEXT_COLUMNS))
            spans = tuple(Span(span["document"], span["start"], span["end"]) for span in row["sources"])
            ends = tuple(row["sentence_ends"])
            yield Unit(row["id"], kind, row["title"], text, spans, unpack(row["blocks"]), ends)


def _by_sources(rows: pa.Table | pa.RecordBatch) -> Iterator[pa.Table | pa.RecordBatch]:
    import pyarrow.compute as pc

    return _parted(rows, pc.list_value_length(rows.column("sources")), SOURCES_AT_ONCE)


def _parted(
    rows: pa.Table | pa.RecordBatch, sizes: pa.Array | pa.ChunkedArray, most: int
) -> Iterator[pa.Table | pa.RecordBatch]:
    """Parts whose sizes come to about `most` each."""
    parts = np.cumsum(np.asarray(sizes), dtype=np.int64) // most
    for first, last in pairwise([0, *(np.flatnonzero(np.diff(parts)) + 1).tolist(), rows.num_rows]):
        yield rows.slice(first, last - first)


def origins_from_rows(rows: pa.RecordBatch) -> Origins:
    """Raises: ValueError: an id is too long for a row."""
    import pyarrow.compute as pc

    sources = rows.column("sources")
    places = pc.list_flatten(sources)
    spans = np.empty(len(places), SPAN)
    spans["document"] = ids_from_column(pc.struct_field(places, "document"))
    for end in ("start", "end"):
        spans[end] = pc.struct_field(places, end).to_numpy()
    counts = pc.list_value_length(sources).to_numpy().astype(np.int64)
    words = np.array([len(text.split()) for text in texts_from_rows(rows)], np.uint32)
    return Origins(ids_from_column(rows.column("id")), words, counts, spans)


def ids_from_column(ids: pa.Array | pa.ChunkedArray) -> NDArray[np.bytes_]:
    """What `id_rows` gives, in a tenth of its time: 10 ns an id. Not to be written to.

    Raises:
        ValueError: an id is too long for a row.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    longest = pc.max(pc.binary_length(ids)).as_py()
    if not longest or longest > ID.itemsize or ids.null_count or not pc.all(pc.string_is_ascii(ids)).as_py():
        return id_rows(ids.to_pylist())  # which says what is wrong
    whole = ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids
    fixed = pc.ascii_rpad(whole, ID.itemsize, "\0").cast(pa.binary(ID.itemsize))
    return np.frombuffer(fixed.buffers()[1], ID)[fixed.offset : fixed.offset + len(fixed)]


def texts_from_rows(rows: pa.RecordBatch) -> list[str]:
    columns = (rows.column(column).to_pylist() for column in TEXT_COLUMNS)
    return [_text_of(*row) for row in zip(*columns, strict=True)]


def vectors_from_rows(rows: pa.RecordBatch) -> FloatMatrix:
    """Shape (rows, dimension); there is at least one row."""
    matrix: FloatMatrix = rows.column("vector").flatten().to_numpy(zero_copy_only=False).reshape(rows.num_rows, -1)
    return matrix


def _text_of(title: str, searchable: str, text: str, blocks: str) -> str:
    """The text, which without blocks is what stands under the title's line."""
    if blocks:
        return text
    return searchable[len(title) + 1 :] if title else searchable


def links_to_rows(links: Iterable[Link]) -> pa.Table:
    import pyarrow as pa

    links = list(links)
    return pa.table(
        {
            "id": [f"{link.source} {link.kind} {link.target}" for link in links],
            "source": [link.source for link in links],
            "target": [link.target for link in links],
            "kind": [link.kind for link in links],
            "weight": [link.weight for link in links],
        },
        schema=link_schema(),
    )


def link_rows_to_rows(kind: str, ids: PackedIds, links: Directed) -> pa.Table:
    """As `links_to_rows`, column by column, without a record a link."""
    import pyarrow as pa
    import pyarrow.compute as pc

    source, target = (pa.array(ids[rows], pa.string()) for rows in (links.sources, links.targets))
    columns = {
        "id": pc.binary_join_element_wise(source, kind, target, " "),
        "source": source,
        "target": target,
        "kind": pa.array([kind], pa.string()).take(pa.array(np.zeros(len(source), dtype=np.int64))),
        "weight": pa.array(links.weights, pa.float64()),
    }
    return pa.table(columns, schema=link_schema())


def links_from_rows(rows: pa.Table | pa.RecordBatch) -> Iterator[Link]:
    for row in rows.to_pylist():
        yield Link(row["source"], row["target"], row["kind"], row["weight"])


def extractions_to_rows(extractions: Mapping[str, Extraction]) -> pa.Table:
    """By the id of the unit they were found in."""
    import pyarrow as pa

    return pa.table(
        {
            "id": list(extractions),
            "entities": [list(found.entities) for found in extractions.values()],
            "facts": [[_fact_row(fact) for fact in found.facts] for found in extractions.values()],
            "triples": [
                [fact.triple and asdict(fact.triple) for fact in found.facts] for found in extractions.values()
            ],
        },
        schema=extraction_schema(),
    )


def _fact_row(fact: Fact) -> dict[str, object]:
    place = fact.source
    entities = list(fact.entities)
    return {
        "text": fact.text,
        "entities": entities,
        "document": place.document,
        "start": place.start,
        "end": place.end,
    }


def extractions_from_rows(rows: pa.Table | pa.RecordBatch) -> Iterator[tuple[str, Extraction]]:
    for row in rows.to_pylist():
        triples = row.get("triples") or [None] * len(row["facts"])
        facts = tuple(
            Fact(
                fact["text"],
                tuple(fact["entities"]),
                Span(fact["document"], fact["start"], fact["end"]),
                Triple(**triple) if triple else None,
            )
            for fact, triple in zip(row["facts"], triples, strict=True)
        )
        yield row["id"], Extraction(tuple(row["entities"]), facts)


def terms_to_rows(terms: Iterable[Term]) -> pa.Table:
    import pyarrow as pa

    return pa.Table.from_pylist([asdict(term) for term in terms], schema=term_schema())


def terms_from_rows(rows: pa.Table | pa.RecordBatch) -> Iterator[Term]:
    for row in rows.to_pylist():
        yield Term(row["id"], row["passages"], tuple(row["owners"]), tuple(row["namers"]))
