"""Makes questions about facts stated in a fixed form: dates of birth and death, and who directed, wrote, founded … what.

The other date of a life, and the same question about somebody else, are negative examples.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from training.examples import Example, answered_at
from training.sources import MultiHop

_DATE = r"(?:\d{1,2} )?(?:[A-Z][a-z]+ )?(?:\d{1,2}, )?\d{3,4}"
_LIFE = re.compile(
    rf"^[^(\n]{{2,80}}\([^()\d]*?(?P<born>{_DATE})[^()\d]*?(?:[–—-]+ ?[^()\d]*?(?P<died>{_DATE})[^()\d]*)?\)"
)
_WORD = r"(?:[A-Z]\.|[A-Z][\w'’-]+)"
_NAME = rf"{_WORD}(?: (?:{_WORD}|de|van|von|da|di|la|le|du|der))*"
_MADE_BY = re.compile(
    rf"\b(?P<verb>directed|written|produced|composed|founded|published|designed|built|painted|edited|recorded|created) by "
    rf"(?P<who>{_NAME})"
)
_MAKERS = {
    "directed": "director",
    "written": "writer",
    "produced": "producer",
    "composed": "composer",
    "founded": "founder",
    "published": "publisher",
    "designed": "designer",
    "built": "builder",
    "painted": "painter",
    "edited": "editor",
    "recorded": "performer",
    "created": "creator",
}
_PAST = {"written": "wrote"}
_BORN = ("When was {} born?", "What is the date of birth of {}?", "{} date of birth", "In what year was {} born?")
_DIED = ("When did {} die?", "What is the date of death of {}?", "{} date of death", "In what year did {} die?")
_MADE = ("Who {past} {title}?", "Who is the {maker} of {title}?", "{title} {maker}", "Who was {title} {verb} by?")
_BARE = re.compile(r" \(.*\)$")


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement about a text's title at `text[start:end]`; `forms` are questions for it, with `{}` for a name."""

    title: str
    text: str
    start: int
    end: int
    forms: tuple[str, ...]


def facts(data: MultiHop) -> Iterator[Fact]:
    """The facts of a set's passages."""
    for identifier, passage in data.passages.items():
        title = _BARE.sub("", str(passage["title"]))
        shown = data.shown(identifier)
        at = len(shown) - len(str(passage["text"]))
        text = str(passage["text"])
        if life := _LIFE.match(text):
            yield Fact(title, shown, at + life.start("born"), at + life.end("born"), _BORN)
            if life["died"]:
                yield Fact(title, shown, at + life.start("died"), at + life.end("died"), _DIED)
        creation = _MADE_BY.search(text)
        if creation and creation.start() < 200:
            verb = creation["verb"]
            words = {"past": _PAST.get(verb, verb), "maker": _MAKERS[verb], "verb": verb, "title": "{}"}
            forms = tuple(form.format(**words) for form in _MADE)
            yield Fact(title, shown, at + creation.start("who"), at + creation.end("who"), forms)


def stated(fact: Fact, others: Sequence[Fact], draw: random.Random) -> Example:
    """A question about a fact; in a quarter of all cases about another title, or about something that its text does not state."""
    form = draw.choice(fact.forms)
    fate = draw.random()
    if fate < 0.13:
        other = draw.choice(others)
        if other.title not in fact.text:
            return Example("made.stated", form.format(other.title), fact.text, answered=False, helps=False)
    if fate > 0.88:
        maker = draw.choice([maker for verb, maker in _MAKERS.items() if verb not in fact.text])
        if maker not in fact.text:
            question = f"Who is the {maker} of {fact.title}?"
            return Example("made.stated", question, fact.text, answered=False, helps=False)
    return answered_at("made.stated", form.format(fact.title), fact.text, fact.start, fact.end)
