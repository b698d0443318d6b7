"""JSON lines: two layouts, broken lines reported, bounded memory."""

from __future__ import annotations

import gzip
import json
import os
import tracemalloc
from pathlib import Path

import pytest

from documents.streaming import traced_peaks
from hoptrail.documents.blocks import Parsed
from hoptrail.documents.file_contents import JsonlDocument, read_lines, tiling_ends
from hoptrail.documents.limits import DEFAULT_LIMITS, ReadingLimits
from hoptrail.documents.read_sources import read_sources
from hoptrail.errors import DocumentError
from hoptrail.types import Document


def write_jsonl(path: Path, *lines: object) -> Path:
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines), "utf-8")
    return path


def test_both_layouts_and_missing_keys(tmp_path: Path) -> None:
    path = write_jsonl(
        tmp_path / "a.jsonl",
        {"id": "p1", "title": "One", "text": "A. B.", "sentences": ["A.", "B."], "other": 1},
        {"_id": 7, "title": None, "text": "C.", "metadata": {}},
        "",
        {"text": "D."},
    )
    assert list(read_lines(path, DEFAULT_LIMITS)) == [
        JsonlDocument(f"{path}#p1", Parsed("One", "A. B."), ("A.", "B.")),
        JsonlDocument(f"{path}#7", Parsed("", "C.")),
        JsonlDocument(f"{path}#line-4", Parsed("", "D.")),
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"text": "cut', "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[1]", "not a JSON object but a list"),
        ('{"title": "x"}', "has no `text`"),
        ('{"text": 5}', "has no `text`"),
        ('{"text": "' + "x" * 2000 + '"}', "longer than 1000 bytes"),
    ],
)
def test_a_broken_line_is_named_and_the_others_are_read(tmp_path: Path, line: str, reason: str) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", {"id": "1", "text": "A."}, line, {"id": "3", "text": "C."})
    first, bad, last = read_lines(path, ReadingLimits(text=100_001 if line[0] == "[" else 1000))
    assert isinstance(first, JsonlDocument)
    assert isinstance(last, JsonlDocument)
    assert isinstance(bad, DocumentError)
    assert bad.source == f"{path}, line 2"
    assert reason in bad.reason


def test_c7_lines_that_are_not_utf8_and_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"text": "A."}\r\n{"text": "caf\xe9"}\n{"text": "C."}')
    first, bad, last = read_lines(path, DEFAULT_LIMITS)
    assert first == JsonlDocument(f"{path}#line-1", Parsed("", "A."))
    assert isinstance(bad, DocumentError)
    assert "is not UTF-8" in bad.reason
    assert last == JsonlDocument(f"{path}#line-3", Parsed("", "C."))


def test_reading_another_kind_of_file_stops_early(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", *(["just words"] * 1000))
    problems = list(read_lines(path, DEFAULT_LIMITS))
    assert len(problems) == 21
    assert str(problems[-1]) == f"{path}: none of its first 20 lines is a document: not JSON lines"


def test_gzip_is_detected_by_content(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(gzip.compress(b'{"id": "1", "text": "A."}\n'))
    assert list(read_lines(path, DEFAULT_LIMITS)) == [JsonlDocument(f"{path}#1", Parsed("", "A."))]


def test_a_truncated_gzip_file_gives_its_complete_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    noise = [{"id": str(number), "text": os.urandom(4000).hex()} for number in range(20)]
    whole = gzip.compress("".join(json.dumps(line) + "\n" for line in noise).encode())
    path.write_bytes(whole[: len(whole) // 2])
    *lines, problem = read_lines(path, DEFAULT_LIMITS)
    assert len(lines) > 5
    assert all(isinstance(line, JsonlDocument) for line in lines)
    assert isinstance(problem, DocumentError)
    assert "damaged gzip" in problem.reason


def test_c5_a_gzip_bomb_is_stopped(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    with gzip.open(path, "wb", 9) as packed:
        for _ in range(60):
            packed.write(b" " * 1_000_000)
    tracemalloc.start()
    (problem,) = read_lines(path, ReadingLimits(text=1_000_000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(problem, DocumentError)
    assert "gzip bomb" in problem.reason
    assert peak < 8_000_000


def test_c3_a_large_file_is_streamed(tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    with path.open("w", encoding="utf-8") as lines:
        for number in range(700):
            lines.write(json.dumps({"id": str(number), "text": f"Sentence {number} never ends and " * 125}) + "\n")
    assert path.stat().st_size > 2_000_000
    assert max(traced_peaks(read_sources([path]), ends=200, between=300)) < 450_000, "0.7 MB of text went by each time"


def test_c3_the_first_document_comes_before_the_last_is_read(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", {"text": "A."}, *({"text": f"{n}. " * 1000} for n in range(500)), "broken")
    items = read_sources([path, tmp_path / "missing.txt"])
    first = next(items)
    assert isinstance(first, Document)
    assert first.text == "A."
    path.unlink()
    assert isinstance(next(items), Document)


@pytest.mark.parametrize(
    ("text", "sentences", "ends"),
    [
        ("A. B.", ["A.", "B."], (3, 5)),
        (" A.\n B. ", ["A. ", "", " B."], (5, 8)),
        ("AB", ["A", "B"], (1, 2)),
        ("A. B.", ["A.", "C."], None),
        ("A. B.", ["A."], None),
        ("A.", ["A.", "B."], None),
        ("A.", [], None),
        ("  ", [" "], None),
        ("", [], None),
    ],
)
def test_given_sentences_are_used_if_they_tile_the_text(
    text: str, sentences: list[str], ends: tuple[int, ...] | None
) -> None:
    assert tiling_ends(text, sentences) == ends
