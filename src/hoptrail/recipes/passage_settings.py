"""Settings that most recipes share: how many passages are retrieved, and how much of them is read."""

from __future__ import annotations

from dataclasses import dataclass

from hoptrail.language.effort import Effort
from hoptrail.language.tasks import Abstain
from hoptrail.retrieval.units.pool import Pool
from hoptrail.structures.structure_names import PASSAGES
from hoptrail.types import Kind


@dataclass(frozen=True, slots=True)
class PassageSettings:
    """`k` units are retrieved; the best that fit `evidence_tokens` are read. `abstain` says when a model abstains: `always` when
    nothing settles the question, `allowed` only when nothing helps, or `never`.
    """

    k: int = 20
    evidence_tokens: int = 6000
    abstain: Abstain = Abstain.ALWAYS

    @property
    def structures(self) -> tuple[str, ...]:
        """The structures that must have been built (their own inputs are implied)."""
        return (PASSAGES,)

    @property
    def pool(self) -> Pool:
        """The units that are searched."""
        return Pool((Kind.PASSAGE,))

    @property
    def effort(self) -> Effort:
        """How many language tasks a question takes."""
        return Effort()

    def __post_init__(self) -> None:
        if self.k < 1 or self.evidence_tokens < 1:
            raise ValueError("k and evidence_tokens are at least 1")
