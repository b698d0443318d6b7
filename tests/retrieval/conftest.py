"""The world of triples, indexed once and only read."""

from __future__ import annotations

import pytest

from hoptrail.retrieval.corpus import Corpus
from retrieval.triple_world import drawn, publish


@pytest.fixture(scope="session")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return publish(tmp_path_factory.mktemp("facts"), drawn())
