"""The performer `offline`: every language task without a language model, at no cost but time, the same bytes for the same input.

Plain questions are read by a small trained reader (`reading`); taking questions apart, comparing, counting, lists and steps are
rules, each in a file of this folder. It has no memory: `Recall` always abstains. It reads English; questions in other
languages are mostly left unanswered.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TypeVar, cast

from hoptrail.errors import TaskFailed
from hoptrail.execution.executor import is_remote_safe
from hoptrail.language import tasks
from hoptrail.language.closeness import Similarity
from hoptrail.language.completing import clarify, complete
from hoptrail.language.entity_finders import RULES, EntityFinder, open_finder
from hoptrail.language.offline.concluding import read_by_hops
from hoptrail.language.offline.definitions import asks_what_it_is, decided, define, named_by_description
from hoptrail.language.offline.evidence import EvidencePages, open_evidence
from hoptrail.language.offline.explanations import answer_to_the_same, explain, steps
from hoptrail.language.offline.extracting import extract, standing_alone
from hoptrail.language.offline.hops import make_plan
from hoptrail.language.offline.integrating import conclude
from hoptrail.language.offline.listing import asks_count, count, listing
from hoptrail.language.offline.membership import claim_by_list
from hoptrail.language.offline.offered import weigh_sides
from hoptrail.language.offline.page_reading import NoReader, Reader
from hoptrail.language.offline.sampling import alike, relation, sample
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.language.offline.yes_no import claim
from hoptrail.language.question_kinds import kind_asked
from hoptrail.language.spelling import corrected
from hoptrail.language.tasks import Reading, Reply, Task
from hoptrail.models.encoder import Encoder
from hoptrail.models.reader import installed_reader
from hoptrail.models.remembered_readings import Remembered, TextReader
from hoptrail.text.summaries import summarise
from hoptrail.text.values import same_value
from hoptrail.text.words import content_stems
from hoptrail.types import AnswerKind, Unit, Usage

NAME = "offline"

T = TypeVar("T")
Output = tasks.Extraction | str | tasks.Decomposition | Reading | float | tasks.Samples | tasks.Relation | bool

_OPEN_REFERENCE = re.compile(r"#\d+\b")
"""A sub-question that still refers to an answer asks about nobody knows what."""

_BEFORE_SIGN = re.compile(r"(?:the|an?) (?=[-/~$.<{])", re.IGNORECASE)
_TAKEN_AS_THEY_STAND = {AnswerKind.PASSAGE: explain, AnswerKind.STEPS: steps, AnswerKind.LIST: listing}
_SIDES = 2
_SURE = 0.5
"""Below this an entry that says what is asked goes before what was read."""
_ALLOWED_SHARE = 0.25
"""Of the least confidence where a question may be left, but only when nothing helps with it."""
_UNANSWERED_SHARE = 0.3
"""The most that covering the question's words is worth while no answer was read."""


class OfflineLanguage:
    """Performs all tasks without a language model. `encoder` may be None: then words alone find what is close.

    `reader` reads texts; None is the one that is installed, opened when it is first needed.
    """

    def __init__(
        self,
        encoder: Encoder | None = None,
        settings: OfflineSettings | None = None,
        reader: TextReader | None = None,
    ) -> None:
        self._encoder = encoder
        self._settings = settings or OfflineSettings()
        self._given_reader = reader

    @property
    def name(self) -> str:
        """`offline`, with the finder of entities where that is not the rules."""
        return NAME if self._settings.entities == RULES else f"{NAME}+{self._settings.entities}"

    @property
    def is_remote_safe(self) -> bool:
        """Rules are the same in every process, if the encoder is there too; see `execution.executor.RemoteSafe`."""
        return self._encoder is None or is_remote_safe(self._encoder)

    def __reduce__(self) -> tuple[type[OfflineLanguage], tuple[Encoder | None, OfflineSettings, TextReader | None]]:
        """Without the finder and the installed reader, which every process opens for itself."""
        return type(self), (self._encoder, self._settings, self._given_reader)

    @cached_property
    def _reader(self) -> TextReader:
        if self._given_reader is None and not self._settings.reader:
            return NoReader()
        return Remembered(self._given_reader or installed_reader())

    @cached_property
    def _finder(self) -> EntityFinder:
        return open_finder(self._settings.entities)

    def perform(self, task: Task[T]) -> Reply[T]:
        """Perform one task; its usage is seconds only.

        Raises:
            TaskFailed: `task` is no language task.
            UsageError: the entity finder of the settings cannot be opened.
        """
        started = time.perf_counter()
        value = self._output(task)
        return Reply(cast("T", value), Usage(seconds=time.perf_counter() - started))

    def _output(self, task: object) -> Output:
        match task:
            case tasks.Extract(unit):  # what it points back to is known by its title, and by the names of its document
                return extract(open_evidence((unit,), self._settings).pages[0], self._finder)
            case tasks.Summarise(units, words):
                pages = open_evidence(units, self._settings).pages
                lines = [standing_alone(line.alone, page.title) for page in pages for line in page.lines]
                return summarise(lines, words)
            case tasks.Decompose():
                return self._decompose(task)
            case tasks.Complete() | tasks.Clarify():
                return (
                    complete(task.question, task.findings)
                    if isinstance(task, tasks.Complete)
                    else clarify(task.question, task.context)
                )
            case tasks.Read(question, evidence, abstain):
                return self._answer(question, evidence, self._least(abstain))
            case tasks.Assess() | tasks.Verify():
                return self._assess(task)
            case tasks.Integrate():
                return self._integrate(task)
            case tasks.Recall():
                return Reading(None)
            case tasks.Sample() | tasks.Entail() | tasks.Equate():
                return self._compare(task)
        raise TaskFailed(f"offline cannot perform {type(task).__name__}: it is no language task")

    def _decompose(self, task: tasks.Decompose) -> tasks.Decomposition:
        questions = make_plan(task.question, self._settings).questions
        if not task.one_at_a_time:
            return tasks.Decomposition(questions)
        answered = all(finding.answer is not None for finding in task.findings)
        at = len(task.findings)
        return tasks.Decomposition(questions[at : at + 1] if answered else ())

    def _least(self, abstain: tasks.Abstain) -> float:
        """How probable an answer has to be."""
        shares = {tasks.Abstain.ALWAYS: 1.0, tasks.Abstain.ALLOWED: _ALLOWED_SHARE, tasks.Abstain.NEVER: 0.0}
        return self._settings.least_confidence * shares[abstain]

    def _answer(self, question: str, units: Sequence[Unit], least: float) -> Reading:
        """An answer of the kind that the question's words ask for; a how or why is never answered with a noun."""
        asked = corrected(question[: self._settings.question_characters], units)
        for by_entry in (define(asked, units), decided(asked, units)):
            if by_entry.answer is not None:
                return by_entry
        kind, similarity = kind_asked(asked), _similarity(self._encoder)
        if kind in {AnswerKind.PASSAGE, AnswerKind.STEPS} or asks_what_it_is(asked):
            same = answer_to_the_same(asked, units)
            if same.answer is not None:
                return same
        if kind in _TAKEN_AS_THEY_STAND:
            return _TAKEN_AS_THEY_STAND[kind](asked, units, similarity)
        reading = count(asked, units) if asks_count(asked) else Reading(None)
        if reading.answer is None:
            reading = _of_kind(self._read(asked, open_evidence(units, self._settings), least), kind)
        if kind is AnswerKind.YES_NO:
            claims = (reading, claim(asked, units, similarity), claim_by_list(asked, units, similarity))
            return max(claims, key=lambda one: one.confidence)
        if reading.confidence < _SURE:
            named = named_by_description(asked, units)
            reading = max(reading, named, key=lambda one: one.confidence)
        # What concludes from a value of each side has a step for each; anything else chose a side without them.
        weighed = weigh_sides(asked, units, similarity) if len(reading.steps) <= _SIDES else Reading(None)
        return reading if weighed.answer is None else weighed

    def _read(self, question: str, evidence: EvidencePages, least: float = 0.0) -> Reading:
        if _OPEN_REFERENCE.search(question):
            return Reading(None)
        reader = Reader(evidence, self._reader, self._settings)
        reading = _without_article(read_by_hops(question, evidence, reader, self._settings))
        return reading if reading.confidence >= least else Reading(None, reading.steps[:-1], kind=reading.kind)

    def _assess(self, task: tasks.Assess | tasks.Verify) -> float:
        evidence = open_evidence(task.evidence, self._settings)
        reading = self._read(task.question, evidence)
        if reading.answer is None:
            asked = task.question[: self._settings.question_characters]
            return round(_UNANSWERED_SHARE * _coverage(asked, task.evidence), 4)
        if isinstance(task, tasks.Assess) or same_value(task.answer, reading.answer):
            return reading.confidence
        return round((1 - reading.confidence) / 2, 4)

    def _integrate(self, task: tasks.Integrate) -> Reading:
        evidence = open_evidence(task.evidence, self._settings)
        least = self._least(task.abstain)
        reading = self._read(task.question, evidence, least) if task.evidence else Reading(None)
        concluded = conclude(task.question, make_plan(task.question, self._settings), task.findings, evidence, reading)
        return _of_kind(concluded, kind_asked(task.question[: self._settings.question_characters]))

    def _compare(self, task: tasks.Sample | tasks.Entail | tasks.Equate) -> tasks.Samples | tasks.Relation | bool:
        if isinstance(task, tasks.Sample):
            return sample(task, self._reader, self._settings)
        return relation(task) if isinstance(task, tasks.Entail) else alike(task)


def _without_article(reading: Reading) -> Reading:
    """`-i` in place of `The -i`: what begins with a sign is no name with an article."""
    if reading.answer is None or not _BEFORE_SIGN.match(reading.answer):
        return reading
    answer = _BEFORE_SIGN.sub("", reading.answer)
    return replace(reading, answer=answer, steps=(*reading.steps[:-1], replace(reading.steps[-1], answer=answer)))


def _of_kind(reading: Reading, kind: AnswerKind) -> Reading:
    """A question of yes or no has no other answers."""
    if reading.answer in {"yes", "no"}:
        return replace(reading, kind=AnswerKind.YES_NO)
    if kind is AnswerKind.YES_NO:
        return Reading(None, reading.steps, kind=AnswerKind.YES_NO)
    return reading


def _similarity(encoder: Encoder | None) -> Similarity | None:
    """Cosines of a question with sentences."""
    if encoder is None:
        return None

    def cosines(question: str, sentences: Sequence[str]) -> Sequence[float]:
        vectors = encoder.encode([question, *sentences])
        return [float(cosine) for cosine in vectors[1:] @ vectors[0]]

    return cosines


def _coverage(question: str, units: Sequence[Unit]) -> float:
    asked = content_stems(question)
    said = frozenset[str]().union(*(content_stems(unit.searchable[:20_000]) for unit in units[:200]))
    return len(asked & said) / len(asked) if asked else 0.0
