"""Source code stands under the names of its functions and classes, and stays as it is."""

from __future__ import annotations

from counting import steps
from hoptrail.documents.plain_text import code_blocks
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


def test_time_grows_with_the_text() -> None:
    lines = ["a b c d e f g", "&*&*&* " * 60, "int f(int a) {", "const x = (a) => 1", "(" * 400]

    def work(times: int) -> int:
        return steps(lambda: code_blocks("\n".join(lines * times)))

    work(1)
    assert work(80) < 12 * work(10)
