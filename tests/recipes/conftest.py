"""A small world in an index, for recipes to work on."""

from __future__ import annotations

import pytest

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.documents.splitting import PassageLimits
from hoptrail.index.indexing import Watcher, update_index
from hoptrail.retrieval.corpus import Corpus
from hoptrail.structures.catalogue import structures_by_name
from world import HashingEncoder, write_facts


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Read only, so that all tests share it."""
    folder, encoder = tmp_path_factory.mktemp("corpus"), HashingEncoder()
    write_facts(folder)
    structures = list(structures_by_name(PassageLimits()).values())
    update_index(folder / "index", sorted(folder.glob("*.txt")), encoder, structures, Watcher())
    return Corpus(Snapshot.open(folder / "index"), lambda: encoder)
