"""Indexing again: nothing for what is the same, the new in place of the old, stopped runs gone on with."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import writing_to
from hoptrail.documents.splitting import PassageLimits
from hoptrail.errors import Interrupted, UsageError
from hoptrail.index.indexing import Watcher, remove_documents, update_index
from hoptrail.index.syncing import IndexingReport, ReadingOptions
from hoptrail.structures import declaration
from hoptrail.structures.build_context import Report
from hoptrail.structures.catalogue import structures_by_name
from hoptrail.structures.progress_tracker import ignore
from hoptrail.types import Kind, Link, Usage
from world import FACTS, Counting


@dataclass(frozen=True)
class Desk:
    """An index folder and its encoder."""

    folder: Path
    encoder: Counting = field(default_factory=Counting)

    def index(
        self,
        *sources: Path,
        limits: PassageLimits | None = None,
        watcher: Watcher | None = None,
        names: Sequence[str] = ("passages",),
        sync: bool = False,
    ) -> IndexingReport:
        known = structures_by_name(limits or PassageLimits())
        structures = [known[name] for name in names]
        options, watcher = ReadingOptions(sync=sync), watcher or Watcher()
        return update_index(self.folder, sources, self.encoder, structures, watcher, options=options)

    def remove(self, *names: object) -> list[str]:
        structures = [structures_by_name(PassageLimits())["passages"]]
        removed = remove_documents(self.folder, [str(name) for name in names], self.encoder, structures)
        return [document.title for document in removed if not document.left]

    def structures(self) -> tuple[list[str], list[str]]:
        """Those that are present and those that are not, though there may be rows of them."""
        head = Snapshot.open(self.folder).head
        return list(head.structures), list(head.unfinished)

    def titles(self) -> list[str]:
        return sorted(entry.title for entry in Snapshot.open(self.folder).register.entries)

    def sources(self) -> list[list[str]]:
        """File names by document."""
        entries = Snapshot.open(self.folder).register.entries
        return sorted(sorted(Path(source).name for source in entry.sources) for entry in entries)

    def finds(self, words: str) -> list[str]:
        """The titles of the passages that hold any of the words; vectors and passages always agree."""
        snapshot = Snapshot.open(self.folder)
        assert set(snapshot.search.vectors(Kind.PASSAGE).ids) == {unit.id for unit in snapshot.units(Kind.PASSAGE)}
        return sorted(unit.title for unit, _ in snapshot.search.keywords(words, 50))

    def bytes(self) -> dict[str, bytes]:
        """Every file but the memory that connections share."""
        return {
            path.relative_to(self.folder).as_posix(): path.read_bytes()
            for path in sorted(self.folder.rglob("*"))
            if path.is_file() and not path.name.endswith("-shm")
        }


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "index")


def counts(report: IndexingReport) -> tuple[int, int, int, int]:
    assert report.failures == []
    return report.added, report.unchanged, report.removed, report.documents


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def lines(path: Path, **texts: str) -> Path:
    rows = [json.dumps({"id": name, "title": name.title(), "text": text}) for name, text in texts.items()]
    return write(path, "\n".join(rows))


# --- again


def test_the_same_again_writes_nothing_at_all(desk: Desk, world: Path) -> None:
    assert counts(desk.index(world)) == (6, 0, 0, 6)
    before = desk.bytes()
    encoded = len(desk.encoder.texts)
    assert counts(desk.index(world)) == (0, 6, 0, 6)
    assert counts(desk.index(world / "Isk.txt", world, world / "Isk.txt")) == (0, 6, 0, 6)
    assert desk.bytes() == before
    assert len(desk.encoder.texts) == encoded == 6


def test_a_new_file_is_all_that_is_encoded(desk: Desk, world: Path) -> None:
    desk.index(world)
    desk.encoder.texts.clear()
    write(world / "Arrow.txt", "The Arrow is a river.")
    assert counts(desk.index(world)) == (1, 6, 0, 7)
    assert desk.encoder.texts == ["Arrow\nThe Arrow is a river."]


def test_a_changed_file_takes_the_old_facts_with_it(desk: Desk, world: Path) -> None:
    desk.index(world)
    assert "Isk" in desk.finds("Hills")
    write(world / "Isk.txt", "The Isk is a river. It rises in a bog.")
    report = desk.index(world)
    assert (report.updated, counts(report)) == (1, (0, 5, 0, 6))
    assert desk.finds("Hills") == []
    assert desk.finds("bog") == ["Isk"]
    assert [path for path, content in desk.bytes().items() if b"Grey Hills" in content] == []


def test_changed_there_and_back_is_as_it_was(desk: Desk, world: Path) -> None:
    desk.index(world)
    before = sorted(unit.id for unit in Snapshot.open(desk.folder).units(Kind.PASSAGE))
    write(world / "Isk.txt", "Gone.")
    desk.index(world)
    write(world / "Isk.txt", FACTS["Isk"])
    desk.index(world)
    assert sorted(unit.id for unit in Snapshot.open(desk.folder).units(Kind.PASSAGE)) == before


def test_changed_lines_of_a_jsonl_file(desk: Desk, tmp_path: Path) -> None:
    file = lines(tmp_path / "all.jsonl", one="Alpha.", two="Beta.", three="Gamma.")
    assert counts(desk.index(file)) == (3, 0, 0, 3)
    lines(file, one="Alpha.", two="Delta.", three="Gamma.")
    report = desk.index(file)
    assert (report.updated, counts(report)) == (1, (0, 2, 0, 3))
    assert desk.finds("beta delta") == ["Two"]


def test_lines_taken_out_of_a_jsonl_file_go(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hoptrail.index.reading.BATCH_DOCUMENTS", 2)
    letters = {name: f"The letter {name}." for name in "abcdef"}
    file, other = lines(tmp_path / "all#1.jsonl", **letters), lines(tmp_path / "other.jsonl", a=letters["a"], z="Last.")
    assert counts(desk.index(file, other)) == (7, 0, 0, 7)
    lines(file, e=letters["e"])
    assert counts(desk.index(other)) == (0, 2, 0, 7)
    assert counts(desk.index(file)) == (0, 1, 4, 3)
    assert desk.sources() == [["all#1.jsonl#e"], ["other.jsonl#a"], ["other.jsonl#z"]]
    assert desk.finds("letter") == ["A", "E"]
    write(file, "")  # perhaps about to be written
    assert counts(desk.index(tmp_path)) == (0, 2, 0, 3)


def test_a_line_moved_to_another_file_keeps_its_document(desk: Desk, tmp_path: Path) -> None:
    files = lines(tmp_path / "a.jsonl", one="Alpha.", two="Beta."), tmp_path / "b.jsonl"
    desk.index(files[0])
    lines(files[0], one="Alpha.")
    lines(files[1], two="Beta.")
    desk.encoder.texts.clear()
    report = desk.index(*files)
    assert (report.moved, counts(report)) == (1, (0, 1, 0, 2))
    assert desk.sources() == [["a.jsonl#one"], ["b.jsonl#two"]]
    assert desk.encoder.texts == []


def test_nothing_goes_while_a_jsonl_file_cannot_be_read_to_its_end(desk: Desk, tmp_path: Path) -> None:
    file = lines(tmp_path / "all.jsonl", one="Alpha.", two="Beta.")
    desk.index(file)
    write(file, lines(file, one="Alpha.").read_text() + '\n{"id": "two", "te')
    report = desk.index(file)
    assert (len(report.failures), report.removed, report.documents) == (1, 0, 2)


def test_an_index_is_no_source_wherever_it_is(world: Path) -> None:
    within, below = Desk(world), Desk(world / "more/index")
    assert counts(below.index(world)) == (6, 0, 0, 6)
    assert counts(within.index(world)) == (6, 0, 0, 6)
    write(world / "more/index/replies.sqlite", "")
    assert counts(within.index(world)) == (0, 6, 0, 6)
    assert counts(below.index(world)) == (0, 6, 0, 6)


def test_what_a_data_folder_leaves_out_is_noted_with_its_number(desk: Desk, tmp_path: Path) -> None:
    data = tmp_path / "data"
    lines(data / "corpus.jsonl", one="Alpha.")
    lines(data / "questions.jsonl", one="Which?")
    assert desk.index(tmp_path).notes == []
    write(data / "notes/a.txt", "A.")
    write(data / "b.md", "B.")
    write(data / "picture.png", "")
    (data / "loop").symlink_to(data)
    report = desk.index(tmp_path)
    assert counts(report) == (0, 1, 0, 1)
    assert report.notes == [
        f"{data.resolve()}: a data folder, of which corpus.jsonl is read; 2 other files that could be read were left out"
    ]


def test_the_same_text_under_two_names_is_one_document(desk: Desk, tmp_path: Path) -> None:
    write(tmp_path / "world/a.md", "# Isk\n\nA river.")
    write(tmp_path / "world/b.md", "# Isk\n\nA river.")
    report = desk.index(tmp_path / "world")
    assert (counts(report), [Path(name).name for name in report.duplicates]) == ((1, 0, 0, 1), ["b.md"])
    assert desk.sources() == [["a.md", "b.md"]]
    assert len(desk.encoder.texts) == 1
    assert counts(desk.index(tmp_path / "world/b.md", tmp_path / "world/a.md")) == (0, 2, 0, 1)


def test_one_of_two_equal_files_changes(desk: Desk, tmp_path: Path) -> None:
    write(tmp_path / "world/a.md", "# Isk\n\nA river.")
    write(tmp_path / "world/b.md", "# Isk\n\nA river.")
    desk.index(tmp_path / "world")
    write(tmp_path / "world/b.md", "# Arrow\n\nA brook.")
    report = desk.index(tmp_path / "world")
    assert (report.updated, counts(report)) == (1, (0, 1, 0, 2))
    assert desk.sources() == [["a.md"], ["b.md"]]
    assert desk.finds("river brook") == ["Arrow", "Isk"]


def test_a_file_whose_text_only_moves_is_cited_by_its_new_lines(desk: Desk, tmp_path: Path) -> None:
    file = write(tmp_path / "world/a.md", "# Isk\n\nA river.")
    desk.index(file)
    write(file, "<!-- checked -->\n\n\n# Isk\n\nA river.")
    report = desk.index(file)
    assert (report.updated, counts(report)) == (1, (0, 0, 0, 1))
    (document,) = Snapshot.open(desk.folder).documents()
    assert [block.place for block in document.blocks] == ["line 4", "line 6"]


def test_a_renamed_file_keeps_its_document_under_its_new_name(desk: Desk, world: Path) -> None:
    write(world / "Arrow.md", "# The Arrow\n\nA brook.")
    desk.index(world)
    ids = {entry.id for entry in Snapshot.open(desk.folder).register.entries}
    (world / "Isk.txt").rename(world / "River.txt")
    (world / "Arrow.md").rename(world / "Arrow-2.md")
    desk.encoder.texts.clear()
    report = desk.index(world)
    assert (report.moved, report.gone, counts(report)) == (2, 0, (0, 5, 0, 7))
    assert {entry.id for entry in Snapshot.open(desk.folder).register.entries} == ids
    assert (desk.finds("Hills"), desk.finds("brook")) == (["River"], ["The Arrow"])
    assert [text.partition("\n")[0] for text in desk.encoder.texts] == ["River"], "only its name was part of a passage"
    assert ["River.txt"] in desk.sources()
    assert ["Arrow-2.md"] in desk.sources()
    before = desk.bytes()
    desk.index(world)
    assert desk.bytes() == before


def test_a_moved_folder_is_the_same_documents(desk: Desk, world: Path, tmp_path: Path) -> None:
    desk.index(world)
    shutil.move(world, tmp_path / "moved")
    desk.encoder.texts.clear()
    report = desk.index(tmp_path / "moved")
    assert (report.moved, counts(report)) == (6, (0, 0, 0, 6))
    sources = [source for entry in Snapshot.open(desk.folder).register.entries for source in entry.sources]
    assert {Path(source).parent for source in sources} == {tmp_path / "moved"}
    assert desk.encoder.texts == []


def test_two_lines_with_one_id_are_named_and_the_first_is_kept(desk: Desk, tmp_path: Path) -> None:
    rows = [{"id": "x", "text": "First."}, {"id": "x", "text": "Second."}, {"id": "y", "text": "Third."}]
    file = write(tmp_path / "all.jsonl", "\n".join(map(json.dumps, rows)))
    report = desk.index(file)
    assert [(Path(error.source).name, "same id" in error.reason) for error in report.failures] == [
        ("all.jsonl#x", True)
    ]
    assert (report.added, report.documents) == (2, 2)
    assert [desk.finds(word) for word in ("first", "second")] == [[""], []]


def test_changed_limits_make_passages_anew_and_only_once(desk: Desk, world: Path) -> None:
    desk.index(world)
    small = PassageLimits(words=5, short_document_words=0)
    desk.encoder.texts.clear()
    desk.index(world, limits=small)
    snapshot = Snapshot.open(desk.folder)
    assert not any("." in unit.text[:-1] for unit in snapshot.units(Kind.PASSAGE))
    assert snapshot.count(Kind.PASSAGE) == len(desk.encoder.texts) > 6
    assert snapshot.head.structures == {"passages": structures_by_name(small)["passages"].fingerprint}
    before = desk.bytes()
    desk.index(world, limits=small)
    assert desk.bytes() == before


def test_reading_order_does_not_matter_to_what_is_stored(tmp_path: Path, world: Path) -> None:
    files = sorted(world.iterdir())
    desks = [Desk(tmp_path / "one"), Desk(tmp_path / "two")]
    desks[0].index(*files)
    desks[1].index(*reversed(files))
    units = [sorted(Snapshot.open(desk.folder).units(Kind.PASSAGE), key=lambda unit: unit.id) for desk in desks]
    assert units[0] == units[1]


# --- failures


def test_broken_files_harm_only_themselves(desk: Desk, world: Path) -> None:
    write(world / "broken.pdf", "%PDF-1.7 nothing more")
    report = desk.index(world, world / "missing.txt")
    assert (report.added, report.documents) == (6, 6)
    assert [Path(error.source).name for error in report.failures] == ["broken.pdf", "missing.txt"]
    assert "does not exist" in report.failures[1].reason


def test_an_unreadable_new_version_leaves_the_old_document(desk: Desk, world: Path) -> None:
    desk.index(world)
    (world / "Isk.txt").write_bytes(b"\x00\x01\x02" * 200)
    report = desk.index(world)
    assert [Path(error.source).name for error in report.failures] == ["Isk.txt"]
    assert desk.finds("Hills") == ["Isk"]


def test_what_reading_decided_is_noted_under_the_files_name(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_bytes(
        "Zürich liegt am See. Ärger gibt es dort nicht, schöne Brücken schon.".encode("cp1252")
    )
    report = desk.index(tmp_path / "old.txt")
    assert report.notes
    assert all(note.startswith(f"{(tmp_path / 'old.txt').resolve().as_posix()}: ") for note in report.notes)


# --- stopping


def stopping_after(calls: int, report: Report = ignore) -> Watcher:
    """Asked between two steps whether to stop, it says yes at that call and ever after. Reading and encoding, which look more
    often and end early, are not counted.
    """
    asked: list[None] = []

    def stopped() -> bool:
        if sys._getframe(1).f_code.co_name == "_pause":
            asked.append(None)
        return len(asked) > calls

    return Watcher(report, stopped)


def test_wherever_a_run_stops_the_next_encodes_only_the_rest(
    tmp_path: Path, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(declaration, "BATCH", 2)
    for calls in range(4):
        desk = Desk(tmp_path / str(calls))
        with pytest.raises(Interrupted, match="Run the same command again"):
            desk.index(world, watcher=stopping_after(calls))
        assert len(Snapshot.open(desk.folder).register) == 6, "readers see what is kept"
        desk.index(world)
        assert len(desk.encoder.texts) == len(set(desk.encoder.texts)) == 6
        assert len(desk.titles()) == 6


def test_a_run_that_is_stopped_again_and_again_ends_nevertheless(
    desk: Desk, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(declaration, "BATCH", 1)
    for _ in range(20):
        try:
            desk.index(world, watcher=stopping_after(2))
        except Interrupted:
            continue
        break
    assert desk.titles() == sorted(FACTS)
    assert len(desk.encoder.texts) == 6


def test_a_stopped_change_shows_readers_the_old_state(desk: Desk, world: Path) -> None:
    desk.index(world)
    write(world / "Isk.txt", "The Isk dried up.")
    with pytest.raises(Interrupted):
        desk.index(world, watcher=stopping_after(0))
    assert desk.finds("Hills") == ["Isk"]
    assert desk.finds("dried") == []
    desk.index(world)
    assert (desk.finds("Hills"), desk.finds("dried")) == ([], ["Isk"])


SENTENCES = ("passages", "sentences")


@pytest.mark.parametrize("calls", [3, 5, 7])
@pytest.mark.parametrize("remove", [False, True])
def test_a_structure_that_was_only_begun_is_not_published_by_a_run_for_others_and_gone_on_with_later(
    desk: Desk, world: Path, monkeypatch: pytest.MonkeyPatch, calls: int, remove: bool
) -> None:
    """The last call comes when every sentence has been written."""
    monkeypatch.setattr(declaration, "BATCH", 2)
    desk.index(world)
    with pytest.raises(Interrupted):
        desk.index(world, watcher=stopping_after(calls), names=SENTENCES)
    if remove:
        desk.remove("Isk")
    else:
        write(world / "Arrow.txt", "The Arrow is a brook. It is short.")
        desk.index(world)
    assert desk.structures() == (["passages"], ["sentences"])
    assert Snapshot.open(desk.folder).count(Kind.SENTENCE) > 0
    desk.index(world, names=SENTENCES)
    assert desk.structures() == (["passages", "sentences"], [])
    assert Snapshot.open(desk.folder).count(Kind.SENTENCE) == (12 if remove else 14)
    twice = len(desk.encoder.texts) - len(set(desk.encoder.texts))
    assert twice <= 3 * remove, "only the Isk, which had gone, and its sentences"


def test_what_was_begun_with_other_settings_is_recognised_after_another_run_has_published(
    desk: Desk, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(declaration, "BATCH", 1)
    small = PassageLimits(words=5, short_document_words=0)
    with pytest.raises(Interrupted):
        desk.index(world, limits=small, watcher=stopping_after(3))
    desk.index(world, names=())
    assert desk.structures() == ([], ["passages"])
    desk.index(world)
    assert desk.structures() == (["passages"], [])
    assert sorted(unit.text for unit in Snapshot.open(desk.folder).units(Kind.PASSAGE)) == sorted(FACTS.values())


def test_removing_ends_what_a_stopped_run_has_begun_to_make_anew(
    desk: Desk, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the settings of now: what is there would not be whole otherwise."""
    monkeypatch.setattr(declaration, "BATCH", 1)
    desk.index(world)
    with pytest.raises(Interrupted):
        desk.index(world, limits=PassageLimits(words=5, short_document_words=0), watcher=stopping_after(3))
    desk.remove("Isk")
    assert desk.structures() == (["passages"], [])
    assert {unit.text for unit in Snapshot.open(desk.folder).units(Kind.PASSAGE)} == set(FACTS.values()) - {
        FACTS["Isk"]
    }
    desk.encoder.texts.clear()
    desk.index(world / "Dunmere.txt")
    assert desk.encoder.texts == []


def test_progress_names_what_is_done(desk: Desk, world: Path) -> None:
    told: list[tuple[str, int, int]] = []
    desk.index(world, watcher=Watcher(lambda *said: told.append(said)))
    assert told[-1] == ("encoding passages", 6, 6)


@pytest.mark.parametrize("removing", [False, True])
def test_what_earlier_versions_have_left_goes_with_the_next_run(removing: bool, desk: Desk, world: Path) -> None:
    desk.index(world)
    with writing_to(desk.folder, desk.encoder.identity) as writer:
        one, other, *_ = writer.snapshot().table.ids(Kind.PASSAGE)
        writer.links.put([Link(one, other, "triple-end", 1.0)])
        writer.structures["slots"] = "1"
        writer.publish(Usage(), writer.head.settled)
    with Snapshot.open(desk.folder) as before:
        assert before.graph.count() == {"triple-end": 1}
    if removing:
        desk.remove("Isk")
    else:
        desk.index(world)
    with Snapshot.open(desk.folder) as after:
        assert not after.graph.count()
        assert list(after.head.structures) == ["passages"]


# --- removing


def test_removing_by_id_path_and_title(desk: Desk, world: Path) -> None:
    desk.index(world)
    isk = next(entry.id for entry in Snapshot.open(desk.folder).register.entries if entry.title == "Isk")
    assert desk.remove(isk) == ["Isk"]
    assert desk.remove(world / "Dunmere.txt", "Lindeth") == ["Dunmere", "Lindeth"]
    assert desk.titles() == ["Orla Finch", "Tallow Bridge", "Wrenmouth"]
    assert desk.finds("Grey village freezes") == []
    for name in (b"Grey Hills", b"village", b"freezes"):
        assert [path for path, content in desk.bytes().items() if name in content] == []


def test_one_of_two_paths_goes_and_the_document_with_the_last(desk: Desk, tmp_path: Path) -> None:
    first, second = (write(tmp_path / f"{name}.md", "# Isk\n\nA river.") for name in "ab")
    desk.index(first, second)
    assert desk.remove(first) == []
    assert desk.sources() == [["b.md"]]
    assert desk.finds("river") == ["Isk"]
    assert desk.remove(second) == ["Isk"]
    assert (desk.sources(), desk.finds("river")) == ([], [])


def test_the_path_of_a_jsonl_file_removes_its_lines(desk: Desk, world: Path, tmp_path: Path) -> None:
    file = lines(tmp_path / "all.jsonl", one="Alpha.", two="Beta.")
    desk.index(file, world)
    assert desk.remove(f"{file}#one") == ["One"]
    assert desk.remove(file) == ["Two"]
    assert desk.titles() == sorted(FACTS)


def test_a_wrong_name_among_right_ones_removes_nothing(desk: Desk, world: Path, tmp_path: Path) -> None:
    file = lines(tmp_path / "twins.jsonl", isk="Another one.")
    desk.index(world, file)
    before = desk.bytes()
    for wrong in ("Nobody", "Isk"):
        with pytest.raises(UsageError):
            desk.remove("Dunmere", wrong)
    assert desk.bytes() == before


def test_removed_and_read_again_is_as_it_was(desk: Desk, world: Path) -> None:
    desk.index(world)
    before = {unit.id for unit in Snapshot.open(desk.folder).units(Kind.PASSAGE)}
    desk.remove("Isk")
    assert counts(desk.index(world)) == (1, 5, 0, 6)
    assert {unit.id for unit in Snapshot.open(desk.folder).units(Kind.PASSAGE)} == before


def test_what_is_removed_while_a_run_is_half_done_stays_removed(
    desk: Desk, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(declaration, "BATCH", 1)
    desk.index(world)
    more = lines(tmp_path / "all.jsonl", one="Alpha.", two="Beta.", three="Gamma.")
    with pytest.raises(Interrupted):
        desk.index(more, watcher=stopping_after(2))
    desk.remove("Isk")
    assert desk.finds("Hills") == []
    assert len(desk.encoder.texts) == len(set(desk.encoder.texts)) == 9
    assert desk.titles() == sorted({*FACTS, "One", "Two", "Three"} - {"Isk"})


def test_what_building_costs_adds_up(desk: Desk, world: Path) -> None:
    desk.index(world / "Isk.txt")
    first = Snapshot.open(desk.folder).head.spent.seconds
    desk.index(world)
    assert 0 < first < Snapshot.open(desk.folder).head.spent.seconds
