"""The blocks of a mail (.eml) and of a file of mails (.mbox): a row with sender, receivers, date and subject, the text, quotes.

The plain text is read where there is one, else the HTML. An attachment is read by the parser of its own form, under a heading
with its name; one that cannot be read costs only itself and is named in the notes. Meant to run in the child process.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from email import message_from_bytes, policy
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from email.utils import parsedate_to_datetime
from pathlib import Path

from hoptrail.documents.blocks import Parsed, Piece, assemble, pieces_of
from hoptrail.documents.decoding import Unreadable, decode
from hoptrail.documents.forms import BY_NAME, Form, form_of, parser_of, true_form
from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.mail_text import text_pieces
from hoptrail.types import BlockKind

_SHOWN = ("From", "To", "Cc", "Date", "Subject")
_DEEPEST_MAIL = 4
"""Mails within mails."""
_MOST_ATTACHMENTS = 200
_LONGEST_NAME = 120
_DEEPEST_HEADING = 6
_BEGINS = re.compile(rb"^From [^\r\n]*\r?\n", re.MULTILINE)
_HEADER_LINE = re.compile(rb"(?:From [^\r\n]*\r?\n)?[!-9;-~]{1,70}:[ \t\r\n]")
_FORMS_OF_TYPES = {
    "application/pdf": "pdf",
    "message/rfc822": "mail",
    "text/csv": "csv",
    "text/html": "html",
    "text/markdown": "markdown",
    "text/plain": "text",
}
# Characters that change how a name is shown: controls, and marks that turn the direction of writing.
_UNSHOWABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]+")


def parse_mail(data: bytes, limits: ReadingLimits) -> Parsed:
    """Its subject is the title, its header gives the date.

    Raises:
        Unreadable: it does not begin as a mail does.
    """
    if not _HEADER_LINE.match(data.lstrip()):
        raise Unreadable("is not a mail: it does not begin with a header")
    reading = _Reading(limits)
    message = message_from_bytes(data.lstrip(), policy=policy.compat32)
    parsed = assemble(_header(message, "Subject"), reading.pieces(message), reading.notes, limits.text)
    return _dated(replace(parsed, notes=tuple(reading.notes)), _date(message))


def parse_mbox(data: bytes, limits: ReadingLimits) -> Parsed:
    """One mail after the other, each under a heading with its subject; the date is that of the latest.

    Raises:
        Unreadable: it does not begin as such a file does, or holds more mails than the limit for rows.
    """
    starts = [found.start() for found in _BEGINS.finditer(data) if _begins_mail(data, found)]
    if not starts or data[: starts[0]].strip():
        raise Unreadable("is not a file of mails: it does not begin with a line `From `")
    if len(starts) > limits.rows:
        raise Unreadable(f"holds more than {limits.rows} mails: split it, or raise the limit `rows`")
    reading = _Reading(limits)
    dates: list[datetime] = []
    parsed = assemble("", _mails(data, starts, reading, dates), (), limits.text)
    latest = max(dates, key=lambda date: date.isoformat(), default=None)
    return _dated(replace(parsed, notes=tuple(reading.notes)), latest)


def _begins_mail(data: bytes, found: re.Match[bytes]) -> bool:
    """After a blank line or at the start, and before a header."""
    before = data[max(0, found.start() - 2) : found.start()]
    return before in {b"", b"\n\n", b"\r\n"} and _HEADER_LINE.match(data, found.end()) is not None


def _mails(data: bytes, starts: list[int], reading: _Reading, dates: list[datetime]) -> Iterator[Piece]:
    for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(data)], strict=True), 1):
        raw = re.sub(rb"^>(>*From )", rb"\1", data[start:end], flags=re.MULTILINE)
        message = message_from_bytes(raw, policy=policy.compat32)
        date = _date(message)
        if date is not None:
            dates.append(date)
        subject = _header(message, "Subject") or f"Mail {number}"
        yield from _under(subject, f"mail {number}", reading.pieces(message), _day(date))


def _dated(parsed: Parsed, date: datetime | None) -> Parsed:
    return parsed if date is None else replace(parsed, date=_day(date), date_from="mail header")


def _day(date: datetime | None) -> str:
    return "" if date is None else date.date().isoformat()


def _under(heading: str, place: str, pieces: Iterable[Piece], date: str = "") -> Iterator[Piece]:
    """Pieces below a heading: their own headings one level deeper, their places within its."""
    yield Piece(BlockKind.HEADING, heading, 1, place=place, date=date)
    for piece in pieces:
        level = min(piece.level + 1, _DEEPEST_HEADING) if piece.kind is BlockKind.HEADING else piece.level
        yield replace(piece, level=level, place=f"{place}, {piece.place}" if piece.place else place)


def _header(message: Message, name: str) -> str:
    """A header as a reader sees it: unfolded, and decoded as far as that goes."""
    value = message.get(name)
    if value is None:
        return ""
    raw = re.sub(r"\r?\n[ \t]*", " ", str(value)).strip()
    raw = raw.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    try:
        return " ".join(str(make_header(decode_header(raw))).split())
    except (LookupError, ValueError, MessageError):
        return raw


def _date(message: Message) -> datetime | None:
    try:
        return parsedate_to_datetime(_header(message, "Date"))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _shown(message: Message, name: str) -> str:
    date = _date(message) if name == "Date" else None
    return _header(message, name) if date is None else f"{date:%Y-%m-%d %H:%M}"


@dataclass(slots=True)
class _Reading:
    """What is under way: the notes so far, and how many attachments were met."""

    limits: ReadingLimits
    notes: list[str] = field(default_factory=list)
    _attachments: int = 0

    def pieces(self, message: Message, depth: int = 1) -> Iterator[Piece]:
        """Of a mail, `depth` being how many it stands in, itself among them."""
        cells = tuple((name, shown) for name in _SHOWN if (shown := _shown(message, name)))
        yield Piece(BlockKind.ROW, cells=cells, place="header", labelled=True)
        bodies, attachments = _sorted(message)
        for body in bodies:
            yield from self._body(body)
        for attachment in attachments:
            yield from self._attachment(attachment, depth)

    def _body(self, part: Message) -> Iterator[Piece]:
        data = _payload(part)
        try:
            text = decode(data, part.get_content_charset()).text
        except Unreadable as refusal:
            self.notes.append(f"the text {refusal}")
            return
        if part.get_content_type() == "text/html":
            pieces = pieces_of(parser_of("html")(text.encode("utf-8", "surrogatepass"), self.limits))
        else:
            pieces = text_pieces(text, flowed=str(part.get_param("format", "")).lower() == "flowed")
        yield from (replace(piece, place=f"text, {piece.place}" if piece.place else "text") for piece in pieces)

    def _attachment(self, part: Message, depth: int) -> Iterator[Piece]:
        self._attachments += 1
        name = _name(part, self._attachments)
        if self._attachments > _MOST_ATTACHMENTS:
            if self._attachments == _MOST_ATTACHMENTS + 1:
                self.notes.append(f"attachments after the first {_MOST_ATTACHMENTS} were left out")
            return
        try:
            pieces = list(self._read(part, name, depth))
        except Unreadable as refusal:
            self.notes.append(f"attachment {name}: {refusal}")
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a parser raises costs this attachment only
            self.notes.append(f"attachment {name}: is damaged or not supported ({type(error).__name__})")
        else:
            yield from _under(name, f"attachment {name}", pieces)

    def _read(self, part: Message, name: str, depth: int) -> Iterator[Piece]:
        inner = part.get_payload(0) if part.get_content_type() == "message/rfc822" and part.is_multipart() else None
        data = b"" if inner is not None else _payload(part)
        form = BY_NAME["mail"] if inner is not None else _form(part, name, data)
        if form is None or not form.parser:
            raise Unreadable("is of no form that is read")
        if form.name != "mail":
            parsed = parser_of(form.name)(data, self.limits)
            self.notes += [f"attachment {name}: {note}" for note in parsed.notes]
            yield from pieces_of(parsed)
        elif depth >= _DEEPEST_MAIL:
            raise Unreadable(f"is a mail within {depth} others, and was left out")
        else:
            message = inner if isinstance(inner, Message) else message_from_bytes(data, policy=policy.compat32)
            yield from self.pieces(message, depth + 1)


def _payload(part: Message) -> bytes:
    data = part.get_payload(decode=True)
    return data if isinstance(data, bytes) else b""


def _sorted(message: Message) -> tuple[list[Message], list[Message]]:
    """The parts that are its text, in order, and its attachments. Walks by hand: parts nest deeper than Python's stack."""
    bodies: list[Message] = []
    attachments: list[Message] = []
    waiting = [message]
    while waiting:
        part = waiting.pop()
        kind = part.get_content_type()
        if part is not message and (part.get_content_disposition() == "attachment" or kind == "message/rfc822"):
            attachments.append(part)
        elif kind == "multipart/alternative" and part.is_multipart():
            waiting.append(_preferred(part))
        elif part.is_multipart():
            waiting += reversed(_children(part))
        elif kind in {"text/plain", "text/html"} and not part.get_filename():
            bodies.append(part)
        elif part.get_filename() or not part.get("Content-ID"):
            attachments.append(part)
    return bodies, attachments


def _children(part: Message) -> list[Message]:
    payload = part.get_payload()
    return [child for child in payload if isinstance(child, Message)] if isinstance(payload, list) else []


def _preferred(part: Message) -> Message:
    """Of alternatives, the plain text if it says something, else the last."""
    children = _children(part)
    plain = (child for child in children if child.get_content_type() == "text/plain" and _payload(child).strip())
    return next(plain, children[-1] if children else part)


def _name(part: Message, number: int) -> str:
    """The name that an attachment gives itself, as far as it may be shown; never a path."""
    try:
        given = part.get_filename() or ""
        given = str(make_header(decode_header(given)))
    except (LookupError, ValueError, TypeError, MessageError):
        given = ""
    base = re.split(r"[/\\]", given.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))[-1]
    name = " ".join(_UNSHOWABLE.sub("", base).split()).strip(". ")[-_LONGEST_NAME:]
    inner = part.get_payload(0) if part.get_content_type() == "message/rfc822" and part.is_multipart() else None
    subject = _header(inner, "Subject")[:_LONGEST_NAME] if isinstance(inner, Message) else ""
    return name or subject or f"part {number}"


def _form(part: Message, name: str, data: bytes) -> Form | None:
    by_type = _FORMS_OF_TYPES.get(part.get_content_type(), "")
    return true_form(form_of(Path(name)) or BY_NAME.get(by_type), data)
