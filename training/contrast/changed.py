"""Examples of single statements: the one that settles a question, close ones, and the question with one thing changed."""

from __future__ import annotations

import random
import re
from calendar import month_name
from dataclasses import replace

from training.contrast.words import FAMILY, FIRST, PLACES
from training.examples import Example, answered_at
from training.statements import Choice

SOURCE = "alone"
_CLOSE = 4  # a close statement is drawn among so many
_MONTH = re.compile(rf"\b(?:{'|'.join(month_name[1:])})\b")
_NUMBER = re.compile(r"\b\d+\b")
_NAME = re.compile(r"(?<!^)(?<![.?!] )\b[A-Z][a-z]+\b")


def alone(choice: Choice, draw: random.Random) -> list[Example]:
    """The settling statement, two close ones, and the settling one for a changed question, as far as there are any."""
    made: list[Example] = []
    if choice.settling is not None:
        made.append(_settled(choice, choice.settling))
        if (changed := _changed(choice.question, choice.settling, draw)) is not None:
            made.append(replace(made[0], question=changed).unanswered_by(choice.settling, SOURCE))
    empty = Example(SOURCE, choice.question, "", verdict=choice.verdict)
    close = draw.sample(choice.others[:_CLOSE], min(2, len(choice.others)))
    return [*made, *(empty.unanswered_by(text, SOURCE) for text in close)]


def _settled(choice: Choice, text: str) -> Example:
    if choice.verdict is not None or not choice.answer:
        return Example(SOURCE, choice.question, text, verdict=choice.verdict, helps=True)
    start = text.rindex(choice.answer)  # title and headings come first, and may name it too
    return answered_at(SOURCE, choice.question, text, start, start + len(choice.answer))


def _changed(question: str, text: str, draw: random.Random) -> str | None:
    """The question with one name, month or number that the text has replaced by another of its kind; None if it has none."""
    said = text.lower()
    found = [place for form in (_MONTH, _NUMBER, _NAME) for place in form.finditer(question)]
    places = [place for place in found if place.group().lower() in said]
    if not places:
        return None
    place = draw.choice(places)
    old = place.group()
    if _MONTH.fullmatch(old):
        others = [*month_name[1:]]
    elif old.isdigit():
        others = [str(int(old) + step) for step in (-3, -2, -1, 1, 2, 3, 10) if int(old) + step > 0]
    else:
        others = [*FIRST, *FAMILY, *PLACES]
    others = [other for other in others if other.lower() not in said]
    return question[: place.start()] + draw.choice(others) + question[place.end() :] if others else None
