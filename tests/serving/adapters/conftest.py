"""A small index that retrievers search by keywords, so that no weights are needed."""

from __future__ import annotations

import pytest

from hoptrail import Index
from world import HashingEncoder, write_facts

QUESTION = "Who designed the Tallow Bridge at the river town?"


@pytest.fixture(scope="session")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    sources = write_facts(tmp_path_factory.mktemp("sources"))
    index = Index(tmp_path_factory.mktemp("index"))
    index.encoder = HashingEncoder()
    index.add([sources])
    return index


@pytest.fixture
def question() -> str:
    return QUESTION
