"""reStructuredText opens no file, runs nothing, does not depend on earlier files, and keeps the text of unknown directives."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from hoptrail.documents.child import Parsing
from hoptrail.documents.limits import DEFAULT_LIMITS, Unreadable
from hoptrail.documents.rst import parse_rst


def text_of(text: str) -> str:
    return parse_rst(text.encode(), DEFAULT_LIMITS).text


def test_no_other_file_is_opened(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("SECRET")
    path = tmp_path / "secret.txt"
    directives = (
        *(f".. include:: {path}", f".. raw:: html\n   :file: {path}", f".. csv-table::\n   :file: {path}"),
        *(
            f".. literalinclude:: {path}",
            f".. raw:: html\n   :url: file://{path}",
            f".. code-block::\n   :file: {path}",
        ),
    )
    shown = text_of("Text.\n\n" + "\n\n".join(directives) + "\n\nEnd.")
    assert "SECRET" not in shown
    assert shown.startswith("Text.")
    assert shown.endswith("End.")


def test_raw_parts_are_left_out() -> None:
    assert text_of(".. raw:: html\n\n   <script>x()</script>\n\nText.") == "Text."


def test_the_date_directive_gives_no_text() -> None:
    assert time.strftime("%Y") not in text_of("On |today|.\n\n.. |today| date::")


def test_roles_of_one_file_do_not_affect_the_next() -> None:
    raw = ".. role:: shout(raw)\n   :format: html\n\n.. default-role:: shout\n\n:shout:`one` `two`"
    with Parsing(DEFAULT_LIMITS) as parsing:
        first = parsing.parse("rst", b":shout:`one` `two`").text
        parsing.parse("rst", raw.encode())
        assert parsing.parse("rst", b":shout:`one` `two`").text == first == "one two"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (":ref:`the harbour <harbour>`", "the harbour"),
        (":class:`~package.module.Name` :class:`!x.Y`", "Name x.Y"),
        ("`text`:unknown:", "text"),
        (".. unknown:: argument\n   :option: value\n\n   Content.", "argument\n\nContent."),
        (".. py:function:: f(x)\n\n   .. versionadded:: 2.0\n      Nested.", "f(x)\n\nAdded in version 2.0: Nested."),
        (".. toctree::\n\n   a\n   b\n\nText.", "Text."),
        ("Broken *emphasis", "Broken *emphasis"),
        ("=== ===\nA   B\n=== ===\n1   2 3 4 5\n", "=== ===\nA   B\n=== ===\n\n1 2 3 4 5"),
        ("A line of " + "x" * 20_000, "A line of " + "x" * 20_000),
        (".. image:: x.png\n   :alt: A chart", "A chart"),
        ("a [1]_\n\n.. [1] Note.", "a [1]\n\n[1] Note."),
    ],
)
def test_markup_becomes_readable_text(text: str, shown: str) -> None:
    assert text_of(text) == shown


def test_deep_nesting_is_refused() -> None:
    deep = "\n\n".join(" " * depth + "x" for depth in range(400))
    with pytest.raises(Unreadable, match="nested too deep"):
        text_of(deep)
