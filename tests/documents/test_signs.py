"""Formats are recognised by content where no name tells them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hoptrail.documents.forms import form_of, true_form
from hoptrail.documents.limits import DEFAULT_LIMITS
from hoptrail.documents.records import parse_tabbed

ROWS = [f"berth {number}\t{number * 10}\tBo Marsh" for number in range(6)]


@pytest.mark.parametrize(
    ("name", "lines", "form"),
    [
        ("berths.txt", ["berth\tfee\tmember", *ROWS], "tabbed"),
        ("berths", ["# exported on Friday", "", *ROWS], "tabbed"),
        ("berths.txt", ROWS[:4], "text"),
        ("berths.txt", [*ROWS, "and none for guests"], "text"),
        ("Makefile.txt", ["all:", *(f"\tcc -c {row}" for row in ROWS)], "text"),
        ("notes.txt", ["The berths are full."] * 9, "text"),
        ("berths.md", ROWS, "markdown"),
    ],
)
def test_lines_with_the_same_number_of_tabs_are_a_table(name: str, lines: list[str], form: str) -> None:
    found = true_form(form_of(Path(name)), "\n".join(lines).encode())
    assert found is not None
    assert found.name == form


def test_cells_of_such_a_table_are_between_tabs_whatever_is_in_them() -> None:
    lines = ["member\tsaid", 'Ann\t"Well, hello', "Bo\tNo, no, no", 'Cy\tNo"']
    blocks = parse_tabbed("\n".join(lines).encode(), DEFAULT_LIMITS).blocks
    assert [len(block.cells) for block in blocks] == [2] * 4
    assert [cell.header for cell in blocks[1].cells] == ["member", "said"]
