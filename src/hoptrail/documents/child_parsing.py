"""Parses files in a child process, so that a hostile file costs only itself.

One child takes file after file, and is replaced after any trouble: starting Python for every file would cost more than parsing
it. The limits on memory and CPU time are the child's own (see `child`), the clock is kept here. A limited process is no sandbox
against a file that takes over the interpreter.
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
"""CPU seconds of a file's first try, where others wait behind it; ten times as many by the clock, for a busy machine."""

Answer = tuple[Header, bytes]


class TookTooLong(Unreadable):
    """Parsing was stopped at a limit on time."""


class Parsing:
    """A context manager that holds the child; it starts with the first file. Not for several threads at once."""

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
        """What a file in the form of this name says. A `first_try` is stopped after FIRST_TRY.

        Raises:
            TookTooLong: the parser was stopped at a limit on time.
            Unreadable: the parser refused the file, or was stopped at another limit.
        """
        child = self._child
        if child is None:  # what starting takes, on a machine that does much else, is no fault of the file
            child = self._child = _started(self._limits)
            ready, _ = _within(STARTING_SECONDS, child, partial(_answer, child, 0))
            if ready is None:
                raise Unreadable(f"its parser did not start (exit status {self._end()})")
        seconds, clock = self._limits.cpu_seconds(len(data)), float(self._limits.parsing_seconds)
        if first_try:
            seconds, clock = min(seconds, FIRST_TRY), min(clock, 10 * FIRST_TRY)
        asked = partial(_ask, child, {"form": form, "seconds": seconds}, data, 16 * self._limits.text)
        reply, late = _within(clock, child, asked)
        if reply is None:
            raise self._why_it_ended(seconds, clock if late else 0.0)
        header, content = reply
        if header.get("retire"):
            self._end()
        if "reason" in header:
            raise Unreadable(header["reason"])
        text, blocks = (
            part.decode("utf-8", "surrogatepass") for part in (content[: header["text"]], content[header["text"] :])
        )
        return Parsed(header["title"], text, tuple(header["notes"]), unpack(blocks), *header["date"])

    def _why_it_ended(self, seconds: float, clock: float) -> Unreadable:
        """`seconds`: of CPU that it had; `clock`: seconds by the clock after which it was stopped, 0 if it was not."""
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
        """End the child, if there is one; its exit status. One that does not end with its input is killed."""
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


def _started(limits: ReadingLimits) -> subprocess.Popen[bytes]:
    """A session of its own keeps Ctrl-C away from the child: the parent decides what is finished before it stops."""
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
    """What the child says, or None if it ended instead; and whether it was late, and ended for that."""
    late = threading.Event()

    def stop() -> None:
        late.set()
        child.kill()

    clock = threading.Timer(seconds, stop)
    clock.start()
    try:
        return act(), late.is_set()
    except BaseException:
        child.kill()
        raise
    finally:
        clock.cancel()


def _ask(child: subprocess.Popen[bytes], request: Header, data: bytes, largest: int) -> Answer | None:
    try:
        if child.stdin is not None:
            send(child.stdin, request, data)
    except (BrokenPipeError, ConnectionResetError):
        return None
    return _answer(child, largest)


def _answer(child: subprocess.Popen[bytes], largest: int) -> Answer | None:
    """The child's next message, or None if it ended instead."""
    try:
        return None if child.stdout is None else receive(child.stdout, largest)
    except (BrokenPipeError, ConnectionResetError):
        return None
