"""Sentences and blocks of a document tile its text: what does not is refused, and every part finds its own."""

from __future__ import annotations

import pytest

from hoptrail.types import Block, BlockKind, Document, Span

TEXT = "Gulls nest here. They hatch in May.\n\nNo dogs."
FIRST, SECOND = 17, 37


def document(ends: tuple[int, ...] = (FIRST, SECOND, len(TEXT)), blocks: tuple[tuple[int, int], ...] = ()) -> Document:
    return Document("d1", "Birds", TEXT, ends, (), blocks=tuple(Block(BlockKind.PARAGRAPH, *one) for one in blocks))


@pytest.mark.parametrize("ends", [(), (FIRST,), (SECOND, FIRST, 45), (0, 45), (FIRST, FIRST, 45), (FIRST, 46)])
def test_sentences_that_do_not_tile_the_text_are_refused(ends: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="sentences of document d1 do not tile its 45 characters"):
        document(ends)


@pytest.mark.parametrize(
    ("blocks", "why"),
    [
        (((0, SECOND),), "do not tile"),
        (((1, SECOND), (SECOND, 45)), "do not tile"),
        (((0, SECOND), (SECOND + 1, 45)), "do not tile"),
        (((0, 0), (0, 45)), "do not tile"),
        (((0, 20), (20, 45)), "a sentence of document d1 crosses a block"),
    ],
)
def test_blocks_that_do_not_tile_the_text_are_refused(blocks: tuple[tuple[int, int], ...], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        document(blocks=blocks)


def test_a_document_without_text_has_no_sentences() -> None:
    assert list(Document("d1", "Empty", "", (), ()).sentences()) == []


def test_a_part_of_a_document_has_the_sentences_and_blocks_that_it_touches() -> None:
    birds = document(blocks=((0, SECOND), (SECOND, 45)))
    assert [birds.slice(one).strip() for one in birds.sentences()] == [
        "Gulls nest here.",
        "They hatch in May.",
        "No dogs.",
    ]
    part = Span("d1", FIRST, FIRST + 4)
    assert list(birds.sentences(part)) == [Span("d1", FIRST, SECOND)]
    assert birds.sentence_ends_within(Span("d1", FIRST - 1, FIRST + 4)) == (1, 5)
    assert birds.blocks_within(part) == birds.blocks[:1]
    assert birds.blocks_within(Span("d1", SECOND - 1, SECOND + 1)) == birds.blocks
    assert birds.blocks_within(Span("d1", SECOND, SECOND + 1)) == birds.blocks[1:]


def test_a_span_covers_what_lies_within_it_in_the_same_document() -> None:
    whole = Span("d1", 0, 9)
    assert whole.covers(Span("d1", 0, 9))
    assert whole.covers(Span("d1", 3, 3))
    assert not whole.covers(Span("d1", 3, 10))
    assert not whole.covers(Span("d2", 3, 4))
    assert Span("d1", 1, 2, replaced=True) == Span("d1", 1, 2)


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (3, 2)])
def test_a_span_does_not_run_backwards(start: int, end: int) -> None:
    with pytest.raises(ValueError, match="a span runs from 0 <= start to end"):
        Span("d1", start, end)
