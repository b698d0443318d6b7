"""A listener is notified of every hop as it is made, and can stop the work."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from hoptrail.errors import Interrupted
from hoptrail.language.listener import Listener, ObservedLanguage
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.recipes.catalogue import open_recipe
from hoptrail.recipes.registry import recipe_names
from hoptrail.recipes.settings import RecipeSettings
from hoptrail.recipes.trail import TrailRecipe
from hoptrail.retrieval.corpus import Corpus
from hoptrail.types import Hop, Span

QUESTION = "Which river flows through the town where the designer of the Tallow Bridge was born?"
COMPLETE = sorted(set(recipe_names()) - {TrailRecipe.name})
"""Recipes whose answers have every hop that they made."""


@dataclass
class RecordingListener:
    """Records what it is notified of, and stops after `patience` hops."""

    patience: int = 1000
    events: list[tuple[str, str]] = field(default_factory=list)
    hops: list[Hop] = field(default_factory=list)
    support: list[Span] = field(default_factory=list)

    def asked(self, _: str, asked: str) -> None:
        self.events.append(("asked", asked))

    def found(self, hop: Hop, support: tuple[Span, ...]) -> None:
        self.events.append(("found", hop.asked))
        self.hops.append(hop)
        self.support += support

    @property
    def listener(self) -> Listener:
        return Listener(self.asked, self.found, lambda: len(self.hops) >= self.patience)


@pytest.mark.parametrize("name", COMPLETE)
def test_the_hops_reported_are_those_of_the_trail(name: str, corpus: Corpus) -> None:
    recorder = RecordingListener()
    recipe = open_recipe(name, corpus, ObservedLanguage(OfflineLanguage(), recorder.listener), RecipeSettings())
    answer = recipe.answer(QUESTION)
    assert tuple(recorder.hops) == answer.trail.hops
    assert {(span.document, span.start, span.end) for span in recorder.support} >= {
        (item.document, item.start, item.end) for item in answer.evidence if len(recorder.support) <= 4
    }
    assert answer.language == "offline"


@pytest.mark.parametrize("name", sorted(recipe_names()))
def test_listening_changes_no_answer(name: str, corpus: Corpus) -> None:
    plain = open_recipe(name, corpus, OfflineLanguage(), RecipeSettings()).answer(QUESTION)
    listened = open_recipe(
        name, corpus, ObservedLanguage(OfflineLanguage(), RecordingListener().listener), RecipeSettings()
    ).answer(QUESTION)
    assert (plain.text, plain.trail, plain.evidence, plain.ranking) == (
        listened.text,
        listened.trail,
        listened.evidence,
        listened.ranking,
    )


@pytest.mark.parametrize("name", ["selfask", "chainrag", "hirag", "sunar"])
def test_a_hop_is_announced_before_it_is_found(name: str, corpus: Corpus) -> None:
    recorder = RecordingListener()
    answer = open_recipe(name, corpus, ObservedLanguage(OfflineLanguage(), recorder.listener), RecipeSettings()).answer(
        QUESTION
    )
    assert len(answer.trail) > 1
    assert recorder.events[:4] == [(what, hop.asked) for hop in answer.trail.hops[:2] for what in ("asked", "found")]


@pytest.mark.parametrize("name", ["selfask", "chainrag", "hirag", "sunar"])
def test_once_stopped_no_further_hop_is_made(name: str, corpus: Corpus) -> None:
    recorder = RecordingListener(patience=1)
    recipe = open_recipe(name, corpus, ObservedLanguage(OfflineLanguage(), recorder.listener), RecipeSettings())
    with pytest.raises(Interrupted, match="nobody waits"):
        recipe.answer(QUESTION)
    assert len(recorder.hops) == 1


def test_trail_may_give_up_hops_but_adds_none_untold(corpus: Corpus) -> None:
    recorder = RecordingListener()
    answer = open_recipe(
        "trail", corpus, ObservedLanguage(OfflineLanguage(), recorder.listener), RecipeSettings()
    ).answer(QUESTION)
    assert len(answer.trail) > 0
    assert [hop for hop in answer.trail if hop not in recorder.hops] == []
