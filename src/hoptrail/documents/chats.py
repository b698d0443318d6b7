"""Parses what people said: exported chats (WhatsApp and Telegram as text, Telegram, Slack, Discord and Messenger as JSON),
subtitles and transcripts (SRT, WebVTT).

Each message is a paragraph with its sender, day and time, under a heading with its day, which dates it. Each sentence of
subtitles is one with its speaker and its time; it goes on over cues until it ends, the speaker changes, or there is a pause.
A line that is shown again in the next cue, as in captions that roll, counts once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import reduce
from html import unescape
from typing import Any

from hoptrail.documents.blocks import Parsed, Piece, assemble
from hoptrail.documents.decoding import decode, parse_json_text
from hoptrail.documents.limits import ReadingLimits, Unreadable
from hoptrail.documents.markup import runs
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import BlockKind

_DAY = r"(?P<one>\d{1,4})[/.년-] ?(?P<two>\d{1,2})[/.월-] ?(?P<three>\d{1,4})[.일]?,? (?:(?:klo|kl\.?|um|om|à|às) )?"
_TIME = (
    r"(?P<part>오후|下午|午後|오전|上午|午前)? ?(?P<hour>\d{1,2})[:.](?P<minute>\d\d)(?:[:.]\d\d)?"
    r"(?:[ \u202f\xa0]?(?P<half>[AaPp])\.?[ \u202f\xa0]?[Mm]\.?)?"
)
_LATER = ("p", "P", "오후", "下午", "午後")
_MESSAGE = re.compile(
    rf"\u200e?(?P<bracket>\[)?{_DAY}{_TIME}(?(bracket)\]|(?: [-–]|,(?= [^:\n]{{1,40}} : ))) (?P<rest>.*)"
)
_TELEGRAM = re.compile(rf"(?P<sender>[^\[\n]{{1,80}}), \[{_DAY}{_TIME}\]:?(?P<rest>.*)")
_SENDER = re.compile(r"[~\u200e\u202a]*(?P<sender>[^:\n]{1,80}?)[\u202c]?: (?P<text>.*)")
_LEFT_OUT = re.compile(
    r"\u200e?<(?:media omitted|medien ausgeschlossen|médias omis)[^>]*>|\u200e?(?:image|video|audio|sticker|gif) omitted"
    r"|[ ]?\u200e<[^<>:\n]*>",
    re.IGNORECASE,
)
_LEAST = 3
_SHARE = 0.3
"""Messages that show that a text is a chat, and their least share of its lines: the others go on with a message."""
_KEYS = (b"messages text_entities", b"messages author channel timestamp", b"messages sender_name timestamp_ms")
"""What is in exports of Telegram, Discord and Messenger."""
_SLACK_LINK = re.compile(
    r"<(?:(?P<user>[@#])(?P<id>\w+)|!(?P<group>\w+)[^<>|]*|(?P<address>[^<>|\s]+))(?:\|(?P<label>[^<>]*))?>"
)


_Message = tuple[date | None, str, str, str, str]
"""Day, time (`18:05`), sender (empty where the program tells of something), text and place of a message."""


def is_chat(data: bytes) -> bool:
    """Whether a text is an exported chat: a good part of its first lines begin with day, time and sender."""
    lines = [line for line in data[:16_384].decode("utf-8", "replace").splitlines() if line.strip()]
    messages = sum(1 for line in lines if _MESSAGE.match(line) or _TELEGRAM.match(line))
    return messages >= _LEAST and messages >= _SHARE * len(lines)


def is_chat_json(data: bytes) -> bool:
    """Whether a JSON file is a chat exported from Telegram, Slack, Discord or Messenger."""
    sample = data[:65_536]
    slack = sample.lstrip()[:1] == b"[" and b'"ts":' in sample and re.search(rb'"type":\s*"message"', sample)
    return bool(slack) or any(all(b'"%b"' % key in sample for key in keys.split()) for keys in _KEYS)


def parse_chat(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a chat exported as text. Whether day or month comes first follows from all its days."""
    decoded = decode(data)
    found = list(_found(decoded.text))
    matches = [match for match, *_ in found if match is not None]
    first, second = (max((int(match[part]) for match in matches), default=0) for part in ("one", "two"))
    american = second > 12 or (first <= 12 and any(match["half"] for match in matches))
    messages = (_sent(match, lines, f"line {line}", american=american) for match, lines, line in found)
    return assemble("", _pieces(messages), decoded.notes, limits.text)


def _found(text: str) -> Iterator[tuple[re.Match[str] | None, list[str], int]]:
    """The beginning of each message, its lines, and the number of its first line; what stands before the first has none."""
    lines = ((line, _MESSAGE.fullmatch(line) or _TELEGRAM.fullmatch(line)) for line in text.split("\n"))
    number = 1
    for run in runs(lines, lambda _, line: line[1] is None):
        line, match = run[0]
        yield match, [match["rest"] if match else line, *(line for line, _ in run[1:])], number
        number += len(run)


def _sent(match: re.Match[str] | None, lines: list[str], place: str, *, american: bool) -> _Message:
    if match is None:
        return None, "", "", "\n".join(lines).strip(), place
    hour, half = int(match["hour"]), match["half"] or match["part"]
    hour = hour % 12 + 12 * (half in _LATER) if half else hour
    sender = match.groupdict().get("sender") or ""
    if not sender and (sent := _SENDER.match(lines[0])):
        sender, lines = sent["sender"].strip(), [sent["text"], *lines[1:]]
    one, two, three = (int(match[part]) for part in ("one", "two", "three"))
    year, month, number = (one, two, three) if one > 31 else (three, one, two) if american else (three, two, one)
    day = None
    with suppress(ValueError):
        day = date(year + 2000 * (year < 100), month, number)
    return day, f"{hour:02}:{match['minute']}", sender, "\n".join(lines).strip(), place


def parse_chat_json(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a chat exported as JSON. The title is the name of the chat or channel. Raises: Unreadable: it is not JSON."""
    decoded = decode(data)
    value = parse_json_text(decoded.text, "a chat")
    about = value if isinstance(value, dict) else {}
    listed = about.get("messages") if about else value
    records = [record for record in listed if isinstance(record, dict)] if isinstance(listed, list) else []
    named = ((str(record.get("user") or ""), _slack_name(record)) for record in records)
    users = {user: name for user, name in named if user and name}
    messages = [_message(record, number, users) for number, record in enumerate(records, 1)]
    if any("sender_name" in record for record in records):  # Messenger puts the latest first
        messages.reverse()
    channel = about.get("channel")
    title = about.get("name") or about.get("title") or (channel.get("name") if isinstance(channel, dict) else "")
    return assemble(_mended(title), _pieces(messages), decoded.notes, limits.text)


def _message(record: Mapping[str, Any], number: int, users: Mapping[str, str]) -> _Message:
    sent = _moment(record)
    day, time = (sent.date(), f"{sent:%H:%M}") if sent else (None, "")
    author = record.get("author")
    if isinstance(author, dict):  # Discord
        sender, text = author.get("nickname") or author.get("name"), record.get("content")
    elif "sender_name" in record:
        sender, text = _mended(record["sender_name"]), _mended(record.get("content"))
    elif "ts" in record:
        user = str(record.get("user") or "")
        sender = users.get(user) or record.get("username") or user
        text = unescape(_SLACK_LINK.sub(lambda link: _linked(link, users), str(record.get("text") or "")))
    else:
        sender, text = record.get("from") or record.get("actor"), _telegram_text(record.get("text"))
    return day, time, str(sender or ""), str(text or ""), f"message {number}"


def _moment(record: Mapping[str, Any]) -> datetime | None:
    try:
        if "ts" in record:
            return datetime.fromtimestamp(float(record["ts"]), UTC)
        if "timestamp_ms" in record:
            return datetime.fromtimestamp(float(record["timestamp_ms"]) / 1000, UTC)
        return datetime.fromisoformat(str(record.get("date") or record.get("timestamp")))
    except (ValueError, TypeError, OverflowError, OSError):
        return None


def _mended(value: object) -> str:
    """A text, whose bytes of UTF-8 Messenger writes as if each were a character."""
    text = value if isinstance(value, str) else ""
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text


def _telegram_text(value: object) -> str:
    """Text, or a list of texts and of objects with one, such as links and bold words."""
    if isinstance(value, list):
        return "".join(map(_telegram_text, value))
    return str(value.get("text") or "") if isinstance(value, dict) else value if isinstance(value, str) else ""


def _slack_name(record: Mapping[str, Any]) -> str:
    profile = record.get("user_profile")
    return str(profile.get("real_name") or profile.get("display_name") or "") if isinstance(profile, dict) else ""


def _linked(link: re.Match[str], users: Mapping[str, str]) -> str:
    group = f"@{link['group']}" if link["group"] else link["address"]
    return link["label"] or (users.get(link["id"], link["id"]) if link["user"] else group)


def _pieces(messages: Iterable[_Message]) -> Iterator[Piece]:
    last: date | None = None
    for day, time, sender, written, place in messages:
        text = _LEFT_OUT.sub("", written).strip()
        shown = f"{day.day} {day:%B %Y}" if day else ""
        if text and day is not None and day != last:
            last = day
            yield Piece(BlockKind.HEADING, shown, 1, place=place, date=day.isoformat())
        about = ", ".join(filter(None, (squeeze(sender), shown, time)))
        yield Piece(BlockKind.PARAGRAPH, f"{about}: {text}" if about and text else text, place=place)


_TIMES = re.compile(
    r"[ \t]*(?P<start>(?:\d+:)?\d{1,2}:\d{1,2})[.,]\d{1,3}[ \t]+-->[ \t]+(?P<end>(?:\d+:)?\d{1,2}:\d{1,2})[.,]\d{1,3}.*"
)
_VOICE = re.compile(r"<v(?:\.[\w.]+)?[ \t]+([^<>\n]{1,100})>")
_TAG = re.compile(r"<[^<>\n]{0,200}>|\{\\[^{}\n]{0,100}\}")
_SPEAKER = re.compile(r"(?:-|>>+)?[ \t]*(?P<name>[^\W\d_a-z][\w.'’ -]{0,40}):[ \t]+(?=\S)")
_ENDED = re.compile(r"[.!?…。！？][\"”’»)\]]*$")
_PAUSE = 4  # seconds without speech that end a sentence
_LONGEST = 400  # characters after which a text without punctuation is divided


@dataclass(slots=True)
class _Said:
    """What a speaker says from one second to another."""

    speaker: str
    text: str
    start: str
    until: int


def parse_subtitles(data: bytes, limits: ReadingLimits) -> Parsed:
    """Parse a file; the title is that of a WebVTT header, if it has one. Raises: Unreadable: it has no cues."""
    decoded = decode(data)
    head, _, rest = decoded.text.partition("\n")
    title = head.removeprefix("WEBVTT").strip(" -\t") if head.startswith("WEBVTT") else ""
    said = _sentences(_cues(rest if head.startswith("WEBVTT") else decoded.text))
    if not said:
        raise Unreadable("holds no subtitles: no line has a time from which to which something is shown")
    texts = ((f"{one.speaker}: {one.text}" if one.speaker else one.text, one.start) for one in said)
    pieces = (Piece(BlockKind.PARAGRAPH, text, place=place) for text, place in texts)
    return assemble(title, pieces, decoded.notes, limits.text)


def _cues(text: str) -> Iterator[_Said]:
    """What each cue adds to the one before. Comments and styles have no times, and are no cues."""
    shown: list[tuple[str, str]] = []
    for cue in re.split(r"\n[ \t]*\n", text):
        lines = cue.strip("\n").split("\n")
        timed = ((number, times) for number, line in enumerate(lines[:3], 1) if (times := _TIMES.fullmatch(line)))
        at, times = next(timed, (0, None))
        if times is None:
            continue
        before, shown = shown, []
        speaker = ""
        for line in lines[at:]:
            voice = found[1].strip() if (found := _VOICE.search(line)) else ""
            words = squeeze(unescape(_TAG.sub("", line))).removeprefix("- ")
            named = _SPEAKER.match(words)
            shown.append((voice, words))
            speaker = voice or (named["name"] if named else speaker)
            if (voice, words) not in before and (spoken := words[named.end() :] if named else words):
                yield _Said(speaker, spoken, times["start"], _seconds(times["end"]))


def _sentences(cues: Iterator[_Said]) -> list[_Said]:
    said: list[_Said] = []
    for cue in cues:
        last = said[-1] if said else None
        goes_on = last is not None and cue.speaker in ("", last.speaker) and _seconds(cue.start) - last.until < _PAUSE
        if last is not None and goes_on and not _ENDED.search(last.text) and len(last.text) < _LONGEST:
            last.text, last.until = f"{last.text} {cue.text}", cue.until
            continue
        cue.speaker = cue.speaker or (last.speaker if last is not None and goes_on else "")
        said.append(cue)
    return said


def _seconds(time: str) -> int:
    return reduce(lambda total, part: 60 * total + int(part), time.split(":"), 0)
