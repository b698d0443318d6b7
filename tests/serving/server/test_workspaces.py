"""A workspace reads its index from a commit that stays open meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.index.contents import reached
from hoptrail.serving.server.workspaces import Workspace
from serving.server.served import workspace

READS: dict[str, Callable[[Workspace], object]] = {
    "contents": Workspace.contents,
    "titles": Workspace.by_title,
    "ids": lambda served: served.existing_ids(["d0"]),
    "recipes": Workspace.recipe_names,
    "indexing": lambda served: served.read(reached, None),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_commit_is_held_until_it_is_read(
    built: Path, read: Callable[[Workspace], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unused snapshots are normally parked. Here they are closed, so that reading from one would fail."""
    parked: list[Snapshot] = []

    def park(snapshot: Snapshot) -> None:
        parked.append(snapshot)
        snapshot.close()

    monkeypatch.setattr(Snapshot, "park", park)
    read(workspace("north", built / "north"))
    assert len(parked) == 1
