"""Parses mails that Outlook has saved (.msg) like other mails, which they are turned into: [MS-OXMSG], [MS-OXPROPS]."""

from __future__ import annotations

import io
import struct
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.message import Message
from email.utils import format_datetime, formataddr
from itertools import chain
from typing import Any

from hoptrail.documents.blocks import Parsed
from hoptrail.documents.decoding import decode
from hoptrail.documents.limits import ReadingLimits, Unreadable
from hoptrail.documents.mail import parse_message

_HTML, _DATA, _INNER = "1013", "3701", "__substg1.0_3701000D"
_DATES = (0x0039_0040, 0x0E06_0040)  # when a mail was sent, and when it arrived
_DAMAGED = (AssertionError, IndexError, OverflowError, RecursionError, TypeError, ValueError, struct.error)
"""What the library raises for a damaged file, beside its own error."""


def parse_msg(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse one mail. Raises: Unreadable: it is none, or damaged."""
    from xlrd.compdoc import CompDoc, CompDocError  # type: ignore[import-untyped]

    try:
        storage = _Storage(CompDoc(data, logfile=io.StringIO()), 0, "", [])
        message = storage.message(32)
    except (CompDocError, *_DAMAGED) as error:
        raise Unreadable(f"is not a mail of Outlook, or a damaged one ({error})") from error
    if not any(name.startswith("__") for name, _ in storage.inside()):
        raise Unreadable("is not a mail of Outlook")
    parsed = parse_message(message, limits)
    return replace(parsed, notes=(*dict.fromkeys(storage.notes), *parsed.notes))


@dataclass(frozen=True, slots=True)
class _Storage:
    """A mail or an attachment: its number in a file of the library, how the names of its streams begin, notes on the file."""

    file: Any
    number: int
    path: str
    notes: list[str]

    def inside(self) -> Iterator[tuple[str, _Storage]]:
        for number in self.file.dirlist[self.number].children:
            name = self.file.dirlist[number].name
            yield name, _Storage(self.file, number, f"{self.path}{name}/", self.notes)

    def bytes(self, name: str, kind: str = "0102") -> bytes:
        return bytes(self.file.get_named_stream(f"{self.path}__substg1.0_{name}{kind}") or b"")

    def text(self, *names: str) -> str:
        """The first of these properties that is there."""
        wide = (self.bytes(name, "001F").decode("utf-16-le", "replace") for name in names)
        narrow = (decode(self.bytes(name, "001E")).text for name in names)
        return next(filter(None, chain(wide, narrow)), "")

    def date(self, head: int) -> str:
        """The date of a mail, in tenths of microseconds from 1601 among its properties of a fixed size, which follow a head."""
        data = (self.file.get_named_stream(f"{self.path}__properties_version1.0") or b"")[head:]
        rows = struct.iter_unpack("<IIQ", data[: len(data) // 16 * 16])
        found = {tag: value for tag, _, value in rows}
        ticks = next((found[tag] for tag in _DATES if found.get(tag)), 0)
        return format_datetime(datetime(1601, 1, 1, tzinfo=UTC) + timedelta(microseconds=ticks // 10)) if ticks else ""

    def message(self, head: int) -> Message:
        plain, page = self.text("1000").encode(), self.bytes(_HTML) or self.text(_HTML).encode()
        bodies = [_part("text/plain", plain)] * bool(plain.strip()) + [_part("text/html", page)] * bool(page)
        if not bodies and self.bytes("1009"):
            self.notes.append("text that is RTF was not read: save it as .eml")
        texts = [_part("multipart/alternative", bodies)] * bool(bodies)
        attached = [one.attachment() for name, one in self.inside() if name.startswith("__attach")]
        message = _part("multipart/mixed", [*texts, *attached])
        sender = formataddr((self.text("0C1A"), self.text("5D01", "0C1F")), "utf-8")
        given = {"From": sender, "To": self.text("0E04"), "Cc": self.text("0E03"), "Subject": self.text("0037")}
        for name, value in (given | {"Date": self.date(head)}).items():
            message[name] = " ".join(value.replace("\0", "").split())
        return message

    def attachment(self) -> Message:
        name, inner = self.text("3707", "3704", "3001"), dict(self.inside()).get(_INNER)
        if inner is not None:
            return _part("message/rfc822", [inner.message(24)], name)
        return _part(self.text("370E") or "application/octet-stream", self.bytes(_DATA), name)


def _part(kind: str, content: bytes | list[Message], name: str | None = None) -> Message:
    part = Message()
    part["Content-Type"] = kind
    if name is not None:
        part.add_header("Content-Disposition", "attachment", filename=name)
    if isinstance(content, bytes):
        part["Content-Transfer-Encoding"] = "base64"
        part.set_payload(b64encode(content).decode())
        return part
    part.set_payload([])
    for one in content:
        part.attach(one)
    return part
