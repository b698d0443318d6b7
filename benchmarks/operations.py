"""Records every operation by which a command changes files below a folder, and kills or fails a chosen one.

A small preloaded library (`write_operations.c`, compiled on the spot; Linux with `cc`) intercepts and counts them.
Commands run in forked processes, which saves the second that an interpreter takes to start.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from importlib import import_module
from pathlib import Path

from benchmarks.common import ROOT

_HEAD = struct.Struct("=cqqq")
_MARK = "HOPTRAIL_WRITE_OPERATIONS"


class Fault(IntEnum):
    """The fault at the chosen operation; the numbers are those of `write_operations.c`."""

    NONE = 0
    KILLED = 1
    TORN = 2  # killed in the middle of a write
    REFUSED = 3  # EIO, once
    FULL = 4  # ENOSPC, from there on


@dataclass(frozen=True, slots=True)
class Operation:
    """`kind`: o(pen) w(rite) t(runcate) s(ync) c(lose) of the file descriptor `file`, or u(nlink) d (rmdir) m(kdir), f(rom) and
    r(ename) of a path. `number` is the offset of a write or the size after a truncation; of an open, 1 if it empties the file.
    """

    kind: str
    file: int
    number: int
    data: bytes

    @property
    def path(self) -> str:
        return os.fsdecode(self.data)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended: its exit code, negative for a signal; its output; its number of operations."""

    code: int
    said: str
    operations: int


@cache
def preloaded() -> dict[str, str]:
    """The environment in which a program of ours has the library, which is built now."""
    folder = tempfile.mkdtemp(prefix="hoptrail-operations-")
    library = f"{folder}/write_operations.so"
    source = Path(__file__).with_name("write_operations.c")
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, str(source), "-ldl"], check=True)
    places = os.pathsep.join(["src", str(ROOT), *sys.path[1:]])
    return os.environ | {"LD_PRELOAD": library, _MARK: library, "PYTHONPATH": places}


def preload() -> None:
    """Restart this program with the library unless it is already loaded."""
    if _MARK in os.environ:
        return
    module = sys.modules["__main__"].__spec__
    os.execve(sys.executable, [sys.executable, "-m", module.name if module else "", *sys.argv[1:]], preloaded())


def run(
    command: Callable[[], int], folder: Path, *, fault: Fault = Fault.NONE, at: int = 0, log: Path | None = None
) -> Ended:
    """Run a command in a forked process, in which operations below `folder` are counted from 1."""

    def watch() -> Callable[[], int]:
        library = ctypes.CDLL(os.environ[_MARK])
        library.operations_watch.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_int]
        library.operations_counted.restype = ctypes.c_long
        to = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) if log else -1
        refusal = errno.ENOSPC if fault is Fault.FULL else errno.EIO
        library.operations_watch(os.fsencode(folder), to, fault, at, refusal)
        counted: Callable[[], int] = library.operations_counted
        return counted

    code, out, errors, count = forked(command, watch)
    return Ended(code, out + errors, count or at)


def forked(command: Callable[[], int], watch: Callable[[], Callable[[], int]]) -> tuple[int, str, str, int]:
    """Run a command in a forked process; returns its exit code, output, standard error, and a count (0 if it was killed).

    `watch` is called before it, and returns the function that counts after it. The modules that it has loaded are loaded here
    afterwards, so that later processes need not load them.
    """
    with ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(4)]
        child = os.fork()
        if not child:
            _in_child(command, watch, *(file.fileno() for file in files))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        for file in files:
            file.seek(0)
        out, errors, counted, loaded = (file.read().decode(errors="replace") for file in files)
    for name in loaded.split():
        with suppress(ImportError):
            import_module(name)
    return code, out, errors, int(counted or 0)


def _in_child(
    command: Callable[[], int], watch: Callable[[], Callable[[], int]], out: int, errors: int, counted: int, loaded: int
) -> None:
    code, before = 99, set(sys.modules)
    try:
        os.dup2(out, 1)
        os.dup2(errors, 2)
        count = watch()
        code = command()
        sys.stdout.flush()
        os.write(counted, str(count()).encode())
        os.write(loaded, " ".join(name for name in sys.modules if name not in before).encode())
    except BaseException:  # noqa: BLE001 - whatever it is, the process ends here and says it
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def read_log(log: Path) -> Iterator[Operation]:
    content, at = memoryview(log.read_bytes()), 0
    while at < len(content):
        kind, file, number, size = _HEAD.unpack_from(content, at)
        at += _HEAD.size
        yield Operation(kind.decode(), file, number, bytes(content[at : at + size]))
        at += size


def command_line(arguments: Sequence[object]) -> Callable[[], int]:
    """`hoptrail ARGUMENT...` as a function that returns its exit code."""

    def run_it() -> int:
        from hoptrail.serving.cli import main

        sys.argv = ["hoptrail", *map(str, arguments)]
        try:
            main()
        except SystemExit as ended:
            return ended.code if isinstance(ended.code, int) else int(ended.code is not None)

    return run_it


def build_command_line() -> None:
    """Load and build the command line once, before commands are forked."""
    import typer.main

    from hoptrail.serving import cli

    vars(typer.main)["get_command"] = cache(typer.main.get_command)
    typer.main.get_command(cli.app)
