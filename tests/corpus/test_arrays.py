"""Vectors, links and names lie in segments that are marked and merged; what is found is the same as if they were not."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from random import Random

import numpy as np
import pytest

from corpus.worlds import VOCABULARY, add, indexed, made, vectors_of
from hoptrail.corpus import segments as segments_module
from hoptrail.corpus.arrays import ARRAYS
from hoptrail.corpus.columns import Directed, numbers_of
from hoptrail.corpus.names import NameList
from hoptrail.corpus.repairing import damage
from hoptrail.corpus.segments import Family
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import writing_to
from hoptrail.errors import IndexDamaged
from hoptrail.types import Kind, Link
from world import make_passage


@pytest.fixture(params=["rows", "files"])
def small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays as rows of the database, or all as files."""
    if request.param == "files":
        monkeypatch.setattr(segments_module, "SMALL", 0)


def edges(*links: tuple[int, int, float]) -> Directed:
    sources, targets, weights = zip(*links, strict=True)
    return Directed(numbers_of(sources), numbers_of(targets), np.array(weights))


def told(found: Directed) -> list[tuple[int, int, float]]:
    return list(zip(found.sources.tolist(), found.targets.tolist(), found.weights.tolist(), strict=True))


@pytest.mark.usefixtures("small")
def test_the_nearest_are_those_of_one_product(tmp_path: Path) -> None:
    documents = made(40)
    with writing_to(tmp_path) as writer:
        for start in range(0, 40, 10):
            add(writer, documents[start : start + 10])
            writer.commit()
        writer.remove_documents([document.id for document in documents[5:9]])
        writer.commit()
    passages = [make_passage(document) for document in (*documents[:5], *documents[9:])]
    matrix = vectors_of(passages)
    with Snapshot.open(tmp_path) as snapshot:
        ids = [unit.id for unit in passages]
        assert np.array_equal(snapshot.search.vectors_in_order([Kind.PASSAGE], ids), matrix)
        found = snapshot.search.nearest(Kind.PASSAGE, matrix[:3], 6)
        few = snapshot.search.nearest(Kind.PASSAGE, matrix[:1], 6, among=ids[10:14])[0]
        for vector, ranked in zip(matrix, found, strict=False):
            best = sorted(zip(-(matrix @ vector), ids, strict=True))[:6]
            assert np.allclose([score for _, score in ranked], [-score for score, _ in best], atol=1e-6)
        assert {id_ for id_, _ in few} == set(ids[10:14])
        with pytest.raises(KeyError, match="1 of 1"):
            snapshot.search.vectors_in_order([Kind.PASSAGE], [make_passage(documents[6]).id])
        assert snapshot.search.nearest(Kind.SENTENCE, matrix[:1], 3) == [[]]
        assert len(snapshot.search.vectors_in_order([Kind.SENTENCE], [])) == 0


@pytest.mark.usefixtures("small")
def test_links_are_those_of_a_table(tmp_path: Path) -> None:
    draw = Random(2)
    table: dict[tuple[int, int], float] = {}
    with writing_to(tmp_path) as writer:
        add(writer, made(30))
        standing = set(range(1, 31))
        for turn in range(20):
            new = {(draw.randint(1, 30), draw.randint(1, 30)): draw.random() for _ in range(draw.choice([1, 5, 20]))}
            new = {ends: weight for ends, weight in new.items() if standing.issuperset(ends)}
            if new:
                writer.links.put_edges("EC", edges(*((*ends, weight) for ends, weight in new.items())))
            table |= new
            if turn % 5 == 4:
                gone = draw.sample(sorted(standing), 2)
                writer.remove_rows(numbers_of(gone))
                standing -= set(gone)
                writer.links.remove("EC", writer.snapshot().numbered.ids(numbers_of([3])))
                table = {ends: w for ends, w in table.items() if standing.issuperset(ends) and ends[0] != 3}
            writer.commit()
    links = sorted((*ends, weight) for ends, weight in table.items())
    with Snapshot.open(tmp_path) as snapshot:
        found = snapshot.graph
        numbers = {id_: number for number, id_ in snapshot.numbered.ids_by_number(numbers_of(range(1, 31))).items()}
        few = {id_ for id_, number in numbers.items() if 5 <= number < 15}

        def numbered(links: Iterable[Link]) -> list[tuple[int, int, float]]:
            return [(numbers[link.source], numbers[link.target], link.weight) for link in links]

        assert told(found.edges("EC")) == links
        assert numbered(found.leaving(few, "EC")) == [link for link in links if 5 <= link[0] < 15]
        assert numbered(found.entering(few, "EC")) == [link for link in links if 5 <= link[1] < 15]
        assert found.count() == {"EC": len(links)}
        assert not told(found.edges("none"))
        assert not list(found.leaving(["none"], "EC"))
    with writing_to(tmp_path) as writer:
        writer.links.drop("EC")
        assert writer.snapshot().graph.count() == {}


def test_links_stay_where_a_unit_of_the_same_id_comes_again_before_the_commit(tmp_path: Path) -> None:
    documents = made(3)
    with writing_to(tmp_path) as writer:
        first, second, third = add(writer, documents)
        writer.links.put_edges("EC", edges((first, second, 1.0), (second, third, 0.5)))
        writer.commit()
        writer.remove_rows(numbers_of([second]), keep_links=True)
        assert add(writer, documents[1:2]) == [second]
        writer.remove_documents([documents[2].id])
        writer.commit()
        assert told(writer.snapshot().graph.edges("EC")) == [(first, second, 1.0)]


@pytest.mark.usefixtures("small")
def test_names_are_those_of_a_table(tmp_path: Path) -> None:
    draw = Random(3)
    table: set[tuple[str, int]] = set()
    with writing_to(tmp_path) as writer:
        add(writer, made(30))
        standing = set(range(1, 31))
        for turn in range(12):
            new = {(draw.choice(VOCABULARY) + "é", draw.choice(sorted(standing))) for _ in range(4)}
            writer.names.put("title", NameList.of((key.encode(), number) for key, number in sorted(new)))
            table |= new
            if turn % 4 == 3:
                gone = draw.sample(sorted(standing), 6)
                writer.remove_rows(numbers_of(gone))
                standing -= set(gone)
                table = {pair for pair in table if pair[1] in standing}
            writer.commit()
    with Snapshot.open(tmp_path) as snapshot:
        names = snapshot.names.of("title")
        keys = sorted({key for key, _ in table})
        assert [key.decode() for key in names] == keys
        for word in (*VOCABULARY, "other"):
            units = sorted(number for key, number in table if key == word + "é")
            row = names.row(word + "é")
            assert (names.numbers(row).tolist() if row >= 0 else []) == units
        assert names == NameList.of((key.encode(), number) for key, number in table)
        assert not len(snapshot.names.of("entity"))
    with writing_to(tmp_path) as writer:
        writer.names.drop("title")
        assert not len(writer.snapshot().names.of("title"))


def test_a_segment_of_which_a_fifth_is_gone_is_written_anew(tmp_path: Path) -> None:
    documents = made(20)
    with writing_to(tmp_path) as writer:
        add(writer, documents)
        writer.commit()
        for count, rows in ((3, 20), (1, 16)):
            writer.remove_documents([document.id for document in documents[:count]])
            documents = documents[count:]
            writer.commit()
            assert [segment.rows for segment in writer._segments.of(Family.UNITS, "passage")] == [rows]
        writer.remove_documents([document.id for document in documents])
        writer.commit()
        assert not writer.snapshot().numbered.count()


def test_a_reader_keeps_its_files_and_a_new_one_finds_the_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments_module, "SMALL", 0)
    indexed(tmp_path, made(10))
    with Snapshot.open(tmp_path) as before, writing_to(tmp_path) as writer:
        ids, numbers = list(before.table.ids(Kind.PASSAGE)), before.numbered.origins(Kind.PASSAGE).numbers
        writer.remove_rows(numbers[:5])
        writer._unclean = False  # nobody waits for the reader, whose files are taken away at once
        writer.commit()
        writer._segments.sweep()
        assert len(before.search.vectors_in_order([Kind.PASSAGE], ids)) == 10
        with Snapshot.open(tmp_path) as after:
            assert after.numbered.origins(Kind.PASSAGE).numbers.tolist() == numbers[5:].tolist()


def test_files_are_mapped_by_name_and_told_of_when_they_are_missing_or_altered(tmp_path: Path) -> None:
    indexed(tmp_path, made(2500))
    (file,) = (tmp_path / ARRAYS).iterdir()
    assert np.array_equal(np.load(file).shape, (2500, 8))
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] + b"x")
    with Snapshot.open(tmp_path):
        assert damage(tmp_path) == [f"arrays/{file.name} is missing or altered"]
    for damaged, said in ((whole[:1000], "too short"), (b"", "too short"), (None, "missing")):
        file.unlink()
        if damaged is not None:
            file.write_bytes(damaged)
        with pytest.raises(IndexDamaged, match=said):
            Snapshot.open(tmp_path)
        file.touch()
