"""A path that is gone keeps nothing alive: after a move the text is under its new path and name alone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hoptrail import Index
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.errors import Interrupted, UsageError
from index.test_indexing import Desk, lines, stopping_after, write
from index.test_left_out import selected
from index.test_syncing import told
from world import FACTS


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "index")


def sources(desk: Desk) -> set[str]:
    return {source for entry in Snapshot.open(desk.folder).register.entries for source in entry.sources}


def test_what_is_deleted_after_a_move_is_forgotten(desk: Desk, world: Path, tmp_path: Path) -> None:
    write(world / "deep/Ulm.txt", "Ulm is a town.")
    desk.index(world)
    moved = Path(shutil.move(world, tmp_path / "old/place"))
    assert told(desk.index(moved, sync=True)) == {"moved": 7}
    assert all(Path(source).is_file() for source in sources(desk)), "no citation names a file that does not exist"
    (moved / "Isk.txt").unlink()
    shutil.rmtree(moved / "deep")
    assert told(desk.index(moved, sync=True)) == {"removed": 2}
    assert (desk.finds("Hills"), desk.finds("Ulm")) == ([], [])


def test_what_was_deleted_before_a_move_is_named_with_what_forgets_it(desk: Desk, world: Path, tmp_path: Path) -> None:
    desk.index(world)
    (world / "Isk.txt").unlink()
    moved = Path(shutil.move(world, tmp_path / "moved"))
    report = desk.index(moved, sync=True)
    assert (told(report), desk.finds("Hills")) == ({"moved": 5}, ["Isk"]), "its disk may not be mounted"
    [note] = report.notes
    assert f"{world} is no longer there; what was read from 1 file of it is kept" in note
    assert f"`hoptrail remove {world}`" in note
    assert desk.remove(world) == ["Isk"]
    assert desk.index(moved, sync=True).notes == []


def test_a_named_folder_that_is_gone_keeps_its_documents_and_says_what_to_run(desk: Desk, world: Path) -> None:
    desk.index(world)
    shutil.move(world, world.with_name("unmounted"))
    report = desk.index(world, sync=True)
    assert (told(report), report.documents, len(report.failures)) == ({}, 6, 1)
    assert "what was read from 6 files of it is kept" in report.notes[0]
    shutil.move(world.with_name("unmounted"), world)
    report = desk.index(world, sync=True)
    assert (told(report), report.notes) == ({}, [])


def test_a_copy_on_a_disk_that_is_not_mounted_costs_no_text(desk: Desk, world: Path, tmp_path: Path) -> None:
    disk = Path(shutil.copytree(world, tmp_path / "disk"))
    write(disk / "Only.txt", "Only the disk has this.")
    desk.index(disk)
    disk.rename(tmp_path / "unmounted")
    desk.index(world, sync=True)
    assert desk.finds("disk") == ["Only"]
    (tmp_path / "unmounted").rename(disk)
    report = desk.index(disk, sync=True)
    assert (told(report), len(report.duplicates), desk.finds("disk")) == ({}, 6, ["Only"])


def test_an_index_that_still_has_the_old_paths_loses_them(desk: Desk, world: Path, tmp_path: Path) -> None:
    """As version 0.2.0 has left it: both paths, of which one does not exist."""
    copy = Path(shutil.copytree(world, tmp_path / "copy"))
    desk.index(world, copy)
    shutil.rmtree(world)
    assert told(desk.index(copy)) == {}
    assert {Path(source).parent for source in sources(desk)} == {copy}


def test_two_files_that_change_their_names_keep_their_texts_apart(desk: Desk, tmp_path: Path) -> None:
    one, two = write(tmp_path / "n/one.txt", FACTS["Isk"]), write(tmp_path / "n/two.txt", FACTS["Lindeth"])
    desk.index(one.parent)
    one.rename(tmp_path / "n/x")
    two.rename(one)
    (tmp_path / "n/x").rename(two)
    desk.index(one.parent)
    assert (desk.finds("Hills"), desk.finds("village")) == (["two"], ["one"])


def test_the_title_follows_the_file_that_is_left(desk: Desk, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path / f"n/{name}.txt", FACTS["Isk"])
        write(tmp_path / f"n/{name}.md", f"# a\n\n{FACTS['Lindeth']}")
    desk.index(tmp_path / "n")
    assert desk.titles() == ["a", "a"]
    (tmp_path / "n/a.txt").unlink()
    (tmp_path / "n/a.md").unlink()
    desk.index(tmp_path / "n", sync=True)
    assert (desk.finds("Hills"), desk.finds("village")) == (["b"], ["a"]), "a heading stays"
    write(tmp_path / "n/c.txt", FACTS["Isk"])
    desk.index(tmp_path / "n")
    desk.remove(tmp_path / "n/b.txt")
    assert desk.finds("Hills") == ["c"]


@pytest.mark.parametrize("calls", range(6))
def test_wherever_a_run_after_a_move_stops_the_same_again_ends_well(desk: Desk, world: Path, calls: int) -> None:
    desk.index(world, names=("passages", "sentences"))
    moved = Path(shutil.move(world, world.with_name("moved")))
    (moved / "Isk.txt").rename(moved / "River.txt")
    for again in range(2):
        try:
            desk.index(moved, names=("passages", "sentences"), watcher=stopping_after(calls + 10 * again))
        except Interrupted:
            with Snapshot.open(desk.folder) as snapshot:
                assert any("Hills" in document.text for document in snapshot.documents())
    assert told(desk.index(moved)) == {}
    assert sources(desk) == {str(file) for file in moved.iterdir()}
    assert desk.finds("Hills") == ["River"]
    Index(desk.folder).verify()


# --- removing


def test_a_moved_document_is_removed_by_either_path(desk: Desk, world: Path) -> None:
    desk.index(world)
    moved = Path(shutil.move(world, world.with_name("moved")))
    desk.index(moved)
    assert desk.remove(world / "Isk.txt") == ["Isk"]
    assert desk.remove(moved / "Lindeth.txt") == ["Lindeth"]
    with pytest.raises(UsageError, match="there is no document"):
        desk.remove(world / "never.txt")
    with pytest.raises(UsageError, match="there is no document"):
        desk.remove(world)


def test_a_dead_path_keeps_no_document_that_is_removed_by_the_other(desk: Desk, world: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(world, tmp_path / "copy"))
    desk.index(world, copy)
    assert desk.remove(copy / "Isk.txt") == [], "its other file exists"
    (world / "Lindeth.txt").unlink()
    assert desk.remove(copy / "Lindeth.txt") == ["Lindeth"]


def test_a_new_file_at_a_former_path_is_not_taken_for_what_was_there(desk: Desk, world: Path) -> None:
    desk.index(world)
    (world / "Isk.txt").rename(world / "River.txt")
    desk.index(world)
    write(world / "Isk.txt", "Not indexed yet.")
    with pytest.raises(UsageError, match="there is no document"):
        desk.remove(world / "Isk.txt")


def test_a_folder_is_removed_by_its_name(desk: Desk, world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(world / "deep/er/Ulm.txt", "Ulm is a town.")
    write(world / "deep/copy.txt", FACTS["Isk"])
    write(world / "deeper/Arrow.txt", "The Arrow is a brook.")
    desk.index(world)
    monkeypatch.chdir(world)
    assert desk.remove("deep") == ["Ulm"], "the copy stays at its other path"
    assert (desk.finds("Hills"), desk.finds("brook")) == (["Isk"], ["Arrow"])
    shutil.rmtree("deeper")
    assert desk.remove("deeper/") == ["Arrow"]
    with pytest.raises(UsageError, match="there is no document"):
        desk.remove("")
    assert len(desk.remove(".")) == 6
    assert desk.titles() == []


def test_lines_behind_a_link_are_removed_by_the_path_of_the_link(
    desk: Desk, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (world / "all.jsonl").symlink_to(lines(tmp_path / "disk/all.jsonl", one="The Arrow is a brook."))
    selected(desk, world, follow_links=True)
    write(world / "inner/Ulm.txt", "Ulm is a town.")
    monkeypatch.chdir(world / "inner")
    assert desk.remove("../all.jsonl") == ["One"]
    assert desk.remove(world / "all.jsonl") == [str(world / "all.jsonl")], "it was removed before"


def test_lines_are_removed_without_the_folder_that_took_the_name_of_their_file(desk: Desk, world: Path) -> None:
    file = lines(world / "all.jsonl", one="The Arrow is a brook.")
    desk.index(world)
    file.unlink()
    write(file / "Ulm.txt", "Ulm is a town.")
    desk.index(world)
    assert desk.remove(file) == ["One"]
    assert desk.remove(file) == ["Ulm"]


def test_a_name_that_is_a_title_and_a_folder_is_refused(
    desk: Desk, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(world / "Isk/deep.txt", "The Isk is deep.")
    desk.index(world)
    monkeypatch.chdir(world)
    with pytest.raises(UsageError, match="name the folder as Isk/"):
        desk.remove("Isk")
    assert desk.remove("Isk/") == ["deep"]
    assert desk.remove("Isk") == ["Isk"]
