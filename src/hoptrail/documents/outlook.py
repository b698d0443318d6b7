"""Parses mails that Outlook has saved (.msg) like other mails, which they are turned into: [MS-OXMSG], [MS-OXPROPS].

The plain text is preferred to the HTML as there. A text that is only in RTF is not read, and a note says so.
"""

from __future__ import annotations

import io
import struct
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.message import Message
from email.utils import format_datetime, formataddr
from typing import Any

from hoptrail.documents.blocks import Parsed
from hoptrail.documents.decoding import decode
from hoptrail.documents.limits import ReadingLimits, Unreadable
from hoptrail.documents.mail import parse_message

_SUBJECT, _BODY, _HTML, _RTF, _TO, _CC = "0037", "1000", "1013", "1009", "0E04", "0E03"
_SENDER, _ADDRESSES = "0C1A", ("5D01", "0C1F")
_SENT = (0x0039_0040, 0x0E06_0040)
_NAMES, _DATA, _TYPE, _INNER = ("3707", "3704", "3001"), "3701", "370E", "__substg1.0_3701000D"
"""Properties of a mail, and of an attachment."""
_DAMAGED = (AssertionError, IndexError, OverflowError, RecursionError, TypeError, ValueError, struct.error)
"""What the library raises for a damaged file, beside its own error."""


def parse_msg(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse one mail. Raises: Unreadable: it is none, or damaged."""
    from xlrd.compdoc import CompDoc, CompDocError  # type: ignore[import-untyped]

    try:
        message, is_rtf = _message(CompDoc(data, logfile=io.StringIO()), "", 32)
    except (CompDocError, *_DAMAGED) as error:
        raise Unreadable(f"is not a mail of Outlook, or a damaged one ({error})") from error
    parsed = parse_message(message, limits)
    rtf = ("its text is RTF, which is not read: save it as .eml",) if is_rtf else ()
    return replace(parsed, notes=(*rtf, *parsed.notes))


def _message(file: Any, storage: str, head: int) -> tuple[Message, bool]:
    """The mail in a storage, whose properties follow `head` bytes, and whether it has no text but in RTF."""
    address = next(filter(None, (_text(file, storage, name) for name in _ADDRESSES)), "")
    given = {"From": formataddr((_text(file, storage, _SENDER), address), "utf-8")}
    given |= {"To": _text(file, storage, _TO), "Cc": _text(file, storage, _CC), "Date": _date(file, storage, head)}
    given["Subject"] = _text(file, storage, _SUBJECT)
    plain, page = _text(file, storage, _BODY).encode(), _bytes(file, storage, _HTML)
    bodies = [_part("text/plain", plain)] * bool(plain.strip()) + [_part("text/html", page)] * bool(page)
    text = [_part("multipart/alternative", bodies)] * bool(bodies)
    message = _part("multipart/mixed", [*text, *_attachments(file, storage)])
    for name, value in given.items():
        message[name] = value.replace("\0", "").replace("\r", " ").replace("\n", " ")
    return message, not bodies and bool(_bytes(file, storage, _RTF))


def _attachments(file: Any, storage: str) -> Iterator[Message]:
    around = file.dirlist[0]
    for name in filter(None, storage.split("/")):
        around = next(one for one in map(file.dirlist.__getitem__, around.children) if one.name == name)
    for node in (file.dirlist[child] for child in around.children):
        if not node.name.startswith("__attach"):
            continue
        inside = f"{storage}{node.name}/"
        name = next(filter(None, (_text(file, inside, one) for one in _NAMES)), "")
        if any(file.dirlist[child].name == _INNER for child in node.children):
            yield _part("message/rfc822", [_message(file, f"{inside}{_INNER}/", 24)[0]], name)
        else:
            yield _part(_text(file, inside, _TYPE) or "application/octet-stream", _bytes(file, inside, _DATA), name)


def _part(kind: str, content: bytes | list[Message], name: str | None = None) -> Message:
    part = Message()
    part["Content-Type"] = kind
    if name is not None:
        part.add_header("Content-Disposition", "attachment", filename=name)
    if isinstance(content, bytes):
        part["Content-Transfer-Encoding"] = "base64"
        part.set_payload(b64encode(content).decode())
    else:
        part.set_payload(content)
    return part


def _bytes(file: Any, storage: str, name: str, kind: str = "0102") -> bytes:
    """A property, which is in a stream of its own; empty if there is none."""
    return bytes(file.get_named_stream(f"{storage}__substg1.0_{name}{kind}") or b"")


def _text(file: Any, storage: str, name: str) -> str:
    text = _bytes(file, storage, name, "001F").decode("utf-16-le", "replace")
    return text or decode(_bytes(file, storage, name, "001E")).text


def _date(file: Any, storage: str, head: int) -> str:
    """When a mail was sent, else received: a property of a fixed size, counted in tenths of microseconds from 1601."""
    data = file.get_named_stream(f"{storage}__properties_version1.0") or b""
    values = {
        tag: value for tag, _, value in struct.iter_unpack("<IIQ", data[head : head + (len(data) - head) // 16 * 16])
    }
    ticks = next((values[tag] for tag in _SENT if tag in values), 0)
    return format_datetime(datetime(1601, 1, 1, tzinfo=UTC) + timedelta(microseconds=ticks // 10)) if ticks else ""
