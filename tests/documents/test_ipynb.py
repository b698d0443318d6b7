"""Notebooks of all formats give their cells; other files are refused."""

from __future__ import annotations

import json

import pytest

from documents.block_lines import lines_of
from hoptrail.documents.blocks import Parsed
from hoptrail.documents.limits import DEFAULT_LIMITS, Unreadable
from hoptrail.documents.markdown import parse_ipynb


def parse_cells(notebook: object) -> Parsed:
    return parse_ipynb(json.dumps(notebook).encode(), DEFAULT_LIMITS)


def block_texts(document: Parsed) -> list[tuple[str, str, str]]:
    return [(block.kind, block.place, document.text[block.start : block.end].strip()) for block in document.blocks]


def test_a_notebook_of_format_3() -> None:
    cells = [{"cell_type": "heading", "level": 2, "source": "Fees"}, {"cell_type": "code", "input": ["x = 1"]}]
    document = parse_cells({"worksheets": [{"cells": cells}], "metadata": {"title": "Harbour"}})
    assert block_texts(document) == [("heading", "cell 1", "Fees"), ("code", "cell 2", "x = 1")]
    assert document.title == "Harbour"


def test_cells_are_read_without_their_output_in_the_outline_of_the_whole() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Fees\n", "\n", "| a | b |\n", "|---|---|\n", "| 1 | 2 |"]},
        {
            "cell_type": "code",
            "source": "# no heading\nx = 1",
            "outputs": [{"text": ["SECRET"]}, {"data": {"text/html": "SECRET"}}],
        },
        {"cell_type": "raw", "source": "as *it* is"},
        {"cell_type": "code", "source": "", "outputs": [{"text": "SECRET"}]},
        {
            "cell_type": "markdown",
            "source": "### Deep\nמים ![a](attachment:x.png)",
            "attachments": {"x.png": {"image/png": "U0VDUkVU"}},
        },
    ]
    assert lines_of("ipynb", json.dumps({"cells": cells, "nbformat": 4})) == [
        "title: Fees",
        "heading 1 |  | cell 1 | Fees",
        "row header | Fees | cell 1 | a ¦ b",
        "row | Fees | cell 1 | a=1 ¦ b=2",
        "code | Fees | cell 2 | # no heading\\nx = 1",
        "paragraph | Fees | cell 3 | as *it* is",
        "heading 3 | Fees | cell 5 | Deep",
        "paragraph | Fees > Deep | cell 5 | מים a",
    ]


@pytest.mark.parametrize(
    "notebook",
    [{"cells": [None, 1, {}, {"cell_type": []}, {"source": 3}]}, {"cells": []}, {"worksheets": [None, {"cells": 1}]}],
)
def test_malformed_cells_are_skipped(notebook: object) -> None:
    assert parse_cells(notebook).text == ""


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b'{"cells": {}}', b"[" * 100_000, b"not json"])
def test_files_that_are_no_notebook_are_refused(data: bytes) -> None:
    with pytest.raises(Unreadable, match="is not a notebook"):
        parse_ipynb(data, DEFAULT_LIMITS)
