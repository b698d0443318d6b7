"""A conversation with an index: its questions and answers so far, from which a follow-up is completed.

Every door answers a message here: Python, the terminal, the page, the HTTP API, chat windows and agents. A message becomes
questions; a question that does not stand alone is completed, by the model if there is one, else by the trained writer; each is
answered.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Sequence
from contextvars import copy_context
from dataclasses import replace
from queue import SimpleQueue
from threading import Event
from typing import TypedDict, Unpack

from hoptrail.language.listener import Listener, ObservedLanguage
from hoptrail.language.questions.follow_ups import question_meant, stands_alone, turn_of, turns_of
from hoptrail.language.questions.messages import MOST_QUESTIONS, read_message
from hoptrail.language.tasks import OFFLINE, Language
from hoptrail.language.withholding import doubted
from hoptrail.models.tracing import said, span
from hoptrail.recipes.recipe import Recipe
from hoptrail.retrieval.corpus import check_question
from hoptrail.types import Answer, AnswerKind, Evidence, Hop, Trail, Usage


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
        meant = question_meant(question, [] if alone and not answers else turns, language)
        begun(meant.question)
        answer = doubted(recipe.answer(meant.question), meant.probability)
        usage, notes = answer.usage + meant.usage, (*answer.notes, *filter(None, [meant.note, unmet]))
        answers.append(replace(answer, question=question, asked=meant.question, usage=usage, notes=notes))
        turns.append(turn_of(answers[-1]))
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
    return question_meant(question, [] if read.introduced else turns_of(before), language).question


def _joined(message: str, answers: Sequence[Answer], notes: Sequence[str]) -> Answer:
    """One answer to several questions, a line for each; `parts` has the answers. It is as likely as its least likely line."""
    lines = tuple(f"{one.asked} {'Not settled.' if one.text is None else one.text}" for one in answers)
    evidence: list[Evidence] = []
    hops = 0  # of the answers before, in the joint trail
    for answer in answers:
        evidence += [replace(item, hop=item.hop + hops) for item in answer.evidence]
        hops += len(answer.trail)
    answered = [one for one in answers if one.text is not None]
    confidences = [one.confidence for one in answered if one.confidence is not None]
    return Answer(
        message,
        "\n".join(lines) if answered else None,
        answers[0].recipe,
        answers[0].language,
        tuple(evidence),
        Trail(tuple(hop for one in answers for hop in one.trail)),
        sum((one.usage for one in answers), Usage()),
        tuple(dict.fromkeys(hit for one in answers for hit in one.ranking)),
        min(confidences, default=None),
        AnswerKind.LIST,
        lines if answered else (),
        next((one.closest for one in answers if one.text is None), ()),
        asked=" ".join(one.asked for one in answers),
        parts=tuple(answers),
        notes=tuple(dict.fromkeys([*(note for one in answers for note in one.notes), *notes])),
    )
