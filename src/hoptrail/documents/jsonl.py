"""Streams documents from JSON lines in our layout (`id`, `title`, `text`, `sentences`, `date`) and BEIR's (`_id`).

A broken line is reported with its number; the others are read. Memory is bounded by the longest line allowed. Other keys of a
line are ignored.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from hoptrail.documents.blocks import unpack_for
from hoptrail.documents.decoding import cleaned
from hoptrail.documents.limits import MIB, ReadingLimits, Unreadable
from hoptrail.documents.walking import shown
from hoptrail.errors import DocumentError
from hoptrail.text.dates import find_date
from hoptrail.types import Block

GIVE_UP_AFTER = 20
"""Broken lines from the start after which a file is taken for another kind, rather than reporting every line."""


@dataclass(frozen=True, slots=True)
class JsonlDocument:
    """A document of a JSONL file. `source` is `path#id`, or `path#line-N` without an id; missing values are empty."""

    source: str
    title: str
    text: str
    sentences: tuple[str, ...]
    blocks: tuple[Block, ...] = ()
    date: str = ""
    date_from: str = ""


def holds_records(path: Path, limits: ReadingLimits) -> bool:
    """Whether the first lines of a file are other records: JSON objects without a `text`."""
    with path.open("rb") as stream:
        if stream.peek(2)[:2] == b"\x1f\x8b":
            return False
        lines = [line for _, line in islice(_numbered_lines(stream, limits.text, None), GIVE_UP_AFTER)]
    try:
        values = [json.loads(line or b"") for line in lines]
    except (ValueError, RecursionError):
        return False
    return bool(values) and all(isinstance(value, dict) and "text" not in value for value in values)


def read_lines(path: Path, limits: ReadingLimits) -> Iterator[JsonlDocument | DocumentError]:
    """Yield the documents of a JSONL file, plain or gzipped (detected by content), and errors for the other lines."""
    with path.open("rb") as raw:
        packed = raw.peek(2)[:2] == b"\x1f\x8b"
        stream: BinaryIO = gzip.GzipFile(fileobj=raw) if packed else raw  # type: ignore[assignment]
        most = max(16 * MIB, path.stat().st_size * limits.expansion) if packed else None
        number, good = 0, False
        try:
            for number, line in _numbered_lines(stream, limits.text, most):
                try:
                    yield _document(path, number, line, limits)
                    good = True
                except Unreadable as refusal:
                    yield DocumentError(f"{shown(path)}, line {number}", str(refusal))
                if number >= GIVE_UP_AFTER and not good:
                    yield DocumentError(shown(path), f"none of its first {number} lines is a document: not JSON lines")
                    return
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            reason = f"is a damaged gzip file ({error}); the lines before line {number + 1} were read"
            yield DocumentError(shown(path), reason, temporary=True)
        except Unreadable as refusal:
            reason = f"{refusal}; the lines before line {number + 1} were read"
            yield DocumentError(shown(path), reason, temporary=True)


def _numbered_lines(stream: BinaryIO, longest: int, most: int | None) -> Iterator[tuple[int, bytes | None]]:
    """Yield lines that are not blank with their numbers from 1; None in place of a line over `longest` bytes. `most`: bytes that
    the whole file may unpack to, None for no limit.
    """
    total = 0
    for number, line in enumerate(iter(partial(stream.readline, longest + 1), b""), 1):
        too_long = len(line) > longest
        rest = line
        while rest:
            total += len(rest)
            if most is not None and total > most:
                raise Unreadable("unpacks to far more than its size: looks like a gzip bomb (the limit `expansion`)")
            rest = stream.readline(MIB) if too_long and not rest.endswith(b"\n") else b""
        if too_long or not line.isspace():
            yield number, None if too_long else line


def _document(path: Path, number: int, line: bytes | None, limits: ReadingLimits) -> JsonlDocument:
    if line is None:
        raise Unreadable(f"is longer than {limits.text} bytes: split it, or raise the limit `text`")
    try:
        value = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
    except UnicodeDecodeError as error:
        raise Unreadable(f"is not UTF-8 (byte {error.start + 1} of the line): save the file as UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"is not JSON ({error})") from error
    if not isinstance(value, dict):
        raise Unreadable(f"is not a JSON object but a {type(value).__name__}")
    text = value.get("text")
    if not isinstance(text, str):
        raise Unreadable("has no `text`, or one that is not a string")
    try:
        blocks = unpack_for(text, value.get("blocks"))
    except ValueError as error:
        raise Unreadable(f"has `blocks` that do not fit its text ({error}): leave them out") from error
    fields = (value.get(key) for key in ("title", "date", "date_from"))
    title, date, origin = (field if isinstance(field, str) else "" for field in fields)
    date = find_date(date)
    sentences = value.get("sentences")
    if not isinstance(sentences, list) or not all(isinstance(sentence, str) for sentence in sentences):
        sentences = ()
    names = (value.get(key) for key in ("id", "_id"))
    name = next((str(name) for name in names if isinstance(name, (str, int)) and str(name)), f"line-{number}")
    source = f"{shown(path)}#{cleaned(name).text}"
    return JsonlDocument(source, title, text, tuple(sentences), blocks, date, (origin or "its line") if date else "")


def tiling_ends(text: str, sentences: Sequence[str]) -> tuple[int, ...] | None:
    """The end offsets of `sentences` if they make up `text`, with only white space between them; else None. White space belongs
    to the sentence before it; sentences of white space alone are left out.
    """
    ends: list[int] = []
    place = len(text) - len(text.lstrip())
    for sentence in map(str.strip, sentences):
        if not sentence:
            continue
        if not text.startswith(sentence, place):
            return None
        place += len(sentence)
        while place < len(text) and text[place].isspace():
            place += 1
        ends.append(place)
    return tuple(ends) if place == len(text) and ends else None
