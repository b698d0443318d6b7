"""Fixtures for the tests of encoders."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hoptrail.models.local import MiniLmEncoder
from tiny_bert import write_tiny_folder


@pytest.fixture(scope="session")
def minilm() -> MiniLmEncoder:
    return MiniLmEncoder()


@pytest.fixture
def tiny_folder(tmp_path: Path) -> Path:
    return write_tiny_folder(tmp_path / "tiny")


@pytest.fixture
def edit(tiny_folder: Path) -> Callable[..., Path]:
    """Changes values in a JSON file of the tiny folder."""

    def change(name: str, **values: object) -> Path:
        path = tiny_folder / name
        content = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps(content | values))
        return tiny_folder

    return change
