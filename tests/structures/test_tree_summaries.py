"""Which summaries are due, told by what they and their groups' children were made from."""

from __future__ import annotations

import numpy as np
import pytest

from hoptrail.corpus.columns import SPAN, Origins, id_rows
from hoptrail.structures import tree_summaries
from hoptrail.structures.tree_memberships import Group, Grouped
from hoptrail.structures.tree_nodes import Nodes
from hoptrail.structures.tree_summaries import stale
from hoptrail.types import Kind, Span, Unit


def unit(id_: str, *places: int) -> Unit:
    """One that was made from these places of one document."""
    return Unit(id_, Kind.SUMMARY, "", "A text.", tuple(Span("d", place, place + 1) for place in places))


def nodes(*units: Unit) -> Nodes:
    spans = [(span.document, span.start, span.end) for unit in units for span in unit.sources]
    origins = Origins(
        id_rows(unit.id for unit in units),
        np.array([len(unit.text.split()) for unit in units], np.uint32),
        np.array([len(unit.sources) for unit in units], np.int64),
        np.array(spans, SPAN),
    )
    return Nodes([(Kind.SUMMARY, origins)])


NODES = nodes(unit("c", 3, 1), unit("a", 5), unit("b", 1, 2), unit("e", 9))
GROUPS = Grouped.gathered([Group(f"s2{number}", ("a", "absent", "b", "c")) for number in range(7)])
IN_ORDER = (1, 2, 3, 5)
"""Places of the children, by where each child begins: b, c, a."""


@pytest.fixture(params=[1, 2, 100])
def together(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_summaries, "TOGETHER", request.param)


@pytest.mark.usefixtures("together")
def test_a_summary_is_due_where_it_is_missing_or_was_made_from_other_places() -> None:
    made = [
        unit("s20", *IN_ORDER),
        unit("s21", *IN_ORDER[:-1]),
        unit("s22", *IN_ORDER, 9),
        unit("s24", *IN_ORDER),
        unit("s25", *IN_ORDER[::-1]),
        unit("s2other", *IN_ORDER),
    ]
    assert stale(GROUPS, NODES, nodes(*made)).tolist() == [1, 2, 3, 5, 6]
    assert stale(GROUPS, NODES, nodes()).tolist() == list(range(7))


@pytest.mark.usefixtures("together")
def test_without_a_finished_child_there_is_nothing_to_say() -> None:
    groups = Grouped.gathered([Group("s2x", ("absent", "gone")), Group("s2y", ("e", "gone"))])
    assert stale(groups, NODES, nodes(unit("s2x", 1))).tolist() == [1]
    assert stale(groups, NODES, nodes(unit("s2x", 1), unit("s2y", 9))).tolist() == []
    assert stale(groups, nodes(), nodes()).tolist() == []
    assert stale(Grouped.gathered([]), NODES, nodes()).tolist() == []
