"""A place for an index."""

from __future__ import annotations

from pathlib import Path

import pytest

from hoptrail.store.place import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place.of(tmp_path)
