"""Which recipes there are: a new one is a module of this package, and a line in `_CLASSES`.

A recipe's module is imported when the recipe is asked for: a keyword search needs nothing of the others.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from hoptrail.recipes.recipe import OneRecipeSettings, Recipe

_CLASSES = {
    "bm25": "Bm25",
    "dense": "Dense",
    "hybrid": "Hybrid",
    "closed-book": "ClosedBook",
    "cot": "Cot",
    "selfask": "SelfAsk",
    "ircot": "Ircot",
    "iter-retgen": "IterRetgen",
    "flare": "Flare",
    "raptor": "Raptor",
    "sirerag": "Sirerag",
    "chainrag": "Chainrag",
    "hirag": "Hirag",
    "sunar": "Sunar",
    "comprag": "Comprag",
    "hipporag": "Hipporag",
    "graphrag": "Graphrag",
    "lightrag": "Lightrag",
    "trail": "TrailRecipe",
}
"""The class of each, in the module of its name: those that read once, by steps and by structures, then ours. The default of a
class's field `settings` says what can be set.
"""

RECIPES = tuple(_CLASSES)
"""Their names."""


def recipe_class(name: str) -> type[Recipe]:
    """The recipe of a name that is one of RECIPES."""
    found: type[Recipe] = getattr(import_module(f"hoptrail.recipes.{settings_key(name)}"), _CLASSES[name])
    return found


def settings_key(recipe: str) -> str:
    """The field of RecipeSettings, and the table of a settings file, that holds a recipe's settings."""
    return recipe.replace("-", "_")


def default_settings(recipe: str) -> OneRecipeSettings:
    """The settings of a recipe as it ships."""
    fields: Any = recipe_class(recipe)
    settings: OneRecipeSettings = fields.__dataclass_fields__["settings"].default_factory()
    return settings
