"""The HTTP client for endpoints that speak an OpenAI API, made in one way for chat models and encoders.

Redirects are not followed. A connection serves one request: that is what lets a deadline cut it (`deadline.py`). Whatever comes
back is bounded in size, also what the library reads by itself: bodies of error statuses, single events of a stream. A query in
the address (`?api-version=...`) goes with every request.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from hoptrail.models.deadline import attach
from hoptrail.models.environment import Address
from hoptrail.models.failures import CallFailed, FailureKind
from hoptrail.models.redacting import hide_in_logs

LARGEST_BODY = 64_000_000
"""Bytes of a reply, unpacked, that are read at all."""


def open_client(address: Address, seconds: float, retries: int = 0) -> Any:
    """A client that waits for `seconds` at a time, and whose log shows no secret of the address.

    Beside the library's own errors it raises CallFailed where a reply has no end.
    """
    import httpx2
    import openai

    parts = urlsplit(address.base_url)
    client = openai.OpenAI(
        base_url=urlunsplit(parts._replace(query="", fragment="")),
        api_key=address.key,
        max_retries=retries,
        timeout=seconds,
        http_client=openai.DefaultHttpxClient(
            follow_redirects=False,
            params=parts.query,
            event_hooks={"request": [attach], "response": [_bound]},
            limits=httpx2.Limits(max_keepalive_connections=0),
        ),
    )
    hide_in_logs(address.secrets)
    return client


def _bound(response: Any) -> None:
    """A response hook: whoever reads the body reads it through this bound."""
    unbounded = response.iter_bytes

    def bounded(chunk_size: int | None = None) -> Iterator[bytes]:
        total = 0
        for chunk in unbounded(chunk_size):
            total += len(chunk)
            if total > LARGEST_BODY:
                response.close()
                reason = f"sent more than {LARGEST_BODY:,} bytes"
                raise CallFailed(FailureKind.NONSENSE, reason, paid=response.is_success)
            yield chunk

    response.iter_bytes = bounded
