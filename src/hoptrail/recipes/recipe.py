"""The protocol of a recipe (the structures it needs, how it retrieves, how it answers), and the settings that most share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

import hoptrail.notebook  # noqa: F401 - answers of recipes show themselves in notebooks
from hoptrail.corpus.structure_names import PASSAGES
from hoptrail.language.tasks import Abstain, Effort
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.rankings import Pool
from hoptrail.setting_limits import AtLeast1, Limited
from hoptrail.types import Answer, Kind, Ranking


@dataclass(frozen=True, slots=True)
class PassageSettings(Limited):
    """The settings of one recipe, of which others derive theirs. A preset is an instance.

    `k` units are retrieved from the `pool`; the best that fit `evidence_tokens` are read at a time. `abstain` says when a model
    abstains: `always` when nothing settles the question, `allowed` only when nothing helps, or `never`. `structures` must have
    been built (their own inputs are implied). `effort`: how many language tasks a question takes. `built_with`: what structures
    must hold for it beyond their defaults, by `STRUCTURE.SETTING`, which must be true, how to add it.
    """

    k: AtLeast1 = 20
    evidence_tokens: AtLeast1 = 6000
    abstain: Abstain = Abstain.ALWAYS

    @property
    def structures(self) -> tuple[str, ...]:
        return (PASSAGES,)

    @property
    def pool(self) -> Pool:
        return Pool((Kind.PASSAGE,))

    @property
    def built_with(self) -> Mapping[str, str]:
        return {}

    @property
    def effort(self) -> Effort:
        return Effort()


class Recipe(Protocol):
    """A frozen dataclass of (corpus, language, settings). The first line of its docstring describes it to users."""

    name: ClassVar[str]

    @property
    def corpus(self) -> Corpus:
        """What is searched: one state of the index, or a view of it."""

    @property
    def settings(self) -> PassageSettings: ...

    def retrieve(self, question: str) -> Ranking:
        """The units found for a question, best first."""

    def answer(self, question: str) -> Answer:
        """The answer with its trail, or an abstention."""
