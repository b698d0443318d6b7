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
from hoptrail.text.words import content_stems
from training.examples import VERDICTS, Example, answered_at
from training.pages import Page, Part, page_of
from training.sources import read_lines

FOLDER = Path(__file__).parent / "written"
SOURCE = "written"
NEIGHBOURS = 2
_FOUND = 10
_LONGEST = 20_000  # characters of a page
LEAST_SHARE = 0.6
"""Of the words of a quote or of its statement, whichever has fewer, that the other contains."""


@dataclass(frozen=True, slots=True)
class Question:
    """One row of `questions.jsonl`."""

    question: str
    kind: str
    answer: str
    file: str
    quote: str


def worlds(folder: Path = FOLDER) -> list[Path]:
    """The folders with documents and questions in `folder`, in order."""
    return sorted(path for path in folder.iterdir() if (path / "questions.jsonl").is_file())


def questions_of(world: Path) -> list[Question]:
    """The questions about one folder of documents."""
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
        yield empty.unanswered_by(page_of(unit, _LONGEST).text, SOURCE)


def _placed(asked: Question, units: list[Unit]) -> tuple[Page, Part] | None:
    """The page and its statement that share the most words with the quote, and have the answer."""
    quoted = content_stems(asked.quote)
    best, most = None, 0
    for unit in units:
        page = page_of(unit, _LONGEST)
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
