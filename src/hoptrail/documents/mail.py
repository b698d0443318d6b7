"""Parses mails (.eml) and files of mails (.mbox) into a row with sender, recipients, date and subject, the text, and quotes.

The plain text is preferred to the HTML, unless it lacks much of it. Each attachment is read by the parser of its format, under a
heading with its name; an attachment that cannot be read is named in the notes. The place of a piece of plain text is its first
line as a reader sees it.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from email import message_from_bytes
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from email.utils import parsedate_to_datetime
from html import unescape
from itertools import groupby, pairwise
from pathlib import Path

from hoptrail.documents.blocks import Parsed, Piece, assemble, pieces_of
from hoptrail.documents.decoding import decode
from hoptrail.documents.forms import BY_NAME, MAIL, PICTURE, form_of, parser_of, true_form
from hoptrail.documents.html import html_pieces, parse_html
from hoptrail.documents.limits import ReadingLimits, Unreadable
from hoptrail.documents.plain_text import plain_blocks
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import BlockKind

_DEEPEST_MAIL = 4  # mails within mails
_MOST_ATTACHMENTS = 200
_LONGEST_NAME = 120
_SEPARATOR = re.compile(rb"^From [^\r\n]*\r?\n", re.MULTILINE)
_HEADER_LINE = re.compile(rb"(?:From [^\r\n]*\r?\n)?[!-9;-~]{1,70}:(?!//)")
_FORMS_OF_TYPES = {f"text/{name}": name for name in ("calendar", "csv", "html", "markdown")}
_FORMS_OF_TYPES |= {"text/plain": "text", "text/vcard": "calendar", "application/pdf": "pdf", "message/rfc822": "mail"}
_TAG = re.compile(r"<(style|script|title)\b.*?</\1\b[^>]*>|<[^>]*>", re.IGNORECASE | re.DOTALL)
_LACKING = 0.25  # share of the words of the HTML that a plain text may lack; programs add links to unsubscribe, for one
_UNSHOWABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]+")
"""Characters that change how a name is shown: controls, and marks that turn the direction of writing."""


def parse_mail(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse one mail: its subject is the title, its header has the date."""
    data = _in_bytes(data).lstrip()
    if not _HEADER_LINE.match(data):
        raise Unreadable("is not a mail: it does not begin with a header")
    return parse_message(message_from_bytes(data), limits)


def parse_message(message: Message, limits: ReadingLimits) -> Parsed:
    reader = _Reader(limits)
    dated = _day(_date(message)), "mail header"
    return assemble(_header(message, "Subject"), reader.pieces(message), reader.notes, limits.text, dated)


def _in_bytes(data: bytes) -> bytes:
    """A file of mails as it was sent: an editor may have saved it as UTF-16, or with a mark at its beginning."""
    data = data.removeprefix(BOM_UTF8)
    return decode(data).text.encode("utf-8", "surrogatepass") if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else data


def parse_mbox(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a file of mails, each under a heading with its subject; the date is that of the latest."""
    data = _in_bytes(data)
    starts = [
        start
        for start, end in (separator.span() for separator in _SEPARATOR.finditer(data))
        if data[max(0, start - 2) : start] in {b"", b"\n\n", b"\r\n"} and _HEADER_LINE.match(data, end)
    ]
    if not starts or data[: starts[0]].strip():
        raise Unreadable("is not a file of mails: it does not begin with a line `From `")
    if len(starts) > limits.rows:
        raise Unreadable(f"holds more than {limits.rows} mails: split it, or raise the limit `rows`")
    reader, dates = _Reader(limits), list[datetime]()
    parsed = assemble("", _mails(data, starts, reader, dates), reader.notes, limits.text)
    latest = _day(max(dates, key=datetime.isoformat, default=None))
    return replace(parsed, date=latest, date_from="mail header") if latest else parsed


def parse_web_archive(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a page that a browser saved as one file (MHTML): its first HTML part. Raises: Unreadable: it has none."""
    parts = message_from_bytes(data.lstrip()).walk()
    page = next((part for part in parts if part.get_content_type() == "text/html"), None)
    if page is None:
        raise Unreadable("is not a saved web page: it has no HTML part")
    return parse_html(_text(page).encode("utf-8", "surrogatepass"), limits)


def _mails(data: bytes, starts: list[int], reader: _Reader, dates: list[datetime]) -> Iterator[Piece]:
    for number, (start, end) in enumerate(pairwise([*starts, len(data)]), 1):
        message = message_from_bytes(re.sub(rb"^>(>*From )", rb"\1", data[start:end], flags=re.MULTILINE))
        date = _date(message)
        dates += [date] if date else []
        subject = _header(message, "Subject") or f"Mail {number}"
        yield from _under(subject, f"mail {number}", reader.pieces(message), _day(date))


def _day(date: datetime | None) -> str:
    return "" if date is None else date.date().isoformat()


def _under(heading: str, place: str, pieces: Iterable[Piece], date: str = "") -> Iterator[Piece]:
    """Pieces below a heading: their headings one level deeper, their places prefixed with `place`."""
    yield Piece(BlockKind.HEADING, heading, 1, place=place, date=date)
    for piece in pieces:
        level = piece.level + (piece.kind is BlockKind.HEADING)
        yield replace(piece, level=level, place=f"{place}, {piece.place}" if piece.place else place)


def _header(message: Message, name: str) -> str:
    """A header as a reader sees it: unfolded, and decoded if possible."""
    value = next((value for known, value in message.raw_items() if known.lower() == name.lower()), "")
    raw = _whole(re.sub(r"\r?\n[ \t]*", " ", str(value)).strip())
    return squeeze(_decoded(raw, raw))


def _decoded(raw: str, other: str) -> str:
    try:
        return str(make_header(decode_header(raw)))
    except (LookupError, ValueError, TypeError, MessageError):
        return other


def _whole(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _date(message: Message) -> datetime | None:
    try:
        return parsedate_to_datetime(_header(message, "Date"))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


@dataclass(slots=True)
class _Reader:
    """Turns messages into pieces; collects notes and counts attachments."""

    limits: ReadingLimits
    notes: list[str] = field(default_factory=list)
    _attachments: int = 0

    def pieces(self, message: Message, depth: int = 1) -> Iterator[Piece]:
        """Yield the pieces of a mail. `depth`: 1 for a mail of the file, 2 for one attached to it, and so on."""
        headers = {name: _header(message, name) for name in ("From", "To", "Cc", "Date", "Subject")}
        if date := _date(message):
            headers["Date"] = f"{date:%Y-%m-%d %H:%M}"
        cells = tuple((name, text) for name, text in headers.items() if text)
        yield Piece(BlockKind.ROW, cells=cells, place="header", labelled=True)
        bodies, attachments = _split_parts(message)
        for body in bodies:
            yield from self._body(body)
        for attachment in attachments:
            yield from self._attachment(attachment, depth)

    def _body(self, part: Message) -> Iterator[Piece]:
        try:
            text = _text(part)
        except Unreadable as refusal:
            self.notes.append(f"the text {refusal}")
            return
        if part.get_content_type() == "text/html":
            notes: dict[str, None] = {}
            pieces = _with_quotes(html_pieces(text, lines=True, notes=notes))
            self.notes += notes
        else:
            pieces = text_pieces(text, flowed=str(part.get_param("format", "")).lower() == "flowed")
        yield from (replace(piece, place=f"text, {piece.place}" if piece.place else "text") for piece in pieces)

    def _attachment(self, part: Message, depth: int) -> Iterator[Piece]:
        self._attachments += 1
        name = _name(part, self._attachments)
        if self._attachments > _MOST_ATTACHMENTS:
            left_out = f"attachments after the first {_MOST_ATTACHMENTS} were left out"
            self.notes += [left_out] if left_out not in self.notes else []
            return
        try:
            pieces = list(self._read(part, name, depth))
        except Unreadable as refusal:
            self.notes.append(f"attachment {name}: {refusal}")
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - any error of a parser costs this attachment only
            self.notes.append(f"attachment {name}: is damaged or not supported ({type(error).__name__})")
        else:
            yield from _under(name, f"attachment {name}", pieces)

    def _read(self, part: Message, name: str, depth: int) -> Iterator[Piece]:
        inner, data = _inner(part), _payload(part)
        by_type = BY_NAME.get(_FORMS_OF_TYPES.get(part.get_content_type(), ""))
        form = BY_NAME[MAIL] if inner is not None else true_form(form_of(Path(name)) or by_type, data)
        if form is None or not form.parser:
            raise Unreadable("is of no known format")
        if form.name == PICTURE:  # to read the logo in every mail would take long
            raise Unreadable("is a picture, and was left out")
        if form.name != MAIL:
            parsed = parser_of(form.name)(data, self.limits)
            self.notes += [f"attachment {name}: {note}" for note in parsed.notes]
            yield from pieces_of(parsed)
        elif depth >= _DEEPEST_MAIL:
            raise Unreadable(f"is a mail within {depth} others, and was left out")
        else:
            yield from self.pieces(message_from_bytes(data) if inner is None else inner, depth + 1)


def _inner(part: Message) -> Message | None:
    return next(iter(_children(part)), None) if part.get_content_type() == "message/rfc822" else None


def _payload(part: Message) -> bytes:
    data = part.get_payload(decode=True)
    return data if isinstance(data, bytes) else b""


def _text(part: Message) -> str:
    return decode(_payload(part), part.get_content_charset()).text


def _split_parts(message: Message) -> tuple[list[Message], list[Message]]:
    """The text parts of a mail in order, and its attachments. Iterative, because parts nest deeper than Python's stack."""
    bodies, attachments, waiting = list[Message](), list[Message](), [(message, True)]
    while waiting:
        part, is_read = waiting.pop()
        kind = part.get_content_type()
        if part is not message and (part.get_content_disposition() == "attachment" or kind == "message/rfc822"):
            attachments.append(part)
        elif part.is_multipart():
            chosen = _preferred(part) if kind == "multipart/alternative" else None
            # Apple's attachments are in one of the alternatives, perhaps the one that is not read.
            parts = ((child, chosen in (None, child)) for child in reversed(_children(part)))
            waiting += [(child, is_read and best) for child, best in parts if best or child.is_multipart()]
        elif kind in {"text/plain", "text/html"} and not part.get_filename():
            bodies += [part] * is_read
        elif not kind.startswith("image/") or not part.get("Content-ID") or (is_read and part.get_filename()):
            attachments.append(part)
    return bodies, attachments


def _children(part: Message) -> list[Message]:
    payload = part.get_payload()
    return [child for child in payload if isinstance(child, Message)] if isinstance(payload, list) else []


def _preferred(part: Message) -> Message:
    """The plain text, else the last. A plain text that lacks much of the HTML (`View this mail as HTML`) is not preferred."""
    children = _children(part)
    first = {child.get_content_type(): child for child in reversed(children)}
    plain, page = first.get("text/plain"), first.get("text/html")
    if plain is None or page is None:
        return plain if plain is not None and _payload(plain).strip() else children[-1] if children else part
    shown = _words(page)
    return page if len(shown - _words(plain)) > _LACKING * len(shown) else plain


def _words(part: Message) -> set[str]:
    try:
        text = _text(part)
    except Unreadable:
        return set()
    text = _TAG.sub(" ", text) if part.get_content_type() == "text/html" else text
    return set(re.findall(r"\w+", unescape(text).casefold()))


def _name(part: Message, number: int) -> str:
    """The file name of an attachment without its path and unprintable characters, else its subject or number."""
    base = re.split(r"[/\\]", _whole(_decoded(part.get_filename() or "", "")))[-1]
    name = squeeze(_UNSHOWABLE.sub("", base)).strip(". ")[-_LONGEST_NAME:]
    inner = _inner(part)
    subject = _header(inner, "Subject")[:_LONGEST_NAME] if inner is not None else ""
    return name or subject or f"part {number}"


_BULLET = re.compile(r"^[-*+•‣◦▪·]\s+")
_PARAGRAPH = re.compile(r"^[^\S\n]*\S[^\n]*(?:\n[^\S\n]*\S[^\n]*)*", re.MULTILINE)
_QUOTED = re.compile(r"^(?:[ ]?>)+ ?")
_ORIGINAL = re.compile(
    r"^-{2,} ?(?:original message|forwarded message|ursprüngliche nachricht|message d'origine) ?-{2,}$", re.IGNORECASE
)
"""The line below which mail programs put the original mail without quotation marks."""
_HEAD = re.compile(
    r"\*?(?:(?P<sender>from|von|de|da)"
    r"|sent|date|to|subject|gesendet|datum|an|betreff|envoyé|à|objet|inviato|a|oggetto)\*? ?:",
    re.IGNORECASE,
)
"""A line of the head that other programs put above it."""


def text_pieces(text: str, *, flowed: bool = False) -> Iterator[Piece]:
    """Yield the pieces of a mail's text. `flowed`: a line that ends with a space continues in the next (RFC 3676)."""
    lines = list(enumerate(text.split("\n"), 1))
    for depth, run in groupby(_with_depths(_unwrap_flowed(lines) if flowed else lines), key=lambda line: line[1]):
        numbered = list(run)
        body = "\n".join(shown for _, _, shown in numbered)
        if not body.strip():
            continue
        line = counted = 0
        quotes = ((part.start(), Piece(BlockKind.QUOTE, part[0])) for part in _PARAGRAPH.finditer(body))
        for start, piece in quotes if depth else _plain(body):
            begins = start or len(body) - len(body.lstrip())
            line, counted = line + body.count("\n", counted, begins), begins
            yield replace(piece, place=f"line {numbered[line][0]}")


def _with_depths(lines: list[tuple[int, str]]) -> Iterator[tuple[int, int, str]]:
    """Yield each line with its number, how many quotation marks stand before its text, and the text."""
    below = False
    for place, (number, line) in enumerate(lines):
        if _ORIGINAL.match(line.strip()):
            below = True
            continue
        below = below or _is_head([text for _, text in lines[place : place + 3]])
        marks = _QUOTED.match(line)
        depth = below + (marks[0].count(">") if marks else 0)
        yield number, depth, line[marks.end() :] if marks else line


def _is_head(lines: list[str]) -> bool:
    """Whether the head of a mail that is answered or forwarded begins so: `From: ...`, `Sent: ...`, `To: ...`."""
    heads = [_HEAD.match(line.strip()) for line in lines[:3]]
    return len(heads) == 3 and all(heads) and heads[0] is not None and bool(heads[0]["sender"])


def _with_quotes(pieces: Iterable[Piece]) -> Iterator[Piece]:
    below = False
    for piece in pieces:
        below = below or _is_head(piece.text.split("\n")) or _ORIGINAL.match(piece.text) is not None
        yield replace(piece, kind=BlockKind.QUOTE) if below and piece.kind is BlockKind.PARAGRAPH else piece


def _unwrap_flowed(lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Join lines that were wrapped for sending. The line before a signature, `-- `, was not."""
    out: list[tuple[int, str]] = []
    open_marks: str | None = None
    for number, line in lines:
        marks = _QUOTED.match(line)
        prefix = ">" * marks[0].count(">") if marks else ""
        body = line[marks.end() :] if marks else line.removeprefix(" ")
        if open_marks == prefix and body != "-- ":
            out[-1] = (out[-1][0], out[-1][1] + body)
        else:
            out.append((number, f"{prefix} {body}" if prefix else body))
        open_marks = prefix if body.endswith(" ") and body != "-- " else None
    return out


def _plain(text: str) -> Iterator[tuple[int, Piece]]:
    blocks = plain_blocks(text, lines=False)
    if not blocks:
        yield 0, Piece(BlockKind.PARAGRAPH, text.strip())
    for block in blocks:
        body = text[block.start : block.end].strip()
        yield block.start, Piece(block.kind, _BULLET.sub("", body) if block.level else body, block.level, block.ordered)
