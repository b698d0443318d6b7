"""What holds for every text document of an office program, however it nests lists, tables, notes and tracked changes: no word is
lost, and its blocks keep their promises.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from documents.file_makers import with_member, word_body
from documents.test_docx import PAGE, cell, content_control, paragraph, row, run, styled, table
from documents.test_laws import check, parsed
from documents.test_odf import NOTE, archive, items, p, rows

Bodies = st.SearchStrategy[str]
WORD = "§"
"""What a word of its own stands for in the end."""


def numbered(body: str) -> str:
    words = count()
    return re.sub(WORD, lambda _: f" word{next(words)} ", body)


def joined(parts: Bodies, most: int = 3) -> Bodies:
    return st.lists(parts, max_size=most).map("".join)


def word_documents() -> Bodies:
    """Bodies of Word files."""
    wraps: tuple[Callable[[str], str], ...] = (
        content_control,
        lambda runs: f'<w:ins w:id="1" w:author="a">{runs}</w:ins>',
        lambda runs: f'<w:fldSimple w:instr="REF x">{runs}</w:fldSimple>',
        lambda runs: f'<w:hyperlink w:anchor="x">{runs}</w:hyperlink>',
    )
    run_ = st.sampled_from((run(WORD), run(""), PAGE, run(f"{WORD}:")))
    runs = joined(run_ | st.builds(lambda wrap, inside: wrap(inside), st.sampled_from(wraps), joined(run_)))
    styles = st.sampled_from(
        ("", "", "Heading1", "Heading3", "ListBullet", "ListBullet2", "ListNumber", "Title", "Quote")
    )
    block = st.builds(lambda style, inside: styled(style, inside) if style else paragraph(inside), styles, runs)

    def tables(blocks: Bodies) -> Bodies:
        filled = st.builds(
            lambda inside, span: cell(inside or paragraph(), span=span), joined(blocks, 2), st.sampled_from((1, 1, 2))
        )
        merged = st.sampled_from(("", "restart", "continue")).map(lambda merge: cell(merge=merge))
        lines = st.lists(filled | merged, min_size=1, max_size=3).map(lambda cells: row(*cells))
        return st.lists(lines, min_size=1, max_size=4).map(lambda rows: table(*rows) + paragraph())

    return joined(st.recursive(block, lambda inner: tables(inner) | inner.map(content_control), max_leaves=6), 4)


def open_documents() -> Bodies:
    """Bodies of OpenDocument texts."""
    heading = f'<text:h text:outline-level="2">{WORD}</text:h>'
    comment = f"<office:annotation>{p(WORD)}</office:annotation>"
    texts = (WORD, "", f"{WORD}:", f"{WORD}<text:tab/>{WORD}", WORD + NOTE.replace("By Bo.", WORD), WORD + comment)
    block = st.sampled_from((heading, *map(p, texts)))
    lists = st.recursive(
        block, lambda inner: st.lists(joined(inner), max_size=3).map(lambda found: items(*found)), max_leaves=5
    )

    def tables(blocks: Bodies) -> Bodies:
        lines = st.lists(joined(blocks, 2), min_size=1, max_size=3).map(tuple)
        return st.lists(lines, max_size=4).map(lambda found: rows(*found))

    return joined(st.recursive(lists, tables, max_leaves=6), 4)


def word_file_of(folder: Path) -> Callable[[str], bytes]:
    """A function that makes a Word file with a body; its other members are made once."""
    path = word_body(folder / "a.docx", paragraph(run(WORD)))
    with zipfile.ZipFile(path) as archived:
        around = re.split("<w:p>.*?</w:p>", archived.read("word/document.xml").decode(), maxsplit=1, flags=re.DOTALL)
    return lambda body: with_member(path, "word/document.xml", body.join(around).encode())


@pytest.mark.parametrize(("form", "examples"), [("docx", 15), ("odt", 60)])
def test_no_word_of_an_office_document_is_lost(form: str, examples: int, tmp_path: Path) -> None:
    made = word_file_of(tmp_path) if form == "docx" else lambda body: archive("text", body)

    @settings(max_examples=examples, suppress_health_check=[HealthCheck.too_slow])
    @given((word_documents() if form == "docx" else open_documents()).map(numbered))
    def holds(body: str) -> None:
        found = parsed(form, made(body))
        assert found is not None
        check(found)
        headers = (cell.header for block in found.blocks for cell in block.cells)
        shown = " ".join((found.title, found.text, *headers))
        assert set(re.findall(r"word\d+", body)) <= set(re.findall(r"word\d+", shown))

    holds()
