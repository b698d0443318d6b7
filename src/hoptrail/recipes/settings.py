"""The settings of all recipes. Imports them all: for a single recipe use `registry.py`."""

from __future__ import annotations

from dataclasses import field, make_dataclass

from hoptrail.recipes.registry import default_settings, recipe_names, settings_key

_FIELDS = [
    (settings_key(name), type(default), field(default=default))
    for name, default in ((name, default_settings(name)) for name in recipe_names())
]
_GIVEN = ("given", tuple[str, ...], field(default=(), repr=False, compare=False))


class RecipeSettings(make_dataclass("RecipeSettings", [*_FIELDS, _GIVEN], frozen=True)):  # type: ignore[misc]
    """One field for each recipe, named like the recipe with underscores; and `given`, no setting: the paths of the keys below
    that somebody has set, which count over a preset even where they have their default.
    """
