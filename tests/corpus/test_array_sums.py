"""Arrays are compared with their checksums before they are used: once, and of a large one only the blocks that are read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hoptrail.corpus import arrays
from hoptrail.corpus.arrays import Array, ArrayRecord, Arrays, checksum, file_name, npy, packed_sums
from hoptrail.corpus.durable import write_file
from hoptrail.errors import IndexDamaged

ROWS, WIDTH = 1000, 384


def stored(folder: Path, array: Array) -> ArrayRecord:
    (folder / arrays.ARRAYS).mkdir()
    write_file(folder / arrays.ARRAYS / file_name(1, "vectors"), npy(array))
    shape = " ".join(map(str, array.shape))
    return ArrayRecord("vectors", array.dtype.str, shape, checksum(array), None, packed_sums(array))


def opened(folder: Path, described: ArrayRecord) -> Arrays:
    return Arrays(folder / arrays.ARRAYS, 1, [described])


@pytest.fixture
def matrix() -> Array:
    return np.random.default_rng(1).random((ROWS, WIDTH), np.float32)


def alter(folder: Path, row: int) -> None:
    """Alter a number of a row, and keep the size and the name of the file, as damage does."""
    path = folder / arrays.ARRAYS / file_name(1, "vectors")
    content = bytearray(path.read_bytes())
    content[len(content) - (ROWS - row) * WIDTH * 4 + 5] ^= 4
    path.write_bytes(content)


@pytest.mark.parametrize("row", [0, 500, ROWS - 1])
def test_an_altered_array_is_named_with_its_remedy(tmp_path: Path, matrix: Array, row: int) -> None:
    described = stored(tmp_path, matrix)
    assert np.array_equal(opened(tmp_path, described)["vectors"], matrix)
    alter(tmp_path, row)
    with pytest.raises(IndexDamaged, match=r"arrays/1-vectors\.npy is damaged\. Run `hoptrail repair --index .*`\.$"):
        opened(tmp_path, described)["vectors"]


@pytest.mark.parametrize("rows", [slice(480, 490), np.array([3, 480, 481, 999])])
def test_of_a_large_array_only_the_blocks_that_are_read_are_compared(
    tmp_path: Path, matrix: Array, rows: slice | Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrays, "WHOLE", 0)
    described = stored(tmp_path, matrix)
    alter(tmp_path, 700)
    assert np.array_equal(opened(tmp_path, described).rows("vectors", rows), matrix[rows])
    for near in (np.array([700]), slice(700, 701), np.array([1, 700, 999]), slice(0, ROWS)):
        with pytest.raises(IndexDamaged):
            opened(tmp_path, described).rows("vectors", near)
    alter(tmp_path, 480)
    with pytest.raises(IndexDamaged):
        opened(tmp_path, described).rows("vectors", rows)


def test_every_row_is_in_the_blocks_that_are_compared_for_it(matrix: Array) -> None:
    for row in range(ROWS):
        first, last = row * WIDTH * 4 // arrays.BLOCK, ((row + 1) * WIDTH * 4 - 1) // arrays.BLOCK
        for rows in (np.array([row]), slice(row, row + 1)):
            assert set(arrays._blocks(rows, matrix).tolist()) == {first, last}


def test_what_has_been_compared_is_not_compared_again(
    tmp_path: Path, matrix: Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    described = stored(tmp_path, matrix)
    first = opened(tmp_path, described)
    assert first["vectors"].shape == (ROWS, WIDTH)

    def fails(*_: object) -> None:
        raise AssertionError

    with monkeypatch.context() as patch:
        patch.setattr(arrays, "_sums", fails)
        assert first["vectors"].shape == opened(tmp_path, described)["vectors"].shape


def test_altered_sums_are_damage_too(tmp_path: Path, matrix: Array) -> None:
    described = stored(tmp_path, matrix)
    assert described.sums is not None
    for at in (0, len(described.sums) // 2, len(described.sums) - 1):
        sums = bytearray(described.sums)
        sums[at] ^= 1
        altered = ArrayRecord("vectors", described.type, described.shape, described.checksum, None, bytes(sums))
        path = tmp_path / arrays.ARRAYS / file_name(1, "vectors")
        assert not arrays.is_intact(path, altered)
        arrays._known_blocks.cache_clear()
        with pytest.raises(IndexDamaged):
            opened(tmp_path, altered)["vectors"]
