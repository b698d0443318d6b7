"""RAPTOR (Sarthi et al. 2024), as SiReRAG compares with it: passages and the summaries of the similarity tree in one pool.

Section 3 of the paper: clusters and their summaries are built while indexing (`sirerag/trees.py`); the tree is searched
collapsed, all levels at once (figure 2 B). Deviations: the top `k` units are retrieved and read up to `evidence_tokens`, where
the paper fills a budget of tokens; traversal level by level, which the paper found worse, is left out. Clusters and summaries
are set under [structures].
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from hoptrail.corpus.structure_names import SIMILARITY_TREE
from hoptrail.language.tasks import Abstain
from hoptrail.types import Kind
from hoptrail_papers.sirerag.pool_search import TreePool
from hoptrail_papers.sirerag.sirerag import Pooled, PooledSettings


@dataclass(frozen=True, slots=True)
class RaptorSettings(PooledSettings):
    """The settings of every pool."""

    structures = (SIMILARITY_TREE,)
    pool = TreePool((Kind.PASSAGE,), (SIMILARITY_TREE,))


PAPER = RaptorSettings(evidence_tokens=100_000, repeats=True, abstain=Abstain.NEVER)
"""As in SiReRAG's comparison: all of the 20 best units are read."""


@dataclass(frozen=True)
class Raptor(Pooled):
    """Passages and a tree of their summaries in one pool, read once."""

    settings: RaptorSettings = field(default_factory=RaptorSettings)

    name: ClassVar[str] = "raptor"
    presets: ClassVar[Mapping[str, RaptorSettings]] = {
        "paper": PAPER,
        "bm25": replace(PAPER, scorer="bm25"),
        "late-interaction": replace(PAPER, scorer="late-interaction"),
    }
