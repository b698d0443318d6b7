"""Manual pages are recognised by their content, lose their macros and escapes, and keep an option with its description."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from hoptrail.documents.blocks import Parsed
from hoptrail.documents.forms import is_manual_page
from hoptrail.documents.limits import DEFAULT_LIMITS, Unreadable
from hoptrail.documents.man.macros import parse_man
from hoptrail.documents.read_sources import Findings, read_sources
from hoptrail.types import BlockKind, Document

HEAD = '.TH TIDE 1 "4 March 2024"\n.SH NAME\ntide \\- move water\n.SH TEXT\n'


def parsed(body: str) -> Parsed:
    return parse_man((HEAD + body).encode(), DEFAULT_LIMITS)


def text_of(body: str) -> str:
    return parsed(body).text.partition("TEXT")[2].strip()


def blocks_of(body: str) -> list[tuple[str, int, str]]:
    page = parsed(body)
    blocks = [(str(block.kind), block.level, page.text[block.start : block.end].strip()) for block in page.blocks]
    return blocks[3:]


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (r"\fBbold\fR \f(CWcode\fP \f[I]x\f[] \s-1SMALL\s0 \m[red]red\m[]", "bold code x SMALL red"),
        (r"a\-b \& \e \\ \(bu \(co \(aq \(em \[lq]x\[rq] \('e \[u00E9] \[oq] \(*a", r"a-b \ \ • © ' — “x” é é ‘ α"),
        (r"a\|b\^c\:d\%e\/f a\ b a\~b a\0b", "abcdef a b a b a b"),
        (r"\h'-04'\(bu\h'+03' x\v'1'y\w'ab'z \o'ao'", "• xyz ao"),
        (r"\*(lqx\*(rq \*R \*[none]\*(Aq", "“x” ® '"),
        (r"x \" comment", "x"),
        ('.\\" comment\nx\n\'\\" comment', "x"),
        ('.B one two\n.BR a (1),\n.IR "b c" d\n.RB [ -x ]', "one two a(1), b cd [-x]"),
        ('.XY unknown "macro stays"', "unknown macro stays"),
        ("one\\\ntwo\nthree\\c\nfour", "onetwo threefour"),
        ("one\n.br\ntwo\n three", "one\ntwo\nthree"),
        (".if n terminal\n.if t typesetter\n.ie n \\{\\\nno\n.\\}\n.el \\{\\\nyes\n.\\}", "typesetter yes"),
        (".if \\n(.g yes\n.if 'a'b' no\n.if !'a'b' and\n.if \\nx>1 more", "yes and"),
        (".de XX\nhidden\n..\n.ig\nhidden\n..\nshown", "shown"),
        (".ds dog Rex\n.as dog \\& II\n\\*[dog]", "Rex II"),
        (".MT a@example.org\nAnn\n.ME ,\n.MR tide 5 .", "Ann <a@example.org>, tide(5)."),
        (".UR https://tide.example\nTides\n.UE :\nhigh\n.UE\nlow", "Tides <https://tide.example>: high low"),
        (".SY tide\n.OP \\-l metres\n.YS", "tide [-l metres]"),
        (".PS\nbox\n.PE\nx", "x"),
        (".PS\nbox\n.SH x", "x"),
        (".de PS\n.nf\n..\n.PS\nint f();\n.PE\nx", "int f(); x"),
        ("\\(zz", "\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_macros_and_escapes_become_readable_text(line: str, shown: str) -> None:
    assert text_of(line) == shown


@pytest.mark.parametrize(
    "source",
    [
        ".TP\n.B \\-v\nSay more.",
        ".TP 8\n\\fB\\-v\\fR\n.PD 0\nSay\nmore.",
        ".IP \\-v 4\nSay more.",
        '.ie n .IP """-v""" 4\n.el .IP "\\f(CW-v\\fR" 4\n.IX Item "-v"\nSay more.',
        ".PP\n\\fB\\-v\\fR\n.RS 4\nSay more.\n.RE",
        ".Bl -tag -width Ds\n.It Fl v\nSay more.\n.El",
        ".Bl -tag\n.It Xo\n.Fl v\n.Xc\nSay more.\n.El",
    ],
)
def test_an_option_and_its_description_are_one_item(source: str) -> None:
    assert blocks_of(source) == [("item", 1, "-v: Say more.")]


def test_tags_without_a_description_share_the_next_one() -> None:
    assert text_of(".TP\n-a\n.TQ\n-b\nx\n.IP -c\n.IP -d\ny") == "-a, -b: x\n-c, -d: y"


def test_what_is_indented_belongs_to_its_item() -> None:
    source = ".TP\n-a\none\n.RS\n.TP\nx\ntwo\n.PP\nthree\n.RE\n.PP\nfour"
    expected = [("item", 1, "-a: one"), ("item", 2, "x: two"), ("paragraph", 1, "three"), ("paragraph", 0, "four")]
    assert blocks_of(source) == expected


def test_examples_keep_their_lines() -> None:
    assert blocks_of(".nf\n  a  b\n\n    .c\n\\&.d\n.fi\ne") == [
        ("code", 0, "a  b\n\n    .c\n.d"),
        ("paragraph", 0, "e"),
    ]
    assert blocks_of(".Bd -literal\na\n.Ed\n.Dl b") == [("code", 0, "a"), ("code", 0, "b")]


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        (".TS\nlb lb\nl l.\nA\tB\n1\t2\n.TE", [("", "A", "B"), ("row", "A=1", "B=2")]),
        (".TS\ntab(|);\nl l.\nA|B\n_\n1|T{\n.B two\nlines\nT}\n.TE", [("", "A", "B"), ("row", "A=1", "B=two lines")]),
        (".TS\nl l.\n1\t2\n3\t\\^\n.TE", [("row", "1", "2"), ("row", "3", "2")]),
        (".TS\nl l.\n.B 1\t2\n.PP\n3\t4\n.TE", [("row", "1", "2"), ("row", "3", "4")]),
    ],
)
def test_tables_have_rows_with_headers(table: str, rows: list[tuple[str, ...]]) -> None:
    page = parsed(table)
    found = [
        (
            "" if block.is_header else "row",
            *(f"{cell.header}={page.text[cell.start : cell.end]}".removeprefix("=") for cell in block.cells),
        )
        for block in page.blocks
        if block.kind is BlockKind.ROW
    ]
    assert found == rows


@pytest.mark.parametrize(
    "following",
    [
        ".SH NEXT\n.B two",
        "NEXT\n.B two",
        ".TS\nl l.\nNEXT\n.TE\n.B two",
        "3\tT{\n4\nT}\n.SS NEXT\n.TS\nl.\ntwo\n.TE",
    ],
)
def test_a_table_that_never_ends_costs_nothing_after_it(following: str) -> None:
    words = text_of(f".TS\nl l.\n1\t2\n{following}").split()
    assert words == ["1", "2", *["3", "4"] * following.startswith("3"), "NEXT", "two"]


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (".Op Fl o Ar key Ns = Ns Ar value .", "[-o key=value]."),
        (".Fl a , b\n.Fl\n.Fl Fl c\n.Ar\n.Ar x ...", "-a, -b - --c file ... x ..."),
        (".Oo a Oc\n.Ao b\n.Ac\n.Dq c d .\n.Sq e\n.Pq f\n.Bq g\n.Brq h\n.Aq i", "[a] <b> “c d”. ‘e’ (f) [g] {h} <i>"),
        (".Pf ( Ar x )\n.No y Ap s", "(x) y's"),
        (".Xr tide 5 ,\n.Xr log", "tide(5), log"),
        (".Bx 4.3 Reno ,\n.Fx ,\n.At v7", "4.3BSD-Reno, FreeBSD, AT&T UNIX v7"),
        (".Lk https://example.org page", "page <https://example.org>"),
        (".Fn f a b ;\n.Em \\&Ar", "f(a, b); Ar"),
    ],
)
def test_mdoc_macros_are_read_within_a_line(line: str, shown: str) -> None:
    assert text_of(line) == shown


def test_the_title_is_name_and_section_and_the_date_that_of_the_page() -> None:
    page = parsed("x")
    assert (page.title, page.date, page.date_from) == ("tide(1)", "2024-03-04", "man page date")
    mdoc = parse_man(b".Dd May 6, 2023\n.Dt TIDE 8\n.Sh NAME\n.Nm Tide\n.Nd moves", DEFAULT_LIMITS)
    assert (mdoc.title, mdoc.date) == ("Tide(8)", "2023-05-06")
    assert parse_man(b".TH X 7\n.SH NAME\nother \\- y", DEFAULT_LIMITS).title == "X(7)"


def test_pages_are_recognised_by_their_content(tmp_path: Path) -> None:
    page = (HEAD + "Text.").encode()
    (tmp_path / "report.1").write_text("An ordinary text.\n\n.TH is a macro.\n")
    (tmp_path / "tide.1").write_bytes(page)
    (tmp_path / "tide.3pm.gz").write_bytes(gzip.compress(page + b" Packed."))
    (tmp_path / "tides.1").write_text(".so man1/tide.1\n")
    (tmp_path / "libtide.so.1").write_bytes(b"\x7fELF\0\0\1\2" * 50)
    findings = Findings()
    found = [one for one in read_sources([tmp_path], findings=findings) if isinstance(one, Document)]
    assert [one.title for one in found] == ["report.1", "tide(1)", "tide(1)", "tides.1"]
    assert [one.notes for one in found] == [(), (), (), ("only refers to another page (man1/tide.1)", "holds no text")]
    assert [Path(name).name for name in findings.left_out] == ["libtide.so.1"]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'\'\\" t\n.\\" x\n\n.TH A 1', True),
        (b".de X\n..\n.Dd May 1, 2020\n.Dt A 1", True),
        (b"Text\n.TH A 1", False),
        (b".profile\nis read by the shell", False),
        (b"", False),
    ],
)
def test_the_first_macro_decides(data: bytes, expected: bool) -> None:
    assert is_manual_page(data) is expected


def test_lists_nested_too_deep_and_swelling_strings_are_refused() -> None:
    with pytest.raises(Unreadable, match="nested too deep"):
        parsed(".Bl -tag\n.It a\n" * 500)
    with pytest.raises(Unreadable, match="string of more than"):
        parsed(".ds a xxxxxxxxxx\n" + ".as a \\*a\n" * 30)


def test_a_tag_without_text_stands_before_the_list_within_it() -> None:
    assert blocks_of(".TP\n.B outer\n.RS\n.TP\n.B inner\nx\n.RE\n")[-2:] == [
        ("item", 1, "outer"),
        ("item", 2, "inner: x"),
    ]
