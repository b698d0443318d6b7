"""Every file in `blocks/` gives the blocks in `NAME.blocks` beside it; `block_lines` explains the format."""

from __future__ import annotations

import html
import re
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from documents.block_lines import block_lines, form_at, parse
from hoptrail.documents.blocks import Parsed, ends_within, pack, unpack
from hoptrail.documents.forms import FORMS, PICTURE, Form
from hoptrail.text.sentences import LONGEST_SENTENCE
from hoptrail.types import BlockKind

FILES = sorted(path for path in (Path(__file__).parent / "blocks").glob("*/*") if path.suffix != ".blocks")

MARKS = {
    "markdown": r"^#{1,6} |\*\*|\]\(|^\||^>|```|^[-*+] |<(?:br|b|i|p|kbd|/\w+)\b|&(?:amp|lt|nbsp);|^---$",
    "html": r"</?(?:p|div|span|a|b|i|em|strong|td|tr|li|br|h[1-6])\b[^>]*>|&(?:amp|lt|gt|nbsp|quot);",
    "rst": r"``|\*\*|`_|\w_\b(?!\w)|^\.\. |::$|:\w+:`|^[=-]{4,}$",
    "man": r"^[.'][A-Za-z]{1,3} |\\(?:f[BIRP(]|[-&(|*])|\b(?:Fl|Ar|Ns|Xo|Xc|Oo|Oc) ",
    "info": r"[\x00-\x08\x0c\x0e\x1f]|\*[Nn]ote |^\* Menu|^File: |Tag Table",
    "org": r"^\*+ |\[\[|#\+|^\s*:\w+:|(?<!\w)[=*/]\w+[=*/](?!\w)|[<\[]\d{4}-",
}
MARKS |= {"ipynb": MARKS["markdown"], "epub": MARKS["html"]}
"""Markup that must not remain in the text of a format, except in code."""

SOURCES = [
    pattern.strip()
    for line in (Path(__file__).parent / "blocks" / "SOURCES").read_text("utf-8").splitlines()
    if line[:1].strip() and not line.startswith(("Where", "The others"))
    for pattern in line.split("  ")[0].split(",")
]
"""Patterns of the files that common programs made or that come from packages, as listed in SOURCES."""


@cache
def parsed_once(path: Path) -> Parsed:
    return parse(path)


def form_name(path: Path) -> str:
    return form_at(path).name


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_gives_the_blocks_beside_it_which_keep_what_all_blocks_promise(path: Path) -> None:
    parsed = parsed_once(path)
    assert block_lines(parsed) == path.with_name(f"{path.name}.blocks").read_text("utf-8")
    check_that_blocks_tile_the_text(parsed)
    check_that_no_sentence_crosses_a_block(parsed)
    check_that_cells_lie_within_their_row(parsed)
    check_that_no_markup_is_left(parsed, MARKS.get(form_name(path)))
    assert unpack(pack(parsed.blocks)) == parsed.blocks
    assert [block for block in parsed.blocks if not block.place] == []


def check_that_blocks_tile_the_text(parsed: Parsed) -> None:
    assert parsed.blocks[0].start == 0
    assert parsed.blocks[-1].end == len(parsed.text)
    assert all(one.end == other.start for one, other in pairwise(parsed.blocks))
    assert all(parsed.text[block.start : block.end].strip() for block in parsed.blocks)


def check_that_no_sentence_crosses_a_block(parsed: Parsed) -> None:
    ends = ends_within(parsed.text, parsed.blocks, LONGEST_SENTENCE)
    assert list(ends) == sorted(set(ends))
    assert {block.end for block in parsed.blocks} <= set(ends)
    assert ends[-1] == len(parsed.text)


def check_that_cells_lie_within_their_row(parsed: Parsed) -> None:
    for block in parsed.blocks:
        assert bool(block.cells) == (block.kind is BlockKind.ROW)
        values = [parsed.text[cell.start : cell.end] for cell in block.cells]
        labels = [
            f"{cell.header}: {value}" if cell.header else value for cell, value in zip(block.cells, values, strict=True)
        ]
        written = parsed.text[block.start : block.end].rstrip("\n")
        assert not values or written in {"\t".join(values), "\t".join(labels)}
        assert not any("\t" in value or "\n" in value for value in values)
        assert not (block.is_header and any(cell.header for cell in block.cells))


def check_that_no_markup_is_left(parsed: Parsed, marks: str | None) -> None:
    for block in parsed.blocks:
        text = parsed.text[block.start : block.end]
        if marks is not None and block.kind is not BlockKind.CODE:
            assert re.search(marks, text, re.MULTILINE) is None, text
        assert "\r" not in text
        assert "\0" not in text


@pytest.mark.parametrize("path", [path for path in FILES if form_name(path) == "html"], ids=lambda path: path.name)
def test_a_block_of_a_page_has_the_line_of_its_text(path: Path) -> None:
    parsed, lines = parsed_once(path), path.read_text("utf-8").splitlines()
    for block in parsed.blocks:
        spans = [(cell.start, cell.end) for cell in block.cells] or [(block.start, block.end)]
        first = [parsed.text[start:end].split()[0].strip("[]():,.") for start, end in spans if start < end]
        line = html.unescape(re.sub("<[^>]*>", "", lines[int(block.place.removeprefix("line ")) - 1]))
        assert any(word in line for word in first), block


def test_there_are_files_of_every_format_and_enough_from_programs() -> None:
    by_programs = {path for path in FILES for pattern in SOURCES if path.match(pattern)}
    read = {form.name for form in FORMS if form.parser and form.name != PICTURE}  # test_ocr draws them
    missing = read - {form_name(path) for path in FILES}
    assert not missing, f"{missing}: a file of each, in a folder of tests/documents/blocks"
    assert len(FILES) >= 60
    assert len(by_programs) >= 20


def test_every_expectation_belongs_to_a_file() -> None:
    expected = {path.with_name(f"{path.name}.blocks") for path in FILES}
    assert set((Path(__file__).parent / "blocks").rglob("*.blocks")) == expected


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_every_format_is_documented(form: Form) -> None:
    page = (Path(__file__).parents[2] / "docs" / "formats.md").read_text("utf-8")
    missing = [ending for ending in form.endings if f"`{ending}`" not in page]
    assert not missing, f"{form.name}: a row in docs/formats.md that has {', '.join(missing)}"
