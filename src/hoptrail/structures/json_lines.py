"""Reading files of JSON lines that settings name, and collecting their faults."""

from __future__ import annotations

import hashlib
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BufferedReader
from operator import itemgetter
from pathlib import Path
from typing import TypeVar

from hoptrail.errors import UsageError
from hoptrail.types.json_object import reader_of

T = TypeVar("T")

NAMED = 20  # faults that are reported in full; of further ones only the line numbers are
NUMBERED = 1000  # faults whose line numbers are reported; further ones are only counted


@dataclass(slots=True)
class LinesFile:
    """The file that `from_file` under [structures.`section`] names, and the faults that were found in it, in any order."""

    path: Path
    section: str
    faults: list[tuple[int, str]] = field(default_factory=list)

    def digest(self) -> str:
        """The SHA-256 of the file. Raises: UsageError: the file cannot be read."""
        with self._opened() as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()

    def numbered(self) -> Iterator[tuple[int, bytes]]:
        """The non-empty lines with their numbers. Raises: UsageError: the file cannot be read."""
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

    def add_fault(self, number: int, fault: str) -> None:
        """Note a fault of a line; `fault` continues the sentence "line 3 "."""
        self.faults.append((number, fault))

    def leave_out(self, number: int, reason: str) -> None:
        self.add_fault(number, f"is left out: {reason}")

    @property
    def described(self) -> list[str]:
        """One note per fault, and one note for all beyond the first few."""
        entries = sorted(self.faults, key=itemgetter(0))
        notes = [f"{self.path}, line {number} {fault}." for number, fault in entries[:NAMED]]
        if len(entries) > NAMED:
            lines = ", ".join(dict.fromkeys(str(number) for number, _ in entries[NAMED:NUMBERED]))
            more = ", ..." if len(entries) > NUMBERED else ""
            notes.append(f"{self.path}: {len(entries) - NAMED} more faults, in lines {lines}{more}.")
        return notes


class Unfit(Exception):
    """A line cannot be used; the message says why."""


def parsed(form: type[T], content: bytes, *, strict: bool = False) -> T:
    """Parse a line as a dataclass. Raises: Unfit: the line has another form."""
    from pydantic import ValidationError

    try:
        line: T = reader_of(form).validate_json(content, strict=strict)
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"]))
        raise Unfit(f"{where}: {fault['msg']}" if where else fault["msg"]) from None
    return line
