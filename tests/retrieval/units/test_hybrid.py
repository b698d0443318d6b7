"""Hybrid search is the fusion of the two searches, though it reads the texts of what is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import writing_to
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.fuse import convex_fusion, reciprocal_rank_fusion
from hoptrail.retrieval.units.dense import dense_search
from hoptrail.retrieval.units.hybrid import HybridSearchSettings, hybrid_search
from hoptrail.retrieval.units.keyword import keyword_search
from hoptrail.types import Document, Usage
from world import HashingEncoder, make_passage


@pytest.mark.parametrize("depth", [2, 3, 100])
@pytest.mark.parametrize("fusion", ["convex", "rrf"])
def test_it_is_the_fusion_of_both(
    tmp_path: Path, encoder: HashingEncoder, documents: list[Document], fusion: str, depth: int
) -> None:
    units = [make_passage(document) for document in documents]
    with writing_to(tmp_path, encoder.identity) as writer:
        writer.put_documents(documents)
        writer.put_units(units, encoder.encode([unit.searchable for unit in units]))
        writer.publish(Usage())
    corpus, question = Corpus(Snapshot.open(tmp_path), lambda: encoder), "Which river flows through Wrenmouth?"
    both = [search(corpus, question, depth) for search in (keyword_search, dense_search)]
    fused = reciprocal_rank_fusion(both, 2, 60.0) if fusion == "rrf" else convex_fusion(both, (0.5, 0.5), 2, depth)
    found = hybrid_search(corpus, question, 2, HybridSearchSettings(fusion=fusion, depth=depth))
    assert len(found) == 2
    assert found == fused
