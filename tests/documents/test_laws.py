"""What holds for every file of a format, however odd: each is put together of fragments that its files are made of."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hoptrail.documents.blocks import Parsed, ends_within, pack, unpack
from hoptrail.documents.forms import parser_of
from hoptrail.documents.limits import DEFAULT_LIMITS, Unreadable
from hoptrail.types import BlockKind, Document

WORDS = (
    "Ada",
    "a b",
    "5 March 2024",
    "Tide table:",
    "It burnt.",
    "שלום",
    "港口",
    "é",
    "😀",
    "x" * 90,
    "12.50",
    "\t",
    " ",
)
"""Texts of any format."""

FRAGMENTS = {
    "text": "- ¦1. ¦1.2 ¦=====¦* ¦** ¦> ¦-----¦Chapter 1. ¦New in 2.1:¦well-\nknown",
    "markdown": "# ¦#### ¦- ¦1. ¦> ¦```¦| a | b |¦|---|---|¦---¦[^1]¦[^1]: ¦<b>¦<td>¦**",
    "html": "<p>¦<td>¦<tr>¦<table>¦</table>¦<li>¦<ul>¦</ul>¦<h3>¦</h3>¦<pre>¦&amp¦<!--¦<b",
    "rst": "====¦- ¦::¦.. note::¦   ¦+--+\n|a |\n+--+¦[1]_¦.. [1] ¦``¦|¦:Field: ¦`a <b>`_",
    "org": "* ¦*** ¦- ¦1) ¦| a | b |¦|---+---|¦#+begin_src¦#+end_src¦:PROPERTIES:¦:END:¦#+title: ¦[fn:1]",
    "man": ".SH ¦.TP¦.IP a¦.PP¦.nf¦.fi¦.RS¦.RE¦.TS¦l l.¦.TE¦.Bl -tag¦.It ¦.El¦\\fB¦.de x¦..",
    "rtf": "\\par ¦\\cell ¦\\row ¦\\intbl ¦{¦}¦\\b ¦\\'e9¦\\u233?¦\\footnote ¦\\v ¦{\\listtext 1.}",
    "latex": "\\section{¦}¦\\item ¦\\begin{itemize}¦\\end{itemize}¦\\begin{tabular}{l}¦&¦\\\\¦\\footnote{¦$¦%¦\\[",
    "code": 'def f():¦class A:¦# ¦"""¦    ¦return 1¦function g() {¦}¦/*¦*/¦const x = () =>',
    "subtitles": "00:01.000 --> 00:02.000¦<v Ada>¦ADA: ¦- ¦WEBVTT¦NOTE¦{\\an8}¦99:00:01,000 --> 99:00:02,000",
    "calendar": "BEGIN:VEVENT¦END:VEVENT¦SUMMARY:¦DTSTART:20260303¦DTEND:x¦RRULE:BYDAY=MO¦BEGIN:VCARD¦N:a;b¦\\n",
    "chat": "05/03/2024, 09:30 - Ada: ¦[3/14/26, 6:05:30 PM] Bo: ¦99/99/99, 25:99 - Cy: ¦<Media omitted>¦\u200e",
    "csv": ',¦;¦\t¦"¦""¦sep=;¦Name,Town¦1,5',
    "json": '{¦}¦[¦]¦"a":¦"b"¦,¦1.10¦null¦{}\n',
    "yaml": "a: ¦- ¦  ¦|¦&x ¦*x¦---¦? ¦{¦}¦# ¦'",
    "xml": "<r>¦</r>¦<a n='1'>¦</a>¦<b/>¦<![CDATA[¦]]>¦&amp;¦&q;¦<?xml version='1.0'?>",
    "ipynb": '{"cells":[¦{"cell_type":"markdown","source":"# A"}¦{"cell_type":"code","source":["x"]}¦,¦]}¦null',
    "mail": 'From: a@e.org¦Subject: ¦Content-Type: text/html¦Content-Type: multipart/mixed; boundary="b"¦--b¦--b--¦> ¦<p>',
    "info": "\x1f¦File: a.info,  Node: Top¦***¦* Menu:¦* B:: x¦*note B::¦\0\x08[index\0\x08]",
}
"""By format, what its files are made of, with a bar between each two."""

FIRST = {"rtf": "{\\rtf1 ", "man": ".TH X 1\n", "mail": "From: ada@e.org\nSubject: Tide\n", "xml": "<r>"}
"""What a file of a format begins with, for most of them."""


def texts_of(form: str) -> st.SearchStrategy[str]:
    pieces = st.tuples(
        st.sampled_from((*FRAGMENTS[form].split("¦"), *WORDS)), st.sampled_from(("", "", "\n", "\n", "\n\n", " "))
    )
    body = st.lists(pieces, max_size=25).map(lambda parts: "".join(text for part in parts for text in part))
    return st.tuples(st.sampled_from((FIRST.get(form, ""),) * 3 + ("",)), body).map("".join)


def parsed(form: str, content: str | bytes) -> Parsed | None:
    """The parsed file; None if it is refused. Any other error is a defect."""
    try:
        return parser_of(form)(content if isinstance(content, bytes) else content.encode(), DEFAULT_LIMITS)
    except Unreadable:
        return None


def check(found: Parsed) -> None:
    text, blocks = found.text, found.blocks
    Document("d1", found.title, text, ends_within(text, blocks), ("/x",), blocks=blocks)  # refuses what does not tile
    for block in blocks:
        shown = text[block.start : block.end]
        assert shown.strip(), block
        assert block.place, block
        assert bool(block.cells) == (block.kind is BlockKind.ROW), block
        assert "\r" not in shown
        bounds = [block.start, *(at for cell in block.cells for at in (cell.start, cell.end)), block.end]
        assert bounds == sorted(bounds), block
        for cell in block.cells:
            assert text[cell.start : cell.end].strip() == text[cell.start : cell.end], cell
    for above, below in pairwise(blocks):
        if above.kind is BlockKind.HEADING and below.kind is not BlockKind.HEADING:
            assert len(below.path) in {len(above.path) + 1, 0}, below
    assert unpack(pack(blocks)) == blocks


@pytest.mark.parametrize("form", FRAGMENTS)
def test_any_file_is_refused_or_gives_blocks_that_keep_their_promises(form: str) -> None:
    @example("")
    @example("\n")
    @example(" \t\n\n")
    @settings(max_examples=40)
    @given(texts_of(form))
    def holds(text: str) -> None:
        if (found := parsed(form, text)) is not None:
            check(found)
            assert parsed(form, text) == found

    holds()


LEAVES_OUT = {
    "text": "well-\nknown",
    "markdown": "---",
    "html": "<!--¦<b¦</table>",
    "rst": "",
    "org": "#+title: ¦:PROPERTIES:¦:END:",
    "man": ".de x¦..¦.TS",
    "rtf": "\\v ¦\\'e9",
    "latex": "%",
    "code": "",
    "csv": "sep=;",
    "chat": "",
}
"""By format, the fragments that hide or change what follows them. The words of the other formats stand only where they may."""
WHOLE_LINES = {"markdown", "rst", "org", "man"}
"""Formats in which a word that joins a fragment may become part of a name or a comment."""


def numbered(parts: Iterable[tuple[str, str]]) -> str:
    """The fragments and what stands between them, with a word of its own in place of each mark."""
    words = iter(range(1000))
    return "".join((f"word{next(words)}z" if fragment == "§" else fragment) + gap for fragment, gap in parts)


@pytest.mark.parametrize("form", LEAVES_OUT)
def test_no_word_of_a_file_is_lost(form: str) -> None:
    kept = [one for one in FRAGMENTS[form].split("¦") if one not in LEAVES_OUT[form].split("¦")]
    gaps = ("\n", "\n\n") if form in WHOLE_LINES else ("", "", "\n\n", " ")
    parts = st.lists(st.tuples(st.sampled_from((*kept, *["§"] * len(kept))), st.sampled_from(gaps)), max_size=20)

    @settings(max_examples=150)
    @given(parts.map(numbered))
    def holds(body: str) -> None:
        text = FIRST.get(form, "") + body
        if (found := parsed(form, text)) is not None:
            shown = " ".join((found.text, *(cell.header for block in found.blocks for cell in block.cells)))
            assert set(re.findall(r"word\d+z", text)) <= set(re.findall(r"word\d+z", shown))

    holds()
