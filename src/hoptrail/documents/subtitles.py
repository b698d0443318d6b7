"""Parses subtitles and transcripts (SRT, WebVTT) into the sentences that were said, each with its speaker and its time.

A sentence goes on over cues until it ends, the speaker changes, or there is a pause. A line that is shown again in the next cue,
as in captions that roll, counts once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from html import unescape

from hoptrail.documents.blocks import Parsed, Piece, assemble
from hoptrail.documents.decoding import decode
from hoptrail.documents.limits import ReadingLimits, Unreadable
from hoptrail.text.normal_forms import squeeze
from hoptrail.types import BlockKind

_TIMES = re.compile(
    r"[ \t]*(?P<start>(?:\d+:)?\d{1,2}:\d{1,2})[.,]\d{1,3}[ \t]+-->[ \t]+(?P<end>(?:\d+:)?\d{1,2}:\d{1,2})[.,]\d{1,3}.*"
)
_VOICE = re.compile(r"<v(?:\.[\w.]+)?[ \t]+([^<>\n]{1,100})>")
_TAG = re.compile(r"<[^<>\n]{0,200}>|\{\\[^{}\n]{0,100}\}")
_SPEAKER = re.compile(r"(?:-|>>+)?[ \t]*(?P<name>[^\W\d_a-z][\w.'’ -]{0,40}):[ \t]+(?=\S)")
_ENDED = re.compile(r"[.!?…。！？][\"”’»)\]]*$")
_PAUSE = 4
"""Seconds without speech that end a sentence."""
_LONGEST = 400
"""Characters after which a text without punctuation is divided."""


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
    said = _joined(_cues(rest if head.startswith("WEBVTT") else decoded.text))
    if not said:
        raise Unreadable("holds no subtitles: no line has a time from which to which something is shown")
    texts = ((f"{one.speaker}: {one.text}" if one.speaker else one.text, one.start) for one in said)
    pieces = (Piece(BlockKind.PARAGRAPH, text, place=place) for text, place in texts)
    return assemble(title, pieces, decoded.notes, limits.text)


def _cues(text: str) -> Iterator[_Said]:
    """What each cue adds to the one before. Comments and styles have no times, and are no cues."""
    shown: list[str] = []
    for cue in re.split(r"\n[ \t]*\n", text):
        lines = cue.strip("\n").split("\n")
        found = ((number, times) for number, line in enumerate(lines[:3], 1) if (times := _TIMES.fullmatch(line)))
        at, times = next(found, (0, None))
        if times is None:
            continue
        before, shown = shown, [line for line in lines[at:] if line.strip()]
        speaker = ""
        for line in shown:
            voice = _VOICE.search(line)
            words = squeeze(unescape(_TAG.sub("", line))).removeprefix("- ")
            named = _SPEAKER.match(words)
            speaker = voice[1].strip() if voice else named["name"] if named else speaker
            if line not in before and (spoken := words[named.end() :] if named else words):
                yield _Said(speaker, spoken, times["start"], _seconds(times["end"]))


def _joined(cues: Iterator[_Said]) -> list[_Said]:
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
