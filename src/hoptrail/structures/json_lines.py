"""Files of JSON lines that settings name: read line by line, and what is wrong with them."""

from __future__ import annotations

import hashlib
from codecs import BOM_UTF8
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from io import BufferedReader
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from hoptrail.errors import UsageError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")

NAMED = 20
"""Faults that are told in full; of further ones only the numbers of their lines are."""

NUMBERED = 1000
"""Faults whose lines are told; of further ones only how many they are."""


@dataclass(frozen=True, slots=True)
class LinesFile:
    """A file that `from_file` under [structures.`section`] names."""

    path: Path
    section: str

    def digest(self) -> str:
        """The SHA-256 of its bytes.

        Raises:
            UsageError: it cannot be read.
        """
        with self._opened() as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()

    def numbered(self) -> Iterator[tuple[int, bytes]]:
        """The lines that are not empty, with their numbers.

        Raises:
            UsageError: it cannot be read.
        """
        with self._opened() as stream:
            for number, line in enumerate(stream, 1):
                content = line.removeprefix(BOM_UTF8) if number == 1 else line
                if content.strip():
                    yield number, content

    @contextmanager
    def _opened(self) -> Iterator[BufferedReader]:
        try:
            with self.path.open("rb") as stream:
                yield stream
        except OSError as error:
            raise UsageError(
                f"the file of {self.section} {self.path} cannot be read: {error.strerror or error}. Put it there, or change "
                f"from_file under [structures.{self.section}]."
            ) from error


@dataclass(slots=True)
class Faults:
    """What is wrong with a file, found in any order."""

    file: LinesFile
    found: list[tuple[int, str]] = field(default_factory=list)

    def add(self, number: int, fault: str) -> None:
        """Note a fault of the line of that number; `fault` goes on after "line 3 "."""
        self.found.append((number, fault))

    def leave_out(self, number: int, reason: str) -> None:
        """Note that the line of that number cannot be used."""
        self.add(number, f"is left out: {reason}")

    @property
    def described(self) -> list[str]:
        """One note a fault, and one for all beyond the first few."""
        found = sorted(self.found, key=itemgetter(0))
        notes = [f"{self.file.path}, line {number} {fault}." for number, fault in found[:NAMED]]
        if len(found) > NAMED:
            lines = ", ".join(dict.fromkeys(str(number) for number, _ in found[NAMED:NUMBERED]))
            more = ", ..." if len(found) > NUMBERED else ""
            notes.append(f"{self.file.path}: {len(found) - NAMED} more faults, in lines {lines}{more}.")
        return notes


class Unfit(Exception):
    """A line cannot be used; the message says why."""


def parsed(form: type[T], content: bytes, *, strict: bool = False) -> T:
    """A line as a dataclass.

    Raises:
        Unfit: it has another form.
    """
    from pydantic import ValidationError

    try:
        line: T = _adapter(form).validate_json(content, strict=strict)  # type: ignore[arg-type]  # a class can be hashed
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"]))
        raise Unfit(f"{where}: {fault['msg']}" if where else fault["msg"]) from None
    return line


@cache
def _adapter(form: Hashable) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(form)  # type: ignore[arg-type]
