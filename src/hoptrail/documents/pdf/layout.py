"""The reading order of a PDF page: column by column, and the lines of each from the top down.

A page is split at the gutter between two columns of prose. Text across the gutter, such as a title, splits the page into bands.
Columns of a table are not prose, because their lines are short.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, groupby
from statistics import fmean, median
from typing import NamedTuple

from hoptrail.documents.markup import runs
from hoptrail.documents.pdf.fragments import Fragment

LEADERS = re.compile(r"(?:\s?[.·…]){5,}\s*")  # dots from an entry of a table of contents to its page
_SPANNING = 0.3  # maximal share of a page's lines that cross the gutter
_SIDE = 0.15  # minimal share of a page's lines in each column
# A column of prose has at least so many lines, with so many words on average, and half of them have this share of its width.
_FEWEST_LINES, _FEWEST_WORDS, _FILLED = 4, 3.5, 0.55
_DEEPEST = 3  # nested splits: up to eight columns


def line_of(fragments: Sequence[Fragment]) -> Fragment:
    """The line of fragments beside each other. Base and size are those of the longest: a footnote mark does not move the line."""
    ordered = tuple(sorted(fragments, key=lambda one: one.left))
    longest = max(ordered, key=lambda one: len(one.text))
    bold, mono = all(one.bold for one in ordered), all(one.mono for one in ordered)
    text, right = " ".join(one.text for one in ordered), max(one.right for one in ordered)
    return Fragment(text, ordered[0].left, right, longest.base, longest.size, bold, mono, parts=ordered)


def differ_in_size(one: Fragment, other: Fragment) -> bool:
    return abs(one.size - other.size) > 0.08 * max(one.size, other.size)


def first_word_width(line: Fragment) -> float:
    """The width of the first word of a line and a space, in characters of average width."""
    return (line.right - line.left) / max(1, len(line.text)) * (len(line.text.split(" ", 1)[0]) + 1)


class Column(NamedTuple):
    """Lines in reading order between the edges `left` and `right`."""

    lines: tuple[Fragment, ...]
    left: float
    right: float


def columns_of(fragments: Sequence[Fragment], depth: int = 0) -> list[Column]:
    """The columns of a page or a part of one, in reading order."""
    if not fragments:
        return []
    gutter = _gutter(fragments) if depth < _DEEPEST else None
    if gutter is None:
        return [_column(fragments)]
    columns: list[Column] = []
    rows = list(lines_of(fragments))
    crossing = {one for one in fragments if one.left < gutter < one.right}
    for is_row, group in groupby(rows, _is_row):
        table = list(group)
        crossing.update(part for line in table if is_row and len(table) >= _FEWEST_LINES for part in line.parts)
    for crosses, lines in groupby(rows, lambda line: not crossing.isdisjoint(line.parts)):
        band = [fragment for line in lines for fragment in line.parts]
        left, right = [one for one in band if one.right <= gutter], [one for one in band if one.right > gutter]
        columns += [_column(band)] if crosses else columns_of(left, depth + 1) + columns_of(right, depth + 1)
    return columns


def _is_row(line: Fragment) -> bool:
    are_short = all(len(part.text.split()) < _FEWEST_WORDS for part in line.parts)
    return len(line.parts) > 2 and are_short and not LEADERS.search(line.text)


def _column(fragments: Sequence[Fragment]) -> Column:
    lines = tuple(_unstaggered(lines_of(fragments)))
    return Column(lines, min(line.left for line in lines), max(line.right for line in lines))


def _unstaggered(lines: Iterable[Fragment]) -> Iterator[Fragment]:
    """Yield lines of two columns, each with a left edge, that stand beside each other at other heights: column by column."""
    for run in runs(lines, _is_staggered):
        left, right = min(line.left for line in run), max(line.left for line in run)
        sides = [one for one in run if one.right < right], [one for one in run if one.left > right - one.size / 2]
        edges = [[line for line in run if abs(line.left - edge) < line.size / 2] for edge in (left, right)]
        apart = min(map(len, edges)) > 1 and len(sides[0]) + len(sides[1]) == len(run)
        yield from (*sides[0], *sides[1]) if apart else run


def _is_staggered(run: Sequence[Fragment], line: Fragment) -> bool:
    before, near = run[-1], 0.95 * min(line.size, run[-1].size)
    beside = line.left > before.right or line.right < before.left
    # Between the rows of two tables beside each other are wider gaps.
    are_rows = len(run) > 1 and min(len(line.parts), len(before.parts)) > 1 and before.base - run[-2].base < near
    return beside and not line.mono and line.base - before.base < (3 * line.size if are_rows else near)


def lines_of(fragments: Sequence[Fragment]) -> Iterator[Fragment]:
    """Yield the lines from the top down. Small fragments slightly above or below a large one are on its line."""
    ordered = sorted(fragments, key=lambda fragment: (fragment.base, fragment.left))
    for row in runs(ordered, lambda row, one: one.base - row[0].base < 0.35 * max(part.size for part in (one, *row))):
        yield line_of(row)


def _gutter(fragments: Sequence[Fragment]) -> float | None:
    """The x coordinate of a gap between columns of prose, or None."""
    left, right = min(fragment.left for fragment in fragments), max(fragment.right for fragment in fragments)
    width = int(right - left)
    if not 50 < width < 20_000:
        return None
    steps = [0] * (width + 2)
    for fragment in fragments:
        steps[max(0, int(fragment.left - left))] += 1
        steps[min(width + 1, int(fragment.right - left) + 1)] -= 1
    crossing = list(accumulate(steps))  # the fragments at each point
    inner = range(width // 6, width - width // 6)
    fewest = min(crossing[place] for place in inner)
    if fewest > _SPANNING * len(fragments):
        return None
    gaps = (list(gap) for is_gap, gap in groupby(inner, lambda place: crossing[place] == fewest) if is_gap)
    best = max(gaps, key=len)
    place = left + (best[0] + best[-1] + 1) / 2
    sides = ([f for f in fragments if f.right <= place], [f for f in fragments if f.left >= place])
    wide = len(best) >= 0.5 * median(fragment.size for fragment in fragments)
    prose = [_is_prose(side, len(fragments)) for side in sides]
    return place if wide and all(prose) and max(prose) == 2 else None


def _is_prose(side: Sequence[Fragment], total: int) -> int:
    """2 if this is a column of prose, 1 if some of its lines are, 0 if not. Lines with wide gaps need more words."""
    lines = list(lines_of(side))
    if len(lines) < _FEWEST_LINES or len(side) < _SIDE * total:
        return 0
    width = max(line.right for line in lines) - min(line.left for line in lines)
    full = [line for line in lines if line.right - line.left >= _FILLED * width]
    words = [len(line.text.split()) for line in lines]
    fewest = _FEWEST_WORDS * (1.5 if median(len(line.parts) for line in lines) > 1 else 1)
    if 2 * len(full) >= len(lines) and max(fmean(words), median(words)) >= fewest:
        return 2
    return int(sum(len(line.text.split()) > _FEWEST_WORDS * len(line.parts) for line in full) >= _FEWEST_LINES)
