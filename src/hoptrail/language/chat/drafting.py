"""Fill prompts with a question and as much evidence as fits, in the short form if the room is small.

The prompt and the log report omissions.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hoptrail.errors import TaskFailed
from hoptrail.language.chat.context import (
    Room,
    cost_of,
    fit,
    heading_of,
    sentences_of,
    show_before,
    show_sentences,
    show_units,
)
from hoptrail.language.chat.ladder import Draft
from hoptrail.language.chat.prompting import Prompt, load_prompt
from hoptrail.models.chat import Message
from hoptrail.models.prompt_text import estimated_tokens
from hoptrail.types import Unit

Drafted = Callable[[Room], Draft]

BEFORE_TOKENS = 300
"""Most tokens of the end of the preceding passage, shown when extracting."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Drafting:
    """Makes drafts from the shipped prompts, or from those of the user's `folder` (may be empty) that replace them."""

    folder: str = ""

    def phrase(self, prompt: str, name: str) -> str:
        """A phrase of a prompt by name."""
        return self._prompt(prompt).phrases[name]

    def fixed(self, prompt: str, **values: str) -> Drafted:
        """A draft without evidence. Raises: TaskFailed: it does not fit (when drafted)."""

        def drafted(room: Room) -> Draft:
            draft = _filled(self._prompt(prompt), values, room)
            _evidence_tokens(prompt, room, draft.messages)
            return draft

        return drafted

    def with_units(
        self, prompt: str, slot: str, units: Sequence[Unit], values: Mapping[str, str], *, partly: bool = False
    ) -> Drafted:
        """A draft with the best `units` that fit in `slot`. Logs omissions, unless the rest comes later (`partly`) and each is
        whole. Raises: TaskFailed: no room (when drafted).
        """

        def draft(room: Room) -> Draft:
            left = self.tokens_for(prompt, slot, room, **values)
            shown = fit(units, left)
            if partly and cost_of(shown[0]) > left:
                raise TaskFailed(f"{prompt}: {shown[0].title!r} does not fit into context_window under [chat]")
            omitted = 0 if partly else len(units) - len(shown)
            if omitted:
                warning = (
                    "%s: %d of %d passages do not fit into context_window under [chat]; they are not shown to the model"
                )
                _log.warning(warning, prompt, omitted, len(units))
            return _filled(self._prompt(prompt), {**values, slot: show_units(shown, left, omitted)}, room, shown)

        return draft

    def tokens_for(self, prompt: str, slot: str, room: Room, **values: str) -> int:
        """The tokens of a slot in a room. Raises: TaskFailed: there are none."""
        return _evidence_tokens(prompt, room, self._prompt(prompt).fill({**values, slot: ""}, short=room.small))

    def with_sentences(self, prompt: str, unit: Unit, before: Unit | None = None, closing: str = "") -> Drafted:
        """A draft with the sentences that fit before `closing`, and the end of the passage before. Raises: TaskFailed (later)."""
        title = heading_of(unit) or "(none)"

        def draft(room: Room) -> Draft:
            filled = self._prompt(prompt)
            empty = filled.fill({"title": title, "before": "", "sentences": ""}, short=room.small)
            left = _evidence_tokens(prompt, room, empty)
            led_by = show_before(before, min(BEFORE_TOKENS, left // 4)) if before else ""
            left -= estimated_tokens(led_by)
            sentences = sentences_of(unit, left)
            if sentences and unit.text[sentences[-1].end :].strip():
                warning = "%s: %r does not fit into context_window under [chat]; %d of its %d characters are shown to the model"
                _log.warning(warning, prompt, unit.title, sentences[-1].end, len(unit.text))
            shown = f"{show_sentences(sentences, max(left, 1))}\n{closing}".rstrip()
            return _filled(filled, {"title": title, "before": led_by, "sentences": shown}, room, (unit,))

        return draft

    def _prompt(self, name: str) -> Prompt:
        return load_prompt(name, self.folder)


def _filled(prompt: Prompt, values: Mapping[str, str], room: Room, units: tuple[Unit, ...] = ()) -> Draft:
    return Draft(prompt.fill(values, short=room.small), units, plain=prompt.fill_plain(values, short=room.small))


def _evidence_tokens(prompt: str, room: Room, messages: Sequence[Message]) -> int:
    """The tokens for evidence beside a prompt without any. Raises: TaskFailed: the prompt alone is too long."""
    left = room.left_beside(messages)
    if left < 0:
        raise TaskFailed(f"{prompt}: the question and what was found are too long for context_window under [chat]")
    return left
