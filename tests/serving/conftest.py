"""The sample corpus in an index with the encoder that users get, and a settings file with a very small one."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import hoptrail.index
from hoptrail import Index
from hoptrail.models.opening import open_encoder
from hoptrail.recipes.catalogue import RECIPES
from tiny_bert import write_tiny_folder


@pytest.fixture(autouse=True)
def one_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands in this process share an encoder, as those of a server would: loading one costs longer than asking."""
    monkeypatch.setattr(hoptrail.index, "open_encoder", _open_once)


_open_once = cache(open_encoder)
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="session")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Read only."""
    folder = tmp_path_factory.mktemp("harbour")
    report = Index(folder).add([EXAMPLES / "harbour"], list(RECIPES))
    assert (report.documents, report.failures) == (18, [])
    return folder


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A settings file that names a model folder of a few kilobytes, whose vectors mean nothing."""
    folder = tmp_path_factory.mktemp("tiny")
    model = write_tiny_folder(folder / "model")
    (folder / "settings.toml").write_text(f'encoder = "{model}"\n', encoding="utf-8")
    return folder / "settings.toml"
