"""Boxes to be ticked, in words: `☐ Lead present` says that it is not."""

from __future__ import annotations

import re

_BOX = re.compile(r"(?:(?<!\S)\[(?P<mark>[ xX])\](?=\s)|(?P<sign>[☐□☑☒✓✔✅✗✘❌]))\s*")
_EMPTY = "☐□✗✘❌ "


def with_boxes_said(line: str) -> str:
    """A line with each box in words behind what stands beside it: `Lead present: no (not ticked)`. A box stands before its words,
    or behind them where it ends the line; words before the first of several are their label.
    """
    boxes = list(_BOX.finditer(line))
    if not boxes or (boxes[0]["mark"] and line[: boxes[0].start()].strip()):
        return line
    edges = [0, *(edge for box in boxes for edge in box.span()), len(line)]
    texts = [line[start:end].strip(" :") for start, end in zip(edges[::2], edges[1::2], strict=True)]
    label = "" if not texts[-1] or not texts[0] else f"{texts[0]}: "
    beside = texts[:-1] if not texts[-1] else texts[1:]
    said = ["no (not ticked)" if (box["sign"] or box["mark"]) in _EMPTY else "yes (ticked)" for box in boxes]
    return label + "; ".join(f"{text}: {word}" if text else word for text, word in zip(beside, said, strict=True))
