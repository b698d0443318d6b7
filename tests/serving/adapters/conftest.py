"""A small index that retrievers search by keywords, so that no weights are needed."""

from __future__ import annotations

import pytest

from hoptrail import Index
from world import FACTS, HashingEncoder

QUESTION = "Who designed the Tallow Bridge at the river town?"


@pytest.fixture(scope="session")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    sources = tmp_path_factory.mktemp("sources")
    for title, text in FACTS.items():
        (sources / f"{title}.txt").write_text(text, encoding="utf-8")
    index = Index(tmp_path_factory.mktemp("index"))
    index.encoder = HashingEncoder()
    index.add([sources])
    return index


@pytest.fixture
def question() -> str:
    return QUESTION
