"""Source code stands under the names of its functions and classes, and stays as it is."""

from __future__ import annotations

import pytest

from counting import steps
from hoptrail.documents.limits import DEFAULT_LIMITS
from hoptrail.documents.plain_text import code_blocks, parse_code
from hoptrail.types import BlockKind

PUMP = '''"""Drives the pump."""

import time


@cached
def started(pump):
    # Waits for the pressure.
    return pump.on


class Pump:
    """A pump, with
    a handle."""

    limit = 4

    async def stop(self, why: str) -> None:
        print(why)


RATE = 3
'''


def test_functions_and_classes_are_headings_and_comments_are_prose() -> None:
    blocks = code_blocks(PUMP)
    assert "".join(PUMP[block.start : block.end] for block in blocks) == PUMP
    assert [(block.kind, block.path, block.place) for block in blocks] == [
        (BlockKind.PARAGRAPH, (), "line 1"),
        (BlockKind.CODE, (), "line 3"),
        (BlockKind.PARAGRAPH, ("started",), "line 6"),
        (BlockKind.CODE, ("started",), "line 7"),
        (BlockKind.PARAGRAPH, ("started",), "line 8"),
        (BlockKind.CODE, ("started",), "line 9"),
        (BlockKind.CODE, ("Pump",), "line 12"),
        (BlockKind.PARAGRAPH, ("Pump",), "line 13"),
        (BlockKind.CODE, ("Pump",), "line 16"),
        (BlockKind.CODE, ("Pump", "stop"), "line 18"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("\n\n", []),
        ("#!/bin/sh\n# Starts it.\nstart() {\n  go\n}\n", [("paragraph", (), "line 1"), ("code", (), "line 3")]),
        (
            "x = 1\n\n\n# why\n@cached\ndef f(): pass\n",
            [("code", (), "line 1"), ("paragraph", ("f",), "line 4"), ("code", ("f",), "line 6")],
        ),
        (
            "class A {\n  int f(int a) {\n  }\n}\nconst g = () => 1;\n",
            [("code", ("A",), "line 1"), ("code", ("A", "f"), "line 2"), ("code", ("g",), "line 5")],
        ),
        ('"""Never closed.\ndef f():\n    pass\n', [("paragraph", (), "line 1")]),
        ("def שלום():\n\treturn 1\n", [("code", (), "line 1")]),
    ],
)
def test_odd_files_are_tiled(text: str, expected: list[tuple[str, tuple[str, ...], str]]) -> None:
    parsed = parse_code(text.encode(), DEFAULT_LIMITS)
    assert parsed.text == text
    assert [(block.kind, block.path, block.place) for block in parsed.blocks] == expected
    assert "".join(text[block.start : block.end] for block in parsed.blocks) == (text if expected else "")


def test_time_grows_with_the_text() -> None:
    lines = ["a b c d e f g", "&*&*&* " * 60, "int f(int a) {", "const x = (a) => 1", "(" * 400]

    def work(times: int) -> int:
        return steps(lambda: code_blocks("\n".join(lines * times)))

    work(1)
    assert work(80) < 12 * work(10)
