"""Which document stands where: two sources of one text, one source whose text changed, names that users give."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hoptrail.corpus.register import _places, withdraw
from hoptrail.corpus.writer import Writer, writing_to
from hoptrail.documents.read_sources import read_sources
from hoptrail.documents.walking import shown
from hoptrail.errors import UsageError
from hoptrail.index import reading
from hoptrail.index.reading import SourcesRead
from hoptrail.index.syncing import ReadingOptions
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.progress_tracker import ignore
from hoptrail.types import Document, Usage
from world import HashingEncoder, make_document

OLD, NEW = make_document("Isk", "It is long.", "/world/isk.txt"), make_document("Isk", "It is short.", "/world/isk.txt")


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Writer]:
    with writing_to(tmp_path, HashingEncoder().identity) as opened:
        yield opened


def at(document: Document, *sources: str) -> Document:
    return replace(document, sources=sources)


def begun(writer: Writer, *given: Document) -> SourcesRead:
    """A run of indexing, perhaps of documents that were read already."""
    context = BuildContext(writer, HashingEncoder(), ignore, pause=ignore)
    return SourcesRead(Path("index"), context, ReadingOptions(given or None))


def end(run: SourcesRead) -> None:
    """As at the end of a run of indexing."""
    while not run.is_over:
        run.replace_next()


def enter(writer: Writer, *documents: Document) -> tuple[int, int]:
    """As a run of indexing does: how many are new, how many went."""
    run, before = begun(writer), set(writer.snapshot().register.ids())
    run.enter(documents)
    end(run)
    after = set(writer.snapshot().register.ids())
    return len(after - before), len(before - after)


def stored(writer: Writer) -> dict[str, tuple[str, ...]]:
    """The text of every document, with its sources."""
    return {document.text: document.sources for document in writer.snapshot().documents()}


def test_the_same_text_at_two_places_is_one_document_with_two_sources(writer: Writer) -> None:
    assert enter(writer, at(OLD, "/b")) == (1, 0)
    assert enter(writer, at(OLD, "/a")) == (0, 0)
    assert stored(writer) == {OLD.text: ("/a", "/b")}


def test_two_places_in_one_run(writer: Writer) -> None:
    assert enter(writer, at(OLD, "/b"), at(OLD, "/a"), at(OLD, "/b")) == (1, 0)
    assert stored(writer) == {OLD.text: ("/a", "/b")}


def test_a_changed_text_takes_the_place_of_the_old(writer: Writer) -> None:
    enter(writer, OLD)
    assert enter(writer, NEW) == (1, 1)
    assert stored(writer) == {NEW.text: NEW.sources}


def test_until_all_is_read_the_old_text_keeps_its_place(writer: Writer) -> None:
    enter(writer, OLD)
    run = begun(writer)
    assert run.enter([NEW, at(NEW, "/new")]) == [NEW.id]
    assert (run.report.added, run.report.updated, run.report.unchanged) == (1, 0, 0)
    assert stored(writer) == {OLD.text: OLD.sources, NEW.text: ("/new",)}
    end(run)
    assert stored(writer) == {NEW.text: ("/new", *NEW.sources)}


def test_a_new_text_that_is_held_back_comes_at_the_end(writer: Writer) -> None:
    run = begun(writer, OLD)
    run.enter([OLD])
    assert stored(writer) == {}
    end(run)
    assert stored(writer) == {OLD.text: OLD.sources}


def test_what_an_earlier_version_left_without_a_source_goes_with_the_next_run(writer: Writer) -> None:
    writer.put_documents([at(OLD)])
    assert enter(writer, NEW) == (1, 1)
    assert stored(writer) == {NEW.text: NEW.sources}


def test_texts_come_back_from_waiting_as_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also from the disk, and in batches."""
    monkeypatch.setattr(reading, "_IN_MEMORY", 1000)
    monkeypatch.setattr(reading, "BATCH_DOCUMENTS", 2)
    (tmp_path / "notes.md").write_text(
        "# Isk\n\n| river | town |\n|---|---|\n| Isk | Dorn |\n\nIt is \u2028 long.\n" * 50
    )
    read = [document for document in read_sources([tmp_path]) if isinstance(document, Document)]
    given = [*read, at(OLD, "/a", "/b"), replace(NEW, notes=("guessed",), date="2024", date_from="file name")]
    held = reading.HeldDocuments(tmp_path)
    for document in given:
        held.put([document])
    assert [path.name for path in tmp_path.iterdir()] == ["notes.md"], "it has no name"
    assert [held.take(), len(held), held.take(), len(held), held.take()] == [given[:2], 1, given[2:], 0, []]


def test_the_old_text_stays_where_it_still_stands(writer: Writer) -> None:
    enter(writer, at(OLD, "/a", "/b"))
    assert enter(writer, at(NEW, "/a")) == (1, 0)
    assert stored(writer) == {OLD.text: ("/b",), NEW.text: ("/a",)}


def test_two_files_that_swap_their_texts(writer: Writer) -> None:
    enter(writer, at(OLD, "/a"), at(NEW, "/b"))
    assert enter(writer, at(NEW, "/a"), at(OLD, "/b")) == (0, 0)
    assert stored(writer) == {OLD.text: ("/b",), NEW.text: ("/a",)}


def test_what_is_known_is_known_from_one_batch_to_the_next(writer: Writer) -> None:
    run = begun(writer)
    assert run.enter([at(OLD, "/a")]) == [OLD.id]
    assert run.enter([at(OLD, "/b"), at(OLD, "/a"), at(NEW, "/c")]) == [NEW.id]
    assert (run.report.added, run.report.unchanged) == (2, 1)
    assert run.enter([at(OLD, "/a"), at(NEW, "/c")]) == []
    assert (run.report.added, run.report.unchanged) == (2, 3)
    assert stored(writer) == {OLD.text: ("/a", "/b"), NEW.text: ("/c",)}


@pytest.mark.parametrize("batches", [1, 2])
def test_a_place_that_gives_another_text_in_the_same_run_keeps_its_first(writer: Writer, batches: int) -> None:
    enter(writer, at(make_document("", "It stood there before."), "/a"))
    run, read = begun(writer), [at(OLD, "/a"), at(NEW, "/a"), at(OLD, "/a")]
    for part in [read] if batches == 1 else [read[:1], read[1:]]:
        run.enter(part)
    assert [error.source for error in run.report.failures] == ["/a"]
    assert run.report.unchanged == 0
    end(run)
    assert stored(writer) == {OLD.text: ("/a",)}
    assert enter(writer, at(NEW, "/a")) == (1, 1)  # in the next run it is a change


def test_a_text_that_went_may_come_back(writer: Writer) -> None:
    run = begun(writer)
    run.enter([at(OLD, "/a")])
    assert [entry.id for entry in withdraw(writer, ["/a"])] == [OLD.id]
    assert run.enter([at(OLD, "/b")]) == [OLD.id]
    assert stored(writer) == {OLD.text: ("/b",)}


def test_nothing_new_writes_nothing(writer: Writer) -> None:
    enter(writer, at(OLD, "/a", "/b"))
    writer.publish(Usage())
    assert enter(writer, at(OLD, "/a"), at(OLD, "/b")) == (0, 0)
    assert not writer.changed


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    runs=st.lists(st.dictionaries(st.sampled_from("abcd"), st.sampled_from("xyz"), max_size=4), max_size=4),
    size=st.integers(1, 4),
)
def test_whatever_happens_each_place_holds_what_was_last_read_there(
    tmp_path_factory: pytest.TempPathFactory, runs: list[dict[str, str]], size: int
) -> None:
    expected: dict[str, str] = {}
    with writing_to(tmp_path_factory.mktemp("index"), HashingEncoder().identity) as writer:
        for run in runs:
            expected |= run
            read = [at(make_document("", f"{text}."), f"/{place}") for place, text in run.items()]
            register = begun(writer)
            for start in range(0, len(read), size):
                register.enter(read[start : start + size])
            end(register)
            found = {place: text for text, places in stored(writer).items() for place in places}
            assert found == {f"/{place}": f"{text}." for place, text in expected.items()}


# --- names


def named(writer: Writer, name: str) -> list[tuple[str, str]]:
    return [(entry.title, source) for entry, source in _places(writer.documents, name)]


def test_a_document_is_named_by_id_path_or_title(
    writer: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path.resolve().as_posix()
    isk = at(OLD, f"{path}/isk.txt", f"{path}/other.txt")
    enter(writer, isk)
    both = [("Isk", f"{path}/isk.txt"), ("Isk", f"{path}/other.txt")]
    assert named(writer, isk.id) == both
    assert named(writer, "Isk") == both
    assert named(writer, f"{path}/other.txt") == both[1:]
    monkeypatch.chdir(tmp_path)
    assert named(writer, "other.txt") == both[1:]
    assert named(writer, "./x/../isk.txt") == both[:1]


def test_a_path_that_is_not_utf8_is_named_as_the_shell_gives_it_or_as_it_is_shown(
    writer: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path(os.fsdecode(b"caf\xe9.txt"))
    source = shown(path.resolve())
    enter(writer, at(OLD, source), at(NEW, source.replace("e9", "e8")))
    for name in (str(path), str(path.resolve()), source):
        assert named(writer, name) == [("Isk", source)]
    with pytest.raises(UsageError, match="there is no document"):
        named(writer, "caf\ud83d.txt")  # no bytes of a name become this


def test_the_path_of_a_jsonl_file_means_all_its_lines(writer: Writer) -> None:
    enter(
        writer, at(OLD, "/w/all.jsonl#1"), at(NEW, "/w/all.jsonl#2"), at(make_document("", "Else."), "/w/all.jsonl.txt")
    )
    assert sorted(source for _, source in named(writer, "/w/all.jsonl")) == ["/w/all.jsonl#1", "/w/all.jsonl#2"]
    assert named(writer, "/w/all.jsonl#2") == [("Isk", "/w/all.jsonl#2")]


def test_a_title_that_several_have_is_refused_with_their_ids(writer: Writer) -> None:
    enter(writer, at(OLD, "/a"), at(NEW, "/b"))
    with pytest.raises(
        UsageError, match=rf"2 documents have the title 'Isk'.*({OLD.id}|{NEW.id}), ({OLD.id}|{NEW.id})"
    ):
        named(writer, "Isk")


@pytest.mark.parametrize(
    "name",
    ["", "Nobody", "/v", "/w/isk", "d", "*", "%", "' OR 1=1 --", "\x00", "~no-such-user/x", "x" * 5000, "\udcff"],
)
def test_a_name_that_fits_nothing_is_refused(writer: Writer, name: str) -> None:
    enter(writer, at(OLD, "/w/isk.txt"))
    with pytest.raises(UsageError, match="there is no document"):
        named(writer, name)


def test_an_upload_is_known_by_its_path_within_the_index(writer: Writer) -> None:
    """Earlier versions noted whole paths; what stands there gives way, and what is not an upload keeps its whole path."""
    whole, inner = f"{shown(Path('index').resolve())}/uploads/n1.jsonl#birds", "uploads/n1.jsonl#birds"
    writer.put_documents([at(OLD, whole)])
    assert enter(
        writer, at(NEW, whole), at(make_document("Ure", "It is old."), "/elsewhere/uploads/n1.jsonl#birds")
    ) == (2, 1)
    assert stored(writer) == {NEW.text: (inner,), "It is old.": ("/elsewhere/uploads/n1.jsonl#birds",)}
    assert enter(writer, at(NEW, whole)) == (0, 0)
    assert stored(writer)[NEW.text] == (inner,)
