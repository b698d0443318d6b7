"""Statements to choose among: for each question the one that settles it, and those of other statements that are closest to it.

Two kinds of questions: those about the documents of `training/written`, among all statements of a folder, and those about the
paragraphs of `reading_train`, among the sentences of a few hundred paragraphs. A statement that has the answer, or nearly all
words of the one that settles the question, may settle it too and is left out.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hoptrail import Kind
from hoptrail.execution.executor import batched
from hoptrail.language.closeness import distinct_statements, under_headings
from hoptrail.models.encoder import Encoder, FloatMatrix
from hoptrail.text.sentences import sentence_spans
from hoptrail.text.statements import UnitStatement
from hoptrail.text.words import content_stems
from training.examples import VERDICTS, Example, Verdict
from training.sources import DATA, spans
from training.written import LEAST_SHARE, Question, indexed, questions_of

CLOSEST = 20  # the most other statements of a question
HELD_OUT = ("letters-and-law", "tools-and-standards")
"""Folders of `training/written` that show how well statements are ranked, and from which ranking is not learned."""
_OTHERS = 6  # drawn of a question's statements
_CLOSER = 1.7  # power of the place among the closest: at 1 all are as likely
_PARAGRAPHS = 300  # whose sentences are ranked together
_LONGEST_SENTENCE, _ENCODED_CHARACTERS, _AT_ONCE = 400, 600, 64
_MEANING = 0.9  # weight of the cosine beside the share of words, as in `hoptrail.language.closeness`
_NEARLY = 0.8  # share of a statement's words that another one has, which then may settle the question too


@dataclass(frozen=True, slots=True)
class Choice:
    """A question, the statement that settles it (None: there is none), and others, the closest first; the `answer`, as it
    stands in the settling statement, or the `verdict` on a yes/no question.
    """

    question: str
    settling: str | None
    others: tuple[str, ...]
    answer: str = ""
    verdict: Verdict | None = None


def drawn(choice: Choice, draw: random.Random) -> list[str]:
    """The settling statement, if there is one, and others, closer ones more often."""
    others = list(choice.others)
    chosen: list[str] = []
    while others and len(chosen) < _OTHERS:
        chosen.append(others.pop(int(len(others) * draw.random() ** _CLOSER)))
    return [*filter(None, [choice.settling]), *chosen]


def typed(question: str, draw: random.Random) -> str:
    """The question as it may be typed: in small letters, without its mark, or with two letters swapped."""
    chance = draw.random()
    if chance < 0.2:
        question = question.lower()
    if chance < 0.1 or 0.2 < chance < 0.3:
        question = question.rstrip("?.")
    if 0.3 < chance < 0.35 and len(question) > 8:
        at = draw.randrange(1, len(question) - 2)
        question = question[:at] + question[at + 1] + question[at] + question[at + 2 :]
    return question


class Closeness:
    """Orders `texts` by their closeness to questions: the share of the question's words, and the encoder's cosine."""

    def __init__(self, texts: Sequence[str], encoder: Encoder) -> None:
        self.stems = [content_stems(text) for text in texts]
        self._said = Counter(stem for stems in self.stems for stem in stems)
        self._encoder = encoder
        self._vectors = _encoded([text[:_ENCODED_CHARACTERS] for text in texts], encoder)

    def orders(self, questions: Sequence[str]) -> Iterator[list[int]]:
        """For each question, the places of the texts, the closest first."""
        count = len(self.stems)
        for question, vector in zip(questions, _encoded(questions, self._encoder), strict=True):
            stems = sorted(content_stems(question))
            weights = {stem: math.log(1 + (count + 1) / (1 + self._said[stem])) for stem in stems}
            total = sum(weights.values()) or 1.0
            shares = [sum(weights[stem] for stem in weights.keys() & stems) / total for stems in self.stems]
            yield np.argsort(-(np.array(shares) + _MEANING * (self._vectors @ vector)), kind="stable").tolist()


def _encoded(texts: Sequence[str], encoder: Encoder) -> FloatMatrix:
    return np.concatenate([encoder.encode(texts[at : at + _AT_ONCE]) for at in range(0, len(texts), _AT_ONCE)])


def choices_of(world: Path) -> Iterator[Choice]:
    """The choices of one folder of `training/written`. Questions whose quote is in no statement are left out."""
    questions = questions_of(world)
    with indexed(world) as (index, files):
        with index.reading() as snapshot:
            units = snapshot.numbered.units(snapshot.numbered.origins(Kind.PASSAGE).numbers)
        statements = [said for _, said in distinct_statements(units)]
        closeness = Closeness([said.seen for said in statements], index.encoder)
    alone = [content_stems(said.alone) for said in statements]
    shown = [under_headings(said) for said in statements]
    for asked, order in zip(questions, closeness.orders([one.question for one in questions]), strict=True):
        own = None if asked.kind == "none" else settling(asked, statements, files.get(asked.file))
        if own is None and asked.kind != "none":
            continue
        answer = asked.answer if asked.kind == "span" else ""
        others = [
            shown[place]
            for place in order[: 2 * CLOSEST]
            if not (answer and answer.lower() in shown[place].lower())
            and not (own is not None and _is_alike(alone[own], alone[place]))
        ]
        settled = None if own is None else shown[own]
        yield Choice(asked.question, settled, tuple(others[:CLOSEST]), answer, VERDICTS.get(asked.kind))


def settling(asked: Question, statements: Sequence[UnitStatement], document: str | None) -> int | None:
    """The place of the statement of the document that shares the most words with the quote, and has the answer."""
    quoted, best, most = content_stems(asked.quote), None, 0
    for place, said in enumerate(statements):
        if said.unit.document == document and asked.answer in under_headings(said):
            stems = content_stems(said.alone)
            shared = len(quoted & stems)
            if shared > most and shared >= LEAST_SHARE * min(len(quoted), len(stems)):
                best, most = place, shared
    return best


def _is_alike(settling: frozenset[str], other: frozenset[str]) -> bool:
    return len(settling & other) >= _NEARLY * max(1, len(settling))


def choices_in_paragraphs(encoder: Encoder, seed: int, data: Path = DATA) -> Iterator[Choice]:
    """The choices of `reading_train`, among the sentences of `_PARAGRAPHS` paragraphs at a time."""
    by_text = defaultdict[str, list[Example]](list)
    for pool, example in spans(data / "reading_train"):
        if pool == "reading":
            by_text[example.text].append(example)
    texts = list(by_text)
    random.Random(seed).shuffle(texts)
    for part in batched(texts, _PARAGRAPHS):
        yield from _among({text: by_text[text] for text in part}, encoder)


def _among(asked: Mapping[str, Sequence[Example]], encoder: Encoder) -> Iterator[Choice]:
    """The choices of some paragraphs, by text."""
    sentences: list[str] = []
    ends: dict[str, list[tuple[int, int]]] = {text: [] for text in asked}  # where a sentence ends, and its place
    for text in asked:
        for start, end in sentence_spans(text, _LONGEST_SENTENCE):
            ends[text].append((end, len(sentences)))
            sentences.append(text[start:end].strip())
    examples = [example for found in asked.values() for example in found]
    orders = Closeness(sentences, encoder).orders([example.question for example in examples])
    for example, order in zip(examples, orders, strict=True):
        settling = next(place for end, place in ends[example.text] if example.start < end)
        answer = example.answer.lower()
        others = [sentences[place] for place in order[: 2 * CLOSEST] if answer not in sentences[place].lower()]
        said = sentences[settling]
        yield Choice(example.question, said, tuple(others[:CLOSEST]), example.answer if example.answer in said else "")
