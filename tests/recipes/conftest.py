"""A small world in an index, for recipes to work on."""

from __future__ import annotations

from pathlib import Path

import pytest

from hoptrail.documents.reading import ReadingLimits
from hoptrail.documents.splitting import PassageLimits
from hoptrail.indexing import Watcher, update_index
from hoptrail.retrieval.corpus import Corpus
from hoptrail.store.snapshot import Snapshot
from hoptrail.structures.catalogue import structures_by_name
from world import HashingEncoder


@pytest.fixture
def corpus(tmp_path: Path, world: Path, encoder: HashingEncoder) -> Corpus:
    structures = list(structures_by_name(PassageLimits()).values())
    update_index(tmp_path / "index", [world], encoder, structures, ReadingLimits(), Watcher())
    return Corpus(Snapshot.open(tmp_path / "index"), lambda: encoder)
