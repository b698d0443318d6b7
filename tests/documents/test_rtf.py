r"""RTF apart from its blocks (see `blocks/rtf`): characters in all their spellings, notes, tables, and files that are cut off."""

from __future__ import annotations

import pytest

from documents.block_lines import lines_of
from hoptrail.documents.limits import DEFAULT_LIMITS, ReadingLimits, Unreadable
from hoptrail.documents.markup import HIDDEN, STRUCK
from hoptrail.documents.rtf import parse_rtf

FONTS = r"{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset204 Arial Cyr;}{\f2\fcharset177 Arial;}}"


def body(text: str) -> list[str]:
    return lines_of("rtf", f"{{\\rtf1\\ansi {text}}}")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (rf"{FONTS}\f1 \'cf\'f0\'e8\'e2\'e5\'f2\f0  caf\'e9", "Привет café"),
        (rf"{FONTS}{{\f2 \'f9\'ec\'e5\'ed}} is peace", "שלום is peace"),
        (r"\ansicpg1251 \'cf\'f0\'e8", "При"),
        (r"\ansicpg99999 caf\'e9", "café"),
        (r"\uc1\u8364?5 and \u-10179?\u-8704? and \uc0\u233 x", "€5 and 😀 and éx"),
        (r"\uc2\u8364 abcd", "€cd"),
        (r"{\uc3\u8364 {abc}}d", "€abcd"),
        (r"a\{b\}\\c\~d\_e\-f", "a{b}\\\\c\xa0d-ef"),
        (r"\lquote a\rquote  \ldblquote b\rdblquote  c\emdash d\endash e\tab f", "‘a’ “b” c—d–e\\tf"),
        ("in one\r\nword, and\\line next", "in oneword, and\\nnext"),
        (r'{\field{\*\fldinst HYPERLINK "http://x.org"}{\fldrslt the plan}} is here', "the plan is here"),
        (r"{\*\unknown secret}seen{\pict 00ff}", "seen"),
        (r"{\info{\title Harbour}{\author Ada}}{\header Running}{\footer 12}x", "x"),
        (r"20 m{\super 2} of H{\sub 2}O by the clerk{\super 3}", "20 m² of H₂O by the clerk[3]"),
        (r"\'8 and \'zz", "'8 and 'zz"),
    ],
)
def test_characters_are_those_that_are_seen(text: str, shown: str) -> None:
    assert body(text) == [f"paragraph |  | paragraph 1 | {shown}"]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            r"\outlinelevel0 Top\par\pard\outlinelevel2 Deep\par\pard Text\par\pard\outlinelevel1 Mid\par\pard End",
            [
                "heading 1 |  | paragraph 1 | Top",
                "heading 3 | Top | paragraph 2 | Deep",
                "paragraph | Top > Deep | paragraph 3 | Text",
                "heading 2 | Top | paragraph 4 | Mid",
                "paragraph | Top > Mid | paragraph 5 | End",
            ],
        ),
        (
            r"{\listtext 1.\tab}\ilvl0 Rope\par{\listtext a)\tab}\ilvl1 thin\par{\listtext\bullet\tab}\ilvl0 Buoy\par\pard End",
            [
                "item 1 ordered |  | paragraph 1 | Rope",
                "item 2 ordered |  | paragraph 2 | thin <- Rope",
                "item 1 |  | paragraph 3 | Buoy",
                "paragraph |  | paragraph 4 | End",
            ],
        ),
        (
            r"\trowd\intbl Name\cell Town\cell\row\intbl Ada\cell Bern\cell\row\intbl Bo\cell Basel\par Stadt\cell\row\pard End",
            [
                "row header |  | paragraph 1 | Name ¦ Town",
                "row |  | paragraph 2 | Name=Ada ¦ Town=Bern",
                "row |  | paragraph 3 | Name=Bo ¦ Town=Basel Stadt",
                "paragraph |  | paragraph 4 | End",
            ],
        ),
        (
            r"It rose{\footnote At noon, as {\footnote By Bo.}told.} and{\*\atnauthor Ada}{\*\annotation Since?} fell.\par Then",
            [
                "paragraph |  | paragraph 1 | It rose[1] and fell.",
                "paragraph |  | footnote 1 | [1] At noon, as [2]told.",
                "paragraph |  | footnote 2 | [2] By Bo.",
                "paragraph |  | comment 1 | Comment by Ada: Since?",
                "paragraph |  | paragraph 2 | Then",
            ],
        ),
        (
            r"\b Fares\b0\par\pard A crossing costs two euros, and a child that walks crosses for nothing.",
            [
                "heading 6 |  | paragraph 1 | Fares",
                "paragraph | Fares | paragraph 2 | A crossing costs two euros, and a child that walks crosses for nothing.",
            ],
        ),
    ],
    ids=["levels", "lists", "table", "notes", "bold line"],
)
def test_paragraphs_are_headings_items_rows_and_notes(text: str, lines: list[str]) -> None:
    assert body(text) == lines


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        (r"a{\v x}b", [HIDDEN]),
        (r"a{\strike x}b", [STRUCK]),
        (r"a\v x\plain b{\deleted y}", [HIDDEN, STRUCK]),
        (r"a\v0 b", []),
    ],
)
def test_what_is_hidden_or_struck_out_is_told(text: str, notes: list[str]) -> None:
    assert body(text) == [*(f"note: {note}" for note in notes), "paragraph |  | paragraph 1 | ab"]


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (rb"{\rtf1 cut off in the mid\b dle {\i and", "cut off in the middle and"),
        (rb"{\rtf1 a}}}}} b\par", "a b"),
        (b"\xef\xbb\xbf\r\n{\\rtf1 marked}", "marked"),
        (b"{\\rtf1 a\\\nb", "a|b"),
        (rb"{\rtf1 it ends with \intbl a row\cell", "it ends with a row"),
        (rb"{\rtf1 \intbl a\cell b\cell\row \intbl c\cell d\cell \intbl e", "a ¦ b|a=c ¦ b=d|e"),
        (rb"{\rtf", ""),
    ],
)
def test_a_damaged_file_is_read_as_far_as_it_goes(data: bytes, shown: str) -> None:
    assert "|".join(line.split(" | ", 3)[3] for line in lines_of("rtf", data)) == shown


@pytest.mark.parametrize(
    ("data", "why"), [(b"", "is not an RTF"), (b"Text", "is not an RTF"), (b"{\\rtf1" + b"{" * 5001, "too deep")]
)
def test_what_is_no_document_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        parse_rtf(data, DEFAULT_LIMITS)
    with pytest.raises(Unreadable, match="raise the limit `text`"):
        parse_rtf(b"{\\rtf1 long}", ReadingLimits(text=8))
