"""The identity of a language as a short text: everything besides the task and the code that its replies depend on.

It is stored with results so that different ones are not mixed. It covers the content of a script or recording, the
endpoint, the settings that shape requests and replies, and the reader's weights. Code, prompts and other weights have their own
digest (`fingerprints.digest_of_code`). What an endpoint runs under a model's name cannot be known.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from hoptrail.errors import UsageError
from hoptrail.fingerprints import fingerprint
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.models.chat import ChatSettings
from hoptrail.models.environment import configured_model, find_address
from hoptrail.models.networks import reader_version


def language_identity(name: str, chat: ChatSettings, offline: OfflineSettings) -> str:
    """The identity of a language by its name. Raises: UsageError: its file cannot be read, or its endpoint is not set."""
    kind, _, argument = name.partition(":")
    if kind == "offline":
        return f"{name} {fingerprint(offline)} {reader_version() if offline.reader else ''}".strip()
    if kind == "scripted":
        return f"{kind} {_digest_of_file(Path(argument))}"
    if kind == "replay":
        models = " ".join(f"{configured_model(own.model)} {shaping(own)}" for own in chat.asking)
        return f"{kind} {_digest_of_file(Path(argument))} {models}"
    if kind == "chat":
        found = [
            (find_address("the language chat", own.base_url, own.model, own.api_key_variable), own)
            for own in chat.asking
        ]
        return " ".join([kind, *(f"{address.model} at {address.place} {shaping(own)}" for address, own in found)])
    return name


def shaping(chat: ChatSettings) -> str:
    """A digest of the chat settings of a role that a reply can depend on; without place and model."""
    default = ChatSettings()
    return fingerprint(replace(chat, **{name: getattr(default, name) for name in _IRRELEVANT}))


_IRRELEVANT = (
    *("base_url", "model", "api_key_variable"),
    *("stream", "concurrency", "deadline_seconds", "attempts", "backoff_seconds"),
    *("prompt_price", "completion_price", "limit_calls", "limit_tokens", "limit_money"),
)


def _digest_of_file(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}.") from error
