"""Saving replies to a file and replaying them without a network: JSON lines, one reply each, with a checksum.

A recording is made from remembered replies, so it can be made after any run. It has replies, not prompts: a request is found by
its key, which changes with every character of the prompt and every setting that affects the reply.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from pydantic import ValidationError

from hoptrail.errors import RecordingError, UsageError, disk_errors
from hoptrail.models.billing import Chat, PaidReply
from hoptrail.models.chat import ChatRequest, Rung
from hoptrail.models.client import SHOWN
from hoptrail.models.completion import ChatReply
from hoptrail.models.ledger import StoredReply
from hoptrail.system.atomic_write import replace_file
from hoptrail.types import Usage
from hoptrail.types.json_object import JsonObject, reader_of


def write_recording(replies: Iterable[StoredReply], path: Path) -> int:
    """Write replies as JSON lines. Returns their number. Raises: StorageError: the file cannot be written."""
    contents = [asdict(reply) for reply in replies]
    lines = [json.dumps(content | {"sum": _sum(content)}, sort_keys=True) + "\n" for content in contents]
    with disk_errors(f"cannot write {path}"):
        replace_file(path, "".join(lines).encode())
    return len(lines)


class RecordedChat(Chat):
    """The chat model of a recording."""

    working_rung = Rung.PLAIN
    """The last one, so that replies recorded on any rung are found before one counts as missing."""

    def __init__(self, path: Path, replies: dict[str, ChatReply], place: str, model: str) -> None:
        super().__init__(place, model)
        self._path = path
        self._replies = replies
        self._heard: set[str] = set()

    @classmethod
    def open(cls, path: Path, model: str = "") -> RecordedChat:
        """Open the recording at `path`; `model` chooses one of several.

        Raises:
            RecordingError: a line was altered or is not one of a recording; the message names it.
            UsageError: the file cannot be read, is empty, or has several models and none is chosen.
        """
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"the recording {path} cannot be read: {error}") from error
        stored = [_stored(line, f"{path}:{number}") for number, line in enumerate(lines, 1) if line.strip()]
        origins = sorted({(reply.place, reply.model) for reply in stored if not model or reply.model == model})
        if len(origins) != 1:
            models = ", ".join(f"{name} at {place}" for place, name in origins) or "none"
            raise UsageError(
                f"a replay is of one model, and the recording {path} holds {models}"
                + (f" called {model}" if model and not origins else "")
                + ". Name one of them as HOPTRAIL_MODEL, or as model under [chat]"
            )
        replies = {reply.key: reply.reply for reply in stored if (reply.place, reply.model) == origins[0]}
        return cls(path, replies, *origins[0])

    def remembered(self, request: ChatRequest) -> PaidReply | None:
        """The recorded reply, the first time with its original usage, so that a replay reports what the run did."""
        reply = self._replies.get(request.key)
        if reply is None:
            return None
        spent = Usage() if request.key in self._heard else reply.usage
        self._heard.add(request.key)
        return PaidReply(reply, spent)

    def ask(self, request: ChatRequest) -> PaidReply:
        """The recorded reply. Raises: RecordingError: there is none; the message names the call."""
        if reply := self.remembered(request):
            return reply
        words = " ".join(request.messages[-1].text.split())
        raise RecordingError(
            f"the recording {self._path} has no reply to the call {request.key} ({request.task}, by {request.model}): "
            f"...{words[-SHOWN:]} Record the run again with the same documents, settings and version"
        )


def _sum(content: JsonObject) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def _stored(line: str, place: str) -> StoredReply:
    """The reply in a line. Raises: RecordingError: the line was altered, or is not one of a recording."""
    try:
        content = json.loads(line)
        if content.pop("sum", None) != _sum(content):
            call = f"{content.get('key')} ({content.get('task')})"
            raise RecordingError(f"{place} was altered: the reply to the call {call} does not match its checksum")
        reply: StoredReply = reader_of(StoredReply).validate_python(content, strict=False)
    except (ValueError, RecursionError, AttributeError, TypeError) as error:
        reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
        raise RecordingError(f"{place} is not a line of a recording: {reason}. Record the run again") from None
    return reply
