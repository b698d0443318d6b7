"""Statements that belong together: the items of a list, the rows of a table."""

from __future__ import annotations

from hoptrail.language.offline.listing import groups_of
from hoptrail.types import Block, BlockKind, Cell, Kind, Span, Unit


def unit(identity: str, text: str, blocks: tuple[Block, ...], start: int = 0) -> Unit:
    return Unit(identity, Kind.PASSAGE, "Notes", text, (Span("d", start, start + len(text)),), blocks=blocks)


def lines(text: str, kind: BlockKind, path: tuple[str, ...], *, ordered: bool = False) -> tuple[Block, ...]:
    blocks, at = [], 0
    for line in text.splitlines(keepends=True):
        blocks.append(Block(kind, at, at + len(line), path, ordered=ordered))
        at += len(line)
    return tuple(blocks)


def rows(text: str, start: int) -> tuple[Block, ...]:
    blocks, at = [], start
    for line in text.splitlines(keepends=True):
        name, place = line.rstrip("\n").split("\t")
        cells = (Cell("boat", at, at + len(name)), Cell("place", at + len(name) + 1, at + len(name) + 1 + len(place)))
        blocks.append(Block(BlockKind.ROW, at, at + len(line), ("Fleet",), cells=cells))
        at += len(line)
    return tuple(blocks)


def test_items_under_one_heading_are_one_group() -> None:
    text = "oil the hinge\npaint the hull\n"
    (group,) = groups_of([unit("u", text, lines(text, BlockKind.ITEM, ("Chores",), ordered=True))])
    assert [said.text.strip() for said in group.members] == ["oil the hinge", "paint the hull"]
    assert group.ordered
    assert "Chores" in group.heading


def test_items_under_two_headings_are_two_groups() -> None:
    text = "oil the hinge\npaint the hull\n"
    one, other = lines(text, BlockKind.ITEM, ("Chores",))
    moved = Block(BlockKind.ITEM, other.start, other.end, ("Wishes",))
    assert [len(group.members) for group in groups_of([unit("u", text, (one, moved))])] == [1, 1]


def test_a_table_split_over_two_passages_is_one_group_in_document_order() -> None:
    first, second = "Gull\tArden\nTern\tFoss\n", "Auk\tDunmere\n"
    parts = [unit("b", second, rows(second, len(first)), len(first)), unit("a", first, rows(first, 0))]
    (group,) = groups_of(parts)
    assert [said.text.split("\t")[0] for said in group.members] == ["Gull", "Tern", "Auk"]
    assert group.heading.endswith("boat place")
