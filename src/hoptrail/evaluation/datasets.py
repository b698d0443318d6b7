"""Evaluation data: a folder with a corpus and questions, read into frozen records and checked.

The layout: `corpus.jsonl` with id, title and text per line; `questions.dev.jsonl`, else `questions.jsonl`, with id, question
and answers (gold first, then aliases) per line, and where the source gives them type, supporting (gold passage ids, in hop
order where known), supporting_sentences (passage id, sentence index), decomposition (question, answer, supporting) and
candidates (the question's own passages). Either may be gzipped (`.jsonl.gz`). Other keys are passed over. Of the corpus only
the ids are looked at here: its text is read by `hoptrail.documents`. Knows nothing of recipes or of how answers are found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from hoptrail.errors import DataError, UsageError
from hoptrail.evaluation.answer_scores import AnswerScore, Rule, score_answer
from hoptrail.evaluation.lines import Line, read_lines

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

ANSWER_RULES = MappingProxyType(
    {
        "2wiki": Rule.TWO_WIKI,
        "2wiki_context": Rule.TWO_WIKI,
        "musique": Rule.MUSIQUE,
        "musique_train": Rule.MUSIQUE,
    }
)
"""The answer rule by the folder's name. Every other folder is scored by the HotpotQA rule."""

CORPUS_FILES = ("corpus.jsonl", "corpus.jsonl.gz")
QUESTION_FILES = ("questions.dev.jsonl", "questions.dev.jsonl.gz", "questions.jsonl", "questions.jsonl.gz")
"""Tried in this order."""

UNANSWERABLE = "unanswerable"
NULL_TYPES = frozenset({UNANSWERABLE, "null_query"})
"""Types of questions that the corpus cannot answer (the second is MultiHop-RAG's, Tang and Yang 2024): abstaining is right."""


@dataclass(frozen=True, slots=True)
class GoldStep:
    """One step of the gold decomposition; `#1` in a later question stands for the answer of the first step.

    `answer` and `supporting` (a passage id) are None where the source does not give them.
    """

    question: str
    answer: str | None = None
    supporting: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """One question with its gold annotations; a tuple is empty where the source does not give it.

    Of a question about somebody's own documents, `items` are what a right answer holds, each in its accepted spellings, `shows`
    the strings that settle it, and `supporting` the paths of the documents they stand in.
    """

    id: str
    question: str
    answers: tuple[str, ...]
    type: str | None = None
    supporting: tuple[str, ...] = ()
    supporting_sentences: tuple[tuple[str, int], ...] = ()
    decomposition: tuple[GoldStep, ...] = ()
    candidates: tuple[str, ...] = ()
    items: tuple[tuple[str, ...], ...] = ()
    shows: tuple[str, ...] = ()

    @property
    def hops(self) -> int:
        """The number of distinct supporting passages, 0 when there are none.

        Passages and not steps of the decomposition: every dataset with gold passages has the count, it is what recall is
        taken over, and 2Wiki's steps list one entity's several values as several steps.
        """
        return len(set(self.supporting))

    @property
    def unanswerable(self) -> bool:
        """Whether the data say that the corpus holds no answer."""
        return self.type in NULL_TYPES

    @property
    def passages(self) -> set[str]:
        """Every passage that the annotations name."""
        steps = {step.supporting for step in self.decomposition if step.supporting is not None}
        sentences = {passage for passage, _ in self.supporting_sentences}
        return {*self.supporting, *self.candidates, *steps, *sentences}


@dataclass(frozen=True, slots=True)
class Dataset:
    """A checked evaluation folder: `passages` is the number of passages in `corpus`, `rule` scores the answers.

    Of somebody's own documents, `corpus` is the folder that holds them, `passages` the number of files there, and there is no
    rule: what became of a question is told by `outcomes.py`.
    """

    name: str
    corpus: Path
    passages: int
    questions: tuple[Question, ...]
    rule: Rule | None


def load_dataset(folder: Path, questions: Path | None = None, limit: int | None = None) -> Dataset:
    """Read and check an evaluation folder.

    `questions` is a file to use in place of the folder's own; `limit` keeps the first so many. All questions are checked
    either way: no repeated id, and every passage that an annotation names is in the corpus.

    Raises:
        UsageError: `limit` is below 1.
        DataError: a file is missing or not in the layout; the message names file and line.
    """
    check_limit(limit)
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder; evaluation data is a folder with corpus.jsonl and questions.jsonl")
    corpus = first_file(folder, CORPUS_FILES)
    questions_file = questions or first_file(folder, QUESTION_FILES)
    passages = _passage_ids(corpus)
    loaded = tuple(_read_questions(questions_file, corpus, passages))
    if not loaded:
        raise DataError(f"{questions_file} holds no questions")
    name = folder.resolve().name
    return Dataset(name, corpus, len(passages), loaded[:limit], ANSWER_RULES.get(name, Rule.HOTPOTQA))


def check_limit(limit: int | None) -> None:
    """Refuse a number of questions that leaves none.

    Raises:
        UsageError: it is below 1.
    """
    if limit is not None and limit < 1:
        raise UsageError(f"--limit must be at least 1, not {limit}")


def single_hops_of(dataset: Dataset) -> Dataset:
    """The sub-questions of a data set's questions that stand alone, each once, as questions of their own (SiReRAG, appendix E).

    Left out are those that need an earlier answer (`#1`) and those without an answer; `Isk >> mouth`, as MuSiQue has it of some,
    is asked as `What is the mouth of Isk?`.

    Raises:
        DataError: there are none.
    """
    found: dict[str, Question] = {}
    for whole in dataset.questions:
        for number, step in enumerate(whole.decomposition, 1):
            if step.answer and "#" not in step.question:
                asked = _verbalised(step.question)
                gold = (step.supporting,) if step.supporting else ()
                single = Question(
                    f"{whole.id}#{number}", asked, (step.answer,), None, gold, candidates=whole.candidates
                )
                found.setdefault(asked, single)
    if not found:
        raise DataError(f"no question of {dataset.name} has sub-questions that stand alone.")
    return replace(dataset, name=f"{dataset.name}-single", questions=tuple(found.values()))


def _verbalised(question: str) -> str:
    subject, arrows, relation = (part.strip() for part in question.partition(">>"))
    return f"What is the {relation} of {subject}?" if arrows else question


def placed_questions(path: Path) -> Iterator[tuple[str, Question]]:
    """The questions of a file, each with its place (file and line), in order.

    Raises:
        DataError: a line is not in the layout, or repeats an id.
    """
    seen: set[str] = set()
    for line in read_lines(path):
        question = _parse_question(line)
        if question.id in seen:
            raise DataError(f"{line.place}: question id {question.id} stands there a second time")
        seen.add(question.id)
        yield line.place, question


def score_question(question: Question, prediction: str | None, rule: Rule) -> AnswerScore:
    """The score of what a recipe answered; `prediction` None is an abstention (a failure is `scoring.MISSED`).

    Abstaining scores nothing, except where the data say that the corpus holds no answer: the gold answer there is a phrase
    for just that ("Insufficient information."), so an abstention counts as having said it.
    """
    if prediction is None and question.unanswerable:
        return score_answer(question.answers[0], question.answers, rule)
    return score_answer(prediction, question.answers, rule)


def first_file(folder: Path, names: Iterable[str]) -> Path:
    """The first of these files that the folder has.

    Raises:
        DataError: it has none of them.
    """
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise DataError(f"{folder} has none of {', '.join(names)}; an evaluation folder needs one of them")


def _passage_ids(corpus: Path) -> set[str]:
    passages: set[str] = set()
    for line in read_lines(corpus):
        identifier = line.content.get("id")
        if not isinstance(identifier, str) or not identifier:
            raise DataError(f"{line.place}: a passage needs an id (a text that is not empty), not {identifier!r}")
        if identifier in passages:
            raise DataError(f"{line.place}: passage id {identifier} stands there a second time")
        passages.add(identifier)
    if not passages:
        raise DataError(f"{corpus} holds no passages")
    return passages


def _read_questions(path: Path, corpus: Path, passages: set[str]) -> Iterable[Question]:
    for place, question in placed_questions(path):
        if not question.answers:
            raise DataError(f"{place}: question {question.id} has no answers; give the gold answer, then its aliases")
        if unknown := sorted(question.passages - passages):
            raise DataError(f"{place}: question {question.id} names passage {unknown[0]}, which {corpus} does not hold")
        yield question


def _parse_question(line: Line) -> Question:
    from pydantic import ValidationError

    try:
        question = _question_reader().validate_python(line.content)
    except ValidationError as error:
        raise DataError(f"{line.place}: {explained(error)}") from error
    if not question.id or not question.question.strip():
        raise DataError(f"{line.place}: id and question must not be empty")
    return question


@cache
def _question_reader() -> TypeAdapter[Question]:
    from pydantic import TypeAdapter

    return TypeAdapter(Question)


def explained(error: ValidationError) -> str:
    """The first thing that is wrong with a line, with the key it is wrong under."""
    first = error.errors(include_url=False, include_input=False)[0]
    key = ".".join(str(part) for part in first["loc"])
    return f"{key}: {first['msg']}"
