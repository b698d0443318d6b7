"""The recipes by name, and their settings: the one place where a new recipe is entered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hoptrail.errors import UsageError
from hoptrail.language.tasks import Language
from hoptrail.recipes.bm25 import Bm25, Bm25Settings
from hoptrail.recipes.chainrag import Chainrag, ChainragSettings
from hoptrail.recipes.closed_book import ClosedBook, ClosedBookSettings
from hoptrail.recipes.comprag import Comprag, CompragSettings
from hoptrail.recipes.cot import Cot, CotSettings
from hoptrail.recipes.dense import Dense, DenseSettings
from hoptrail.recipes.flare import Flare, FlareSettings
from hoptrail.recipes.graphrag import Graphrag, GraphragSettings
from hoptrail.recipes.hipporag import Hipporag, HipporagSettings
from hoptrail.recipes.hirag import Hirag, HiragSettings
from hoptrail.recipes.hybrid import Hybrid, HybridSettings
from hoptrail.recipes.ircot import Ircot, IrcotSettings
from hoptrail.recipes.iter_retgen import IterRetgen, IterRetgenSettings
from hoptrail.recipes.lightrag import Lightrag, LightragSettings
from hoptrail.recipes.raptor import Raptor, RaptorSettings
from hoptrail.recipes.recipe import OneRecipeSettings, Recipe
from hoptrail.recipes.selfask import SelfAsk, SelfAskSettings
from hoptrail.recipes.sirerag import Sirerag, SireragSettings
from hoptrail.recipes.sunar import Sunar, SunarSettings
from hoptrail.recipes.trail import TrailRecipe, TrailSettings
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.triples.space import how_to_add
from hoptrail.structures.triples import TripleSettings

_READ_ONCE: tuple[type[Recipe], ...] = (Bm25, Dense, Hybrid, ClosedBook, Cot)
_BY_STEPS: tuple[type[Recipe], ...] = (SelfAsk, Ircot, IterRetgen, Flare)
_BY_STRUCTURES: tuple[type[Recipe], ...] = (
    Raptor,
    Sirerag,
    Chainrag,
    Hirag,
    Sunar,
    Comprag,
    Hipporag,
    Graphrag,
    Lightrag,
)
_OURS: tuple[type[Recipe], ...] = (TrailRecipe,)
RECIPES: dict[str, type[Recipe]] = {
    recipe.name: recipe for recipe in (*_READ_ONCE, *_BY_STEPS, *_BY_STRUCTURES, *_OURS)
}

DEFAULT = TrailRecipe.name
MADE_BY_RULES = frozenset({TrailRecipe.name})
"""Recipes for whose structures no model is asked, whoever answers: they gain nothing by it, and it would have to be paid for."""


@dataclass(frozen=True, slots=True)
class RecipeSettings:
    """One field a recipe, under the recipe's name with underscores."""

    bm25: Bm25Settings = field(default_factory=Bm25Settings)
    dense: DenseSettings = field(default_factory=DenseSettings)
    hybrid: HybridSettings = field(default_factory=HybridSettings)
    closed_book: ClosedBookSettings = field(default_factory=ClosedBookSettings)
    cot: CotSettings = field(default_factory=CotSettings)
    selfask: SelfAskSettings = field(default_factory=SelfAskSettings)
    ircot: IrcotSettings = field(default_factory=IrcotSettings)
    iter_retgen: IterRetgenSettings = field(default_factory=IterRetgenSettings)
    flare: FlareSettings = field(default_factory=FlareSettings)
    raptor: RaptorSettings = field(default_factory=RaptorSettings)
    sirerag: SireragSettings = field(default_factory=SireragSettings)
    chainrag: ChainragSettings = field(default_factory=ChainragSettings)
    hirag: HiragSettings = field(default_factory=HiragSettings)
    sunar: SunarSettings = field(default_factory=SunarSettings)
    comprag: CompragSettings = field(default_factory=CompragSettings)
    hipporag: HipporagSettings = field(default_factory=HipporagSettings)
    graphrag: GraphragSettings = field(default_factory=GraphragSettings)
    lightrag: LightragSettings = field(default_factory=LightragSettings)
    trail: TrailSettings = field(default_factory=TrailSettings)


def open_recipe(
    name: str, corpus: Corpus, language: Language, settings: RecipeSettings, limit: int | None = None
) -> Recipe:
    """The recipe of that name, over a corpus; `limit` replaces its setting `k`.

    `NAME:PRESET` takes the recipe's own preset instead of its settings.

    Raises:
        UsageError: there is none of that name.
    """
    own: Any = recipe_settings(name, settings)
    recipe: Any = RECIPES[name.partition(":")[0]]
    opened: Recipe = recipe(corpus, language, own if limit is None else replace(own, k=limit))
    return opened


def recipe_settings(name: str, settings: RecipeSettings) -> OneRecipeSettings:
    """The settings that a recipe's name means: those of the user, or one of its presets.

    Raises:
        UsageError: there is no such recipe or preset.
    """
    kind, colon, preset = name.partition(":")
    _check_kinds([kind])
    presets = presets_of(kind)
    if colon and preset not in presets:
        known = ", ".join(f"{kind}:{known}" for known in presets) or "none"
        raise UsageError(f"recipe {kind} has no preset {preset!r}. There are: {known}.")
    own: OneRecipeSettings = presets[preset] if colon else getattr(settings, settings_key(kind))
    return own


def settings_key(recipe: str) -> str:
    """The field of RecipeSettings, and the table of a settings file, that holds a recipe's settings."""
    return recipe.replace("-", "_")


def presets_of(recipe: str) -> Mapping[str, OneRecipeSettings]:
    """The presets of a recipe by name; most have none."""
    presets: Mapping[str, OneRecipeSettings] = getattr(RECIPES[recipe], "presets", {})
    return presets


def needed_structures(names: Iterable[str], settings: RecipeSettings) -> set[str]:
    """The structures that these recipes use, without those that these stand on.

    Raises:
        UsageError: a name is not a recipe.
    """
    names = list(names)
    _check_kinds(name.partition(":")[0] for name in names)
    return {structure for name in names for structure in recipe_settings(name, settings).structures}


def check_built_for(names: Iterable[str], settings: RecipeSettings, triples: TripleSettings) -> None:
    """Refuse recipes that could not search what these settings build.

    Raises:
        UsageError: a name is not a recipe, or a recipe compares what triples have only where a setting says so.
    """
    for name in names:
        own = recipe_settings(name, settings)
        if isinstance(own, CompragSettings) and own.space.wants and not getattr(triples, own.space.wants):
            raise UsageError(f"recipe {name} compares what is not built. {how_to_add(own.space.wants)}")


def gaining_by_model(names: Iterable[str]) -> list[str]:
    """Those of these recipes, by name, for whose structures a model may be asked."""
    return [name for name in names if name.partition(":")[0] not in MADE_BY_RULES]


def _check_kinds(kinds: Iterable[str]) -> None:
    unknown = sorted(set(kinds) - set(RECIPES))
    if unknown:
        raise UsageError(f"there is no recipe {', '.join(unknown)}. There are: {', '.join(RECIPES)}.")
