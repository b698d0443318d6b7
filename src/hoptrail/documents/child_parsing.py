"""Parses files in a child process, so that a hostile file harms no other.

One child parses many files and is replaced after any failure: starting Python for every file would cost more than parsing it. The
child limits its memory and CPU time (see `child`); the wall clock is checked here. A limited process is no sandbox against a file
that takes over the interpreter.
"""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from types import TracebackType

from hoptrail.documents.blocks import Parsed, unpack
from hoptrail.documents.child import Header, receive, send
from hoptrail.documents.decoding import Unreadable
from hoptrail.documents.limits import ReadingLimits

STARTING_SECONDS = 120
"""For Python to start and to import the parsers."""

FIRST_TRY = 2.0
"""CPU seconds for a first try, while other files wait. The wall clock allows ten times as many, for a busy machine."""

Answer = tuple[Header, bytes]


class TookTooLong(Unreadable):
    """Parsing was stopped at a limit on time."""


class Parsing:
    """A context manager for the child process, which starts with the first file. Not thread-safe."""

    def __init__(self, limits: ReadingLimits) -> None:
        self._limits = limits
        self._child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Parsing:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def parse(self, form: str, data: bytes, *, first_try: bool = False) -> Parsed:
        """Parse a file of the format with this name. A `first_try` is stopped after FIRST_TRY.

        Raises:
            TookTooLong: the parser was stopped at a limit on time.
            Unreadable: the parser refused the file, or was stopped at another limit.
        """
        child = self._child
        if child is None:  # starting does not count against the time of the file
            child = self._child = _start_child(self._limits)
            ready, _ = _within(STARTING_SECONDS, child, partial(_receive_answer, child, 0))
            if ready is None:
                raise Unreadable(f"its parser did not start (exit status {self._end()})")
        seconds, clock = self._limits.cpu_seconds(len(data)), float(self._limits.parsing_seconds)
        if first_try:
            seconds, clock = min(seconds, FIRST_TRY), min(clock, 10 * FIRST_TRY)
        request = partial(_request, child, {"form": form, "seconds": seconds}, data, 16 * self._limits.text)
        reply, late = _within(clock, child, request)
        if reply is None:
            raise self._end_error(seconds, clock if late else 0.0)
        header, content = reply
        if header.get("retire"):
            self._end()
        if "reason" in header:
            raise Unreadable(header["reason"])
        text, blocks = (
            part.decode("utf-8", "surrogatepass") for part in (content[: header["text"]], content[header["text"] :])
        )
        return Parsed(header["title"], text, tuple(header["notes"]), unpack(blocks), *header["date"])

    def _end_error(self, seconds: float, clock: float) -> Unreadable:
        """The error for a child that ended. `seconds`: its CPU limit; `clock`: wall-clock limit that stopped it, else 0."""
        status = self._end()
        if clock:
            return TookTooLong(f"took longer than {clock:.3g} seconds to parse: the limit `parsing_seconds`")
        if status is not None and -status == getattr(signal, "SIGPROF", None):
            return TookTooLong(
                f"took longer than {seconds:.3g} seconds of CPU time to parse, too long for its size: the limit `parsing_seconds`"
            )
        needs = f"damaged, or in need of more than {self._limits.parsing_memory} bytes"
        return Unreadable(f"ended its parser (exit status {status}): {needs}")

    def _end(self) -> int | None:
        """End the child, if there is one, and return its exit status. A child that outlives its input is killed."""
        child, self._child = self._child, None
        if child is None:
            return None
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        try:
            return child.wait(timeout=2)
        except subprocess.TimeoutExpired:
            child.kill()
            return child.wait()


def _start_child(limits: ReadingLimits) -> subprocess.Popen[bytes]:
    """A new session keeps Ctrl-C away from the child: the parent decides what to finish before it stops."""
    command = [sys.executable, "-P", "-m", "hoptrail.documents.child", json.dumps(asdict(limits))]
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _within(
    seconds: float, child: subprocess.Popen[bytes], act: Callable[[], Answer | None]
) -> tuple[Answer | None, bool]:
    """The child's answer, None if the child ended; and whether it was killed because it was late."""
    late = threading.Event()

    def stop() -> None:
        late.set()
        child.kill()

    clock = threading.Timer(seconds, stop)
    clock.start()
    try:
        return act(), late.is_set()
    except BaseException:  # also on Ctrl-C: no child may survive with a request under way
        child.kill()
        raise
    finally:
        clock.cancel()


def _request(child: subprocess.Popen[bytes], header: Header, data: bytes, largest: int) -> Answer | None:
    try:
        if child.stdin is not None:
            send(child.stdin, header, data)
    except (BrokenPipeError, ConnectionResetError):
        return None
    return _receive_answer(child, largest)


def _receive_answer(child: subprocess.Popen[bytes], largest: int) -> Answer | None:
    """The child's next message, or None if the child ended."""
    try:
        return None if child.stdout is None else receive(child.stdout, largest)
    except (BrokenPipeError, ConnectionResetError):
        return None
