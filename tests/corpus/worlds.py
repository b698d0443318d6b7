"""Small corpora for the data plane, and what is asked of it the slow and plain way."""

from __future__ import annotations

import math
import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import apsw
import numpy as np

from hoptrail.corpus import segments
from hoptrail.corpus.keywords import keyword_words
from hoptrail.corpus.locations import DATABASE
from hoptrail.corpus.writer import Writer, writing_to
from hoptrail.models.encoder import FloatMatrix
from hoptrail.types import Document, Kind, Unit, content_id
from world import make_document, make_passage

VOCABULARY = [f"w{number}" for number in range(60)]


def made(count: int, seed: int = 0, words: int = 12) -> list[Document]:
    """Documents of words drawn by lot, some of them often."""
    draw = Random(seed)
    texts = [" ".join(draw.choices(VOCABULARY, range(60, 0, -1), k=draw.randint(3, words))) for _ in range(count)]
    return [make_document(f"Title {seed} {row}", f"{text}.") for row, text in enumerate(texts)]


def vectors_of(units: Sequence[Unit], dimension: int = 8) -> FloatMatrix:
    """Unit vectors that depend on the ids alone."""
    matrix = np.array([[ord(letter) % 17 + 1 for letter in unit.id[1 : dimension + 1]] for unit in units], np.float32)
    scaled: FloatMatrix = matrix.reshape(-1, dimension) / np.linalg.norm(matrix.reshape(-1, dimension), axis=1)[:, None]
    return scaled


def sentence_of(document: Document) -> Unit:
    """The first sentence of a document."""
    span = next(document.sentences())
    return Unit(content_id("s", document.id), Kind.SENTENCE, document.title, document.slice(span), (span,))


def add(writer: Writer, documents: Sequence[Document]) -> list[int]:
    """Documents with a passage each; the numbers of these."""
    passages = [make_passage(document) for document in documents]
    writer.put_documents(documents)
    return [int(number) for number in writer.put_units(passages, vectors_of(passages))]


def indexed(folder: Path, documents: Sequence[Document]) -> Path:
    """An index of one commit."""
    with writing_to(folder) as writer:
        add(writer, documents)
        writer.commit()
    return folder


@cache
def _ready_made() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="hoptrail-ready-made-")


def indexed_once(folder: Path, documents: Sequence[Document]) -> Path:
    """As `indexed`; of the same documents, the index is a copy of the one that was built first."""
    known = content_id("i", str(segments.SMALL), *(document.id for document in documents))
    ready_made = Path(_ready_made().name, known)
    if not ready_made.exists():
        indexed(ready_made, documents)
    shutil.copytree(ready_made, folder, ignore=shutil.ignore_patterns("*.lock"))
    return folder


def ranked(documents: Iterable[Document], question: str, limit: int) -> list[tuple[str, float]]:
    """BM25 over the passages of documents, as the formula says it."""
    passages = [make_passage(document) for document in documents]
    counts = {unit.id: Counter(keyword_words(unit.searchable)) for unit in passages}
    mean = sum(found.total() for found in counts.values()) / max(1, len(counts))
    scores = dict.fromkeys(counts, 0.0)
    for word in keyword_words(question):
        having = sum(word in found for found in counts.values())
        rarity = math.log(1 + (len(counts) - having + 0.5) / (having + 0.5))
        for id_, found in counts.items():
            damping = 1.2 * (1 - 0.75 + 0.75 * found.total() / mean)
            scores[id_] += rarity * found[word] * 2.2 / (found[word] + damping)
    best = sorted(
        ((id_, score) for id_, score in scores.items() if score), key=lambda pair: (-round(pair[1], 9), pair[0])
    )
    return best[:limit]


def files_with(folder: Path, text: str) -> list[str]:
    """The files of a folder that hold a text."""
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes())


def rows_of(folder: Path) -> object:
    """All rows of all tables, and the description of these."""
    with closing(apsw.Connection(str(folder / DATABASE), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        schema = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema").fetchall()
        tables = [name for type_, name, *_ in schema if type_ == "table"]
        return schema, [connection.execute(f"SELECT * FROM {table}").fetchall() for table in tables]
