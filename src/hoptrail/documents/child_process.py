"""A Python module that runs in a process of its own and answers requests, so that what it does to itself harms no other.

In both directions a message is a line of JSON followed by as many bytes as its `size` says. The first message of the process says
that it is ready; it ends when its input ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import IO, Any

Header = dict[str, Any]
Message = tuple[Header, bytes]

STARTING_SECONDS = 120
"""For Python to start and to import the parsers."""


def send(stream: IO[bytes], header: Header, payload: bytes = b"") -> None:
    """Write one message."""
    stream.write(json.dumps({**header, "size": len(payload)}).encode() + b"\n")
    stream.write(payload)
    stream.flush()


def receive(stream: IO[bytes], largest: int) -> Message | None:
    """Read one message. Returns None at the end of the stream, and for a message that is truncated or above `largest` bytes."""
    line = stream.readline(1 << 20)
    if not line.endswith(b"\n"):
        return None
    header: Header = json.loads(line)
    if header["size"] > largest:
        return None
    payload = stream.read(header["size"])
    return (header, payload) if len(payload) == header["size"] else None


def answer_all(answer: Callable[[Header, bytes], Message], largest: int) -> None:
    """In the process: answer requests of at most `largest` bytes until the input ends."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # parsers may print; keep that out of the messages
    send(replies, {})
    while request := receive(sys.stdin.buffer, largest):
        send(replies, *answer(*request))


def limit_time(seconds: float) -> None:
    """Let the system end this process with SIGPROF after `seconds` of CPU time from now; 0 for no limit. Not on Windows."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)


class ChildProcess:
    """The parent's side. The process starts with the first request, and again after it ended. Not thread-safe. `arguments` are
    passed on as JSON, `stderr` as by `subprocess`.
    """

    def __init__(self, module: str, *arguments: object, stderr: int | None = None) -> None:
        self._command = [sys.executable, "-P", "-m", module, *map(json.dumps, arguments)]
        self._stderr = stderr
        self._process: subprocess.Popen[bytes] | None = None
        self.late = False
        """Whether the process was killed because its last message took too long."""

    def start(self) -> bool:
        """Start the process if it does not run. Returns whether it can answer."""
        if self._process is not None:
            return True
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            start_new_session=True,  # keeps Ctrl-C away: the parent decides what to finish before it stops
        )
        return self.ask(None, STARTING_SECONDS, 0) is not None

    def ask(self, request: Message | None, seconds: float, largest: int) -> Message | None:
        """The answer to a request, or to none the first message; None if the process does not run, ended, answered with more than
        `largest` bytes, or was killed after `seconds`.
        """
        process, late = self._process, threading.Event()
        if process is None or process.stdin is None or process.stdout is None:
            return None

        def stop() -> None:
            late.set()
            process.kill()

        clock = threading.Timer(seconds, stop)
        clock.start()
        try:
            if request is not None:
                send(process.stdin, *request)
            return receive(process.stdout, largest)
        except (BrokenPipeError, ConnectionResetError):
            return None
        except BaseException:  # also on Ctrl-C: no child may survive with a request under way
            process.kill()
            raise
        finally:
            clock.cancel()
            self.late = late.is_set()

    def end(self) -> int | None:
        """End the process, if it runs, and return its exit status. A process that outlives its input is killed."""
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
