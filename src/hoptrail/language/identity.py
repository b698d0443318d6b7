"""What a language's replies hang on beside the tasks, as one short text: for whoever keeps results and must not mix them up.

Covers the content of the file that it speaks from, prompts of one's own, the endpoint, the settings that shape requests and
replies, and the reader's weights; code, the prompts that ship and other weights are apart (`fingerprints.digest_of_code`). Does
not cover what cannot be seen from here: what an endpoint runs under a model's name.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from hoptrail.errors import UsageError
from hoptrail.fingerprints import fingerprint
from hoptrail.language.chat.prompting import digest_of_prompts
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.models.chat import ChatSettings
from hoptrail.models.environment import find_address, wanted_model
from hoptrail.models.reader import reader_version


def language_identity(name: str, chat: ChatSettings, offline: OfflineSettings) -> str:
    """What the replies of the language `name` hang on beside the code; `name` as `open_language` takes it.

    Raises:
        UsageError: its file cannot be read, or its endpoint is not set.
    """
    kind, _, argument = name.partition(":")
    if kind == "offline":
        return f"{name} {fingerprint(offline)} {reader_version() if offline.reader else ''}".strip()
    if kind == "scripted":
        return f"{kind} {_digest_of_file(Path(argument))}"
    if kind == "replay":
        return f"{kind} {_digest_of_file(Path(argument))} {wanted_model(chat.model)} {shaping(chat)}"
    if kind == "chat":
        address = find_address("the language chat", chat.base_url, chat.model, chat.api_key_variable)
        return f"{kind} {address.model} at {address.place} {shaping(chat)}"
    return name


def shaping(chat: ChatSettings) -> str:
    """The chat settings that a reply can hang on, and the content of prompts of one's own. Place and model are named apart."""
    default = ChatSettings()
    shaping = fingerprint(replace(chat, **{name: getattr(default, name) for name in _NO_MATTER}))
    return f"{shaping} {digest_of_prompts(chat.prompts)}".strip()


_NO_MATTER = (
    *("base_url", "model", "api_key_variable", "prompts"),
    *("stream", "concurrency", "deadline_seconds", "attempts", "backoff_seconds", "longest_wait_seconds"),
    *("prompt_price", "completion_price", "limit_calls", "limit_tokens", "limit_money"),
)


def _digest_of_file(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}.") from error
