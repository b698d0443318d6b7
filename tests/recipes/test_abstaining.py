"""When a question may be left without an answer: papers' presets always answer, because their questions always can be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from hoptrail.errors import UsageError
from hoptrail.index.settings import settings_from
from hoptrail.language.tasks import (
    Abstain,
    Assess,
    Complete,
    Decompose,
    Decomposition,
    Integrate,
    Read,
    Reading,
    Reply,
    Sample,
    Samples,
    Summarise,
    Task,
)
from hoptrail.recipes.catalogue import open_recipe, recipe_settings
from hoptrail.recipes.registry import recipe_names
from hoptrail.recipes.settings import RecipeSettings
from hoptrail.retrieval.corpus import Corpus
from hoptrail.types import Usage

QUESTION = "Which river flows through the town where the designer of the Tallow Bridge was born?"
PAPERS = ["chainrag", "cot", "hirag", "ircot", "iter-retgen", "sirerag", "sunar"]


@dataclass
class AbstainingLanguage:
    """Plans two sub-questions and finds no answer to anything, unless it has to."""

    tasks: list[Task[Any]] = field(default_factory=list)
    name: str = "clueless"

    def perform(self, task: Task[Any]) -> Reply[Any]:
        self.tasks.append(task)
        return Reply(self._reply(task), Usage())

    def _reply(self, task: Task[Any]) -> Any:
        match task:
            case Decompose(findings=findings, one_at_a_time=alone):
                plan = ("Who designed the Tallow Bridge?", "Where was Orla Finch born?")
                return Decomposition(plan[len(findings) : len(findings) + 1] if alone else plan)
            case Complete(question=question):
                return question
            case Sample(samples=samples):
                return Samples((None,) * samples)
            case Assess():
                return 0.0
            case Summarise():
                return ""
            case Read() | Integrate():
                return Reading("the Isk" if task.abstain is Abstain.NEVER else None, confidence=0.5)
        return Reading(None)

    @property
    def about_the_question(self) -> set[Abstain]:
        return {task.abstain for task in self.tasks if isinstance(task, Read | Integrate) and task.question == QUESTION}


@pytest.mark.parametrize("name", PAPERS)
def test_presets_of_papers_never_abstain(name: str, corpus: Corpus) -> None:
    language = AbstainingLanguage()
    answer = open_recipe(f"{name}:paper", corpus, language, RecipeSettings()).answer(QUESTION)
    assert language.about_the_question == {Abstain.NEVER}
    voted_down = name == "cot"  # forty chains, of which one had to answer
    assert answer.text == (None if voted_down else "the Isk")


@pytest.mark.parametrize("name", [*(f"{name}:paper" for name in PAPERS), *recipe_names()])
def test_sub_questions_may_always_be_left_open(name: str, corpus: Corpus) -> None:
    """What is not found there is what makes a recipe look further. SUNAR's paper looks no further, and answers each."""
    language = AbstainingLanguage()
    open_recipe(name, corpus, language, RecipeSettings()).answer(QUESTION)
    readings = [task for task in language.tasks if isinstance(task, Read) and task.question != QUESTION]
    assert {task.abstain for task in readings} <= {Abstain.NEVER if name == "sunar:paper" else Abstain.ALWAYS}
    if ":" not in name:
        assert language.about_the_question <= {Abstain.ALWAYS}


def test_the_setting_has_three_values() -> None:
    for value in ("always", "allowed", "never"):
        settings = settings_from({"recipes": {"bm25": {"abstain": value}}}, "here")
        assert recipe_settings("bm25", settings.recipes).abstain == value
    with pytest.raises(UsageError, match=r"recipes\.bm25\.abstain.*'always', 'allowed' or 'never'"):
        settings_from({"recipes": {"bm25": {"abstain": "sometimes"}}}, "here")


def test_a_hop_may_have_what_the_user_set(corpus: Corpus) -> None:
    settings = settings_from({"recipes": {"selfask": {"abstain": "allowed"}, "bm25": {"abstain": "never"}}}, "here")
    language = AbstainingLanguage()
    assert open_recipe("bm25", corpus, language, settings.recipes).answer(QUESTION).text == "the Isk"
    language = AbstainingLanguage()
    assert open_recipe("selfask", corpus, language, settings.recipes).answer(QUESTION).text is None
