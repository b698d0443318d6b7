"""Rows added to a large table are taken into its indexes; with anything else it is written anew. Readers see no difference."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hoptrail.errors import StorageError
from hoptrail.models.encoder import EncoderIdentity, FloatMatrix
from hoptrail.store import layout
from hoptrail.store.place import Place
from hoptrail.store.snapshot import Snapshot
from hoptrail.store.tables import StorageSettings
from hoptrail.store.writer import writing_to
from hoptrail.types import Kind, Link, Span, Unit, Usage

IDENTITY = EncoderIdentity("drawn", "0" * 64, 24)
SETTINGS = StorageSettings(exact_up_to=1000)
MANY = 2500
WORDS = ("amber", "zinc", "lime", "cobalt", "ochre", "umber", "jade")


@pytest.fixture(autouse=True)
def tables_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "SCANNED_UP_TO", 1000)


def units(start: int, stop: int) -> list[Unit]:
    """Each says other words in other numbers, so that any of them changes what words are worth."""
    return [
        Unit(
            f"p{at:05}",
            Kind.PASSAGE,
            f"Title {at}",
            " ".join(WORDS[at * step % 7] for step in range(1, 3 + at % 5)) + f" number{at}",
            (Span(f"d{at}", 0, 9),),
        )
        for at in range(start, stop)
    ]


def vectors(start: int, stop: int) -> FloatMatrix:
    drawn = np.random.default_rng(0).standard_normal((2 * MANY, 24))[start:stop]
    unit: FloatMatrix = (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)
    return unit


def links(start: int, stop: int) -> list[Link]:
    return [Link(f"p{at:05}", f"p{at // 2:05}", "half", 1.0) for at in range(start, stop)]


def test_titles_too_long_to_be_put_in_order_are_said_to_be(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANCE_MEM_POOL_SIZE", str(1 << 20))
    long = [replace(unit, title=unit.title * 400) for unit in units(0, 1500)]
    with writing_to(place, IDENTITY, SETTINGS) as writer:
        writer.add_units(long, vectors(0, 1500))
        writer.checkpoint()
        with pytest.raises(StorageError, match=r"many are very long .* raise storage\.memory_mb"):
            writer.publish(Usage())
    monkeypatch.setenv("LANCE_MEM_POOL_SIZE", str(150 << 20))
    with writing_to(place, IDENTITY, SETTINGS) as writer:
        writer.publish(Usage())
    snapshot = Snapshot.open(place)
    assert {found[2] for found in snapshot.titled(Kind.PASSAGE, [long[7].title])} == {long[7].id}


def add(place: Place, start: int, stop: int) -> None:
    with writing_to(place, IDENTITY, SETTINGS) as writer:
        writer.add_units(units(start, stop), vectors(start, stop))
        writer.add_links(links(start, stop))
        writer.publish(Usage())


def data_files(place: Place, table: str) -> set[str]:
    return {path.name for path in (place.folder / f"{table}.lance" / "data").iterdir()}


PASSAGES = layout.unit_table(Kind.PASSAGE)


@pytest.fixture
def large(tmp_path: Path) -> Place:
    place = Place.of(tmp_path / "index")
    add(place, 0, MANY)
    return place


def test_rows_that_were_added_are_found_as_in_an_index_made_at_once(place: Place, tmp_path: Path) -> None:
    add(place, 0, MANY)
    for start in range(MANY, MANY + 120, 40):
        add(place, start, start + 40)
    whole = Place.of(tmp_path / "whole")
    add(whole, 0, MANY + 120)
    grown, fresh = Snapshot.open(place), Snapshot.open(whole)
    assert grown.count(Kind.PASSAGE) == fresh.count(Kind.PASSAGE) == MANY + 120
    for question in ("amber zinc", "cobalt", "number2510 jade", "number7", "lime umber ochre"):
        found = [dict(found.search_keywords(question, 5000)) for found in (grown, fresh)]
        scores = [{unit.id: score for unit, score in one.items()} for one in found]
        assert scores[0]
        assert scores[0] == scores[1]
    asked = [f"p{at:05}" for at in (0, 7, MANY - 1, MANY, MANY + 119)]
    assert sorted(grown.units(Kind.PASSAGE, asked), key=lambda unit: unit.id) == sorted(
        fresh.units(Kind.PASSAGE, asked), key=lambda unit: unit.id
    )
    assert set(grown.links_from(asked, "half")) == set(fresh.links_from(asked, "half"))
    assert grown.searches_vectors(Kind.PASSAGE)
    nearest = grown.nearest(Kind.PASSAGE, vectors(MANY, MANY + 120), 1)
    assert [found[0][0] for found in nearest] == [f"p{at:05}" for at in range(MANY, MANY + 120)]


def test_what_was_there_is_not_written_again(large: Place) -> None:
    vectors_there = {path.name for path in (large.folder / f"{PASSAGES}.lance" / "_indices").iterdir()}
    there = data_files(large, PASSAGES)
    add(large, MANY, MANY + 20)
    assert there < data_files(large, PASSAGES)
    assert vectors_there & {path.name for path in (large.folder / f"{PASSAGES}.lance" / "_indices").iterdir()}


def test_nothing_of_earlier_states_is_kept(large: Place) -> None:
    for start in range(MANY, MANY + 60, 20):
        add(large, start, start + 20)
    for table in large.folder.glob("*.lance"):
        assert len(list((table / "_versions").glob("*.manifest"))) <= 2, table


@pytest.mark.parametrize("change", ["many", "removed", "replaced", "resumed", "parts"])
def test_a_table_in_which_more_has_changed_is_written_anew(
    change: str, large: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = data_files(large, PASSAGES)
    if change == "parts":
        monkeypatch.setattr("hoptrail.store.writer._MOST_PARTS", 1)
    if change == "resumed":
        with writing_to(large, IDENTITY, SETTINGS) as writer:
            writer.add_units(units(MANY, MANY + 5), vectors(MANY, MANY + 5))
            writer.checkpoint()
    with writing_to(large, IDENTITY, SETTINGS) as writer:
        count = 500 if change == "many" else 10
        new = units(MANY + 10, MANY + 10 + count)
        writer.add_units(new, vectors(MANY + 10, MANY + 10 + count))
        if change == "removed":
            writer.remove_units(Kind.PASSAGE, ["p00003"])
        if change == "replaced":
            writer.put_units(units(3, 4), vectors(3, 4))
        writer.publish(Usage())
    assert not there & data_files(large, PASSAGES)
    with writing_to(large, IDENTITY, SETTINGS) as writer:
        assert not writer.changed


def test_an_index_that_is_no_longer_wanted_goes(large: Place) -> None:
    add(large, MANY, MANY + 20)
    with writing_to(large, IDENTITY, StorageSettings(exact_up_to=10_000)) as writer:
        writer.add_units(units(MANY + 20, MANY + 25), vectors(MANY + 20, MANY + 25))
        writer.publish(Usage())
    snapshot = Snapshot.open(large)
    assert not snapshot.searches_vectors(Kind.PASSAGE)
    assert snapshot.count(Kind.PASSAGE) == MANY + 25


def test_a_table_whose_files_were_not_checked_is_written_anew(large: Place) -> None:
    """As after a repair that was cut short."""
    there = data_files(large, PASSAGES)
    with writing_to(large, IDENTITY, SETTINGS) as writer:
        writer._commit(replace(writer.head, checksums=None))
    add(large, MANY, MANY + 20)
    assert not there & data_files(large, PASSAGES)


def test_a_removal_that_gave_no_answer_is_not_taken_for_none(large: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    there = data_files(large, PASSAGES)
    with writing_to(large, IDENTITY, SETTINGS) as writer:
        writer.add_units(units(MANY, MANY + 5), vectors(MANY, MANY + 5))
        table = type(writer._tables[PASSAGES])
        delete = table.delete

        def delete_and_fail(self: Any, condition: str) -> None:
            delete(self, condition)
            raise OSError("the answer was lost")

        monkeypatch.setattr(table, "delete", delete_and_fail)
        with pytest.raises(StorageError):
            writer.remove_units(Kind.PASSAGE, ["p00003"])
        monkeypatch.undo()
        monkeypatch.setattr(layout, "SCANNED_UP_TO", 1000)
        writer.publish(Usage())
    assert not there & data_files(large, PASSAGES)
    assert not list(Snapshot.open(large).units(Kind.PASSAGE, ["p00003"]))


def test_no_file_keeps_the_words_of_what_was_removed_from_a_table_that_had_grown(large: Place) -> None:
    add(large, MANY, MANY + 20)
    word = f"number{MANY + 3}".encode()

    def with_word() -> list[Path]:
        return [path for path in large.folder.rglob("*") if path.is_file() and word in path.read_bytes()]

    assert with_word()
    with writing_to(large, IDENTITY, SETTINGS) as writer:
        writer.remove_units(Kind.PASSAGE, [f"p{MANY + 3:05}"])
        writer.publish(Usage())
    assert with_word() == []


@pytest.mark.parametrize("fails_at", [1, 2, 3])
def test_an_extension_that_is_cut_short_leaves_the_last_state(
    fails_at: int, large: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = itertools.count(1)
    table = type(Snapshot.open(large)._tables[PASSAGES])
    optimize = table.optimize

    def failing(self: Any, **given: Any) -> None:
        optimize(self, **given)  # what it has done stays behind
        if next(calls) == fails_at:
            raise OSError("the disk went away")

    monkeypatch.setattr(table, "optimize", failing)
    with pytest.raises(StorageError):
        add(large, MANY, MANY + 20)
    assert Snapshot.open(large).count(Kind.PASSAGE) == MANY
    add(large, MANY, MANY + 20)
    snapshot = Snapshot.open(large)
    assert snapshot.count(Kind.PASSAGE) == len(set(snapshot.unit_ids(Kind.PASSAGE))) == MANY + 20
    assert len(list(snapshot.links("half"))) == MANY + 20


def test_what_removes_nothing_is_no_change(large: Place) -> None:
    there = data_files(large, PASSAGES)
    with writing_to(large, IDENTITY, SETTINGS) as writer:
        writer.add_units(units(MANY, MANY + 5), vectors(MANY, MANY + 5))
        writer.remove_units(Kind.PASSAGE, ["p99999"])
        writer.publish(Usage())
    assert there < data_files(large, PASSAGES)


def test_a_reader_keeps_its_state_while_a_table_grows(large: Place) -> None:
    snapshot = Snapshot.open(large)
    before = snapshot.search_keywords("amber", 10)
    add(large, MANY, MANY + 20)
    assert snapshot.count(Kind.PASSAGE) == MANY
    assert snapshot.search_keywords("amber", 10) == before
    assert len(set(snapshot.units(Kind.PASSAGE))) == MANY
