"""Prompts: text files with `$names`, filled strictly. The words stand in `prompts/NAME.md`, none of them here.

A file opens with lines of `key: value` (`names`: the names it uses; `reply`: the form expected; `source`: whose method it
serves), then, after a line of three dashes, what the model is told to do, then, after another, what it is given. Names stand in
the second part only. Knows nothing of evidence or replies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template

from hoptrail.errors import UsageError
from hoptrail.models.chat import Message

SEPARATOR = "\n---\n"


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt as its file declares it."""

    name: str
    names: tuple[str, ...]
    reply: str
    source: str
    instructions: str
    given: str

    def fill(self, values: Mapping[str, str]) -> tuple[Message, Message]:
        """The two messages, with `values` as they are: a `$` in them means nothing.

        Raises:
            UsageError: lists all names that are missing or too many.
        """
        missing, surplus = set(self.names) - set(values), set(values) - set(self.names)
        if missing or surplus:
            faults = [f"{word}: {', '.join(sorted(names))}" for word, names in _faults(missing, surplus) if names]
            raise UsageError(f"the prompt {self.name} cannot be filled; {'; '.join(faults)}")
        return Message("system", self.instructions), Message("user", Template(self.given).substitute(values))


@cache
def load_prompt(name: str) -> Prompt:
    """The prompt of that name.

    Raises:
        UsageError: there is none, or its text and its declaration differ.
    """
    place = files("hoptrail.language.chat") / "prompts" / f"{name}.md"
    try:
        return parse_prompt(name, place.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UsageError(f"there is no prompt {name}") from error


def parse_prompt(name: str, text: str) -> Prompt:
    """A prompt from the text of its file.

    Raises:
        UsageError: a part is missing, or its text uses other names than it declares; all are listed.
    """
    parts = text.strip().split(SEPARATOR)
    if len(parts) != 3:
        raise UsageError(f"the prompt {name} has {len(parts)} parts, not a head, instructions and what is given")
    head = dict(line.split(": ", 1) for line in parts[0].splitlines())
    if set(head) != {"names", "reply", "source"}:
        raise UsageError(f"the head of the prompt {name} declares {', '.join(head)}, not names, reply and source")
    declared = {found.strip() for found in head["names"].split(",")}
    template = Template(parts[2])
    used = set(template.get_identifiers())
    if not template.is_valid() or used != declared or Template(parts[1]).get_identifiers():
        faults = [
            f"{word}: {', '.join(sorted(names))}" for word, names in _faults(used - declared, declared - used) if names
        ]
        raise UsageError(f"the prompt {name} differs from its declaration; {'; '.join(faults) or 'a stray $'}")
    return Prompt(name, tuple(sorted(declared)), head["reply"], head["source"], parts[1].strip(), parts[2].strip())


def _faults(missing: set[str], surplus: set[str]) -> tuple[tuple[str, set[str]], ...]:
    return ("missing", missing), ("surplus", surplus)
