"""Ctrl-C and SIGTERM, answered at once at every moment of a command.

A thread hears of a signal through a socket, so it also answers while the main thread waits, or computes in a library. The first
signal asks the work inside `answered` to end itself, and ends the process where there is none. It is ended as by a kill if the
work takes too long, and at the second signal. That loses nothing that was committed, and leaves no traceback.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from types import FrameType
from typing import NoReturn

STOPPED = 3  # exit code of a process that was stopped by a signal
PATIENCE = 8.0  # seconds that work may take to end itself

KEPT = "stopped; what was finished is kept."

_NUMBERS = (signal.SIGINT, signal.SIGTERM)
_SHOW_CURSOR = b"\r\x1b[?25h\x1b[K"
"""To a terminal: a progress bar hides the cursor and does not end its line."""


@contextmanager
def answered(
    finish: Callable[[], None] | None = None, patience: float | None = PATIENCE
) -> Iterator[Callable[[], bool]]:
    """Answer signals while the body runs, in place of those who do it outside. Yields whether a signal has come: then the
    body ends itself. `finish` is called at the first signal, by another thread, to say what is being finished; without it the
    process ends at once. Call it in the main thread.
    """
    asked, restore = Event(), _restoring_terminal()
    hears, told = socket.socketpair()
    told.settimeout(0)  # the system must not wait for the listener
    arguments = (hears, asked, finish, patience, restore)
    listener = Thread(target=_listen, args=arguments, name="signals", daemon=True)

    def note(_: int, __: FrameType | None) -> None:
        asked.set()  # in the main thread, perhaps late; the listener does the rest

    before = {number: signal.signal(number, note) for number in _NUMBERS}
    heard_before = signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)
    listener.start()
    try:
        yield asked.is_set
    finally:
        signal.set_wakeup_fd(heard_before)
        for number, handler in before.items():
            signal.signal(number, handler)
        told.close()  # ends the listener


def _listen(
    hears: socket.socket,
    asked: Event,
    finish: Callable[[], None] | None,
    patience: float | None,
    restore: Callable[[], None],
) -> None:
    first = True
    with hears, suppress(TimeoutError):
        while heard := hears.recv(1):
            if heard[0] not in _NUMBERS:
                continue
            if finish is None or not first:
                break
            first = False
            asked.set()
            hears.settimeout(patience)
            with suppress(OSError, ValueError):  # standard error is closed
                finish()
        else:
            return  # the body has ended
    restore()
    with suppress(OSError):
        os.write(2, (_SHOW_CURSOR if os.isatty(2) else b"") + f"hoptrail: {KEPT}\n".encode())
    os._exit(STOPPED)


def leave(code: object) -> NoReturn:
    """End the process with the code of a SystemExit, without waiting for threads that still compute: the interpreter would wait
    for some, and libraries abort when it ends under them.
    """
    for stream in filter(None, (sys.stdout, sys.stderr)):  # None: it was closed from the start
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


def _restoring_terminal() -> Callable[[], None]:
    """A function that gives the terminal its present state again, which a prompt changes."""
    try:
        import termios

        state = termios.tcgetattr(0)
    except (ImportError, OSError, termios.error):
        return lambda: None

    def restore() -> None:
        with suppress(OSError, termios.error):
            if os.tcgetpgrp(0) == os.getpgrp():  # a process in the background would be halted
                termios.tcsetattr(0, termios.TCSANOW, state)

    return restore
