"""Languages by name, as flags and settings give them. One literal table; nothing registers itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hoptrail.errors import UsageError
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.scripted import ScriptedLanguage
from hoptrail.language.tasks import Language
from hoptrail.models.encoder import Encoder


def open_language(name: str, encoder: Encoder | None = None) -> Language:
    """The language called `name`: `offline`, or `scripted:FILE` (replies from a JSONL file).

    Raises:
        UsageError: no such language, or its file cannot be used.
    """
    kind, colon, argument = name.partition(":")
    opened = _LANGUAGES.get(kind)
    if opened is None or bool(colon) != (kind in _WITH_ARGUMENT):
        available = ", ".join(f"{known}:FILE" if known in _WITH_ARGUMENT else known for known in _LANGUAGES)
        raise UsageError(f"there is no language {name!r}; available: {available}")
    return opened(argument, encoder)


def _offline(_argument: str, encoder: Encoder | None) -> Language:
    return OfflineLanguage(encoder)


def _scripted(argument: str, _encoder: Encoder | None) -> Language:
    return ScriptedLanguage.from_file(Path(argument))


_LANGUAGES: dict[str, Callable[[str, Encoder | None], Language]] = {"offline": _offline, "scripted": _scripted}
_WITH_ARGUMENT = frozenset({"scripted"})
