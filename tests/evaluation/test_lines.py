"""JSON lines and their places, valid and malformed."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from hoptrail.errors import DataError
from hoptrail.evaluation.lines import read_lines


def test_lines_have_places_and_blank_ones_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\r\n\n  \n{"a": 2}')

    assert [(line.place, line.content) for line in read_lines(path)] == [
        (f"{path}, line 1", {"a": 1}),
        (f"{path}, line 4", {"a": 2}),
    ]


def test_unicode_line_separators_do_not_break_a_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": "one\u2028two\u0085three"}\n', encoding="utf-8")

    assert [line.content for line in read_lines(path)] == [{"a": "one\u2028two\u0085three"}]


def test_gzip_is_read_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress('{"a": "é"}\n'.encode()))

    assert [line.content for line in read_lines(path)] == [{"a": "é"}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1}\n{"a": ', "line 2: not JSON"),
        ('{"a": 1}\n[1, 2]\n', "line 2: a JSON object is expected, not list"),
        ('"text"\n', "line 1: a JSON object is expected, not str"),
        ("[" * 100_000 + "\n", "line 1: not JSON"),
        ('{"a": ' + "9" * 10_000 + "}\n", "line 1: not JSON"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(DataError, match=f"a.jsonl, {message}"):
        list(read_lines(path))


def test_another_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes('{"a": 1}\n{"a": "é"}\n'.encode("latin-1"))

    with pytest.raises(DataError, match="not UTF-8"):
        list(read_lines(path))


@pytest.mark.parametrize(
    "content",
    # Without the time, which would name the tests differently in two processes.
    [
        b"not gzip at all",
        gzip.compress(b'{"a": 1}\n' * 1000, mtime=0)[:-20],
        gzip.compress(b"{}\n", mtime=0)[:10] + b"\xff" * 30,
    ],
)
def test_a_damaged_gzip_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(content)

    with pytest.raises(DataError, match=r"a\.jsonl\.gz cannot be read: .+"):
        list(read_lines(path))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.jsonl cannot be read: No such file"):
        list(read_lines(tmp_path / "none.jsonl"))


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read: Is a directory"):
        list(read_lines(tmp_path))
