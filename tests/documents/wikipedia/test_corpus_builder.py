"""Building the three files of a dump: redirects, namesakes, faults, stops and kills, other dumps in the same folder."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from documents.wikipedia.small_wiki import PAGES, dump_of, page, redirect
from hoptrail.documents.wikipedia import corpus_builder
from hoptrail.documents.wikipedia.child_pool import converting
from hoptrail.documents.wikipedia.converting import Converted, Form, WikipediaSettings, convert
from hoptrail.documents.wikipedia.corpus_builder import build_corpus
from hoptrail.documents.wikipedia.dump import RawPage
from hoptrail.documents.wikipedia.page import Site
from hoptrail.documents.wikipedia.progress_file import Notebook, open_notebook
from hoptrail.errors import DocumentError, Interrupted, ModelUnavailable, UsageError

TESTS = Path(__file__).parents[2]
FILES = ("documents.jsonl", "profiles.jsonl", "corpus.json")


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("dump") / "tallow.xml"
    file.write_bytes(dump_of(PAGES))
    return file


@pytest.fixture(scope="module")
def whole(dump: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The corpus of the small wiki, built without interruption. Read only."""
    folder = tmp_path_factory.mktemp("whole")
    build_corpus(dump, folder)
    return folder


def lines_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def contents(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in FILES]


def test_one_document_per_entity_in_the_order_of_the_dump(whole: Path) -> None:
    documents = lines_of(whole / "documents.jsonl")
    assert [(document["id"], document["title"]) for document in documents] == [
        ("3", "Tallow Bridge"),
        ("6", "Isk (river)"),
        ("7", "Isk (song)"),
        ("8", "Orla Finch"),
        ("14", "Wrenmouth"),
    ]
    assert sorted(path.name for path in whole.iterdir()) == sorted((*FILES, "corpus.lock"))


def test_profiles_have_redirects_of_redirects_and_know_shared_names(whole: Path) -> None:
    profiles = {profile["title"]: profile for profile in lines_of(whole / "profiles.jsonl")}
    assert profiles["Tallow Bridge"]["also"] == ["Tallow Crossing", "The Crossing"]
    assert profiles["Orla Finch"]["also"] == ["O. Finch"]
    assert {title for title, profile in profiles.items() if profile["ambiguous"]} == {
        *("Isk", "Isk (river)", "Isk (song)", "Finch", "Wrenmouth (disambiguation)")
    }, "but not Wrenmouth, the primary topic of its name"
    for document in lines_of(whole / "documents.jsonl"):
        for key, value in profiles[document["title"]]["profile"]:
            assert f"{key}: {value}" in document["text"].split("\n")


def test_the_manifest_counts_everything(whole: Path, dump: Path) -> None:
    corpus = json.loads((whole / "corpus.json").read_bytes())
    assert (corpus["dump"]["name"], corpus["dump"]["bytes"]) == (dump.name, dump.stat().st_size)
    assert (corpus["pages"], corpus["documents"], corpus["entities"], corpus["infoboxes"]) == (17, 5, 5, 4)
    assert (corpus["redirects"], corpus["redirects_unused"], corpus["disambiguation_pages"]) == (6, 3, 3)
    left_out = {"in another namespace than articles": 1, "not wikitext but json": 1, "without text": 1}
    assert (corpus["left_out"], corpus["faults_in_all"], corpus["ended"]) == (left_out, 0, "")
    assert corpus["words"] > 100


def test_templates_that_showed_nothing_are_counted(whole: Path) -> None:
    """Except infoboxes and templates without text of the article: the pages also have `{{stub}}` and `{{reflist}}`."""
    corpus = json.loads((whole / "corpus.json").read_bytes())
    assert corpus["templates_dropped"] == {}
    page_ = page("A", "One {{odd|x}} two {{Odd}} {{convert|many|km}} {{odd|{{never}}}} {{short description|Town}}.")
    converted = convert(page_.encode(), Site(), WikipediaSettings())
    assert dict(converted.dropped) == {"odd": 3, "convert": 1}


def test_further_templates_can_have_patterns(tmp_path: Path) -> None:
    settings = WikipediaSettings(templates=(("Odd_Thing", "$1 (${see also})"), ("convert", "$1!"), ("noise", "")))
    text = "One {{odd thing|x|see also=y}}, {{odd thing|x}}two {{noise|z}}{{convert|3|km}}."
    (tmp_path / "wiki.xml").write_bytes(dump_of([page("A", text), page("B", text)]))
    build_corpus(tmp_path / "wiki.xml", tmp_path / "out", settings)
    assert lines_of(tmp_path / "out" / "documents.jsonl")[0]["text"] == "One x (y), two 3!."
    corpus = json.loads((tmp_path / "out" / "corpus.json").read_bytes())
    assert corpus["templates_dropped"] == {"odd thing": 2}, "of both pages, where an argument is missing"
    for pattern in ("$", "${", "100 $ of $1"):
        with pytest.raises(UsageError, match="stands for its first argument"):
            WikipediaSettings(templates=(("odd", pattern),))


def test_titles_that_differ_in_case_share_a_profile(tmp_path: Path) -> None:
    """Look-ups ignore case; a document takes the pairs in its text."""
    with open_notebook(tmp_path / "notebook") as notebook:
        notebook.enter(Converted(Form.ENTITY, "ISK", "1", "x", (("A", "1"),)))
        notebook.enter(Converted(Form.ENTITY, "Isk", "2", "x", (("B", "2"),)))
        notebook.enter(Converted(Form.REDIRECT, "The ISK", detail="ISK"))
        (profile,) = notebook.profiles()
    assert (profile.title, profile.also, profile.pairs) == ("ISK", ("The ISK",), (("A", "1"), ("B", "2")))


def test_long_chains_and_cycles_of_redirects_terminate(tmp_path: Path) -> None:
    with open_notebook(tmp_path / "notebook") as notebook:
        notebook.enter(Converted(Form.ENTITY, "End", "1", "x"))
        for number in range(500):
            notebook.enter(Converted(Form.REDIRECT, f"{number:03}", detail=f"{number - 1:03}" if number else "End"))
        notebook.enter(Converted(Form.REDIRECT, "Round", detail="Round"))
        (profile,) = notebook.profiles()
    assert len(profile.also) == 500


# --- what is broken


def test_faulty_pages_are_reported_and_the_others_converted(tmp_path: Path) -> None:
    pages = [
        page("A", "One."),
        page("B", "x").replace("</text>", ""),
        page("C", "x").replace("</page>", ""),
        page("D", "Two."),
    ]
    (tmp_path / "wiki.xml").write_bytes(dump_of(pages))
    corpus = build_corpus(tmp_path / "wiki.xml", tmp_path / "out")
    assert (corpus.documents, corpus.faults_in_all, corpus.complete, corpus.ended) == (2, 2, False, "")
    assert [title for title, _ in corpus.faults] == ["B", "C"]
    assert "well-formed" in corpus.faults[0][1]
    assert "no end tag" in corpus.faults[1][1]


def test_a_truncated_dump_keeps_its_complete_pages(tmp_path: Path) -> None:
    content = dump_of([page("A", "One."), page("B", "Two.")])
    (tmp_path / "wiki.xml").write_bytes(content[:-60])
    corpus = build_corpus(tmp_path / "wiki.xml", tmp_path / "out")
    assert [document["title"] for document in lines_of(tmp_path / "out" / "documents.jsonl")] == ["A"]
    assert "after page 1 ('A'), byte" in corpus.ended
    assert "in the middle of the page 'B'" in corpus.ended
    assert build_corpus(tmp_path / "wiki.xml", tmp_path / "out") == corpus


def test_only_the_page_that_hangs_the_parser_is_lost() -> None:
    """Unclosed tags take the parser quadratic time, and it cannot be interrupted."""
    slow = page("Slow", "x<b>" * 60_000)
    raw = [RawPage(text.encode()) for text in (page("A", "One."), slow, page("B", "Two."))]
    with converting(Site(), WikipediaSettings(seconds=1), 1) as pool:
        ((first, second, third),) = pool.each([raw])
    assert (first.text, third.text) == ("One.", "Two.")
    assert (second.form, second.title) == (Form.FAULT, "Slow")
    assert "longer than 1 seconds" in second.detail


def test_a_missing_package_is_named_with_its_extra(dump: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mwparserfromhell", None)
    with pytest.raises(ModelUnavailable, match=r"pip install hoptrail\[wikipedia\]"):
        build_corpus(dump, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_refused_file_leaves_no_corpus(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Just text.", encoding="utf-8")
    with pytest.raises(DocumentError, match="is not a MediaWiki XML dump"):
        build_corpus(tmp_path / "notes.txt", tmp_path / "out")
    with pytest.raises(DocumentError, match="could not be read"):
        build_corpus(tmp_path / "missing.xml", tmp_path / "out")
    assert not any((tmp_path / "out" / name).exists() for name in FILES)


# --- stopping and going on


def test_a_stopped_run_resumes_and_ends_with_the_same_bytes(
    dump: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus_builder, "BATCH", 3)
    done: list[int] = []
    with pytest.raises(Interrupted, match="Run the same command again"):
        build_corpus(dump, tmp_path / "out", report=lambda *_: done.append(1), stopped=lambda: len(done) == 2)
    assert not any((tmp_path / "out" / name).exists() for name in FILES)
    converted: list[str] = []
    enter = Notebook.enter

    def entering(notebook: Notebook, page: Converted) -> None:
        converted.append(page.title)
        enter(notebook, page)

    monkeypatch.setattr(Notebook, "enter", entering)
    build_corpus(dump, tmp_path / "out", workers=2)
    assert len(converted) == len(PAGES) - 6
    assert contents(tmp_path / "out") == contents(whole)


KILLED = """
import os, signal, sys
from pathlib import Path
from hoptrail.documents.wikipedia import corpus_builder
corpus_builder.BATCH, corpus_builder.CHECKPOINT = 2, 4
calls = []
def report(what, done, total):
    calls.append(what)
    if len(calls) == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
corpus_builder.build_corpus(Path(sys.argv[1]), Path(sys.argv[2]), report=report)
"""


def test_killed_again_and_again_it_ends_with_the_same_bytes(dump: Path, whole: Path, tmp_path: Path) -> None:
    """Always between writing documents and their checkpoint."""
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    for calls in (1, 3):
        command = [sys.executable, "-c", KILLED, str(dump), str(tmp_path / "out"), str(calls)]
        assert subprocess.run(command, env=environment, check=False).returncode == -signal.SIGKILL
    assert (tmp_path / "out" / "documents.jsonl.part").stat().st_size > 0
    build_corpus(dump, tmp_path / "out")
    assert contents(tmp_path / "out") == contents(whole)


def test_a_run_killed_at_the_last_step_repeats_it(
    dump: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_by = json.loads((whole / "corpus.json").read_bytes())["made_by"]
    with monkeypatch.context() as patched:
        patched.setattr(corpus_builder, "asdict", lambda *_: 1 / 0)
        patched.setattr(corpus_builder, "_made_by", lambda *_: made_by)
        with pytest.raises(ZeroDivisionError):
            build_corpus(dump, tmp_path / "out")
    assert (tmp_path / "out" / "documents.jsonl").exists()
    assert not (tmp_path / "out" / "corpus.json").exists()
    build_corpus(dump, tmp_path / "out")
    assert contents(tmp_path / "out") == contents(whole)


def test_a_folder_has_the_corpus_of_one_dump(dump: Path, whole: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.xml"
    other.write_bytes(dump_of([redirect("A", "B"), page("B", "x")]))
    before = contents(whole)
    for arguments in ((other, whole), (dump, whole, WikipediaSettings(infoboxes=("box",)))):
        with pytest.raises(UsageError, match="another dump, or one made with other settings"):
            build_corpus(*arguments)
    assert contents(whole) == before
    with pytest.raises(Interrupted):
        build_corpus(other, tmp_path / "out", stopped=lambda: True)
    with pytest.raises(UsageError, match="another dump"):
        build_corpus(dump, tmp_path / "out")
    (tmp_path / "corpus.json").write_text("{}", encoding="utf-8")
    with pytest.raises(UsageError, match="is not the manifest"):
        build_corpus(dump, tmp_path)
    with pytest.raises(UsageError, match="at least 1 worker"):
        build_corpus(dump, tmp_path / "out", workers=0)
