"""Reads files and folders as a stream of documents. One that cannot be read is named with its reason, and the rest goes on.

Knows which reader belongs to which file, and what a document's title, id and sources are. Formats: text, Markdown, HTML, PDF,
DOCX, JSON lines (`jsonl`). A PDF or DOCX file under a wrong name is told by its content; other content is taken at the name's
word. Nothing is fetched: web addresses are no sources. Files are opened by the process that asks; what is in them may be made
into documents elsewhere (an `Executor`), in batches.

The id of a document is made of its text and of the title that stands in its content. A file without one is shown under its
file name, which is not part of the id: the same text under two names is one document with two sources.
"""

from __future__ import annotations

import re
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from hoptrail.documents.jsonl import BadLine, Line, read_lines, tiling_ends
from hoptrail.documents.limits import DEFAULT_LIMITS, ReadingLimits
from hoptrail.documents.parsing import Parsing
from hoptrail.documents.text import Parsed, Unreadable, cleaned, decode
from hoptrail.documents.walking import LeftOut, files_of, shown
from hoptrail.errors import DocumentError
from hoptrail.executing.executor import HERE, Executor, Work, batched, from_to
from hoptrail.text.sentences import sentence_ends, shortened_ends
from hoptrail.types import Document, content_id

__all__ = ["DEFAULT_LIMITS", "FORMS", "Findings", "ReadingLimits", "form_of", "read_sources", "snapshot"]

FORMS = {
    ".txt": "text",
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".pdf": "pdf",
    ".docx": "docx",
    ".jsonl": "jsonl",
    ".jsonl.gz": "jsonl",
}
"""File name endings and the form of what is in them."""

BATCH_DOCUMENTS = 64
BATCH_BYTES = 8_000_000
"""Contents made into documents together in another process: at most this many, or about this many bytes."""

_LONGEST_TITLE = 300
_BEGINNING = 100_000
"""Characters of a Markdown text in which its title is looked for."""
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(?P<marked>[^\n]+)$|^(?P<underlined>\S[^\n]*)\n=+[ \t]*$", re.MULTILINE)
# What Obsidian, Hugo and Jekyll write before a text: YAML, of which only a title on one line is read. Before a blank line the
# dashes are a rule, as in Pandoc (https://pandoc.org/MANUAL.html#extension-yaml_metadata_block).
_FRONT_MATTER = re.compile(
    r"---[ \t]*\n(?![ \t]*\n)(?:#[^\n]*\n|[ \t]*\n)*+[\w-]+:(?=\s).*?^(?:---|\.\.\.)[ \t]*$", re.MULTILINE | re.DOTALL
)
_NAMED = re.compile(
    r"""^title:[ \t]+(?:"(?P<double>(?:[^"\\\n]|\\.)*+)"|'(?P<single>(?:[^'\n]|'')*+)'|(?P<plain>[^\s"'|>#\[{][^\n]*))""",
    re.MULTILINE,
)
_FENCED = re.compile(r"^ {0,3}(```|~~~).*?(?:^ {0,3}\1|\Z)", re.MULTILINE | re.DOTALL)


@dataclass(slots=True)
class Findings:
    """What reading finds out beside documents and failures. `notes` say what was left out; `whole` are the JSONL files, as
    source strings, that were read to their end without a failure: what was read from them before is there now, or gone.
    """

    notes: list[str] = field(default_factory=list)
    whole: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _File:
    """The content of a file that is one document."""

    path: Path
    form: str
    data: bytes


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


def form_of(path: Path) -> str | None:
    """The form that the file's name tells, or None."""
    name = path.name.lower()
    return next((form for ending, form in FORMS.items() if name.endswith(ending)), None)


def _contents(sources: Sequence[str | Path], limits: ReadingLimits, findings: Findings) -> Iterator[_Content]:
    """What is in the files, not yet understood."""
    for source in sources:
        for found in files_of(Path(source)):
            if isinstance(found, DocumentError):
                yield found
            elif isinstance(found, LeftOut):
                findings.notes += _left_out(found)
            else:
                yield from _read_file(found, limits, findings)


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


def _read_file(path: Path, limits: ReadingLimits, findings: Findings) -> Iterator[_Content]:
    form = form_of(path)
    try:
        if form is None:
            raise Unreadable(f"has an ending that is not read ({path.suffix or 'none'}); read are {', '.join(FORMS)}")
        if form == "jsonl":
            if (yield from _read_jsonl(path, limits)):
                findings.whole.add(shown(path))
        else:
            yield _File(path, form, snapshot(path, limits.file if form in ("pdf", "docx") else limits.text))
    except Unreadable as refusal:
        yield DocumentError(shown(path), str(refusal))
    except OSError as error:
        yield DocumentError(shown(path), f"could not be read ({error.strerror or error})")


def _from_file(file: _File, parsing: Parsing, limits: ReadingLimits) -> Document:
    path, data = file.path, file.data
    form, notes = _true_form(file.form, path, data)
    if form in ("text", "markdown"):
        decoded = decode(data)
        title = _markdown_title(decoded.text[:_BEGINNING]) if form == "markdown" else ""
        parsed = Parsed(title, decoded.text, decoded.notes)
    else:
        parsed = parsing.parse(form, data)
    parsed = Parsed(parsed.title, parsed.text, (*notes, *parsed.notes))
    return _document(parsed, shown(path), shown(Path(path.stem)), None, limits)


def _true_form(form: str, path: Path, data: bytes) -> tuple[str, tuple[str, ...]]:
    """The form by content, where that is beyond doubt, with a note if the name says otherwise."""
    true = form
    if data.startswith(b"%PDF-"):
        true = "pdf"
    elif data.startswith(b"PK\x03\x04") and b"word/document.xml" in data:
        true = "docx"
    return true, () if true == form else (f"named {path.suffix}, read as {true.upper()} by its content",)


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
    ends = tiling_ends(text.text, [cleaned(sentence).text for sentence in line.sentences])
    return _document(Parsed(line.title, text.text, text.notes), _source_of(content), "", ends, limits)


def _source_of(content: _LineOf) -> str:
    return f"{shown(content.path)}#{cleaned(content.line.name).text}"


def _document(
    parsed: Parsed, source: str, file_title: str, ends: tuple[int, ...] | None, limits: ReadingLimits
) -> Document:
    """`file_title` is shown where the content has no title; `ends` are sentence ends where the content gives them."""
    text = cleaned(parsed.text)
    declared = " ".join(cleaned(parsed.title).text.split())[:_LONGEST_TITLE]
    if ends is None:
        ends = sentence_ends(text.text, limits.longest_sentence)
    else:
        ends = shortened_ends(text.text, ends, limits.longest_sentence)
    empty = () if text.text.strip() else ("holds no text",)
    return Document(
        id=content_id("d", declared, text.text),
        title=declared or file_title,
        text=text.text,
        sentence_ends=ends,
        sources=(source,),
        notes=(*parsed.notes, *text.notes, *empty),
    )


def _markdown_title(text: str) -> str:
    """The one that its front matter names, else the first heading."""
    front = _FRONT_MATTER.match(text)
    if front is None:
        return _first_heading(text)
    return _named_title(front[0]) or _first_heading(text[front.end() :])


def _named_title(front_matter: str) -> str:
    found = _NAMED.search(front_matter)
    if found is None:
        return ""
    if found["double"] is not None:
        return re.sub(r"\\(.)", r"\1", found["double"]).strip()
    if found["single"] is not None:
        return found["single"].replace("''", "'").strip()
    return found["plain"].split(" #")[0].strip()


def _first_heading(text: str) -> str:
    """The first Markdown heading, of either style, outside code."""
    for found in _HEADING.finditer(_FENCED.sub("", text)):
        title = (found["marked"] or found["underlined"]).strip()
        without_close = title.rstrip("#")
        if found["marked"] and without_close[-1:] in ("", " ", "\t"):
            title = without_close.strip()
        if title:
            return title
    return ""


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
