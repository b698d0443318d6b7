"""Encoding many texts where the executor says, in batches that are the same wherever they are encoded.

What is padded together moves the last bits of a vector, so that the same bytes everywhere want the same batches everywhere.
The number of cores moves nothing (`tests/execution/test_executors.py`). An encoder that does not travel, such as an
endpoint with its key, is asked by this process.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice

import numpy as np

from hoptrail.execution.executor import LOCAL_EXECUTOR, Work, from_to, is_remote_safe
from hoptrail.models.encoder import Encoder, FloatMatrix
from hoptrail.structures.build_context import BuildContext
from hoptrail.types import Unit

TOGETHER = 64
"""Texts of one batch: some seconds of work on one core, which is what a killed worker costs."""


COMMITS = 100
"""A build keeps its work about so many times, until memory allows no more at once: what a commit costs grows with those
before it."""

HELD = 64 << 20
"""Bytes of units that wait to be kept."""

TEXT = 1500
"""Bytes that a unit takes, without its vector."""


def kept_at_once(context: BuildContext, total: int, least: int) -> int:
    """How many of `total` units to encode before they are kept: at least `least`, and the hundredth part of a large build, but
    no more than memory should hold.
    """
    most = HELD // (TEXT + 4 * context.encoder.identity.dimension)
    return min(max(1, most), max(least, total // COMMITS))


def encode_batches(
    context: BuildContext, batches: Iterable[Sequence[Unit]], total: int
) -> Iterator[tuple[Sequence[Unit], FloatMatrix]]:
    """Each of `batches` with its vectors, in order; before each of them the workshop pauses. `total`: units in all.

    Later batches are under way while the caller keeps one, as far as the executor has room.
    """
    drawn: deque[Sequence[Unit]] = deque()
    vectors = _encoded(context, _pieces(batches, drawn))
    done = 0
    while True:
        context.pause()
        first = next(vectors, None)
        if first is None:
            return
        batch = drawn.popleft()
        parts = [first]
        context.report("encoding", done + len(first), total)
        for part in islice(vectors, -(-len(batch) // TOGETHER) - 1):
            parts.append(part)
            context.report("encoding", done + sum(map(len, parts)), total)
        done += len(batch)
        yield batch, np.concatenate(parts)


def encode_texts(
    context: BuildContext, texts: Sequence[str], report: Callable[[int], None] = lambda _: None
) -> FloatMatrix:
    """Vectors of texts, shape (len(texts), dimension); `report` is told how many are done."""
    pieces = ([(text[:_SHOWN], text) for text in texts[at : at + TOGETHER]] for at in range(0, len(texts), TOGETHER))
    parts: list[FloatMatrix] = []
    for part in _encoded(context, pieces):
        parts.append(part)
        report(sum(map(len, parts)))
    return np.concatenate(parts) if parts else context.encoder.encode([])


_SHOWN = 40
"""Characters that stand for a text without a name."""

_Piece = Sequence[tuple[str, str]]
"""Texts of one batch, each after what it is called in errors."""


def _pieces(batches: Iterable[Sequence[Unit]], drawn: deque[Sequence[Unit]]) -> Iterator[_Piece]:
    for batch in filter(None, batches):
        drawn.append(batch)
        for at in range(0, len(batch), TOGETHER):
            yield [(f"{unit.title!r} ({unit.id})", unit.searchable) for unit in batch[at : at + TOGETHER]]


def _encoded(context: BuildContext, pieces: Iterable[_Piece]) -> Iterator[FloatMatrix]:
    executor = context.executor if is_remote_safe(context.encoder) else LOCAL_EXECUTOR
    work = Work("encoding", partial(_vectors, context.encoder), _name)
    return executor.map(work, pieces)


def _vectors(encoder: Encoder, piece: _Piece) -> FloatMatrix:
    return encoder.encode([text for _, text in piece])


def _name(piece: _Piece) -> str:
    return from_to([name for name, _ in piece])
