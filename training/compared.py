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
from training.examples import Example, answered_at, under_title
from training.question_rows import FOLDER, unmarked
from training.sources import MultiHop, read_lines

SOURCE = "compared"
_OTHERS, _RANKED = 1, 5  # other statements, beside the one with the other side's value, to be read, and to be ranked
_BASE = re.compile(r" \(.*")  # of a title

Read = tuple[str, str]  # a statement that was read before, perhaps empty, and the text that is read


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
            start = text.rindex(self.value)
            found.append(
                replace(answered_at(SOURCE, self.question, text, start, start + len(self.value)), before=before)
            )
        return found

    def ranked(self, draw: random.Random) -> list[Read]:
        """The statement with the value, if there is one, and before all others some without."""
        others = (*self.others[:1], *draw.sample(self.others[1:], min(len(self.others[1:]), _RANKED)))
        return [*([self.text] if self.text else ()), *(("", text) for text in others)]


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


def learned() -> list[Compared]:
    """Those of all rows."""
    return [one for row in read_lines(FOLDER / "comparisons.jsonl") for one in of_row(row)]
