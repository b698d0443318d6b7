"""Where an index may be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from command import Hoptrail
from hoptrail import Index
from hoptrail.corpus.locations import index_folder
from hoptrail.errors import IndexMismatch, UsageError


def test_a_path_is_a_folder_in_whatever_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert index_folder("~/index") == tmp_path / "index"
    assert index_folder(Path("index")) == index_folder("index") == Path("index")
    assert index_folder(".") == Path()


@pytest.mark.parametrize("given", ["", " "])
def test_no_text_is_not_the_current_folder(given: str) -> None:
    with pytest.raises(UsageError, match="empty path: name a folder"):
        index_folder(given)


@pytest.mark.parametrize(
    "given", ["s3://bucket/index", "gs://bucket", "http://example.org/x", Path("s3://bucket/index")]
)
def test_an_address_is_refused_with_what_to_do(given: str | Path) -> None:
    with pytest.raises(UsageError, match=r"hoptrail publish ADDRESS.*hoptrail serve ADDRESS.*hoptrail restore ADDRESS"):
        Index(given)


def test_commands_refuse_an_address_with_what_to_do(hoptrail: Hoptrail) -> None:
    ended = hoptrail("ask", "Who?", "--index", "s3://bucket/index")
    assert ended.code == 2
    assert "hoptrail serve ADDRESS" in ended.err


COMMANDS = [
    ["index", "SOURCE", "--index", "OLD"],
    ["index", "SOURCE", "--index", "OLD", "--estimate"],
    ["remove", "a", "--index", "OLD"],
    ["ask", "Who?", "--index", "OLD"],
    ["search", "Who?", "--index", "OLD"],
    ["show", "--index", "OLD"],
    ["verify", "--index", "OLD"],
    ["repair", "--index", "OLD"],
    ["replies", "--index", "OLD", "--out", "replies.jsonl"],
    ["doctor", "--index", "OLD"],
    ["publish", "s3://bucket/index", "--index", "OLD"],
    ["backup", "backup", "--index", "OLD"],
    ["restore", "OLD", "--index", "new"],
    ["serve", "OLD"],
    ["serve", "--workspace", "one=OLD"],
    ["mcp", "--index", "OLD"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_an_index_of_version_0_1_is_refused_before_anything_is_written(
    hoptrail: Hoptrail, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old" / "head.lance").mkdir(parents=True)
    source = tmp_path / "source.txt"
    source.write_text("Ada was born in Wexley.", encoding="utf-8")
    names = {"OLD": str(tmp_path / "old"), "SOURCE": str(source)}
    before = sorted(tmp_path.rglob("*"))
    ended = hoptrail(
        *(word.replace("OLD", names["OLD"]) if "OLD" in word else names.get(word, word) for word in command)
    )
    assert ended.code == 1, ended
    words = " ".join(ended.err.split())
    assert "holds an index of an older format" in words
    assert "hoptrail index SOURCE... --index NEW" in words
    assert "replies.sqlite" in words
    assert sorted(tmp_path.rglob("*")) == before


def test_an_index_of_version_0_1_is_refused_from_python(tmp_path: Path) -> None:
    (tmp_path / "head.lance").mkdir()
    with pytest.raises(IndexMismatch, match="holds an index of an older format"):
        Index(tmp_path)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_file_is_refused_where_an_index_is_a_folder(
    hoptrail: Hoptrail, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    file, source = tmp_path / "old", tmp_path / "source.txt"
    file.write_text("No index.", encoding="utf-8")
    source.write_text("Ada was born in Wexley.", encoding="utf-8")
    ended = hoptrail(*(word.replace("OLD", "old").replace("SOURCE", "source.txt") for word in command))
    assert ended.code == 2, ended
    assert "old is a file, and an index is a folder: name a folder" in " ".join(ended.err.split())
    assert sorted(tmp_path.iterdir()) == [file, source]


def test_a_path_that_sqlite_cannot_open_is_refused(
    hoptrail: Hoptrail, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    folder.mkdir()
    (folder / "isk.txt").write_text("The Isk is a river.", encoding="utf-8")
    ended = hoptrail("index", folder, "--index", folder / "index")
    assert (ended.code, r"caf\xe9/index, a path that is not UTF-8" in " ".join(ended.err.split())) == (2, True)
    monkeypatch.chdir(folder)
    ended = hoptrail("index", ".")
    assert (ended.code, r"caf\xe9/.hoptrail, a path that is not UTF-8" in " ".join(ended.err.split())) == (2, True)
    assert [path.name for path in folder.iterdir()] == ["isk.txt"]
