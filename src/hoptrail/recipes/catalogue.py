"""The recipes by name, and their settings: the one place where a new recipe is entered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from hoptrail.errors import UsageError
from hoptrail.language.tasks import Language
from hoptrail.recipes.bm25 import Bm25, Bm25Settings
from hoptrail.recipes.dense import Dense, DenseSettings
from hoptrail.recipes.hybrid import Hybrid, HybridSettings
from hoptrail.recipes.recipe import Recipe
from hoptrail.recipes.selfask import SelfAsk, SelfAskSettings
from hoptrail.retrieval.corpus import Corpus

RECIPES: dict[str, type[Bm25] | type[Dense] | type[Hybrid] | type[SelfAsk]] = {
    recipe.name: recipe for recipe in (Bm25, Dense, Hybrid, SelfAsk)
}


@dataclass(frozen=True, slots=True)
class RecipeSettings:
    """One field a recipe, under the recipe's name."""

    bm25: Bm25Settings = field(default_factory=Bm25Settings)
    dense: DenseSettings = field(default_factory=DenseSettings)
    hybrid: HybridSettings = field(default_factory=HybridSettings)
    selfask: SelfAskSettings = field(default_factory=SelfAskSettings)


def open_recipe(
    name: str, corpus: Corpus, language: Language, settings: RecipeSettings, limit: int | None = None
) -> Recipe:
    """The recipe of that name, over a corpus; `limit` replaces its setting `k`.

    Raises:
        UsageError: there is none of that name.
    """
    check_names([name])
    own = getattr(settings, name)
    recipe: Recipe = RECIPES[name](corpus, language, own if limit is None else replace(own, k=limit))
    return recipe


def needed_structures(names: Iterable[str]) -> set[str]:
    """The structures that these recipes need.

    Raises:
        UsageError: a name is not a recipe.
    """
    names = list(names)
    check_names(names)
    return {structure for name in names for structure in RECIPES[name].structures}


def check_names(names: Iterable[str]) -> None:
    unknown = sorted(set(names) - set(RECIPES))
    if unknown:
        raise UsageError(f"there is no recipe {', '.join(unknown)}. There are: {', '.join(RECIPES)}.")
