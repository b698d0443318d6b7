"""Open languages by the names that flags and settings give, and identify them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from hoptrail.errors import UsageError
from hoptrail.fingerprints import fingerprint
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.language.tasks import CHAT, OFFLINE, Language
from hoptrail.models.chat import ChatSettings
from hoptrail.models.encoder import Encoder
from hoptrail.plugins import found

if TYPE_CHECKING:
    from hoptrail.models.billing import Chat, PaidChat
    from hoptrail.models.environment import Address
    from hoptrail.models.ledger import RememberedReplies

_LANGUAGES = (OFFLINE, "scripted:FILE", CHAT, "replay:FILE")


@dataclass(frozen=True)
class LanguageContext:
    """What a language may need: an encoder, the folder for paid replies, the settings. All languages from one context share a
    reader, an endpoint, a limiter and a ledger. If `fully_priced`, usage includes the original cost of remembered replies.
    """

    encoder: Encoder | None = None
    folder: Path | None = None
    chat: ChatSettings = field(default_factory=ChatSettings)
    offline: OfflineSettings = field(default_factory=OfflineSettings)
    fully_priced: bool = False
    _chats: dict[ChatSettings, PaidChat] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def offline_language(self) -> Language:
        """The rules and the reader, whose weights take most of a second to load."""
        from hoptrail.language.offline.performer import OfflineLanguage

        return OfflineLanguage(self.encoder, self.offline)

    def paid_chat(self, own: ChatSettings) -> PaidChat:
        """The chat model of some settings (`ChatSettings.of`) and of the environment, which is read here.
        Raises: UsageError: there is no address, no model or no folder, or a limit on money without a price.
        """
        if own not in self._chats:
            replies = self._replies()
            self._chats[own] = _chat_at(_address_of(own), own, replies)
        return self._chats[own]

    def rehearsed_chat(self, own: ChatSettings) -> PaidChat:
        """The chat model for a rehearsal, which sends nothing: without an address or a model, a placeholder."""
        from hoptrail.models.environment import Address, configured_base_url, configured_model

        model = configured_model(own.model)
        if configured_base_url(own.base_url) and model:
            return self.paid_chat(own)
        return _chat_at(Address("", model or "a model that is not named"), own, self._replies())

    def _replies(self) -> RememberedReplies:
        from hoptrail.models.ledger import FILE, RememberedReplies

        if self.folder is None:
            raise UsageError("the language chat needs a folder to keep its replies in, so that none is paid twice")
        return RememberedReplies(self.folder / FILE)


def _address_of(own: ChatSettings) -> Address:
    from hoptrail.models.environment import find_address

    return find_address("the language chat", own.base_url, own.model, own.api_key_variable)


def _chat_at(address: Address, own: ChatSettings, replies: RememberedReplies) -> PaidChat:
    from hoptrail.models.billing import PaidChat
    from hoptrail.models.chat_endpoint import ChatEndpoint

    return PaidChat(ChatEndpoint(address, own), own, replies)


def open_language(name: str, context: LanguageContext | None = None) -> Language:
    """The language called `name`.

        offline          rules, no model
        scripted:FILE    replies from a JSONL file
        chat             the chat model of the settings and the environment
        replay:FILE      the replies of a recorded run (`hoptrail replies`), without a network
    Raises: UsageError: no such language, or its file or its endpoint cannot be used. RecordingError: the recording was altered.
    """
    if name in found("languages"):
        raise UsageError(
            f"the language {name} exists in `hoptrail evaluate` only: it answers from the gold annotations of a data set. "
            "For your own questions use offline or chat"
        )
    check_language(name)
    kind, _, argument = name.partition(":")
    context = context or LanguageContext()
    match kind:
        case "scripted":
            from hoptrail.language.scripted import ScriptedLanguage

            return ScriptedLanguage.from_file(Path(argument))
        case "chat":
            return _by_chat(context.paid_chat, context)
        case "replay":
            from hoptrail.models.billing import RecordedChat
            from hoptrail.models.environment import configured_model

            return _by_chat(lambda own: RecordedChat.open(Path(argument), configured_model(own.model)), context)
    return context.offline_language


def check_language(name: str) -> None:
    """Check that such a language exists, perhaps only in evaluations and not usable here. Raises: UsageError: there is none."""
    kind, colon, _ = name.partition(":")
    if (f"{kind}:FILE" if colon else kind) not in _LANGUAGES and name not in found("languages"):
        raise UsageError(f"there is no language {name!r}; available: {', '.join(_LANGUAGES)}")


def _by_chat(chat_of: Callable[[ChatSettings], Chat], context: LanguageContext) -> Language:
    """The language of the models that answer questions: the only place that decides which model performs a task."""
    from hoptrail.language.chat.performer import ChatLanguage

    chats = [(chat_of(own), own) for own in context.chat.asking]
    reader, *others = chats
    return ChatLanguage(*reader, others[0] if others else None, fully_priced=context.fully_priced)


def language_identity(name: str, chat: ChatSettings, offline: OfflineSettings) -> str:
    """The identity of a language by its name: everything besides the task and the code that its replies depend on.

    It is stored with results so that different ones are not mixed. It covers the content of a script or recording, the
    endpoint, the settings that shape requests and replies, and the reader's weights. Code, prompts and other weights have their
    own digest (`fingerprints.digest_of_code`). What an endpoint runs under a model's name cannot be known.
    Raises: UsageError: its file cannot be read, or its endpoint is not set.
    """
    from hoptrail.models.environment import configured_model
    from hoptrail.models.networks import reader_version

    kind, _, argument = name.partition(":")
    match kind:
        case "offline":
            return f"{name} {fingerprint(offline)} {reader_version() if offline.reader else ''}".strip()
        case "scripted":
            return f"{kind} {_digest_of_file(Path(argument))}"
        case "replay":
            models = (f"{configured_model(own.model)} {shaping(own)}" for own in chat.asking)
            return " ".join((kind, _digest_of_file(Path(argument)), *models))
        case "chat":
            places = ((_address_of(own), own) for own in chat.asking)
            return " ".join((kind, *(f"{one.model} at {one.place} {shaping(own)}" for one, own in places)))
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
