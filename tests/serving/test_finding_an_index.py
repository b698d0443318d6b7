"""Commands without `--index`: the index is found as git finds a repository, and created in a safe place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from command import Hoptrail
from hoptrail.corpus import locations
from hoptrail.corpus.locations import find_index, new_index
from hoptrail.index.index import Index
from waiting import wait_until


@pytest.fixture
def notes(tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: it has a document and a subfolder, and the settings of the tests."""
    folder = tmp_path / "notes"
    (folder / "below").mkdir(parents=True)
    (folder / "isk.txt").write_text("The river Isk rises in Hallin.", encoding="utf-8")
    monkeypatch.setenv("HOPTRAIL_SETTINGS", str(tiny))
    monkeypatch.setattr(locations, "user_data_path", lambda name: tmp_path / "data" / name)
    monkeypatch.chdir(folder)
    return folder


def names(folder: Path) -> list[str]:
    return sorted(child.name for child in folder.iterdir())


def test_the_first_index_makes_one_and_later_commands_find_it(
    hoptrail: Hoptrail, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = hoptrail("index", ".")
    assert first.code == 0
    assert f"is created in {notes / '.hoptrail'}." in first.err
    assert names(notes) == [".hoptrail", "below", "isk.txt"]
    assert (notes / ".hoptrail" / ".gitignore").read_text() == "*\n"
    monkeypatch.chdir(notes / "below")
    assert "Isk" in hoptrail("ask", "Where does the river Isk rise?").out
    assert len(hoptrail("show", "--json").json["documents"]) == 1
    assert hoptrail("verify").code == 0
    assert "is created in" not in hoptrail("index", notes).err
    assert len(hoptrail("show", "--json").json["documents"]) == 1, "the index was read as documents"


def test_without_an_index_a_command_says_how_to_make_one(hoptrail: Hoptrail, notes: Path) -> None:
    ended = hoptrail("ask", "Who?")
    assert ended.code == 2
    assert "`hoptrail index FOLDER` makes one here" in ended.err
    assert not (notes / ".hoptrail").exists()


def test_an_index_is_not_made_among_documents(hoptrail: Hoptrail, notes: Path) -> None:
    ended = hoptrail("index", "isk.txt", "--index", notes)
    assert ended.code == 2
    assert "below) and no index" in ended.err
    assert names(notes) == ["below", "isk.txt"]
    assert hoptrail("index", "isk.txt", "--index", notes / "below").code == 0, "an empty folder is taken"


@pytest.mark.parametrize(
    ("name", "mark"),
    [("Dropbox (Work)", ""), ("OneDrive - Example", ""), ("Nextcloud", ""), ("iCloud Drive", ""), ("any", ".stfolder")],
)
def test_a_synchronised_folder_has_its_index_elsewhere(
    hoptrail: Hoptrail, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, mark: str
) -> None:
    folder = tmp_path / name / "letters"
    folder.mkdir(parents=True)
    if mark:
        (tmp_path / name / mark).mkdir()
    (folder / "isk.txt").write_text((notes / "isk.txt").read_text(), encoding="utf-8")
    monkeypatch.chdir(folder)
    message = hoptrail("index", ".").err
    assert "because the folder is synchronised" in message
    assert names(folder) == ["isk.txt"]
    found = find_index(folder)
    assert found is not None
    assert found.is_relative_to(tmp_path / "data" / "hoptrail" / "indexes")
    assert len(hoptrail("show", "--json").json["documents"]) == 1


def test_a_folder_of_this_machine_holds_its_own_index(notes: Path) -> None:
    for name in ("dropboxes", "my onedrive", "cloud"):
        (notes / name).mkdir()
        assert new_index(notes / name).folder == notes / name / ".hoptrail"


def test_an_index_of_another_user_is_not_used_unasked(
    hoptrail: Hoptrail, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (notes / ".hoptrail").mkdir()
    monkeypatch.setattr(os, "getuid", lambda: 4711)
    ended = hoptrail("index", ".")
    assert ended.code == 2
    assert "belongs to another user" in ended.err


def test_the_folder_of_an_index_is_never_documents(hoptrail: Hoptrail, notes: Path) -> None:
    hoptrail("index", ".")
    (notes / ".hoptrail" / "note.txt").write_text("Not a document.", encoding="utf-8")
    (notes / "link.txt").symlink_to(notes / ".hoptrail" / "note.txt")
    assert hoptrail("index", notes / ".hoptrail").code == 4
    hoptrail("index", ".")
    assert [one["title"] for one in hoptrail("show", "--json").json["documents"]] == ["isk"]


def test_a_folder_of_documents_is_indexed_while_it_is_served(
    hoptrail: Hoptrail, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[object] = []

    def serve_app(*given: object) -> None:
        served.append(given)
        if len(served) == 1:
            wait_until(lambda: documents(notes) == ["isk"])
            (notes / "ulm.txt").write_text("Ulm is a town.", encoding="utf-8")
            wait_until(lambda: documents(notes) == ["isk", "ulm"])

    monkeypatch.setattr("hoptrail.serving.server.http_server.serve_app", serve_app)
    monkeypatch.chdir(notes.parent)
    (notes / "skip.md").write_text("Left out.", encoding="utf-8")
    ended = hoptrail("serve", "notes", "--exclude", "*.md")
    assert ended.code == 0, ended.err
    assert len(served) == 1
    assert names(notes) == [".hoptrail", "below", "isk.txt", "skip.md", "ulm.txt"]
    monkeypatch.chdir(notes)
    assert hoptrail("serve").code == 0
    assert len(served) == 2


def documents(folder: Path) -> list[str]:
    index = Index(folder / ".hoptrail")
    return [] if index.is_empty else sorted(one.title for one in index.contents().documents)
