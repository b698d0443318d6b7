"""An index of an older format says what to do. `formats/1.zip` is one of `world.FACTS`, made when format 1 was current."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from hoptrail.errors import IndexMismatch
from hoptrail.store.snapshot import Snapshot

FORMATS = Path(__file__).parent / "formats"


def test_an_index_of_an_older_format_says_what_to_do(tmp_path: Path) -> None:
    with zipfile.ZipFile(FORMATS / "1.zip") as archive:
        archive.extractall(tmp_path)
    with pytest.raises(IndexMismatch, match=r"has index format 1.*Index the documents into a new folder"):
        Snapshot.open(tmp_path)
