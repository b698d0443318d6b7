"""Files and folders become documents; errors come in their place; ids depend only on content."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

import pytest

from documents.file_makers import text_pdf, word_file
from documents.streaming import traced_peaks
from hoptrail.documents import child, file_contents
from hoptrail.documents.blocks import pack
from hoptrail.documents.file_contents import bytes_at_rest
from hoptrail.documents.limits import DEFAULT_LIMITS, ReadingLimits, Unreadable
from hoptrail.documents.read_sources import Findings, read_sources
from hoptrail.documents.splitting import passages
from hoptrail.errors import DocumentError, UsageError
from hoptrail.execution.executor import LOCAL_EXECUTOR, Executor, LocalExecutor
from hoptrail.types import Document, content_id

PICTURE = b"GIF89a" + bytes(300)
PDF = text_pdf([["A page."]])


def read(*sources: str | Path, limits: ReadingLimits = DEFAULT_LIMITS) -> tuple[list[Document], list[DocumentError]]:
    items = list(read_sources(sources, limits))
    documents = [item for item in items if isinstance(item, Document)]
    return documents, [item for item in items if isinstance(item, DocumentError)]


def put(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, "utf-8")
    return folder


def read_each(folder: Path, files: Iterable[tuple[str, str]]) -> list[Document]:
    """The documents of named texts, each in a folder of its own, read together: one parser reads them all."""
    for number, (name, text) in enumerate(files):
        (folder / f"{number:02}").mkdir()
        (folder / f"{number:02}" / name).write_text(text, "utf-8")
        os.utime(folder / f"{number:02}" / name, (1_600_000_000, 1_600_000_000))
    documents, errors = read(folder)
    assert errors == []
    return documents


def names(documents: Sequence[Document]) -> list[str]:
    return [Path(document.sources[0]).name for document in documents]


def test_every_format_in_one_folder(tmp_path: Path) -> None:
    put(tmp_path, a__txt="Plain.", b__md="# Marked\n\nText.", c__html="<title>Page</title><p>Body.")
    (tmp_path / "d.pdf").write_bytes(text_pdf([["Printed."]], "Print"))
    word_file(tmp_path / "e.docx", [("Normal", "Typed.")], "Word")
    (tmp_path / "f.jsonl").write_text('{"id": "x", "title": "Line", "text": "Lined."}')
    (tmp_path / "g.JSONL.gz").write_bytes(gzip.compress(b'{"_id": "y", "text": "Packed."}'))
    documents, errors = read(tmp_path)
    assert errors == []
    assert [(document.title, document.text) for document in documents] == [
        ("a", "Plain."),
        ("Marked", "Marked\n\nText."),
        ("Page", "Body."),
        ("Print", "Printed."),
        ("Word", "Typed."),
        ("Line", "Lined."),
        ("", "Packed."),
    ]
    root = tmp_path.resolve().as_posix()
    expected = [
        f"{root}/{name}" for name in ("a.txt", "b.md", "c.html", "d.pdf", "e.docx", "f.jsonl#x", "g.JSONL.gz#y")
    ]
    assert [document.sources for document in documents] == [(source,) for source in expected]


def test_ids_come_from_declared_title_text_and_blocks(tmp_path: Path) -> None:
    put(
        tmp_path,
        a__txt="Same.",
        b__txt="Same.",
        c__md="# T\nSame.",
        d__jsonl='{"title": "T", "text": "Same."}\n{"text": "Same."}',
    )
    documents, _ = read(tmp_path)
    ids = [document.id for document in documents]
    assert ids[0] == ids[1] == ids[4] == content_id("d", "", "Same.")
    assert ids[2] == content_id("d", "T", "T\n\nSame.", pack(documents[2].blocks))
    assert ids[3] == content_id("d", "T", "Same.")
    assert [document.title for document in documents[:2]] == ["a", "b"]


def test_c12_new_content_under_an_old_name_is_another_document(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("Old.")
    (old,), _ = read(path)
    path.write_text("New.")
    (new,), _ = read(path)
    assert old.sources == new.sources
    assert old.id != new.id


def test_given_sentences_are_used(tmp_path: Path) -> None:
    line = {"text": "Dr. A. came. b left.", "sentences": ["Dr. A. came.", "b left."]}
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(line) + "\n" + json.dumps({**line, "sentences": ["else"]}))
    (annotated, plain), _ = read(path)
    assert annotated.sentence_ends == (13, 20)
    assert plain.sentence_ends == (20,)


def test_c1_empty_documents_are_kept_with_a_note(tmp_path: Path) -> None:
    texts = ("", " \n\t\n ")
    files = [(f"a.{ending}", text) for ending in ("txt", "md", "html") for text in texts]
    files += [("a.jsonl", json.dumps({"text": text})) for text in texts]
    documents = read_each(tmp_path, files)
    assert len(documents) == 8
    assert all(document.notes == ("holds no text",) and passages(document) == () for document in documents)


def test_c1_one_character(tmp_path: Path) -> None:
    (document,), _ = read(put(tmp_path, a__txt="x"))
    assert [unit.text for unit in passages(document)] == ["x"]


def test_c1_one_line_of_10_megabytes(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"abcdefghi " * 1_000_000)
    (document,), errors = read(path)
    assert errors == []
    assert len(document.text) == document.sentence_ends[-1] == 10_000_000
    assert max(span.end - span.start for span in document.sentences()) <= 1000


def test_c3_many_files_are_streamed(tmp_path: Path) -> None:
    for number in range(400):
        (tmp_path / f"{number:04}.txt").write_bytes(b"Some words here, and no stop " * 350)
    first, last = traced_peaks(read_sources([tmp_path]), ends=60, between=280)
    assert first < 550_000, "beside the names of all files, 0.6 MB of text went by"
    assert last < 400_000, "0.6 MB of text went by"


def test_folders_are_walked_in_order_without_hidden_files(tmp_path: Path) -> None:
    for name in ("b/z.txt", "b/a.txt", "a.txt", "c.txt", ".hidden.txt", ".git/x.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    documents, errors = read(tmp_path)
    assert [document.text for document in documents] == ["a.txt", "b/a.txt", "b/z.txt", "c.txt"]
    assert errors == []
    assert len(read(tmp_path / ".hidden.txt")[0]) == 1


def test_c5_links_out_of_the_folder_are_reported_and_not_followed(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (outside / "secret.txt").write_text("Secret.")
    (inside / "a.txt").write_text("Open.")
    (inside / "file.txt").symlink_to(outside / "secret.txt")
    (inside / "folder").symlink_to(outside)
    (inside / "nowhere.txt").symlink_to("missing")
    (inside / "round").symlink_to(inside)
    (inside / "same.txt").symlink_to("a.txt")
    (inside / ".kept").mkdir()
    (inside / ".kept" / "b.txt").write_text("Kept.")
    (inside / "kept.txt").symlink_to(".kept/b.txt")
    (inside / "hidden").symlink_to(".kept")
    findings = Findings()
    documents = list(read_sources([inside], findings=findings))
    assert [document.text for document in documents if isinstance(document, Document)] == ["Open.", "Kept."]
    assert len(documents) == 2  # no file of the folder failed
    links = [Path(note.split(" is a link ")[0]).name for note in findings.notes]
    assert links == ["file.txt", "folder", "hidden", "nowhere.txt"]
    assert "leads out of the folder" in findings.notes[0]
    assert f"{(inside / '.kept').resolve().as_posix()}: name that as a source" in findings.notes[2]
    assert "leads nowhere" in findings.notes[3]


def test_missing_and_unknown_files_are_reported(tmp_path: Path) -> None:
    put(tmp_path, b__txt="Text.")
    (tmp_path / "picture.png").write_bytes(PICTURE)
    os.mkfifo(tmp_path / "pipe.txt")
    documents, errors = read(tmp_path / "missing.txt", tmp_path, tmp_path / "picture.png", "bad\0name")
    assert [document.text for document in documents] == ["Text."]
    reasons = [error.reason for error in errors]
    assert "does not exist" in reasons[0]
    assert "neither a file nor a folder" in reasons[1]
    assert "is not text, and of no known format" in reasons[2]
    assert "cannot be reached" in reasons[3]


def test_text_files_of_a_folder_are_read_and_others_left_out(tmp_path: Path) -> None:
    put(tmp_path, notes__xyz="Under an unknown ending.", b__txt="Text.")
    (tmp_path / "README").write_text("Without an ending.")
    (tmp_path / "picture.png").write_bytes(PICTURE)
    (tmp_path / "paper").write_bytes(PDF)
    findings = Findings()
    items = list(read_sources([tmp_path], findings=findings))
    texts = {Path(item.sources[0]).name: item.text for item in items if isinstance(item, Document)}
    assert texts.pop("paper").strip() == "A page."
    assert texts == {"README": "Without an ending.", "notes.xyz": "Under an unknown ending.", "b.txt": "Text."}
    assert [Path(file).name for file in findings.left_out] == ["picture.png"]


def test_lines_of_records_without_texts_are_one_document(tmp_path: Path) -> None:
    (tmp_path / "ships.jsonl").write_text('{"ship": "Gannet", "berth": 4}\n{"ship": "Tern", "berth": 7}\n')
    (document,), errors = read(tmp_path)
    assert errors == []
    assert document.text == "ship: Gannet\tberth: 4\nship: Tern\tberth: 7"
    assert [block.place for block in document.blocks] == ["record 1", "record 2"]


def test_words_that_run_together_are_noted_in_any_format(tmp_path: Path) -> None:
    sentence = "The harbour master closed the east quay because of the storm of last night. "
    glued = sentence.replace(" ", "") * 9
    texts = (glued, f"```\n{glued}\n```\n{sentence * 9}", sentence * 9)
    documents = read_each(tmp_path, [("a.md", text) for text in texts])
    noted = [any("words run together" in note for note in document.notes) for document in documents]
    assert noted == [True, False, False]


def test_a_document_has_a_date(tmp_path: Path) -> None:
    cases = [
        ("2024-03-05-visit.txt", "We went there.", "2024-03-05", "file name"),
        ("visit.txt", "Minutes\n5 March 2024\n\nWe went there.", "2024-03-05", "first lines"),
        ("picked-2023-10.csv", "Tree,Picked\nA1,2024-10-03\nA2,2024-09-20\n", "2023-10", "file name"),
        (
            "visit.txt",
            "Long ago.\n\nOn 5 March 2024 the second boat of the harbour board was sold, says the book.",
            "2020-09-13",
            "file time",
        ),
    ]
    documents = read_each(tmp_path, [(name, text) for name, text, _, _ in cases])
    found = [(document.date, document.date_from) for document in documents]
    assert found == [(date, origin) for _, _, date, origin in cases]


def test_the_date_in_a_document_applies_to_its_blocks(tmp_path: Path) -> None:
    """Except for quotes. A date in a file's name is not in the blocks, which are the same under another name."""
    cases = [
        (
            "rules.md",
            "---\ndate: 2022-05-01\n---\nForty spaces.\n\n> Thirty.\n\n# May 2023\n\nFifty.",
            "2022-05-01|2022-05-01||2022-05-01|2023-05",
        ),
        ("2024-03-05.txt", "Forty spaces.\n\nThirty.", "|"),
        ("rules.txt", "The harbour board adopted these on 5 March 2024.\n\nForty spaces.", "2024-03-05|2024-03-05"),
        ("berg.txt", "Ida Berg was born on 5 March 1931.\n\nShe kept the light.", "|"),
    ]
    documents = read_each(tmp_path, [(name, text) for name, text, _ in cases])
    found = ["|".join(block.date for block in document.blocks) for document in documents]
    assert found == [dates for _, _, dates in cases]


def test_a_file_without_read_permission_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, a__txt="A.", b__txt="B.")
    true_read = file_contents._read_bytes

    def refusing(path: Path, size: int) -> bytes:
        if path.name == "a.txt":
            raise PermissionError(13, "Permission denied")
        return true_read(path, size)

    monkeypatch.setattr(file_contents, "_read_bytes", refusing)
    documents, errors = read(tmp_path)
    assert names(documents) == ["b.txt"]
    assert errors[0].reason == "could not be read (Permission denied)"


@pytest.mark.parametrize("beside", ["questions.dev.jsonl", "queries.jsonl", "extra_untitled.jsonl", "qrels/test.tsv"])
def test_a_folder_of_evaluation_data_gives_its_corpus(tmp_path: Path, beside: str) -> None:
    data = tmp_path / "data"
    (data / beside).parent.mkdir(parents=True)
    (data / beside).write_text('{"id": "q", "text": "A question?"}')
    put(data, corpus__jsonl='{"id": "p", "text": "A passage."}', readme__md="About.")
    documents, errors = read(tmp_path)
    assert [document.text for document in documents] == ["A passage."]
    assert errors == []


def test_of_two_corpus_files_the_packed_one_is_named_as_left_out(tmp_path: Path) -> None:
    put(
        tmp_path, corpus__jsonl='{"id": "p", "text": "A passage."}', queries__jsonl='{"id": "q", "text": "A question?"}'
    )
    (tmp_path / "corpus.jsonl.gz").write_bytes(gzip.compress(b'{"id": "o", "text": "Another passage."}'))
    findings = Findings()
    assert [one.text for one in read_sources([tmp_path], findings=findings) if isinstance(one, Document)] == [
        "A passage."
    ]
    assert findings.left_out == {f"{tmp_path}/corpus.jsonl.gz": "beside corpus.jsonl in a data folder"}


def test_a_corpus_file_without_data_files_hides_nothing(tmp_path: Path) -> None:
    beside = ("notes.txt", "questions-for-later.txt", "queries.md", "extra_thoughts.html")
    for name in beside:
        (tmp_path / name.partition(".")[0]).mkdir()
        (put(tmp_path / name.partition(".")[0], corpus__jsonl='{"text": "A."}') / name).write_text("B.")
    documents, _ = read(tmp_path)
    assert sorted(document.text for document in documents) == [*["A."] * 4, *["B."] * 4]


def test_a_broken_line_is_reported_with_file_and_number(tmp_path: Path) -> None:
    documents, (error,) = read(put(tmp_path, a__jsonl='{"text": "A."}\n{oops\n{"text": "C."}'))
    assert [document.text for document in documents] == ["A.", "C."]
    assert error.source == f"{tmp_path.resolve().as_posix()}/a.jsonl, line 2"


def test_c7_lone_surrogates_in_json_are_replaced_everywhere(tmp_path: Path) -> None:
    (document,), _ = read(
        put(tmp_path, a__jsonl=r'{"id": "\ud800", "title": "T\udfff", "text": "x\ud800y\u0000z\r\n"}')
    )
    assert document.text == "x\ufffdy\ufffdz\n"
    assert document.title == "T\ufffd"
    assert document.sources[0].endswith("#\ufffd")
    assert "2 lone surrogates or NUL" in document.notes[0]


def test_c7_wrong_endings_are_detected_by_content_if_certain(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(text_pdf([["Printed."]]))
    word_file(tmp_path / "b.docx", [("Normal", "Typed.")]).rename(tmp_path / "b.pdf")
    (tmp_path / "c.pdf").write_text("<html>not found</html>")
    (tmp_path / "d.docx").write_text("plain")
    (tmp_path / "e.txt").write_bytes(PICTURE)
    documents, errors = read(tmp_path)
    assert [(document.text, document.notes) for document in documents] == [
        ("Printed.", ("named .txt, read as PDF by its content",)),
        ("Typed.", ("named .pdf, read as DOCX by its content",)),
    ]
    assert [Path(error.source).name for error in errors] == ["c.pdf", "d.docx", "e.txt"]
    assert "is not a PDF" in errors[0].reason
    assert "is not a Word file" in errors[1].reason
    assert "binary" in errors[2].reason


def test_a_text_over_the_limit_is_refused(tmp_path: Path) -> None:
    documents, (error,) = read(put(tmp_path, a__txt="x" * 101, b__txt="x" * 100), limits=ReadingLimits(text=100))
    assert names(documents) == ["b.txt"]
    assert "larger than the limit of 100 bytes" in error.reason


def test_impossible_limits_are_refused() -> None:
    with pytest.raises(UsageError, match="pages must be at least 1"):
        ReadingLimits(pages=0)


def test_markdown_titles(tmp_path: Path) -> None:
    cases = [
        ("Intro\n\n## The *second* level ##\n\n# First", "The second level"),
        ("The title\n=========\n\ntext", "The title"),
        ("```sh\n# a comment\n```\n# Real", "Real"),
        ("#hashtag\n#\n\ntext", "a"),
        ("# About C#", "About C#"),
        ("# " + " " * 90_000 + "x", "x"),
        ("no heading", "a"),
        ("---\ntitle: The Gannet\n---\nIlse sailed it.", "The Gannet"),
        ("---\n# generated by x\n\ntags: [a]\ntitle: 'Ilse''s boat' # why\n---\n# Heading", "Ilse's boat"),
        ('---\ntitle: "The \\"Gannet\\": a #boat"\n...\n', 'The "Gannet": a #boat'),
        ("---\ntitle: Boat#1 # the first\n---\n", "Boat#1"),
        ("---\n# a comment\ntags: [a]\nof:\n  title: no\n---\n\nText\n\n# Heading", "Heading"),
        ("---\ntags: [a]\ntitle: >-\n  On more lines\n---\ntext", "On more lines"),
        ("---\n\n# After a rule\n\ntitle: no\n\n---\n", "After a rule"),
        ("---\ntags: [never closed]\n# Heading", "Heading"),
    ]
    documents = read_each(tmp_path, [("a.md", text) for text, _ in cases])
    found = [document.title for document in documents]
    assert found == [title for _, title in cases]


def test_names_that_are_not_utf8_can_be_stored_and_stay_distinct(tmp_path: Path) -> None:
    for name, text in ((b"/caf\xe8.txt", "One."), (b"/caf\xe9.txt", "Another.")):
        Path(os.fsdecode(os.fsencode(tmp_path) + name)).write_text(text)
    documents, _ = read(tmp_path)
    assert [document.title for document in documents] == [r"caf\xe8", r"caf\xe9"]
    assert [document.sources[0] for document in documents] == [
        f"{tmp_path}/{name}.txt" for name in (r"caf\xe8", r"caf\xe9")
    ]


def test_a_file_whose_ending_is_not_utf8_is_read_by_its_content(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/plan.\xe9")).write_bytes(
        word_file(tmp_path / ".plan.docx", [("Normal", "The ash was felled.")]).read_bytes()
    )
    [document], _ = read(tmp_path)
    assert document.notes == (r"named .\xe9, read as DOCX by its content",)


def test_c11_a_file_that_changes_once_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    path.write_text("Before.")
    true_read = file_contents._read_bytes
    texts = iter(["After it."])

    def read_then_change(path: Path, size: int) -> bytes:
        data = true_read(path, size)
        if text := next(texts, None):
            path.write_text(text)
        return data

    monkeypatch.setattr(file_contents, "_read_bytes", read_then_change)
    assert bytes_at_rest(path, 100)[0] == b"After it."


@pytest.mark.parametrize("leaves_its_time", [False, True], ids=["another-time", "the-same-time"])
def test_c11_a_file_that_keeps_changing_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leaves_its_time: bool
) -> None:
    """Also if its times do not change: two writes may fall within one tick of the clock."""
    path = tmp_path / "a.txt"
    path.write_text("Version 000.")
    true_read = file_contents._read_bytes
    versions = iter(range(1, 1000))

    def read_then_change(path: Path, size: int) -> bytes:
        data = true_read(path, size)
        before = path.stat()
        path.write_text(f"Version {next(versions):03}.")
        if leaves_its_time:
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        return data

    monkeypatch.setattr(file_contents, "_read_bytes", read_then_change)
    with pytest.raises(Unreadable, match="keeps changing"):
        bytes_at_rest(path, 100)


def test_c11_a_file_deleted_meanwhile_is_reported(tmp_path: Path) -> None:
    put(tmp_path, a__txt="A.", b__txt="B.", c__txt="C.")
    items = read_sources([tmp_path])
    next(items)
    (tmp_path / "b.txt").unlink()
    gone, last = items
    assert isinstance(gone, DocumentError)
    assert Path(gone.source).name == "b.txt"
    assert isinstance(last, Document)


def test_c11_a_jsonl_file_that_changes_is_reported(tmp_path: Path) -> None:
    path = put(tmp_path, a__jsonl='{"text": "A."}\n' * 3) / "a.jsonl"
    items = read_sources([path])
    next(items)
    with path.open("a") as more:
        more.write('{"text": "B."}\n')
    *_, last = items
    assert isinstance(last, DocumentError)
    assert "changed while it was being read" in last.reason


def test_closing_the_stream_early_ends_the_child(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.pdf").write_bytes(text_pdf([["Text."]]))
    items = read_sources([tmp_path])
    assert isinstance(next(items), Document)
    items.close()  # type: ignore[attr-defined]
    assert list(items) == []


SLOW = "<select>" + "<option>x" * 200_000


@pytest.mark.parametrize("executor", [LOCAL_EXECUTOR, LocalExecutor()], ids=["one parser", "batches"])
def test_a_slow_file_does_not_delay_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, executor: Executor) -> None:
    monkeypatch.setattr(child, "FIRST_TRY", 0.25)
    put(tmp_path, a__html=SLOW, b__txt="Text.", c__html="<p>Page.", d__html="<p>Last.")
    items = read_sources([tmp_path], ReadingLimits(parsing_seconds=1), executor)
    others = [item.text for item in islice(items, 3) if isinstance(item, Document)]
    assert others == ["Text.", "Page.", "Last."]
    (failure,) = items
    assert isinstance(failure, DocumentError)
    assert failure.source.endswith("/a.html")
    assert "took longer than 1 seconds" in failure.reason


def test_a_file_slower_than_its_first_try_is_read_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "FIRST_TRY", 0.25)
    put(tmp_path, a__html="<p>long text" * 80_000, b__html="<p>Page.")
    documents, errors = read(tmp_path)
    assert errors == []
    assert names(documents) == ["b.html", "a.html"]
    assert documents[1].text.count("long text") == 80_000


def test_a_slow_file_deleted_before_its_second_try_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "FIRST_TRY", 0.25)
    put(tmp_path, a__html="<p>long text" * 80_000, b__html="<p>Page.")
    items = read_sources([tmp_path])
    assert isinstance(next(items), Document)
    (tmp_path / "a.html").unlink()
    (failure,) = items
    assert isinstance(failure, DocumentError)
    assert "could not be read" in failure.reason


def test_a_file_packed_with_gzip_is_read_as_the_file_within(tmp_path: Path) -> None:
    packed = {
        "README.gz": b"Plain.",
        "changelog.Debian.gz": b"first (1.0) unstable; urgency=low\n\n  * Begun.\n",
        "notes.md.gz": b"# Notes\n\nMarked.",
        "page.HTML.GZ": b"<title>Page</title><p>Body.",
        "print.pdf.gz": text_pdf([["Printed."]], "Print"),
        "table.csv.gz": b"City,Land\nBern,Switzerland\n",
    }
    for name, content in packed.items():
        (tmp_path / name).write_bytes(gzip.compress(content[:3]) + gzip.compress(content[3:]))
    (tmp_path / "not-packed.txt.gz").write_bytes(b"Not packed.")
    documents, errors = read(tmp_path)
    assert errors == []
    assert {
        name: (document.title, document.text) for name, document in zip(names(documents), documents, strict=True)
    } == {
        "README.gz": ("README", "Plain."),
        "changelog.Debian.gz": ("changelog.Debian", "first (1.0) unstable; urgency=low\n\n  * Begun.\n"),
        "not-packed.txt.gz": ("not-packed", "Not packed."),
        "notes.md.gz": ("Notes", "Notes\n\nMarked."),
        "page.HTML.GZ": ("Page", "Body."),
        "print.pdf.gz": ("Print", "Printed."),
        "table.csv.gz": ("table", "City\tLand\nBern\tSwitzerland"),
    }


def test_gzip_files_without_text_are_left_out_and_damaged_ones_reported(tmp_path: Path) -> None:
    (tmp_path / "archive.tar.gz").write_bytes(gzip.compress(b"name" + bytes(508)))
    (tmp_path / "picture.gz").write_bytes(gzip.compress(PICTURE))
    (tmp_path / "manual.ps.gz").write_bytes(gzip.compress(b"%!PS-Adobe-3.0\n(Wo) show (rds) show\n"))
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(b"a" * 30_000_000))
    (tmp_path / "long.md.gz").write_bytes(gzip.compress(b"".join(b"%d " % number for number in range(300_000))))
    (tmp_path / "cut.txt.gz").write_bytes(gzip.compress(os.urandom(30_000).hex().encode())[:-100])
    (tmp_path / "cut-README.gz").write_bytes(gzip.compress(b"short")[:-9])
    (tmp_path / "good.txt.gz").write_bytes(gzip.compress(b"Good."))
    findings = Findings()
    items = list(read_sources([tmp_path], ReadingLimits(text=1_500_000), findings=findings))
    assert [item.text for item in items if isinstance(item, Document)] == ["Good."]
    assert [Path(name).name for name in findings.left_out] == ["archive.tar.gz", "manual.ps.gz", "picture.gz"]
    reasons = {Path(item.source).name: item.reason for item in items if isinstance(item, DocumentError)}
    assert "unpacks to more than the limit of 1500000 bytes" in reasons["bomb.gz"]
    assert "unpacks to more than the limit of 1500000 bytes" in reasons["long.md.gz"]
    assert "damaged gzip file" in reasons["cut.txt.gz"]
    assert "damaged gzip file" in reasons["cut-README.gz"]
    (bomb,) = read_sources([tmp_path / "bomb.gz"])
    assert isinstance(bomb, DocumentError)
    assert "looks like a gzip bomb" in bomb.reason


@pytest.mark.parametrize(
    ("name", "text", "title"),
    [
        ("Harriet Vane.md", "# Notes\n\nLives in Skelby.", "Harriet Vane"),
        ("Skelby.org", "* History\nIt is old.", "Skelby"),
        ("Skelby.md", "# The town of Skelby\n\nIt is old.", "The town of Skelby"),
        ("Skelby.md", "---\ntitle: A town\n---\n# History\n\nIt is old.", "A town"),
        ("README.md", "# Pump\n\nTurn it.", "Pump"),
        ("Index.md", "# Pump\n\nTurn it.", "Pump"),
        ("onboarding.md", "# Welcome\n\nCome in.", "Welcome"),
        ("Chapter 3.md", "# Loans\n\nCome in.", "Loans"),
    ],
)
def test_a_file_named_after_its_subject_has_its_name_as_title(tmp_path: Path, name: str, text: str, title: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    (document,) = read_sources([tmp_path])
    assert isinstance(document, Document)
    assert document.title == title


@pytest.mark.parametrize(
    "text",
    [
        "# Meeting\n\n- [ ] call the roofer 📅 2027-05-02\n\nThe budget is 900 euros.",
        "* Roof\nDEADLINE: <2027-06-01 Tue>\n",
    ],
)
def test_the_date_of_a_task_is_not_that_of_its_document(tmp_path: Path, text: str) -> None:
    (tmp_path / ("a.org" if text[0] == "*" else "a.md")).write_text(text, encoding="utf-8")
    (document,) = read_sources([tmp_path])
    assert isinstance(document, Document)
    assert document.date_from == "file time"
