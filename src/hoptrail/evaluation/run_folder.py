"""The folder of a run: one recipe over one data set in one language, with all that comparisons and error analyses need.

    run.json           data, recipe, language, fingerprint, versions, pool
    settings.toml      the recipe's settings, in the format of `--settings`
    questions.jsonl    the questions with their gold annotations
    results.jsonl      one result per question, in their order; written at the end, deleted when other questions are asked
    trails.jsonl.gz    one trail per question, appended as they are answered

A run depends on nothing outside its folder, so folders may be copied and sent. The folder's name ends with the first digits of
the fingerprint of the results: other settings, another language or another corpus make another run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from glob import escape
from pathlib import Path

from hoptrail.errors import DataError, UsageError, disk_errors
from hoptrail.evaluation.answer_scores import Rule
from hoptrail.evaluation.datasets import Question, placed_questions
from hoptrail.evaluation.lines import read_lines
from hoptrail.evaluation.results import QuestionResult, TrailRecord, TrailsFile, read_trails
from hoptrail.models.encoder import EncoderIdentity
from hoptrail.system.atomic_write import replace_file
from hoptrail.types.json_object import JsonObject, reader_of

FORMAT = 1
RUNS_FOLDER = "runs"

HEADER, SETTINGS, QUESTIONS = "run.json", "settings.toml", "questions.jsonl"
RESULTS, TRAILS = "results.jsonl", "trails.jsonl.gz"
_DIGITS = 8  # digits of the fingerprint in the folder's name


@dataclass(frozen=True, slots=True)
class RunHeader:
    """The description of a run.

    `recipe` is the name that the user gave (`NAME` or `NAME:PRESET`). `rule` scores the answers, and is None for questions about
    own documents, which have outcomes. `fingerprint` covers all that changes a result, `settings` the recipe's settings alone.
    `structures` are those that the recipe needs, each with its fingerprint and the language that built it. `outside_pool` has
    the gold passages from which none of the `pool_size` searched units was made. `versions` are those of hoptrail and Python that
    made the run, `model` is the name of the language model, or empty. There is no date, so that the same run has the same header.
    """

    data: str
    recipe: str
    language: str
    rule: Rule | None
    retrieval_only: bool
    fingerprint: str
    settings: str
    documents: str
    structures: tuple[tuple[str, str, str], ...]
    pool_size: int
    outside_pool: tuple[str, ...]
    encoder: EncoderIdentity
    versions: Mapping[str, str]
    model: str = ""
    format: int = FORMAT

    @property
    def name(self) -> str:
        how = "retrieval" if self.retrieval_only else self.language.partition(":")[0]
        return f"{self.data}-{self.recipe.replace(':', '.')}-{how}-{self.fingerprint[:_DIGITS]}"


class RunFolder:
    """The folder of a run in progress. One process at a time: the lock on the results file guards it."""

    def __init__(self, work: Path, header: RunHeader, settings: str, questions: Sequence[Question]) -> None:
        """Write the files but for results and trails. `settings` is TOML. Raises: StorageError: they cannot be written."""
        self.path = work / RUNS_FOLDER / header.name
        self._questions = tuple(question.id for question in questions)
        # Candidates would be most of the file, and are not needed here.
        lines = _lines(asdict(replace(question, candidates=())) for question in questions)
        with self._writing():
            self.path.mkdir(parents=True, exist_ok=True)
            if not ((self.path / QUESTIONS).exists() and (self.path / QUESTIONS).read_bytes() == lines):
                (self.path / RESULTS).unlink(missing_ok=True)  # these results are of other questions
            replace_file(self.path / HEADER, (json.dumps(asdict(header), indent=2, ensure_ascii=False) + "\n").encode())
            replace_file(self.path / SETTINGS, settings.encode())
            replace_file(self.path / QUESTIONS, lines)
        self.trails = TrailsFile(self.path / TRAILS)

    def finish(self, results: Mapping[str, QuestionResult]) -> None:
        """Write the results of all questions. Raises: StorageError: they cannot be written."""
        rows = (asdict(results[name]) for name in self._questions if name in results)
        with self._writing():
            replace_file(self.path / RESULTS, _lines(rows))

    def _writing(self) -> AbstractContextManager[None]:
        return disk_errors(f"the run cannot be kept in {self.path}", "; make room and run again")


@dataclass(frozen=True)
class Run:
    """A finished run, read from its folder. `results` are by question id; a question that was not asked has none."""

    path: Path
    header: RunHeader
    questions: tuple[Question, ...]
    results: Mapping[str, QuestionResult]

    @property
    def name(self) -> str:
        """The name of its folder: data set, recipe, language (or `retrieval`) and the start of the fingerprint."""
        return self.path.name

    @cached_property
    def trails(self) -> Mapping[str, TrailRecord]:
        """The trails by question id; missing if the result is older than trail files, or the question was corrected since.
        Raises: DataError: the file was altered. StorageError: it cannot be read.
        """
        return {
            name: trail
            for name, trail in read_trails(self.path / TRAILS).items()
            if name in self.results and self.results[name].asked == trail.asked
        }


def open_run(place: Path) -> Run:
    """Open the run in a folder. A prefix of the folder's name is enough if it is unique.
    Raises: UsageError: no run or several match, or it is not finished. DataError: one of its files was altered.
    """
    folder = _find(place)
    if not (folder / RESULTS).is_file():
        raise UsageError(f"{folder} is not finished; run the same `hoptrail evaluate` with the same --work to its end.")
    header = _read_header(folder / HEADER)
    questions = tuple(question for _, question in placed_questions(folder / QUESTIONS))
    try:
        results = [line.read_as(QuestionResult) for line in read_lines(folder / RESULTS)]
    except DataError as error:
        raise DataError(f"{error}; make the run again") from error
    return Run(folder, header, questions, {result.question: result for result in results})


def _find(place: Path) -> Path:
    if (place / HEADER).is_file():
        return place
    matches = sorted(path.parent for path in place.parent.glob(f"{escape(place.name)}*/{HEADER}"))
    if len(matches) == 1:
        return matches[0]
    if matches:
        names = ", ".join(path.name for path in matches)
        raise UsageError(f"{place} may mean any of these runs: {names}. Give more of the name.")
    raise UsageError(f"{place} is not a run. `hoptrail evaluate ... --work DIR` makes runs in DIR/{RUNS_FOLDER}.")


def _read_header(path: Path) -> RunHeader:
    try:
        with disk_errors(f"{path} cannot be read", ""):
            content = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(content, dict) and content.get("format") != FORMAT:
            raise DataError(
                f"{path} has format {content.get('format')}; this version reads {FORMAT}: make the run again"
            )
        header: RunHeader = reader_of(RunHeader).validate_python(content)
    except ValueError as error:
        raise DataError(f"{path} was altered: {str(error).splitlines()[0]}; make the run again") from error
    return header


def _lines(rows: Iterable[JsonObject]) -> bytes:
    return "".join(json.dumps(row, sort_keys=True, ensure_ascii=True) + "\n" for row in rows).encode()
