"""Parsing of markup takes linear time on any text."""

from __future__ import annotations

import pytest

from counting import steps
from hoptrail.documents.forms import parser_of
from hoptrail.documents.limits import DEFAULT_LIMITS


def repeated(piece: str, times: int) -> bytes:
    return f"# a{piece * 2 * times}b\n\nc{piece * times}d\n\n- e{piece * times}f".encode()


@pytest.mark.parametrize("form", ["markdown", "html", "rst", "org", "man", "info"])
@pytest.mark.parametrize("piece", [" ", "\t", "x ", "\n", "{:", "a: b\n", "|a", "<"])
def test_c1_work_is_linear_whatever_the_text(form: str, piece: str) -> None:
    parse = parser_of(form)

    def work(times: int) -> int:
        return steps(lambda: parse(repeated(piece, times), DEFAULT_LIMITS))

    work(1)
    assert work(1600) < 9 * work(200), "eight times as much, not sixty-four times"


@pytest.mark.parametrize("form", ["markdown", "html", "rst", "org", "man", "info"])
@pytest.mark.parametrize("piece", [" ", "\t", "x ", "{:", "|a", "<"])
def test_c1_no_pattern_takes_quadratic_time(form: str, piece: str) -> None:
    times = 20_000 if form == "markdown" else 100_000
    parser_of(form)(repeated(piece, times), DEFAULT_LIMITS)  # a quadratic pattern takes longer than a test may
