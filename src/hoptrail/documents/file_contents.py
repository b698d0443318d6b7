"""Reads the unparsed contents of files: their bytes at one moment, or the lines of JSONL files.

A gzip file is read as the file within it, named without `.gz`. Lines of JSON have our layout (`id`, `title`, `text`,
`sentences`, `date`) or BEIR's (`_id`); other keys are ignored. A broken line is reported with its number, and the others are
read. Memory is bounded by the longest line allowed.
"""

from __future__ import annotations

import gzip
import io
import json
import time
import zlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, BinaryIO

from hoptrail.documents.blocks import Parsed
from hoptrail.documents.decoding import cleaned, decode
from hoptrail.documents.forms import BY_NAME, JSON, JSONL, TEXT, form_of, known_ending, name_of, true_form
from hoptrail.documents.limits import MIB, NotReadNow, ReadingLimits, Unreadable
from hoptrail.documents.marks import TICK, FileMark, Known, day_of, mark_of, times_of
from hoptrail.documents.walking import Findings, Selection, SourceWalk, shown
from hoptrail.errors import DocumentError
from hoptrail.execution.executor import batched
from hoptrail.text.dates import find_date

NO_DOCUMENT = "neither text nor of a known format"  # the reason why a picture or a program is left out
_GZIP = ".gz"
_GZIP_MARK = b"\x1f\x8b"
_BEGINNING = 8192  # bytes of a file with an unknown ending that show whether it is text
_LOOKUP_BATCH = 1000  # files whose marks are looked up at once
_POSTSCRIPT = (b"%!PS", b"%!FontType")  # how PostScript begins: drawing programs, in which words are split up


@dataclass(frozen=True, slots=True)
class FileContent:
    """The content of a file that is one document; `modified` is the day of its last change (UTC, ISO 8601)."""

    path: Path
    form: str
    data: bytes
    modified: str


@dataclass(frozen=True, slots=True)
class JsonlDocument:
    """A document of a JSONL file, its text as it stands there. `source` is `path#id`, or `path#line-N` without an id."""

    source: str
    parsed: Parsed
    sentences: tuple[str, ...] = ()


Content = FileContent | JsonlDocument | DocumentError


def without_packing(path: Path) -> Path:
    """The path without the ending `.gz` that a file of text may have."""
    return path.with_suffix("") if _packing(path.name) else path


def title_of_file(path: Path) -> str:
    """The title of a file whose content has none: its name without the known ending."""
    return shown(Path(name_of(without_packing(path))))


def ending_of(name: str) -> str:
    """The known ending of a file name in lower case, such as `.md`, `.md.gz` or `.gz`; empty if there is none."""
    packing = _packing(name)
    return known_ending(name.lower().removesuffix(packing)) + packing


def _packing(name: str) -> str:
    return _GZIP if name.lower().endswith(_GZIP) and not known_ending(name) else ""


def is_readable(path: Path) -> bool:
    """Whether a file has a known ending, or else its content is text or of a recognisable form.
    Raises: Unreadable: it is a damaged gzip file. OSError: it could not be opened or read.
    """
    if form_of(without_packing(path)) is not None:
        return True
    with path.open("rb") as stream:
        is_packed = without_packing(path) != path and stream.peek(2)[:2] == _GZIP_MARK
        beginning = _unpacked(stream, _BEGINNING) if is_packed else stream.read(_BEGINNING)
    if true_form(None, beginning) is not None:
        return True
    if beginning.startswith(_POSTSCRIPT):
        return False
    with suppress(Unreadable):
        decode(beginning if len(beginning) < _BEGINNING else beginning[: beginning.rfind(b"\n") + 1] or beginning)
        return True
    return False


def contents_at(
    sources: Sequence[str | Path], limits: ReadingLimits, findings: Findings, known: Known, selection: Selection
) -> Iterator[Content]:
    """Yield the contents of files and folders: see `read_sources`."""
    walk = SourceWalk(sources, selection, findings)
    for source in sources:
        named = Path(source).is_file()
        for batch in batched(walk.files_of(Path(source)), _LOOKUP_BATCH):
            marks = known([shown(entry) for entry in batch if isinstance(entry, Path)])
            for entry in batch:
                if isinstance(entry, DocumentError):
                    findings.closed.append(entry.source)
                    yield entry
                elif (source := shown(entry)) not in findings.seen:
                    findings.seen.add(source)
                    yield from _in_file(entry, named, limits, findings, marks.get(source))


def _in_file(
    path: Path, named: bool, limits: ReadingLimits, findings: Findings, mark: FileMark | None
) -> Iterator[Content]:
    """The contents of a file; nothing if it is unchanged. What is no document is an error only if the user named it."""
    if mark is not None and mark.has_times_of(path):
        findings.unchanged += 1
        return
    source, form = shown(path), form_of(without_packing(path))
    has_lines = form is not None and form.name == JSONL
    try:
        if not is_readable(path):
            if named:
                raise Unreadable("is not text, and of no known format: `hoptrail index --help` lists them")
            findings.seen.discard(source)
            findings.left_out[source] = NO_DOCUMENT
        elif has_lines and not holds_records(path, limits):
            if (yield from read_lines(path, limits)):
                findings.whole.add(source)
        else:
            if has_lines:
                findings.whole.add(source)
            content = _whole_file(path, limits, findings)
            now = findings.marks[source]
            if mark is None or now.digest != mark.digest:
                yield content
                return
            findings.compared[source] = findings.marks.pop(source)
            findings.unchanged += 1
            if day_of(now.modified) != day_of(mark.modified):
                findings.redated[source] = day_of(now.modified)
    except (Unreadable, OSError) as error:
        yield failure(path, error)


def failure(path: Path, error: Unreadable | OSError) -> DocumentError:
    """The error of a document that could not be read, with its cause."""
    reason = f"could not be read ({error.strerror or error})" if isinstance(error, OSError) else str(error)
    failed = DocumentError(shown(path), reason, isinstance(error, OSError | NotReadNow))
    failed.__cause__ = error
    return failed


def read_again(path: Path, limits: ReadingLimits, findings: Findings) -> FileContent | DocumentError:
    """Read a file again, for a second parse."""
    try:
        return _whole_file(path, limits, findings)
    except (Unreadable, OSError) as error:
        return failure(path, error)


def _whole_file(path: Path, limits: ReadingLimits, findings: Findings) -> FileContent:
    """A file without a known form is text; a JSONL file read as a whole holds records, like JSON."""
    form = form_of(without_packing(path)) or BY_NAME[TEXT]
    largest = limits.file if form.packed else limits.text
    data, times = bytes_at_rest(path, largest)
    findings.marks[shown(path)] = mark_of(times, data)
    if without_packing(path) != path and data.startswith(_GZIP_MARK):
        data = _gunzip(data, largest, limits)
    return FileContent(path, JSON if form.name == JSONL else form.name, data, day_of(times[1]))


def _gunzip(data: bytes, largest: int, limits: ReadingLimits) -> bytes:
    most = min(largest, max(16 * MIB, limits.expansion * len(data)))
    content = _unpacked(io.BytesIO(data), most + 1)
    if len(content) <= most:
        return content
    if most == largest:
        raise Unreadable(f"unpacks to more than the limit of {largest} bytes: split it, or raise the limit")
    raise Unreadable("unpacks to far more than its size: looks like a gzip bomb (the limit `expansion`)")


def _unpacked(stream: IO[bytes], most: int) -> bytes:
    try:
        with gzip.GzipFile(fileobj=stream) as packed:
            return packed.read(most)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise Unreadable(f"is a damaged gzip file ({error})") from error


def bytes_at_rest(path: Path, largest: int) -> tuple[bytes, tuple[int, int, int]]:
    """The bytes of a file at one moment, and its size and times then. A file that changes meanwhile is read once more; one that
    changed within a tick of a coarse clock is read twice to compare.
    Raises: Unreadable: the file is larger than `largest` bytes, or changed again. OSError: it could not be opened or read.
    """
    for _ in range(2):
        before = times_of(path)
        size, modified, _ = before
        if size > largest:
            raise Unreadable(f"is larger than the limit of {largest} bytes: split it, or raise the limit")
        data = _read_bytes(path, size)
        fresh = time.time_ns() - modified < TICK
        changed = fresh and _read_bytes(path, size) != data
        if not changed and times_of(path) == before and len(data) == size:
            return data, before
    raise NotReadNow("keeps changing while it is being read: index it again when it is at rest")


def _read_bytes(path: Path, size: int) -> bytes:
    """The first `size` bytes, and one more if the file has grown. Asking for more bytes would allocate more."""
    with path.open("rb") as stream:
        return stream.read(size + 1)


_GIVE_UP_AFTER = 20
"""Broken lines from the start after which a file is taken for another kind, rather than reporting every line."""


def holds_records(path: Path, limits: ReadingLimits) -> bool:
    """Whether the first lines of a file are other records: JSON objects without a `text`."""
    with path.open("rb") as stream:
        if stream.peek(2)[:2] == _GZIP_MARK:
            return False
        lines = [line for _, line in islice(_numbered_lines(stream, limits.text, None), _GIVE_UP_AFTER)]
    try:
        values = [json.loads(line or b"") for line in lines]
    except (ValueError, RecursionError):
        return False
    return bool(values) and all(isinstance(value, dict) and "text" not in value for value in values)


def read_lines(path: Path, limits: ReadingLimits) -> Generator[JsonlDocument | DocumentError, None, bool]:
    """Yield the documents of a JSONL file, plain or gzipped (detected by content), and errors for the other lines. Returns
    whether there were lines and none failed: an empty file may be about to be written.
    """
    before, good, failed = times_of(path), False, False
    with path.open("rb") as raw:
        packed = raw.peek(2)[:2] == _GZIP_MARK
        stream: BinaryIO = gzip.GzipFile(fileobj=raw) if packed else raw  # type: ignore[assignment]
        most = max(16 * MIB, path.stat().st_size * limits.expansion) if packed else None
        number = 0
        try:
            for number, line in _numbered_lines(stream, limits.text, most):
                try:
                    yield _document(path, number, line, limits)
                    good = True
                except Unreadable as refusal:
                    failed = True
                    yield DocumentError(f"{shown(path)}, line {number}", str(refusal))
                if number >= _GIVE_UP_AFTER and not good:
                    yield DocumentError(shown(path), f"none of its first {number} lines is a document: not JSON lines")
                    break
        except (EOFError, gzip.BadGzipFile, zlib.error, Unreadable) as error:
            failed = True
            reason = str(error) if isinstance(error, Unreadable) else f"is a damaged gzip file ({error})"
            yield DocumentError(shown(path), f"{reason}; the lines before line {number + 1} were read", temporary=True)
    if times_of(path) != before:
        failed = True
        reason = "changed while it was being read: index it again when it is at rest"
        yield DocumentError(shown(path), reason, temporary=True)
    return good and not failed


def _numbered_lines(stream: BinaryIO, longest: int, most: int | None) -> Iterator[tuple[int, bytes | None]]:
    """Lines that are not blank, by number; None for one over `longest` bytes. `most`: bytes of the unpacked file, if limited."""
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
    title, date = (field if isinstance(field, str) else "" for field in (value.get("title"), value.get("date")))
    date = find_date(date)
    sentences = value.get("sentences")
    if not isinstance(sentences, list) or not all(isinstance(sentence, str) for sentence in sentences):
        sentences = ()
    names = (value.get(key) for key in ("id", "_id"))
    name = next((str(name) for name in names if isinstance(name, (str, int)) and str(name)), f"line-{number}")
    parsed = Parsed(title, text, date=date, date_from="its line" if date else "")
    return JsonlDocument(f"{shown(path)}#{cleaned(name).text}", parsed, tuple(sentences))


def tiling_ends(text: str, sentences: Sequence[str]) -> tuple[int, ...] | None:
    """The end offsets of `sentences` if they make up `text`, with only white space between them; else None. White space belongs
    to the sentence before it; sentences of white space alone are left out.
    """
    ends: list[int] = []
    place = len(text) - len(text.lstrip())
    for sentence in filter(None, map(str.strip, sentences)):
        if not text.startswith(sentence, place):
            return None
        place += len(sentence)
        while text[place : place + 1].isspace():
            place += 1
        ends.append(place)
    return tuple(ends) if place == len(text) and ends else None
