"""A structure that wants nothing more is left alone until something that it hangs on has changed."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import pytest

from hoptrail.corpus.locations import DATABASE
from hoptrail.corpus.repairing import repair
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import Writer
from hoptrail.documents.splitting import PassageLimits
from hoptrail.errors import Interrupted
from hoptrail.index.indexing import BuildLanguage, Watcher, remove_documents, repair_index, update_index
from hoptrail.index.syncing import ReadingOptions
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.structures import catalogue, declaration
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.declaration import Structure
from hoptrail.structures.extractions import Extractions
from hoptrail.structures.passages import Passages
from hoptrail.structures.sentences import Sentences
from hoptrail_papers.hirag.profiles import Profiles, ProfileSettings
from world import HashingEncoder

UPDATED: list[str] = []
CHANGES: list[tuple[int, int] | None] = []
"""The number of added and removed documents of each update; None where every document must be looked at."""


@dataclass(frozen=True)
class Noted(Structure):
    """Does nothing, and keeps that it was asked to. `adds` is a setting that its fingerprint does not tell."""

    name: str
    built_from: tuple[str, ...] = ("passages",)
    fingerprint: str = "1"
    adds: int = 0
    complains: bool = False
    needs_language: bool = False

    def discard(self, writer: Writer) -> None: ...

    def update(self, context: BuildContext) -> None:
        context.pause()
        UPDATED.append(self.name)
        change = context.change
        CHANGES.append((len(change.added), len(change.removed)) if change else None)
        if self.complains:
            context.account.notes.append("one item could not be done.")


FIRST, SECOND, OTHER = Noted("first"), Noted("second", ("first",)), Noted("other")


class Desk:
    def __init__(self, folder: Path) -> None:
        self.index = folder / "index"
        self.documents = folder / "documents"
        self.documents.mkdir()
        self.write("a", "Alder.")

    def write(self, name: str, text: str) -> None:
        (self.documents / f"{name}.txt").write_text(text, encoding="utf-8")

    def updated(
        self,
        *structures: Structure,
        limits: PassageLimits | None = None,
        stops: bool = False,
        rebuild: bool = False,
        sync: bool = False,
    ) -> list[str]:
        """The structures that a run brought up to date."""
        UPDATED.clear()
        CHANGES.clear()
        built = (Passages(limits or PassageLimits()), *structures)
        watcher = Watcher(stopped=lambda: stops and sys._getframe(1).f_code.co_name == "_pause")  # not while it reads
        performer = BuildLanguage(OfflineLanguage(), rebuild=rebuild)
        options = ReadingOptions(sync=sync)
        update_index(
            *(self.index, [self.documents], HashingEncoder(), built, watcher, performer),
            options=options,
        )
        return list(UPDATED)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    classes = (*catalogue.structure_classes(), FIRST, SECOND, OTHER)
    monkeypatch.setattr(catalogue, "structure_classes", lambda: classes)
    desk = Desk(tmp_path)
    assert desk.updated(FIRST, SECOND) == ["first", "second"]
    assert desk.updated(FIRST, SECOND) == []
    return desk


def test_new_changed_and_removed_documents_unsettle_all(desk: Desk) -> None:
    for name, text in (("b", "Birch."), ("b", "Beech."), ("c", "Elm.")):
        desk.write(name, text)
        assert desk.updated(FIRST, SECOND) == ["first", "second"]
        assert desk.updated(FIRST, SECOND) == []
    (desk.documents / "c.txt").unlink()
    UPDATED.clear()
    remove_documents(desk.index, ["c"], HashingEncoder(), [Passages(PassageLimits()), FIRST, SECOND])
    assert UPDATED == ["first", "second"]
    assert desk.updated(FIRST, SECOND) == []


def test_a_document_that_went_is_a_change_of_one(desk: Desk) -> None:
    desk.write("b", "Birch.")
    desk.updated(FIRST, SECOND)
    assert CHANGES == [(1, 0)] * 2
    (desk.documents / "b.txt").unlink()
    desk.updated(FIRST, SECOND, sync=True)
    assert CHANGES == [(0, 1)] * 2


def test_the_log_is_emptied_while_a_structure_is_built_over_unchanged_documents(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hoptrail.corpus.writer.LOG", 0)
    sizes: list[int] = []
    for number in range(30):
        desk.write(f"tree {number}", f"Tree {number} is an elm.")
    desk.updated()
    monkeypatch.setattr(declaration, "BATCH", 5)
    monkeypatch.setattr(Writer, "put_units", _noting_the_log(Writer.put_units, desk.index, sizes))
    desk.updated(Sentences())
    assert len(sizes) > 3
    assert set(sizes[1:]) == {0}


def _noting_the_log(put_units: Any, index: Path, sizes: list[int]) -> Any:
    def put(writer: Writer, *arguments: Any) -> Any:
        sizes.append((index / f"{DATABASE}-wal").stat().st_size)
        return put_units(writer, *arguments)

    return put


def test_removing_settles_nothing_that_was_not_or_whose_settings_have_changed(desk: Desk) -> None:
    desk.write("b", "Birch.")
    failing = Noted("first", complains=True)
    assert desk.updated(failing, SECOND) == ["first", "second"]
    (desk.documents / "b.txt").unlink()
    remove_documents(desk.index, ["b"], HashingEncoder(), [Passages(PassageLimits()), FIRST, SECOND])
    assert desk.updated(FIRST, SECOND) == ["first", "second"]
    desk.write("c", "Elm.")
    assert desk.updated(FIRST, SECOND) == ["first", "second"]
    (desk.documents / "c.txt").unlink()
    remove_documents(desk.index, ["c"], HashingEncoder(), [Passages(PassageLimits(words=50)), FIRST, SECOND])
    assert desk.updated(FIRST, SECOND) == ["first", "second"]


def test_a_setting_that_only_adds_unsettles_the_one_and_what_is_built_from_it(desk: Desk) -> None:
    assert desk.updated(FIRST, SECOND, OTHER) == ["other"]
    assert desk.updated(FIRST, Noted("second", ("first",), adds=1), OTHER) == ["second"]
    assert desk.updated(Noted("first", adds=1), Noted("second", ("first",), adds=1), OTHER) == ["first", "second"]


def test_a_foundation_cut_anew_unsettles_what_stands_on_it(desk: Desk) -> None:
    assert desk.updated(FIRST, SECOND, limits=PassageLimits(words=50)) == ["first", "second"]


def test_what_could_not_be_done_is_tried_again_with_all_that_is_built_from_it(desk: Desk) -> None:
    failing = Noted("first", complains=True)
    for _ in range(2):
        assert desk.updated(failing, SECOND) == ["first", "second"]


def test_a_run_that_was_stopped_leaves_nothing_settled(desk: Desk) -> None:
    desk.write("b", "Birch.")
    with pytest.raises(Interrupted):
        desk.updated(FIRST, SECOND, stops=True)
    assert desk.updated(FIRST, SECOND) == ["first", "second"]


def alter(index: Path) -> None:
    """Damage the database where its units are."""
    reader = apsw.Connection(str(index / "index.sqlite"), flags=apsw.SQLITE_OPEN_READONLY)
    ((root,),) = reader.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'units'").fetchall()
    size = reader.pragma("page_size")
    reader.close()
    content = bytearray((index / "index.sqlite").read_bytes())
    content[root * size - 1] ^= 1  # of the first row, which lies at the end of its page
    (index / "index.sqlite").write_bytes(content)


def test_repairing_unsettles_what_was_lost(desk: Desk) -> None:
    structures: list[Structure] = [Passages(PassageLimits()), Sentences(), FIRST, SECOND]
    desk.updated(*structures[1:])
    alter(desk.index)
    repair_index(desk.index, HashingEncoder(), {one.name: one for one in structures}, Watcher())
    assert desk.updated(*structures[1:]) == ["first", "second"]


def test_setting_damage_aside_leaves_nothing_settled_should_repairing_be_stopped(desk: Desk) -> None:
    alter(desk.index)
    assert repair(desk.index, HashingEncoder().encode).lost
    assert Snapshot.open(desk.index).head.settled == {}
    assert desk.updated(FIRST, SECOND) == ["first", "second"]


def test_rebuilding_looks_at_all(desk: Desk) -> None:
    assert desk.updated(FIRST, SECOND, rebuild=True) == ["first", "second"]


def test_other_code_unsettles_all(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hoptrail.index.indexing.digest_with", lambda _: "other")
    assert desk.updated(FIRST, SECOND) == ["first", "second"]


def test_an_index_without_marks_gets_them_and_readers_need_not_open_it_again(desk: Desk) -> None:
    desk.updated(Noted("first", complains=True), SECOND)
    reader = Snapshot.open(desk.index)
    assert set(reader.head.settled) == {"passages"}
    assert desk.updated(FIRST, SECOND) == ["first", "second"]
    assert set(Snapshot.open(desk.index).head.settled) == {"passages", "first", "second"}
    assert reader.is_current()


def test_removing_after_a_stopped_run_with_other_settings_settles_nothing(desk: Desk) -> None:
    desk.write("b", "Birch.")
    with pytest.raises(Interrupted):
        desk.updated(FIRST, SECOND, limits=PassageLimits(words=50), stops=True)
    structures: list[Structure] = [Passages(PassageLimits()), FIRST, SECOND]
    remove_documents(desk.index, ["a"], HashingEncoder(), structures)
    assert Snapshot.open(desk.index).head.settled == {}
    assert desk.updated(FIRST, SECOND) == ["first", "second"]


def test_removing_needs_no_file_that_a_structure_was_made_from(desk: Desk) -> None:
    file = desk.index.parent / "profiles.jsonl"
    file.write_text('{"document": "a", "lines": [{"text": "Alder."}]}\n', encoding="utf-8")
    profiles = Profiles(ProfileSettings(str(file)))
    desk.updated(Extractions(), profiles)
    file.unlink()
    structures: list[Structure] = [Passages(PassageLimits()), Extractions(), profiles]
    remove_documents(desk.index, ["a"], HashingEncoder(), structures, OfflineLanguage())
    found = Snapshot.open(desk.index)
    assert len(found.register) == 0
    assert set(found.head.settled) == {"passages", "extractions"}
