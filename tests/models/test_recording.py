"""Saved replies played back. Row E5 of the fault table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fakeai.clients import paid_chat, replies_in, request
from fakeai.server import FakeAI, serving
from hoptrail.errors import RecordingError, StorageError, UsageError
from hoptrail.models.billing import RecordedChat
from hoptrail.models.ledger import write_recording
from hoptrail.types import Usage


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Two replies, and a server that is gone."""
    with serving(FakeAI(lambda body: f"reply — {body['messages'][1]['content']}")) as fake:
        chat = paid_chat(fake, tmp_path)
        for text in ("one", "two"):
            chat.ask(request(text, place=fake.address))
    assert write_recording(replies_in(tmp_path).stored(), tmp_path / "run.jsonl") == 2
    return tmp_path / "run.jsonl"


def place_of(path: Path) -> str:
    return str(json.loads(path.read_text().splitlines()[0])["place"])


def test_a_replay_gives_the_replies_with_their_usage_once(recording: Path) -> None:
    chat = RecordedChat.open(recording)
    asked = request("one", place=chat.place)
    first = chat.ask(asked)
    assert first.reply.text == "reply — one"
    assert first.spent == Usage(1, first.reply.prompt_tokens, first.reply.completion_tokens)
    assert chat.ask(asked).spent == Usage()


def test_a_recording_is_the_same_bytes_every_time(recording: Path, tmp_path: Path) -> None:
    write_recording(replies_in(tmp_path).stored(), tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == recording.read_bytes()


def test_e5_a_missing_reply_stops_and_names_the_call(recording: Path) -> None:
    chat = RecordedChat.open(recording)
    missing = request("three, which nobody asked", place=chat.place)
    with pytest.raises(RecordingError, match=rf"{missing.key} \(answer.*three, which nobody asked"):
        chat.ask(missing)


@pytest.mark.parametrize(
    "change", [("one", "won"), ('"prompt_tokens": ', '"prompt_tokens": 1'), ('"task": "answer"', '"task": "recall"')]
)
def test_e5_an_altered_reply_stops_and_names_the_call(recording: Path, change: tuple[str, str]) -> None:
    lines = recording.read_text().splitlines()
    at = next(number for number, line in enumerate(lines) if change[0] in line)
    key = json.loads(lines[at])["key"]
    recording.write_text("\n".join([*lines[:at], lines[at].replace(*change, 1), *lines[at + 1 :]]))
    with pytest.raises(RecordingError, match=rf"run.jsonl:{at + 1} was altered: .*{key}"):
        RecordedChat.open(recording)


@pytest.mark.parametrize("line", ["not json", "[]", "{}", "null", "[" * 100_000])
def test_e5_a_line_that_is_none_of_ours_is_named(recording: Path, line: str) -> None:
    recording.write_text(recording.read_text() + line + "\n")
    with pytest.raises(RecordingError, match=r"run.jsonl:3"):
        RecordedChat.open(recording)


def test_recordings_that_cannot_be_used(recording: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        RecordedChat.open(tmp_path / "missing.jsonl")
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(UsageError, match="holds none"):
        RecordedChat.open(tmp_path / "empty.jsonl")
    with pytest.raises(UsageError, match="called large"):
        RecordedChat.open(recording, "large")
    assert RecordedChat.open(recording, "fake").model == "fake"
    with pytest.raises(StorageError, match="cannot write"):
        write_recording([], tmp_path / "no" / "such" / "folder.jsonl")
