"""Files of JSON lines that settings name: read line by line, and a line again by where it begins, so that none need be held."""

from __future__ import annotations

import hashlib
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING

from hoptrail.errors import UsageError

if TYPE_CHECKING:
    from pydantic import ValidationError


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


def first_fault(error: ValidationError) -> str:
    """What is wrong with a line, and where in it."""
    fault = error.errors()[0]
    where = ".".join(map(str, fault["loc"]))
    return f"{where}: {fault['msg']}" if where else fault["msg"]
