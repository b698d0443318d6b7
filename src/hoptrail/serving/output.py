"""Standard output: what its encoding lacks is written escaped, and its refusals are told apart from those of other files."""

from __future__ import annotations

import codecs
import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TextIO, cast

from hoptrail.errors import StorageError

ESCAPED = "hoptrail-escaped"
"""Characters as JSON escapes them, so that JSON stays JSON."""


class OutputRefused(StorageError):
    """Standard output takes nothing more."""


def _escape(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


@contextmanager
def standard_output() -> Iterator[None]:
    """What the body prints is written, or fails in it; a reader that has left (`| head`) stays a BrokenPipeError.

    Raises:
        OutputRefused: it is closed, or what it goes to refuses.
    """
    if sys.stdout is None:
        raise OutputRefused("cannot write to standard output: it is closed.")
    codecs.register_error(ESCAPED, _escape)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors=ESCAPED)
    output = _Output(sys.stdout)
    with redirect_stdout(cast("TextIO", output)):
        yield
        output.flush()


def silence() -> None:
    """What is left goes nowhere, else the interpreter complains at its end."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Output:
    """The stream, with refusals of its own kind."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with _told():
            return self._stream.write(text)

    def flush(self) -> None:
        with _told():
            self._stream.flush()


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputRefused(f"cannot write to standard output: {error.strerror or error}.") from error
