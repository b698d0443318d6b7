"""Reads files and folders as a stream of documents. A file that cannot be read becomes an error; reading continues.

Decides on a document's title, id, sources and date; `forms` chooses the parser. A file with an unknown ending is read as text if
it is text, and otherwise left out. Web addresses are not read. The calling process opens the files (`file_contents`); an
`Executor` may parse them elsewhere in batches. Files that take long to parse come last, so that they do not hold up others.

The id of a document is a hash of its text, its blocks with their places, and the title in its content, so a changed reading
replaces the earlier one. A file without a title is shown under its file name, which is not part of the id: the same text under
two names is one document with two sources.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import takewhile
from pathlib import Path

from hoptrail.documents.blocks import Parsed, document_id, ends_within
from hoptrail.documents.child import Parsing, TookTooLong
from hoptrail.documents.decoding import cleaned, doubts
from hoptrail.documents.file_contents import (
    Content,
    FileContent,
    JsonlDocument,
    contents_at,
    failure,
    read_again,
    tiling_ends,
    title_of_file,
    without_packing,
)
from hoptrail.documents.forms import BY_NAME, PDF, TEXT, name_of, true_form
from hoptrail.documents.limits import DEFAULT_LIMITS, ReadingLimits, Unreadable
from hoptrail.documents.marks import FILE_TIME, Known, nothing_known
from hoptrail.documents.plain_text import parse_plain, plain_blocks
from hoptrail.documents.walking import USUAL_SELECTION, Findings, Selection, shown
from hoptrail.errors import DocumentError, Interrupted
from hoptrail.execution.executor import LOCAL_EXECUTOR, Executor, Work, batched, from_to
from hoptrail.text.dates import date_above, find_date, stated_date
from hoptrail.text.lexicon import word_set
from hoptrail.text.normal_forms import squeeze
from hoptrail.text.sentences import shortened_ends
from hoptrail.types import Block, BlockKind, Document

__all__ = ["DEFAULT_LIMITS", "Findings", "ReadingLimits", "read_sources"]

BATCH_DOCUMENTS = 64
BATCH_BYTES = 8_000_000
"""Contents of a batch for another process: at most this many, or about this many bytes."""

FILE_NAME = "file name"  # the origin of a document's date if only its file name has one

_LONGEST_TITLE = 300
_OF_NOTES = ("markdown", "org", TEXT)  # formats of notes, whose file names are the names by which notes call each other
_NAMED = re.compile(r"(?!\w*\d)[^\W\d_a-z][^\W\d_]*[^\W\d_A-Z][^\W\d_]*(?:[ -][^\W\d_]+){0,5}")
"""Words without digits, the first with a capital letter and not in capitals."""
_UNTELLING = word_set("index home main notes note overview introduction untitled document readme contents page")
_FIRST_LINES, _DATE_LINE = 5, 60
"""Lines at the start of a text that may hold its date, and the maximal length of such a line in characters."""
_DUE = re.compile(r"(?:^|\s)\[[ xX]\]\s|[☐☑📅⏳🛫✅]|\b(?:DEADLINE|SCHEDULED|CLOSED|CLOCK|due)\b")
"""What stands in a line with the date of a task, which is not that of its document."""
_STATING_LINES = 8  # that may state the date of the document, however long


_Result = Document | DocumentError | Path  # a path is that of a file that takes too long for a first try


def read_sources(
    sources: Sequence[str | Path],
    limits: ReadingLimits = DEFAULT_LIMITS,
    executor: Executor = LOCAL_EXECUTOR,
    findings: Findings | None = None,
    known: Known = nothing_known,
    selection: Selection = USUAL_SELECTION,
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator[Document | DocumentError]:
    """Yield the documents of files and folders in the order of `sources`, folders sorted by name, errors in their place.

    Files that take long to parse come after all others, in the same order. Memory holds one document at a time, or the
    batches in flight if `executor` runs in another process. Documents with equal content are all yielded, each with its
    source. A file that several sources hold is read once. Files that are `known` and unchanged yield nothing. `findings` are
    complete when the stream has ended. The stream ends early once `stopped` returns True.
    """
    findings = findings or Findings()
    contents: Iterator[Content] = contents_at(sources, limits, findings, known, selection)
    alone = len(sources) == 1 and Path(sources[0]).is_file()
    for first_try in (False,) if alone else (True, False):
        slow: list[Path] = []
        going = takewhile(lambda _: not stopped(), contents)
        for result in _results(going, limits, executor, first_try, stopped):
            if isinstance(result, Path):
                slow.append(result)
            else:
                yield result
        contents = (read_again(path, limits, findings) for path in slow)


def _results(
    contents: Iterator[Content], limits: ReadingLimits, executor: Executor, first_try: bool, stopped: Callable[[], bool]
) -> Iterator[_Result]:
    if executor is LOCAL_EXECUTOR:  # one by one, with one parser process for all
        with Parsing(limits, stopped, first_try=first_try) as parsing, suppress(Interrupted):
            for content in contents:
                yield _result_of(content, parsing)
        return
    work = Work("reading", partial(_parse_batch, limits, first_try), _sources_of)
    most = BATCH_DOCUMENTS if first_try else 1
    for results in executor.map(work, batched(contents, most, _size, BATCH_BYTES)):
        yield from results


def _size(content: Content) -> int:
    if isinstance(content, FileContent):
        return len(content.data)
    return len(content.parsed.text) if isinstance(content, JsonlDocument) else 0


def _sources_of(batch: Sequence[Content]) -> str:
    return from_to([shown(one.path) if isinstance(one, FileContent) else one.source for one in batch])


def _parse_batch(limits: ReadingLimits, first_try: bool, contents: Sequence[Content]) -> list[_Result]:
    with Parsing(limits, first_try=first_try) as parsing:
        return [_result_of(content, parsing) for content in contents]


def _result_of(content: Content, parsing: Parsing) -> _Result:
    if isinstance(content, DocumentError):
        return content
    if isinstance(content, JsonlDocument):
        text = cleaned(content.parsed.text)
        ends = tiling_ends(text.text, [cleaned(sentence).text for sentence in content.sentences])
        parsed = replace(content.parsed, notes=text.notes, blocks=plain_blocks(text.text, lines=False))
        return _build_document(parsed, content.source, "", ends)
    try:
        return _from_file(content, parsing)
    except (Unreadable, OSError) as error:  # the second: no process, pipe or memory for its parser
        slow = isinstance(error, TookTooLong) and parsing.first_try
        return content.path if slow else failure(content.path, error)


def _from_file(file: FileContent, parsing: Parsing) -> Document:
    path, data = without_packing(file.path), file.data
    form = true_form(BY_NAME[file.form], data) or BY_NAME[file.form]
    parsed = parse_plain(data, parsing.limits) if form.name == TEXT else parsing.parse(form.name, data)
    if form.name != file.form and form.endings:
        note = f"named {Path(shown(path)).suffix or 'without an ending'}, read as {form.name.upper()} by its content"
        parsed = replace(parsed, notes=(note, *parsed.notes))
    if form.name != PDF:  # the PDF parser notes doubts page by page
        parsed = replace(parsed, notes=(*parsed.notes, *doubts(parsed.text, parsed.blocks)))
    name = name_of(path)
    if form.name in _OF_NOTES and _is_subject(name, parsed):
        parsed = replace(parsed, title="")
    parsed = _with_date(parsed, name, file.modified)
    return _build_document(parsed, shown(file.path), title_of_file(file.path), None)


def _words(text: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[^\W\d_]+", text)}


def _is_subject(name: str, parsed: Parsed) -> bool:
    """Whether a file is named after its subject (`Harriet Vane.md`), and its first heading (`Notes`) tells only of a part."""
    first = next((block for block in parsed.blocks if block.kind is BlockKind.HEADING), None)
    if first is None or squeeze(parsed.text[first.start : first.end]) != parsed.title:
        return False
    words = _words(name)
    return _NAMED.fullmatch(name) is not None and not _words(parsed.title) & words and not words & _UNTELLING


def _with_date(parsed: Parsed, name: str, modified: str) -> Parsed:
    """Add the date: that of the format, else one in the title, the first lines or the file name, else the file's time. The search
    ends before tables and dated headings below level 1, whose dates are of a part only. Only a date that the document states as
    its own is also that of its blocks: a biography begins with a date of birth.
    """
    if not parsed.date:
        end = next((block.start for block in parsed.blocks if _dates_a_part(block, parsed.text)), len(parsed.text))
        first = parsed.text[: min(end, 1000)].splitlines()
        date = next(filter(None, map(stated_date, first[:_STATING_LINES])), "")
        if not date:
            lines = [line for line in first[:_FIRST_LINES] if len(line) <= _DATE_LINE and not _DUE.search(line)]
            places = ((parsed.title, "title"), (" ".join(lines), "first lines"), (name, FILE_NAME))
            dates = ((date, place) for text, place in places if (date := find_date(text)))
            date, place = next(dates, (modified, FILE_TIME if modified else ""))
            return replace(parsed, date=date, date_from=place)
        parsed = replace(parsed, date=date, date_from="first lines")
    return replace(parsed, blocks=tuple(_with_block_date(block, parsed.date) for block in parsed.blocks))


def _dates_a_part(block: Block, text: str) -> bool:
    if block.kind is BlockKind.HEADING and block.level > 1:
        return bool(find_date(text[block.start : block.end]))
    return block.kind is BlockKind.ROW


def _with_block_date(block: Block, date: str) -> Block:
    """Date a block by the date in its document, unless it has another or is a quote, whose text is older. Dates from the file's
    name or time are not for blocks: these are part of the id, which must not depend on the file.
    """
    is_dated = block.date or block.kind is BlockKind.QUOTE or date_above(block.path, "")
    return block if is_dated else replace(block, date=date)


def _build_document(parsed: Parsed, source: str, file_title: str, ends: tuple[int, ...] | None) -> Document:
    """`file_title` replaces a missing title; `ends` are the sentence ends that the content gives, None if it gives none."""
    text, blocks = cleaned(parsed.text), parsed.blocks
    declared = squeeze(cleaned(parsed.title).text)[:_LONGEST_TITLE]
    if ends is None:
        ends = ends_within(text.text, blocks)
    else:
        ends = shortened_ends(text.text, sorted({*ends, *(block.end for block in blocks)}))
    notes = (*parsed.notes, *text.notes, *(() if text.text.strip() else ("holds no text",)))
    return Document(
        id=document_id(declared, text.text, blocks),
        title=declared or file_title,
        text=text.text,
        sentence_ends=ends,
        sources=(source,),
        notes=notes,
        blocks=blocks,
        date=parsed.date,
        date_from=parsed.date_from,
    )


def is_titled_by_file(document: Document) -> bool:
    """Whether the content of a document has no title, so that its title is the name of its file."""
    return document.id == document_id("", document.text, document.blocks)
