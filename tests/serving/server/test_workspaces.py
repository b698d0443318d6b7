"""What a workspace tells of its index is read from a commit that is held open meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.serving.server.workspaces import Workspace, indexing_of
from serving.server.served import workspace

READS: dict[str, Callable[[Workspace], object]] = {
    "contents": Workspace.contents,
    "titles": Workspace.by_title,
    "ids": lambda served: served.existing_ids(["d0"]),
    "recipes": Workspace.recipe_names,
    "indexing": indexing_of,
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_commit_is_held_until_it_is_read(
    built: Path, read: Callable[[Workspace], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A snapshot that nobody holds is parked. Here it is closed instead, so that reading on would fail."""
    parked: list[Snapshot] = []

    def park(snapshot: Snapshot) -> None:
        parked.append(snapshot)
        snapshot.close()

    monkeypatch.setattr(Snapshot, "park", park)
    read(workspace("north", built / "north"))
    assert len(parked) == 1
