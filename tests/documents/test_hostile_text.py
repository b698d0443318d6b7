"""Time grows with the text, whatever it is, in the forms that are written as text with marks; else the clock stops the parser."""

from __future__ import annotations

import time

import pytest

from hoptrail.documents.forms import parser_of
from hoptrail.documents.limits import DEFAULT_LIMITS


@pytest.mark.parametrize("form", ["markdown", "html", "rst", "org"])
@pytest.mark.parametrize("piece", [" ", "\t", "x ", "\n", "{:", "a: b\n", "|a", "<"])
def test_c1_time_is_linear_whatever_the_text(form: str, piece: str) -> None:
    text = f"# a{piece * 40_000}b\n\nc{piece * 20_000}d\n\n- e{piece * 20_000}f"
    start = time.process_time()
    parser_of(form)(text.encode(), DEFAULT_LIMITS)
    assert time.process_time() - start < 10
