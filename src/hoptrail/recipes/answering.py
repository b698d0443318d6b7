"""Steps of answering that recipes share: turning a reading into hops, citing, asking hop by hop.

Citations are made only here, and only from spans. Each is checked against the units that the language read and cut out of the
stored document, so it cannot say what the document does not.

Recipes that ask hop by hop derive from `Hopwise`: each adds how hops are made, and some conclude in their own way.
`next_questions` is the commonest way to sub-questions: one at a time.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from hoptrail.corpus.rows import said_date
from hoptrail.errors import TaskFailed
from hoptrail.language.conversation.references import is_completion, is_left_open, points_back, word_references
from hoptrail.language.meter import Meter
from hoptrail.language.tasks import (
    Abstain,
    Complete,
    Decompose,
    Finding,
    Integrate,
    Language,
    Read,
    Reading,
    Recall,
    Step,
)
from hoptrail.recipes.closest import closest
from hoptrail.recipes.recipe import PassageSettings
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.rankings import covers_any, interleave, pack
from hoptrail.text.dates import date_of
from hoptrail.text.statements import wording_of
from hoptrail.types import (
    Answer,
    Document,
    Evidence,
    Guess,
    Hit,
    Hop,
    Kind,
    Ranking,
    Span,
    Trail,
    Unit,
    Verdict,
    content_id,
)

MOST_CITED = 4
"""Spans cited for one hop; a reader would not check more."""

LEAST_GUESS = 0.15
"""Below this probability of being right not even a guess is shown: on folders of strangers hardly any of them is right."""

ONLINE = "online:"
"""Prefix of the channels of hits from the web; the engine's name follows."""
MEMORY = "memory"
"""Channel of the note that an answer came from the model's memory."""
CARRIED = "carried"
"""Channel of the summary of what an earlier sub-question without an answer found."""


@dataclass(frozen=True, slots=True)
class CitedHop:
    """A hop and the spans that support its answer, all inside its hits."""

    hop: Hop
    support: tuple[Span, ...] = ()


def hops_of(question: str, reading: Reading, found: Ranking, read: Ranking) -> list[CitedHop]:
    """One hop for each step of a reading of `read`, a part of `found`. The first hop has all hits, later ones those they cite.
    Raises: TaskFailed: a step cites a span outside the units that were read.
    """
    hops: list[CitedHop] = []
    for step in reading.steps:
        check_support(step.support, read)
        cited = tuple(hit for hit in read if covers_any(hit.unit, step.support))
        hits = cited if hops else found
        hops.append(CitedHop(Hop(step.question, step.question, hits, step.answer, verdict_of(step)), step.support))
    if not hops or reading.answer is None:
        verdict = Verdict.UNANSWERED if reading.answer is None else Verdict.ANSWERED
        hops.append(CitedHop(Hop(question, question, () if hops else found, reading.answer, verdict)))
    return hops


def verdict_of(read: Reading | Step) -> Verdict:
    """The verdict of a hop with this answer."""
    return Verdict.ANSWERED if read.supported else Verdict.UNSUPPORTED


def memory_hop(question: str, asked: str, reading: Reading, found: Ranking = ()) -> CitedHop:
    """A hop answered from memory: a note saying so is its first hit, before `found`, and nothing is cited."""
    if reading.answer is None:
        return CitedHop(Hop(question, asked, found, None, Verdict.UNANSWERED))
    note = Hit(outside_unit("from memory", MEMORY, reading.answer, asked), 0.0, MEMORY)  # nothing reads it
    return CitedHop(Hop(question, asked, (note, *found), reading.answer, Verdict.ANSWERED))


def outside_unit(title: str, place: str, text: str, *parts: str) -> Unit:
    """A unit for a text at `place` outside the index: it can be read and shown, but not cited (see `is_stored`)."""
    return Unit(content_id("w", place, title, text, *parts), Kind.PASSAGE, title, text, (Span(place, 0, len(text)),))


def is_stored(hit: Hit) -> bool:
    """Whether the hit is a unit of the index, which can be cited."""
    return hit.channel not in (MEMORY, CARRIED) and not hit.channel.startswith(ONLINE)


def stored_hits(hits: Iterable[Hit]) -> Ranking:
    """The hits that are units of the index."""
    return tuple(filter(is_stored, hits))


def report_hops(hops: list[CitedHop], meter: Meter) -> list[CitedHop]:
    """Pass the hops to the listeners and return them."""
    for cited in hops:
        meter.found(cited.hop, cited.support)
    return hops


def check_support(support: Sequence[Span], hits: Ranking) -> None:
    """Check that every supporting span lies in a hit. Raises: TaskFailed: one does not; the message names it."""
    for span in support:
        if not any(covers_any(hit.unit, [span]) for hit in hits):
            raise TaskFailed(
                f"answer: cites characters {span.start} to {span.end} of document {span.document}, which the evidence handed "
                f"over does not contain."
            )


def cite(hops: Sequence[CitedHop], corpus: Corpus) -> tuple[Evidence, ...]:
    """Evidence for every supporting span of every hop, in order, without repeats within a hop. If an answer is from a summary,
    which is supported by everything summarised, the sentences that say it are cited.
    """
    documents = corpus.documents({span.document for cited in hops for span in cited.support})
    evidence = []
    for position, cited in enumerate(hops):
        for span in _spans_to_cite(cited, documents):
            holders = [hit.unit for hit in cited.hop.hits if covers_any(hit.unit, [span])]
            # A summary is cited last: it rarely says what one of its many sources says.
            unit = next((unit for unit in holders if unit.kind is not Kind.SUMMARY), holders[0])
            document = documents[span.document]
            block = next(iter(document.blocks_within(span)), None)
            evidence.append(
                Evidence(
                    *(document.id, document.title, span.start, span.end, document.slice(span), unit.id),
                    path=block.path if block else (),
                    place=block.place if block else "",
                    date=date_of(block, document.title) or said_date(document.date, document.date_from),
                    source=next(iter(document.sources), ""),
                    said=wording_of(document, span),
                    kind=unit.kind,
                    hop=position,
                    replaced=span.replaced,
                )
            )
    return tuple(evidence)


def withheld_hop(question: str, reading: Reading, read: Ranking) -> CitedHop | None:
    """The hop of the answer that a reading of `read` withholds, if any."""
    step = reading.withheld
    if step is None:
        return None
    return CitedHop(Hop(question, step.question, read, step.answer, verdict_of(step)), step.support)


def guess_of(withheld: CitedHop | None, confidence: float, corpus: Corpus, at: int) -> Guess | None:
    """An answer that is withheld, as a guess about hop `at`, if it is likely enough and what it cites supports it."""
    if withheld is None or withheld.hop.verdict is not Verdict.ANSWERED or confidence < LEAST_GUESS:
        return None
    evidence = tuple(replace(item, hop=at) for item in cite([withheld], corpus))
    return Guess(withheld.hop.answer or "", confidence, evidence)


def findings_of(hops: Sequence[CitedHop]) -> tuple[Finding, ...]:
    """The hops as later tasks see them."""
    return tuple(Finding(cited.hop.question, cited.hop.asked, cited.hop.answer) for cited in hops)


def _spans_to_cite(cited: CitedHop, documents: Mapping[str, Document]) -> list[Span]:
    """All supporting spans; if many, the MOST_CITED sentences with most words of the answer, then of the sub-question."""
    support = list(dict.fromkeys(cited.support))
    if len(support) <= MOST_CITED:
        return support
    answer, asked = _words(cited.hop.answer or ""), _words(cited.hop.asked)
    sentences = [
        replace(sentence, replaced=span.replaced)
        for span in support
        for sentence in documents[span.document].sentences()
        if span.covers(sentence)
    ]
    said = {sentence: _words(documents[sentence.document].slice(sentence)) for sentence in sentences or support}
    most = max(len(words & answer) for words in said.values())
    naming = [span for span, words in said.items() if len(words & answer) == most]
    best = sorted(naming, key=lambda span: (-len(said[span] & asked), span))[:MOST_CITED]
    return [span for span in said if span in best]


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.casefold()))


# --- hop by hop

Concluded = tuple[str | None, list[CitedHop]]
"""The answer to a question (None: an abstention), and hops to add if concluding read something new."""


@dataclass(frozen=True)
class Hopwise(ABC):
    """Ask sub-questions, retrieve and read for each, conclude. A failed task is a failed hop, never an error."""

    corpus: Corpus
    language: Language
    settings: PassageSettings

    name: ClassVar[str]

    @abstractmethod
    def hops(self, question: str, meter: Meter) -> list[CitedHop]:
        """The hops in order; a failed task makes a failed hop."""

    def conclude(self, question: str, hops: Sequence[CitedHop], found: Ranking, meter: Meter) -> Concluded:
        """Conclude from the findings and the hits that can be read at once; abstain if allowed and no hop has an answer."""
        if meter.abstain is not Abstain.NEVER and all(cited.hop.answer is None for cited in hops):
            return None, []
        return integrate_packed(question, hops, found, self.settings.evidence_tokens, meter)

    def everything(self, hops: Sequence[CitedHop]) -> Ranking:
        """The stored hits of all hops, interleaved: every hop's first, then every hop's second, and so on."""
        return interleave([stored_hits(cited.hop.hits) for cited in hops], self.settings.k)

    def retrieve(self, question: str) -> Ranking:
        """The hits of all hops. They are read too, because a sub-question needs the answers before it."""
        return self.everything(self.hops(question, Meter(self.language)))

    def answer(self, question: str) -> Answer:
        """The conclusion from all hops, which are its trail; its confidence is None."""
        meter = Meter(self.language, self.settings.abstain)
        hops = self.hops(question, meter)
        found = self.everything(hops)
        text, concluding = self.conclude(question, hops, found, meter)
        report_hops(concluding, meter)
        hops = [*hops, *concluding]
        evidence = cite(hops, self.corpus)
        trail = Trail(tuple(cited.hop for cited in hops))
        return Answer(
            *(question, text, self.name, self.language.name, evidence, trail, meter.total, found),
            closest=closest(question, found, self.corpus, self.language),
        )


def next_questions(
    question: str,
    meter: Meter,
    most: int,
    ask: Callable[[str, str], CitedHop],
    goes_on: Callable[[Sequence[CitedHop]], bool] = lambda _: True,
    known: Collection[str] = (),
    left_open_counts: bool = False,
) -> list[CitedHop]:
    """Ask one sub-question after another until none is left, one repeats or is `known`, a task fails, there are `most` hops, or
    `goes_on` (called with the hops so far) returns False.

    Each sub-question is chosen given the findings so far and, if it points back, completed from them. `ask` gets the
    sub-question and its completed form, without numbers. A hop whose completed form still says `she` or `this author` counts as
    failed unless `left_open_counts`: what was read for it may be about anybody.
    """
    hops: list[CitedHop] = []
    asked = set(known)
    while len(hops) < most and goes_on(hops):
        findings = findings_of(hops)
        try:
            following = meter.perform(Decompose(question, findings, one_at_a_time=True)).questions
            if not following:
                break
            sub_question, completed, left_open = following[0], following[0], False
            if points_back(sub_question, findings):
                completed = meter.perform(Complete(sub_question, findings))
                completed = word_references(completed, [one.asked for one in findings])
                left_open = is_left_open(completed) and not left_open_counts
        except TaskFailed:
            hops += report_hops([failed_hop(question, question)], meter)
            break
        if completed in asked:
            break
        asked.add(completed)
        meter.asked(sub_question, completed)
        cited = ask(sub_question, completed)
        hops += report_hops([failed_hop(sub_question, completed, cited.hop.hits) if left_open else cited], meter)
    return hops


def reading_for(
    question: str,
    asked: str,
    found: Ranking,
    read: Ranking,
    units: Sequence[Unit],
    meter: Meter,
    abstain: Abstain = Abstain.ALWAYS,
) -> tuple[Reading, CitedHop]:
    """The reading and the hop of a sub-question answered from `units`, which come from the hits `read`, a part of `found`."""
    try:
        reading = meter.perform(Read(asked, tuple(units), abstain)) if units else Reading(None)
        support = tuple(span for step in reading.steps for span in step.support)
        check_support(support, read)
    except TaskFailed:
        return Reading(None), failed_hop(question, asked, found)
    if reading.answer is None:
        return reading, CitedHop(Hop(question, asked, found, None, Verdict.UNANSWERED))
    return reading, CitedHop(Hop(question, asked, found, reading.answer, verdict_of(reading)), support)


def read_packed(
    question: str, asked: str, found: Ranking, tokens: int, meter: Meter, abstain: Abstain = Abstain.ALWAYS
) -> tuple[Reading, CitedHop]:
    """The reading and the hop of a sub-question answered from the part of `found` that fits `tokens`."""
    packed = pack(found, tokens)
    return reading_for(question, asked, found, packed, [hit.unit for hit in packed], meter, abstain)


def complete_question(question: str, findings: tuple[Finding, ...], complete: Callable[[], str]) -> str:
    """The sub-question with earlier answers filled in if it needs them and `complete` gives valid ones; others are worded."""
    if any(finding.answer is not None for finding in findings) and points_back(question, findings):
        rewritten = complete()
        question = rewritten if is_completion(question, rewritten, findings) else question
    return word_references(question, [finding.asked for finding in findings])


def next_step(question: str, findings: tuple[Finding, ...], meter: Meter) -> tuple[str, str] | None:
    """The next sub-question and its completed form; the question itself if it is not decomposed. None: nothing is left."""
    questions = meter.perform(Decompose(question, findings, one_at_a_time=True)).questions
    if findings and not questions:
        return None
    following = questions[0] if questions else question
    return following, complete_question(following, findings, lambda: meter.perform(Complete(following, findings)))


def recalled(question: str, asked: str, meter: Meter) -> tuple[Reading, CitedHop]:
    """The reading and the hop of a sub-question answered from the model's memory."""
    try:
        reading = meter.perform(Recall(asked, meter.abstain))
    except TaskFailed:
        return Reading(None), failed_hop(question, asked)
    return reading, memory_hop(question, asked, reading)


def conclusion(
    task: Integrate, hops: Sequence[CitedHop], read: Ranking, meter: Meter
) -> tuple[Reading, list[CitedHop]]:
    """Perform `task`, abstaining as `meter` says. Its evidence was made from the hits `read`.

    Returns the reading, and a hop for it unless an earlier hop had that answer or it follows from the findings alone.
    Raises: TaskFailed: from the language, or because the reading cites a span outside the evidence.
    """
    reading = meter.perform(replace(task, abstain=meter.abstain))
    support = tuple(span for step in reading.steps for span in step.support)
    check_support(support, read)
    from_answers = reading.supported and not support
    if reading.answer is None or from_answers or reading.answer in {cited.hop.answer for cited in hops}:
        return reading, []
    hop = Hop(task.question, task.question, read, reading.answer, verdict_of(reading))
    return reading, [CitedHop(hop, support)]


def integrate(task: Integrate, hops: Sequence[CitedHop], read: Ranking, meter: Meter) -> Concluded:
    """The answer of the `conclusion` and its hop; None and a failed hop if the task fails."""
    try:
        reading, concluding = conclusion(task, hops, read, meter)
    except TaskFailed:
        return None, [failed_hop(task.question, task.question, read)]
    return reading.answer, concluding


def integrate_packed(question: str, hops: Sequence[CitedHop], found: Ranking, tokens: int, meter: Meter) -> Concluded:
    """Integrate the findings and the part of `found` that fits `tokens`."""
    packed = pack(found, tokens)
    return integrate(Integrate(question, findings_of(hops), tuple(hit.unit for hit in packed)), hops, packed, meter)


def failed_hop(question: str, asked: str, found: Ranking = ()) -> CitedHop:
    """The hop of a sub-question on which a task failed."""
    return CitedHop(Hop(question, asked, found, None, Verdict.FAILED))


@dataclass(frozen=True, slots=True)
class QuestionBudget:
    """At most `tasks` tasks through `meter`, and none after `tokens` are spent. 0: no limit."""

    meter: Meter
    tasks: int = 0
    tokens: int = 0

    def affords(self, tasks: int) -> bool:
        """Whether `tasks` more tasks fit."""
        usage = self.meter.usage
        if self.tokens and usage.prompt_tokens + usage.completion_tokens >= self.tokens:
            return False
        return not self.tasks or self.meter.tasks + tasks <= self.tasks
