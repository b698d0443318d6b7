"""What is not read, by choice or for a fault, does not stay in the index, and is named."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from hoptrail import Index, Settings
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import writing_to
from hoptrail.documents import file_contents, walking
from hoptrail.documents.child import Parsing, TookTooLong
from hoptrail.documents.file_contents import NO_DOCUMENT
from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.splitting import PassageLimits
from hoptrail.documents.walking import EXCLUDED, IGNORED, Selection, files_in
from hoptrail.errors import UsageError
from hoptrail.index.contract import contents_json
from hoptrail.index.indexing import Watcher, update_index
from hoptrail.index.syncing import IndexingReport, ReadingOptions
from hoptrail.serving.options import console_of
from hoptrail.serving.render import render_contents, render_indexing
from hoptrail.structures.catalogue import structures_by_name
from index.test_indexing import Desk, lines, write
from index.test_syncing import told
from world import FACTS

PICTURE = b"GIF89a" + bytes(300)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "index")


def selected(desk: Desk, *sources: Path, sync: bool = True, **selection: object) -> IndexingReport:
    options = ReadingOptions(sync=sync, selection=Selection(**selection))  # type: ignore[arg-type]
    structures = [structures_by_name(PassageLimits())["passages"]]
    return update_index(desk.folder, sources, desk.encoder, structures, Watcher(), options=options)


def printed(what: object) -> str:
    console = console_of()
    with console.capture() as captured:
        console.print(what, soft_wrap=True)
    return captured.get()


def named(files: dict[str, str]) -> dict[str, str]:
    return {Path(path).name: reason for path, reason in files.items()}


# --- what was read and is no longer


def becoming_a_picture(file: Path) -> Path:
    other = file.with_suffix(".dat")
    write(other, file.read_text())
    file.unlink()
    return other


CHANGES: dict[str, Callable[[Path], object]] = {
    "another kind": lambda file: file.write_bytes(PICTURE),
    "damaged": lambda file: file.write_bytes(b"%PDF-1.7 nothing more"),
    "ignored": lambda file: write(file.parent / ".gitignore", file.name),
    "beside a corpus": lambda file: (
        lines(file.parent / "corpus.jsonl", one="Alpha."),
        lines(file.parent / "questions.jsonl", one="Which?"),
    ),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_is_no_longer_read_goes_with_sync_and_is_named_without(desk: Desk, tmp_path: Path, what: str) -> None:
    file = write(tmp_path / "notes/old.dat", FACTS["Isk"])
    write(tmp_path / "notes/other.dat", FACTS["Lindeth"])
    desk.index(file.parent)
    CHANGES[what](file)
    report = desk.index(file.parent)
    assert str(file) in report.outdated
    assert (report.gone, report.removed) == (0, 0)
    assert "old.dat; an older reading is still in the index" in printed(render_indexing(report))
    assert "old.dat" in str(report)
    assert "Hills" in " ".join(unit_texts(desk))
    report = desk.index(file.parent, sync=True)
    assert report.removed >= 1
    assert report.outdated == []
    assert "old.dat" in str(report), "it is named as not read"
    assert "Hills" not in " ".join(unit_texts(desk))
    assert [path for path, content in desk.bytes().items() if b"Grey Hills" in content] == []
    assert told(desk.index(file.parent, sync=True)) == {}


def unit_texts(desk: Desk) -> list[str]:
    with Snapshot.open(desk.folder) as snapshot:
        return [document.text for document in snapshot.documents()]


def test_a_file_that_is_too_large_now_goes(desk: Desk, world: Path) -> None:
    desk.index(world)
    write(world / "Isk.txt", FACTS["Isk"] * 100)
    structures = [structures_by_name(PassageLimits())["passages"]]
    options = ReadingOptions(sync=True, limits=ReadingLimits(text=1000))
    report = update_index(desk.folder, [world], desk.encoder, structures, Watcher(), options=options)
    assert [Path(failure.source).name for failure in report.failures] == ["Isk.txt"]
    assert told(report) == {"removed": 1}


def test_a_file_that_is_named_itself_goes_too(desk: Desk, world: Path) -> None:
    desk.index(world)
    (world / "Isk.txt").write_bytes(PICTURE)
    assert [Path(name).name for name in desk.index(world / "Isk.txt").outdated] == ["Isk.txt"]
    report = desk.index(world / "Isk.txt", sync=True)
    assert (told(report), len(report.failures)) == ({"removed": 1}, 1)


@pytest.mark.parametrize("fault", ["refused", "changing", "slow"])
def test_what_only_cannot_be_read_now_stays(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    page = write(tmp_path / "notes/old.html", f"<p>{FACTS['Isk']}")
    desk.index(page.parent)
    write(page, "<p>Another text, which nobody gets to see.")

    def refuse(*_: object, **__: object) -> bytes:
        raise PermissionError(13, "Permission denied")

    def stop(*_: object, **__: object) -> None:
        raise TookTooLong("took longer than 60 seconds to parse")

    state = iter(range(100))
    with monkeypatch.context() as patch:
        if fault == "refused":
            patch.setattr(file_contents, "_read_bytes", refuse)
        elif fault == "changing":
            patch.setattr(file_contents, "times_of", lambda _: (10, next(state), 1))
        else:
            patch.setattr(Parsing, "parse", stop)
        report = desk.index(page.parent, sync=True)
    assert [failure.temporary for failure in report.failures] == [True]
    assert (told(report), desk.finds("Hills")) == ({}, ["old"])
    assert told(desk.index(page.parent, sync=True)) == {"updated": 1}


def test_a_broken_link_may_lead_to_a_disk_that_is_not_mounted(desk: Desk, world: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    (world / "disk").symlink_to(write(disk / "notes/Arrow.txt", "The Arrow is a brook.").parent)
    (world / "all.jsonl").symlink_to(lines(disk / "all.jsonl", one="The Ulm is a brook, too."))
    selected(desk, world, follow_links=True)
    assert desk.finds("brook") == ["Arrow", "One"]
    disk.rename(tmp_path / "unmounted")
    report = selected(desk, world, follow_links=True)
    assert (told(report), desk.finds("brook")) == ({}, ["Arrow", "One"])
    (tmp_path / "unmounted").rename(disk)
    assert told(selected(desk, world, follow_links=True)) == {}


def test_a_jsonl_file_of_another_kind_takes_its_lines_with_it(desk: Desk, tmp_path: Path) -> None:
    file = lines(tmp_path / "notes/all.jsonl", one="Alpha.", two="Beta.")
    write(tmp_path / "notes/other.txt", "Gamma.")
    desk.index(file.parent)
    write(file, '{"name": "Isk", "length": 90}\n{"name": "Arrow", "length": 20}')
    assert desk.index(file.parent).failures == []
    assert desk.sources() == [["all.jsonl"], ["other.txt"]]
    lines(file, one="Alpha.")
    desk.index(file.parent)
    assert desk.sources() == [["all.jsonl#one"], ["other.txt"]]
    file.write_bytes(b"\n".join([PICTURE] * 30))
    assert [Path(name).name for name in desk.index(file.parent).outdated] == ["all.jsonl"]
    assert told(desk.index(file.parent, sync=True)) == {"removed": 1}


# --- what is not read by choice


def test_lock_files_of_editors_are_skipped(desk: Desk, world: Path) -> None:
    for name in ("~$lease.docx", ".~lock.lease.odt#", ".#notes.md", "#notes.md#", "notes.md.swp", ".notes.md.swp"):
        (world / name).write_bytes(b"\x01w")
    report = desk.index(world)
    assert (report.failures, report.left_out, report.documents) == ([], {}, 6)


def test_what_git_ignores_is_left_out_unless_it_is_asked_for(desk: Desk, world: Path) -> None:
    write(world / ".gitignore", "build/\n*.log\n")
    write(world / "build/out.md", "Built.")
    write(world / "today.log", "Logged.")
    report = selected(desk, world)
    assert (named(report.left_out), report.documents) == ({"build": IGNORED, "today.log": IGNORED}, 6)
    assert "ignored by .gitignore: " in printed(render_indexing(report))
    assert told(selected(desk, world, gitignore=False)) == {"added": 2}
    assert told(selected(desk, world)) == {"removed": 2}
    assert told(selected(desk, world / "build", sync=False)) == {"added": 1}, "a folder that is named is read"
    assert selected(desk, world / "today.log", sync=False).added == 1


def test_what_is_excluded_is_left_out(world: Path, tmp_path: Path) -> None:
    write(world / "drafts/a.md", "A draft.")
    write(world / "drafts/keep.md", "A draft to keep.")
    index = Index(tmp_path / "i", Settings(encoder="minilm", exclude=("*.txt",)))
    report = index.add(world, "bm25", exclude=["drafts/*", "!keep.md"])
    assert set(named(report.left_out).values()) == {EXCLUDED}
    assert [document.title for document in index.contents().documents] == ["keep"]
    assert told(index.add(world, "bm25", sync=True)) == {"added": 1}
    with pytest.raises(UsageError, match="is not a pattern"):
        index.add(world, exclude="[a")


def test_a_named_folder_is_read_within_an_excluded_one(desk: Desk, world: Path) -> None:
    write(world / "drafts/a.md", "A draft.")
    report = selected(desk, world, world / "drafts", exclude=("drafts",))
    assert (report.left_out, report.documents) == ({}, 7)


# --- each folder once


def test_a_folder_is_read_once_by_whatever_paths_it_is_reached(desk: Desk, world: Path, tmp_path: Path) -> None:
    (world / "self").symlink_to(world)
    (world / "below").mkdir()
    (world / "below/up").symlink_to(world)
    (tmp_path / "other").symlink_to(world)
    report = desk.index(world / "self", world, world / "below/up/self", tmp_path / "other", world / "Isk.txt")
    assert (report.added, report.unchanged, report.duplicates, report.documents) == (6, 0, [], 6)
    assert desk.sources() == [[f"{name}.txt"] for name in sorted(FACTS)]
    (tmp_path / "other").unlink()


def test_followed_links_in_a_cycle_and_to_a_named_folder_are_read_once(tmp_path: Path) -> None:
    one, two, out = (write(tmp_path / f"{name}/{name}.txt", name).parent for name in ("one", "two", "out"))
    (one / "to two").symlink_to(two)
    (one / "a").symlink_to(out / "deep")
    (one / "b").symlink_to(out)
    write(out / "deep/deep.txt", "deep")
    (out / "deep/back").symlink_to(out)
    (two / "to one").symlink_to(one)
    found = [entry for entry in files_in([one, two], Selection(follow_links=True)) if isinstance(entry, Path)]
    assert sorted(path.name for path in found) == ["deep.txt", "one.txt", "out.txt", "two.txt"]


def test_every_folder_is_listed_once(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (world / "below").mkdir()
    for number in range(5):
        (world / f"round {number}").symlink_to(world)
        (world / f"below/round {number}").symlink_to(world / "below")
    listed: list[Path] = []
    before = walking._children

    def listing(folder: Path) -> list[Path]:
        listed.append(folder)
        return before(folder)

    monkeypatch.setattr(walking, "_children", listing)
    list(files_in([world, world / "round 1", world / "below"], Selection(follow_links=True)))
    assert sorted(listed) == [world, world / "below"]


# --- what is said about it


def test_duplicates_of_a_first_run_are_named_as_such(desk: Desk, tmp_path: Path) -> None:
    for name in "abc":
        write(tmp_path / f"notes/{name}.txt", "")
    write(tmp_path / "notes/d.txt", "Some text.")
    report = desk.index(tmp_path / "notes")
    assert (report.added, report.unchanged, len(report.duplicates)) == (2, 0, 2)
    assert [Path(note.partition(":")[0]).name for note in report.notes] == ["a.txt", "b.txt", "c.txt"], "each is empty"
    said = printed(render_indexing(report, verbose=True))
    assert "2 documents added, 0 unchanged, 2 with the same text as another" in said
    assert "same text as another document: " in said
    assert desk.index(tmp_path / "notes").duplicates == []


def test_show_names_what_the_last_run_did_not_read(desk: Desk, world: Path) -> None:
    index = Index(desk.folder)
    (world / "picture.png").write_bytes(PICTURE)
    (world / "broken.pdf").write_bytes(b"%PDF-1.7")
    write(world / ".gitignore", "deep/")
    write(world / "deep/a.txt", "Ignored.")
    desk.index(world)
    unread = named(index.contents().unread)
    assert unread.pop("broken.pdf")
    assert unread == {"picture.png": NO_DOCUMENT, "deep": IGNORED}
    assert [row["path"] for row in contents_json(index.contents())["unread"]] == [
        str(world / "broken.pdf"),
        f"{world / 'deep'}/",
        str(world / "picture.png"),
    ]
    assert f"picture.png: {NO_DOCUMENT}" in printed(render_contents(index.contents()))
    before = desk.bytes()
    desk.index(world)
    assert desk.bytes() == before, "nothing is written again"
    desk.index(world / "Isk.txt")
    assert len(index.contents().unread) == 3, "another place is not looked at"
    (world / "picture.png").unlink()
    desk.index(world)
    assert len(index.contents().unread) == 2


def test_an_index_of_an_earlier_version_is_read_and_learns_what_is_unread(desk: Desk, world: Path) -> None:
    (world / "picture.png").write_bytes(PICTURE)
    desk.index(world)
    with writing_to(desk.folder) as writer:
        writer._database.run("DROP TABLE unread")
        writer._database.run("DROP TABLE former")
        writer.commit()
    assert Index(desk.folder).contents().unread == {}
    shutil.move(world, world.with_name("moved"))
    assert told(desk.index(world.with_name("moved"))) == {"moved": 6}
    assert list(named(Index(desk.folder).contents().unread)) == ["picture.png"]
    with sqlite3.connect(desk.folder / "index.sqlite") as database:
        assert database.execute("SELECT count(*) FROM former").fetchall() == [(6,)]
