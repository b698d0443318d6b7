"""Every exit code by a real cause: 0 done, 1 failed, 2 wrong usage, 4 some documents unread (3 is in `test_stopping.py`)."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from command import Ended, Hoptrail
from fakeai.clients import write_settings
from hoptrail import Index
from hoptrail.corpus import segments
from world import FACTS, write_facts

EXECUTABLE = Path(sys.executable).with_name("hoptrail")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of the facts with the encoder that ships, all of whose arrays are files. Read-only for all tests."""
    folder = tmp_path_factory.mktemp("small")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "SMALL", 0)
        report = Index(folder / "index").add([write_facts(folder / "world")], ["hybrid", "trail"])
    assert report.documents == len(FACTS)
    return folder / "index"


@pytest.fixture
def copied(small: Path, tmp_path: Path) -> Path:
    """A copy of the index that a test may damage."""
    return Path(shutil.copytree(small, tmp_path / "copied"))


def check(ended: Ended, code: int, *words: str) -> None:
    """Check the exit code, the words on standard error, no traceback and an empty standard output."""
    assert ended.code == code, ended.err
    assert ended.out == ""
    assert "Traceback" not in ended.err
    for word in words:
        assert word in ended.err


# --- 0


def test_index_search_remove_verify_and_repair(hoptrail: Hoptrail, world: Path, tmp_path: Path, tiny: Path) -> None:
    options = ["--index", tmp_path / "index", "--settings", tiny]
    check(hoptrail("index", world, *options), 0, "6 documents added, 0 unchanged; 6 in the index.")
    check(hoptrail("index", world, *options), 0, "0 documents added, 6 unchanged; 6 in the index.")
    (world / "Isk.txt").write_text("The Isk is a brook.", encoding="utf-8")
    check(hoptrail("index", world, *options), 0, "0 documents added, 5 unchanged, 1 updated; 6 in the index.")
    (world / "copy.txt").write_text("A brook.", encoding="utf-8")
    check(hoptrail("index", world, *options), 0, "1 document added")
    (world / "copy.txt").unlink()
    check(hoptrail("index", world, *options), 0, "1 file is gone; --sync removes it from the index")
    check(hoptrail("index", world, "--sync", *options), 0, "6 unchanged, 1 removed because")
    check(hoptrail("remove", "Isk", world / "Dunmere.txt", *options), 0, "removed: Isk", "removed: Dunmere")
    check(hoptrail("verify", *options), 0, "files match their checksums")
    check(hoptrail("repair", *options), 0, "0 damaged files")
    found = hoptrail("search", "brook", "--recipe", "bm25", "--json", *options)
    assert (found.code, found.json["hits"]) == (0, [])
    assert hoptrail("show", "--json", *options).json["units"] == {"passage": 4, "sentence": 8}


def test_a_document_that_was_read_from_two_paths_goes_with_the_last(
    hoptrail: Hoptrail, world: Path, tmp_path: Path, tiny: Path
) -> None:
    options = ["--index", tmp_path / "index", "--settings", tiny]
    shutil.copy(world / "Isk.txt", world / "River.txt")
    hoptrail("index", world, *options)
    stays = f"no longer read from {world}/Isk.txt: Isk; it stays, because it was also read from {world}/River.txt\n"
    first, second = (hoptrail("remove", world / name, *options).err for name in ("Isk.txt", "River.txt"))
    again = "still on disk, so the next `hoptrail index` of the folder reads it again: "
    assert first.startswith(f"{stays}{again}{world}/Isk.txt.")
    assert second.startswith(f"removed: River\n{again}{world}/River.txt.")


def test_options_choose_what_is_left_out_and_show_names_it(
    hoptrail: Hoptrail, world: Path, tmp_path: Path, tiny: Path
) -> None:
    options = ["--index", tmp_path / "index", "--settings", tiny]
    (world / ".gitignore").write_text("Isk.txt\n", encoding="utf-8")
    left = f"ignored by .gitignore: {world}/Isk.txt", f"excluded: {world}/Dunmere.txt, {world}/Lindeth.txt"
    check(hoptrail("index", world, "--exclude", "Dun*", "--exclude", "/Lindeth.txt", *options), 0, "3 documents", *left)
    shown = hoptrail("show", *options).out
    assert "not read: 3" in shown
    assert f"{world}/Isk.txt: ignored by .gitignore" in shown
    check(hoptrail("index", world, "--no-gitignore", *options), 0, "3 documents added, 3 unchanged; 6 in the index")
    check(hoptrail("index", world, *options), 0, "Isk.txt; an older reading is still in the index", "--sync removes it")
    check(hoptrail("index", world, "--sync", *options), 0, "1 removed because")
    check(hoptrail("index", world, "--exclude", "[a", *options), 2, "'[a' is not a pattern of files")
    check(hoptrail("serve", tmp_path / "index", "--exclude", "a", "--settings", tiny), 2, "for a FOLDER of documents")
    check(hoptrail("remove", world, *options), 0, "removed: Wrenmouth")


def test_structures_may_be_named_without_sources(hoptrail: Hoptrail, world: Path, tmp_path: Path, tiny: Path) -> None:
    options = ["--index", tmp_path / "index", "--settings", tiny]
    assert hoptrail("index", world, "--for", "bm25,dense", *options).code == 0
    check(hoptrail("index", "--for", "selfask", *options), 0, "0 documents added, 0 unchanged; 6 in the index")


def test_recipes_may_be_named_together_or_one_by_one(
    hoptrail: Hoptrail, world: Path, tmp_path: Path, tiny: Path
) -> None:
    def units(*recipes: str) -> object:
        options = ["--index", tmp_path / "-".join(recipes).replace(",", "+"), "--settings", tiny]
        named = [part for recipe in recipes for part in ("--for", recipe)]
        assert hoptrail("index", world, *named, *options).code == 0
        return hoptrail("show", "--json", *options).json["units"]

    one_by_one = units("trail", "hipporag")
    assert isinstance(one_by_one, dict)
    assert {"sentence", "triple"} <= one_by_one.keys()
    assert one_by_one == units("trail,hipporag")


@pytest.mark.parametrize("command", [["--help"], ["ask", "--help"], ["recipes"], ["settings"]])
def test_questions_about_the_command_itself(hoptrail: Hoptrail, command: list[str]) -> None:
    ended = hoptrail(*command)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out


# --- 1


def test_no_index(hoptrail: Hoptrail, tmp_path: Path) -> None:
    for command in (["ask", "Who?"], ["search", "Who?"], ["show"], ["remove", "x"], ["verify"], ["repair"]):
        check(hoptrail(*command, "--index", tmp_path / "nothing"), 1, "nothing")
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_index(hoptrail: Hoptrail, copied: Path) -> None:
    victim = next(path for path in sorted((copied / "arrays").iterdir()) if "vectors" in path.name)
    victim.write_bytes(victim.read_bytes()[:-100])
    for command in (["ask", "Who?"], ["search", "Who?"], ["show"], ["verify"], ["index", copied]):
        check(hoptrail(*command, "--index", copied), 1, victim.name, "hoptrail repair")
    check(hoptrail("repair", "--index", copied), 0, f"was damaged: arrays/{victim.name}", "1 damaged files")
    check(hoptrail("verify", "--index", copied), 0)


def test_an_index_of_another_encoder(hoptrail: Hoptrail, small: Path, world: Path, tiny: Path) -> None:
    for command in (["ask", "Who?"], ["search", "Who?", "--recipe", "dense"], ["index", world], ["remove", "Isk"]):
        check(hoptrail(*command, "--index", small, "--settings", tiny), 1, "made with encoder minilm", "384 dimensions")


def test_no_source_could_be_read(hoptrail: Hoptrail, tmp_path: Path) -> None:
    ended = hoptrail("index", tmp_path / "missing", "--index", tmp_path / "index")
    check(ended, 1, "not read", "missing", "does not exist")


def test_data_that_is_not_there(hoptrail: Hoptrail, tmp_path: Path) -> None:
    check(hoptrail("evaluate", tmp_path / "nothing", "--recipes", "bm25"), 1, "is not a folder")
    check(hoptrail("score", tmp_path / "nothing.jsonl", "--rule", "cover"), 1, "nothing.jsonl cannot be read")


def test_a_result_that_cannot_be_written(hoptrail: Hoptrail, data: Path, tmp_path: Path, tiny: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    command = ["evaluate", data, "--recipes", "bm25", "--settings", tiny]
    for out in (tmp_path / "file" / "out.json", tmp_path, tmp_path / "dir" / f"{'x' * 300}.json"):
        for measuring in (command, ["probe", "tree-coverage", data, "--settings", tiny]):
            ended = hoptrail(*measuring, "--work", tmp_path / "work", "--out", out)
            check(ended, 1, "cannot write")
    assert not (tmp_path / "work").exists()
    check(hoptrail(*command, "--work", tmp_path / "file"), 1, "file")


# --- 2


WRONG: list[tuple[list[str], str]] = [
    ([], "Usage"),
    (["wonder"], "wonder"),
    (["ask"], "there is no index in this folder or in one above it"),
    (["ask", "--json", "--index", "INDEX"], "--json answers one question"),
    (["ask", "Who?"], "--index"),
    (["ask", "Who?", "--index", "INDEX", "--wonder"], "--wonder"),
    (["ask", "", "--index", "INDEX"], "the question is empty"),
    (["ask", " \n\x07", "--index", "INDEX"], "the question is empty"),
    (["ask", "Why? " * 200_000, "--index", "INDEX"], "1,000,000 characters; at most 8,000"),
    (["ask", "Who?", "--index", "INDEX", "--recipe", "wonder"], "there is no recipe wonder. There are: bm25, dense"),
    (["ask", "Who?", "--index", "INDEX", "--language", "klingon"], "there is no language 'klingon'"),
    (["ask", "Who?", "--index", "INDEX", "--language", "scripted"], "there is no language 'scripted'"),
    (["ask", "Who?", "--index", "INDEX", "--language", "scripted:missing.jsonl"], "missing.jsonl cannot be read"),
    (["ask", "Who?", "--index", "INDEX", "--settings", "missing.toml"], "missing.toml"),
    (["search", "", "--index", "INDEX"], "the question is empty"),
    (["search", "Who?", "--index", "INDEX", "-k", "0"], "Invalid value for '-k': Input should be greater"),
    (["search", "Who?", "--index", "INDEX", "-k", "-3"], "Invalid value for '-k'"),
    (["search", "Who?", "--index", "INDEX", "-k", "three"], "valid integer"),
    (["index", "--index", "INDEX"], "name at least one file or folder"),
    (["index", "--index", "nowhere", "--for", "bm25"], "there is no index at nowhere to build more for"),
    (["show", "--index", ""], "an index cannot be at an empty path"),
    (["index", ".", "--index", "INDEX", "--for", "wonder,bm25,marvel"], "there is no recipe marvel, wonder."),
    (["index", ".", "--index", "INDEX", "--for", "bm25,comprag:text"], "Set texts = true under [structures.triples]"),
    (["index", ".", "--index", "INDEX", "--for", "comprag:lemmatised"], "Set lemmas = true under [structures.triples]"),
    (["serve", "--index", "INDEX", "--for", "wonder,bm25"], "there is no recipe wonder."),
    (["serve", "--index", "INDEX", "--for", "comprag:text"], "Set texts = true under [structures.triples]"),
    (["mcp", "--index", "INDEX", "--for", "wonder"], "there is no recipe wonder."),
    (["index", ".", "--index", "INDEX", "--language", "klingon"], "there is no language 'klingon'"),
    (["remove", "--index", "INDEX"], "DOCUMENT"),
    (["remove", "Atlantis", "--index", "INDEX"], "there is no document 'Atlantis'"),
    (["remove", "Isk", "Atlantis", "--index", "INDEX"], "there is no document 'Atlantis'"),
    (["evaluate", "DATA"], "--recipes"),
    (["evaluate", "DATA", "--recipes", "wonder"], "there is no recipe wonder"),
    (["evaluate", "DATA", "--recipes", ","], "at least one recipe"),
    (["evaluate", "DATA", "--recipes", "bm25", "--limit", "0"], "--limit"),
    (["evaluate", "DATA", "--recipes", "bm25", "--language", "klingon"], "there is no language 'klingon'"),
    (
        ["score", "DATA/questions.jsonl", "--rule", "wonder"],
        "there is no rule wonder. Rules: hotpotqa, 2wiki, musique, cover.",
    ),
    (["score", "DATA/questions.jsonl"], "--rule"),
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    (folder / "corpus.jsonl").write_text('{"id": "a", "title": "Isk", "text": "A river."}\n', encoding="utf-8")
    (folder / "questions.jsonl").write_text('{"id": "q", "question": "Isk?", "answers": ["x"]}\n', encoding="utf-8")
    return folder


@pytest.mark.parametrize(("command", "words"), WRONG, ids=[f"{' '.join(row[0])[:60]!r}" for row in WRONG])
def test_wrong_usage(
    hoptrail: Hoptrail, small: Path, data: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], words: str
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    places = {"INDEX": str(small), "DATA": str(data), "DATA/questions.jsonl": str(data / "questions.jsonl")}
    before = sorted(path for path in small.rglob("*") if ".lock" not in path.name)
    ended = hoptrail(*(places.get(word, word) for word in command))
    assert ended.code == 2, ended.err
    assert words in ended.err + (ended.out if not command else "")
    assert command == [] or ended.out == ""
    assert "Traceback" not in ended.err
    assert sorted(path for path in small.rglob("*") if ".lock" not in path.name) == before


def test_wrong_settings_are_all_listed(hoptrail: Hoptrail, small: Path, tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text("colour = 1\n[recipes.bm25]\nk = 0\n[recipes.wonder]\nk = 1\n", encoding="utf-8")
    for command in (["ask", "Who?"], ["show"], ["index", "."], ["remove", "Isk"]):
        ended = hoptrail(*command, "--index", small, "--settings", file)
        check(ended, 2, "colour: there is no such setting", "recipes.wonder: there is no such", "recipes.bm25: ")
    check(hoptrail("settings", "--settings", file), 2, "wrong.toml", "colour")


def test_an_ambiguous_title(hoptrail: Hoptrail, tmp_path: Path, tiny: Path) -> None:
    rows = [{"id": name, "title": "Isk", "text": f"The {name} Isk."} for name in ("upper", "lower")]
    (tmp_path / "all.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    options = ["--index", tmp_path / "index", "--settings", tiny]
    assert hoptrail("index", tmp_path / "all.jsonl", *options).code == 0
    check(hoptrail("remove", "Isk", *options), 2, "2 documents have the title 'Isk'", "name one by its id")
    check(hoptrail("remove", tmp_path / "all.jsonl", *options), 0)


# --- 4


def test_broken_files_among_good_ones_are_named(hoptrail: Hoptrail, world: Path, tmp_path: Path, tiny: Path) -> None:
    (world / "broken.docx").write_bytes(b"PK\x03\x04 nothing more")
    (world / "lines.jsonl").write_text('{"id": "good", "text": "Fine."}\n{"id": "bad"}\n', encoding="utf-8")
    (world / "picture.png").write_bytes(b"GIF89a\0\0")
    options = ["--index", tmp_path / "index", "--settings", tiny]
    check(
        hoptrail("index", world, *options),
        4,
        "7 documents added, 0 unchanged; 7 in the index. 2 documents were not read.",
        "broken.docx: ",
        "lines.jsonl, line 2: has no `text`",
        "1 file skipped: 1 .png; --verbose names them",
    )
    check(hoptrail("index", world, "--verbose", *options), 4, "skipped: ", "picture.png")
    check(hoptrail("index", world / "picture.png", *options), 4, "picture.png: is not text")
    assert len(hoptrail("show", "--json", *options).json["documents"]) == 7
    check(hoptrail("index", world / "broken.docx", *options), 4, "broken.docx")


# --- through the real executable


@pytest.fixture(scope="module")
def scoring(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A command that prints something and loads little."""
    file = tmp_path_factory.mktemp("scored") / "predictions.jsonl"
    file.write_text('{"prediction": "Isk", "answers": ["Isk"]}\n', encoding="utf-8")
    return [str(EXECUTABLE), "score", str(file), "--rule", "cover"]


@pytest.mark.parametrize(("form", "unbuffered"), [(["--json"], "1"), ([], "")], ids=["json", "shown"])
def test_a_reader_that_leaves_early_is_no_failure(scoring: list[str], form: list[str], unbuffered: str) -> None:
    """`hoptrail score | head -0`: the closed pipe is not reported."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing) as closed:
        ended = subprocess.run(
            [*scoring, *form],
            stdout=closed,
            stderr=subprocess.PIPE,
            check=False,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
    assert (ended.returncode, ended.stderr) == (1, b"")


@pytest.mark.parametrize(
    ("form", "output", "reason"),
    [(["--json"], ">/dev/full", "No space left on device"), ([], ">&-", "it is closed")],
    ids=["json", "shown"],
)
def test_an_output_that_takes_nothing_is_a_failure(
    scoring: list[str], form: list[str], output: str, reason: str
) -> None:
    line = f"{shlex.join([*scoring, *form])} {output}"
    ended = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (1, f"hoptrail: cannot write to standard output: {reason}.\n")


SEVERAL_COMMANDS = """
import json, sys
from hoptrail.serving.cli import main

for number, command in enumerate(json.loads(sys.argv[1])):
    if number:
        print(end="\\0", flush=True)
    sys.argv = ["hoptrail", *command]
    try:
        main()
    except SystemExit as ended:
        if ended.code:
            raise
"""
"""Runs several commands in one process, because starting takes longer than a command."""


def test_what_the_encoding_of_the_output_lacks_is_written_escaped(
    hoptrail: Hoptrail, tmp_path: Path, tiny: Path
) -> None:
    (tmp_path / "a.md").write_text("# Zürich 🌊\n\nIt lies by a lake.", encoding="utf-8")
    settings = tmp_path / "settings.toml"
    settings.write_text(f"{tiny.read_text(encoding='utf-8')}[offline]\nreader = false\n", encoding="utf-8")
    options = ["--index", str(tmp_path / "index"), "--settings", str(settings)]
    assert hoptrail("index", tmp_path / "a.md", *options).code == 0
    commands = [["show", "--json"], ["show"], ["ask", "Where does Zürich lie?", "--recipe", "bm25"]]
    ended = subprocess.run(
        [sys.executable, "-c", SEVERAL_COMMANDS, json.dumps([command + options for command in commands])],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert ended.returncode == 0, ended.stderr
    contents, shown, answered = ended.stdout.decode("ascii").split("\0")
    assert json.loads(contents)["documents"][0]["title"] == "Zürich 🌊"
    assert r"Z\u00fcrich" in shown
    assert r"Z\u00fcrich" in answered


def test_an_endpoint_that_hangs_up_is_told_of_and_ends_nothing(tiny: Path, tmp_path: Path) -> None:
    """A peer closes while we write to it: the signal would end the process silently."""
    settings = write_settings(tiny, tmp_path / "settings.toml", attempts=1)
    with socket.create_server(("127.0.0.1", 0)) as rude:

        def hang_up() -> None:
            while True:
                try:
                    peer, _ = rude.accept()
                except OSError:
                    return
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                peer.close()

        threading.Thread(target=hang_up, daemon=True).start()
        ended = subprocess.run(
            [EXECUTABLE, "doctor", "--settings", settings],
            capture_output=True,
            text=True,
            check=False,
            env={
                **os.environ,
                "OPENAI_BASE_URL": f"http://127.0.0.1:{rude.getsockname()[1]}/v1",
                "OPENAI_API_KEY": "k",
                "HOPTRAIL_MODEL": "m",
            },
        )
        rude.shutdown(socket.SHUT_RDWR)
    assert ended.returncode == 1
    assert "could not be asked" in " ".join(ended.stdout.split())


def test_the_executable_ends_as_the_command_does(tmp_path: Path) -> None:
    ended = subprocess.run(
        [EXECUTABLE, "show", "--index", tmp_path / "nothing", "--json"], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("hoptrail: there is no index at ")
    assert ended.stderr.count("\n") == 1
