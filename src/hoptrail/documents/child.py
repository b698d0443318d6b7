"""The child process that parses files under limits on memory and time; `child_parsing` is the parent's side.

Run as `python -m hoptrail.documents.child LIMITS`, where LIMITS is ReadingLimits as JSON. The child opens no file for writing. On
Windows, which has no such limits, only the parent's clock limits it.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from hoptrail.documents.blocks import pack
from hoptrail.documents.child_process import Header, Message, answer_all, limit_time
from hoptrail.documents.decoding import Unreadable
from hoptrail.documents.forms import parser_of
from hoptrail.documents.limits import ReadingLimits

NOTES = 20
"""Notes on a file that are passed on; further notes are only counted."""


def main() -> None:
    """Answer requests until the input ends."""
    limits = ReadingLimits(**json.loads(sys.argv[1]))
    _limit_memory(limits)

    def answer(header: Header, data: bytes) -> Message:
        limit_time(header["seconds"])
        reply = _reply(header["form"], data, limits)
        limit_time(0)
        return reply

    answer_all(answer, limits.file)


def _reply(form: str, data: bytes, limits: ReadingLimits) -> Message:
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
    others = len(parsed.notes) - NOTES
    notes = (*parsed.notes[:NOTES], *([f"and {others} more notes like these"] if others > 0 else []))
    header = {"title": parsed.title[:2000], "notes": notes, "date": [parsed.date, parsed.date_from]}
    return {**header, "text": len(text)}, text + blocks


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


if __name__ == "__main__":
    main()
