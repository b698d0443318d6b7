"""Reads and checks evaluation data: a data set with its corpus, or own documents with questions about them.

A data set:

- `corpus.jsonl` has id, title and text per line. Only the ids are read here; `hoptrail.documents` reads the text.
- `questions.dev.jsonl`, else `questions.jsonl`, has id, question and answers (gold first, then aliases) per line. Optional keys:
  type, supporting (gold passage ids, in hop order if known), supporting_sentences (passage id, sentence index), decomposition
  (question, answer, supporting) and candidates (the question's own passages).

Either file may be gzipped (`.jsonl.gz`). Other keys are ignored.

Own documents:

    documents/         the documents, in any formats, which are not read here
    questions.jsonl    id, question, type, answers (accepted short answers), items (parts of a right list, sequence of steps or
                       passage, each a list of accepted spellings), documents (paths below documents/), shows (strings that settle
                       the question)
    also.jsonl         optional: id, document, shows: further passages that settle a question as well

A question of the type `unanswerable` has neither answers nor items. `shows` may be a single string.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from pathlib import Path

from hoptrail.documents.walking import shown
from hoptrail.errors import DataError, UsageError
from hoptrail.evaluation.answer_scores import AnswerScore, Rule, score_answer
from hoptrail.evaluation.lines import read_lines

ANSWER_RULES = dict.fromkeys(("2wiki", "2wiki_context"), Rule.TWO_WIKI)
ANSWER_RULES |= dict.fromkeys(("musique", "musique_train"), Rule.MUSIQUE)
"""The answer rule by name of the folder. The HotpotQA rule scores every other folder."""

CORPUS_FILES = ("corpus.jsonl", "corpus.jsonl.gz")
QUESTION_FILES = ("questions.dev.jsonl", "questions.dev.jsonl.gz", "questions.jsonl", "questions.jsonl.gz")
"""Tried in this order."""

DOCUMENTS, ALSO = "documents", "also.jsonl"  # the names of own documents and of further passages that settle a question
UNANSWERABLE = "unanswerable"
NULL_TYPES = frozenset({UNANSWERABLE, "null_query"})
"""Types of questions that the corpus cannot answer, so that abstaining is right. The second is that of MultiHop-RAG (Tang and
Yang 2024)."""


@dataclass(frozen=True, slots=True)
class GoldStep:
    """One step of the gold decomposition; `#1` in a later question stands for the answer of the first step.

    `answer` and `supporting` (a passage id) are None or empty if the source does not give them.
    """

    question: str
    answer: str | None = None
    supporting: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """One question with its gold annotations; a tuple is empty if the source does not give it.

    For a question about own documents, `items` are the parts of a right answer, each with its accepted spellings, `shows` the
    strings that settle it, and `supporting` the paths of the documents with these strings.
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
        """The number of distinct supporting passages. Steps of the decomposition are not counted, because not every data set has
        them, and 2Wiki lists several values of one entity as several steps.
        """
        return len(set(self.supporting))

    @property
    def unanswerable(self) -> bool:
        return self.type in NULL_TYPES

    @property
    def passages(self) -> set[str]:
        """All passages that the annotations name."""
        steps = {step.supporting for step in self.decomposition if step.supporting}
        sentences = {passage for passage, _ in self.supporting_sentences}
        return {*self.supporting, *self.candidates, *steps, *sentences}


@dataclass(frozen=True, slots=True)
class Dataset:
    """A checked evaluation folder: `passages` is the number of passages in `corpus`, `rule` scores the answers.

    For own documents, `corpus` is their folder, `passages` the number of files there, and `rule` is None: `outcomes.py` judges
    the answers.
    """

    name: str
    corpus: Path
    passages: int
    questions: tuple[Question, ...]
    rule: Rule | None


def load_dataset(folder: Path, questions: Path | None = None, limit: int | None = None) -> Dataset:
    """Read and check a folder of either kind; a folder with a corpus file is a data set.

    `questions` replaces the folder's own questions file. `limit` keeps the first questions only, but all are checked: ids must be
    unique, and the corpus must have every passage or file that an annotation names.
    Raises: UsageError: `limit` is below 1. DataError: a file is missing or malformed; the message names file and line.
    """
    if limit is not None and limit < 1:
        raise UsageError(f"--limit must be at least 1, not {limit}")
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder; evaluation data is a folder with corpus.jsonl and questions.jsonl")
    name = folder.resolve().name
    own = not any((folder / file).is_file() for file in CORPUS_FILES)
    corpus = folder / DOCUMENTS if own else first_file(folder, CORPUS_FILES)
    present = _own_documents(corpus) if own else _passage_ids(corpus)
    path = questions or first_file(folder, QUESTION_FILES)
    loaded = list(_questions(path, corpus, present, own=own))
    if not loaded:
        raise DataError(f"{path} holds no questions")
    if own:  # another questions file may have only some of those that further passages settle
        ids = {question.id for question in loaded} if questions is None else None
        further = _further_passages(corpus.with_name(ALSO), ids, present)
        loaded = [replace(one, shows=(*one.shows, *further.get(one.id, ()))) for one in loaded]
    rule = None if own else ANSWER_RULES.get(name, Rule.HOTPOTQA)
    return Dataset(name, corpus, len(present), tuple(loaded[:limit]), rule)


def single_hops_of(dataset: Dataset) -> Dataset:
    """A data set of the distinct stand-alone sub-questions of a data set's questions (SiReRAG, appendix E).

    Sub-questions that need an earlier answer (`#1`) or have no answer are left out. MuSiQue's `Isk >> mouth` becomes `What is the
    mouth of Isk?`.
    Raises: DataError: there are none.
    """
    singles: dict[str, Question] = {}
    for whole in dataset.questions:
        for number, step in enumerate(whole.decomposition, 1):
            if step.answer and "#" not in step.question:
                subject, arrows, relation = (part.strip() for part in step.question.partition(">>"))
                text = f"What is the {relation} of {subject}?" if arrows else step.question
                gold = (step.supporting,) if step.supporting else ()
                single = Question(f"{whole.id}#{number}", text, (step.answer,), None, gold, candidates=whole.candidates)
                singles.setdefault(text, single)
    if not singles:
        raise DataError(f"no question of {dataset.name} has sub-questions that stand alone.")
    return replace(dataset, name=f"{dataset.name}-single", questions=tuple(singles.values()))


def placed_questions(path: Path, kind: type[Question | OwnQuestion] = Question) -> Iterator[tuple[str, Question]]:
    """Yield the questions of a file in order, each with its place (file and line).
    Raises: DataError: a line is malformed, has an empty id or question, or repeats an id.
    """
    seen: set[str] = set()
    for line in read_lines(path):
        row = line.read_as(kind)
        question = row if isinstance(row, Question) else row.as_question()
        if not question.id or not question.question.strip():
            raise DataError(f"{line.place}: id and question must not be empty")
        if question.id in seen:
            raise DataError(f"{line.place}: question id {question.id} occurs twice")
        seen.add(question.id)
        yield line.place, question


def score_question(question: Question, prediction: str | None, rule: Rule) -> AnswerScore:
    """The score of an answer; None is an abstention, which scores zero unless the question is unanswerable: then it counts as the
    gold answer, a phrase such as "Insufficient information.".
    """
    if prediction is None and question.unanswerable:
        return score_answer(question.answers[0], question.answers, rule)
    return score_answer(prediction, question.answers, rule)


def first_file(folder: Path, names: Iterable[str]) -> Path:
    """The first of these files that exists in the folder. Raises: DataError: none of them exists."""
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise DataError(f"{folder} has none of {', '.join(names)}; an evaluation folder needs one of them")


def _passage_ids(corpus: Path) -> Set[str]:
    passages: set[str] = set()
    for line in read_lines(corpus):
        identifier = line.content.get("id")
        if not isinstance(identifier, str) or not identifier:
            raise DataError(f"{line.place}: a passage needs an id that is a non-empty string, not {identifier!r}")
        if identifier in passages:
            raise DataError(f"{line.place}: passage id {identifier} occurs twice")
        passages.add(identifier)
    if not passages:
        raise DataError(f"{corpus} holds no passages")
    return passages


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

    def as_question(self) -> Question:
        shows = _as_tuple(self.shows)
        return Question(self.id, self.question, self.answers, self.type, self.documents, items=self.items, shows=shows)


@dataclass(frozen=True, slots=True)
class FurtherPassage:
    """A line of also.jsonl."""

    id: str
    document: str
    shows: tuple[str, ...] | str


def files_below(documents: Path) -> frozenset[str]:
    """The relative paths of all files below a folder, as they occur in document sources."""
    return frozenset(shown(path.relative_to(documents)) for path in documents.rglob("*") if path.is_file())


def _own_documents(documents: Path) -> Set[str]:
    if not documents.is_dir():
        raise DataError(
            f"{documents.parent} has neither {CORPUS_FILES[0]} of a data set nor a folder {DOCUMENTS}/ with own documents; an "
            "evaluation folder needs one of them"
        )
    files = files_below(documents)
    if not files:
        raise DataError(f"{documents} holds no files")
    return files


def _questions(path: Path, corpus: Path, known: Set[str], *, own: bool) -> Iterator[Question]:
    for place, question in placed_questions(path, OwnQuestion if own else Question):
        named = f"{place}: question {question.id}"
        if own:
            _check_gold(question, named)
        elif not question.answers:
            raise DataError(f"{named} has no answers; give the gold answer, then its aliases")
        if unknown := sorted(question.passages - known):
            passage = unknown[0] if own else f"passage {unknown[0]}"
            raise DataError(f"{named} names {passage}, which {corpus} does not hold")
        yield question


def _check_gold(question: Question, named: str) -> None:
    expected = bool(question.answers or question.items)
    if question.unanswerable and expected:
        raise DataError(f"{named} is unanswerable, so it must have neither answers nor items")
    if not question.unanswerable and not expected:
        raise DataError(f"{named} has neither answers nor items; give one of them")
    spellings = [*question.answers, *(spelling for item in question.items for spelling in item), *question.shows]
    if not all(text.strip() for text in spellings) or not all(question.items):
        raise DataError(f"{named} has an empty answer, item or string that settles it")


def _further_passages(path: Path, ids: Set[str] | None, files: Set[str]) -> Mapping[str, tuple[str, ...]]:
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
