"""What the learned scorer sees of a candidate: numbers about its sentence, its form, its neighbours and the plan's own answer.

Every number says something of English or of the evidence in general; none looks a word up that a data set is known to use.
The order of `FEATURES` is the order of the columns and is checked against the stored weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from hoptrail.language.offline.candidates import Candidate, Form, candidates
from hoptrail.language.offline.evidence import Line
from hoptrail.language.offline.fitting import fit
from hoptrail.language.offline.paths import Paths, Place, Terms
from hoptrail.language.offline.questions import Question, Wanted
from hoptrail.language.offline.told import Name, opens_with_title
from hoptrail.text.lexicon import AUXILIARIES, COPULAS, DEMONYMS
from hoptrail.text.mentions import Mention, Shape
from hoptrail.text.values import country_of, same_value
from hoptrail.text.words import content_stems, stem, words

_PLACE_FEATURES = (
    "line", "line with title", "page", "near with title", "near", "last", "last with title", "first", "first with title",
    "title asked", "joined", "joined gain", "two steps", "bridge", "bridge to title", "early", "named",
)  # fmt: skip
_SPAN_FEATURES = (
    "fit", "form suits", "class inside", "class after", "demonym", "country", "asked part", "asked whole", "length",
    "capital", "digits", "titles here", "titles elsewhere", "held by pages", "occurs", "title is person", "around", "around near",
    "around last", "closest", "closest last", "last before", "after place word", "after by", "after of", "after as",
    "after article", "after copula", "after comma", "opens line", "before comma", "before end", "before bracket", "before copula",
    "in brackets",
    "life role", "about title",
)  # fmt: skip
_PLAN_FEATURES = (
    "plan answer",
    "plan step",
    "plan silent",
    "plan hops",
    "plan followed",
    "step in title",
    "step in line",
)
FEATURES = (
    *_PLACE_FEATURES,
    *(f"{name}, share of best" for name in ("line with title", "joined", "two steps", "near with title")),
    *(f"is {form}" for form in Form),
    *(f"wants {wanted}" for wanted in Wanted),
    *_SPAN_FEATURES,
    *_PLAN_FEATURES,
    "kin untold",
    "date untold",
)
CALIBRATED = (
    "line with title", "joined", "last with title", "named", "last", "early", "fit", "form suits", "class inside", "title asked",
    "around last", "closest last", "near", "around near", "held by pages", "occurs", "plan answer", "life role", "about title",
    "closest", "kin untold", "date untold", "step in title", "step in line",
)  # fmt: skip
"""Features that tell a right answer from a wrong one as well as from its rivals, by cross-validation on training questions."""

_RELATIVE = (1, 10, 12, 3)

_EXPECTED = {
    Wanted.DATE: {Form.DATE, Form.YEAR},
    Wanted.YEAR: {Form.YEAR, Form.DATE},
    Wanted.NUMBER: {Form.NUMBER, Form.MEASURE},
    Wanted.PERSON: {Form.NAME, Form.TITLE},
    Wanted.PLACE: {Form.NAME, Form.TITLE, Form.JOINED},
    Wanted.COUNTRY: {Form.NAME, Form.TITLE},
    Wanted.NATIONALITY: {Form.NAME, Form.PHRASE},
    Wanted.THING: {Form.NAME, Form.TITLE, Form.QUOTED, Form.PHRASE, Form.JOINED},
    Wanted.YES_NO: set(),
}
_NAMED = frozenset({Wanted.PERSON, Wanted.PLACE, Wanted.COUNTRY, Wanted.NATIONALITY})
_COUNTED = frozenset({Form.DATE, Form.YEAR, Form.NUMBER, Form.MEASURE})
"""Forms that no person and no place has."""
_SHAPES = {Form.DATE: Shape.DATE, Form.YEAR: Shape.DATE, Form.NUMBER: Shape.NUMBER, Form.MEASURE: Shape.NUMBER}
_PLACE_WORDS = frozenset({"in", "at", "near", "from", "on", "to"})
_FAR = 40
"""Characters from a candidate beyond which a word of the question is not near it."""


@dataclass(frozen=True, slots=True)
class Planned:
    """What following the plan hop by hop gave: the answers of its hops, its own answer and its confidence in that."""

    hops: int
    answers: tuple[str, ...]
    answer: str | None
    confidence: float

    @property
    def reached(self) -> str:
        """What the last hop is about: the answer of the hop before it, or of the last that was answered."""
        before = self.answers[: self.hops - 1]
        return before[-1] if before else ""


@dataclass(frozen=True, slots=True)
class Seen:
    """A candidate in its place, with its features."""

    candidate: Candidate
    place: Place
    values: tuple[float, ...]


def describe(paths: Paths, planned: Planned, most_places: int) -> list[Seen]:
    """The candidates of the best places, with their features; none for a question that says too little."""
    question = paths.question
    if question is None or not (question.anchors or len(question.relations) > 1):
        return []
    places = paths.places(most_places)
    best = [max((place.values[at] for place in places), default=0.0) or 1.0 for at in _RELATIVE]
    reached = content_stems(planned.reached)
    offered = [
        (place, candidate)
        for place in places
        if not paths.told.ruled_out(place.page, place.line, reached)
        for candidate in candidates(place.line)
        if _possible(candidate, place.line, question)
    ]
    counts: dict[str, int] = {}
    for _, candidate in offered:
        counts[candidate.text.lower()] = counts.get(candidate.text.lower(), 0) + 1
    wanted = tuple(float(question.wanted is one) for one in Wanted)
    result = []
    marks = {id(place): place.marks(paths.terms) for place in places}
    untold = {id(place): _untold(paths, place, reached) for place in places}
    for place, candidate in offered:
        relative = tuple(place.values[at] / top for at, top in zip(_RELATIVE, best, strict=True))
        values = (
            *place.values, *relative, *(float(candidate.form is form) for form in Form), *wanted,
            *_span(candidate, place, question, paths, counts[candidate.text.lower()]),
            *_nearby(candidate, marks[id(place)], paths.terms), *_neighbours(candidate, place.line),
            _life(candidate, place.line, question), float(opens_with_title(place.line, place.page.title_stems)),
            *_plan(candidate, place, planned, reached), *untold[id(place)],
        )  # fmt: skip
        result.append(Seen(candidate, place, values))
    return result


def _possible(candidate: Candidate, line: Line, question: Question) -> bool:
    """Whether nothing about its form rules a candidate out."""
    if question.wanted in _NAMED and candidate.form in _COUNTED:
        return False
    return _life(candidate, line, question) >= 0


def _untold(paths: Paths, place: Place, reached: Name) -> tuple[float, float]:
    untold = paths.told.untold(place.page, place.line, reached)
    return float(untold and paths.told.kin), float(untold and not paths.told.kin)


def _plan(candidate: Candidate, place: Place, planned: Planned, reached: Name) -> tuple[float, ...]:
    agrees = planned.answer is not None and same_value(candidate.text, planned.answer)
    exact = planned.answer is not None and candidate.text.lower() == planned.answer.lower()
    step = any(same_value(candidate.text, answer) for answer in planned.answers[: planned.hops - 1])
    return (
        planned.confidence * (1.0 if exact else 0.7) if agrees else 0.0,
        float(step),
        float(planned.answer is None),
        min(planned.hops, 4) / 4,
        len(planned.answers) / planned.hops,
        len(reached & place.page.title_stems) / max(1, len(reached)),
        len(reached & place.line.stems) / max(1, len(reached)),
    )


def _span(candidate: Candidate, place: Place, question: Question, paths: Paths, occurs: int) -> tuple[float, ...]:
    line = place.line
    stems = content_stems(candidate.text)
    inside = words(candidate.text)
    pages, titled = paths.holders(stems)
    asked = len(stems & paths.asked) / max(1, len(stems))
    mention = Mention(candidate.text, candidate.start, candidate.end, _SHAPES.get(candidate.form, Shape.NAME))
    noun = stem(question.noun) if question.noun else ""
    return (
        fit(mention, question, line, paths.evidence),
        float(candidate.form in _EXPECTED[question.wanted]),
        float(bool(noun) and any(word.stem == noun for word in inside)),
        float(bool(noun) and noun in {word.stem for word in line.words if 0 <= word.start - candidate.end <= 20}),
        float(candidate.text.lower() in DEMONYMS),
        float(country_of(candidate.text) is not None),
        asked,
        float(bool(stems) and stems <= paths.asked),
        min(len(inside), 8) / 4,
        float(candidate.text[0].isupper()),
        float(any(letter.isdigit() for letter in candidate.text)),
        float(stems == place.page.title_stems),
        float(titled and stems != place.page.title_stems),
        math.log1p(max(0, pages - 1)),
        math.log1p(occurs - 1),
        {True: 1.0, False: -1.0, None: 0.0}[place.page.is_person],
    )


def _nearby(candidate: Candidate, marks: list[tuple[int, int, int]], terms: Terms) -> tuple[float, ...]:
    """How much of the question stands around the candidate, and how close it comes."""
    if candidate.form is Form.TITLE:
        return (0.5, 0.5, 0.5, 0.3, 0.3, 0.0)
    near = 0
    gap = gap_last = _FAR
    before = 0.0
    for start, end, bit in marks:
        if candidate.start <= start < candidate.end:
            continue
        away = candidate.start - end if end <= candidate.start else start - candidate.end
        if away <= _FAR:
            near |= bit
            gap = min(gap, away)
            if bit & terms.last and away < gap_last:
                gap_last, before = away, 1.0 if end <= candidate.start else -1.0
    closest, closest_last = math.exp(-gap / 12), math.exp(-gap_last / 12)
    return (terms.share(near), terms.nearby(near), terms.part(near, terms.last), closest, closest_last, before)


def _neighbours(candidate: Candidate, line: Line) -> tuple[float, ...]:
    if candidate.form is Form.TITLE:
        return (0.0,) * 13
    text = line.text
    left = text[max(0, candidate.start - 24) : candidate.start].rstrip(' "“')
    right = text[candidate.end : candidate.end + 12].lstrip('"” ')
    before = left.replace("(", " ").split()[-2:] if left and left[-1].isalnum() else []
    last = before[-1].lower() if before else ""
    article = last in {"the", "a", "an"}
    if article:
        last = before[0].lower() if len(before) > 1 else ""
    following = right.split(" ", 1)[0].lower() if right else ""
    return (
        float(last in _PLACE_WORDS), float(last == "by"), float(last == "of"), float(last in {"as", "called", "named"}),
        float(article), float(last in COPULAS), float(left.endswith(",")), float(candidate.start == 0),
        float(right.startswith(",")), float(right[:1] in {"", ".", ";"}), float(right.startswith("(")),
        float(following in COPULAS | AUXILIARIES),
        float(text.count("(", 0, candidate.start) > text.count(")", 0, candidate.start)),
    )  # fmt: skip


def _life(candidate: Candidate, line: Line, question: Question) -> float:
    """1 for the date or place of the life event asked for, -1 for the other one, which is never the answer."""
    role = line.lives.get(candidate.start) if candidate.end else None
    asked = question.relations & {"birth", "death"}
    return 0.0 if role is None or not asked else 1.0 if role in asked else -1.0
