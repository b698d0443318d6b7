"""Standard output: escapes characters that its encoding lacks, and raises its own error when it cannot be written."""

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

ESCAPED = "hoptrail-escaped"  # name of the error handler that escapes characters as JSON does, so that JSON stays JSON


class OutputRefused(StorageError):
    """Standard output cannot be written."""


def _escape(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


@contextmanager
def standard_output() -> Iterator[None]:
    """Write what the body prints, and flush it at the end. A closed pipe (`| head`) still raises BrokenPipeError.
    Raises: OutputRefused: standard output is closed or cannot be written.
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
    """Discard the remaining output, so that the interpreter does not complain when it ends."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _translating_errors() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputRefused(f"cannot write to standard output: {error.strerror or error}.") from error


class _Output:
    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.write = _translating_errors()(stream.write)
        self.flush = _translating_errors()(stream.flush)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)
