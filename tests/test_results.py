"""Kept measurements say where they come from."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path

import pytest

RESULTS = sorted((Path(__file__).parents[1] / "results").glob("*.json"))


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_every_row_has_an_origin(path: Path) -> None:
    kept = json.loads(path.read_text(encoding="utf-8"))
    rows = kept if isinstance(kept, list) else [kept]
    assert rows
    for row in rows:
        origin = row["of"]
        assert re.fullmatch(r"[0-9a-f]{40}(-dirty)?", origin["commit"]), row
        assert date.fromisoformat(origin["date"]) >= date(2026, 11, 1)
        assert all(isinstance(origin[name], str) and origin[name] for name in ("settings", "data", "machine"))
        assert isinstance(origin["tuned"], bool)
        assert isinstance(kept, dict) or "unknown" not in origin.values(), "rows are compared: measure this one again"
