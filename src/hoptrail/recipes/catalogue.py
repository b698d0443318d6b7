"""Open recipes by name, and look up their settings, presets and needed structures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.structure_names import PASSAGES
from hoptrail.errors import UsageError
from hoptrail.language.tasks import Language
from hoptrail.recipes.recipe import PassageSettings, Recipe
from hoptrail.recipes.registry import default_settings, recipe_class, recipe_names, settings_key
from hoptrail.retrieval.corpus import Corpus
from hoptrail.types import Kind

if TYPE_CHECKING:
    from hoptrail.recipes.settings import RecipeSettings
    from hoptrail.structures.catalogue import StructureSettings

DEFAULT = "trail"


def open_recipe(
    name: str, corpus: Corpus, language: Language, settings: RecipeSettings | None = None, limit: int | None = None
) -> Recipe:
    """Open a recipe over a corpus; `limit` replaces its setting `k`.

    Raises: UsageError: there is no such recipe or preset.
    """
    own: Any = recipe_settings(name, settings)
    recipe: Any = recipe_class(name.partition(":")[0])
    opened: Recipe = recipe(corpus, language, own if limit is None else replace(own, k=limit))
    return opened


def recipe_settings(name: str, settings: RecipeSettings | None = None) -> PassageSettings:
    """The settings of `NAME` (the user's or the defaults), or those of `NAME:PRESET` under what the user has set.
    Raises: UsageError: there is none of that name, or what is set cannot be had with the preset.
    """
    kind, colon, preset = name.partition(":")
    _check_kinds([kind])
    presets = presets_of(kind)
    if colon and preset not in presets:
        known = ", ".join(f"{kind}:{known}" for known in presets) or "none"
        raise UsageError(f"recipe {kind} has no preset {preset!r}. There are: {known}.")
    base: PassageSettings = presets[preset] if colon else default_settings(kind)
    if settings is None:
        return base
    own: PassageSettings = getattr(settings, key := settings_key(kind))
    if not colon:
        return own
    try:
        own = _laid_over(base, own, default_settings(kind), frozenset(settings.given), key)
    except ValueError as error:
        raise UsageError(f"what is set under recipes.{key} cannot be had with the preset {name}: {error}") from error
    return own


def _laid_over(base: Any, own: Any, default: Any, given: frozenset[str], path: str) -> Any:
    """`base` with the values of `own` that differ from `default`, or whose paths are `given`."""
    changed = {}
    for name in base.__dataclass_fields__:
        value, usual, key = getattr(own, name), getattr(default, name), f"{path}.{name}"
        if is_dataclass(value):
            changed[name] = _laid_over(getattr(base, name), value, usual, given, key)
        elif value != usual or key in given:
            changed[name] = value
    return replace(base, **changed)


def changed_keys(name: str, settings: RecipeSettings | None) -> tuple[str, ...]:
    """What the user has changed of a preset, each as `KEY = VALUE (preset: VALUE)`; nothing for a recipe without a preset."""
    if ":" not in name:
        return ()
    own, base = (_leaves(recipe_settings(name, layer)) for layer in (settings, None))
    return tuple(f"{key} = {own[key]!s} (preset: {value!s})" for key, value in base.items() if own[key] != value)


def _leaves(settings: Any, path: str = "") -> dict[str, object]:
    values = ((f"{path}{name}", getattr(settings, name)) for name in settings.__dataclass_fields__)
    pairs = (_leaves(value, f"{key}.").items() if is_dataclass(value) else [(key, value)] for key, value in values)
    return dict(chain.from_iterable(pairs))


def presets_of(recipe: str) -> Mapping[str, PassageSettings]:
    """The presets of a recipe by name; most have none."""
    presets: Mapping[str, PassageSettings] = getattr(recipe_class(recipe), "presets", {})
    return presets


def needed_structures(names: Iterable[str], settings: RecipeSettings | None = None) -> set[str]:
    """The structures that these recipes use directly. Raises: UsageError: a name is not a recipe."""
    names = list(names)
    _check_kinds(name.partition(":")[0] for name in names)
    return {structure for name in names for structure in recipe_settings(name, settings).structures}


def usable(name: str, snapshot: Snapshot, settings: RecipeSettings | None = None) -> str:
    """The recipe that can answer in place of `name` from this snapshot.

    `name` itself if its structures are built. While the first build still runs, `hybrid`, or `bm25` before there are vectors.
    Empty if the structures were not built.
    Raises: UsageError: there is no such recipe.
    """
    missing = needed_structures([name], settings) - set(snapshot.head.structures)
    if not missing:
        return name
    if snapshot.head.whole or not missing <= set(snapshot.head.unfinished):
        return ""
    if not snapshot.count(Kind.PASSAGE):
        return "bm25"
    return name if missing == {PASSAGES} else "hybrid"


def reported_name(wanted: str, used: Recipe) -> str:
    """The name to report: the one asked for, with its preset, unless another recipe answered in its place."""
    return wanted if wanted.partition(":")[0] == used.name else used.name


def check_built_for(names: Iterable[str], settings: RecipeSettings, structures: StructureSettings) -> None:
    """Check that recipes can search what these settings build. Raises: UsageError: one is unknown, or needs more than that."""
    for name in names:
        for setting, remedy in recipe_settings(name, settings).built_with.items():
            structure, _, key = setting.partition(".")
            if not getattr(getattr(structures, structure), key):
                raise UsageError(f"recipe {name} compares what is not built. {remedy}")


def built_by_model(names: Iterable[str]) -> list[str]:
    """The recipes among `names` whose structures a chat model may build; it costs money and does not help `trail`."""
    return [name for name in names if name.partition(":")[0] != "trail"]


def _check_kinds(kinds: Iterable[str]) -> None:
    unknown = sorted(set(kinds) - set(recipe_names()))
    if unknown:
        raise UsageError(f"there is no recipe {', '.join(unknown)}. There are: {', '.join(recipe_names())}.")
