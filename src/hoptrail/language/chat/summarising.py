"""Summarise more text than fits a window: first parts, then their summaries, so that every source is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from hoptrail.errors import TaskFailed
from hoptrail.language.chat.context import MOST_SENTENCES, cost_of, cut_to
from hoptrail.models.prompt_text import estimated_tokens
from hoptrail.text.sentences import unit_sentences
from hoptrail.types import Kind, Span, Unit, content_id

WORD_TOKENS = 3
"""Generous number of tokens per word."""

Summarised = Callable[[Sequence[Unit], int], tuple[str, tuple[Unit, ...]]]
"""Summarises the first of some units in a number of words; returns the summary and the units it covers."""


def summarise_all(units: Sequence[Unit], words: int, tokens: int, summarised: Summarised) -> str:
    """A summary of all `units` in `words` words; `summarised` takes up to about `tokens` tokens at a time.
    Raises: TaskFailed: from `summarised`, or because summaries of parts are no shorter than the parts.
    """
    pieces = [piece for unit in units for piece in in_pieces(unit, tokens)]
    while True:
        at_once = sum(map(cost_of, pieces)) <= tokens
        parts: list[Unit] = []
        remaining = pieces
        while remaining:
            text, read = summarised(remaining, words if at_once else min(words, max(1, tokens // (2 * WORD_TOKENS))))
            if len(read) == len(pieces):
                return text
            sources = tuple(dict.fromkeys(span for unit in read for span in unit.sources))
            name = content_id("s", text, *(unit.id for unit in read))
            parts.append(Unit(name, Kind.SUMMARY, "", text, sources))
            covered = {unit.id for unit in read}
            remaining = [unit for unit in remaining if unit.id not in covered]
        if sum(map(cost_of, parts)) >= sum(map(cost_of, pieces)):
            raise TaskFailed(
                "summarise: context_window under [chat] is too small: summaries of parts are as long as the parts"
            )
        pieces = parts


def in_pieces(unit: Unit, tokens: int) -> Iterator[Unit]:
    """The unit itself, or runs of its sentences with about `tokens` tokens at most; longer sentences are split."""
    if cost_of(unit) <= tokens:
        yield unit
        return
    room = max(1, tokens - cost_of(_piece(unit, 0, 0)))
    start = end = 0
    for stop in _stops(unit, room):
        if end > start and estimated_tokens(unit.text[start:stop]) > room:
            yield _piece(unit, start, end)
            start = end
        end = stop
    yield _piece(unit, start, len(unit.text))


def _stops(unit: Unit, tokens: int) -> Iterator[int]:
    """Where the text of a unit may be split: after sentences, and within those longer than `tokens`."""
    at, text = 0, unit.text
    ends = [end for _, end in islice(unit_sentences(unit), MOST_SENTENCES)]
    for end in [*ends, len(text)]:
        while end - at > 1 and estimated_tokens(text[at:end]) > tokens:
            at += len(cut_to(text[at:end], tokens))
            yield at
        at = end
        yield end


def _piece(unit: Unit, start: int, end: int) -> Unit:
    text, sources, blocks = unit.text[start:end], unit.sources, unit.blocks
    if blocks:
        first = sources[0].start
        sources = (Span(sources[0].document, first + start, first + end),)
        blocks = tuple(block for block in blocks if block.start < first + end and first + start < block.end)
    return replace(unit, id=f"{unit.id}:{start}", text=text, sources=sources, blocks=blocks, sentence_ends=())
