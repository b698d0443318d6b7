"""Late interaction on hand-made token vectors, where the right order can be worked out, and on real text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from hoptrail.models.encoder import EncoderIdentity, FloatMatrix, Progress
from hoptrail.models.local import MiniLmEncoder
from hoptrail.models.rerankers import LateInteractionReranker
from hoptrail.types import Hit, Kind, Ranking, Span, Unit

AXES = {"north": [1.0, 0.0], "east": [0.0, 1.0], "northeast": [0.6, 0.8], "south": [-1.0, 0.0]}


class CompassEncoder:
    """Every word is a direction in the plane."""

    identity = EncoderIdentity("compass", "0", 2)

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> FloatMatrix:
        raise NotImplementedError

    def encode_tokens(self, texts: Sequence[str]) -> list[FloatMatrix]:
        return [np.array([AXES[word] for word in text.split()], np.float32).reshape(-1, 2) for text in texts]


def hits(*texts: str) -> Ranking:
    units = (Unit(f"u{n:03}", Kind.PASSAGE, "", text, (Span("d", 0, len(text)),)) for n, text in enumerate(texts))
    return tuple(Hit(unit, 1.0, "keyword") for unit in units)


def texts_of(ranking: Ranking) -> list[str]:
    return [hit.unit.text for hit in ranking]


def test_scores_are_the_mean_of_best_cosines() -> None:
    found = LateInteractionReranker(CompassEncoder()).rerank(
        "north east", hits("south", "northeast", "east north", "north"), 9
    )
    assert [(hit.unit.text, hit.score) for hit in found] == [
        ("east north", 1.0),  # (1 + 1) / 2
        ("northeast", pytest.approx(0.7)),  # (0.6 + 0.8) / 2
        ("north", 0.5),  # (1 + 0) / 2
        ("south", -0.5),  # (-1 + 0) / 2
    ]
    assert {hit.channel for hit in found} == {"late-interaction"}


def test_ties_go_by_unit_id_and_limit_cuts() -> None:
    reranker = LateInteractionReranker(CompassEncoder())
    given = hits("north", "east", "north north", "north")[::-1]
    assert [hit.unit.id for hit in reranker.rerank("north", given, 3)] == ["u000", "u002", "u003"]
    assert reranker.rerank("north", given, 0) == ()
    assert reranker.rerank("north", (), 5) == ()


def test_no_tokens_score_zero() -> None:
    reranker = LateInteractionReranker(CompassEncoder())
    assert [hit.score for hit in reranker.rerank("north", hits("", "south"), 5)] == [0.0, -1.0]
    assert [hit.score for hit in reranker.rerank("", hits("north"), 5)] == [0.0]


def test_more_hits_than_fit_at_once() -> None:
    many = hits(*["south"] * 100, "north", *["east"] * 50)
    found = LateInteractionReranker(CompassEncoder()).rerank("north", many, 200)
    assert len(found) == 151
    assert texts_of(found)[:2] == ["north", "east"]
    assert found[-1].unit.id == "u099"


def test_real_text(minilm: MiniLmEncoder) -> None:
    given = hits(
        "Tax returns are due in April.",
        "The cathedral of Nidaros stands in Trondheim, Norway.",
        "Norway exports fish.",
        "Nidaros Cathedral was built from 1070 to 1300.",
    )
    found = LateInteractionReranker(minilm).rerank("When was the cathedral of Nidaros built?", given, 2)
    assert texts_of(found)[0] == "Nidaros Cathedral was built from 1070 to 1300."
    assert texts_of(found)[1] == "The cathedral of Nidaros stands in Trondheim, Norway."
    assert all(-1 <= hit.score <= 1 for hit in found)
