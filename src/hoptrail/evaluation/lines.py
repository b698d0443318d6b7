"""Reads JSON-lines files of data sets and predictions, each object with its place.

Gzip is recognised by the ending of the name. A byte order mark and blank lines are skipped. Line breaks are LF, CRLF or CR, so
U+2028 within a text does not break a line.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from hoptrail.errors import DataError
from hoptrail.types.json_object import JsonObject, reader_of

T = TypeVar("T")

_ENCODING = "utf-8-sig"


@dataclass(frozen=True, slots=True)
class Line:
    """One JSON object and its place, `FILE, line N`."""

    place: str
    content: JsonObject

    def read_as(self, kind: type[T]) -> T:
        """The object as a dataclass. Raises: DataError: it is not one. The message names the place and the first problem."""
        from pydantic import ValidationError

        try:
            read: T = reader_of(kind).validate_python(self.content)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            key = ".".join(str(part) for part in first["loc"])
            raise DataError(f"{self.place}: {key}: {first['msg']}") from error
        return read


def read_lines(path: Path) -> Iterator[Line]:
    """Yield the objects of a JSON-lines file in order.
    Raises: DataError: the file is missing, unreadable or not UTF-8, or a line is not a JSON object. It names file and line.
    """
    number = 0
    try:
        packed = path.suffix == ".gz"
        with gzip.open(path, "rt", encoding=_ENCODING) if packed else path.open(encoding=_ENCODING) as file:
            for number, text in enumerate(file, start=1):
                if text.strip():
                    yield line_of(text, f"{path}, line {number}")
    except UnicodeDecodeError as error:
        # Decoding runs ahead of the lines, so the exact line is unknown.
        raise DataError(f"{path}, after line {number}: not UTF-8 ({error.reason}); save the file as UTF-8") from error
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(f"{path} cannot be read: {reason}") from error


def line_of(text: str, place: str) -> Line:
    """The object in a line of text. Raises: DataError: there is none."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{place}: not JSON ({error}); each line must be one JSON object") from error
    if not isinstance(content, dict):
        raise DataError(f"{place}: a JSON object is expected, not {type(content).__name__}")
    return Line(place, content)
