"""Shares models among the tests of a process, and what they compute among the processes of a run."""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from threading import get_ident
from typing import Any, TypeVar

import numpy as np

from hoptrail.models.encoder import Encoder, FloatMatrix, Progress
from hoptrail.models.encoder_factory import open_encoder
from hoptrail.models.local import MiniLmEncoder
from hoptrail.models.question_tagger import QuestionTagger
from hoptrail.models.reader import Reader, TextReading, ToRead

OPEN_ENCODER = "hoptrail.models.encoder_factory.open_encoder"


COMPUTED = "SHARED_MODELS"
"""The variable of the environment with the folder of what the processes of a run share, if they do."""

V = TypeVar("V")


def _file_of(given: object) -> Path | None:
    folder = os.environ.get(COMPUTED)
    return Path(folder, hashlib.sha256(repr(given).encode()).hexdigest()) if folder else None


def _stored(given: object) -> Any:
    """What was computed of it; None if nothing was."""
    file = _file_of(given)
    return pickle.loads(file.read_bytes()) if file and file.exists() else None  # noqa: S301 - written by this run


def _store(given: object, computed: object) -> None:
    if file := _file_of(given):
        part = file.with_name(f"{os.getpid()}-{get_ident()}-{file.name}")
        part.write_bytes(pickle.dumps(computed))
        part.rename(file)


def _once(given: object, compute: Callable[[], V]) -> V:
    """What the first process computed that was asked for it."""
    found: V | None = _stored(given)
    if found is None:
        _store(given, found := compute())
    return found


class EncodesOnce:
    """An encoder that caches the vector of every text."""

    def __init__(self, encoder: MiniLmEncoder) -> None:
        self.identity = encoder.identity
        self.encode_tokens = encoder.encode_tokens
        self._encoder = encoder
        self._vectors: dict[str, FloatMatrix] = {}

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> FloatMatrix:
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        self._vectors.update({text: vector for text in new if (vector := _stored(text)) is not None})
        missing = [text for text in new if text not in self._vectors]
        for text, vector in zip(missing, self._encoder.encode(missing, progress), strict=True):
            self._vectors[text] = vector
            _store(text, vector)
        rows = [self._vectors[text] for text in texts]
        return np.stack(rows) if rows else self._encoder.encode(texts, progress)


@cache
def open_once(name: str, threads: int = 0) -> Encoder:
    """The encoder of that name, the same for all who ask. The one that ships encodes each text only once."""
    encoder = open_encoder(name, threads)
    return EncodesOnce(encoder) if isinstance(encoder, MiniLmEncoder) else encoder


class _ReadsOnce(Reader):
    def read(self, pairs: Sequence[ToRead]) -> list[TextReading]:
        read = super().read
        return [_once(pair, lambda pair=pair: read([pair])[0]) for pair in pairs]  # type: ignore[misc]


class _TagsOnce(QuestionTagger):
    def _run(self, message: str, text: str | None = None) -> Any:
        return _once(("tags", message, text), partial(super()._run, message, text))


INSTALLED = {
    "hoptrail.models.reader.Reader": _ReadsOnce,
    "hoptrail.models.question_tagger.QuestionTagger": _TagsOnce,
}
"""The classes of the installed reader and tagger, by the name at which they are opened: they read and tag each text only once."""
