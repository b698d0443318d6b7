"""Orders what stands on a slide as a person reads it: in columns or rows, whichever the wider gaps separate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

_OVERLAP = 0.1
"""The share of its size by which a box may reach into the next one."""

Shape = TypeVar("Shape")


class Box(NamedTuple):
    """The edges of a shape, from the upper left corner of its page in any unit."""

    left: float
    top: float
    right: float
    bottom: float


def in_reading_order(shapes: Sequence[Shape], box_of: Callable[[Shape], Box | None]) -> list[Shape]:
    """The shapes from top to bottom, those beside each other from left to right; as they are if the place of one is not known."""
    boxes = [box_of(shape) for shape in shapes]
    placed = [(box, shape) for box, shape in zip(boxes, shapes, strict=True) if box is not None]
    return [shape for _, shape in _ordered(placed)] if len(placed) == len(shapes) else list(shapes)


def _ordered(placed: list[tuple[Box, Shape]]) -> list[tuple[Box, Shape]]:
    if len(placed) < 2:
        return placed
    columns, between_columns = _apart(placed, 0)
    rows, between_rows = _apart(placed, 1)
    parts = columns if len(rows) == 1 or (len(columns) > 1 and between_columns > between_rows) else rows
    if len(parts) == 1:
        return sorted(placed, key=lambda one: (one[0].top, one[0].left))
    return [one for part in parts for one in _ordered(part)]


def _apart(placed: list[tuple[Box, Shape]], axis: int) -> tuple[list[list[tuple[Box, Shape]]], float]:
    """The groups of boxes that no box joins in this direction (0 across, 1 down), and the widest gap between them."""
    groups: list[list[tuple[Box, Shape]]] = []
    end, widest = float("-inf"), float("-inf")
    for one in sorted(placed, key=lambda one: one[0][axis]):
        start, stop = one[0][axis], one[0][axis + 2]
        if not groups or start < end - _OVERLAP * (stop - start):
            groups = groups or [[]]
            groups[-1].append(one)
        else:
            widest = max(widest, start - end)
            groups.append([one])
        end = max(end, stop)
    return groups, widest
