"""A folder kept in step: what is gone is forgotten where that is asked for, and never because it could not be looked at."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import writing_to
from hoptrail.documents.file_contents import FileContent
from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.splitting import PassageLimits
from hoptrail.documents.walking import shown
from hoptrail.errors import DocumentError, Interrupted
from hoptrail.index import reading
from hoptrail.index.contents import Reached
from hoptrail.index.contract import contents_json
from hoptrail.index.index import Index
from hoptrail.index.indexing import Watcher, update_index
from hoptrail.index.settings import Settings
from hoptrail.index.syncing import IndexingReport, ReadingOptions
from hoptrail.recipes.catalogue import usable
from hoptrail.serving.options import say_unfinished
from hoptrail.structures import declaration
from hoptrail.structures.catalogue import structures_by_name
from hoptrail.types import Kind
from index.test_indexing import Desk, lines, stopping_after, write
from world import FACTS


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "index")


def told(report: IndexingReport) -> dict[str, int]:
    """The counts of a run that are not zero, but for what was unchanged."""
    names = ("added", "updated", "moved", "removed", "gone")
    return {name: getattr(report, name) for name in names if getattr(report, name)}


def test_what_is_gone_is_counted_and_forgotten_only_when_asked_for(desk: Desk, world: Path) -> None:
    desk.index(world)
    (world / "Isk.txt").unlink()
    (world / "Lindeth.txt").unlink()
    report = desk.index(world)
    assert (told(report), report.documents) == ({"gone": 2}, 6)
    assert desk.finds("Hills") == ["Isk"]
    report = desk.index(world, sync=True)
    assert (told(report), report.documents) == ({"removed": 2}, 4)
    assert desk.finds("Hills") == []
    assert [path for path, content in desk.bytes().items() if b"Grey Hills" in content] == []
    assert told(desk.index(world, sync=True)) == {}


def dates(desk: Desk) -> dict[str, tuple[str, str]]:
    """The dates of all documents, and where they are from, by file name."""
    found = Snapshot.open(desk.folder).register.entries
    return {Path(entry.sources[-1]).name: (entry.date, entry.date_from) for entry in found}


def test_a_renamed_file_has_the_date_of_its_new_name(desk: Desk, tmp_path: Path) -> None:
    file = write(tmp_path / "notes/minutes 2024-03-05.txt", FACTS["Isk"])
    desk.index(file.parent)
    assert dates(desk) == {file.name: ("2024-03-05", "file name")}
    renamed = file.rename(file.with_name("minutes 2023-11-30.txt"))
    assert told(desk.index(file.parent, sync=True)) == {"moved": 1}
    assert dates(desk) == {renamed.name: ("2023-11-30", "file name")}


def test_a_file_with_another_time_has_another_date_unless_it_says_one(desk: Desk, tmp_path: Path) -> None:
    plain = write(tmp_path / "notes/plain.txt", FACTS["Isk"])
    named = write(tmp_path / "notes/named 2024-03-05.txt", FACTS["Dunmere"])
    for day in (10_000, 12_000):
        for file in (plain, named):
            os.utime(file, (day * 86_400, day * 86_400))
        desk.index(plain.parent)
    assert dates(desk) == {plain.name: ("2002-11-09", "file time"), named.name: ("2024-03-05", "file name")}
    before = desk.bytes()
    assert told(desk.index(plain.parent)) == {}
    assert desk.bytes() == before


def test_a_copy_that_goes_takes_only_its_path(desk: Desk, world: Path) -> None:
    write(world / "copy.txt", FACTS["Isk"])
    desk.index(world)
    (world / "copy.txt").unlink()
    report = desk.index(world, sync=True)
    assert (told(report), report.documents) == ({}, 6)
    assert ["Isk.txt"] in desk.sources()


def test_a_jsonl_file_that_is_gone_is_one_file_and_takes_its_lines(desk: Desk, tmp_path: Path) -> None:
    folder = tmp_path / "world"
    lines(folder / "odd#name.jsonl", one="Alpha.", two="Beta.")
    lines(folder / "stays.jsonl", three="Gamma.")
    desk.index(folder)
    assert told(desk.index(folder)) == {}
    (folder / "odd#name.jsonl").unlink()
    assert told(desk.index(folder)) == {"gone": 1}
    report = desk.index(folder, sync=True)
    assert (told(report), report.documents) == ({"removed": 2}, 1)


def test_only_the_folder_that_is_named_is_kept_in_step(desk: Desk, world: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "world-2/Arrow.txt", "The Arrow is a brook.")
    desk.index(world, other.parent)
    other.unlink()
    write(other.parent / "Bow.txt", "The Bow is a lake.")
    assert told(desk.index(world, sync=True)) == {}
    assert told(desk.index(other.parent / "Bow.txt", sync=True)) == {"added": 1}
    assert told(desk.index(tmp_path / "world-2", world, world, sync=True)) == {"removed": 1}


def test_an_empty_folder_forgets_nothing_and_says_so(desk: Desk, world: Path) -> None:
    desk.index(world)
    for file in list(world.iterdir()):
        file.unlink()
    report = desk.index(world, sync=True)
    assert (told(report), report.documents) == ({}, 6)
    assert "perhaps because a disk is not mounted" in report.notes[0]


def test_a_file_that_vanishes_while_it_is_read_is_named_and_not_forgotten(
    desk: Desk, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hoptrail.documents import file_contents

    desk.index(world)
    before = file_contents._in_file

    def vanishing(path: Path, *rest: object) -> object:
        if path.name == "Isk.txt":
            path.unlink()
        return before(path, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(file_contents, "_in_file", vanishing)
    report = desk.index(world, sync=True)
    assert [Path(failure.source).name for failure in report.failures] == ["Isk.txt"]
    assert (told(report), report.documents) == ({}, 6)


def test_a_folder_that_cannot_be_listed_is_named_and_nothing_of_it_is_forgotten(
    desk: Desk, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may list everything, so the refusal comes from the listing itself."""
    from hoptrail.documents import walking

    write(world / "closed/Arrow.txt", "The Arrow is a brook.")
    desk.index(world)
    (world / "Isk.txt").unlink()
    before = walking._children

    def refusing(folder: Path) -> list[Path]:
        if folder.name == "closed":
            raise PermissionError(13, "Permission denied")
        return before(folder)

    monkeypatch.setattr(walking, "_children", refusing)
    report = desk.index(world, sync=True)
    assert [(Path(failure.source).name, type(failure)) for failure in report.failures] == [("closed", DocumentError)]
    assert (told(report), report.documents) == ({"removed": 1}, 6)
    assert desk.finds("brook") == ["Arrow"]


def test_a_link_out_of_the_folder_is_not_followed(desk: Desk, world: Path, tmp_path: Path) -> None:
    write(tmp_path / "outside/Arrow.txt", "The Arrow is a brook.")
    (world / "link").symlink_to(tmp_path / "outside")
    report = desk.index(world, sync=True)
    assert (told(report), report.documents) == ({"added": 6}, 6)
    assert "leads out of the folder" in report.notes[0]


@pytest.mark.parametrize("calls", range(5))
def test_wherever_a_sync_stops_the_same_again_ends_well(desk: Desk, world: Path, calls: int) -> None:
    desk.index(world)
    (world / "Isk.txt").unlink()
    (world / "Lindeth.txt").rename(world / "Linden.txt")
    write(world / "Dunmere.txt", "Dunmere is a handful of huts.")
    try:
        desk.index(world, watcher=stopping_after(calls), sync=True)
    except Interrupted:
        desk.index(world, sync=True)
    assert told(desk.index(world, sync=True)) == {}
    assert (desk.finds("Hills"), desk.finds("flows")) == ([], ["Linden", "Wrenmouth"])
    assert desk.finds("huts") == ["Dunmere"]
    assert sorted(source for sources in desk.sources() for source in sources) == sorted(
        file.name for file in world.iterdir()
    )


def test_the_setting_is_the_default_of_the_word(world: Path, tmp_path: Path) -> None:
    write(world / "Gone.txt", "The Arrow is a brook.")
    Index(tmp_path / "i", Settings(encoder="minilm")).add(world, "bm25")
    (world / "Gone.txt").unlink()
    kept = Index(tmp_path / "i", Settings(sync=True))
    assert told(kept.add(world, "bm25", sync=False)) == {"gone": 1}
    assert told(kept.add(world, "bm25")) == {"removed": 1}


# --- files that are known again


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files that are parsed."""
    from hoptrail.documents import read_sources

    names: list[str] = []
    before = read_sources._from_file

    def counting(file: FileContent, *rest: object) -> object:
        names.append(file.path.name)
        return before(file, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(read_sources, "_from_file", counting)
    return names


def aged(world: Path) -> None:
    """As if the files had been written long before they were read, so that their times can be relied on."""
    for file in world.iterdir():
        os.utime(file, (1_000_000_000, 1_000_000_000))


@pytest.fixture
def old_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are read an hour after they were written."""
    from hoptrail.documents import marks

    monkeypatch.setattr(marks, "time", SimpleNamespace(time_ns=lambda: time.time_ns() + 3_600_000_000_000))


@pytest.mark.usefixtures("old_clock")
def test_unchanged_files_are_neither_opened_nor_parsed(
    desk: Desk, world: Path, parsed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from hoptrail.documents import file_contents

    desk.index(world)
    parsed.clear()
    write(world / "Isk.txt", "The Isk dried up.")
    opened: list[str] = []
    before = file_contents._read_bytes

    def reading(path: Path, size: int) -> bytes:
        opened.append(path.name)
        return before(path, size)

    monkeypatch.setattr(file_contents, "_read_bytes", reading)
    report = desk.index(world)
    assert (told(report), report.unchanged) == ({"updated": 1}, 5)
    assert parsed == ["Isk.txt"]
    assert set(opened) == {"Isk.txt"}


@pytest.mark.usefixtures("old_clock")
def test_a_file_with_another_time_is_compared_and_not_parsed(desk: Desk, world: Path, parsed: list[str]) -> None:
    desk.index(world)
    parsed.clear()
    aged(world)
    report = desk.index(world)
    assert (told(report), report.unchanged) == ({}, 6)
    assert parsed == []


@pytest.mark.usefixtures("old_clock")
def test_a_change_of_equal_size_under_a_time_that_was_set_back_is_seen(desk: Desk, world: Path) -> None:
    aged(world)
    desk.index(world)
    text = (world / "Isk.txt").read_text()
    write(world / "Isk.txt", text.replace("Hills", "Moors"))
    os.utime(world / "Isk.txt", (1_000_000_000, 1_000_000_000))
    assert told(desk.index(world)) == {"updated": 1}
    assert (desk.finds("Hills"), desk.finds("Moors")) == ([], ["Isk"])


def test_a_change_right_after_reading_is_seen_whatever_the_times_say(
    desk: Desk, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two writes within one tick of a clock leave the same times."""
    from hoptrail.documents import file_contents, marks

    fixed = time.time_ns()
    for module in (file_contents, marks):
        monkeypatch.setattr(module, "times_of", lambda path: (path.stat().st_size, fixed, fixed))
    desk.index(world)
    text = (world / "Isk.txt").read_text()
    write(world / "Isk.txt", text.replace("Hills", "Moors"))
    assert told(desk.index(world)) == {"updated": 1}


@pytest.mark.usefixtures("old_clock")
def test_other_limits_and_rebuilding_read_all_again(desk: Desk, world: Path, parsed: list[str]) -> None:
    desk.index(world)
    parsed.clear()
    structures, limits = [structures_by_name(PassageLimits())["passages"]], ReadingLimits(pages=7)
    update_index(desk.folder, [world], desk.encoder, structures, Watcher(), options=ReadingOptions(limits=limits))
    assert len(parsed) == 6
    parsed.clear()
    again = ReadingOptions(reread=True, limits=limits)
    update_index(desk.folder, [world], desk.encoder, structures, Watcher(), options=again)
    assert len(parsed) == 6


@pytest.mark.usefixtures("old_clock")
def test_what_is_removed_leaves_no_path_behind_and_is_read_again(desk: Desk, world: Path) -> None:
    write(world / "copy.txt", FACTS["Isk"])
    desk.index(world)
    desk.remove(world / "copy.txt")
    desk.remove("Lindeth")
    with sqlite3.connect(desk.folder / "index.sqlite") as database:
        paths = [Path(path).name for (path,) in database.execute("SELECT path FROM files")]
    assert sorted(paths) == sorted(f"{name}.txt" for name in FACTS if name != "Lindeth")
    assert told(desk.index(world)) == {"added": 1}


@pytest.mark.usefixtures("old_clock")
def test_an_index_from_before_files_were_known_again_learns_them(desk: Desk, world: Path, parsed: list[str]) -> None:
    desk.index(world)
    with writing_to(desk.folder) as writer:
        writer._database.run("DROP TABLE files")
        writer.commit()
    parsed.clear()
    assert told(desk.index(world)) == {}
    assert len(parsed) == 6
    parsed.clear()
    assert told(desk.index(world)) == {}
    assert parsed == []


# --- while a run goes on


def test_what_can_be_found_is_said_while_indexing_has_not_ended(
    desk: Desk, world: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(declaration, "BATCH", 2)
    with pytest.raises(Interrupted):
        desk.index(world, watcher=stopping_after(4))
    index = Index(desk.folder)
    assert index.contents().reached == Reached(6, 6, 6, 2, "")
    say_unfinished(index, "hybrid", "trail")
    said = " ".join(capsys.readouterr().err.split())
    assert "indexing was stopped: 6 of 6 documents can be found so far, 33 % of their passages have vectors" in said
    assert "the same `hoptrail index` goes on with it" in said
    assert "hybrid answers in place of trail" in said
    desk.index(world)
    assert index.contents().reached is None
    say_unfinished(index, "trail", "trail")
    assert capsys.readouterr().err == ""


def test_documents_are_found_by_their_words_before_there_are_vectors(desk: Desk, world: Path) -> None:
    """From the first commit on, and also from within the run."""
    seen: list[Reached | None] = []
    found: list[list[str]] = []

    def look(what: str, done: int, total: int) -> None:
        del done, total
        if what.startswith("encoding") and not seen:
            index = Index(desk.folder)
            seen.append(index.contents().reached)
            found.append([hit.unit.title for hit in index.search("Hills", "bm25", limit=1)])

    desk.index(world, watcher=Watcher(look))
    [first] = seen
    assert first is not None
    assert (first.searchable, first.passages, first.encoded) == (6, 6, 0)
    assert "this process itself" in first.line
    assert found == [["Isk"]]


def test_the_first_batch_is_kept_before_all_is_read(desk: Desk, world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "FIRST_DOCUMENTS", 2)
    with pytest.raises(Interrupted):
        desk.index(world, watcher=stopping_after(0))
    reached = Index(desk.folder).contents().reached
    assert reached is not None
    assert (reached.documents, reached.searchable, reached.encoded) == (2, 2, 0)


def held(folder: Path) -> tuple[object, ...]:
    """All that an index of passages holds."""
    with Snapshot.open(folder) as snapshot:
        vectors = snapshot.search.vectors(Kind.PASSAGE)
        units = sorted(snapshot.units(Kind.PASSAGE), key=lambda unit: unit.id)
        return units, vectors.ids, vectors.matrix.tobytes(), snapshot.head.structures, snapshot.head.unfinished


def test_a_stopped_first_run_ends_as_one_that_was_not(desk: Desk, world: Path, tmp_path: Path) -> None:
    for steps in range(4):
        with suppress(Interrupted):
            desk.index(world, watcher=stopping_after(steps))
    desk.index(world)
    other = Desk(tmp_path / "other")
    other.index(world)
    assert held(desk.folder) == held(other.folder)


def test_a_stopped_run_shows_a_document_that_goes_at_its_source(desk: Desk, world: Path) -> None:
    desk.index(world)
    (world / "Isk.txt").unlink()
    write(world / "Lindeth.txt", "Lindeth is a village.")
    for steps in range(100):
        try:
            desk.index(world, watcher=stopping_after(steps), sync=True)
            break
        except Interrupted:
            listed = contents_json(Index(desk.folder).contents())["documents"]
            assert [one["source"] for one in listed if one["title"] == "Isk"] == [shown(world / "Isk.txt")]
    assert steps > 1
    assert "Isk" not in desk.titles()


def test_links_out_of_a_folder_are_followed_where_asked_for(desk: Desk, world: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    write(outside / "Ulm.txt", "Ulm is a town on the Isk.")
    write(outside / "deep/Aar.txt", "The Aar is a river.")
    (outside / "round").symlink_to(outside)
    (world / "out").symlink_to(outside)
    (world / "alone.txt").symlink_to(write(tmp_path / "alone.txt", "Alone it stands."))
    (world / "up").symlink_to(tmp_path)
    report = desk.index(world)
    assert report.documents == 6
    assert sum("leads out of the folder" in note for note in report.notes) == 3
    index = Index(desk.folder, Settings(follow_links=True))
    index.encoder = desk.encoder
    report = index.add(world, "bm25", sync=True)
    assert told(report) == {"added": 3}
    assert sum("leads out of the folder" in note for note in report.notes) == 1, "to what holds the folder"
    assert told(index.add(world, "bm25", sync=True)) == {}
    assert told(desk.index(world, sync=True)) == {"removed": 3}


def test_until_its_first_run_has_ended_another_recipe_answers(
    desk: Desk, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(declaration, "BATCH", 2)
    named: list[tuple[str, ...]] = []

    def look(what: str, done: int, total: int) -> None:
        del done, total
        if what.startswith("encoding"):
            with Snapshot.open(desk.folder) as snapshot:
                named.append(tuple(usable(name, snapshot) for name in ("dense", "sunar", "raptor", "bm25")))

    desk.index(world, names=("passages", "dense-neighbours"), watcher=Watcher(look))
    assert named[0] == ("bm25", "bm25", "", "bm25"), "there are no vectors yet, and nobody builds for raptor"
    assert named[-1] == ("dense", "hybrid", "", "bm25")
    with Snapshot.open(desk.folder) as snapshot:
        assert usable("sunar", snapshot) == "sunar"
