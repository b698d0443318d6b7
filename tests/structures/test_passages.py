"""Passages bring themselves up to date: only what is missing, in steps that are kept, anew when their limits change."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import Writer, writing_to
from hoptrail.documents.splitting import PassageLimits
from hoptrail.errors import Interrupted
from hoptrail.models.encoder import FloatMatrix, Progress
from hoptrail.structures import declaration, encoding
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.catalogue import structures_by_name
from hoptrail.structures.passages import Passages
from hoptrail.structures.progress_tracker import ignore
from hoptrail.types import Document, Kind, Usage
from world import HashingEncoder, make_document


@dataclass(frozen=True)
class Counting(HashingEncoder):
    """Keeps every text that it was given, batch by batch."""

    batches: list[list[str]] = field(default_factory=list)

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> FloatMatrix:
        self.batches.append(list(texts))
        return super().encode(texts, progress)

    @property
    def texts(self) -> list[str]:
        return [text for batch in self.batches for text in batch]


def many(count: int) -> list[Document]:
    return [make_document(f"Island {number}", f"Island {number} has a lighthouse.") for number in range(count)]


def update(
    folder: Path, encoder: Counting, documents: Sequence[Document] = (), limits: PassageLimits | None = None
) -> None:
    with writing_to(folder, encoder.identity) as writer:
        writer.put_documents(documents)
        structure = Passages(limits or PassageLimits())
        structure.update(BuildContext(writer, encoder, ignore, writer.checkpoint))
        writer.publish(Usage())


def test_a_passage_is_its_span_of_the_document_and_its_vector_that_of_title_and_text(
    tmp_path: Path, documents: list[Document]
) -> None:
    encoder = Counting()
    update(tmp_path, encoder, documents, PassageLimits(words=6, short_document_words=0))
    snapshot = Snapshot.open(tmp_path)
    texts = {document.id: document for document in documents}
    units = {unit.id: unit for unit in snapshot.units(Kind.PASSAGE)}
    assert len(units) > len(documents)
    for unit in units.values():
        (span,) = unit.sources
        assert unit.text == texts[span.document].slice(span)
        assert unit.title == texts[span.document].title
    mirror = snapshot.search.vectors(Kind.PASSAGE)
    expected = HashingEncoder().encode([units[name].searchable for name in mirror.ids])
    assert np.array_equal(mirror.matrix, expected)


def test_no_more_units_are_held_than_memory_is_meant_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = Counting()
    monkeypatch.setattr(encoding, "TEXT", encoding.HELD // 3 - 4 * encoder.identity.dimension)
    with writing_to(tmp_path, encoder.identity) as writer:
        writer.put_documents(many(10))
        Passages(PassageLimits()).update(BuildContext(writer, encoder, ignore, writer.checkpoint))
        assert writer.snapshot().count(Kind.PASSAGE) == 10
    assert [len(batch) for batch in encoder.batches] == [3, 3, 3, 1]


def test_only_documents_without_passages_are_encoded(tmp_path: Path) -> None:
    documents = many(6)
    encoder = Counting()
    update(tmp_path, encoder, documents[:4])
    update(tmp_path, encoder, documents)
    update(tmp_path, encoder)
    assert sorted(encoder.texts) == sorted(f"{document.title}\n{document.text}" for document in documents)


def test_a_document_without_text_has_no_passages_and_stops_nobody(tmp_path: Path) -> None:
    encoder = Counting()
    for _ in range(2):
        update(tmp_path, encoder, [make_document("Nothing", ""), *many(1)])
    assert Snapshot.open(tmp_path).count(Kind.PASSAGE) == 1
    assert len(encoder.texts) == 1


def test_a_stopped_build_goes_on_after_its_last_whole_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(declaration, "BATCH", 4)
    encoder = Counting()
    documents = many(10)

    def stop_before_the_third_batch(writer: Writer) -> None:
        writer.checkpoint()
        if len(encoder.batches) == 2:
            raise Interrupted("enough")

    with writing_to(tmp_path, encoder.identity) as writer:
        writer.put_documents(documents)
        with suppress(Interrupted):
            Passages(PassageLimits()).update(
                BuildContext(writer, encoder, ignore, lambda: stop_before_the_third_batch(writer))
            )
    assert len(encoder.texts) == 8
    update(tmp_path, encoder)
    assert len(encoder.texts) == len(set(encoder.texts)) == 10
    assert Snapshot.open(tmp_path).count(Kind.PASSAGE) == 10


def test_progress_rises_to_the_total(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(declaration, "BATCH", 4)
    told: list[tuple[str, int, int]] = []
    with writing_to(tmp_path, HashingEncoder().identity) as writer:
        writer.put_documents(many(10))
        context = BuildContext(writer, HashingEncoder(), lambda *said: told.append(said), writer.checkpoint)
        Passages(PassageLimits()).update(context)
    assert told == [("encoding", 0, 10), ("encoding", 4, 10), ("encoding", 8, 10), ("encoding", 10, 10)]


def test_the_fingerprint_is_that_of_the_limits() -> None:
    assert Passages(PassageLimits()).fingerprint == Passages(PassageLimits()).fingerprint
    others = {Passages(PassageLimits(words=words)).fingerprint for words in (50, 100, 200)}
    assert len(others | {Passages(PassageLimits(short_document_words=1)).fingerprint}) == 4


def test_the_catalogue_names_each_structure_as_it_names_itself() -> None:
    structures = structures_by_name(PassageLimits(words=7))
    assert structures
    assert all(name == structure.name for name, structure in structures.items())
    assert structures["passages"].fingerprint == Passages(PassageLimits(words=7)).fingerprint
