"""Recall at an equal budget of tokens: the gold passages whose text a reader would receive.

At equal k, long units beat short ones, and a summary of the whole corpus derives from every passage. So here rankings are packed
to the same number of tokens, and a passage counts only if a unit shows something of it (`showing.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from hoptrail.evaluation.retrieval_measures import recall_at
from hoptrail.evaluation.showing import shown_documents
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.pack import pack
from hoptrail.types import Ranking, Unit

TOKEN_BUDGETS = (2000, 4000)


@dataclass(frozen=True)
class Showing:
    """Maps units to the passages that they show. `ids`: the corpus's ids by document id."""

    corpus: Corpus
    ids: Mapping[str, Sequence[str]]
    known: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def passages(self, unit: Unit) -> tuple[str, ...]:
        """The corpus's ids of the documents of which a unit shows a sentence or fact."""
        if unit.id not in self.known:
            self.known[unit.id] = tuple(
                dict.fromkeys(
                    name for shown in shown_documents(unit, self.corpus.documents) for name in self.ids.get(shown, ())
                )
            )
        return self.known[unit.id]


def packed_recall(ranking: Ranking, gold: Collection[str], showing: Showing) -> tuple[float, ...]:
    """The share of the gold passages shown by the units that fit each of TOKEN_BUDGETS; empty without gold passages."""
    if not gold:
        return ()
    return tuple(_recall(pack(ranking, budget), gold, showing) for budget in TOKEN_BUDGETS)


def _recall(packed: Ranking, gold: Collection[str], showing: Showing) -> float:
    shown = [passage for hit in packed for passage in showing.passages(hit.unit)]
    return recall_at(len(shown), shown, gold)
