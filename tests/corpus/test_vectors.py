"""The nearest of all and of some, with exact cosines, as the vectors are now."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import Writer, writing_to
from hoptrail.models.encoder import EncoderIdentity, FloatMatrix
from hoptrail.types import Kind, Span, Unit, Usage
from world import make_document

IDENTITY = EncoderIdentity("drawn", "0" * 64, 24)
MANY = 2500
DOCUMENT = make_document("All", "Some text.")


def drawn(count: int, seed: int) -> FloatMatrix:
    """Unit vectors around sixty centres."""
    chance = np.random.default_rng(seed)
    centres = np.random.default_rng(0).standard_normal((60, 24))
    points = centres[chance.integers(0, 60, count)] + 0.5 * chance.standard_normal((count, 24))
    unit: FloatMatrix = (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)
    return unit


def units(start: int, stop: int) -> list[Unit]:
    return [Unit(f"p{at:05}", Kind.PASSAGE, "", f"text {at}", (Span(DOCUMENT.id, 0, 9),)) for at in range(start, stop)]


def put(writer: Writer, start: int, stop: int, vectors: FloatMatrix) -> None:
    writer.put_documents([DOCUMENT])
    writer.put_units(units(start, stop), vectors)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("many")
    with writing_to(folder, IDENTITY) as writer:
        put(writer, 0, MANY, drawn(MANY, 1))
        writer.publish(Usage())
    return folder


def test_the_nearest_are_those_of_the_highest_cosines(folder: Path) -> None:
    snapshot = Snapshot.open(folder)
    asked, stored = drawn(50, 2), drawn(MANY, 1)
    for vector, found in zip(asked, snapshot.search.nearest(Kind.PASSAGE, asked, 10), strict=True):
        scores = stored @ vector
        assert found == sorted(found, key=lambda pair: (-pair[1], pair[0]))
        assert [id_ for id_, _ in found] == [f"p{row:05}" for row in np.argsort(-scores)[:10]]
        assert [score for _, score in found] == pytest.approx([scores[int(id_[1:])] for id_, _ in found], abs=1e-6)


def test_equal_vectors_come_by_rising_id(tmp_path: Path) -> None:
    same = np.repeat(drawn(1, 3), MANY, axis=0)
    same[100:] = drawn(MANY - 100, 4)
    with writing_to(tmp_path, IDENTITY) as writer:
        put(writer, 0, MANY, same)
        writer.publish(Usage())
    ids = [id_ for id_, _ in Snapshot.open(tmp_path).search.nearest(Kind.PASSAGE, same[:1], 100)[0]]
    assert ids == sorted(ids)


def test_what_has_been_written_and_not_published_is_found_too(tmp_path: Path) -> None:
    with writing_to(tmp_path, IDENTITY) as writer:
        put(writer, 0, MANY, drawn(MANY, 1))
        writer.publish(Usage())
        put(writer, MANY, MANY + 1, -drawn(1, 1))
        assert writer.snapshot().search.nearest(Kind.PASSAGE, -drawn(1, 1), 1)[0][0][0] == f"p{MANY:05}"


@pytest.mark.parametrize("limit", [0, -1])
def test_no_hit_asked_for_is_no_hit(folder: Path, limit: int) -> None:
    assert Snapshot.open(folder).search.nearest(Kind.PASSAGE, drawn(1, 2), limit) == [[]]
