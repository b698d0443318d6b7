"""The commands that copy an index, as they are typed."""

from __future__ import annotations

from pathlib import Path

from command import Hoptrail
from corpus.worlds import indexed_once, made
from object_store import SECRET
from publishing.indexes import commit, titles

OLD, NEW = made(50), made(2, seed=1)


def test_publish_and_restore(hoptrail: Hoptrail, address: str, tmp_path: Path) -> None:
    folder = indexed_once(tmp_path / "index", OLD)
    first = hoptrail("publish", address, "--index", folder)
    assert first.code == 0
    assert "publication 1 is commit 1" in first.err
    again = hoptrail("publish", address, "--index", folder, "--keep-hours", 0)
    assert "nothing was sent" in again.err
    commit(folder, NEW)
    assert "publication 2 is commit 2" in hoptrail("publish", address, "--index", folder, "--afresh").err
    assert hoptrail("restore", address, "--index", tmp_path / "restored").code == 0
    assert titles(tmp_path / "restored") == {document.title for document in [*OLD, *NEW]}


def test_back_up_and_restore(hoptrail: Hoptrail, tmp_path: Path) -> None:
    folder = indexed_once(tmp_path / "index", OLD)
    assert hoptrail("backup", tmp_path / "backup", "--index", folder).code == 0
    commit(folder, NEW, remove=OLD[:5])
    assert hoptrail("restore", tmp_path / "backup", "--index", tmp_path / "restored").code == 0
    assert titles(tmp_path / "restored") == {document.title for document in OLD}


def test_wrong_usage_is_said(hoptrail: Hoptrail, address: str, tmp_path: Path) -> None:
    folder = indexed_once(tmp_path / "index", NEW)
    assert hoptrail("publish", "elsewhere", "--index", folder).code == 2
    assert hoptrail("backup", folder, "--index", folder).code == 2
    ended = hoptrail("restore", address, "--index", tmp_path / "restored")
    assert (ended.code, SECRET in ended.err) == (1, False)
    assert "nothing is published" in ended.err
