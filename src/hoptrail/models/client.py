"""The HTTP client of chat models and encoders for endpoints with an OpenAI API.

Redirects are not followed. A connection serves one request, so that a deadline can cut it (`deadline.py`). The size of everything
that is read is bounded, including what the library reads by itself: bodies of error statuses, single events of a stream. A query
in the address (`?api-version=...`) is sent with every request.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from hoptrail.models.deadline import attach
from hoptrail.models.environment import Address, certificates
from hoptrail.models.failures import CallFailed, FailureKind
from hoptrail.models.redacting import hide_in_logs

LARGEST_BODY = 64_000_000
"""The most bytes of a reply, decompressed, that are read."""


def open_client(address: Address, seconds: float, retries: int = 0) -> Any:
    """A client with a time limit of `seconds` per read, whose log shows no secret of the address.

    Beside the library's own errors it raises CallFailed for replies that are too large.
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
            verify=certificates(),
            params=parts.query,
            event_hooks={"request": [attach], "response": [_bound]},
            limits=httpx2.Limits(max_keepalive_connections=0),
        ),
    )
    hide_in_logs(address.secrets)
    return client


def _bound(response: Any) -> None:
    """A response hook that limits the size of the body."""
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
