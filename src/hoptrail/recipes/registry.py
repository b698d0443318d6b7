"""The recipes by name. To add one, add a module to this package and a line to `_CLASSES`.

A recipe's module is imported only when the recipe is used.
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
"""Recipe name -> class in the module of that name. The default of the class's field `settings` shows what can be set."""

RECIPES = tuple(_CLASSES)


def recipe_class(name: str) -> type[Recipe]:
    """The class of a recipe; `name` is one of RECIPES."""
    cls: type[Recipe] = getattr(import_module(f"hoptrail.recipes.{settings_key(name)}"), _CLASSES[name])
    return cls


def settings_key(recipe: str) -> str:
    """A recipe's field in RecipeSettings and table in a settings file."""
    return recipe.replace("-", "_")


def default_settings(recipe: str) -> OneRecipeSettings:
    """A recipe's default settings."""
    fields: Any = recipe_class(recipe)
    settings: OneRecipeSettings = fields.__dataclass_fields__["settings"].default_factory()
    return settings
