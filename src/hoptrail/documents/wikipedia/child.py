"""The child process that converts pages; `child_pool` is the parent's side.

Run as `python -m hoptrail.documents.wikipedia.child SITE SETTINGS`, both JSON. The header of a request has the sizes of its pages
in bytes, the payload their XML; the payload of the reply has the converted pages as a JSON list. The process ends when a request
takes too long: of CPU time which, unlike the time on the clock, does not depend on the load of the machine.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any

from hoptrail.documents.child_process import Header, Message, answer_all, limit_time
from hoptrail.documents.wikipedia.converting import WikipediaSettings, convert
from hoptrail.documents.wikipedia.page import Site

LARGEST = 1 << 40
"""Bytes. No message is too large, because hoptrail writes both ends."""


def main() -> None:
    """Answer requests until the input ends."""
    site = Site(**json.loads(sys.argv[1]))
    settings = WikipediaSettings(**{name: _to_tuples(value) for name, value in json.loads(sys.argv[2]).items()})

    def answer(header: Header, payload: bytes) -> Message:
        limit_time(settings.seconds)
        rows, start = [], 0
        for size in header["sizes"]:
            rows.append(asdict(convert(payload[start : start + size], site, settings)))
            start += size
        return {}, json.dumps(rows, ensure_ascii=False).encode()

    answer_all(answer, LARGEST)


def _to_tuples(value: Any) -> Any:
    """Settings are tuples where JSON has lists."""
    return tuple(map(_to_tuples, value)) if isinstance(value, list) else value


if __name__ == "__main__":
    main()
