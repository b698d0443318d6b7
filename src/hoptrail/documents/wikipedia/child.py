"""The child process that converts pages; `child_pool` is the parent's side.

Run as `python -m hoptrail.documents.wikipedia.child SITE SETTINGS`, both JSON. The header of a request has the sizes of its pages
in bytes, the payload their XML; the payload of the reply has the converted pages as a JSON list. The process ends when its input
ends, or when a request takes too long. Without the `resource` module (Windows), only the parent's clock limits it.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from hoptrail.documents.child import receive, send
from hoptrail.documents.wikipedia.converting import Converted, WikipediaSettings, convert
from hoptrail.documents.wikipedia.page import Site
from hoptrail.json_object import JsonObject

LARGEST = 1 << 40
"""Bytes. No message is too large, because hoptrail writes both ends."""

FIELDS = Converted.__slots__


def main() -> None:
    """Answer requests until the input ends."""
    site = Site(**json.loads(sys.argv[1]))
    settings = _settings(json.loads(sys.argv[2]))
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # parsers may print; keep that out of the messages
    while request := receive(sys.stdin.buffer, LARGEST):
        header, payload = request
        _limit_time(settings.seconds)
        rows, start = [], 0
        for size in header["sizes"]:
            converted = convert(payload[start : start + size], site, settings)
            rows.append([getattr(converted, name) for name in FIELDS])
            start += size
        send(replies, {}, json.dumps(rows, ensure_ascii=False).encode())


def _settings(values: JsonObject) -> WikipediaSettings:
    """Settings from JSON, which has lists in place of tuples."""
    return WikipediaSettings(**{name: _to_tuples(value) for name, value in values.items()})


def _to_tuples(value: Any) -> Any:
    return tuple(map(_to_tuples, value)) if isinstance(value, list) else value


def _limit_time(seconds: int) -> None:
    """Limit the next request to CPU seconds which, unlike wall-clock seconds, do not depend on the load of the machine."""
    try:
        import resource
    except ImportError:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    allowed = int(used.ru_utime + used.ru_stime) + 1 + seconds
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (allowed, resource.RLIM_INFINITY))


if __name__ == "__main__":
    main()
