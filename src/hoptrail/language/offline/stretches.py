"""Stretches of documents: statements that stand together, as one text below their title and headings, for the tagger."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain

from hoptrail.language.closeness import place_of
from hoptrail.models.question_tagger import tag_text
from hoptrail.text.statements import UnitStatement, statements_of
from hoptrail.types import BlockKind, Unit

_STRETCH = 800
"""Characters of a stretch without its headings, about 200 word pieces."""
_READ = 2
"""Stretches in which the tagger marks answers."""

Place = tuple[str, int, int]
"""The document of a statement, and where it starts and ends there."""


def groups_in(units: Sequence[Unit]) -> list[list[UnitStatement]]:
    """The statements of units in groups: the rows of a table, the items of a list, the sentences under a heading."""
    groups: dict[tuple[object, ...], dict[tuple[str, int, int], UnitStatement]] = {}
    for said in chain.from_iterable(map(statements_of, units)):
        block = said.block
        kind = block.kind if block and block.kind in {BlockKind.ROW, BlockKind.ITEM} else None
        headers = tuple(cell.header for cell in block.cells) if block and kind is BlockKind.ROW else ()
        key = (said.unit.document, said.path, kind, headers, block.lead if block and kind else "")
        groups.setdefault(key, {})[place_of(said)] = said
    return [[group[place] for place in sorted(group)] for group in groups.values()]


def stretches(group: Sequence[UnitStatement]) -> list[list[UnitStatement]]:
    """A group in pieces that the tagger reads at once."""
    found: list[list[UnitStatement]] = [[]]
    size = 0
    for said in group:
        if found[-1] and size + len(said.alone) > _STRETCH:
            found.append([])
            size = 0
        found[-1].append(said)
        size += len(said.alone) + 3
    return found


def text_of(stretch: Sequence[UnitStatement]) -> tuple[str, list[int]]:
    """A stretch as the tagger reads it, and where each statement starts."""
    first = stretch[0]
    lead = first.block.lead if first.block and first.block.kind is BlockKind.ITEM else ""
    above = " > ".join(part for part in (first.unit.title, *first.path, lead) if part)
    return listed_text(above, [said.alone for said in stretch])


def listed_text(above: str, lines: Sequence[str]) -> tuple[str, list[int]]:
    """Lines below title and headings as the tagger reads them, and where each line starts."""
    text, starts = f"{above}:", []
    for line in lines:
        starts.append(len(text) + 3)
        text += f" • {line}"
    return text, starts


def marked(question: str, units: Sequence[Unit], settles: Mapping[Place, float]) -> list[tuple[str, float]]:
    """What the tagger marks as an answer, each with its probability, in the stretches that have the statements with the highest
    log odds (`settles`) of settling the question. Raises: ModelUnavailable: as for `QuestionTagger`.
    """
    parts = [part for group in groups_in(units) for part in stretches(group)]
    odds = [max(settles.get(place_of(said), -math.inf) for said in part) for part in parts]
    near = sorted((at for at, most in enumerate(odds) if most > -math.inf), key=lambda at: -odds[at])
    texts = [text_of(parts[at])[0] for at in near[:_READ]]
    return [(text[start:end], math.exp(likely)) for text in texts for (start, end), likely in tag_text(question, text)]
