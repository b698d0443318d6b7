"""A conversation with an index: its questions and answers so far, from which a follow-up is completed.

Every door answers a message here: Python, the terminal, the page, the HTTP API, chat windows and agents. A message becomes
questions; a question that does not stand alone is completed, by the model if there is one, else by the trained writer; each is
answered.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from threading import Event
from typing import TypedDict, Unpack

from hoptrail.errors import TaskFailed
from hoptrail.language.listener import Listener, ObservedLanguage
from hoptrail.language.questions.messages import MOST_QUESTIONS, WRITING, complete_follow_up, read_message, stands_alone
from hoptrail.language.tasks import OFFLINE, Finding, FollowUp, Language, Turn
from hoptrail.models.tracing import said, span
from hoptrail.recipes.recipe import Recipe
from hoptrail.retrieval.corpus import check_question
from hoptrail.types import Answer, AnswerKind, Evidence, Guess, Hop, Trail, Usage

MOST_TURNS = 8  # earlier turns that are looked at

LEAST_MEANT = 0.5
"""Where a completed question is meant with less, its answer is a guess: of 222 turns of dialogues 18 instead of 23 get a wrong
answer, and 71 instead of 78 a right one.
"""


class SearchOptions(TypedDict, total=False):
    """What is searched, and what is followed up.

    - `as_of` (`2024`, `2024-03` or `2024-03-05`): only what was said by that date.
    - `labels`: only documents that have one of these labels.
    - `documents`: only documents with one of these ids.
    - `before`: the earlier answers, oldest first, or the last one.
    """

    as_of: str
    labels: Collection[str] | None
    documents: str | Collection[str] | None
    before: Answer | Sequence[Answer] | None


class AskOptions(SearchOptions, total=False):
    recipe: str | None
    language: Language | str | None


class Conversation:
    """The answers so far, oldest first; each has its `question` as typed and as `asked`."""

    def __init__(self, ask: Callable[..., Answer], asking: AskOptions) -> None:
        self._ask, self._asking = ask, asking
        self.answers = [*earlier(asking.get("before"))]

    def ask(self, message: str, **other: Unpack[AskOptions]) -> Answer:
        """Answer a message, completed from the ones before. Raises: as `Index.ask` does; the conversation can go on."""
        self.answers.append(self._ask(message, **{**self._asking, **other, "before": self.answers}))
        return self.answers[-1]


def earlier(before: Answer | Sequence[Answer] | None) -> Sequence[Answer]:
    return (before,) if isinstance(before, Answer) else before or ()


def answer_message(
    message: str,
    before: Sequence[Answer],
    recipe: Recipe,
    language: Language,
    begun: Callable[[str], None] = lambda _: None,
) -> Answer:
    """Answer a message by a recipe that uses `language`, completed from the answers `before`, oldest first. `begun` is told each
    question that is really asked.
    Raises: UsageError: the message is empty or far too long.
    """
    about = {"hoptrail.recipe": recipe.name, "hoptrail.language": language.name, **said("input", [("user", message)])}
    with span("invoke_agent", "hoptrail", {"gen_ai.agent.name": "hoptrail", **about}) as note:
        answer = _answer(message, before, recipe, language, begun)
        note({"hoptrail.abstained": answer.abstained, "hoptrail.hops": len(answer.trail)})
        note(said("output", [("assistant", answer.text or "")]))
    return answer


def _answer(
    message: str, before: Sequence[Answer], recipe: Recipe, language: Language, begun: Callable[[str], None]
) -> Answer:
    asked = check_question(message)
    writes = not language.name.startswith(OFFLINE)
    read = read_message(message, writes=writes)
    if read.reply:
        return Answer(asked, read.reply, recipe.name, language.name, kind=AnswerKind.REPLY)
    effort, unmet = recipe.settings.effort, ""
    if not writes and effort.others[0] and not effort.readings[0]:  # what reads nothing asks a memory
        unmet = f"The recipe {recipe.name} asks a model's memory, and no model is set: `hoptrail setup` finds one."
    turns = turns_of(before)
    answers: list[Answer] = []
    questions, alone = read.questions[:MOST_QUESTIONS], read.introduced
    if writes and len(questions) == 1 and stands_alone(questions[0], turns):
        questions, alone = (asked,), True  # a model is shown the wishes in a message, which are left out without one
    for question in questions:
        whole = _completed(question, [] if alone and not answers else turns, language)
        begun(whole.question)
        answer = _doubted(recipe.answer(whole.question), whole.probability)
        usage, notes = answer.usage + whole.usage, (*answer.notes, *filter(None, [whole.note, unmet]))
        answers.append(replace(answer, question=question, asked=whole.question, usage=usage, notes=notes))
        turns.append(_turn(answers[-1]))
    left = [f"Not asked: {question}" for question in read.questions[MOST_QUESTIONS:]]
    if len(answers) == 1:
        return replace(answers[0], question=asked)
    return _joined(asked, answers, left)


def streamed(work: Callable[[Language], Answer], language: Language) -> Generator[Hop | Answer, None, None]:
    """The hops that `work` finds with `language`, then its answer; it stops when nobody listens. Raises: what `work` raises."""
    from concurrent.futures import ThreadPoolExecutor  # takes a while to import

    found: SimpleQueue[Hop | None] = SimpleQueue()
    left = Event()
    observed = ObservedLanguage(language, Listener(found=lambda hop, _: found.put(hop), stopped=left.is_set))
    with ThreadPoolExecutor(1, thread_name_prefix="answer") as pool:
        answer = pool.submit(copy_context().run, work, observed)
        answer.add_done_callback(lambda _: found.put(None))
        try:
            while (hop := found.get()) is not None:
                yield hop
            yield answer.result()
        finally:
            left.set()


def completed(message: str, before: Sequence[Answer], language: Language) -> str:
    """The question to search for: a message without the words around its questions, completed from the answers before."""
    read = read_message(message, writes=True)
    question = " ".join(read.questions) or check_question(message)
    return _completed(question, [] if read.introduced else turns_of(before), language).question


def turns_of(answers: Iterable[Answer]) -> list[Turn]:
    """The last turns, oldest first; replies are none. What was not completed yet, as in messages that a client sends, is."""
    turns: list[Turn] = []
    for answer in [one for whole in answers for one in (whole.parts or (whole,))][-MOST_TURNS:]:
        if answer.kind is AnswerKind.REPLY:
            continue
        whole = answer.asked
        if answer.asked == answer.question:
            read = read_message(answer.question, writes=answer.text != WRITING)
            if read.reply:
                continue
            questions = read.questions if len(read.questions) == 1 else (answer.question,)
            written = complete_follow_up(questions[0], turns) if turns else None
            whole = written.text if written else questions[0]
        turns.append(replace(_turn(answer), asked=whole))
    return turns


def _turn(answer: Answer) -> Turn:
    # A guess was shown, so a message may follow it up.
    shown = answer.guess.text if answer.text is None and answer.guess else answer.text
    return Turn(answer.asked, shown, tuple(Finding(hop.question, hop.asked, hop.answer) for hop in answer.trail))


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question as it is asked, the probability that this is meant, a note if it could not be completed, and what that cost."""

    question: str
    probability: float = 1.0
    note: str = ""
    usage: Usage = field(default_factory=Usage)


def _completed(question: str, turns: Sequence[Turn], language: Language) -> _Asked:
    if not turns:
        return _Asked(question)
    written = complete_follow_up(question, turns)
    if stands_alone(question, turns):
        return _Asked(written.text if written else question)
    if written and language.name.startswith(OFFLINE):
        return _Asked(written.text, written.probability)
    usage = Usage()
    try:
        reply = language.perform(FollowUp(question, tuple(turns)))
        if reply.value not in {None, turns[-1].asked}:  # to ask the same again is no follow-up
            return _Asked(reply.value, usage=reply.usage)
        usage = reply.usage
    except TaskFailed as failure:
        usage = failure.usage or usage
    note = f"It is not clear what “{question}” follows up: it was asked as it stands."
    return _Asked(question, note=note, usage=usage)


def _doubted(answer: Answer, probability: float) -> Answer:
    """An answer to a question that is meant with a probability: it is no surer than both together, and perhaps a guess."""
    if answer.confidence is None:
        return answer
    sure = round(answer.confidence * probability, 4)
    if probability >= LEAST_MEANT or answer.text is None:
        return replace(answer, confidence=sure, guess=answer.guess and replace(answer.guess, confidence=sure))
    said = tuple(one for one in answer.evidence if one.hop == answer.evidence[-1].hop)
    return replace(answer, text=None, items=(), confidence=sure, guess=Guess(answer.text, sure, said))


def _joined(message: str, answers: Sequence[Answer], notes: Sequence[str]) -> Answer:
    """One answer to several questions, a line for each; `parts` has the answers. It is as sure as its most doubtful line."""
    lines = tuple(f"{one.asked} {'Not settled.' if one.text is None else one.text}" for one in answers)
    evidence: list[Evidence] = []
    hops = 0  # of the answers before, in the joint trail
    for answer in answers:
        evidence += [replace(item, hop=item.hop + hops) for item in answer.evidence]
        hops += len(answer.trail)
    settled = [one for one in answers if one.text is not None]
    sure = [one.confidence for one in settled if one.confidence is not None]
    return Answer(
        message,
        "\n".join(lines) if settled else None,
        answers[0].recipe,
        answers[0].language,
        tuple(evidence),
        Trail(tuple(hop for one in answers for hop in one.trail)),
        sum((one.usage for one in answers), Usage()),
        tuple(dict.fromkeys(hit for one in answers for hit in one.ranking)),
        min(sure, default=None),
        AnswerKind.LIST,
        lines if settled else (),
        next((one.closest for one in answers if one.text is None), ()),
        asked=" ".join(one.asked for one in answers),
        parts=tuple(answers),
        notes=tuple(dict.fromkeys([*(note for one in answers for note in one.notes), *notes])),
    )
