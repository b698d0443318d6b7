"""Prompts: text files `prompts/NAME.md` with `$names`, filled strictly.

A file begins with lines of `key: value` (`reply`: the expected form; `source`: the method it comes from). Sections follow, each
after a line such as `--- given`:

    instructions   the instructions to the model
    short          shorter instructions, for small windows (optional)
    form           the form of the reply, reasons first, with … for texts, as small models repeat any words there (optional)
    example        one worked example, left out in small windows (optional)
    plain          the form of a plain-text reply, for models that write no JSON, in place of form and example (optional)
    given          the model's input; only this section has `$names`

Any other section is a phrase that the performer chooses by name.

A draft is a filled prompt with as much evidence as fits, in the short form if the room is small. The prompt and the log report
omissions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib.resources import files
from string import Template
from typing import Any

from hoptrail.errors import TaskFailed
from hoptrail.language.chat.context import FORMAT_TOKENS, MARGIN, Room, Shown, show_findings, shown_units
from hoptrail.language.tasks import TASK_NAMES, Abstain, Task
from hoptrail.models.chat import Message, tokens_of
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import Unit

_SECTION = re.compile(r"^--- (\w+)$", re.MULTILINE)
_PARTS = ("instructions", "short", "form", "example", "plain", "given")
_FOLDER = files("hoptrail.language.chat") / "prompts"


@dataclass(frozen=True, slots=True)
class Prompt:
    """A parsed prompt file, and the names that it uses. `answered`: its forms offer no null."""

    name: str
    names: tuple[str, ...]
    reply: str
    phrases: Mapping[str, str]
    instructions: str
    short: str
    form: str
    example: str
    plain: str
    given: str
    answered: bool = field(default=False, kw_only=True)

    def fill(self, values: Mapping[str, str], *, short: bool = False) -> tuple[Message, ...]:
        """The two messages. A `$` in `values` has no meaning."""
        parts = (self.short, self.form) if short and self.short else (self.instructions, self.form, self.example)
        given = Template(self.given).substitute(values)
        return Message("system", "\n\n".join(filter(None, parts))), Message("user", given)

    def fill_plain(self, values: Mapping[str, str], *, short: bool = False) -> tuple[Message, ...]:
        """The messages for a plain-text reply; none if the file has no section `plain`. The section comes last, where small
        models follow it best.
        """
        told = Message("system", self.short if short and self.short else self.instructions)
        given = Template(self.given).substitute(values)
        return (told, Message("user", f"{given}\n\n{self.plain}")) if self.plain else ()


@cache
def load_prompt(name: str) -> Prompt:
    opening, *rest = _SECTION.split((_FOLDER / f"{name}.md").read_text(encoding="utf-8"))
    sections = {title: body.strip() for title, body in zip(rest[::2], rest[1::2], strict=True)}
    head = dict(line.partition(": ")[::2] for line in opening.strip().splitlines())
    names = tuple(sorted(Template(sections["given"]).get_identifiers()))
    phrases = {title: body for title, body in sections.items() if title not in _PARTS}
    return Prompt(name, names, head["reply"], phrases, *(sections.get(part, "") for part in _PARTS))


def known_prompts() -> tuple[str, ...]:
    return tuple(sorted(place.name.removesuffix(".md") for place in _FOLDER.iterdir() if place.name.endswith(".md")))


@dataclass(frozen=True, slots=True)
class Draft:
    """A prompt ready to send, the units it shows in the order of their numbers, the documents that its words come from by way of
    earlier replies (`origins`), the same prompt for a plain-text reply (may be empty), and whether a null is no answer to it.
    """

    messages: tuple[Message, ...] = ()
    units: tuple[Unit, ...] = ()
    origins: tuple[str, ...] = ()
    plain: tuple[Message, ...] = ()
    answered: bool = False

    @property
    def documents(self) -> tuple[str, ...]:
        """Every document whose text, or text made from it, is in the prompt."""
        shown = (span.document for unit in self.units for span in unit.sources)
        return tuple(dict.fromkeys((*shown, *self.origins)))


@dataclass(frozen=True, slots=True)
class Drafter:
    """Makes drafts of a prompt for rooms, with `values` and with as much of the evidence as fits (`shown`)."""

    prompt: Prompt
    values: Mapping[str, str]
    shown: Callable[[int], Shown] = lambda _: ({}, ())
    origins: tuple[str, ...] = ()

    def __call__(self, room: Room) -> Draft:
        """The draft that fits a room, in the short form if it is small. Raises: TaskFailed: it does not fit."""
        texts, units = self.shown(self.tokens_left(room))
        values, short = {**self.values, **texts}, room.small
        plain = self.prompt.fill_plain(values, short=short)
        return Draft(self.prompt.fill(values, short=short), units, self.origins, plain, self.prompt.answered)

    def tokens_left(self, room: Room) -> int:
        """The tokens for evidence in a room, beside the prompt without it and the reply. Raises: TaskFailed: there are none."""
        empty = self.prompt.fill({**dict.fromkeys(self.prompt.names, ""), **self.values}, short=room.small)
        left = int(room.tokens * MARGIN) - room.output - tokens_of(empty) - FORMAT_TOKENS
        if left < 0:
            name = self.prompt.name
            raise TaskFailed(f"{name}: the question and what was found are too long for context_window under [chat]")
        return left if room.evidence is None else min(left, room.evidence)


def drafter_of(task: Task[Any], origins: tuple[str, ...], name: str = "") -> Drafter:
    """Drafts the prompt of a task, or another one, with its fields that the prompt names and as much as fits of its evidence."""
    prompt, values = load_prompt(name or TASK_NAMES[type(task)]), {}
    if getattr(task, "abstain", None) is Abstain.NEVER:
        form, plain = prompt.form.replace(" or null", ""), prompt.plain.replace(", or none", "")
        prompt = replace(prompt, form=form, plain=plain, answered=True)
    for field_ in prompt.names:
        value = getattr(task, field_, None)
        if isinstance(value, Abstain):
            values[field_] = prompt.phrases[value]
        elif isinstance(value, str | int):
            values[field_] = squeeze(str(value))
        elif field_ in {"findings", "turns"}:
            values[field_] = show_findings(value or ())
    if "evidence" not in prompt.names:
        return Drafter(prompt, values, origins=origins)
    shown = partial(shown_units, prompt.name, "evidence", getattr(task, "evidence", ()))
    return Drafter(prompt, values, shown, origins)
