"""Parsing of markup takes linear time on any text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from counting import steps
from hoptrail.documents.forms import parser_of
from hoptrail.documents.limits import DEFAULT_LIMITS

FORMS = ("markdown", "html", "rst", "org", "man", "info")
ANYWHERE = "# a§§b\n\nc§d\n\n- e§f"
"""`§` stands for what is repeated, here in a heading, a paragraph and an item."""

PAGE = '.TH TIDE 1 "4 March 2024"\n.SH NAME\ntide \\- move water\n.SH TEXT\n'
BEFORE_MACROS = ("", ".Op ", ".IP ", ".TS\nl l.\n", ".Bl -tag\n.It a\n", ".Bl -column\n.It ")
MACROS = (
    *("\\fB", "\\h'", "\\[", "\\*(", '"', "\\\n", "\n.if n \\{", "\n.ie n", "\n.de x", "\n.Bd -literal\nx", "\n.RS"),
    *(" Op", " Fl a", "\n.TS\nl l.", "\nT{\nx", "\n.TP\na", "\n.TQ\na", "\n.PP\na\n.RS\nb\n.RE", "\n.It Xo", "\n.RE"),
    *("\n.El", "\n.Ed", "\n.Fo a", "\n.Sm off\na", "\nx\\c", "\n.nf\nx", "\n.TE", "\n.UE"),
)
MANUAL = "This is tide.info, produced by makeinfo.\n\n\x1f\nFile: tide.info,  Node: Top\n\nTides\n*****\n\n"
IN_MANUALS = (
    *("\0\x08[index", '\0\x08[image text="', "\x1f\n", "\x1f\nFile: a, Node: b\n\nA\n=\n", "* Menu:\n\n", "\n* a:: b"),
    *("*note a", "*note a: b", "\n   * a", "\na\n     b", "\n\n a", "\n.", "*", "‘"),
)


def cases() -> Iterator[tuple[str, str, str]]:
    for piece in (" ", "\t", "x ", "\n", "{:", "a: b\n", "|a", "<"):
        yield from ((form, ANYWHERE, piece) for form in FORMS)
    for piece in MACROS:
        yield from (("man", f"{PAGE}{before}§", piece) for before in BEFORE_MACROS)
    yield from (("info", f"{MANUAL}§", piece) for piece in IN_MANUALS)


@pytest.mark.parametrize(("form", "text", "piece"), list(cases()))
def test_c1_work_is_linear_whatever_the_text(form: str, text: str, piece: str) -> None:
    parse = parser_of(form)

    def work(times: int) -> int:
        return steps(lambda: parse(text.replace("§", piece * times).encode(), DEFAULT_LIMITS))

    work(1)
    assert work(400) < 9 * work(50), "eight times as much, not sixty-four times"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("piece", [" ", "\t", "x ", "{:", "|a", "<"])
def test_c1_no_pattern_takes_quadratic_time(form: str, piece: str) -> None:
    times = 20_000 if form == "markdown" else 100_000
    text = ANYWHERE.replace("§", piece * times)
    parser_of(form)(text.encode(), DEFAULT_LIMITS)  # a quadratic pattern takes longer than a test may
