"""Room beside the index: little stays in memory, much goes into files that nobody sees and that leave nothing behind."""

from __future__ import annotations

import errno
import mmap
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hoptrail.errors import StorageError
from hoptrail.store import scratch
from hoptrail.store.place import Place
from hoptrail.store.scratch import Scratch, SetAside, Sorting
from world import make_document


def root_of(vectors: np.ndarray[Any, Any]) -> object:
    """What the memory of an array belongs to."""
    base: object = vectors
    while isinstance(base, np.ndarray) and base.base is not None:
        base = base.base
    return base


def test_few_vectors_are_in_memory_and_many_in_a_file_without_a_name(tmp_path: Path) -> None:
    room = Scratch(Place.of(tmp_path / "index"), held=160)
    assert not isinstance(root_of(room.table(10, 4, np.float32)), mmap.mmap)
    many = room.table(300_001, 4, np.float32)
    assert isinstance(root_of(many), mmap.mmap)
    assert many.shape == (300_001, 4)
    assert many.dtype == np.float32
    assert not many.any()
    many[300_000] = 1
    assert many.sum() == 4
    assert list((tmp_path / "index").iterdir()) == []


@pytest.mark.parametrize("held", [7, 1000])
def test_records_come_back_in_their_order_and_leave_nothing(
    tmp_path: Path, held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratch, "RECORDS_HELD", held)
    documents = [make_document(f"Page {number}", "Text.") for number in range(100)]
    with Scratch(Place.of(tmp_path), 1).records() as aside:
        for document in documents:
            aside.put(document)
        assert list(aside) == documents
        assert list(aside) == documents
        assert list(tmp_path.iterdir()) == []


def test_few_records_need_no_disk_and_many_lie_on_this_machine_wherever_the_index_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOPTRAIL_DATA", str(tmp_path))
    monkeypatch.setattr(scratch, "RECORDS_HELD", 2)
    with Scratch(Place.of("s3://bucket/index"), 1).records() as aside:
        aside.put("one")
        assert list(tmp_path.iterdir()) == []
        aside.put("two")
        assert [path.name for path in tmp_path.iterdir()] == ["indexes"]
        assert list(aside) == ["one", "two"]


def test_a_full_disk_is_said_with_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = Scratch(Place.of(tmp_path), 1)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(scratch, "TemporaryFile", full)
    with pytest.raises(StorageError, match=str(tmp_path)):
        room.table(2, 4, np.float32)
    monkeypatch.setattr(scratch, "RECORDS_HELD", 1)
    with pytest.raises(StorageError, match="free space"), room.records() as aside:
        aside.put("record")


@pytest.mark.parametrize("held", [1, 3000, 1 << 30])
def test_records_are_sorted_however_little_memory_there_is(
    tmp_path: Path, held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratch, "READ_TOGETHER", 2)
    records = [(f"{number * 37 % 101:03}", number) for number in range(500)]
    with Scratch(Place.of(tmp_path), held).sorting() as aside:
        assert list(aside) == []
        for record in records:
            aside.put(record)
        assert list(aside) == sorted(records)
        first, second = iter(aside), iter(aside)  # two readers of one file
        both = list(zip(first, second, strict=True))
        assert both == [(record, record) for record in sorted(records)]
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("held", [1, 130, 700, 1 << 20])
def test_rows_that_come_in_any_order_are_put_where_they_belong(tmp_path: Path, held: int) -> None:
    chance = np.random.default_rng(3)
    rows, places = chance.standard_normal((100, 4), dtype=np.float32), chance.permutation(100)
    portions = [(places[start : start + 9], rows[places[start : start + 9]]) for start in range(0, 100, 9)]
    room = Scratch(Place.of(tmp_path), held)
    table = room.arranged(100, 4, np.float32, portions)
    assert np.array_equal(table, rows)
    assert isinstance(root_of(table), mmap.mmap) == (held < 1600)
    some = room.arranged(100, 4, np.float32, portions[2:5])
    there = np.isin(np.arange(100), places[18:45])
    assert np.array_equal(some[there], rows[there])
    assert not some[~there].any()
    assert room.arranged(0, 4, np.float32, []).shape == (0, 4)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("held", [1, 1 << 20])
def test_a_column_is_what_was_put_into_it(tmp_path: Path, held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "_WRITTEN", 100)
    room = Scratch(Place.of(tmp_path), held)
    assert room.column(np.int64).values().tolist() == []
    column, names = room.column(np.int64), room.column(np.dtype("S3"))
    for start in range(0, 300, 7):
        column.extend(np.arange(start, start + 7, dtype=np.int32))  # becomes what the column is of
        names.extend(np.array([b"%03d" % start], dtype="S3"))
    assert column.values().tolist() == list(range(301))
    values = names.values()
    assert isinstance(root_of(values), mmap.mmap) == (held == 1)
    values[::-1].sort()
    assert values[0] == b"294"
    assert list(tmp_path.iterdir()) == []


def test_digests_are_found_in_files_too(tmp_path: Path) -> None:
    digests = Scratch(Place.of(tmp_path), 1).digests(range(0, 1000, 3))
    digests.add(np.arange(1, 1000, 3))
    digests.add(np.arange(0, 1000, 5))
    assert isinstance(root_of(digests._runs[0]), mmap.mmap)
    wanted = {*range(0, 1000, 3), *range(1, 1000, 3), *range(0, 1000, 5)}
    assert digests.holding(range(1000)).tolist() == [number in wanted for number in range(1000)]
    assert len(digests) == len(wanted)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def small_files() -> Iterator[None]:
    """This process may write no file of more than 1 MiB."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("small_files")
def test_a_file_that_may_not_grow_ends_in_an_error_and_not_in_the_process(tmp_path: Path) -> None:
    room = Scratch(Place.of(tmp_path), 1)
    with pytest.raises(StorageError, match=str(tmp_path)):
        room.table(1_000_000, 4, np.float32)
    with room.records() as aside, pytest.raises(StorageError, match=str(tmp_path)):
        fill(aside)
    with room.sorting() as records, pytest.raises(StorageError, match=str(tmp_path)):
        fill(records)
    column = room.column(np.int64)
    with pytest.raises(StorageError, match=str(tmp_path)):
        column.extend(np.arange(1_000_000))


def fill(aside: SetAside[str] | Sorting[str]) -> None:
    for number in range(100_000):
        aside.put(f"{number} is a number" * 10)
