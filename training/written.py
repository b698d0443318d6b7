"""Questions about documents that were written for training: prose, tables, minutes, manuals, letters, as people have them.

`training/written/NAME` has `documents` and `questions.jsonl`, a row for each question: its `kind` (`span`, `yes`, `no`, or
`none` where the document does not answer), the `answer` as it stands in the `quote`, and the quote, a part of one line of the
`file`. The documents are indexed, so that the reader learns from texts as it will see them. Each question gives one example
with the text of its quote, and up to `NEIGHBOURS` with texts that are found for it and do not answer it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hoptrail import Index, Unit
from hoptrail.text.statements import UnitStatement, statements_of
from hoptrail.text.words import content_stems
from hoptrail.types import Block
from training.examples import VERDICTS, Example, answered_at
from training.sources import read_lines

FOLDER = Path(__file__).parent / "written"
SOURCE = "written"
NEIGHBOURS = 2  # texts that do not answer
_FOUND = 10  # units looked at
_LONGEST = 20_000  # characters of a page
LEAST_SHARE = 0.6  # of the words of a quote or of its statement, whichever has fewer, that the other contains


@dataclass(frozen=True, slots=True)
class Part:
    """A statement and its offsets in a page."""

    start: int
    end: int
    said: UnitStatement


@dataclass(frozen=True, slots=True)
class Page:
    """A unit's text for reading: title and headings, then a line for each statement, a row as `header: value`. `headers` are the
    offsets of the headers of its rows.
    """

    unit: Unit
    text: str
    parts: tuple[Part, ...]
    headers: tuple[tuple[int, int], ...]


def page_of(unit: Unit) -> Page:
    """The page of a unit, at most `_LONGEST` characters."""
    lines = [unit.title] if unit.title else []
    at = len(unit.title) + 1 if unit.title else 0
    parts: list[Part] = []
    headers: list[tuple[int, int]] = []
    above: tuple[str, ...] = ()
    for said in statements_of(unit):
        heading = " > ".join(part for part in said.path if part != unit.title)
        if said.path != above and heading:
            lines.append(heading)
            at += len(heading) + 1
        above, line = said.path, said.alone
        if at + len(line) > _LONGEST:
            break
        parts.append(Part(at, at + len(line), said))
        headers += ((at + start, at + end) for start, end in _headers(said.block, line))
        lines.append(line)
        at += len(line) + 1
    return Page(unit, "\n".join(lines), tuple(parts), tuple(headers))


def _headers(block: Block | None, line: str) -> Iterator[tuple[int, int]]:
    """The offsets of a table row's headers in its line."""
    at = 0
    for cell in block.cells if block is not None else ():
        if cell.header and (found := line.find(f"{cell.header}: ", at)) >= 0:
            at = found + len(cell.header) + 1
            yield found, at


@dataclass(frozen=True, slots=True)
class Question:
    question: str
    kind: str
    answer: str
    file: str
    quote: str


def worlds(folder: Path = FOLDER) -> list[Path]:
    """The folders with documents and questions in `folder`, in order."""
    return sorted(path for path in folder.iterdir() if (path / "questions.jsonl").is_file())


def questions_of(world: Path) -> list[Question]:
    return [Question(**row) for row in read_lines(world / "questions.jsonl")]


@contextmanager
def indexed(world: Path) -> Iterator[tuple[Index, Mapping[str, str]]]:
    """An index of a folder's documents, and the ids of these by the name of their file."""
    with tempfile.TemporaryDirectory() as work:
        index = Index(Path(work) / "index")
        index.add(world / "documents", "bm25")
        yield index, {Path(source).name: item.id for item in index.contents().documents for source in item.sources}


def written(folder: Path = FOLDER) -> Iterator[Example]:
    """The examples of all folders in `folder`, in their order."""
    for world in worlds(folder):
        with indexed(world) as (index, files):
            for asked in questions_of(world):
                yield from _examples(asked, index, files)


def _examples(asked: Question, index: Index, files: Mapping[str, str]) -> Iterator[Example]:
    """Nothing if no text has the quote."""
    document = files.get(asked.file)
    found = [hit.unit for hit in index.search(asked.quote, recipe="bm25", limit=_FOUND)]
    placed = _placed(asked, [unit for unit in found if unit.document == document])
    if placed is None:
        return
    page, part = placed
    yield _with_quote(asked, page, part)
    near = [hit.unit for hit in index.search(asked.question, recipe="bm25", limit=_FOUND)]
    spelling = asked.answer.lower()
    others = [
        unit for unit in near if unit.id != page.unit.id and not (spelling and spelling in unit.searchable.lower())
    ]
    empty = Example(SOURCE, asked.question, "", verdict=VERDICTS.get(asked.kind))
    for unit in others[:NEIGHBOURS]:
        yield empty.unanswered_by(page_of(unit).text, SOURCE)


def _placed(asked: Question, units: list[Unit]) -> tuple[Page, Part] | None:
    """The page and its statement that share the most words with the quote, and have the answer."""
    quoted = content_stems(asked.quote)
    best, most = None, 0
    for unit in units:
        page = page_of(unit)
        for part in page.parts:
            stems = content_stems(part.said.alone)
            shared = len(quoted & stems)
            is_quoted = shared > most and shared >= LEAST_SHARE * min(len(quoted), len(stems))
            if is_quoted and asked.answer in page.text[part.start : part.end]:
                best, most = (page, part), shared
    return best


def _with_quote(asked: Question, page: Page, part: Part) -> Example:
    if asked.kind in VERDICTS:
        return Example(SOURCE, asked.question, page.text, verdict=VERDICTS[asked.kind], helps=True)
    if asked.kind == "none":
        return Example(SOURCE, asked.question, page.text, answered=False)
    start = _start_of(asked.answer, page, part)
    return answered_at(SOURCE, asked.question, page.text, start, start + len(asked.answer))


def _start_of(answer: str, page: Page, part: Part) -> int:
    """The first place of the answer in the statement outside headers."""
    first = start = page.text.index(answer, part.start)
    while 0 <= start < part.end:
        if not any(begin <= start < end for begin, end in page.headers):
            return start
        start = page.text.find(answer, start + 1)
    return first
