"""What tests hand to other processes: it must be importable there, so it stands in a module of its own."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hoptrail.errors import DocumentError, TaskFailed
from hoptrail.models.encoder import FloatMatrix, Progress
from hoptrail.types import Usage
from world import HashingEncoder


def squared(numbers: Sequence[int]) -> list[int]:
    return [number * number for number in numbers]


def shifted(matrix: FloatMatrix, row: int) -> FloatMatrix:
    row_above: FloatMatrix = matrix[row] + 1
    return row_above


def process(_: Any) -> int:
    return os.getpid()


def unreadable(number: int) -> int:
    if number == 2:
        raise DocumentError("page two", "is torn")
    return number


def refused(number: int) -> int:
    if number == 2:
        raise TaskFailed("said nothing", Usage(calls=3))
    return number


def broken(number: int) -> int:
    return 1 // (2 - number)


def dying(number: int) -> int:
    """The worker that gets number 2 is killed, every time."""
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


@dataclass(frozen=True)
class FarEncoder(HashingEncoder):
    """The hashing encoder, which travels. It notes in a folder which processes used it."""

    folder: Path | None = None
    is_remote_safe: bool = True

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> FloatMatrix:
        if self.folder is not None:
            (self.folder / str(os.getpid())).touch()
        return super().encode(texts, progress)


@dataclass(frozen=True)
class DyingEncoder(FarEncoder):
    """The first process that is to encode a text with `fatal` in it is killed."""

    fatal: str = "nothing is"
    driver: int = 0

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> FloatMatrix:
        assert self.folder is not None
        died = self.folder / "died"
        if os.getpid() != self.driver and not died.exists() and any(self.fatal in text for text in texts):
            died.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return super().encode(texts, progress)
