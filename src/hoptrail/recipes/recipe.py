"""The protocol of a recipe (the structures it needs, how it retrieves, how it answers), and the settings that most share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import hoptrail.notebook  # noqa: F401 - answers of recipes show themselves in notebooks
from hoptrail.corpus.structure_names import PASSAGES
from hoptrail.language.tasks import Abstain, Effort
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.units.pool import Pool
from hoptrail.setting_limits import AtLeast1, Limited
from hoptrail.types import Answer, Kind, Ranking


class OneRecipeSettings(Protocol):
    """The settings of one recipe, a frozen dataclass. A preset is an instance.

    `k` units are retrieved from the `pool`, and at most `evidence_tokens` are read at a time. `structures` must have been built
    (their own inputs are implied). `effort`: how many language tasks a question takes.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def k(self) -> int: ...
    @property
    def evidence_tokens(self) -> int: ...
    @property
    def abstain(self) -> Abstain: ...
    @property
    def effort(self) -> Effort: ...
    @property
    def structures(self) -> tuple[str, ...]: ...
    @property
    def pool(self) -> Pool: ...
    @property
    def built_with(self) -> Mapping[str, str]:
        """What structures must hold for it beyond their defaults: by `STRUCTURE.SETTING`, which must be true, how to add it."""


class Recipe(Protocol):
    """A frozen dataclass of (corpus, language, settings). The first line of its docstring describes it to users."""

    name: ClassVar[str]

    @property
    def corpus(self) -> Corpus:
        """What is searched: one state of the index, or a view of it."""

    @property
    def settings(self) -> OneRecipeSettings: ...

    def retrieve(self, question: str) -> Ranking:
        """The units found for a question, best first."""

    def answer(self, question: str) -> Answer:
        """The answer with its trail, or an abstention."""


@dataclass(frozen=True, slots=True)
class PassageSettings(Limited):
    """`k` units are retrieved; the best that fit `evidence_tokens` are read. `abstain` says when a model abstains: `always` when
    nothing settles the question, `allowed` only when nothing helps, or `never`.
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
