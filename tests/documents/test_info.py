"""GNU manuals in the Info format are read without what serves navigation: node headers, menus, indexes, the tag table."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from hoptrail.documents.info import parse_info
from hoptrail.documents.limits import DEFAULT_LIMITS
from hoptrail.documents.read_sources import Findings, read_sources
from hoptrail.types import BlockKind, Document

HEAD = "This is tide.info, produced by makeinfo.\n\n\x1f\nFile: tide.info,  Node: Top\n\nTides\n*****\n\n"


def text_of(body: str) -> str:
    return parse_info((HEAD + body).encode(), DEFAULT_LIMITS).text.strip().removeprefix("Tides\n=====").strip()


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("A *note Gates:: b.", "A Gates b."),
        ("*Note the log: (other)Node name. b", "See the log. b"),
        ("*Note a\nb::, c", "See a b, c"),
        ("a * b *note c", "a * b *note c"),
        ("Text.\n\n* Menu:\n\n* A::  b.\n   c\n\nMore\n\n* D: e.  f\n\nAfter.", "Text.\n\nAfter."),
        ('\0\x08[image src="a.png" text="A \\"b\\""\0\x08]', 'A "b"'),
        ("a\0\x08[broken", "abroken"),
        ("x\n\x1f\nTag Table:\nNode: Top\x7f12\n\x1f\nEnd Tag Table\n", "x"),
        (
            "x\n\x1f\nFile: tide.info,  Node: Index\n\nIndex\n=====\n\n\0\x08[index\0\x08]\n* Menu:\n\n* a: b. (line 1)\n",
            "x",
        ),
        ("‘-a’\n‘--all’\n     All.", "‘-a’ ‘--all’ All."),
    ],
)
def test_only_what_is_read_remains(body: str, shown: str) -> None:
    assert " ".join(text_of(body).split()) == " ".join(shown.split())


def test_what_stands_before_the_first_node_is_kept_unless_a_node_repeats_it() -> None:
    before = "This is a.info, produced by makeinfo.\n\nOdd Hale wrote this.\n\nTides\nrise.\n\nSTART-INFO-DIR-ENTRY\n* A: (a).\n"
    data = f"{before}\n\x1f\nFile: a.info,  Node: Top\n\nTides\nrise.\n"
    text = parse_info(data.encode(), DEFAULT_LIMITS).text
    assert text.split() == ["Odd", "Hale", "wrote", "this.", "Tides", "rise."]
    assert text.count("\n") == data.count("\n")


def test_headings_are_underlined_by_four_signs() -> None:
    signs = "".join(f"Part {sign}\n{sign * 6}\n\nText.\n\n" for sign in "*=-.")
    blocks = parse_info((HEAD + signs).encode(), DEFAULT_LIMITS).blocks
    assert [block.level for block in blocks if block.kind is BlockKind.HEADING] == [1, 1, 2, 3, 4]


def test_manuals_are_recognised_by_their_content(tmp_path: Path) -> None:
    index = "\x1f\nFile: tide.info,  Node: Index\n\nIndex\n=====\n\n\0\x08[index\0\x08]\n"
    (tmp_path / "tide.info").write_text(f"{HEAD}Text.\n\n{index}")
    part = "\x1f\nFile: tide.info,  Node: B\n\nB\n=\n\nSecond part.\n"
    (tmp_path / "tide.info-2.gz").write_bytes(gzip.compress(part.encode()))
    (tmp_path / "module.info").write_text("name = Tides\nversion = 2.1\n")
    (tmp_path / "binary.info").write_bytes(b"\0\1\2\3" * 100)
    findings = Findings()
    found = {one.title: one.text for one in read_sources([tmp_path], findings=findings) if isinstance(one, Document)}
    module = "name = Tides\nversion = 2.1\n"
    read = {title: " ".join(text.split()) for title, text in found.items()}
    assert read == {"module.info": " ".join(module.split()), "Tides": "Tides ===== Text.", "tide": "B = Second part."}
    assert [Path(name).name for name in findings.left_out] == ["binary.info"]
