"""Parses files in a child process, so that a hostile file harms no other.

One child parses many files and is replaced after any failure: starting Python for every file would cost more than parsing it. The
child limits its memory and CPU time (see `child`); the wall clock is checked here. A limited process is no sandbox against a file
that takes over the interpreter.
"""

from __future__ import annotations

import signal
import subprocess
from dataclasses import asdict

from hoptrail.documents.blocks import Parsed, unpack
from hoptrail.documents.child_process import ChildProcess
from hoptrail.documents.decoding import Unreadable
from hoptrail.documents.limits import ReadingLimits

FIRST_TRY = 2.0
"""CPU seconds for a first try, while other files wait. The wall clock allows ten times as many, for a busy machine."""


class TookTooLong(Unreadable):
    """Parsing was stopped at a limit on time."""


class Parsing:
    """A context manager for the child process, which starts with the first file. Not thread-safe."""

    def __init__(self, limits: ReadingLimits) -> None:
        self._limits = limits
        self._child = ChildProcess("hoptrail.documents.child", asdict(limits), stderr=subprocess.DEVNULL)

    def __enter__(self) -> Parsing:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.end()

    def parse(self, form: str, data: bytes, *, first_try: bool = False) -> Parsed:
        """Parse a file of the format with this name. A `first_try` is stopped after FIRST_TRY.

        Raises:
            TookTooLong: the parser was stopped at a limit on time.
            Unreadable: the parser refused the file, or was stopped at another limit.
        """
        if not self._child.start():  # starting does not count against the time of the file
            raise Unreadable(f"its parser did not start (exit status {self._child.end()})")
        seconds, clock = self._limits.cpu_seconds(len(data)), float(self._limits.parsing_seconds)
        if first_try:
            seconds, clock = min(seconds, FIRST_TRY), min(clock, 10 * FIRST_TRY)
        reply = self._child.ask(({"form": form, "seconds": seconds}, data), clock, 16 * self._limits.text)
        if reply is None:
            raise self._end_error(seconds, clock)
        header, content = reply
        if header.get("retire"):
            self._child.end()
        if "reason" in header:
            raise Unreadable(header["reason"])
        parts = (content[: header["text"]], content[header["text"] :])
        text, blocks = (part.decode("utf-8", "surrogatepass") for part in parts)
        return Parsed(header["title"], text, tuple(header["notes"]), unpack(blocks), *header["date"])

    def _end_error(self, seconds: float, clock: float) -> Unreadable:
        """The error for a child that ended, given its limits of CPU time and on the wall clock."""
        status = self._child.end()
        if self._child.late:
            return TookTooLong(f"took longer than {clock:.3g} seconds to parse: the limit `parsing_seconds`")
        if status is not None and -status == getattr(signal, "SIGPROF", None):
            return TookTooLong(
                f"took longer than {seconds:.3g} seconds of CPU time to parse, too long for its size: the limit `parsing_seconds`"
            )
        needs = f"damaged, or in need of more than {self._limits.parsing_memory} bytes"
        return Unreadable(f"ended its parser (exit status {status}): {needs}")
