"""Reads files and folders as a stream of documents. One that cannot be read is named with its reason, and the rest goes on.

Knows what a document's title, id, sources and date are; `forms` knows which parser belongs to which file. A file whose name tells
no form is read as text if it is text, and otherwise left out. Nothing is fetched: web addresses are no sources. Files are opened
by the process that asks (`contents`); what is in them may be made into documents elsewhere (an `Executor`), in batches. A file
whose parsing takes long is left for the end, so that it never holds up others.

The id of a document is made of its text, its blocks with their places, and the title that stands in its content: what is read
otherwise than before takes the place of what was read then. A file without a title is shown under its file name, which is not
part of the id: the same text under two names is one document with two sources.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from hoptrail.documents.blocks import Parsed, ends_within, pack
from hoptrail.documents.child_parsing import Parsing, TookTooLong
from hoptrail.documents.decoding import Unreadable, cleaned
from hoptrail.documents.doubts import doubts
from hoptrail.documents.file_contents import (
    Content,
    FileContent,
    Findings,
    LineContent,
    contents_at,
    read_again,
    without_packing,
)
from hoptrail.documents.forms import BY_NAME, PDF, TEXT, name_of, true_form
from hoptrail.documents.jsonl import tiling_ends
from hoptrail.documents.limits import DEFAULT_LIMITS, ReadingLimits
from hoptrail.documents.marks import FILE_TIME, Known, nothing_known
from hoptrail.documents.plain_text import parse_plain, plain_blocks
from hoptrail.documents.walking import shown
from hoptrail.errors import DocumentError
from hoptrail.execution.executor import LOCAL_EXECUTOR, Executor, Work, batched, from_to
from hoptrail.text.dates import find_date
from hoptrail.text.sentences import shortened_ends
from hoptrail.types import Block, BlockKind, Document, content_id

__all__ = ["DEFAULT_LIMITS", "Findings", "ReadingLimits", "read_sources"]

BATCH_DOCUMENTS = 64
BATCH_BYTES = 8_000_000
"""Contents made into documents together in another process: at most this many, or about this many bytes."""

FILE_NAME = "file name"
"""Where the date of a document comes from that says none itself."""

_LONGEST_TITLE = 300
_FIRST_LINES, _DATE_LINE = 5, 60
"""Lines at the beginning of a text in which its date may stand, and the most characters of such a line."""


@dataclass(frozen=True, slots=True)
class _Slow:
    """A file whose first try took too long."""

    path: Path


_Result = Document | DocumentError | _Slow


def read_sources(
    sources: Sequence[str | Path],
    limits: ReadingLimits = DEFAULT_LIMITS,
    executor: Executor = LOCAL_EXECUTOR,
    findings: Findings | None = None,
    known: Known = nothing_known,
    *,
    follow: bool = False,
) -> Iterator[Document | DocumentError]:
    """The documents of files and folders, in the order of `sources`, folders sorted by name; errors are yielded in their place.
    Files whose parsing takes long come after all others, in the same order.

    A stream: one document is held at a time, or, where `executor` is another process, the batches under way there. The source
    of a document is its resolved path, for a line of a JSONL file `path#id` (or `path#line-N`). Documents with the same content
    are yielded each with its own source, nothing of files that are `known` and unchanged. `findings` are complete when the
    stream has ended. With `follow`, links that lead out of a folder are followed.
    """
    findings = findings or Findings()
    contents: Iterator[Content] = contents_at(sources, limits, findings, known, follow=follow)
    alone = len(sources) == 1 and Path(sources[0]).is_file()
    for first_try in (False,) if alone else (True, False):
        slow: list[_Slow] = []
        for result in _results(contents, limits, executor, first_try=first_try):
            if isinstance(result, _Slow):
                slow.append(result)
            else:
                yield result
        contents = (read_again(one.path, limits, findings) for one in slow)


def _results(
    contents: Iterator[Content], limits: ReadingLimits, executor: Executor, *, first_try: bool
) -> Iterator[_Result]:
    """What the contents say, in their order, or that it takes long to find out."""
    if executor is LOCAL_EXECUTOR:  # as each is asked for, with one parser for all
        with Parsing(limits) as parsing:
            for content in contents:
                yield _result_of(content, parsing, limits, first_try)
        return
    work = Work("reading", partial(_batch, limits, first_try), lambda batch: from_to([_place(one) for one in batch]))
    most = BATCH_DOCUMENTS if first_try else 1
    for results in executor.map(work, batched(contents, most, _size, BATCH_BYTES)):
        yield from results


def _size(content: Content) -> int:
    """Bytes, about."""
    if isinstance(content, FileContent):
        return len(content.data)
    return len(content.line.text) if isinstance(content, LineContent) else 0


def _place(content: Content) -> str:
    if isinstance(content, DocumentError):
        return content.source
    return _source_of(content) if isinstance(content, LineContent) else shown(content.path)


def _batch(limits: ReadingLimits, first_try: bool, contents: Sequence[Content]) -> list[_Result]:
    """What the contents say, an error in the place of one that cannot be understood."""
    with Parsing(limits) as parsing:
        return [_result_of(content, parsing, limits, first_try) for content in contents]


def _result_of(content: Content, parsing: Parsing, limits: ReadingLimits, first_try: bool) -> _Result:
    if isinstance(content, DocumentError):
        return content
    if isinstance(content, LineContent):
        return _from_line(content, limits)
    try:
        return _from_file(content, parsing, limits, first_try)
    except TookTooLong as refusal:
        return _Slow(content.path) if first_try else DocumentError(shown(content.path), str(refusal))
    except Unreadable as refusal:
        return DocumentError(shown(content.path), str(refusal))
    except OSError as error:  # no process, pipe or memory for parsing it
        return DocumentError(shown(content.path), f"could not be read ({error.strerror or error})")


def _from_file(file: FileContent, parsing: Parsing, limits: ReadingLimits, first_try: bool) -> Document:
    path, data = without_packing(file.path), file.data
    form = true_form(BY_NAME[file.form], data) or BY_NAME[file.form]
    is_text = form.name == TEXT
    parsed = parse_plain(data, limits) if is_text else parsing.parse(form.name, data, first_try=first_try)
    if form.name != file.form:
        note = f"named {path.suffix or 'without an ending'}, read as {form.name.upper()} by its content"
        parsed = replace(parsed, notes=(note, *parsed.notes))
    if form.name != PDF:  # which says of each page what is doubtful
        parsed = replace(parsed, notes=(*parsed.notes, *doubts(parsed.text, parsed.blocks)))
    name = name_of(path)
    parsed = _dated(parsed, name, file.modified)
    return _document(parsed, shown(file.path), shown(Path(name)), None, limits)


def _dated(parsed: Parsed, name: str = "", modified: str = "") -> Parsed:
    """With its date: the format's own, or one in the title, the first lines or the file's name, else the file's time.

    Dates in a table are of what it lists, and dates in headings below the first are of what is under them, not of the document.
    """
    if parsed.date:
        return replace(parsed, blocks=tuple(_block_of(block, parsed.date) for block in parsed.blocks))
    end = next((block.start for block in parsed.blocks if _dates_a_part(block, parsed.text)), len(parsed.text))
    lines = [line for line in parsed.text[: min(end, 1000)].splitlines()[:_FIRST_LINES] if len(line) <= _DATE_LINE]
    places = ((parsed.title, "title"), (" ".join(lines), "first lines"), (name, FILE_NAME))
    found = ((date, place) for text, place in places if (date := find_date(text)))
    date, place = next(found, (modified, FILE_TIME if modified else ""))
    return replace(parsed, date=date, date_from=place)


def _dates_a_part(block: Block, text: str) -> bool:
    if block.kind is BlockKind.HEADING and block.level > 1:
        return bool(find_date(text[block.start : block.end]))
    return block.kind is BlockKind.ROW


def _block_of(block: Block, date: str) -> Block:
    """A block of a document that says its date, which holds for it unless it stands under another, or quotes what is older.

    A date of a file's name or time does not come here: blocks are part of the id, which is the same wherever a file stands.
    """
    return block if block.date or block.kind is BlockKind.QUOTE else replace(block, date=date)


def _from_line(content: LineContent, limits: ReadingLimits) -> Document:
    line = content.line
    text = cleaned(line.text)
    blocks = line.blocks or plain_blocks(text.text, lines=False)
    ends = tiling_ends(text.text, [cleaned(sentence).text for sentence in line.sentences])
    parsed = Parsed(line.title, text.text, text.notes, blocks, line.date, line.date_from)
    return _document(parsed, _source_of(content), "", ends, limits)


def _source_of(content: LineContent) -> str:
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
        id=content_id("d", declared, text.text, *filter(None, [pack(parsed.blocks)])),
        title=declared or file_title,
        text=text.text,
        sentence_ends=ends,
        sources=(source,),
        notes=(*parsed.notes, *text.notes, *empty),
        blocks=parsed.blocks,
        date=parsed.date,
        date_from=parsed.date_from,
    )
