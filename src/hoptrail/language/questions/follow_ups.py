"""How a message that follows up earlier ones becomes a question that stands alone, from top to bottom.

    turns       the last answers, as the questions that were asked and what was shown               `turns_of`
    alone       a message that needs none of them only loses what ties it to them: `and where is    `stands_alone`
                Tarnwick?` asks `Where is Tarnwick?`
    written     else the trained writer copies the question from the message and the turns          `complete_follow_up`
    by a model  with a chat model this writes it, with the names that were said                     `names_nothing_new`
    as it is    where nobody can, the message is asked as it stands, with a note                    `question_meant`

An answer is as doubtful as the question that was written for it (`withholding.doubted`). English only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from hoptrail.errors import TaskFailed
from hoptrail.language.questions.messages import WRITING, read_message
from hoptrail.language.tasks import OFFLINE, Finding, FollowUp, Language, Turn
from hoptrail.models.follow_up_writer import WrittenFollowUp, write_follow_up
from hoptrail.text.mentions import find_names
from hoptrail.text.words import lower_words
from hoptrail.types import Answer, AnswerKind, Usage

MOST_TURNS = 8  # earlier turns that are looked at; the writer reads the last two, each completed from those before it
LEAST_LIKELY = 0.2
"""Below this probability a message is asked as it stands: of what is written less likely, one in five was meant."""


@dataclass(frozen=True, slots=True)
class QuestionMeant:
    """A question as it is asked, the probability that this is meant, a note if it could not be completed, and what that cost."""

    question: str
    probability: float = 1.0
    note: str = ""
    usage: Usage = field(default_factory=Usage)


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
        turns.append(replace(turn_of(answer), asked=whole))
    return turns


def turn_of(answer: Answer) -> Turn:
    # A guess was shown, so a message may follow it up.
    shown = answer.guess.text if answer.text is None and answer.guess else answer.text
    return Turn(answer.asked, shown, tuple(Finding(hop.question, hop.asked, hop.answer) for hop in answer.trail))


def question_meant(message: str, turns: Sequence[Turn], language: Language) -> QuestionMeant:
    """What a message asks after these turns, by a model or the trained writer. Raises: as `write_follow_up`."""
    if not turns:
        return QuestionMeant(message)
    written = complete_follow_up(message, turns)
    if written and _adds_nothing(written, message):
        return QuestionMeant(written.text)
    if written and language.name.startswith(OFFLINE):
        return QuestionMeant(written.text, written.probability)
    usage = Usage()
    try:
        reply = language.perform(FollowUp(message, tuple(turns)))
        if reply.value not in {None, turns[-1].asked}:  # to ask the same again is no follow-up
            return QuestionMeant(reply.value, usage=reply.usage)
        usage = reply.usage
    except TaskFailed as failure:
        usage = failure.usage or usage
    note = f"It is not clear what “{message}” follows up: it was asked as it stands."
    return QuestionMeant(message, note=note, usage=usage)


def stands_alone(message: str, before: Sequence[Turn]) -> bool:
    """Whether a message needs nothing from the turns before. Raises: ModelUnavailable: as for `FollowUpWriter`."""
    whole = complete_follow_up(message, before) if before else None
    return not before or (whole is not None and _adds_nothing(whole, message))


def complete_follow_up(message: str, before: Sequence[Turn]) -> WrittenFollowUp | None:
    """`message` completed from the turns before, the latest last, with the probability that this is meant; None: it cannot be
    completed well. Raises: ModelUnavailable: as for `FollowUpWriter`.
    """
    said: list[tuple[str, str]] = []
    for turn in before:
        said.extend((hop.asked, hop.answer or "") for hop in turn.hops[:-1])  # the last one has the answer
        said.append((turn.asked, turn.answer or ""))
    written = write_follow_up(message, tuple(said))
    likely = written.text and written.probability >= LEAST_LIKELY
    # With nothing before, what is left out of a message may be known, what is added is not.
    return written if likely and (before or _adds_nothing(written, message)) else None


def names_nothing_new(completed: str, message: str, turns: Sequence[Turn]) -> bool:
    """Whether every name of a completed message is in the message or in the turns before."""
    said = lower_words(" ".join([message, *(f"{turn.asked} {turn.answer or ''}" for turn in turns)]))
    return lower_words(" ".join(name.text for name in find_names(completed))) <= said


def _adds_nothing(written: WrittenFollowUp, message: str) -> bool:
    return lower_words(written.text) <= lower_words(message)
