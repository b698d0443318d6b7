"""Parses files in a child process, so that a hostile file harms no other: it can make any parser use all the memory and time it
gets. `Parsing` is the parent's side, `main` the child's.

One child parses many files and is replaced after any failure: starting Python for every file would cost more than parsing it. The
child, `python -m hoptrail.documents.child LIMITS` with ReadingLimits as JSON, limits its memory and CPU time and opens no file
for writing. The parent checks the wall clock, the only limit on Windows. A limited process is no sandbox against a file that
takes over the interpreter.

In both directions a message is a line of JSON followed by as many bytes as its `size` says. The first message of the child says
that it is ready; it ends when its input ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import IO

from hoptrail.documents.blocks import Parsed, pack, unpack
from hoptrail.documents.forms import MAY_HOLD_SCANS, PICTURE, parser_of, reads_pictures
from hoptrail.documents.limits import NotReadNow, ReadingLimits, Unreadable
from hoptrail.errors import Interrupted
from hoptrail.types.json_object import JsonObject

NOTES = 20  # notes on a file that are passed on; further notes are only counted
LARGEST_PICTURE = 32 << 20  # bytes of a drawn page
_LOOK = 0.2  # seconds between two looks at the clock and whether to stop, while a file is parsed
_STARTING_SECONDS = 120  # for Python to start and to import the parsers

_Message = tuple[JsonObject, bytes]


def _send(stream: IO[bytes], header: JsonObject, payload: bytes = b"") -> None:
    stream.write(json.dumps({**header, "size": len(payload)}).encode() + b"\n")
    stream.write(payload)
    stream.flush()


def _receive(stream: IO[bytes], largest: int) -> _Message | None:
    """One message; None at the end of the stream, and for a message that is truncated or above `largest` bytes."""
    line = stream.readline(1 << 20)
    if not line.endswith(b"\n"):
        return None
    header: JsonObject = json.loads(line)
    if header["size"] > largest:
        return None
    payload = stream.read(header["size"])
    return (header, payload) if len(payload) == header["size"] else None


def main() -> None:
    """Answer requests until the input ends."""
    if sys.platform == "linux":  # elsewhere the limits on time end a process whose parent is gone
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: this one ends with the thread that started it
    limits = ReadingLimits(**json.loads(sys.argv[1]))
    _limit_memory(limits)
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # parsers may print; keep that out of the messages
    _send(replies, {})
    while request := _receive(sys.stdin.buffer, limits.file):
        header, data = request
        _limit_time(header["seconds"])
        reply = _reply(header, data, limits)
        _limit_time(0)
        _send(replies, *reply)


def _reply(request: JsonObject, data: bytes, limits: ReadingLimits) -> _Message:
    """Draw a page of a PDF file, or parse a file. `retire` tells the parent to use this process for no further file."""
    try:
        if "page" in request:
            from hoptrail.documents.pdf.drawing import draw_page

            return draw_page(data, request["page"], request["words"])
        return _parsed(parser_of(request["form"])(data, limits), limits)
    except Unreadable as refusal:
        return {"reason": str(refusal)}, b""
    except MemoryError:
        needs = f"needs more than {limits.parsing_memory} bytes of memory to parse: the limit `parsing_memory`"
        return {"reason": needs, "retire": True}, b""
    except Exception as error:  # noqa: BLE001 - process border: any error of a parser costs this file only
        return {"reason": f"is damaged or not supported ({type(error).__name__}: {error})"[:300], "retire": True}, b""


def _parsed(parsed: Parsed, limits: ReadingLimits) -> _Message:
    if len(parsed.text) > limits.text:
        raise Unreadable(f"gives more than {limits.text} characters of text: split it, or raise the limit `text`")
    text = parsed.text.encode("utf-8", "surrogatepass")
    blocks = pack(parsed.blocks).encode("utf-8", "surrogatepass")
    others = len(parsed.notes) - NOTES
    notes = (*parsed.notes[:NOTES], *([f"and {others} more notes like these"] if others > 0 else []))
    date = [parsed.date, parsed.date_from]
    return {"title": parsed.title[:2000], "notes": notes, "date": date, "text": len(text)}, text + blocks


def _limit_memory(limits: ReadingLimits) -> None:
    try:
        import resource
    except ImportError:  # on Windows
        return
    mapped = 0  # before anything is parsed; libraries with threads map far more than they use
    with contextlib.suppress(OSError, ValueError):
        mapped = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    allowed = mapped + limits.parsing_memory
    resource.setrlimit(resource.RLIMIT_AS, (allowed, allowed + limits.parsing_memory))  # OCR takes the rest
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _limit_time(seconds: float) -> None:
    """Let the system end this process with SIGPROF after `seconds` of CPU time from now; 0 for no limit. Not on Windows."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)


if __name__ == "__main__":
    main()

FIRST_TRY = 2.0
"""CPU seconds for a first try, while other files wait. The wall clock allows ten times as many, for a busy machine."""


class TookTooLong(NotReadNow):
    """Parsing was stopped at a limit on time."""


class Parsing:
    """A context manager for the child process, which starts with the first file, and again after it ended. For one thread.
    `stopped` is asked whether to stop while a file is parsed. A `first_try` of a file is stopped after FIRST_TRY.
    """

    def __init__(
        self, limits: ReadingLimits, stopped: Callable[[], bool] = lambda: False, *, first_try: bool = False
    ) -> None:
        self.limits, self.first_try, self._stopped = limits, first_try, stopped
        self._process: subprocess.Popen[bytes] | None = None
        self._is_late = False  # whether the child was killed because its last message took too long

    def __enter__(self) -> Parsing:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def parse(self, form: str, data: bytes) -> Parsed:
        """Parse a file of the format with this name.
        Raises: TookTooLong: it was stopped at a limit on time. Unreadable: it was refused, or stopped at another limit.
        Interrupted: the caller wants to stop.
        """
        if self.first_try and form == PICTURE:
            raise TookTooLong("is read after the other files")
        seconds, clock = self.limits.cpu_seconds(len(data)), float(self.limits.parsing_seconds)
        if form in MAY_HOLD_SCANS and reads_pictures():
            seconds = clock  # a page takes some seconds, however small its file is
        if self.first_try:
            seconds, clock = min(seconds, FIRST_TRY), min(clock, 10 * FIRST_TRY)
        header, content = self._answer(({"form": form, "seconds": seconds}, data), clock, 16 * self.limits.text)
        parts = (content[: header["text"]], content[header["text"] :])
        text, blocks = (part.decode("utf-8", "surrogatepass") for part in parts)
        return Parsed(header["title"], text, tuple(header["notes"]), unpack(blocks), *header["date"])

    def draw(self, data: bytes, page: int, words: str) -> tuple[JsonObject, bytes]:
        """A page of a PDF file as PNG, and where `words` stand on it (`pdf.drawing`). Raises: Unreadable: it cannot be drawn."""
        seconds, clock = self.limits.cpu_seconds(len(data)), float(self.limits.parsing_seconds)
        request = {"page": page, "words": words, "seconds": seconds}
        about, picture = self._answer((request, data), clock, LARGEST_PICTURE)
        del about["size"]
        return about, picture

    def _answer(self, request: _Message, clock: float, largest: int) -> _Message:
        self._start()  # does not count against the time of the file
        reply = self._ask(request, clock, largest)
        if reply is None:
            self._check_stopped()
            raise self._end_error(request[0]["seconds"], clock)
        if reply[0].get("retire"):
            self._end()
        if "reason" in reply[0]:
            raise Unreadable(reply[0]["reason"])
        return reply

    def _start(self) -> None:
        if self._process is not None:
            return
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "hoptrail.documents.child", json.dumps(asdict(self.limits))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # keeps Ctrl-C away: the parent decides what to finish before it stops
        )
        if self._ask(None, _STARTING_SECONDS, 0) is None:
            self._check_stopped()
            raise NotReadNow(f"its parser did not start (exit status {self._end()})")

    def _check_stopped(self) -> None:
        if self._stopped():
            self._end()
            raise Interrupted("stopped while a file was parsed.")

    def _ask(self, request: _Message | None, seconds: float, largest: int) -> _Message | None:
        """The answer to a request, or to None the child's first message; None if it ended, answered with more than `largest`
        bytes, or was killed after `seconds` or because the caller wants to stop.
        """
        process, answered, end = self._process, threading.Event(), time.monotonic() + seconds
        if process is None or process.stdin is None or process.stdout is None:
            return None

        def watch() -> None:
            while not answered.wait(min(_LOOK, max(0.0, end - time.monotonic()))):
                self._is_late = time.monotonic() >= end
                if self._is_late or self._stopped():
                    process.kill()
                    return

        self._is_late = False
        threading.Thread(target=watch, daemon=True).start()
        try:
            if request is not None:
                _send(process.stdin, *request)
            return _receive(process.stdout, largest)
        except (BrokenPipeError, ConnectionResetError):
            return None
        except BaseException:  # also on Ctrl-C: no child may survive with a request under way
            process.kill()
            raise
        finally:
            answered.set()

    def _end(self) -> int | None:
        """End the child, if it runs, and return its exit status. One that outlives its input is killed."""
        process, self._process = self._process, None
        if process is None:
            return None
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        try:
            return process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()

    def _end_error(self, seconds: float, clock: float) -> Unreadable:
        """The error for a child that ended, given its limits of CPU time and on the wall clock."""
        status = self._end()
        if self._is_late:
            return TookTooLong(f"took longer than {clock:.3g} seconds to parse: the limit `parsing_seconds`")
        if status is not None and -status == getattr(signal, "SIGPROF", None):
            took = f"took longer than {seconds:.3g} seconds of CPU time to parse, too long for its size"
            return TookTooLong(f"{took}: the limit `parsing_seconds`")
        needs = f"damaged, or in need of more than {self.limits.parsing_memory} bytes"
        return NotReadNow(f"ended its parser (exit status {status}): {needs}")
