"""What a recipe is: the structures it needs, how it retrieves, how it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

from hoptrail.retrieval.corpus import Corpus
from hoptrail.types import Answer, Ranking

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class Recipe(Protocol):
    """A frozen dataclass of (corpus, language, settings). The first line of its docstring describes it to users."""

    name: ClassVar[str]
    structures: ClassVar[tuple[str, ...]]

    @property
    def corpus(self) -> Corpus: ...

    @property
    def settings(self) -> DataclassInstance:
        """Among its fields is `k`, how many units are retrieved."""
        ...

    def retrieve(self, question: str) -> Ranking:
        """The units found for a question, best first."""
        ...

    def answer(self, question: str) -> Answer:
        """The answer with its trail, or an abstention."""
        ...
