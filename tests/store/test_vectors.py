"""Above a number of vectors the store's index finds the nearest: nearly all of them, with exact cosines, and as they are now."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hoptrail.errors import UsageError
from hoptrail.models.encoder import EncoderIdentity, FloatMatrix
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.dense import nearest
from hoptrail.store import layout
from hoptrail.store.snapshot import Snapshot
from hoptrail.store.tables import StorageSettings
from hoptrail.store.writer import writing_to
from hoptrail.types import Kind, Link, Span, Unit, Usage

IDENTITY = EncoderIdentity("drawn", "0" * 64, 24)
MANY = 2500
SETTINGS = StorageSettings(exact_up_to=1000)


def drawn(count: int, seed: int) -> FloatMatrix:
    """Unit vectors around sixty centres."""
    chance = np.random.default_rng(seed)
    centres = np.random.default_rng(0).standard_normal((60, 24))
    points = centres[chance.integers(0, 60, count)] + 0.5 * chance.standard_normal((count, 24))
    unit: FloatMatrix = (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)
    return unit


def units(start: int, stop: int) -> list[Unit]:
    return [Unit(f"p{at:05}", Kind.PASSAGE, "", f"text {at}", (Span(f"d{at}", 0, 9),)) for at in range(start, stop)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("many")
    with writing_to(folder, IDENTITY, SETTINGS) as writer:
        writer.put_units(units(0, MANY), drawn(MANY, 1))
        writer.publish(Usage())
    return folder


def test_vectors_of_any_length_have_an_index(tmp_path: Path) -> None:
    chance = np.random.default_rng(0).standard_normal((MANY, 21)).astype(np.float32)
    unit = chance / np.linalg.norm(chance, axis=1, keepdims=True)
    with writing_to(tmp_path, EncoderIdentity("odd", "0" * 64, 21), SETTINGS) as writer:
        writer.put_units(units(0, MANY), unit)
        writer.publish(Usage())
    snapshot = Snapshot.open(tmp_path)
    assert snapshot.searches_vectors(Kind.PASSAGE)
    assert [found[0][0] for found in snapshot.nearest(Kind.PASSAGE, unit[:50], 1)] == [f"p{at:05}" for at in range(50)]


def test_few_vectors_are_compared_one_and_all(tmp_path: Path) -> None:
    with writing_to(tmp_path, IDENTITY, SETTINGS) as writer:
        writer.put_units(units(0, 1000), drawn(1000, 1))
        writer.publish(Usage())
    snapshot = Snapshot.open(tmp_path)
    asked = drawn(1, 2)
    assert not snapshot.searches_vectors(Kind.PASSAGE)
    scores = drawn(1000, 1) @ asked[0]
    (found,) = snapshot.nearest(Kind.PASSAGE, asked, 7)
    assert [id_ for id_, _ in found] == [f"p{row:05}" for row in np.argsort(-scores)[:7]]


def test_many_vectors_are_found_by_the_index_with_their_exact_cosines(folder: Path) -> None:
    snapshot = Snapshot.open(folder)
    assert snapshot.searches_vectors(Kind.PASSAGE)
    asked, stored = drawn(50, 2), drawn(MANY, 1)
    common = 0
    for vector, found in zip(asked, snapshot.nearest(Kind.PASSAGE, asked, 10), strict=True):
        scores = stored @ vector
        assert found == sorted(found, key=lambda pair: (-pair[1], pair[0]))
        assert [score for _, score in found] == pytest.approx([scores[int(id_[1:])] for id_, _ in found], abs=1e-6)
        common += len({int(id_[1:]) for id_, _ in found} & set(np.argsort(-scores)[:10].tolist()))
    assert common >= 0.97 * 500


def test_a_reader_that_searches_by_the_index_holds_no_vectors(folder: Path) -> None:
    snapshot = Snapshot.open(folder)

    def no_encoder() -> None:
        raise AssertionError

    corpus = Corpus(snapshot, no_encoder)  # type: ignore[arg-type]  # the vector is given
    ranking = nearest(corpus, drawn(MANY, 1)[7], 3, Kind.PASSAGE)
    assert ranking[0].unit == units(7, 8)[0]
    assert ranking[0].score == pytest.approx(1, abs=1e-6)
    assert not snapshot._mirrors


def test_the_nearest_of_some_are_exact_whatever_finds_the_nearest_of_all(folder: Path, tmp_path: Path) -> None:
    with writing_to(tmp_path, IDENTITY, StorageSettings(exact_up_to=MANY)) as writer:
        writer.put_units(units(0, MANY), drawn(MANY, 1))
        writer.publish(Usage())
    some = [f"p{at:05}" for at in range(0, MANY, 7)] + ["gone"]
    asked = drawn(3, 2)
    scores = drawn(MANY, 1)[::7] @ asked.T
    for snapshot in (Snapshot.open(folder), Snapshot.open(tmp_path)):
        for column, found in enumerate(snapshot.nearest(Kind.PASSAGE, asked, 9, among=some)):
            assert [some.index(id_) for id_, _ in found] == np.argsort(-scores[:, column])[:9].tolist()
        assert snapshot.nearest(Kind.PASSAGE, asked[:1], 9, among=[]) == [[]]


def test_keyword_scores_of_some_are_those_that_a_search_gives(folder: Path) -> None:
    snapshot = Snapshot.open(folder)
    searched = {unit.id: score for unit, score in snapshot.search_keywords("text 7 1234", MANY)}
    some = ["p00007", "p01234", "p00001", "gone"]
    assert snapshot.keyword_scores("text 7 1234", some) == pytest.approx({id_: searched[id_] for id_ in some[:3]})
    everyone = snapshot.keyword_scores("text 7 1234", [f"p{at:05}" for at in range(MANY)])
    assert everyone == pytest.approx(searched)
    assert snapshot.keyword_scores("unheard", some) == {}


def test_equal_vectors_come_by_rising_id(tmp_path: Path) -> None:
    same = np.repeat(drawn(1, 3), MANY, axis=0)
    same[100:] = drawn(MANY - 100, 4)
    with writing_to(tmp_path, IDENTITY, SETTINGS) as writer:
        writer.put_units(units(0, MANY), same)
        writer.publish(Usage())
    ids = [id_ for id_, _ in Snapshot.open(tmp_path).nearest(Kind.PASSAGE, same[:1], 100)[0]]
    assert ids == sorted(ids)


def test_publishing_keeps_the_index_current_and_drops_it_below_the_threshold(tmp_path: Path) -> None:
    with writing_to(tmp_path, IDENTITY, SETTINGS) as writer:
        writer.put_units(units(0, MANY), drawn(MANY, 1))
        writer.publish(Usage())
        added = -drawn(1, 1)
        writer.add_units(units(MANY, MANY + 1), added)
        writer.remove_units(Kind.PASSAGE, {"p00003"})
        writer.publish(Usage())
        snapshot = Snapshot.open(tmp_path)
        assert snapshot.nearest(Kind.PASSAGE, added, 1)[0][0][0] == f"p{MANY:05}"
        assert "p00003" not in dict(snapshot.nearest(Kind.PASSAGE, drawn(MANY, 1)[3:4], 50)[0])
        writer.remove_units(Kind.PASSAGE, {f"p{at:05}" for at in range(1000, MANY + 1)})
        writer.publish(Usage())
    assert not Snapshot.open(tmp_path).searches_vectors(Kind.PASSAGE)


def test_what_sweeping_does_to_the_index_is_no_change_for_the_next_writer(tmp_path: Path) -> None:
    with writing_to(tmp_path, IDENTITY, SETTINGS) as writer:
        writer.put_units(units(0, MANY), drawn(MANY, 1))
        writer.publish(Usage())
        assert not writer.changed
        head = writer.head
    with writing_to(tmp_path, IDENTITY, SETTINGS) as writer:
        assert not writer.changed
        assert writer.head == head
        assert writer.sweep()
    snapshot = Snapshot.open(tmp_path)
    assert snapshot.searches_vectors(Kind.PASSAGE)
    assert snapshot.nearest(Kind.PASSAGE, drawn(MANY, 1)[3:4], 1)[0][0][0] == "p00003"


def test_what_has_been_written_and_not_published_is_found_too(tmp_path: Path) -> None:
    with writing_to(tmp_path, IDENTITY, SETTINGS) as writer:
        writer.put_units(units(0, MANY), drawn(MANY, 1))
        writer.publish(Usage())
        writer.add_units(units(MANY, MANY + 1), -drawn(1, 1))
        assert writer.snapshot().nearest(Kind.PASSAGE, -drawn(1, 1), 1)[0][0][0] == f"p{MANY:05}"


@pytest.mark.parametrize("limit", [0, -1])
def test_no_hit_asked_for_is_no_hit(folder: Path, limit: int) -> None:
    assert Snapshot.open(folder).nearest(Kind.PASSAGE, drawn(1, 2), limit) == [[]]


def test_a_kind_that_is_not_there_has_no_nearest(folder: Path) -> None:
    assert Snapshot.open(folder).nearest(Kind.SUMMARY, drawn(2, 2), 5) == [[], []]


@pytest.mark.parametrize("wrong", [{"exact_up_to": 0}, {"memory_mb": 255}, {"index_cache_mb": 0}])
def test_settings_below_one_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="at least"):
        StorageSettings(**wrong)


def test_look_ups_by_index_find_what_reading_the_column_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    links = [Link(f"s{at}", f"p{at % 9}", "names" if at % 2 else "tells", 1.0) for at in range(400)]
    found = []
    for most, name in ((100, "indexed"), (1000, "scanned")):
        monkeypatch.setattr(layout, "SCANNED_UP_TO", most)
        with writing_to(tmp_path / name, IDENTITY) as writer:
            writer.put_links(links)
            writer.put_units(units(0, 400), drawn(400, 1))
            writer.publish(Usage())
            snapshot = Snapshot.open(tmp_path / name)
            tables = snapshot._tables
        assert bool(tables[layout.LINKS].list_indices()) == (name == "indexed")
        found.append(
            (
                sorted(snapshot.links_from({"s1", "s2", "s399"}, "names"), key=str),
                sorted(snapshot.links_to({"p3"}, "tells"), key=str),
                sorted(unit.id for unit in snapshot.units(Kind.PASSAGE, {"p00001", "p00399", "p"})),
            )
        )
    assert found[0] == found[1]
    assert found[0][0] == [links[1], links[399]]


def test_the_store_writes_nothing_of_its_own_to_the_terminal(tmp_path: Path) -> None:
    """What it warns of here is that a query does not name a column: as good as any other warning."""
    program = """
import sys
from pathlib import Path
import numpy as np
import pyarrow as pa
from hoptrail.store.tables import connect
vectors = pa.FixedSizeListArray.from_arrays(pa.array(np.ones(8, dtype=np.float32)), 4)
table = connect(Path(sys.argv[1])).create_table("t", pa.table({"id": ["a", "b"], "vector": vectors}))
assert len(table.search([1.0, 1, 1, 1], "vector", query_type="vector").limit(1).select(["id"]).to_arrow()) == 1
"""
    environment = {name: value for name, value in os.environ.items() if name != "LANCEDB_LOG"}
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stderr == ""
