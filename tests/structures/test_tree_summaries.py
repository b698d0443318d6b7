"""Which summaries are due, told by what they and their groups' children were made from."""

from __future__ import annotations

from hoptrail.types import Kind, Span, Unit
from hoptrail_papers.sirerag.tree_store import Node
from hoptrail_papers.sirerag.trees import stale


def unit(id_: str, *places: int) -> Unit:
    """One that was made from these places of one document."""
    return Unit(id_, Kind.SUMMARY, "", "A text.", tuple(Span("d", place, place + 1) for place in places))


def nodes(*units: Unit) -> dict[str, Node]:
    return {unit.id: Node.of(unit) for unit in units}


NODES = nodes(unit("c", 3, 1), unit("a", 5), unit("b", 1, 2), unit("e", 9))
GROUPS = {f"s2{number}": ("a", "absent", "b", "c") for number in range(7)}
IN_ORDER = (1, 2, 3, 5)
"""Places of the children, by where each child begins: b, c, a."""


def test_a_summary_is_due_where_it_is_missing_or_was_made_from_other_places() -> None:
    made = [
        unit("s20", *IN_ORDER),
        unit("s21", *IN_ORDER[:-1]),
        unit("s22", *IN_ORDER, 9),
        unit("s24", *IN_ORDER),
        unit("s25", *IN_ORDER[::-1]),
        unit("s2other", *IN_ORDER),
    ]
    assert stale(GROUPS, NODES, nodes(*made)) == ["s21", "s22", "s23", "s25", "s26"]
    assert stale(GROUPS, NODES, nodes()) == list(GROUPS)


def test_without_a_finished_child_there_is_nothing_to_say() -> None:
    groups = {"s2x": ("absent", "gone"), "s2y": ("e", "gone")}
    assert stale(groups, NODES, nodes(unit("s2x", 1))) == ["s2y"]
    assert stale(groups, NODES, nodes(unit("s2x", 1), unit("s2y", 9))) == []
    assert stale(groups, nodes(), nodes()) == []
    assert stale({}, NODES, nodes()) == []
