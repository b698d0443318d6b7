"""Rerankers: reorder hits after retrieval by reading question and text together.

`LateInteractionReranker` needs an encoder with vectors per token, `CrossEncoderReranker` the optional package
sentence-transformers. Neither stores anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hoptrail.errors import UsageError
from hoptrail.models.encoder import Encoder, TokenEncoder
from hoptrail.models.encoder_factory import loaded, optional_package
from hoptrail.models.prompt_text import whole_text
from hoptrail.types import Hit, Ranking

_AT_ONCE = 64  # texts whose token vectors are in memory together, 0.4 MB each at most
_DIGITS = 6  # the precision of encoders: closer scores count as equal, so that their order does not depend on rounding


class Reranker(Protocol):
    """Reorders hits by reading them with the question."""

    @property
    def name(self) -> str:
        """The channel of the hits it returns."""

    def rerank(self, question: str, hits: Ranking, limit: int) -> Ranking:
        """The best `limit` of `hits`, with this reranker's scores."""


class LateInteractionReranker:
    """The mean over the question's tokens of the best cosine with a token of the text (MaxSim).

    Khattab and Zaharia 2020 (ColBERT), section 3.3, eq. 3, divided by the number of question tokens so that scores lie
    between -1 and 1. Their encoder is trained for it; a mean-pooling encoder's token vectors are not, so measure before use.
    """

    name = "late-interaction"

    def __init__(self, encoder: TokenEncoder) -> None:
        self._encoder = encoder

    def rerank(self, question: str, hits: Ranking, limit: int) -> Ranking:
        """See `Reranker.rerank`. A question or text without tokens scores 0. Raises: ModelUnavailable: the encoder failed."""
        (asked,) = self._encoder.encode_tokens([question])
        scores: list[float] = []
        for start in range(0, len(hits), _AT_ONCE):
            texts = [hit.unit.searchable for hit in hits[start : start + _AT_ONCE]]
            scores += [
                float((asked @ tokens.T).max(axis=1).mean()) if len(asked) and len(tokens) else 0.0
                for tokens in self._encoder.encode_tokens(texts)
            ]
        return _ordered(hits, scores, self.name, limit)


class CrossEncoderReranker:
    """A cross-encoder of the package sentence-transformers, by name or folder: one forward pass per pair.

    Nogueira and Cho 2019 (passage re-ranking with BERT), section 3.
    Raises: ModelUnavailable: the package is missing, or it cannot load the model.
    """

    name = "cross-encoder"

    def __init__(self, model: str) -> None:
        package = optional_package("sentence_transformers", "sentence-transformers")
        self._model = loaded(package.CrossEncoder, model)

    def rerank(self, question: str, hits: Ranking, limit: int) -> Ranking:
        if not hits:
            return ()
        pairs = [(whole_text(question), whole_text(hit.unit.searchable)) for hit in hits]
        scores = self._model.predict(pairs, show_progress_bar=False)
        return _ordered(hits, [float(score) for score in scores], self.name, limit)


def open_reranker(name: str, encoder: Encoder) -> Reranker:
    """The reranker called `name`: `late-interaction`, or `cross-encoder:MODEL`. Raises: as the reranker says, and UsageError:
    there is none of that name, or `encoder` gives no vector per token, which late interaction needs.
    """
    kind, _, model = name.partition(":")
    if kind == CrossEncoderReranker.name and model:
        return CrossEncoderReranker(model)
    if name != LateInteractionReranker.name:
        raise UsageError(f"there is no reranker {name!r}; available: late-interaction, cross-encoder:MODEL")
    if not isinstance(encoder, TokenEncoder):
        raise UsageError(
            f"late-interaction needs an encoder with a vector per token, which {encoder.identity.name} is not."
        )
    return LateInteractionReranker(encoder)


def _ordered(hits: Ranking, scores: Sequence[float], channel: str, limit: int) -> Ranking:
    rescored = [Hit(hit.unit, round(score, _DIGITS), channel) for hit, score in zip(hits, scores, strict=True)]
    return tuple(sorted(rescored, key=lambda hit: (-hit.score, hit.unit.id))[: max(limit, 0)])
