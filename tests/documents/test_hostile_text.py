"""Parsing of markup takes linear time on any text."""

from __future__ import annotations

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


CASES = {
    **dict.fromkeys(FORMS, (ANYWHERE, (" ", "\t", "x ", "\n", "{:", "a: b\n", "|a", "<"))),
    **{f"man after {before!r}": (f"{PAGE}{before}§", MACROS) for before in BEFORE_MACROS},
    "info in a manual": (f"{MANUAL}§", IN_MANUALS),
}
"""The form, where it is, and what is repeated there."""


@pytest.mark.parametrize("case", CASES)
def test_c1_work_is_linear_whatever_the_text(case: str) -> None:
    parse, (text, pieces) = parser_of(case.split(maxsplit=1)[0]), CASES[case]
    for piece in pieces:

        def work(times: int, piece: str = piece) -> int:
            return steps(lambda: parse(text.replace("§", piece * times).encode(), DEFAULT_LIMITS))

        work(1)
        assert work(400) < 9 * work(50), f"{piece!r}: eight times as much, not sixty-four times"


def test_c1_work_is_linear_for_titles_within_one_another() -> None:
    def work(times: int) -> int:
        text = "\\title{" * times + "Tide" + "}" * times
        return steps(lambda: parser_of("latex")(text.encode(), DEFAULT_LIMITS))

    work(1)
    assert work(400) < 9 * work(50)


@pytest.mark.parametrize("form", [*FORMS, "latex"])
def test_c1_no_pattern_takes_quadratic_time(form: str) -> None:
    times = 20_000 if form in ("markdown", "latex") else 100_000
    unclosed = ("\\def\\a ", "\\iffalse ", "\\section{", "\\title[", "\\(")
    for piece in unclosed if form == "latex" else (" ", "\t", "x ", "{:", "|a", "<"):
        text = ANYWHERE.replace("§", piece * times)
        parser_of(form)(text.encode(), DEFAULT_LIMITS)  # a quadratic pattern takes longer than a test may
