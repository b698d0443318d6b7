"""The sample corpus in an index with the encoder that ships, and a settings file with a very small one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock

from hoptrail import Index
from hoptrail.models.encoder import Encoder, FloatMatrix, Progress
from hoptrail.models.encoder_factory import open_encoder
from hoptrail.models.local import LocalSettings
from hoptrail.models.minilm import MiniLmEncoder
from hoptrail.models.reader import installed_reader
from hoptrail.models.remembered_readings import Remembered
from hoptrail.recipes.registry import RECIPES
from tiny_bert import write_tiny_folder


@pytest.fixture(autouse=True)
def one_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Share one encoder among the commands of this process, because loading takes longer than asking. The encoder that ships
    also encodes each text only once.
    """
    monkeypatch.setattr("hoptrail.models.encoder_factory.open_encoder", _open_once)


class EncodesOnce:
    """An encoder that caches the vector of every text."""

    def __init__(self, encoder: MiniLmEncoder) -> None:
        self.identity = encoder.identity
        self.encode_tokens = encoder.encode_tokens
        self._encoder = encoder
        self._vectors: dict[str, FloatMatrix] = {}

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> FloatMatrix:
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        self._vectors.update(zip(new, self._encoder.encode(new, progress), strict=True))
        rows = [self._vectors[text] for text in texts]
        return np.stack(rows) if rows else self._encoder.encode(texts, progress)


@cache
def _open_once(name: str, settings: LocalSettings | None = None) -> Encoder:
    encoder = open_encoder(name, settings)
    return EncodesOnce(encoder) if isinstance(encoder, MiniLmEncoder) else encoder


@pytest.fixture(autouse=True)
def one_memory_of_readings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Share what the reader has read among the commands of this process: one language does so with all its questions anyhow."""
    monkeypatch.setattr("hoptrail.language.offline.performer.installed_reader", _reads_once)


@cache
def _reads_once() -> Remembered:
    return Remembered(installed_reader())


EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="session")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Read-only for all tests. The processes of a run of pytest-xdist share it."""
    folder = tmp_path_factory.getbasetemp()
    folder = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "harbour"
    with FileLock(f"{folder}.lock"):
        if not folder.exists():
            made = tmp_path_factory.mktemp("harbour-made") / "index"
            report = Index(made).add([EXAMPLES / "harbour"], list(RECIPES))
            assert (report.documents, report.failures) == (18, [])
            made.rename(folder)
    return folder


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A settings file that names a model folder of a few kilobytes, with meaningless vectors."""
    folder = tmp_path_factory.mktemp("tiny")
    model = write_tiny_folder(folder / "model")
    (folder / "settings.toml").write_text(f'encoder = "{model}"\n', encoding="utf-8")
    return folder / "settings.toml"
