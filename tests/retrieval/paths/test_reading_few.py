"""Path search over more passages than it reads sentences of."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.paths.candidates import CandidateSettings
from hoptrail.retrieval.paths.features import CandidateFeatures, _ranks
from hoptrail.retrieval.paths.queries import PassageGraph, PathQueries, QuestionScores
from hoptrail.retrieval.paths.search import describe
from retrieval.paths.test_search import QUESTION, opened
from world import FACTS, HashingEncoder, make_document


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return opened(tmp_path, [make_document(title, text) for title, text in FACTS.items()])


def scores_of(snapshot: Snapshot, read: int) -> QuestionScores:
    queries = PathQueries.of(QUESTION)
    vectors = HashingEncoder().encode(queries.texts)
    return QuestionScores.of(PassageGraph.of(snapshot), snapshot.keywords, queries, vectors, read)


def test_sentences_of_the_best_passages_are_read_first(corpus: Corpus) -> None:
    every, few = (scores_of(corpus.snapshot, read) for read in (len(FACTS), 3))
    unread = (few.sentences == -1).all(axis=1)
    assert unread.sum() == len(FACTS) - 3
    assert np.allclose(few.sentences[~unread], every.sentences[~unread])
    assert not unread[int(np.argmax(few.keywords[:, 0]))]
    few.read(np.flatnonzero(unread))
    assert np.allclose(few.sentences, every.sentences)


def test_the_sentences_of_all_candidates_are_read(corpus: Corpus) -> None:
    found = describe(corpus, QUESTION, CandidateSettings(read=1))
    assert isinstance(found, CandidateFeatures)
    assert len(found.candidates.rows) > 3
    assert (found.scores.sentences[found.candidates.rows] > -1).all()
    whole = describe(corpus, QUESTION, CandidateSettings())
    assert isinstance(whole, CandidateFeatures)
    assert set(found.candidates.rows) <= set(whole.candidates.rows)


def test_ranks_are_those_of_sorted_rows() -> None:
    scores = np.random.default_rng(3).integers(0, 40, 200).astype(np.float32)  # many equal ones
    expected = np.empty(200)
    expected[np.argsort(-scores, kind="stable")] = np.arange(200)
    rows = np.array([0, 7, 199, 50, 51])
    assert _ranks(scores, rows).tolist() == expected[rows].tolist()
