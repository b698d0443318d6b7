"""The child process that converts pages; `pool` is the parent's side.

Run as `python -m hoptrail.documents.wikipedia.child SITE SETTINGS`, both JSON. A request is a number of pages: its header has
their sizes, its payload their XML; the reply's payload has what became of them, a JSON list. Ends when its input ends, and when a
request takes too long. Where there is no `resource` module (Windows) the parent's clock is the only limit.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from hoptrail.documents.child import receive, send
from hoptrail.documents.wikipedia.converting import Converted, WikipediaSettings, convert
from hoptrail.documents.wikipedia.page import Site

LARGEST = 1 << 40
"""No message is too large: both ends are ours."""

FIELDS = Converted.__slots__


def main() -> None:
    """Answer requests until the input ends."""
    site = Site(**json.loads(sys.argv[1]))
    settings = _settings(json.loads(sys.argv[2]))
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a parser prints must not end up between the messages
    while request := receive(sys.stdin.buffer, LARGEST):
        header, payload = request
        _limit_time(settings.seconds)
        rows, start = [], 0
        for size in header["sizes"]:
            converted = convert(payload[start : start + size], site, settings)
            rows.append([getattr(converted, name) for name in FIELDS])
            start += size
        send(replies, {}, json.dumps(rows, ensure_ascii=False).encode())


def _settings(given: dict[str, Any]) -> WikipediaSettings:
    """Settings from JSON, which has lists where they have tuples."""
    return WikipediaSettings(**{name: _frozen(one) for name, one in given.items()})


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _limit_time(seconds: int) -> None:
    """CPU seconds for the next request: unlike those of a clock they do not depend on what else the machine does."""
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
