"""What is in the files that sources name, not yet understood: their bytes as they stood at one moment, or lines of JSON lines.

A file packed with gzip is read as the file within it, which has the same name without `.gz`.
"""

from __future__ import annotations

import gzip
import io
import time
import zlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hoptrail.documents.decoding import Unreadable, decode
from hoptrail.documents.forms import ENDINGS, JSON, JSONL, TEXT, Form, form_of, true_form
from hoptrail.documents.jsonl import BadLine, Line, holds_records, read_lines
from hoptrail.documents.limits import MIB, ReadingLimits
from hoptrail.documents.marks import FileMark, Known, day_of, mark_of, nothing_known, times_of
from hoptrail.documents.walking import LeftOut, Unfollowed, files_of, shown
from hoptrail.errors import DocumentError
from hoptrail.execution.executor import batched

GZIP = ".gz"
_GZIP_MARK = b"\x1f\x8b"
_BEGINNING = 8192
"""Bytes of a file under an unknown name that tell whether it is worth reading as text."""
_TOGETHER = 1000
"""Files that are looked up together."""
_PAGES = (b"%!PS", b"%!FontType")
"""How PostScript begins: programs that draw, in which words are cut up."""


@dataclass(slots=True)
class Findings:
    """What reading finds out beside documents and failures. `notes` say what was decided; `left_out` are files, as source
    strings, that are of no form that is read and are not text. `whole` are the JSONL files that were read to their end without a
    failure: what was read from them before is there now, or gone. `seen` are all files that were found, as source strings,
    whether they could be read or not; `closed` are places that could not be looked into, so what is there is not known.
    `unchanged` files hold what was read from them before; of those whose bytes had to be compared, and of those that were read,
    `compared` and `marks` have the marks; `redated` has the day of those whose bytes are the same and whose time is of another.
    """

    notes: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    whole: set[str] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)
    closed: list[str] = field(default_factory=list)
    unchanged: int = 0
    compared: dict[str, FileMark] = field(default_factory=dict)
    marks: dict[str, FileMark] = field(default_factory=dict)
    redated: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FileContent:
    """The content of a file that is one document; `modified` is the day of its last change (UTC, ISO)."""

    path: Path
    form: str
    data: bytes
    modified: str


@dataclass(frozen=True, slots=True)
class LineContent:
    """A line of a JSONL file."""

    path: Path
    line: Line


Content = FileContent | LineContent | DocumentError


def without_packing(path: Path) -> Path:
    """The path of a file, without the ending that says it is packed with gzip."""
    name = path.name.lower()
    return path.with_suffix("") if name.endswith(GZIP) and not name.endswith(ENDINGS) else path


def ending_of(name: str) -> str:
    """What the end of a file's name says of how to read it, in lower case: `.md`, `.md.gz`, `.gz`; empty if it says nothing."""
    lower = name.lower()
    packing = GZIP if lower.endswith(GZIP) and not lower.endswith(ENDINGS) else ""
    bare = lower.removesuffix(packing)
    return max((known for known in ENDINGS if bare.endswith(known)), key=len, default="") + packing


def is_readable(path: Path) -> bool:
    """Whether the name of a file tells a form that is read, or else its content is text or tells one.

    Raises:
        Unreadable: it is packed, and damaged.
        OSError: the file could not be opened or read.
    """
    return form_of(without_packing(path)) is not None or _begins_as_text(path)


def contents_at(
    sources: Sequence[str | Path],
    limits: ReadingLimits,
    findings: Findings,
    known: Known = nothing_known,
    *,
    follow: bool = False,
) -> Iterator[Content]:
    """The contents of files and folders in the order of `sources`, errors in the place of what could not be read; nothing of
    files that are `known` and unchanged. `follow`: see `files_of`.
    """
    for source in sources:
        named = Path(source).is_file()
        for some in batched(files_of(Path(source), follow=follow), _TOGETHER):
            marks = known([shown(found) for found in some if isinstance(found, Path)])
            for found in some:
                if isinstance(found, DocumentError):
                    findings.closed.append(found.source)
                    yield found
                elif isinstance(found, LeftOut):
                    findings.seen.update(map(shown, found.files))
                    findings.notes += _left_out(found)
                elif isinstance(found, Unfollowed):
                    findings.notes.append(f"{found.source} {found.reason}")
                else:
                    yield from _changed(found, named, limits, findings, marks)


def _changed(
    path: Path, named: bool, limits: ReadingLimits, findings: Findings, marks: Mapping[str, FileMark]
) -> Iterator[Content]:
    """What is in a file, unless it is as it was."""
    source = shown(path)
    findings.seen.add(source)
    mark = marks.get(source)
    if mark is not None and mark.has_times_of(path):
        findings.unchanged += 1
    else:
        yield from _in_file(path, named, limits, findings, mark)


def _left_out(found: LeftOut) -> list[str]:
    number = sum(form_of(without_packing(path)) is not None for path in found.files)
    what = "another file that could be read was" if number == 1 else f"{number:,} other files that could be read were"
    folder = shown(found.corpus.parent)
    return [f"{folder}: a data folder, of which {found.corpus.name} is read; {what} left out"] if number else []


def _in_file(
    path: Path, named: bool, limits: ReadingLimits, findings: Findings, mark: FileMark | None
) -> Iterator[Content]:
    """`named`: by the user, who wants to know why it was not read; in a folder a file that is no document is left out."""
    form = form_of(without_packing(path))
    try:
        if not is_readable(path):
            if named:
                raise Unreadable("is not text, and of no form that is read: `hoptrail index --help` lists them")
            findings.left_out.append(shown(path))
        elif form is not None and form.name == JSONL and not holds_records(path, limits):
            if (yield from _in_jsonl(path, limits)):
                findings.whole.add(shown(path))
        else:
            content = _whole_file(path, form, limits, findings)
            now = findings.marks.get(shown(path))
            if mark is not None and now is not None and now.digest == mark.digest:
                findings.compared[shown(path)] = findings.marks.pop(shown(path))
                findings.unchanged += 1
                if day_of(now.modified) != day_of(mark.modified):
                    findings.redated[shown(path)] = day_of(now.modified)
            else:
                yield content
    except Unreadable as refusal:
        yield DocumentError(shown(path), str(refusal))
    except OSError as error:
        yield DocumentError(shown(path), f"could not be read ({error.strerror or error})")


def read_again(path: Path, limits: ReadingLimits, findings: Findings) -> FileContent | DocumentError:
    """The content of a file that gave one before."""
    try:
        return _whole_file(path, form_of(without_packing(path)), limits, findings)
    except Unreadable as refusal:
        return DocumentError(shown(path), str(refusal))
    except OSError as error:
        return DocumentError(shown(path), f"could not be read ({error.strerror or error})")


def _whole_file(path: Path, form: Form | None, limits: ReadingLimits, findings: Findings) -> FileContent:
    """A file whose name tells no form is text; one of JSON lines that is read as a whole holds records."""
    largest = limits.file if form is not None and form.packed else limits.text
    times = times_of(path)
    data = snapshot(path, largest)
    findings.marks.pop(shown(path), None)
    if times == times_of(path):
        findings.marks[shown(path)] = mark_of(times, data)
    if without_packing(path) != path and data.startswith(_GZIP_MARK):
        data = _unpacked(data, largest, limits)
    name = TEXT if form is None else JSON if form.name == JSONL else form.name
    return FileContent(path, name, data, day_of(times[1]))


def _unpacked(data: bytes, largest: int, limits: ReadingLimits) -> bytes:
    """What is packed with gzip.

    Raises:
        Unreadable: damaged, or it unpacks to too much.
    """
    most = min(largest, max(16 * MIB, limits.expansion * len(data)))
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            content = stream.read(most + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise Unreadable(f"is a damaged gzip file ({error})") from error
    if len(content) <= most:
        return content
    if most == largest:
        raise Unreadable(f"unpacks to more than the limit of {largest} bytes: split it, or raise the limit")
    raise Unreadable("unpacks to far more than its size: looks like a gzip bomb (the limit `expansion`)")


def _begins_as_text(path: Path) -> bool:
    """Whether the beginning of a file under a name that tells nothing is text, or tells a form by itself."""
    beginning = _beginning(path)
    if true_form(None, beginning) is not None:
        return True
    if beginning.startswith(_PAGES):
        return False
    try:
        decode(beginning if len(beginning) < _BEGINNING else beginning[: beginning.rfind(b"\n") + 1] or beginning)
    except Unreadable:
        return False
    return True


def _beginning(path: Path) -> bytes:
    with path.open("rb") as stream:
        if without_packing(path) == path or stream.peek(2)[:2] != _GZIP_MARK:
            return stream.read(_BEGINNING)
        try:
            with gzip.GzipFile(fileobj=stream) as packed:
                return packed.read(_BEGINNING)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise Unreadable(f"is a damaged gzip file ({error})") from error


def _in_jsonl(path: Path, limits: ReadingLimits) -> Generator[LineContent | DocumentError, None, bool]:
    """Gives in the end whether there was something and nothing failed: a file without a line may be about to be written."""
    before, found, failed = _state(path), False, False
    for line in read_lines(path, limits):
        found = True
        if isinstance(line, BadLine):
            place = f"{shown(path)}, line {line.number}" if line.number else shown(path)
            failed = True
            yield DocumentError(place, line.reason)
        else:
            yield LineContent(path, line)
    if _state(path) != before:
        failed = True
        yield DocumentError(shown(path), "changed while it was being read: index it again when it is at rest")
    return found and not failed


def snapshot(path: Path, largest: int) -> bytes:
    """The bytes of a file as they stood at one moment. A file that changes under way is read once more.

    Raises:
        Unreadable: larger than `largest` bytes, or changed again.
        OSError: the file could not be opened or read.
    """
    for _ in range(2):
        data = _read_at_rest(path, largest)
        if data is not None:
            return data
    raise Unreadable("keeps changing while it is being read: index it again when it is at rest")


def _read_at_rest(path: Path, largest: int) -> bytes | None:
    """The bytes of a file, or None if it changed meanwhile. One written a moment ago is compared with itself, because
    two writes within one tick of the file system's clock leave the same time.
    """
    before = _state(path)
    size, changed_at = before[1], before[2]
    if size > largest:
        raise Unreadable(f"is larger than the limit of {largest} bytes: split it, or raise the limit")
    data = _read_bytes(path, size)
    fresh = time.time_ns() - changed_at < 2_000_000_000
    changed = fresh and _read_bytes(path, size) != data
    return None if changed or _state(path) != before or len(data) != size else data


def _read_bytes(path: Path, size: int) -> bytes:
    """The first `size` bytes, and one more if the file has grown. Asking for more would reserve more."""
    with path.open("rb") as stream:
        return stream.read(size + 1)


def _state(path: Path) -> tuple[int, int, int]:
    """What changes when the file does: inode, size in bytes, time of last change in nanoseconds."""
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns
