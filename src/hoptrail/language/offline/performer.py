"""The language `offline`: performs every task without a language model, free and deterministic.

A small trained reader answers plain questions from single statements (`statement_reading`); plans take nested questions apart;
lists, steps and explanations are quoted. It has no memory: `Recall` always abstains. It reads English.
"""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, islice
from typing import TypeVar, cast

from hoptrail.errors import TaskFailed
from hoptrail.execution.executor import is_remote_safe
from hoptrail.language import tasks
from hoptrail.language.closeness import Close, encoder_similarity
from hoptrail.language.entity_finders import RULES, EntityFinder, open_finder
from hoptrail.language.offline.explanations import explain, procedure
from hoptrail.language.offline.hops import conclude, read_by_hops, read_value
from hoptrail.language.offline.listing import list_by_reading, listing
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.language.offline.statement_reading import StatementReader
from hoptrail.language.questions.comparisons import one_side
from hoptrail.language.questions.follow_ups import complete_follow_up
from hoptrail.language.questions.plans import Plan, make_plan
from hoptrail.language.questions.references import REFERENCE, clarify, complete
from hoptrail.language.tasks import OFFLINE, Reading, Reply, Task
from hoptrail.language.withholding import LEAST_SHARE, all_of, held_to, of_kind
from hoptrail.models.encoder import Encoder
from hoptrail.models.networks import READER, VALUE_READER
from hoptrail.models.question_tagger import tag_question
from hoptrail.models.reader import Remembered, TextReader, installed_reader
from hoptrail.text.lexicon import DEMONYMS
from hoptrail.text.mentions import Mention, Shape
from hoptrail.text.normal_forms import base_title, same_words, squeeze
from hoptrail.text.statements import UnitStatement, statements_of
from hoptrail.text.values import same_value
from hoptrail.text.words import content_stems, words
from hoptrail.types import AnswerKind, Extraction, Fact, Unit, Usage

T = TypeVar("T")

_LEADING_PRONOUN = re.compile(r"(?:(?P<owner>his|her|its|their)|he|she|it|they)\b(?=\s+[a-z])", re.IGNORECASE)
_QUOTING = {AnswerKind.PASSAGE: explain, AnswerKind.STEPS: procedure}
_PROMISING = 3  # statements of the likeliest answers, of which as many are shown if none is given
_LIKELY = 0.5  # confidence above which an answer is a sample: it is rather right than wrong
_SIMILARITY_COST = 0.6  # what nearness to a chosen sentence costs
_MOST_SENTENCES = 400  # of a text that is summarised: each chosen one is compared with all
_UNANSWERED_SHARE = 0.3  # the highest assessment without an answer, if the evidence covers all words of the question


class OfflineLanguage:
    """Performs all tasks without a language model. Without an `encoder`, words alone decide which statements are close. Without a
    `reader`, the installed one is opened on first use.
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
        return OFFLINE if self._settings.entities == RULES else f"{OFFLINE}+{self._settings.entities}"

    @property
    def is_remote_safe(self) -> bool:
        """Whether the encoder works in other processes; the rules do."""
        return self._encoder is None or is_remote_safe(self._encoder)

    def __reduce__(self) -> tuple[type[OfflineLanguage], tuple[Encoder | None, OfflineSettings, TextReader | None]]:
        """Leaves out the finder and the installed reader, which every process opens for itself."""
        return type(self), (self._encoder, self._settings, self._given_reader)

    @cached_property
    def _statements(self) -> StatementReader:
        return self._statement_reader(READER)

    @cached_property
    def _values(self) -> StatementReader:
        return self._statement_reader(VALUE_READER)

    def _statement_reader(self, weights: str) -> StatementReader:
        similarity = encoder_similarity(self._encoder) if self._encoder else None
        if self._given_reader is not None:
            return StatementReader(Remembered(self._given_reader), similarity)
        return StatementReader(installed_reader(weights) if self._settings.reader else None, similarity)

    @cached_property
    def _finder(self) -> EntityFinder:
        return open_finder(self._settings.entities)

    def perform(self, task: Task[T]) -> Reply[T]:
        """Perform one task; its usage is seconds. Raises: TaskFailed: it is unknown. UsageError: the finder cannot be opened."""
        started = time.perf_counter()
        value = self._output(task)
        return Reply(cast("T", value), Usage(seconds=time.perf_counter() - started))

    def judged(self, question: str, units: tuple[Unit, ...]) -> tuple[Close, ...]:
        return self._statements.judged(question[: self._settings.question_characters], units)

    def _output(self, task: object) -> object:
        match task:
            case tasks.Extract(unit):
                return _extract(unit, list(lines_within([unit], self._settings)), self._finder)
            case tasks.Summarise(units, words):
                lines = lines_within(units, self._settings)
                return summarise([_standing_alone(line.alone, base_title(line.unit.title)) for line in lines], words)
            case tasks.Decompose():
                return _decompose(task, self._settings)
            case tasks.Read(question, evidence, abstain):
                return self._answer(question, evidence, self._settings.least_confidence * LEAST_SHARE[abstain])
            case tasks.Assess() | tasks.Verify():
                return self._assess(task)
            case tasks.Integrate():
                return self._integrate(task)
            case tasks.Sample():
                return _sample(task, self._statements)
        return _without_evidence(task)

    def _answer(self, question: str, evidence: Sequence[Unit], least: float) -> Reading:
        """An answer of the kind that the question asks for; a how or why is never answered with a noun."""
        asked = question[: self._settings.question_characters]
        kind, units = tag_question(asked).kind, distinct_units(evidence, self._settings)
        if kind is AnswerKind.LIST:
            return list_by_reading(evidence, listing(asked, evidence), self._read(asked, units, least))
        if kind in _QUOTING:
            close = self._statements.read(asked, units).close
            quoted = _QUOTING[kind](asked, evidence, close, self._statements.settling)
            return held_to(least, quoted)
        reading = of_kind(kind, self._read(asked, units, least))
        return replace(reading, notes=self._statements.looked_at(asked, units))

    def _read(self, question: str, units: Sequence[Unit], least: float = 0.0) -> Reading:
        if REFERENCE.search(question):  # it cannot be answered
            return Reading(None)
        question = question[: self._settings.question_characters]
        if side := one_side(question):
            return read_value(question, side, units, self._values)
        plan = _plan(question, self._settings)
        reading = read_by_hops(question, plan, units, self._statements, lambda: self._values)
        if len(plan.questions) == 1 and (disputed := self._statements.disputed(question, units)):
            reading = all_of(question, disputed)
        answered_by = (step.support[0] for step in reversed(reading.steps) if step.support)
        at_once = (span for one in self._statements.ranked(question, units)[:_PROMISING] for span in one.support[:1])
        promising = tuple(dict.fromkeys((*answered_by, *at_once)))[:_PROMISING]
        return replace(held_to(least, reading), promising=promising)

    def _assess(self, task: tasks.Assess | tasks.Verify) -> float:
        reading = self._read(task.question, distinct_units(task.evidence, self._settings))
        if reading.answer is None:
            asked = content_stems(task.question[: self._settings.question_characters])
            said = frozenset[str]().union(*(content_stems(unit.searchable[:20_000]) for unit in task.evidence[:200]))
            return round(_UNANSWERED_SHARE * (len(asked & said) / max(1, len(asked))), 4)
        if isinstance(task, tasks.Assess) or same_value(task.answer, reading.answer):
            return reading.confidence
        return round((1 - reading.confidence) / 2, 4)

    def _integrate(self, task: tasks.Integrate) -> Reading:
        units, reading = distinct_units(task.evidence, self._settings), Reading(None)
        if units:
            reading = self._read(task.question, units, self._settings.least_confidence * LEAST_SHARE[task.abstain])
        plan, lines = _plan(task.question, self._settings), lines_within(units, self._settings)
        concluded = conclude(task.question, plan, task.findings, lines, reading)
        return of_kind(tag_question(task.question[: self._settings.question_characters]).kind, concluded)


def distinct_units(units: Sequence[Unit], settings: OfflineSettings) -> list[Unit]:
    """The first units, each once, as many as the settings allow."""
    return list({unit.id: unit for unit in units[: settings.evidence_units]}.values())


def lines_within(units: Sequence[Unit], settings: OfflineSettings) -> Iterator[UnitStatement]:
    """The statements of these units, as many as the settings allow."""
    for unit in distinct_units(units, settings):
        within = (said for said in statements_of(unit) if said.end <= settings.unit_characters)
        yield from islice(within, settings.unit_sentences)


def _without_evidence(task: object) -> object:
    match task:
        case tasks.Complete(question, findings):
            return complete(question, findings)
        case tasks.FollowUp(message, turns):
            written = complete_follow_up(message, turns)
            return written.text if written else None
        case tasks.Clarify(question, _, context):
            return clarify(question, context)
        case tasks.Equate(_, one, other):  # the same words: the rules know no synonyms
            return same_words(one, other)
        case tasks.Recall():
            return Reading(None)
    raise TaskFailed(f"offline cannot perform {type(task).__name__}: it is not a language task")


def _plan(question: str, settings: OfflineSettings) -> Plan:
    return make_plan(question, settings.most_hops, settings.question_characters)


def _sample(task: tasks.Sample, reader: StatementReader) -> tasks.Samples:
    """The likely answer from each piece of evidence alone, if any: they show how far the evidence disagrees."""
    alone = [reader.ranked(task.question, [unit]) for unit in task.evidence[: task.samples]]
    likely = [found[0].answer if found and found[0].confidence > _LIKELY else None for found in alone]
    return tasks.Samples(tuple(likely) or (None,))


def _decompose(task: tasks.Decompose, settings: OfflineSettings) -> tasks.Decomposition:
    plan = _plan(task.question, settings)
    questions = plan.searched if plan.comparison and plan.comparison.is_led else plan.questions
    if not task.one_at_a_time:
        return tasks.Decomposition(questions)
    answered = all(finding.answer is not None for finding in task.findings)
    at = len(task.findings)
    return tasks.Decomposition(questions[at : at + 1] if answered else ())


def _extract(unit: Unit, lines: Sequence[UnitStatement], finder: EntityFinder) -> Extraction:
    """Entities: the unit's title, then the names, quoted titles, dates and digits that `finder` finds. Facts: the sentences."""
    title = base_title(unit.title)
    heading = [word.lower for word in words(title)]
    lines = [line for line in lines if not title or [word.lower for word in words(line.alone)] != heading]
    texts = [line.said if line.block and line.block.cells else line.text for line in lines]
    named = [[mention.text for mention in finder(text) if _is_entity(mention)] for text in texts]
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


def summarise(sentences: Sequence[str], limit: int) -> str:
    """The sentences nearest the centre of a text, whole and in order, of at most `limit` words; if none fits, the best one cut
    short. The centre is the sum of the sentences' weighted stems. A chosen sentence lowers the worth of similar ones (maximal
    marginal relevance).
    """
    lines = [line for line in dict.fromkeys(squeeze(sentence) for sentence in sentences[:_MOST_SENTENCES]) if line]
    stems = [content_stems(line) for line in lines]
    count = Counter(stem for line_stems in stems for stem in line_stems)
    weight = {stem: number * math.log(1 + len(lines) / number) for stem, number in count.items()}
    worth = [sum(weight[stem] for stem in sorted(line_stems)) / math.sqrt(1 + len(line_stems)) for line_stems in stems]
    chosen: list[int] = []
    similarity, room = [0.0] * len(lines), limit
    candidates = [at for at in range(len(lines)) if worth[at] > 0]
    while candidates := [at for at in candidates if len(lines[at].split()) <= room]:
        best = max(candidates, key=lambda at: worth[at] * (1 - _SIMILARITY_COST * similarity[at]))
        chosen.append(best)
        candidates.remove(best)
        room -= len(lines[best].split())
        for at in candidates:
            overlap = len(stems[at] & stems[best]) / max(1, len(stems[at] | stems[best]))
            similarity[at] = max(similarity[at], overlap)
    if not chosen and lines:
        best = max(range(len(lines)), key=lambda at: worth[at])
        return " ".join(lines[best].split()[: max(0, limit)])
    return " ".join(lines[at] for at in sorted(chosen))
