"""A removal that is cut off after its commit: the text that it owes to erase is told of, and gone after the next change."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from command import Hoptrail
from corpus.worlds import files_with
from fakeai.clients import request
from hoptrail import Index
from hoptrail.corpus import database, durable, segments
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.models.chat import ChatSettings
from hoptrail.models.ledger import FILE, Cost, RememberedReplies
from hoptrail.serving.server.app import create_app
from hoptrail.serving.server.workspaces import Workspace
from waiting import wait_until
from world import HashingEncoder

WORD = "Zyzzyva"
OWED = "text of removed documents is still in files"

Command = list[object]


class Killed(BaseException):
    """What stands for a kill: nothing catches it."""


@pytest.fixture
def folder(hoptrail: Hoptrail, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An index of the world and of a document with the word, all of whose arrays are files."""
    monkeypatch.setattr(segments, "SMALL", 0)
    monkeypatch.setattr("hoptrail.models.encoder_factory.open_encoder", lambda _: HashingEncoder())
    (world / f"{WORD}.txt").write_text(f"The {WORD} is a ship on the Isk.", encoding="utf-8")
    assert hoptrail("index", world, "--index", tmp_path / "index").code == 0
    return tmp_path / "index"


def cut_off_everywhere(
    hoptrail: Hoptrail, folder: Path, command: Command, then: Callable[[Path], None]
) -> tuple[int, int]:
    """Kill a command before each of its commits, of its cleanings of the log and of its syncs, and call `then` with the index.
    Returns how often it was killed, and how often the text of the removed document was owed.
    """
    sound, killed, owed = shutil.copytree(folder, folder.with_name("sound")), 0, 0
    for wanted in count(1):
        shutil.rmtree(folder)
        shutil.copytree(sound, folder)
        steps = count(1)

        def dies(step: Callable[..., Any]) -> Callable[..., Any]:
            def run(*given: Any, **named: Any) -> Any:
                if next(steps) == wanted:  # noqa: B023 - called in this turn only
                    raise Killed
                return step(*given, **named)

            return run

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(database.Database, "commit", dies(database.Database.commit))
            patch.setattr(database.Database, "empty_log", dies(database.Database.empty_log))
            patch.setattr(database, "sync_file", dies(durable.sync_file))
            try:
                assert hoptrail(*command).code == 0
                break
            except Killed:
                killed += 1
        with Snapshot.open(folder) as snapshot:
            removed = not any(WORD in document.text for document in snapshot.documents())
        owed += removed and bool(files_with(folder, WORD))
        then(folder)
    return killed, owed


def remove(folder: Path, name: object) -> Command:
    return ["remove", name, "--index", folder]


def sync(folder: Path) -> Command:
    return ["index", folder.parent / "world", "--sync", "--index", folder]


@pytest.mark.parametrize("how", ["remove", "sync", "replace"])
def test_the_same_command_ends_it(hoptrail: Hoptrail, world: Path, folder: Path, how: str) -> None:
    command = remove(folder, WORD) if how == "remove" else sync(folder)
    if how == "sync":
        (world / f"{WORD}.txt").unlink()
    elif how == "replace":
        (world / f"{WORD}.txt").write_text("A ship.", encoding="utf-8")

    def again(folder: Path) -> None:
        ended = hoptrail(*command)
        assert ended.code == 0, ended.err
        assert files_with(folder, f"The {WORD}") == []
        if how == "remove":
            assert ended.err.splitlines()[0] in (f"removed: {WORD}", f"was already removed: {WORD}")

    killed, owed = cut_off_everywhere(hoptrail, folder, command, again)
    assert killed > 3
    assert owed > 0


def test_verify_and_search_tell_of_it_and_another_change_ends_it(hoptrail: Hoptrail, world: Path, folder: Path) -> None:
    told = []

    def others(folder: Path) -> None:
        left = bool(files_with(folder, WORD))
        with Snapshot.open(folder) as snapshot:
            stored = any(WORD in document.text for document in snapshot.documents())
        verified = hoptrail("verify", "--index", folder)
        searched = hoptrail("search", "ship", "--recipe", "bm25", "--index", folder)
        assert searched.code == 0
        assert (OWED in verified.err) == (OWED in searched.err)
        assert verified.code or OWED not in verified.err
        if left and not stored:
            assert OWED in verified.err, "the text stays silently"
            told.append(folder)
        assert hoptrail(*remove(folder, "Lindeth")).code == 0
        if stored:
            assert hoptrail(*remove(folder, WORD)).err.startswith(f"removed: {WORD}\n")
        assert files_with(folder, WORD) == []
        assert hoptrail("verify", "--index", folder).code == 0
        (world / "New.txt").write_text("A new note.", encoding="utf-8")
        assert hoptrail("index", world / "New.txt", "--index", folder).code == 0
        for name in (WORD, world / f"{WORD}.txt"):
            again = hoptrail(*remove(folder, name))
            assert (again.code, again.err) == (0, f"was already removed: {name}\n")
        assert files_with(folder, WORD) == []

    cut_off_everywhere(hoptrail, folder, remove(folder, WORD), others)
    assert told


@pytest.mark.parametrize("opened", ["unknown name", "unchanged folder", "server"])
def test_whatever_opens_the_index_to_change_it_ends_it(
    hoptrail: Hoptrail, world: Path, folder: Path, opened: str
) -> None:
    (world / f"{WORD}.txt").unlink()

    def open_it(folder: Path) -> None:
        index = Index(folder)
        index.encoder = HashingEncoder()
        with Snapshot.open(folder) as snapshot:
            stored = any(WORD in document.text for document in snapshot.documents())
        if opened == "server":
            pytest.importorskip("fastapi")
            from fastapi.testclient import TestClient

            with TestClient(create_app([Workspace("main", index)])):
                wait_until(lambda: not index.owes_erasure())
        elif opened == "unchanged folder":
            assert hoptrail("index", world, "--index", folder).code == 0
        else:
            assert hoptrail(*remove(folder, "nothing")).code == 2
        assert stored or not files_with(folder, WORD)
        assert not index.owes_erasure()

    assert cut_off_everywhere(hoptrail, folder, remove(folder, WORD), open_it)[1] > 0


def test_replies_of_a_model_about_a_removed_document_are_owed_as_well(hoptrail: Hoptrail, folder: Path) -> None:
    replies = RememberedReplies(folder / FILE)
    replies.reserve(replace(request(), documents=("d-removed",)), Cost(1, 1, None), ChatSettings())
    replies.close()
    verified = hoptrail("verify", "--index", folder)
    assert (verified.code, OWED in verified.err) == (3, True)
    assert Index(folder).owes_erasure()
    assert hoptrail(*remove(folder, "Lindeth")).code == 0
    assert hoptrail("verify", "--index", folder).code == 0
