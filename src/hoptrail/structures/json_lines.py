"""Files of JSON lines that settings name: read line by line, and a line again by where it begins, so that none need be held; and
what is wrong with them.
"""

from __future__ import annotations

import hashlib
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BufferedReader
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from hoptrail.errors import UsageError

if TYPE_CHECKING:
    from pydantic import ValidationError

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

    def numbered(self) -> Iterator[tuple[int, int, bytes]]:
        """The number of each line that is not empty, where it begins, and the line.

        Raises:
            UsageError: it cannot be read.
        """
        with self._opened() as stream:
            start = len(BOM_UTF8) if stream.read(len(BOM_UTF8)) == BOM_UTF8 else 0
            stream.seek(start)
            for number, line in enumerate(stream, 1):
                if line.strip():
                    yield number, start, line
                start += len(line)

    def line_at(self, start: int) -> bytes:
        """The line that begins there.

        Raises:
            UsageError: it cannot be read.
        """
        with self._opened() as stream:
            stream.seek(start)
            return stream.readline()

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
    def told(self) -> list[str]:
        """One note a fault, and one for all beyond the first few."""
        found = sorted(self.found, key=itemgetter(0))
        notes = [f"{self.file.path}, line {number} {fault}." for number, fault in found[:NAMED]]
        if len(found) > NAMED:
            lines = ", ".join(dict.fromkeys(str(number) for number, _ in found[NAMED:NUMBERED]))
            more = ", ..." if len(found) > NUMBERED else ""
            notes.append(f"{self.file.path}: {len(found) - NAMED} more faults, in lines {lines}{more}.")
        return notes


def first_fault(error: ValidationError) -> str:
    """What is wrong with a line, and where in it."""
    fault = error.errors()[0]
    where = ".".join(map(str, fault["loc"]))
    return f"{where}: {fault['msg']}" if where else fault["msg"]
