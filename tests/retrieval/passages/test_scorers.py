"""What adaptive reranking is given: scores of passages by both searches or by a reranker, and neighbours by stored links."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from corpus.worlds import ranked
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import writing_to
from hoptrail.errors import UsageError
from hoptrail.models.encoder import FloatMatrix, Progress, unit_length
from hoptrail.models.rerankers import LateInteractionReranker
from hoptrail.retrieval.corpus import Corpus
from hoptrail.types import Hit, Link, Usage
from hoptrail_papers.sunar.adaptive import logistic, open_scoring, passages_by_id, stored_neighbours
from structures.site import Site
from world import FACTS, HashingEncoder, TokenHashingEncoder, make_document, make_passage

DOCUMENTS = [make_document(title, text) for title, text in FACTS.items()]
PASSAGES = [make_passage(document) for document in DOCUMENTS]
NAMES = [unit.id for unit in PASSAGES]
QUESTION = "Which river flows through Wrenmouth?"


class Signed(HashingEncoder):
    """Texts without a common word have negative cosines: half the words count against the others."""

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> FloatMatrix:
        vectors = super().encode(texts, progress)
        return unit_length(vectors - vectors[:, ::-1])


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    folder = tmp_path_factory.mktemp("scorers")
    with writing_to(folder, Signed().identity) as writer:
        writer.put_documents(DOCUMENTS)
        writer.put_units(PASSAGES, Signed().encode([unit.searchable for unit in PASSAGES]))
        writer.publish(Usage())
    return Snapshot.open(folder)


def mixed(question: str) -> dict[str, float]:
    """The definition: half the cosine, if it is positive, and half the share of the highest BM25 score."""
    vector, keyword = Signed().encode([question])[0], dict(ranked(DOCUMENTS, question, 99))
    cosines = {unit.id: float(Signed().encode([unit.searchable])[0] @ vector) for unit in PASSAGES}
    best = max(keyword.values(), default=1.0)
    return {name: (max(cosine, 0) + keyword.get(name, 0) / best) / 2 for name, cosine in cosines.items()}


@pytest.mark.parametrize("question", [QUESTION, "quay of the", "Grey Hills"])
def test_the_mixed_score_is_half_cosine_and_half_share_of_the_best_keyword_score(
    snapshot: Snapshot, question: str
) -> None:
    score = open_scoring("hybrid", Corpus(snapshot, Signed))(question)
    expected = mixed(question)
    assert score(NAMES) == pytest.approx([expected[name] for name in NAMES], abs=1e-5)
    few = [NAMES[4], NAMES[0], NAMES[2]]
    assert score(few) == pytest.approx([expected[name] for name in few], abs=1e-5), "in the order in which it is asked"
    assert score([]) == []


def test_a_negative_cosine_counts_as_none(snapshot: Snapshot) -> None:
    cosines = Signed().encode([unit.searchable for unit in PASSAGES]) @ Signed().encode(["quay"])[0]
    assert min(cosines) < -0.2
    assert min(open_scoring("hybrid", Corpus(snapshot, Signed))("quay")(NAMES)) == 0


def test_a_rerankers_scores_go_through_the_logistic_function_in_the_order_of_the_batch(snapshot: Snapshot) -> None:
    score = open_scoring("late-interaction", Corpus(snapshot, TokenHashingEncoder))(QUESTION)
    hits = tuple(Hit(unit, 0.0, "") for unit in PASSAGES)
    reranked = LateInteractionReranker(TokenHashingEncoder()).rerank(QUESTION, hits, 99)
    expected = {hit.unit.id: 1 / (1 + np.exp(-hit.score)) for hit in reranked}
    assert len({round(value, 6) for value in expected.values()}) > 2
    for batch in (NAMES, NAMES[::-1], NAMES[2:4]):
        assert score(batch) == pytest.approx([expected[name] for name in batch], abs=1e-6)


def test_an_unknown_reranker_is_refused(snapshot: Snapshot) -> None:
    with pytest.raises(UsageError, match="no reranker 'best'"):
        open_scoring("best", Corpus(snapshot, Signed))


def test_the_logistic_function_neither_overflows_nor_loses_the_order() -> None:
    scores = [-1e6, -800.0, -30.0, -1.0, 0.0, 1.0, 30.0]
    shares = [logistic(score) for score in scores]
    assert shares == sorted(shares)
    assert shares[4] == 0.5
    assert [low + high for low, high in zip(shares[2:4], shares[:4:-1], strict=True)] == pytest.approx([1, 1])
    assert logistic(1e6) == 1


def test_passages_by_id_leave_out_what_is_not_there(snapshot: Snapshot) -> None:
    assert passages_by_id(snapshot, [NAMES[0], "p-gone", NAMES[0]]) == {NAMES[0]: PASSAGES[0]}


def test_neighbours_by_links_are_nearest_first_and_never_the_passage_itself(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.build(add=DOCUMENTS)
    a, b, c, d = sorted(unit.id for unit in site.snapshot.units(PASSAGES[0].kind))[:4]
    weights = {(a, a): 1.0, (a, d): 0.5, (a, b): 0.5, (a, c): 0.9, (a, "p-gone"): 0.95, (b, a): 0.2, (c, c): 1.0}
    with writing_to(tmp_path, site.encoder.identity) as writer:
        writer.links.put([Link(source, target, "near", weight) for (source, target), weight in weights.items()])
        writer.links.put([Link(d, a, "other", 1.0)])
        writer.publish(Usage())
    snapshot = Snapshot.open(tmp_path)
    assert stored_neighbours(snapshot, "near", [b, a, c, d], 9) == {a: [c, b, d], b: [a], c: [], d: []}
    assert stored_neighbours(snapshot, "near", [a], 2) == {a: [c, b]}
    assert stored_neighbours(snapshot, "other", [d], 2) == {d: [a]}
    assert stored_neighbours(snapshot, "near", [], 2) == {}
