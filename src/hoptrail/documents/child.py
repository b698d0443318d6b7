"""The child process that parses files under limits on memory and time; `child_parsing` is the parent's side.

Run as `python -m hoptrail.documents.child LIMITS`, where LIMITS is ReadingLimits as JSON. In both directions a message is a line
of JSON followed by as many bytes as its `size` says; the child's first message says that it is ready. The child opens no file for
writing, and ends when its input ends. On Windows, which has no such limits, only the parent's clock limits it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import IO, Any

from hoptrail.documents.blocks import pack
from hoptrail.documents.decoding import Unreadable
from hoptrail.documents.forms import parser_of
from hoptrail.documents.limits import ReadingLimits

Header = dict[str, Any]

NOTES = 20
"""Notes on a file that are passed on; further notes are only counted."""


def send(stream: IO[bytes], header: Header, payload: bytes = b"") -> None:
    """Write one message."""
    stream.write(json.dumps({**header, "size": len(payload)}).encode() + b"\n")
    stream.write(payload)
    stream.flush()


def receive(stream: IO[bytes], largest: int) -> tuple[Header, bytes] | None:
    """Read one message. Returns None at the end of the stream, and for a message that is truncated or above `largest` bytes."""
    line = stream.readline(1 << 20)
    if not line.endswith(b"\n"):
        return None
    header: Header = json.loads(line)
    if header["size"] > largest:
        return None
    payload = stream.read(header["size"])
    return (header, payload) if len(payload) == header["size"] else None


def main() -> None:
    """Answer requests until the input ends."""
    limits = ReadingLimits(**json.loads(sys.argv[1]))
    # Parsers may print; keep that out of the messages.
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    _limit_memory(limits)
    send(replies, {})  # ready
    while request := receive(sys.stdin.buffer, limits.file):
        header, data = request
        del request
        _limit_time(header["seconds"])
        reply, text = _reply(header["form"], data, limits)
        _limit_time(0)
        send(replies, reply, text)


def _reply(form: str, data: bytes, limits: ReadingLimits) -> tuple[Header, bytes]:
    """Parse a file. `retire` in the reply tells the parent to use this process for no further file."""
    try:
        parsed = parser_of(form)(data, limits)
        if len(parsed.text) > limits.text:
            raise Unreadable(f"gives more than {limits.text} characters of text: split it, or raise the limit `text`")
        text = parsed.text.encode("utf-8", "surrogatepass")
        blocks = pack(parsed.blocks).encode("utf-8", "surrogatepass")
    except Unreadable as refusal:
        return {"reason": str(refusal)}, b""
    except MemoryError:
        needs = f"needs more than {limits.parsing_memory} bytes of memory to parse: the limit `parsing_memory`"
        return {"reason": needs, "retire": True}, b""
    except Exception as error:  # noqa: BLE001 - process border: any error of a parser costs this file only
        return {"reason": f"is damaged or not supported ({type(error).__name__}: {error})"[:300], "retire": True}, b""
    header = {"title": parsed.title[:2000], "notes": _bounded(parsed.notes), "date": [parsed.date, parsed.date_from]}
    return {**header, "text": len(text)}, text + blocks


def _bounded(notes: tuple[str, ...]) -> tuple[str, ...]:
    others = len(notes) - NOTES
    return (*notes[:NOTES], f"and {others} more notes like these") if others > 0 else notes


def _limit_memory(limits: ReadingLimits) -> None:
    try:
        import resource
    except ImportError:
        return
    allowed = _address_space() + limits.parsing_memory
    resource.setrlimit(resource.RLIMIT_AS, (allowed, allowed))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _address_space() -> int:
    """Bytes mapped by this process before it parses anything. Libraries with threads map far more than they use."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


def _limit_time(seconds: float) -> None:
    """Let the system end the process with SIGPROF after `seconds` of CPU time from now; 0 for no limit."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)


if __name__ == "__main__":
    main()
