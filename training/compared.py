"""The values of two things that a question compares: the reader learns to read each from a statement, asked as the engine does.

A row of `asked/comparisons.jsonl` has `pieces` of documents (title, headings, lines), a question with its two `{{sides}}`, and
for each side the `lines`, as `piece.line`, of which the last has the `value`; a line before it leads there. A side without lines
has no value in the pieces. Comparisons of 2wiki_train whose steps have answers give further ones.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from hoptrail.language.closeness import below_headings
from hoptrail.language.questions.comparisons import one_sided
from hoptrail.text.values import country_of
from training.contrast.paths import Read
from training.examples import Example, answered_at, under_title
from training.made import LIFE, MADE_BY, MAKERS
from training.question_rows import FOLDER, unmarked
from training.sources import MultiHop, read_lines

SOURCE = "compared"
_OTHERS, _RANKED = 1, 5  # other statements, beside the one with the other side's value, to be read, and to be ranked
_BASE = re.compile(r" \(.*")  # of a title


@dataclass(frozen=True, slots=True)
class Compared:
    """A question about one side, the statement with its value, if any, and others, of which the first has the other side's."""

    question: str
    text: Read | None
    value: str
    others: tuple[str, ...]

    def examples(self, draw: random.Random) -> list[Example]:
        """The statement with the value, and some without."""
        number = _OTHERS if self.text else _OTHERS + 1
        others = (*self.others[:1], *draw.sample(self.others[1:], min(len(self.others[1:]), number)))
        found = [Example(SOURCE, self.question, text, answered=False, helps=False) for text in others]
        if self.text is not None:
            before, text = self.text
            if before and found:  # what does not follow from it is another's
                found[-1] = replace(found[-1], before=before)
            start = text.rindex(self.value)
            found.append(
                replace(answered_at(SOURCE, self.question, text, start, start + len(self.value)), before=before)
            )
        return found

    def ranked(self, draw: random.Random) -> list[Read]:
        """The statement with the value, if there is one, and before all others some without."""
        others = (*self.others[:1], *draw.sample(self.others[1:], min(len(self.others[1:]), _RANKED)))
        first = self.text[0] if self.text else ""
        return [*([self.text] if self.text else ()), *((first * (at % 2), text) for at, text in enumerate(others))]


def of_row(row: Mapping[str, Any]) -> Iterator[Compared]:
    """A question about each side."""
    question, places = unmarked(row["question"])
    texts = {
        f"{piece}.{line}": below_headings(part["title"], [part["headings"]] if part["headings"] else [], said)
        for piece, part in enumerate(row["pieces"])
        for line, said in enumerate(part["lines"])
    }
    for at, (own, other) in enumerate(zip(row["sides"], reversed(row["sides"]), strict=True)):
        last = other["lines"][-1:]
        others = [texts[line] for line in sorted(texts, key=lambda line: line not in last) if line not in own["lines"]]
        text = (texts[own["lines"][0]] if own["lines"][1:] else "", texts[own["lines"][-1]]) if own["lines"] else None
        yield Compared(
            one_sided(question, places, question[slice(*places[at])]), text, own.get("value", ""), tuple(others)
        )


def of_steps(multi_hop: MultiHop) -> Iterator[Compared]:
    """The sides of comparisons whose steps have answers, where a sentence about the side, or about what it leads to, says it."""
    for row in multi_hop.questions:
        steps, question = row["decomposition"], row["question"]
        if "comparison" not in row["type"] or len(steps) not in {2, 4}:
            continue
        said = {multi_hop.passages[passage]["title"]: "" for passage in row["supporting"]}
        for passage, line in row["supporting_sentences"]:
            sentences = multi_hop.passages[passage]["sentences"]
            said[multi_hop.passages[passage]["title"]] += "".join(sentences[line : line + 1])
        texts = {_BASE.sub("", title): under_title(title, text) for title, text in said.items()}
        places = sorted((at, at + len(side)) for side in texts if (at := question.lower().find(side.lower())) >= 0)
        for place in places if len(places) == 2 else ():
            side = question[slice(*place)]
            own = [step for step in steps[:2] if side.lower() in step["question"].lower()]
            led = [step for step in steps[2:] if own and own[0]["answer"].lower() in step["question"].lower()]
            value = (led or own or [{"answer": ""}])[0]["answer"]
            about = own[0]["answer"] if led else side
            first, text = (
                next((text for base, text in texts.items() if base.lower() == name.lower()), "")
                for name in (side, about)
            )
            start = text.lower().rfind(value.lower(), text.find("\n"))
            if value and start >= 0 and bool(led) == (len(steps) == 4):
                others = tuple(one for one in texts.values() if one not in {first, text})
                yield Compared(
                    one_sided(question, places, side),
                    (first if led else "", text),
                    text[start : start + len(value)],
                    others,
                )


_OLDER = "Who was born first, {}?|Who was born later, {}?|Who is older, {}?|who is younger {}|Is {} older than?"
_DIED = "Who died first, {}?|Who died later, {}?|who died earlier {}|Did {} die before?"
_LIVED = "Who lived longer, {}?|Did {} live longer than?"
_OUT = "Which film came out first, {}?|Which film was released earlier, {}?|Which film was released more recently, {}?"
_NATION = "Do {} have the same nationality?|Are {} from the same country?|Were {} of the same nationality?"
_MAKER_OLDER = (
    "Which KIND has the MAKER who was born first, {}?|Which KIND has the MAKER born later, {}?|Which KIND has the MAKER who is"
    " older, {}?|Which KIND whose MAKER is younger, {}?|Which KIND has the MAKER who is older than the other, {}?"
)
_MAKER_DIED = "Which KIND has the MAKER who died first, {}?|Which KIND has the MAKER who died later, {}?"
_MAKER_NATION = (
    "Do both KINDs {} have the MAKERs from the same country?|Are the MAKERs of both KINDs {} from the same country?|Do both"
    " MAKERs of KINDs {} have the same nationality?|Are MAKER of KIND {} and MAKER of KIND from the same country?"
)
"""One-sided questions as the public sets have them."""
_KIND = re.compile(r"\b(film|song|novel|album|book|opera|series)\b")
_YEAR = re.compile(r"\bis an? (\d{4}) (?:[A-Z]\w+ )*[a-z -]*film\b")
_PEOPLE = re.compile(r"\b(?:is|was) an? (?:[a-z-]+ )?(?:((?:South|North|New) [A-Z]\w+)|([A-Z]\w+))\b")
_OWN = 0.3  # share of what passages state about their own title


def of_passages(multi_hop: MultiHop, seed: int = 5) -> Iterator[Compared]:
    """Sides made of what passages state in a fixed form: lives, years of films, peoples; of those who made something, too."""
    draw = random.Random(seed)
    passages = multi_hop.passages.items()
    texts = {_BASE.sub("", str(one["title"])): multi_hop.shown(identifier) for identifier, one in passages}
    lives = [text for text in texts.values() if LIFE.match(text[text.find("\n") + 1 :])] or list(texts.values())
    for title, text in texts.items():
        made = next(MADE_BY.finditer(text, text.find("\n") + 1, 300), None)
        if made and (known := texts.get(made["who"])):
            kind = _KIND.search(text)
            for forms, value in _values(known, _MAKER_OLDER, _MAKER_DIED, _MAKER_NATION):
                asked = draw.choice(forms).replace("KIND", kind[1] if kind else "work")
                others = (text, draw.choice(lives))
                yield Compared(asked.replace("MAKER", MAKERS[made["verb"]]).format(title), (text, known), value, others)
        for forms, value in _values(text, _OLDER, _DIED, _NATION, _LIVED, _OUT):
            if draw.random() < _OWN:
                others = (draw.choice(lives), draw.choice(lives))
                yield Compared(draw.choice(forms).format(title), ("", text), value, others)


def _values(text: str, *asked: str) -> Iterator[tuple[list[str], str]]:
    """Questions about the birth, death, people, life or release that the text states, each with its value."""
    below = text.find("\n") + 1
    life, people, year = LIFE.match(text[below:]), _PEOPLE.search(text, below), _YEAR.search(text, below)
    born, died = (life["born"], life["died"]) if life else (None, None)
    lived = text[below + life.start("born") : below + life.end("died")] if life and died else None
    nation = next((one for one in people.groups() if one and country_of(one)), None) if life and people else None
    for forms, value in zip(asked, (born, died, nation, lived, year and year[1]), strict=False):
        if value:
            yield forms.split("|"), value


def learned() -> list[Compared]:
    """Those of all rows."""
    return [one for row in read_lines(FOLDER / "comparisons.jsonl") for one in of_row(row)]
