"""Files that hold what the code makes, kept to be read: compared in tests, and written anew where that is asked for."""

from __future__ import annotations

import os
from pathlib import Path


def check_file(place: Path, content: str) -> None:
    """Whether the file holds `content`; with HOPTRAIL_RENEW=1 in the environment it is made to."""
    if os.environ.get("HOPTRAIL_RENEW") == "1":
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content, encoding="utf-8")
    assert place.is_file(), f"{place} is missing: run the test with HOPTRAIL_RENEW=1"
    assert place.read_text(encoding="utf-8") == content, f"{place} is not what is made now: HOPTRAIL_RENEW=1 renews it"
