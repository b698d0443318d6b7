"""Stretches of documents as the question tagger reads them, with their answers: of `training/written` and `contrast/worlds`.

The reader judges one statement at a time; the tagger learns to find the answer among its neighbours, and none where they do not
have it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from hoptrail import Kind
from hoptrail.language.closeness import distinct_statements
from hoptrail.language.offline.statement_text import groups_in, listed_text, stretches, text_of
from hoptrail.models.question_tagger import Extent
from hoptrail.text.statements import UnitStatement
from hoptrail.text.words import content_stems
from training.contrast.worlds import Row, learned_names, rows
from training.question_rows import QuestionExample
from training.statements import HELD_OUT, settling
from training.written import indexed, questions_of, worlds

_SHARE = 0.4  # of the questions of `training/written`
_WITHOUT = 0.3  # of the questions with an answer, how many are also asked of a near stretch that does not have it
_NEAR = 3  # stretches that share most words with a question, of which one is drawn

Stretch = tuple[UnitStatement, ...]


def listed(seed: int) -> Iterator[QuestionExample]:
    draw = random.Random(seed)
    for world in worlds():
        if world.name not in HELD_OUT:
            yield from _of_world(world, draw)
    for name in learned_names():
        yield from filter(None, map(of_row, rows(name)))


def of_row(row: Row) -> QuestionExample | None:
    """The example of a row written by hand; None for yes and no, and for an answer in title or headings."""
    title, *below = row.text.split("\n")
    above, lines = ([title, below[0]], below[1:]) if len(below) > 1 else ([title], below)
    text, starts = listed_text(" > ".join(above), lines)
    if row.kind not in {"span", "none"} or not lines:
        return None
    places: tuple[Extent, ...] = ()
    if row.kind == "span":
        at = text.rfind(row.answer)
        if at < starts[0]:
            return None
        places = ((at, at + len(row.answer)),)
    return QuestionExample(row.question, text=text, items=places)


def _of_world(world: Path, draw: random.Random) -> Iterator[QuestionExample]:
    with indexed(world) as (index, files), index.reading() as snapshot:
        units = snapshot.numbered.units(snapshot.numbered.origins(Kind.PASSAGE).numbers)
        statements = [said for _, said in distinct_statements(units)]
        found = [tuple(part) for group in groups_in(units) for part in stretches(group)]
    stretch_of = {(said.support, said.text): stretch for stretch in found for said in stretch}
    stems = [content_stems(text_of(stretch)[0]) for stretch in found]
    for asked in questions_of(world):
        if asked.kind not in {"span", "none"} or draw.random() > _SHARE:
            continue
        place = settling(asked, statements, files.get(asked.file)) if asked.kind == "span" else None
        if place is not None:
            said = statements[place]
            stretch = stretch_of[said.support, said.text]
            if example := _answered(asked.question, asked.answer, stretch, stretch.index(said)):
                yield example
        if (place is None and asked.kind == "span") or (place is not None and draw.random() > _WITHOUT):
            continue
        words = content_stems(asked.question)
        order = sorted(range(len(found)), key=lambda at: -len(words & stems[at]))
        texts = [text_of(found[at])[0] for at in order[: 4 * _NEAR]]
        near = [text for text in texts if not asked.answer or asked.answer.lower() not in text.lower()]
        if near:
            yield QuestionExample(asked.question, text=draw.choice(near[:_NEAR]), items=())


def _answered(question: str, answer: str, stretch: Sequence[UnitStatement], at: int) -> QuestionExample | None:
    """The stretch with the answer marked in its statement at place `at`, not in a header; None if it is not there."""
    text, starts = text_of(stretch)
    block = stretch[at].block
    headers = [f"{cell.header}: " for cell in block.cells if cell.header] if block else []
    end = starts[at] + len(stretch[at].alone)
    start = text.find(answer, starts[at], end)
    while start >= 0 and any(text.startswith(header, start) for header in headers):
        start = text.find(answer, start + 1, end)
    return QuestionExample(question, text=text, items=((start, start + len(answer)),)) if start >= 0 else None
