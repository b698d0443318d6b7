"""An encoder at an endpoint with the OpenAI embeddings API, at the configured address and no other.

The `openai` client retries; one deadline applies to all tries of a request. A request that is refused (400, 413, 422, or as too
large) is sent in halves, and the size that is taken is used from then on; a text that is refused alone is shortened until it is
taken, and named in the log. Replies are untrusted data (`client.py`): an invalid reply (too few vectors, numbers that are none,
another length, not finite, all zero) is refused as a whole.
"""

from __future__ import annotations

import base64
import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, ValidationError

from hoptrail.errors import ModelUnavailable
from hoptrail.models.client import CallFailed, FailureKind, exchanged
from hoptrail.models.encoder import EncoderIdentity, FloatMatrix, Progress
from hoptrail.models.environment import Address
from hoptrail.models.prompt_text import whole_text
from hoptrail.models.tracing import span
from hoptrail.types.json_object import reader_of

_log = logging.getLogger(__name__)


class EndpointEncoder:
    """Satisfies `Encoder`. Vectors are scaled to length 1; the dimension is that of the first reply.

    At most `batch` texts are sent per request; `seconds` is the time limit per try.
    """

    def __init__(self, address: Address, batch: int = 64, retries: int = 4, seconds: float = 60.0) -> None:
        self._address = address
        self._batch = batch
        self._retries = retries
        self._seconds = seconds
        self._dimension: int | None = None
        self._shortened = 0

    @property
    def identity(self) -> EncoderIdentity:
        """The identity; asks for one vector if the dimension is not known yet. Raises: ModelUnavailable: as for `encode`."""
        if self._dimension is None:
            self.encode(["dimension"])
        model, base_url = self._address.model, self._address.base_url
        digest = hashlib.sha256(f"{model}\n{base_url}".encode()).hexdigest()
        return EncoderIdentity(f"endpoint:{model}", digest, self._dimension or 0)

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> FloatMatrix:
        """Unit vectors in the order of `texts`, shape (len(texts), dimension); see `Encoder.encode`.
        Raises: ModelUnavailable: no valid reply after the retries. No vectors are returned, not even of earlier batches.
        """
        if not texts:
            return np.empty((0, self.identity.dimension), np.float32)
        parts: list[FloatMatrix] = []
        done = 0
        while done < len(texts):
            part = [whole_text(text) or " " for text in texts[done : done + self._batch]]  # some refuse an empty text
            parts.append(self._encoded(part))
            done += len(part)
            if progress:
                progress(done, len(texts))
        return np.concatenate(parts)

    def _encoded(self, texts: list[str]) -> FloatMatrix:
        """The vectors of a batch; in halves, or of a shortened text, where the server refuses that."""
        address, model = self._address, self._address.model
        ask = partial(_asked, model=model, texts=texts, dimension=self._dimension)
        try:
            with span("embeddings", model, {"gen_ai.request.model": model}):
                vectors = exchanged(address, self._seconds, ask, retries=self._retries)
        except CallFailed as failed:
            short = len(texts) == 1 and len(texts[0]) < 64  # it is not refused for its length
            if short or not (failed.status in {400, 413, 422} or failed.kind is FailureKind.CONTEXT):
                raise ModelUnavailable(
                    f"the embeddings endpoint {address.place}, asked for {model}, {failed.reason.strip()}. Nothing of this call "
                    "is kept; check the model's name, the address and the server's log"
                ) from None
            if len(texts) > 1:
                middle, shortened = (len(texts) + 1) // 2, self._shortened
                halves = [self._encoded(texts[:middle]), self._encoded(texts[middle:])]
                if self._shortened == shortened and middle < self._batch:  # else one text was the reason
                    _log.info("the embeddings endpoint takes no %d texts at once: %s", len(texts), failed)
                    self._batch = middle
                return np.concatenate(halves)
            (text,) = texts
            self._shortened += 1
            warning = "the embeddings endpoint refuses a text of %d characters, half of it is encoded (%r): %s"
            _log.warning(warning, len(text), text[:60], failed)
            return self._encoded([text[: len(text) // 2]])
        self._dimension = vectors.shape[1]
        return vectors


async def _asked(client: Any, model: str, texts: list[str], dimension: int | None) -> FloatMatrix:
    reply = await client.embeddings.with_raw_response.create(model=model, input=texts, encoding_format="float")
    return _unit_vectors(reply.content, len(texts), dimension)


def _floats(value: Any) -> Any:
    """The numbers that some send as bytes in base64, although numbers were asked for, or in a list of their own."""
    if isinstance(value, str):
        return np.frombuffer(base64.b64decode(value, validate=True), "<f4").tolist()
    return value[0] if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list) else value


@dataclass(frozen=True, slots=True)
class _Embedding:
    embedding: Annotated[list[float], BeforeValidator(_floats)]
    index: int | None = None


@dataclass(frozen=True, slots=True)
class _Reply:
    data: list[_Embedding]


def _unit_vectors(reply: bytes, expected: int, dimension: int | None) -> FloatMatrix:
    """The vectors of a reply in the order of their numbers, scaled to length 1: shape (expected, dimension).
    Raises: ValueError: it does not hold them; the message says what it holds.
    """
    try:
        items = reader_of(_Reply).validate_json(reply, strict=True).data
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"no embeddings: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    numbers = [place if item.index is None else item.index for place, item in enumerate(items)]
    if sorted(numbers) != list(range(expected)):
        raise ValueError(f"{len(items)} vectors for {expected} texts, which belong to the texts {numbers[:20]}")
    rows = [items[numbers.index(place)].embedding for place in range(expected)]
    lengths = sorted({*map(len, rows), dimension or len(rows[0])})
    if len(lengths) > 1 or lengths[0] == 0:
        raise ValueError(f"vectors of {' and '.join(map(str, lengths))} numbers where all must be equally long")
    vectors = np.array(rows)
    with np.errstate(over="ignore"):
        norms = np.linalg.norm(vectors, axis=1)
    if not (np.isfinite(norms) & (norms > 0)).all():
        fault = "numbers that are not finite" if norms.all() else "nothing but zeros"
        raise ValueError(f"vectors with {fault} ({len(rows)} of {len(rows[0])} numbers)")
    unit: FloatMatrix = (vectors / norms[:, None]).astype(np.float32)
    return unit
