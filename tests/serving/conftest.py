"""The sample corpus in an index with the encoder that ships, and a settings file with a very small one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from filelock import FileLock

from hoptrail import Index
from hoptrail.recipes.registry import recipe_names
from shared_models import OPEN_ENCODER, open_once
from tiny_bert import write_tiny_folder


@pytest.fixture(autouse=True)
def one_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Share one encoder among the commands of this process, because loading takes longer than asking."""
    monkeypatch.setattr(OPEN_ENCODER, open_once)


EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="session")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Read-only for all tests. The processes of a run of pytest-xdist share it."""
    folder = tmp_path_factory.getbasetemp()
    folder = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "harbour"
    with FileLock(f"{folder}.lock"):
        if not folder.exists():
            made = tmp_path_factory.mktemp("harbour-made") / "index"
            report = Index(made).add([EXAMPLES / "harbour"], list(recipe_names()))
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
