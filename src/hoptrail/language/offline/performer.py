"""The language `offline`: performs every task without a language model, free and deterministic.

A small trained reader answers plain questions (`page_reading`); rules, each in a file of this folder, do the rest. It has no
memory: `Recall` always abstains. It reads English; questions in other languages are mostly left unanswered.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import TypeVar, cast

from hoptrail.errors import TaskFailed
from hoptrail.execution.executor import is_remote_safe
from hoptrail.language import tasks
from hoptrail.language.closeness import encoder_similarity
from hoptrail.language.completing import clarify, complete
from hoptrail.language.entity_finders import RULES, EntityFinder, open_finder
from hoptrail.language.link_reading import read_links
from hoptrail.language.offline.concluding import conclude, read_by_hops
from hoptrail.language.offline.definitions import define, named_by_description
from hoptrail.language.offline.evidence import OpenedEvidence, open_evidence
from hoptrail.language.offline.explanations import explain, steps
from hoptrail.language.offline.listing import list_by_reading, listing
from hoptrail.language.offline.offered import weigh_sides
from hoptrail.language.offline.page_reading import NoReader, Reader
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.language.offline.yes_no import claim, claim_by_list
from hoptrail.language.questions.joint_questions import asked_together
from hoptrail.language.questions.plans import make_plan
from hoptrail.language.questions.question_kinds import kind_asked
from hoptrail.language.spelling import corrected
from hoptrail.language.tasks import Reading, Reply, Task
from hoptrail.models.encoder import Encoder
from hoptrail.models.reader import Remembered, TextReader, installed_reader, settling
from hoptrail.text.lexicon import DEMONYMS
from hoptrail.text.mentions import Mention, Shape
from hoptrail.text.normal_forms import base_title, same_words, squeeze
from hoptrail.text.statements import UnitStatement
from hoptrail.text.summaries import summarise
from hoptrail.text.values import same_value
from hoptrail.text.words import content_stems, words
from hoptrail.types import AnswerKind, Extraction, Fact, Unit, Usage

NAME = "offline"

T = TypeVar("T")
Output = Extraction | str | tasks.Decomposition | Reading | float | tasks.Samples | bool

_OPEN_REFERENCE = re.compile(r"#\d+\b")
"""A sub-question with an unresolved reference cannot be answered."""

_LEADING_PRONOUN = re.compile(r"(?:(?P<owner>his|her|its|their)|he|she|it|they)\b(?=\s+[a-z])", re.IGNORECASE)
_QUOTING = {AnswerKind.PASSAGE: explain, AnswerKind.STEPS: steps}
_SIDES = 2
_SURE = 0.5  # below this confidence, other ways to answer are tried, and statements to show are looked for
_ALLOWED_SHARE = 0.25  # factor on the least confidence when abstaining is only allowed if nothing helps
_UNANSWERED_SHARE = 0.3  # the highest assessment without an answer, if the evidence covers all words of the question


class OfflineLanguage:
    """Performs all tasks without a language model. Without an `encoder`, words alone decide which statements are close.

    Without a `reader`, the installed one is opened on first use.
    """

    def __init__(
        self, encoder: Encoder | None = None, settings: OfflineSettings | None = None, reader: TextReader | None = None
    ) -> None:
        self._encoder = encoder
        self._settings = settings or OfflineSettings()
        self._given_reader = reader

    @property
    def name(self) -> str:
        """`offline`, followed by the entity finder unless that is the rules."""
        return NAME if self._settings.entities == RULES else f"{NAME}+{self._settings.entities}"

    @property
    def is_remote_safe(self) -> bool:
        """Whether the encoder works in other processes; the rules do."""
        return self._encoder is None or is_remote_safe(self._encoder)

    def __reduce__(self) -> tuple[type[OfflineLanguage], tuple[Encoder | None, OfflineSettings, TextReader | None]]:
        """Leaves out the finder and the installed reader, which every process opens for itself."""
        return type(self), (self._encoder, self._settings, self._given_reader)

    @cached_property
    def _reader(self) -> TextReader:
        if self._given_reader is None and not self._settings.reader:
            return NoReader()
        return Remembered(self._given_reader) if self._given_reader else installed_reader()

    @cached_property
    def _finder(self) -> EntityFinder:
        return open_finder(self._settings.entities)

    def perform(self, task: Task[T]) -> Reply[T]:
        """Perform one task; its usage is seconds only.
        Raises: TaskFailed: `task` is not a language task. UsageError: the entity finder of the settings cannot be opened.
        """
        started = time.perf_counter()
        value = self._output(task)
        return Reply(cast("T", value), Usage(seconds=time.perf_counter() - started))

    def read_links(self, question: str, passages: tuple[Unit, ...]) -> Reading | None:
        """See `LinkReader`."""
        if isinstance(self._reader, NoReader):
            return None
        return read_links(corrected(question[: self._settings.question_characters], passages), passages, self._reader)

    def settling(self, question: str, statements: Sequence[str]) -> Sequence[float]:
        """See `StatementJudge`."""
        if isinstance(self._reader, NoReader):
            return ()
        return settling(self._reader, question[: self._settings.question_characters], statements)

    def _output(self, task: object) -> Output:
        match task:
            case tasks.Extract(unit):
                return _extract(unit, open_evidence((unit,), self._settings).lines, self._finder)
            case tasks.Summarise(units, words):
                lines = open_evidence(units, self._settings).lines
                return summarise([_standing_alone(line.alone, base_title(line.unit.title)) for line in lines], words)
            case tasks.Decompose():
                return _decompose(task, self._settings)
            case tasks.Read(question, evidence, abstain):
                return self._answer(question, evidence, self._least(abstain))
            case tasks.Assess() | tasks.Verify():
                return self._assess(task)
            case tasks.Integrate():
                return self._integrate(task)
            case tasks.Sample():
                return _sample(task, self._reader, self._settings)
        return _without_evidence(task)

    def _least(self, abstain: tasks.Abstain) -> float:
        shares = {tasks.Abstain.ALWAYS: 1.0, tasks.Abstain.ALLOWED: _ALLOWED_SHARE, tasks.Abstain.NEVER: 0.0}
        return self._settings.least_confidence * shares[abstain]

    def _answer(self, question: str, units: Sequence[Unit], least: float) -> Reading:
        """An answer of the kind that the question asks for; a how or why is never answered with a noun."""
        asked = corrected(question[: self._settings.question_characters], units)
        if together := asked_together(asked):
            return _answer_together([self._answer(part, units, least) for part in together])
        defined = define(asked, units)
        if defined.answer is not None:
            return defined
        kind, similarity = kind_asked(asked), encoder_similarity(self._encoder) if self._encoder else None
        evidence = open_evidence(units, self._settings)
        if kind is AnswerKind.LIST:
            return list_by_reading(asked, units, listing(asked, units, similarity), self._read(asked, evidence, least))
        if kind in _QUOTING:
            quoted = _QUOTING[kind](asked, units, similarity, self.settling)
            if quoted.confidence >= _SURE:
                return quoted
            leads = self._read(asked, evidence, least).leads
            return replace(quoted if quoted.confidence >= least else Reading(None, kind=quoted.kind), leads=leads)
        reading = _of_kind(self._read(asked, evidence, least), kind)
        if kind is AnswerKind.YES_NO:
            claims = (reading, claim(asked, units, similarity), claim_by_list(asked, units, similarity))
            return max(claims, key=lambda reading: reading.confidence)
        if reading.confidence < _SURE:
            reading = max(reading, named_by_description(asked, units), key=lambda reading: reading.confidence)
        # A reading that compared a value of each side has more steps; otherwise compare the sides here.
        weighed = weigh_sides(asked, units, similarity) if len(reading.steps) <= _SIDES else Reading(None)
        return reading if weighed.answer is None else weighed

    def _read(self, question: str, evidence: OpenedEvidence, least: float = 0.0) -> Reading:
        if _OPEN_REFERENCE.search(question):
            return Reading(None)
        reader = Reader(evidence, self._reader, self._settings)
        reading = read_by_hops(question, reader)
        answered_by = (span for step in reading.steps[-1:] for span in step.support[:1])
        leads = tuple(dict.fromkeys((*answered_by, *reader.leads(question))))
        if reading.confidence < least:
            return Reading(None, reading.steps[:-1], kind=reading.kind, leads=leads)
        return replace(reading, leads=leads)

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
        hops, longest = self._settings.most_hops, self._settings.question_characters
        plan = make_plan(task.question, hops, longest, evidence.titles)
        concluded = conclude(task.question, plan, task.findings, evidence, reading)
        return _of_kind(concluded, kind_asked(task.question[: self._settings.question_characters]))


def _answer_together(readings: Sequence[Reading]) -> Reading:
    """The answers of several readings as one; an abstention unless all have one."""
    steps = tuple(step for reading in readings for step in reading.steps)
    leads = tuple(dict.fromkeys(span for reading in readings for span in reading.leads))
    answers = [reading.answer for reading in readings if reading.answer is not None]
    if len(answers) < len(readings):
        return Reading(None, steps, leads=leads)
    confidence = min(reading.confidence for reading in readings)
    return Reading("; ".join(answers), steps, confidence, AnswerKind.SHORT, leads=leads)


def _without_evidence(task: object) -> Output:
    match task:
        case tasks.Complete(question, findings):
            return complete(question, findings)
        case tasks.Clarify(question, _, context):
            return clarify(question, context)
        case tasks.Equate(_, one, other):  # the same words: the rules know no synonyms
            return same_words(one, other)
        case tasks.Recall():
            return Reading(None)
    raise TaskFailed(f"offline cannot perform {type(task).__name__}: it is not a language task")


def _decompose(task: tasks.Decompose, settings: OfflineSettings) -> tasks.Decomposition:
    questions = make_plan(task.question, settings.most_hops, settings.question_characters, task.names).questions
    if not task.one_at_a_time:
        return tasks.Decomposition(questions)
    answered = all(finding.answer is not None for finding in task.findings)
    at = len(task.findings)
    return tasks.Decomposition(questions[at : at + 1] if answered else ())


def _sample(task: tasks.Sample, model: TextReader, settings: OfflineSettings) -> tasks.Samples:
    """The reader's best answer from each piece of evidence alone, if likely: they show how far the evidence disagrees."""
    answers = []
    for unit in task.evidence[: task.samples]:
        best = next(iter(Reader(open_evidence((unit,), settings), model, settings).ranked(task.question)), None)
        answers.append(best.answer if best and best.odds > 0 else None)
    return tasks.Samples(tuple(answers) or (None,))


def _of_kind(reading: Reading, kind: AnswerKind) -> Reading:
    """The reading with its kind; an abstention if the question asks yes or no and the answer is neither."""
    if reading.answer in {"yes", "no"}:
        return replace(reading, kind=AnswerKind.YES_NO)
    if kind is AnswerKind.YES_NO:
        return replace(reading, answer=None, items=(), kind=AnswerKind.YES_NO)
    return reading


def _coverage(question: str, units: Sequence[Unit]) -> float:
    """The share of the question's content words in the units."""
    asked = content_stems(question)
    said = frozenset[str]().union(*(content_stems(unit.searchable[:20_000]) for unit in units[:200]))
    return len(asked & said) / len(asked) if asked else 0.0


def _extract(unit: Unit, lines: Sequence[UnitStatement], finder: EntityFinder) -> Extraction:
    """Entities: the unit's title, then the names, quoted titles, dates and digits that `finder` finds. Facts: the sentences."""
    title = base_title(unit.title)
    heading = [word.lower for word in words(title)]
    lines = [line for line in lines if not title or [word.lower for word in words(line.alone)] != heading]
    texts = [line.said if line.block and line.block.cells else line.text for line in lines]
    named = [[mention.text for mention in finder.find(text) if _is_entity(mention)] for text in texts]
    facts = []
    for line, names in zip(lines, named, strict=True):
        text = _standing_alone(line.alone, title)
        about = names if text == line.alone else [title, *names]
        facts.append(Fact(text, tuple(dict.fromkeys(about)), line.support[0]))
    return Extraction(tuple(dict.fromkeys(chain([title] if title else [], *named))), tuple(facts))


def _is_entity(mention: Mention) -> bool:
    """No number in words, and no nationality alone: everything from a country would be about it."""
    if mention.shape is Shape.NUMBER:
        return mention.text[0].isdigit()
    return mention.text.lower() not in DEMONYMS


def _standing_alone(sentence: str, title: str) -> str:
    """The sentence on one line, with a pronoun at its start replaced by the title."""
    text = squeeze(sentence)
    pronoun = _LEADING_PRONOUN.match(text) if title else None
    if pronoun is None:
        return text
    return (f"{title}'s" if pronoun["owner"] else title) + text[pronoun.end() :]
