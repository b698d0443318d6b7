"""Encoding many texts on an executor, in batches that do not depend on the executor.

Texts that an encoder pads together may change the last bits of a vector: identical vectors everywhere require identical batches
everywhere. An encoder that is not remote-safe, such as an endpoint with its key, is asked by this process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice, tee

import numpy as np

from hoptrail.errors import Interrupted
from hoptrail.execution.executor import LOCAL_EXECUTOR, Work, from_to, is_remote_safe
from hoptrail.models.encoder import Encoder, FloatMatrix
from hoptrail.structures.build_context import BuildContext
from hoptrail.types import Unit

TOGETHER = 64  # texts of one batch: some seconds of work on one core, which a killed worker costs

COMMITS = 100
"""The number of commits of a large build, memory permitting: the cost of a commit grows with the number before it."""

HELD = 64 << 20  # bytes of units that may wait to be stored
TEXT = 1500  # bytes of a unit without its vector


Encoded = tuple[Sequence[Unit], FloatMatrix]  # a batch of units and the vectors of their texts


def kept_at_once(context: BuildContext, total: int, least: int) -> int:
    """How many of `total` units to encode before they are stored: `least`, or a hundredth if more, as far as memory allows."""
    most = HELD // (TEXT + 4 * context.encoder.identity.dimension)
    return min(max(1, most), max(least, total // COMMITS))


def encode_batches(context: BuildContext, batches: Iterable[Sequence[Unit]], total: int) -> Iterator[Encoded]:
    """Each batch with its vectors, in order, after a pause of the context; `total` units in all. Later batches are encoded while
    the caller stores one, as far as the executor has room. When the user asked to stop, the last batch is as long as what is
    encoded of it, in whole documents.
    """
    ahead, waiting = tee(filter(None, batches))
    vectors = _encoded(context, (piece for batch in ahead for piece in _pieces(batch)))
    done = 0
    context.pause()
    context.report("encoding", 0, total)
    for batch in waiting:
        parts: list[FloatMatrix] = []
        try:
            for part in islice(vectors, -(-len(batch) // TOGETHER)):
                parts.append(part)
                context.report("encoding", done + sum(map(len, parts)), total)
        except Interrupted:
            if not context.stopped():
                raise
        count = sum(map(len, parts))
        while 0 < count < len(batch) and batch[count - 1].document == batch[count].document:
            count -= 1  # the document has more units in the batch
        if count:
            yield batch[:count], np.concatenate(parts)[:count]
        done += len(batch)
        context.pause()


def encode_texts(
    context: BuildContext, texts: Sequence[str], report: Callable[[int], None] = lambda _: None
) -> FloatMatrix:
    """The vectors of texts: shape (len(texts), dimension). `report` is called with the number done."""
    pieces = ([(text[:40], text) for text in texts[at : at + TOGETHER]] for at in range(0, len(texts), TOGETHER))
    parts: list[FloatMatrix] = []
    for part in _encoded(context, pieces):
        parts.append(part)
        report(sum(map(len, parts)))
    return np.concatenate(parts) if parts else context.encoder.encode([])


_Piece = Sequence[tuple[str, str]]  # the texts of one batch, each after its name in errors


def _pieces(batch: Sequence[Unit]) -> Iterator[_Piece]:
    for at in range(0, len(batch), TOGETHER):
        yield [(f"{unit.title!r} ({unit.id})", unit.searchable) for unit in batch[at : at + TOGETHER]]


def _encoded(context: BuildContext, pieces: Iterable[_Piece]) -> Iterator[FloatMatrix]:
    executor = context.executor if is_remote_safe(context.encoder) else LOCAL_EXECUTOR
    stopped = context.stopped if executor is LOCAL_EXECUTOR else bool  # False, and can be sent elsewhere
    work = Work(
        "encoding", partial(_vectors, context.encoder, stopped), lambda piece: from_to([name for name, _ in piece])
    )
    return executor.map(work, pieces)


def _vectors(encoder: Encoder, stopped: Callable[[], bool], piece: _Piece) -> FloatMatrix:
    def look(done: int, total: int) -> None:
        if done < total and stopped():
            raise Interrupted("stopped while texts were encoded.")

    look(0, len(piece))
    return encoder.encode([text for _, text in piece], look)
