"""What the question tagger learns from: rows written by hand in `training/asked`, and public questions that people took apart.

    messages.jsonl    `Hi! [[When was it serviced?]] Thanks!`, with the kind of each question, or the reply to a message without
    follow-ups.jsonl  one or two questions and answers before, a message, and what it asks, best wording first; [] for nothing
    plans.jsonl       `When was [[the person who signed the lease]] born?`, `Is {{A}} older than {{B}}?`, neither, or both
                      where the values are those of another: `Which film has the older [[director]], {{A}} or {{B}}?`
    kinds.jsonl       questions of `training/written` with the kind of answer that they want
    lists.jsonl       a piece of a document, a question that wants several items, and the items with the lines they stand in
    comparisons.jsonl `Is {{A}} older than {{B}}?`, how values decide it, and their values in pieces of documents (`compared`)
    times.jsonl       `Who chaired [[before 2024]]?` and how what is asked for lies to this time, or `none` and no mark

Marks are not part of a text. `judged/` has rows by another hand, which are never learned from. QDMR (Wolfson et al. 2020) and the
training sets with decompositions give further plans, where the first step stands in the question word for word.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hoptrail.language.offline.statement_text import listed_text
from hoptrail.language.questions.comparisons import one_sided
from hoptrail.models.question_tagger import KINDS, ComparisonRule, Extent, QuestionForm, TimeRelation, WantedReply
from hoptrail.text.lexicon import RELATIVES
from hoptrail.types import AnswerKind
from training.sources import DATA, read_lines, read_multi_hop

FOLDER = Path(__file__).parent / "asked"
JUDGED = FOLDER / "judged"
_MARK = re.compile(r"\[\[|\]\]|\{\{|\}\}")
_WORD = re.compile(r"\w+|#\d+")
_NAME = re.compile(r"(?<=\w )[A-Z][\w.'-]*(?: (?:of |the |de )?[A-Z][\w.'-]*)*")
_BORDER = re.compile(r"(?:^|[.:!?;\n–—-]\s*|\s-\s)$")
_BARE = re.compile(
    r"^(?:who|what|which|where|when|in which|in what|on what)(?: (?:is|was|are|were|did|does))? ", re.IGNORECASE
)
_DESCRIBES = re.compile(r"\b(?:of|that|who|which|where|by|in|with|from|whose|when|for|on|at|named|called)\b|['’]s\b")
_COMPARES = re.compile(r"highest|lowest|first|older|both|same|equal|difference|true|either|which|earlier|larger")
_REWRAPPED, _JOINED = 1500, 700
_RETITLED = 4  # copies of a public question, with other titles
_RELATIVE = re.compile(r"Who is the (father|mother|spouse|sibling|child) of ([^#]+)\?")
_RELATIVES = "father mother parent spouse husband wife sibling brother sister child son daughter".split()
_RELATED = 6  # chains of two relatives for each person that a public question names
_LEADS = (
    "novel author,song composer,song singer,band singer,firm founder,castle builder,tower architect,magazine editor,show creator,"
    "town mayor,house owner,team coach,album producer,ship captain,school teacher,shop manager,play writer"
).split(",")
"""Kinds of things, and whom each has, in place of films and directors."""
_FRAGMENT = 3  # words of a follow-up that is asked with all of them
_OWN, _PARTS, _PUBLIC, _MADE = 1.5, 0.75, 0.5, 0.6
"""Weights of what was written by hand, of questions out of it, of public questions and of what is made from rows."""


@dataclass(frozen=True, slots=True)
class QuestionExample:
    """A message, perhaps with a `text`, and what is known; None: that is not taught.

    `asked` are the places of its questions; `sides` are what is compared, `rule` is how their values decide; `inner` is the place
    of a chain's innermost description, or of the noun for what leads from the sides to their values, if there is one; `items` are
    those in the text; `when` are the words for a time.
    """

    message: str
    asked: tuple[Extent, ...] | None = None
    kind: int | None = None
    form: QuestionForm | None = None
    inner: Extent | None = None
    sides: tuple[Extent, ...] | None = None
    rule: ComparisonRule | None = None
    text: str = ""
    items: tuple[Extent, ...] | None = None
    relation: TimeRelation | None = None
    when: tuple[Extent, ...] | None = None
    reply: WantedReply | None = None
    weight: float = 1.0


def unmarked(text: str, marks: Sequence[str] = ("]]", "}}")) -> tuple[str, tuple[Extent, ...]]:
    """A text without its marks, and the places that those which end with one of `marks` enclosed."""
    plain, places, last, opened = "", [], 0, 0
    for mark in _MARK.finditer(text):
        plain, last = plain + text[last : mark.start()], mark.end()
        if mark.group() in {"[[", "{{"}:
            opened = len(plain)
        elif mark.group() in marks:
            places.append((opened, len(plain)))
    return plain + text[last:], tuple(places)


def examples(data: Path = DATA, seed: int = 5) -> list[QuestionExample]:
    rng = random.Random(seed)
    messages, plans = (list(read_lines(FOLDER / name)) for name in ("messages.jsonl", "plans.jsonl"))
    hashed = [row for one in plans if rng.random() < 0.25 and (row := _with_number(one, rng))]
    kinds = [_alone(row["question"], row["kind"], 0.3) for row in read_lines(FOLDER / "kinds.jsonl")]
    found = [example for row in messages for example in of_message(row)]
    found += map(of_follow_up, read_lines(FOLDER / "follow-ups.jsonl"))
    found += [example for row in (*plans, *hashed) for example in of_plan(row)]
    found += [example for row in public_plans(data) for example in of_plan(row, _PUBLIC)]
    found += [*_nested_deeper(plans, rng), *_in_texts(FOLDER)]
    whole = [one.message for one in kinds if 12 < len(one.message) < 110 and one.message.endswith("?")]
    return [*found, *kinds, *_rewrapped(messages, whole, rng), *_joined(whole, rng)]


def asking(data: Path = DATA) -> list[QuestionExample]:
    """Messages with the places of their questions; of those that are whole questions, and of short follow-ups, one in two."""
    found = [one for one in examples(data) if one.asked is not None and not one.text]
    found = [one for at, one in enumerate(found) if one.asked != ((0, len(one.message)),) or at % 2 == 0]
    fragments = [row["message"] for row in read_lines(FOLDER / "follow-ups.jsonl") if row["asked"]]
    short = [one for one in fragments[::2] if len(one.split()) <= _FRAGMENT]
    return [*found, *(QuestionExample(one, asked=((0, len(one)),), weight=_PARTS) for one in short)]


def planned(data: Path = DATA) -> list[QuestionExample]:
    """Questions with the form of each, comparisons of other titles, and questions about one side, which are comparisons, too."""
    made = (example for row in _of_relatives(data) for example in of_plan(row, _MADE))
    titled, rows = list(_of_titles(data)), map(of_comparison, read_lines(FOLDER / "comparisons.jsonl"))
    halves = (replace(one, form=QuestionForm.COMPARE) for one in _one_sided((*rows, *titled)))
    whole = (one for one in examples(data) if one.form is not None and not one.text)
    return [*whole, *_plain(), *titled, *made, *halves]


def timed(folder: Path = FOLDER) -> list[QuestionExample]:
    """Questions with and without words for a time."""
    return [*map(of_time, read_lines(folder / "times.jsonl"))]


def compared(data: Path = DATA) -> list[QuestionExample]:
    """Questions that compare two things, the same about one alone and with both values, and questions that compare nothing."""
    rows = list(read_lines(FOLDER / "comparisons.jsonl"))
    plans = [
        example for row in read_lines(FOLDER / "plans.jsonl") for example in of_plan(row) if "#" not in example.message
    ]
    none = [replace(example, sides=()) for example in plans if not example.sides][::2]
    whole, values = [of_comparison(row) for row in rows], filter(None, map(_with_values, rows))
    return [*whole, *_one_sided(whole), *values, *(one for one in plans if one.sides), *none, *_of_titles(data)]


def _plain() -> list[QuestionExample]:
    """Questions that a single statement answers: next to none is taken apart."""
    return [
        replace(_alone(row["question"], row["kind"], _MADE), form=QuestionForm.SINGLE)
        for row in read_lines(FOLDER / "kinds.jsonl")
    ]


def _one_sided(examples: Iterable[QuestionExample]) -> Iterator[QuestionExample]:
    """The questions about one side of each, as `find_comparison` asks them."""
    for at, example in enumerate(examples):
        if example.sides and len(example.sides) == 2:
            own = example.message[slice(*example.sides[at % 2])]
            text = one_sided(example.message, example.sides, own)
            start = text.index(own, example.sides[0][0])
            yield QuestionExample(text, sides=((start, start + len(own)),), rule=example.rule, weight=_PARTS)


def _with_values(row: Mapping[str, Any]) -> QuestionExample | None:
    """The question and both values: a date of birth is less for the older one, an age more."""
    values = [side["value"] for side in row["sides"] if "value" in side]
    if len(values) < 2:
        return None
    return QuestionExample(
        unmarked(row["question"])[0], text="; ".join(values), rule=ComparisonRule[row["rule"].upper()]
    )


def _of_titles(data: Path) -> Iterator[QuestionExample]:
    """Comparisons of the training sets that name the titles of two passages, also with other titles in their places."""
    draw = random.Random(5)
    for name in ("2wiki_train", "hotpotqa_train"):
        asked = read_multi_hop(data / name)
        known = [str(passage["title"]) for passage in asked.passages.values()]
        for row in (row for row in asked.questions if "comparison" in row["type"]):
            question, titles = row["question"], (str(asked.passages[one]["title"]) for one in row["supporting"])
            found = ((question.lower().find(title.lower()), len(title)) for title in titles)
            sides = sorted((at, at + length) for at, length in found if at >= 0)
            if len(sides) == 2 and sides[0][1] < sides[1][0]:
                (first, end), (start, last) = sides
                own = question[first:end], question[start:last]
                around = question[:first], question[end:start], question[last:]
                led = row["type"] == "bridge_comparison"
                others = [draw.sample(known, 2) for _ in range(_RETITLED * (1 + 2 * led))]
                for one, other in (own, *others):
                    before, between, after = _led_by_another(around, draw) if led else around
                    marked = f"{before}{{{{{one}}}}}{between}{{{{{other}}}}}{after}"
                    yield from of_plan({"question": marked, "how": "compare"}, 1.0)


def _led_by_another(around: Sequence[str], draw: random.Random) -> list[str]:
    """The words around the sides of a question about the directors of films, perhaps about others instead, with a mark."""
    kind, lead = draw.choice(("film director", *_LEADS)).split()
    marked, changed = False, []
    for words in around:
        text = words.replace("film", kind)
        if not marked and "director" in text:
            text, marked = re.sub("director(s?)", rf"[[{lead}\1]]", text, count=1), True
        changed.append(text.replace("director", lead))
    return changed


def _of_relatives(data: Path) -> Iterator[dict[str, Any]]:
    """Chains of two relatives of people that a training set names (`Who is [[Ada's father]]'s wife?`), and the same of one."""
    draw, people = random.Random(9), dict[str, None]()
    for line in read_multi_hop(data / "2wiki_train").questions:
        for step in line["decomposition"]:
            if found := _RELATIVE.fullmatch(step["question"]):
                people |= dict.fromkeys((found[2], step["answer"]))
    for person in (*people, "#1", "#2"):
        for _ in range(_RELATED):
            name = person.title() if draw.random() < 0.3 else person
            first, then = draw.choices(_RELATIVES, k=2)
            before, after = draw.choice((("Who is", ""), ("Who is", ""), ("When was", " born"), ("Where did", " die")))
            yield {"question": f"{before} [[{name}'s {first}]]'s {then}{after}?", "how": "chain"}
        for relative in (draw.choice(_RELATIVES), draw.choice(list(RELATIVES))):
            whose = f"{person}'s {relative}" if draw.random() < 0.7 else f"the {relative} of {person}"
            yield {"question": f"Who is {whose}?", "how": "single"}


def judged() -> list[QuestionExample]:
    """The rows that are kept for judging."""
    found = [example for row in read_lines(JUDGED / "messages.jsonl") for example in of_message(row)]
    found += map(of_follow_up, read_lines(JUDGED / "follow-ups.jsonl"))
    found += [example for row in read_lines(JUDGED / "plans.jsonl") for example in of_plan(row)]
    return [*found, *_in_texts(JUDGED)]


def _in_texts(folder: Path) -> Iterator[QuestionExample]:
    """The examples of answers in pieces of documents, of comparisons and of times."""
    yield from (example for row in read_lines(folder / "lists.jsonl") for example in of_list(row))
    yield from map(of_comparison, read_lines(folder / "comparisons.jsonl"))
    yield from timed(folder)


def of_message(row: Mapping[str, Any]) -> Iterator[QuestionExample]:
    text, places = unmarked(row["message"])
    kinds = row.get("kinds", ())
    wants = WantedReply.QUESTION if places else WantedReply[row.get("reply", "other").upper()]
    known = _kind(kinds[0]) if len(kinds) == len(places) == 1 else None
    yield QuestionExample(text, asked=places, kind=known, reply=wants, weight=_OWN)
    if places != ((0, len(text)),) and len(kinds) == len(places):
        yield from (_alone(text[start:end], kind, _PARTS) for (start, end), kind in zip(places, kinds, strict=True))


def of_follow_up(row: Mapping[str, Any]) -> QuestionExample:
    """A follow-up, with the question in it where its words stand there; what it asks nothing of is not told apart further."""
    message, said = row["message"], next(iter(row["asked"]), "").rstrip("?. ")
    at = message.lower().find(said.lower()) if said else -1
    if at < 0:
        return QuestionExample(message, reply=WantedReply.QUESTION if said else None, weight=_PARTS)
    rest = message[at + len(said) :]
    end = len(message) - len(rest.lstrip("?"))
    return QuestionExample(message, asked=((at, end),), reply=WantedReply.QUESTION, weight=_PARTS)


def of_plan(row: Mapping[str, Any], weight: float = _OWN) -> Iterator[QuestionExample]:
    """A question and how it is taken apart; nothing if a chain has other than one mark."""
    (question, described), (_, sides) = unmarked(row["question"], ["]]"]), unmarked(row["question"], ["}}"])
    form = QuestionForm[row["how"].upper()]
    if (form is QuestionForm.CHAIN and len(described) != 1) or (form is QuestionForm.COMPARE and len(sides) < 2):
        return
    inner = next(iter(described), None)
    whole, kind = ((0, len(question)),), _kind(row.get("kind"))
    yield QuestionExample(question, asked=whole, kind=kind, form=form, inner=inner, sides=sides or None, weight=weight)


def of_list(row: Mapping[str, Any]) -> Iterator[QuestionExample]:
    """The question and the piece of a document, as `text_of` of the engine writes it, with its items; the question alone."""
    lines = [line.replace(" | ", "; ") for line in row["lines"]]
    text, starts = listed_text(" > ".join(part for part in (row["title"], row["headings"]) if part), lines)
    places = []
    for said, line in zip(row["items"], row["line"], strict=True):
        start = starts[line] + lines[line].index(said.replace(" | ", "; "))
        places.append((start, start + len(said)))
    yield QuestionExample(row["question"], text=text, items=tuple(sorted(places)), weight=_OWN)
    yield _alone(row["question"], "list", _PARTS if len(places) > 1 else _PARTS / 2)


def of_comparison(row: Mapping[str, Any]) -> QuestionExample:
    """The question alone; what leads from a side to its value is not marked in these rows."""
    question, sides = unmarked(row["question"])
    whole, rule = ((0, len(question)),), ComparisonRule[row["rule"].upper()]
    form = None if any(len(side["lines"]) > 1 for side in row["sides"]) else QuestionForm.COMPARE
    return QuestionExample(question, asked=whole, form=form, sides=sides, rule=rule, weight=_PARTS)


def of_time(row: Mapping[str, Any]) -> QuestionExample:
    """A question, the words in it that ask for a time, and how what it asks for lies to this."""
    question, when = unmarked(row["text"])
    relation = TimeRelation[row["relation"].upper()]
    return QuestionExample(question, relation=relation, when=when, weight=_OWN)


def _alone(question: str, kind: str, weight: float) -> QuestionExample:
    return QuestionExample(question, asked=((0, len(question)),), kind=_kind(kind), weight=weight)


def _kind(kind: str | None) -> int | None:
    return KINDS.index(AnswerKind(kind.replace("_", "-"))) if kind else None


def _with_number(row: Mapping[str, Any], rng: random.Random) -> dict[str, Any] | None:
    """A plan's row with `#1` for one of its names: that is what a step before leaves."""
    names = [name for name in _NAME.finditer(row["question"]) if not _MARK.search(name.group())]
    if not names:
        return None
    name = rng.choice(names)
    return {**row, "question": f"{row['question'][: name.start()]}#1{row['question'][name.end() :]}"}


def _rewrapped(
    rows: Iterable[Mapping[str, Any]], questions: Sequence[str], rng: random.Random
) -> Iterator[QuestionExample]:
    """The words around the questions of messages, around other questions."""
    around = []
    for text, places in (unmarked(row["message"]) for row in rows):
        parted = all(_BORDER.search(text[:start]) and text[start:end].endswith("?") for start, end in places)
        if places and places != ((0, len(text)),) and parted:
            around.append((text, places))
    for _ in range(_REWRAPPED):
        text, places = rng.choice(around)
        message, asked, last = "", [], 0
        for start, end in places:
            question, style = rng.choice(questions), rng.random()
            question = question.rstrip("?") if style < 0.15 else question
            question = question[:1].lower() + question[1:] if style < 0.3 or style > 0.85 else question
            message += text[last:start]
            asked.append((len(message), len(message) + len(question)))
            message, last = message + question, end
        yield QuestionExample(message + text[last:], asked=tuple(asked), reply=WantedReply.QUESTION, weight=_MADE)


def _nested_deeper(rows: Sequence[Mapping[str, Any]], rng: random.Random) -> Iterator[QuestionExample]:
    """Chains with another description in place of a name in their own, and with the number that this one leaves: `When was the
    person who signed the lease of [[the hall that seats 200]] born?`, `When was [[the person who signed the lease of #1]] born?`.
    """
    chains = [row["question"] for row in rows if row["how"] == "chain"]
    described = [question.partition("[[")[2].partition("]]")[0] for question in chains]
    for question, own in zip(chains, described, strict=True):
        if not (names := list(_NAME.finditer(own))):
            continue
        name, other = rng.choice(names), rng.choice(described)
        before, after = own[: name.start()], own[name.end() :]
        deeper = f"{before.removesuffix('the ')}[[{other}]]{after}"
        for marked in (deeper, f"[[{before}#1{after}]]"):
            yield from of_plan({"question": question.replace(f"[[{own}]]", marked), "how": "chain"}, _MADE)


def _joined(questions: Sequence[str], rng: random.Random) -> Iterator[QuestionExample]:
    """Two questions in one message, joined by a word or a mark; or one in quotation marks."""
    for _ in range(_JOINED):
        one, other = rng.sample(questions, 2)
        if rng.random() < 0.15:
            opened, closed = rng.choice(("“”", '""', "''", "«»"))
            yield QuestionExample(
                f"{opened}{one}{closed}", asked=((1, 1 + len(one)),), reply=WantedReply.QUESTION, weight=_MADE
            )
            continue
        joint = rng.choice((" and ", " and ", ", and ", " & ", "; ", " + ", " ", "\n", ", "))
        first = one if joint in {" ", "\n"} else one.rstrip("?")
        second = other if joint in {" ", "\n"} else other[:1].lower() + other[1:]
        places = ((0, len(first)), (len(first) + len(joint), len(first) + len(joint) + len(second)))
        yield QuestionExample(f"{first}{joint}{second}", asked=places, reply=WantedReply.QUESTION, weight=_MADE)


def public_plans(data: Path) -> Iterator[dict[str, Any]]:
    """Plans of public questions as rows, each question once."""
    seen: set[str] = set()
    for row in (*_of_break(data), *_of_training_sets(data)):
        plain = unmarked(row["question"])[0]
        if plain not in seen:
            seen.add(plain)
            yield row


def _of_break(data: Path) -> Iterator[dict[str, Any]]:
    for line in read_lines(data / "break" / "decompositions.jsonl"):
        question = line["question"].strip()
        steps = [" ".join(step.removeprefix("return").split()) for step in line["steps"]]
        if line["id"].split("_")[0] in {"HOTPOT", "CWQ", "COMQA"} and (row := _taken_apart(question, steps)):
            yield row


def _taken_apart(question: str, steps: Sequence[str]) -> dict[str, Any] | None:
    """The row for a question of QDMR; None if the steps do not show clearly how its words are taken apart."""
    refers = [set(re.findall(r"#\d+", step)) for step in steps]
    if len(steps) == 1:
        return {"question": question, "how": "single"}
    if not refers[0] and not refers[1]:
        compared = len(steps) > 2 and _COMPARES.search(steps[-1]) and refers[-1] >= {"#1", "#2"}
        return _two_sides(question, steps[0], steps[1]) if compared else None
    if refers[0] or refers[1] != {"#1"}:
        return None
    described, at = steps[0], 1
    while at < len(steps) and re.match(
        rf"#{at} (?:that|which|who|where|in|from|of|with|by|on|whose|was|is|for|at)\b", steps[at]
    ):
        described, at = f"{described} {steps[at].partition(' ')[2]}", at + 1
    bare = re.sub(r"^(?:the|a|an) ", "", described)
    asks_name = at < len(steps) and re.fullmatch(r"(?:the )?(?:full |first |real )?names? of #\d+", steps[at])
    if at == len(steps) or asks_name:
        return {"question": question, "how": "single"}
    if len(_WORD.findall(bare)) < 3 or not _DESCRIBES.search(bare):
        return {"question": question, "how": "single"} if at == len(steps) - 1 and bare[:1].isupper() else None
    place = aligned(question, described)
    return None if place is None else _nested(question, place)


def _nested(question: str, place: Extent) -> dict[str, Any]:
    """The row that marks a description, unless it is all that is asked for."""
    before, after = question[: place[0]].strip(), question[place[1] :].strip(" ?.")
    asked = not before or re.fullmatch(
        r"(?:who|what|which|where|when)(?: \w+)? (?:is|was|are|were)", before, re.IGNORECASE
    )
    if asked and not after:
        return {"question": question, "how": "single"}
    return {"question": _with_mark(question, place), "how": "chain"}


def _two_sides(question: str, one: str, other: str) -> dict[str, Any] | None:
    words = [[word.lower() for word in _WORD.findall(step)] for step in (one, other)]
    own = [" ".join(word for word in words[at] if word not in words[1 - at]) for at in (0, 1)]
    places = sorted(place for side in own if side and (place := aligned(question, side)))
    if len(places) != 2 or places[0][1] > places[1][0]:
        return None
    (first, ends), (starts, last) = places
    middle = f"{{{{{question[first:ends]}}}}}{question[ends:starts]}{{{{{question[starts:last]}}}}}"
    return {"question": f"{question[:first]}{middle}{question[last:]}", "how": "compare"}


def _of_training_sets(data: Path) -> Iterator[dict[str, Any]]:
    """Chains whose first step stands in the question, also with other titles in the place of that of its passage, and first steps
    as questions that are not taken apart.
    """
    draw = random.Random(7)
    for name in ("musique_train", "2wiki_train"):
        asked = read_multi_hop(data / name)
        known = [str(passage["title"]) for passage in asked.passages.values()]
        for line in asked.questions:
            first = line["decomposition"][0]["question"] if line["decomposition"] else ""
            if not first or line["type"] in {"comparison", "bridge_comparison"}:
                continue
            step = " of ".join(reversed(first.split(" >> "))) if " >> " in first else _BARE.sub("", first.strip(" ?"))
            question = line["question"]
            place = aligned(question, step)
            described = question[slice(*place)] if place and question[: place[0]].strip() else ""
            if place and re.match(r"(?:the|an?)\b|[A-Z]", described) and _DESCRIBES.search(described):
                chain = {"question": _with_mark(question, place), "how": "chain"}
                title = str(asked.passages[line["supporting"][0]]["title"])
                yield from (chain, *_retitled(chain, title, draw.sample(known, _RETITLED)))
            plain = [part["question"] for part in line["decomposition"] if not re.search("#|>>", part["question"])]
            yield from ({"question": question, "how": "single"} for question in plain if len(question) > 15)


def _with_mark(question: str, place: Extent) -> str:
    return f"{question[: place[0]]}[[{question[slice(*place)]}]]{question[place[1] :]}"


def _retitled(row: dict[str, Any], title: str, others: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The row with each of `others` in the place of `title`, if it names that."""
    question, at = row["question"], row["question"].lower().find(title.lower())
    if at >= 0:
        yield from ({**row, "question": f"{question[:at]}{one}{question[at + len(title) :]}"} for one in others)


def aligned(question: str, step: str) -> Extent | None:
    """The piece of the question that has a step's words, with the article before it; None unless nearly all agree."""
    wanted = [word.lower() for word in _WORD.findall(step)]
    said = [(match.group().lower(), *match.span()) for match in _WORD.finditer(question)]
    best, found = 0.0, (0, 0)
    for first in range(len(said)):
        left = {word: wanted.count(word) for word in wanted}
        shared = 0
        for last in range(first, min(len(said), first + len(wanted) + 3)):
            word = said[last][0]
            shared += left.get(word, 0) > 0
            left[word] = left.get(word, 0) - 1
            share = 2 * shared / (last - first + 1 + len(wanted))
            if share > best:
                best, found = share, (first, last)
    if best < 0.86:  # of the words of both: about one in seven may differ
        return None
    first, last = found
    first -= first > 0 and said[first - 1][0] in {"the", "a", "an"}
    end = said[last][2]
    opened = question.count("(", said[first][1], end) > question.count(")", said[first][1], end)
    if opened or question.startswith(" (", end):
        end = max(end, question.find(")", end) + 1)
    return said[first][1], end
