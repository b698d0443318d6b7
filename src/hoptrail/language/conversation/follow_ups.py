"""Follow-ups: `and when was she born?` and `what about the Vento?` become questions that stand alone, by the trained writer.

It copies from the message and from the turns before. The earlier hops of an answer are turns of their own, because they say whom
a question is about. What is not likely enough to be meant is not completed. English only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hoptrail.language.tasks import Turn
from hoptrail.models.follow_up_writer import WrittenFollowUp, write_follow_up
from hoptrail.text.words import words

LEAST_LIKELY = 0.2
"""Below this probability a message is asked as it stands: of what is written less likely, one in five was meant."""


def complete_follow_up(message: str, before: Sequence[Turn]) -> WrittenFollowUp | None:
    """`message` completed from the turns before, the latest last, with the probability that this is meant; None: it cannot be
    completed well. What stands alone only loses what ties it to the message before: `and where is Tarnwick?` asks `Where is
    Tarnwick?`.
    Raises: ModelUnavailable: as for `FollowUpWriter`.
    """
    written = write_follow_up(message, tuple(_turns(before)))
    likely = written.text and written.probability >= LEAST_LIKELY
    # With nothing before, what is left out of a message may be known, what is added is not.
    return written if likely and (before or _adds_nothing(written, message)) else None


def stands_alone(message: str, before: Sequence[Turn]) -> bool:
    """Whether a message needs nothing from the turns before. Raises: ModelUnavailable: as for `FollowUpWriter`."""
    whole = complete_follow_up(message, before) if before else None
    return not before or (whole is not None and _adds_nothing(whole, message))


def _adds_nothing(written: WrittenFollowUp, message: str) -> bool:
    mine, said = ({word.lower for word in words(text)} for text in (written.text, message))
    return mine <= said


def _turns(before: Sequence[Turn]) -> Iterator[tuple[str, str]]:
    """Questions and answers, oldest first."""
    for turn in before:
        yield from ((hop.asked, hop.answer or "") for hop in turn.hops[:-1])  # the last one has the answer
        yield turn.asked, turn.answer or ""
