"""Reads files and folders as a stream of documents. One that cannot be read is named with its reason, and the rest goes on.

Knows what a document's title, id, sources and date are; `forms` knows which parser belongs to which file. A file whose name tells
no form is read as text if it is text, and otherwise left out. Nothing is fetched: web addresses are no sources. Files are opened
by the process that asks; what is in them may be made into documents elsewhere (an `Executor`), in batches.

The id of a document is made of its text and of the title that stands in its content. A file without one is shown under its
file name, which is not part of the id: the same text under two names is one document with two sources.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from hoptrail.documents.blocks import Parsed, ends_within
from hoptrail.documents.doubts import doubts
from hoptrail.documents.forms import BY_NAME, JSON, JSONL, PDF, TEXT, form_of, true_form
from hoptrail.documents.jsonl import BadLine, Line, holds_records, read_lines, tiling_ends
from hoptrail.documents.limits import DEFAULT_LIMITS, ReadingLimits
from hoptrail.documents.parsing import Parsing
from hoptrail.documents.plain import parse_plain, plain_blocks
from hoptrail.documents.text import Unreadable, cleaned, decode
from hoptrail.documents.walking import LeftOut, Unfollowed, files_of, shown
from hoptrail.errors import DocumentError
from hoptrail.executing.executor import HERE, Executor, Work, batched, from_to
from hoptrail.text.dates import find_date
from hoptrail.text.sentences import shortened_ends
from hoptrail.types import Document, content_id

__all__ = ["DEFAULT_LIMITS", "Findings", "ReadingLimits", "read_sources", "snapshot"]

BATCH_DOCUMENTS = 64
BATCH_BYTES = 8_000_000
"""Contents made into documents together in another process: at most this many, or about this many bytes."""

FILE_NAME, FILE_TIME = "file name", "file time"
"""Where the date of a document comes from that says none itself."""

_LONGEST_TITLE = 300
_BEGINNING = 8192
"""Bytes of a file under an unknown name that tell whether it is worth reading as text."""
_FIRST_LINES, _DATE_LINE = 5, 60
"""Lines at the beginning of a text in which its date may stand, and the most characters of such a line."""


@dataclass(slots=True)
class Findings:
    """What reading finds out beside documents and failures. `notes` say what was decided; `left_out` are files, as source
    strings, that are of no form that is read and are not text. `whole` are the JSONL files that were read to their end without a
    failure: what was read from them before is there now, or gone.
    """

    notes: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    whole: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _File:
    """The content of a file that is one document; `modified` is the day of its last change (UTC, ISO)."""

    path: Path
    form: str
    data: bytes
    modified: str


@dataclass(frozen=True, slots=True)
class _LineOf:
    """A line of a JSONL file."""

    path: Path
    line: Line


_Content = _File | _LineOf | DocumentError


def read_sources(
    sources: Sequence[str | Path],
    limits: ReadingLimits = DEFAULT_LIMITS,
    executor: Executor = HERE,
    findings: Findings | None = None,
) -> Iterator[Document | DocumentError]:
    """The documents of files and folders, in the order of `sources`, folders sorted by name; errors are yielded in their place.

    A stream: one document is held at a time, or, where `executor` is another process, the batches under way there. The source
    of a document is its resolved path, for a line of a JSONL file `path#id` (or `path#line-N`). Documents with the same content
    are yielded each with its own source. `findings` are complete when the stream has ended.
    """
    contents = _contents(sources, limits, findings or Findings())
    if executor is HERE:  # as each is asked for, with one parser for all
        with Parsing(limits) as parsing:
            for content in contents:
                yield _document_of(content, parsing, limits)
        return
    work = Work("reading", partial(_documents, limits), lambda batch: from_to([_place(content) for content in batch]))
    for documents in executor.map(work, batched(contents, BATCH_DOCUMENTS, _size, BATCH_BYTES)):
        yield from documents


def _contents(sources: Sequence[str | Path], limits: ReadingLimits, findings: Findings) -> Iterator[_Content]:
    """What is in the files, not yet understood."""
    for source in sources:
        named = Path(source).is_file()
        for found in files_of(Path(source)):
            if isinstance(found, DocumentError):
                yield found
            elif isinstance(found, LeftOut):
                findings.notes += _left_out(found)
            elif isinstance(found, Unfollowed):
                findings.notes.append(f"{found.source} {found.reason}")
            else:
                yield from _read_file(found, named, limits, findings)


def _left_out(found: LeftOut) -> list[str]:
    number = sum(form_of(path) is not None for path in found.files)
    what = "another file that could be read was" if number == 1 else f"{number:,} other files that could be read were"
    folder = shown(found.corpus.parent)
    return [f"{folder}: a data folder, of which {found.corpus.name} is read; {what} left out"] if number else []


def _size(content: _Content) -> int:
    """Bytes, about."""
    if isinstance(content, _File):
        return len(content.data)
    return len(content.line.text) if isinstance(content, _LineOf) else 0


def _place(content: _Content) -> str:
    if isinstance(content, DocumentError):
        return content.source
    return _source_of(content) if isinstance(content, _LineOf) else shown(content.path)


def _documents(limits: ReadingLimits, contents: Sequence[_Content]) -> list[Document | DocumentError]:
    """What the contents say, an error in the place of one that cannot be understood."""
    with Parsing(limits) as parsing:
        return [_document_of(content, parsing, limits) for content in contents]


def _document_of(content: _Content, parsing: Parsing, limits: ReadingLimits) -> Document | DocumentError:
    if isinstance(content, DocumentError):
        return content
    if isinstance(content, _LineOf):
        return _from_line(content, limits)
    try:
        return _from_file(content, parsing, limits)
    except Unreadable as refusal:
        return DocumentError(shown(content.path), str(refusal))
    except OSError as error:  # no process, pipe or memory for parsing it
        return DocumentError(shown(content.path), f"could not be read ({error.strerror or error})")


def _read_file(path: Path, named: bool, limits: ReadingLimits, findings: Findings) -> Iterator[_Content]:
    """`named`: by the user, who wants to know why it was not read; in a folder a file that is no document is left out."""
    form = form_of(path)
    try:
        if form is None and not _begins_as_text(path):
            if named:
                raise Unreadable("is not text, and of no form that is read: `hoptrail index --help` lists them")
            findings.left_out.append(shown(path))
        elif form is not None and form.name == JSONL and not holds_records(path, limits):
            if (yield from _read_jsonl(path, limits)):
                findings.whole.add(shown(path))
        else:
            data = snapshot(path, limits.file if form is not None and form.packed else limits.text)
            modified = datetime.fromtimestamp(path.stat().st_mtime, UTC).date().isoformat()
            name = TEXT if form is None else JSON if form.name == JSONL else form.name
            yield _File(path, name, data, modified)
    except Unreadable as refusal:
        yield DocumentError(shown(path), str(refusal))
    except OSError as error:
        yield DocumentError(shown(path), f"could not be read ({error.strerror or error})")


def _begins_as_text(path: Path) -> bool:
    """Whether the beginning of a file under a name that tells nothing is text, or tells a form by itself."""
    with path.open("rb") as stream:
        beginning = stream.read(_BEGINNING)
    if true_form(None, beginning) is not None:
        return True
    try:
        decode(beginning if len(beginning) < _BEGINNING else beginning[: beginning.rfind(b"\n") + 1] or beginning)
    except Unreadable:
        return False
    return True


def _from_file(file: _File, parsing: Parsing, limits: ReadingLimits) -> Document:
    path, data = file.path, file.data
    form = true_form(BY_NAME[file.form], data) or BY_NAME[file.form]
    parsed = parse_plain(data, limits) if form.name == TEXT else parsing.parse(form.name, data)
    if form.name != file.form:
        note = f"named {path.suffix or 'without an ending'}, read as {form.name.upper()} by its content"
        parsed = replace(parsed, notes=(note, *parsed.notes))
    if form.name != PDF:  # which says of each page what is doubtful
        parsed = replace(parsed, notes=(*parsed.notes, *doubts(parsed.text, parsed.blocks)))
    parsed = _dated(parsed, path.stem, file.modified)
    return _document(parsed, shown(path), shown(Path(path.stem)), None, limits)


def _dated(parsed: Parsed, name: str = "", modified: str = "") -> Parsed:
    """With its date: the format's own, or one in the title, the first lines or the file's name, else the file's time."""
    if parsed.date:
        return parsed
    lines = [line for line in parsed.text[:1000].splitlines()[:_FIRST_LINES] if len(line) <= _DATE_LINE]
    places = ((parsed.title, "title"), (" ".join(lines), "first lines"), (name, FILE_NAME))
    found = ((date, place) for text, place in places if (date := find_date(text)))
    date, place = next(found, (modified, FILE_TIME if modified else ""))
    return replace(parsed, date=date, date_from=place)


def _read_jsonl(path: Path, limits: ReadingLimits) -> Generator[_LineOf | DocumentError, None, bool]:
    """Gives in the end whether there was something and nothing failed: a file without a line may be about to be written."""
    before, found, failed = _state(path), False, False
    for line in read_lines(path, limits):
        found = True
        if isinstance(line, BadLine):
            place = f"{shown(path)}, line {line.number}" if line.number else shown(path)
            failed = True
            yield DocumentError(place, line.reason)
        else:
            yield _LineOf(path, line)
    if _state(path) != before:
        failed = True
        yield DocumentError(shown(path), "changed while it was being read: index it again when it is at rest")
    return found and not failed


def _from_line(content: _LineOf, limits: ReadingLimits) -> Document:
    line = content.line
    text = cleaned(line.text)
    blocks = line.blocks or plain_blocks(text.text, lines=False)
    ends = tiling_ends(text.text, [cleaned(sentence).text for sentence in line.sentences])
    parsed = Parsed(line.title, text.text, text.notes, blocks, line.date, line.date_from)
    return _document(parsed, _source_of(content), "", ends, limits)


def _source_of(content: _LineOf) -> str:
    return f"{shown(content.path)}#{cleaned(content.line.name).text}"


def _document(
    parsed: Parsed, source: str, file_title: str, ends: tuple[int, ...] | None, limits: ReadingLimits
) -> Document:
    """`file_title` is shown where the content has no title; `ends` are sentence ends where the content gives them."""
    text = cleaned(parsed.text)
    declared = " ".join(cleaned(parsed.title).text.split())[:_LONGEST_TITLE]
    if ends is None:
        ends = ends_within(text.text, parsed.blocks, limits.longest_sentence)
    else:
        whole = sorted({*ends, *(block.end for block in parsed.blocks)})
        ends = shortened_ends(text.text, whole, limits.longest_sentence)
    empty = () if text.text.strip() else ("holds no text",)
    return Document(
        id=content_id("d", declared, text.text),
        title=declared or file_title,
        text=text.text,
        sentence_ends=ends,
        sources=(source,),
        notes=(*parsed.notes, *text.notes, *empty),
        blocks=parsed.blocks,
        date=parsed.date,
        date_from=parsed.date_from,
    )


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
