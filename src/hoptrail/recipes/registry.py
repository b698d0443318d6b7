"""The recipes by name: those of the engine, and those that installed packages add as entry points `hoptrail.recipes`.

A recipe's module is imported only when the recipe is used.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from hoptrail.plugins import found, loaded
from hoptrail.recipes.recipe import PassageSettings, Recipe

_CLASSES = {
    "bm25": "single_pass.Bm25",
    "dense": "single_pass.Dense",
    "hybrid": "single_pass.Hybrid",
    "trail": "trail.TrailRecipe",
}
"""Recipe name -> module and class. The default of the class's field `settings` shows what can be set."""


@cache
def recipe_names() -> tuple[str, ...]:
    """The names of all recipes, those of the engine first."""
    return (*_CLASSES, *(name for name in found("recipes") if name not in _CLASSES))


def recipe_class(name: str) -> type[Recipe]:
    """The class of a recipe; `name` is one of `recipe_names`. Raises: UsageError: its package is broken."""
    if name not in _CLASSES:
        cls: type[Recipe] = loaded("recipes", name)
    else:
        module, _, own = _CLASSES[name].partition(".")
        cls = getattr(import_module(f"hoptrail.recipes.{module}"), own)
    return cls


def settings_key(recipe: str) -> str:
    """A recipe's field in RecipeSettings and table in a settings file."""
    return recipe.replace("-", "_")


def default_settings(recipe: str) -> PassageSettings:
    fields: Any = recipe_class(recipe)
    settings: PassageSettings = fields.__dataclass_fields__["settings"].default_factory()
    return settings
