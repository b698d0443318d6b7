"""An encoder at an endpoint with the OpenAI embeddings API, at the configured address and no other.

The `openai` client retries; one deadline applies to all tries of a request. Replies are untrusted data (`client.py`): an invalid
reply (too few vectors, another order or length, not numbers, not finite, all zero) is refused as a whole. Long texts are not cut:
if the endpoint refuses them, its message is passed on.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from hoptrail.errors import ModelUnavailable
from hoptrail.models.client import open_client
from hoptrail.models.deadline import Deadline
from hoptrail.models.encoder import EncoderIdentity, FloatMatrix, Progress
from hoptrail.models.environment import Address
from hoptrail.models.failures import CallFailed
from hoptrail.models.prompt_text import whole_text
from hoptrail.models.redacting import without


class EndpointEncoder:
    """Satisfies `Encoder`. Vectors are scaled to length 1; the dimension is that of the first reply.

    `batch` texts are sent per request; `seconds` is the time limit per try.
    """

    def __init__(self, address: Address, batch: int = 64, retries: int = 4, seconds: float = 60.0) -> None:
        self._address = address
        self._batch = batch
        self._retries = retries
        self._seconds = seconds
        self._lock = threading.Lock()
        self._client: Any = None
        self._dimension: int | None = None

    @property
    def identity(self) -> EncoderIdentity:
        """The identity; asks for one vector if the dimension is not known yet.
        Raises: ModelUnavailable: as for `encode`.
        """
        if self._dimension is None:
            self.encode(["dimension"])
        model, base_url = self._address.model, self._address.base_url
        digest = hashlib.sha256(f"{model}\n{base_url}".encode()).hexdigest()
        return EncoderIdentity(f"endpoint:{model}", digest, self._dimension or 0)

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> FloatMatrix:
        """Unit vectors in the order of `texts`, shape (len(texts), dimension); see `Encoder.encode`.

        Raises:
            ModelUnavailable: there was no valid reply after the retries. No vectors are returned, not even of earlier batches.
        """
        if not texts:
            return np.empty((0, self.identity.dimension), np.float32)
        parts: list[FloatMatrix] = []
        for start in range(0, len(texts), self._batch):
            # Some endpoints refuse an empty text.
            part = [whole_text(text) or " " for text in texts[start : start + self._batch]]
            parts.append(self._vectors(self._ask(part), len(part)))
            if progress:
                progress(start + len(part), len(texts))
        return np.concatenate(parts)

    def _ask(self, texts: list[str]) -> bytes:
        import httpx2
        import openai

        seconds = self._seconds * (self._retries + 1)
        deadline = Deadline(seconds)
        reason = ""
        try:
            with deadline:
                reply = self._connected().embeddings.with_raw_response.create(
                    model=self._address.model, input=texts, encoding_format="float"
                )
                content: bytes = reply.content
            if not deadline.expired:  # a connection that was cut looks like the end of a body of unknown length
                return content
        except CallFailed as failure:
            reason = failure.reason
        except openai.APIStatusError as error:
            reason = f"answered with status {error.status_code}: {error.message[:500]}"
        except (openai.OpenAIError, httpx2.HTTPError) as error:
            reason = f"could not be asked: {error} {error.__cause__ or ''}"
        if deadline.expired:
            reason = f"did not finish within {seconds:g} seconds"
        # Without its cause: the library's errors contain the request.
        raise self._refusal(reason) from None

    def _connected(self) -> Any:
        with self._lock:
            if self._client is None:
                self._client = open_client(self._address, self._seconds, self._retries)
            return self._client

    def _vectors(self, reply: bytes, expected: int) -> FloatMatrix:
        try:
            rows = _rows(json.loads(reply))
        except (ValueError, OverflowError, RecursionError) as error:
            raise self._refusal(f"sent no embeddings: {error}") from error
        if len(rows) != expected:
            raise self._refusal(f"sent {len(rows)} vectors for {expected} texts")
        with self._lock:
            dimension = self._dimension or len(rows[0])
        lengths = sorted({len(row) for row in rows} | {dimension})
        if len(lengths) > 1 or lengths[0] == 0:
            raise self._refusal(
                f"sent vectors of {' and '.join(map(str, lengths))} numbers where all must be equally long"
            )
        return self._unit(rows)

    def _unit(self, rows: list[list[float]]) -> FloatMatrix:
        vectors = np.array(rows)
        with np.errstate(over="ignore"):
            norms = np.linalg.norm(vectors, axis=1)
        if not np.isfinite(norms).all():
            raise self._refusal(
                f"sent vectors with numbers that are not finite ({len(rows)} of {len(rows[0])} numbers)"
            )
        if not norms.all():
            raise self._refusal(f"sent vectors of zeros ({len(rows)} of {len(rows[0])} numbers)")
        with self._lock:
            self._dimension = self._dimension or len(rows[0])
        unit: FloatMatrix = (vectors / norms[:, None]).astype(np.float32)
        return unit

    def _refusal(self, reason: str) -> ModelUnavailable:
        address = self._address
        message = without(whole_text(reason.strip()), address.secrets)
        return ModelUnavailable(
            f"the embeddings endpoint {address.place}, asked for {address.model}, {message}. Nothing of this call is kept; check "
            "the model's name, the address and the server's log"
        )


def _rows(reply: Any) -> list[list[float]]:
    """The vectors of a parsed reply, in order.
    Raises: ValueError: it is not a list of embeddings numbered 0, 1, ..., each a list of numbers.
    """
    items = reply.get("data") if isinstance(reply, dict) else None
    if not isinstance(items, list):
        raise ValueError("the reply has no list named data")
    return [_row(item, position) for position, item in enumerate(items)]


def _row(item: Any, position: int) -> list[float]:
    row = item.get("embedding") if isinstance(item, dict) else None
    if not isinstance(row, list):
        raise ValueError(f"number {position} of data has no list named embedding")
    index = item.get("index", position)
    if index != position:
        raise ValueError(f"number {position} of data says it belongs to text {index!r}")
    strange = next((value for value in row if type(value) not in (int, float)), None)
    if strange is not None or None in row:
        raise ValueError(f"embedding {position} holds {strange!r}, which is not a number")
    return [float(value) for value in row]
