"""What a language's replies hang on: it changes with all that can change a reply, and with nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hoptrail.errors import UsageError
from hoptrail.language.factory import language_identity as identity_of
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.models.chat import ChatSettings

CHAT = ChatSettings(base_url="http://here/v1", model="m")


def language_identity(name: str, chat: ChatSettings) -> str:
    return identity_of(name, chat, OfflineSettings())


def test_the_settings_of_the_offline_rules_count_for_these_alone() -> None:
    usual, other = OfflineSettings(), OfflineSettings(least_confidence=0.9)
    assert identity_of("offline", CHAT, usual) != identity_of("offline", CHAT, other)
    assert identity_of("chat", CHAT, usual) == identity_of("chat", CHAT, other)


@pytest.mark.parametrize("kind", ["scripted", "replay"])
def test_the_content_of_a_file_counts_and_its_name_does_not(kind: str, tmp_path: Path) -> None:
    one, two, three = (tmp_path / name for name in ("one", "two", "three"))
    one.write_text("a")
    two.write_text("a")
    three.write_text("b")
    first, second, third = (language_identity(f"{kind}:{path}", CHAT) for path in (one, two, three))
    assert first == second != third


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nowhere"):
        language_identity(f"replay:{tmp_path / 'nowhere'}", CHAT)


@pytest.mark.parametrize(
    "change",
    [
        {"model": "n"},
        {"base_url": "http://there/v1"},
        {"temperature": 0.5},
        {"max_output_tokens": 77},
        {"context_window": 4096},
        {"structured": "json"},
    ],
)
def test_what_shapes_a_chat_models_replies_counts(change: dict[str, object]) -> None:
    assert language_identity("chat", replace(CHAT, **change)) != language_identity("chat", CHAT)  # type: ignore[arg-type]


def test_patience_and_money_do_not_count() -> None:
    other = replace(CHAT, attempts=9, concurrency=1, deadline_seconds=5.0, limit_calls=3, prompt_price=1.0, stream=True)
    assert language_identity("chat", other) == language_identity("chat", CHAT)
