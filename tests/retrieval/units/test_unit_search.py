"""Exact dense search: equal to the plain definition, ties by id. Hybrid search: the fusion of the two searches, though it reads
the texts of what is left alone.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hoptrail.corpus.searching import top_rows
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import writing_to
from hoptrail.errors import IndexMismatch
from hoptrail.models.encoder import FloatMatrix
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.rankings import convex_scores, reciprocal_ranks, rescored, scores_of
from hoptrail.retrieval.units.unit_search import (
    HybridSearchSettings,
    dense_search,
    hybrid_search,
    keyword_search,
    nearest,
)
from hoptrail.types import Document, Kind, Usage
from world import HashingEncoder, make_document, make_passage


def publish(folder: Path, encoder: HashingEncoder, documents: list[Document]) -> Corpus:
    units = [make_passage(document) for document in documents]
    with writing_to(folder, encoder.identity) as writer:
        writer.put_documents(documents)
        writer.put_units(units, encoder.encode([unit.searchable for unit in units]))
        writer.publish(Usage())
    return Corpus(Snapshot.open(folder), lambda: encoder)


def test_scores_are_cosines_and_the_order_is_theirs(
    tmp_path: Path, encoder: HashingEncoder, documents: list[Document]
) -> None:
    corpus = publish(tmp_path, encoder, documents)
    question = "Which river flows through Wrenmouth?"
    vector = encoder.encode([question])[0]
    expected = {unit.id: float(encoder.encode([unit.searchable])[0] @ vector) for unit in map(make_passage, documents)}
    ranking = dense_search(corpus, question, 4)
    assert [hit.unit.id for hit in ranking] == sorted(expected, key=lambda name: (-expected[name], name))[:4]
    assert [hit.score for hit in ranking] == pytest.approx([expected[hit.unit.id] for hit in ranking], abs=1e-6)
    assert {hit.channel for hit in ranking} == {"dense"}


def test_more_than_there_is_gives_all(tmp_path: Path, encoder: HashingEncoder, documents: list[Document]) -> None:
    assert len(dense_search(publish(tmp_path, encoder, documents), "anything", 99)) == len(documents)


def test_equal_scores_come_in_order_of_id(tmp_path: Path, encoder: HashingEncoder) -> None:
    corpus = publish(tmp_path, encoder, [make_document("Same", f"words {'. ' * number}") for number in range(1, 9)])
    ids = [hit.unit.id for hit in dense_search(corpus, "same words", 5)]
    assert ids == sorted(ids)


def test_the_order_of_writing_does_not_matter(
    tmp_path: Path, encoder: HashingEncoder, documents: list[Document]
) -> None:
    forward = publish(tmp_path / "forward", encoder, documents)
    backward = publish(tmp_path / "backward", encoder, documents[::-1])
    assert dense_search(forward, "harbour", 9) == dense_search(backward, "harbour", 9)


def test_another_encoder_is_refused_when_it_is_needed(
    tmp_path: Path, encoder: HashingEncoder, documents: list[Document]
) -> None:
    publish(tmp_path, encoder, documents)
    corpus = Corpus(Snapshot.open(tmp_path), lambda: HashingEncoder("other"))
    with pytest.raises(IndexMismatch, match="made with encoder hashing"):
        dense_search(corpus, "harbour", 3)


scores = arrays(np.float32, st.integers(0, 40), elements=st.sampled_from([0.0, 0.25, 0.5, -1.0, 1.0]))


@given(scores, st.integers(0, 50))
def test_top_rows_equal_a_full_sort(values: FloatMatrix, limit: int) -> None:
    assert top_rows(values, limit) == sorted(range(len(values)), key=lambda row: (-values[row], row))[:limit]


@pytest.mark.parametrize("changed", [HashingEncoder("hashing", 32), HashingEncoder("hashing-2", 64)])
def test_a11_a_model_or_dimension_changed_since_indexing_refuses_and_says_what_to_do(
    tmp_path: Path, encoder: HashingEncoder, documents: list[Document], changed: HashingEncoder
) -> None:
    publish(tmp_path, encoder, documents)
    corpus = Corpus(Snapshot.open(tmp_path), lambda: changed)
    with pytest.raises(IndexMismatch, match="Use encoder hashing, or index the documents into a new folder"):
        dense_search(corpus, "harbour", 3)
    assert len(keyword_search(corpus, "harbour", 3)) == 2


def test_among_some_only_these_are_ranked_as_in_the_whole(
    tmp_path: Path, encoder: HashingEncoder, documents: list[Document]
) -> None:
    corpus, question = publish(tmp_path, encoder, documents), "Which river flows through Wrenmouth?"
    whole = dense_search(corpus, question, 99)
    some = {hit.unit.id for hit in whole[1::2]}
    found = nearest(corpus, encoder.encode([question])[0], 2, Kind.PASSAGE, {*some, "p-unknown"})
    assert found == tuple(hit for hit in whole if hit.unit.id in some)[:2]
    assert nearest(corpus, encoder.encode([question])[0], 2, Kind.PASSAGE, ()) == ()


def test_all_the_weight_on_one_search_gives_its_order_and_the_depth_is_at_least_the_limit(
    tmp_path: Path, encoder: HashingEncoder, documents: list[Document]
) -> None:
    corpus, question = publish(tmp_path, encoder, documents), "Which river flows through Wrenmouth?"
    keyword, dense = keyword_search(corpus, question, 99), dense_search(corpus, question, 99)
    assert {hit.channel for hit in keyword} == {"keyword"}
    assert [hit.unit.id for hit in keyword] != [hit.unit.id for hit in dense[: len(keyword)]]
    for weight, expected in ((0.0, keyword), (1.0, dense)):
        settings = HybridSearchSettings(dense_weight=weight, depth=1)
        found = hybrid_search(corpus, question, len(expected), settings)
        assert [hit.unit.id for hit in found] == [hit.unit.id for hit in expected]
        assert {hit.channel for hit in found} == {"fused"}


def test_the_first_of_both_searches_has_the_best_rank(
    tmp_path: Path, encoder: HashingEncoder, documents: list[Document]
) -> None:
    corpus = publish(tmp_path, encoder, documents)
    (best,) = hybrid_search(corpus, "The Isk is a river", 1, HybridSearchSettings(fusion="rrf"))
    assert best.unit.title == "Isk"
    assert best.score == pytest.approx(1 / 61 + 1 / 61)


def test_unknown_fusions_and_weights_beyond_one_are_refused() -> None:
    with pytest.raises(ValueError, match="convex or rrf, not sum"):
        HybridSearchSettings(fusion="sum")
    with pytest.raises(ValueError, match="dense_weight must lie between 0 and 1"):
        HybridSearchSettings(dense_weight=1.5)


@pytest.mark.parametrize("depth", [2, 3, 100])
@pytest.mark.parametrize("fusion", ["convex", "rrf"])
def test_it_is_the_fusion_of_both(
    tmp_path: Path, encoder: HashingEncoder, documents: list[Document], fusion: str, depth: int
) -> None:
    corpus, question = publish(tmp_path, encoder, documents), "Which river flows through Wrenmouth?"
    both = [search(corpus, question, depth) for search in (keyword_search, dense_search)]
    scores = list(map(scores_of, both))
    expected = reciprocal_ranks(scores) if fusion == "rrf" else convex_scores(scores, (0.5, 0.5), depth)
    fused = rescored(both, expected, 2)
    found = hybrid_search(corpus, question, 2, HybridSearchSettings(fusion=fusion, depth=depth))
    assert len(found) == 2
    assert found == fused
