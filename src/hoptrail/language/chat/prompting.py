"""Prompts: text files `prompts/NAME.md` with `$names`, filled strictly.

A file begins with lines of `key: value` (`names`: the names it uses; `reply`: the expected form; `source`: the method it comes
from). Sections follow, each after a line such as `--- given`:

    instructions   the instructions to the model
    short          shorter instructions, for small windows (optional)
    form           the form of the reply, reasons first, with … for texts, as small models repeat any words there (optional)
    example        one worked example, left out in small windows (optional)
    plain          the form of a plain-text reply, for models that write no JSON, in place of form and example (optional)
    given          the model's input; only this section has `$names`

Any other section is a phrase that the performer chooses by name. A user's folder replaces prompts file by file.

A draft is a filled prompt with as much evidence as fits, in the short form if the room is small. The prompt and the log report
omissions.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from string import Template

from hoptrail.errors import TaskFailed, UsageError
from hoptrail.language.chat.context import FORMAT_TOKENS, MARGIN, Room, Shown, show_findings, shown_units
from hoptrail.language.tasks import Abstain
from hoptrail.models.chat import Message, tokens_of
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import Unit

SUFFIX = ".md"
HEAD = ("names", "reply", "source")
_SECTION = re.compile(r"^--- (\w+)$", re.MULTILINE)
_PARTS = ("instructions", "short", "form", "example", "plain", "given")
_SHIPPED = files("hoptrail.language.chat") / "prompts"


@dataclass(frozen=True, slots=True)
class Prompt:
    """A parsed prompt file."""

    name: str
    names: tuple[str, ...]
    reply: str
    source: str
    instructions: str
    short: str
    form: str
    example: str
    plain: str
    given: str
    phrases: Mapping[str, str] = field(default_factory=dict)

    def fill(self, values: Mapping[str, str], *, short: bool = False) -> tuple[Message, ...]:
        """The two messages. A `$` in `values` has no meaning. Raises: UsageError: lists all missing and surplus names."""
        parts = (self.short, self.form) if short and self.short else (self.instructions, self.form, self.example)
        return Message("system", "\n\n".join(filter(None, parts))), Message("user", self._given(values))

    def fill_plain(self, values: Mapping[str, str], *, short: bool = False) -> tuple[Message, ...]:
        """The messages for a plain-text reply; none if the file has no section `plain`. The section comes last, where small
        models follow it best. Raises: UsageError: as for `fill`.
        """
        told = Message("system", self.short if short and self.short else self.instructions)
        return (told, Message("user", f"{self._given(values)}\n\n{self.plain}")) if self.plain else ()

    def _given(self, values: Mapping[str, str]) -> str:
        if faults := _differences(set(self.names), set(values)):
            raise UsageError(f"the prompt {self.name} cannot be filled; {faults}")
        return Template(self.given).substitute(values)


@cache
def load_prompt(name: str, folder: str = "") -> Prompt:
    """The prompt from `folder`, else the shipped one. Cached. Raises: UsageError: there is none, or its file is faulty."""
    own = Path(folder) / f"{name}{SUFFIX}" if folder else None
    place = own if own is not None and own.is_file() else _SHIPPED / f"{name}{SUFFIX}"
    try:
        return parse_prompt(name, place.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UsageError(f"there is no prompt {name}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the prompt {place} cannot be read: {error}") from error


def known_prompts() -> tuple[str, ...]:
    """The names of the shipped prompts, sorted."""
    return tuple(sorted(place.name.removesuffix(SUFFIX) for place in _SHIPPED.iterdir() if place.name.endswith(SUFFIX)))


def check_prompts(folder: str) -> None:
    """Check that the files of `folder` (may be empty) can replace prompts. Raises: UsageError: lists all faults."""
    if not folder:
        return
    try:
        own = sorted(place.name for place in Path(folder).iterdir() if not place.name.startswith("."))
    except OSError as error:
        raise UsageError(f"the prompts in {folder} cannot be read: {error.strerror or error}") from error
    faults, known = [], known_prompts()
    for file in own:
        name = file.removesuffix(SUFFIX)
        if name == file or name not in known:
            faults.append(f"{file} is none of the known files: {', '.join(one + SUFFIX for one in known)}")
            continue
        try:
            shipped, replacing = (_declared(load_prompt(name, place)) for place in ("", folder))
        except UsageError as error:
            faults.append(str(error))
            continue
        faults += [
            f"the {what} of {name} must be as shipped; {differing}"
            for what, needed in shipped.items()
            if (differing := _differences(needed, replacing[what]))
        ]
    if faults:
        raise UsageError(f"the prompts in {folder} cannot be used: {'; '.join(faults)}")


def _declared(prompt: Prompt) -> dict[str, set[str]]:
    return {"names": set(prompt.names), "sections": set(prompt.phrases), "reply": {prompt.reply}}


def digest_of_prompts(folder: str) -> str:
    """Twelve hex digits over the prompts in the user's `folder`; empty without one. Raises: UsageError: as `check_prompts`."""
    check_prompts(folder)
    files = sorted(Path(folder).glob(f"*{SUFFIX}")) if folder else []
    lines = [f"{place.name}\x1f{hashlib.sha256(place.read_bytes()).hexdigest()}\n" for place in files]
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:12] if folder else ""


def parse_prompt(name: str, text: str) -> Prompt:
    """Parse a prompt file. Raises: UsageError: a part is missing, or names differ from those declared; all are listed."""
    opening, *rest = _SECTION.split(text)
    sections = {title: body.strip() for title, body in zip(rest[::2], rest[1::2], strict=True)}
    if not {"instructions", "given"} <= set(sections):
        raise UsageError(f"the prompt {name} has no section `--- instructions` or no section `--- given`")
    head = dict(line.partition(": ")[::2] for line in opening.strip().splitlines())
    if set(head) != set(HEAD):
        raise UsageError(f"the head of the prompt {name} declares {', '.join(head)}, not names, reply and source")
    declared = {item.strip() for item in head["names"].split(",")}
    template = Template(sections["given"])
    astray = any(Template(body).get_identifiers() for title, body in sections.items() if title != "given")
    used = set(template.get_identifiers())
    if not template.is_valid() or used != declared or astray:
        raise UsageError(
            f"the prompt {name} differs from its declaration; {_differences(used, declared) or 'a stray $'}"
        )
    return Prompt(
        name,
        tuple(sorted(declared)),
        head["reply"],
        head["source"],
        **{part: sections.get(part, "") for part in _PARTS},
        phrases={title: body for title, body in sections.items() if title not in _PARTS},
    )


def _differences(needed: set[str], there: set[str]) -> str:
    """The missing and surplus names as text; empty if there are none."""
    sides = ("missing", needed - there), ("surplus", there - needed)
    return "; ".join(f"{word}: {', '.join(sorted(names))}" for word, names in sides if names)


@dataclass(frozen=True, slots=True)
class Draft:
    """A prompt ready to send, the units it shows in the order of their numbers, the documents that its words come from by way of
    earlier replies (`origins`), and the same prompt for a plain-text reply (may be empty).
    """

    messages: tuple[Message, ...] = ()
    units: tuple[Unit, ...] = ()
    origins: tuple[str, ...] = ()
    plain: tuple[Message, ...] = ()

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
        return Draft(self.prompt.fill(values, short=short), units, self.origins, plain)

    def tokens_left(self, room: Room) -> int:
        """The tokens for evidence in a room, beside the prompt without it and the reply. Raises: TaskFailed: there are none."""
        empty = self.prompt.fill({**dict.fromkeys(self.prompt.names, ""), **self.values}, short=room.small)
        left = int(room.tokens * MARGIN) - room.output - tokens_of(empty) - FORMAT_TOKENS
        if left < 0:
            name = self.prompt.name
            raise TaskFailed(f"{name}: the question and what was found are too long for context_window under [chat]")
        return left if room.evidence is None else min(left, room.evidence)


def drafter_of(task: object, prompt: Prompt, origins: tuple[str, ...] = ()) -> Drafter:
    """Drafts a prompt for a task: with its fields of the names that the prompt declares, and as much as fits of its evidence."""
    values = {}
    for name in prompt.names:
        value = getattr(task, name, None)
        if isinstance(value, Abstain):
            values[name] = prompt.phrases[value]
        elif isinstance(value, str | int):
            values[name] = squeeze(str(value))
        elif name in {"findings", "turns"}:
            values[name] = show_findings(value or ())
    if "evidence" not in prompt.names:
        return Drafter(prompt, values, origins=origins)
    return Drafter(
        prompt, values, partial(shown_units, prompt.name, "evidence", getattr(task, "evidence", ())), origins
    )
