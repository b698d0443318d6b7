"""Reads data for evaluation: a data set with its corpus (`datasets.py`), or own documents with questions about them.

    documents/         the documents, in any formats
    questions.jsonl    id, question, type, answers (accepted short answers), items (parts of a right list, sequence of steps or
                       passage, each a list of accepted spellings), documents (paths below documents/), shows (strings that settle
                       the question)
    also.jsonl         optional: id, document, shows: further passages that settle a question as well

A question of the type `unanswerable` has neither answers nor items. `shows` may be a single string. Documents are not read here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from hoptrail.documents.walking import shown
from hoptrail.errors import DataError
from hoptrail.evaluation.datasets import (
    CORPUS_FILES,
    QUESTION_FILES,
    Dataset,
    Question,
    check_limit,
    check_question,
    first_file,
    load_dataset,
)
from hoptrail.evaluation.lines import read_lines

DOCUMENTS, ALSO = "documents", "also.jsonl"


@dataclass(frozen=True, slots=True)
class OwnQuestion:
    """A line of questions.jsonl."""

    id: str
    question: str
    type: str
    answers: tuple[str, ...] = ()
    items: tuple[tuple[str, ...], ...] = ()
    documents: tuple[str, ...] = ()
    shows: tuple[str, ...] | str = ()


@dataclass(frozen=True, slots=True)
class FurtherPassage:
    """A line of also.jsonl."""

    id: str
    document: str
    shows: tuple[str, ...] | str


def load_data(folder: Path, questions: Path | None = None, limit: int | None = None) -> Dataset:
    """Read and check a folder of either kind; a folder with a corpus file is a data set.

    `questions` replaces the folder's own questions file; `limit` keeps the first questions only.

    Raises:
        UsageError: `limit` is below 1.
        DataError: a file is missing or malformed; the message names file and line.
    """
    documents = folder / DOCUMENTS
    has_corpus = any((folder / name).is_file() for name in CORPUS_FILES)
    if has_corpus or not folder.is_dir():
        return load_dataset(folder, questions, limit)
    if not documents.is_dir():
        raise DataError(
            f"{folder} has neither {CORPUS_FILES[0]} of a data set nor a folder {DOCUMENTS}/ with own documents; an evaluation "
            "folder needs one of them"
        )
    check_limit(limit)
    files = files_below(documents)
    if not files:
        raise DataError(f"{documents} holds no files")
    path = questions or first_file(folder, QUESTION_FILES)
    loaded = list(_questions(path, documents, files))
    if not loaded:
        raise DataError(f"{path} holds no questions")
    # Another questions file may have only some of the questions, so further passages of unknown questions are ignored.
    further = _further_passages(folder / ALSO, None if questions else {question.id for question in loaded}, files)
    complete = tuple(replace(question, shows=(*question.shows, *further.get(question.id, ()))) for question in loaded)
    return Dataset(folder.resolve().name, documents, len(files), complete[:limit], None)


def files_below(documents: Path) -> frozenset[str]:
    """The relative paths of all files below a folder, as they occur in document sources."""
    return frozenset(shown(path.relative_to(documents)) for path in documents.rglob("*") if path.is_file())


def _questions(path: Path, documents: Path, files: frozenset[str]) -> Iterator[Question]:
    seen: set[str] = set()
    for line in read_lines(path):
        row = line.read_as(OwnQuestion)
        question = Question(
            row.id,
            row.question,
            row.answers,
            row.type,
            supporting=row.documents,
            items=row.items,
            shows=_as_tuple(row.shows),
        )
        check_question(question, line.place, seen)
        _check_gold(question, line.place)
        if unknown := sorted(set(row.documents) - files):
            raise DataError(f"{line.place}: question {row.id} names {unknown[0]}, which {documents} does not hold")
        yield question


def _check_gold(question: Question, place: str) -> None:
    expected = bool(question.answers or question.items)
    if question.unanswerable and expected:
        raise DataError(f"{place}: question {question.id} is unanswerable, so it must have neither answers nor items")
    if not question.unanswerable and not expected:
        raise DataError(f"{place}: question {question.id} has neither answers nor items; give one of them")
    spellings = [*question.answers, *(spelling for item in question.items for spelling in item), *question.shows]
    if not all(text.strip() for text in spellings) or not all(question.items):
        raise DataError(f"{place}: question {question.id} has an empty answer, item or string that settles it")


def _further_passages(path: Path, ids: set[str] | None, files: frozenset[str]) -> Mapping[str, tuple[str, ...]]:
    """The further settling strings by question id. `ids`: all question ids, None if unknown."""
    strings: dict[str, tuple[str, ...]] = {}
    for line in read_lines(path) if path.is_file() else ():
        passage = line.read_as(FurtherPassage)
        if ids is not None and passage.id not in ids:
            raise DataError(f"{line.place}: there is no question {passage.id}")
        if passage.document not in files:
            raise DataError(f"{line.place}: there is no document {passage.document}")
        strings[passage.id] = (*strings.get(passage.id, ()), *_as_tuple(passage.shows))
    return strings


def _as_tuple(texts: tuple[str, ...] | str) -> tuple[str, ...]:
    return (texts,) if isinstance(texts, str) else texts
