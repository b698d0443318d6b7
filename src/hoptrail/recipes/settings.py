"""The settings of all recipes. Imports them all, so whoever asks for one recipe asks `catalogue.py` instead."""

from __future__ import annotations

from dataclasses import dataclass, field

from hoptrail.recipes.bm25 import Bm25Settings
from hoptrail.recipes.chainrag import ChainragSettings
from hoptrail.recipes.closed_book import ClosedBookSettings
from hoptrail.recipes.comprag import CompragSettings
from hoptrail.recipes.cot import CotSettings
from hoptrail.recipes.dense import DenseSettings
from hoptrail.recipes.flare import FlareSettings
from hoptrail.recipes.graphrag import GraphragSettings
from hoptrail.recipes.hipporag import HipporagSettings
from hoptrail.recipes.hirag import HiragSettings
from hoptrail.recipes.hybrid import HybridSettings
from hoptrail.recipes.ircot import IrcotSettings
from hoptrail.recipes.iter_retgen import IterRetgenSettings
from hoptrail.recipes.lightrag import LightragSettings
from hoptrail.recipes.raptor import RaptorSettings
from hoptrail.recipes.selfask import SelfAskSettings
from hoptrail.recipes.sirerag import SireragSettings
from hoptrail.recipes.sunar import SunarSettings
from hoptrail.recipes.trail import TrailSettings


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
