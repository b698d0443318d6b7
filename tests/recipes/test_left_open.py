"""A sub-question that still says `she` or `#1` after it was to be completed has failed: nothing read for it counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hoptrail.language.scripted import Quote, QuotedReading, QuotedStep, ScriptedLanguage
from hoptrail.language.tasks import Complete, Decompose, Decomposition, Integrate, Read, Reading
from hoptrail.recipes.catalogue import open_recipe
from hoptrail.recipes.settings import RecipeSettings
from hoptrail.retrieval.corpus import Corpus
from hoptrail.types import Verdict
from hoptrail_papers.baselines.flare import FlareSettings
from hoptrail_papers.baselines.selfask import SelfAskSettings
from hoptrail_papers.sunar.sunar import SunarSettings

QUESTION = "Where was the designer of the Long Pier born?"
SOMEBODY = QuotedReading(
    "Wrenmouth", (QuotedStep("", "Wrenmouth", (Quote("Orla Finch was born in Wrenmouth."),)),), confidence=0.9
)
SETTINGS = replace(
    RecipeSettings(), selfask=SelfAskSettings(k=20), flare=FlareSettings(k=20, sure=0.5), sunar=SunarSettings(k=20)
)


@pytest.mark.parametrize("name", ["selfask", "flare", "sunar"])
@pytest.mark.parametrize("asked", ["Where was she born?", "Where was #1 born?"])
def test_nobody_is_taken_for_she(name: str, asked: str, corpus: Corpus) -> None:
    """The evidence says where somebody was born; that it is who was asked for is not known."""
    language = ScriptedLanguage(
        [
            (Decompose, Decomposition(("Who designed the Long Pier?",))),
            (Read, Reading(None)),
            *([(Read, Reading(None))] if name == "flare" else []),
            (Decompose, Decomposition((asked,))),
            (Complete, asked),
            (Read, SOMEBODY),
            (Decompose, Decomposition(())),
            *([(Integrate, Reading(None))] if name == "sunar" else []),
        ]
    )
    answer = open_recipe(name, corpus, language, SETTINGS).answer(QUESTION)
    assert answer.abstained
    worded = asked.replace("#1", "this person")
    assert [(hop.asked, hop.verdict) for hop in answer.trail][1] == (worded, Verdict.FAILED)
    assert not answer.evidence
