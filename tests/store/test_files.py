"""The files of a place, listed while others write and sweep."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hoptrail.store.files import LocalFiles


@pytest.mark.parametrize("looks", [0, 1])
def test_a_file_that_is_swept_away_while_the_folder_is_listed_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks: int
) -> None:
    """It goes before it is looked at for the first time, or for the second."""
    names = [f"table.lance/data/{name}" for name in ("kept", "swept")]
    listed = os.stat
    seen = []

    def meanwhile(path: str | Path, *arguments: object, **named: object) -> os.stat_result:
        if str(path).endswith("swept"):
            seen.append(path)
            if len(seen) > looks:
                Path(path).unlink(missing_ok=True)
        return listed(path, *arguments, **named)  # type: ignore[arg-type]

    files = LocalFiles(tmp_path)
    for look in (files.sizes, files.written):
        for name in names:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes(b"three")
        seen.clear()
        with monkeypatch.context() as patch:
            patch.setattr(os, "stat", meanwhile)
            assert names[:1] <= sorted(look("table.lance")) <= names


def test_files_are_named_by_their_paths_and_folders_are_none(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c").write_bytes(b"12345")
    (tmp_path / "a" / "nowhere").symlink_to(tmp_path / "gone")
    (tmp_path / "top").write_bytes(b"")
    assert LocalFiles(tmp_path).sizes() == {"a/b/c": 5, "top": 0}
    assert LocalFiles(tmp_path).sizes("a/b") == {"a/b/c": 5}
    assert LocalFiles(tmp_path).sizes("not there") == {}
