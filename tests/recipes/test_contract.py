"""What every recipe must do, whichever it is."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from hoptrail.documents.splitting import PassageLimits
from hoptrail.errors import TaskFailed
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.scripted import Failure, Quote, QuotedReading, QuotedStep, ScriptedLanguage
from hoptrail.language.tasks import (
    Assess,
    Clarify,
    Complete,
    Decompose,
    Decomposition,
    Effort,
    Equate,
    Integrate,
    Read,
    Reading,
    Reply,
    Sample,
    Samples,
    Step,
    Summarise,
    Task,
    Verify,
)
from hoptrail.recipes.answering import CitedHop, check_support, cite
from hoptrail.recipes.catalogue import needed_structures, open_recipe, presets_of, recipe_settings
from hoptrail.recipes.registry import recipe_class, recipe_names, settings_key
from hoptrail.recipes.settings import RecipeSettings
from hoptrail.recipes.single_pass import SinglePass
from hoptrail.recipes.trail import ChainSettings, TrailRecipe, TrailSettings
from hoptrail.retrieval.corpus import Corpus
from hoptrail.structures.catalogue import structures_by_name
from hoptrail.types import Hit, Hop, Kind, Span, Unit, Usage, Verdict
from recipes.chain_world import check_answer

SINGLE_PASS = [
    name
    for name in recipe_names()
    if issubclass(made := recipe_class(name), SinglePass)
    and all(getattr(made, part) is getattr(SinglePass, part) for part in ("search", "packed", "read", "hops", "answer"))
]
"""Those that read as their base does, once."""
QUESTION = "Which river flows through the town where the designer of the Tallow Bridge was born?"


PRESETS = [f"{recipe}:{preset}" for recipe in recipe_names() for preset in presets_of(recipe)]
WEIGHTS = ("late-interaction", ":paper-models", ":bge")
WITHOUT_WEIGHTS = [name for name in PRESETS if not any(weights in name for weights in WEIGHTS)]


def test_the_recipes_of_pyproject_are_installed() -> None:
    """As they are tested here only then."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
    missing = sorted(project["entry-points"]["hoptrail.recipes"].keys() - set(recipe_names()))
    assert not missing, f"{missing} are not installed, so no test sees them: run `make test`, which installs them"


@pytest.mark.parametrize("name", [*recipe_names(), *WITHOUT_WEIGHTS])
def test_an_answer_is_cited_and_its_ranking_is_what_retrieve_gives(name: str, corpus: Corpus) -> None:
    recipe = open_recipe(name, corpus, OfflineLanguage(), RecipeSettings())
    answer = recipe.answer(QUESTION)
    check_answer(answer, corpus)
    assert answer.ranking == recipe.retrieve(QUESTION)
    assert (answer.recipe, answer.language, answer.question) == (name.partition(":")[0], "offline", QUESTION)
    assert answer.usage.seconds > 0


@pytest.mark.parametrize("name", recipe_names())
def test_the_same_question_gives_the_same_answer(name: str, corpus: Corpus) -> None:
    answers = [open_recipe(name, corpus, OfflineLanguage(), RecipeSettings()).answer(QUESTION) for _ in range(2)]
    first, second = (replace(answer, usage=replace(answer.usage, seconds=0)) for answer in answers)
    assert first == second


@pytest.mark.parametrize("name", recipe_names())
def test_k_bounds_what_is_retrieved(name: str, corpus: Corpus) -> None:
    for limit in (1, 3, 100):
        ranking = open_recipe(name, corpus, OfflineLanguage(), RecipeSettings(), limit).retrieve(QUESTION)
        assert len(ranking) <= limit
        assert [hit.score for hit in ranking] == sorted((hit.score for hit in ranking), reverse=True)
        assert len({hit.unit.id for hit in ranking}) == len(ranking)


@pytest.mark.parametrize("name", recipe_names())
def test_odd_questions_end_in_an_answer_or_an_abstention(name: str, corpus: Corpus) -> None:
    recipe = open_recipe(name, corpus, OfflineLanguage(), RecipeSettings())
    for question in ("zqx", "Who?", "?", "the of and", "a " * 3000, "Who is #1?", "它在哪里？"):
        check_answer(recipe.answer(question), corpus)


@pytest.mark.parametrize("name", recipe_names())
def test_a_task_that_fails_is_a_failed_hop_and_an_abstention(name: str, corpus: Corpus) -> None:
    answer = open_recipe(name, corpus, ScriptedLanguage([Failure("overloaded")]), RecipeSettings()).answer(QUESTION)
    assert answer.abstained
    assert [hop.verdict for hop in answer.trail] == [Verdict.FAILED]
    assert answer.evidence == ()


@pytest.mark.parametrize("name", SINGLE_PASS)
def test_steps_of_one_reading_become_hops(name: str, corpus: Corpus) -> None:
    steps = (
        QuotedStep("Who designed the Tallow Bridge?", "Orla Finch", (Quote("It was designed by Orla Finch."),)),
        QuotedStep("Where was Orla Finch born?", "Wrenmouth", (Quote("Orla Finch was born in Wrenmouth."),)),
        QuotedStep("Which river flows through Wrenmouth?", "Isk", (Quote("The river Isk flows through Wrenmouth."),)),
    )
    answer = open_recipe(name, corpus, ScriptedLanguage([QuotedReading("Isk", steps)]), RecipeSettings()).answer(
        QUESTION
    )
    check_answer(answer, corpus)
    assert [hop.answer for hop in answer.trail] == ["Orla Finch", "Wrenmouth", "Isk"]
    assert [(item.hop, item.title) for item in answer.evidence] == [
        (0, "Tallow Bridge"),
        (1, "Orla Finch"),
        (2, "Wrenmouth"),
    ]
    assert answer.text == "Isk"
    assert answer.usage.calls == 1


@pytest.mark.parametrize("name", SINGLE_PASS)
def test_a_citation_of_what_was_not_handed_over_fails_the_hop(name: str, corpus: Corpus) -> None:
    invented = Reading("Isk", (Step("Q", "Isk", (Span("d-invented", 0, 4),)),))
    answer = open_recipe(name, corpus, ScriptedLanguage([invented]), RecipeSettings()).answer(QUESTION)
    assert answer.abstained
    assert answer.trail.hops[0].verdict is Verdict.FAILED
    with pytest.raises(TaskFailed, match="characters 0 to 4 of document d-invented"):
        check_support([Span("d-invented", 0, 4)], answer.ranking)


@pytest.mark.parametrize("name", SINGLE_PASS)
def test_an_abstention_keeps_the_hops_that_were_settled(name: str, corpus: Corpus) -> None:
    step = QuotedStep("Who designed it?", "Orla Finch", (Quote("It was designed by Orla Finch."),))
    answer = open_recipe(name, corpus, ScriptedLanguage([QuotedReading(None, (step,))]), RecipeSettings()).answer(
        QUESTION
    )
    assert answer.abstained
    assert [hop.verdict for hop in answer.trail] == [Verdict.ANSWERED, Verdict.UNANSWERED]
    check_answer(answer, corpus)


def test_an_empty_index_gives_an_abstention(tmp_path_factory: pytest.TempPathFactory, corpus: Corpus) -> None:
    from hoptrail.corpus.snapshot import Snapshot
    from hoptrail.corpus.writer import writing_to
    from hoptrail.types import Usage

    folder = tmp_path_factory.mktemp("empty")
    with writing_to(folder, corpus.encoder.identity) as writer:
        writer.publish(Usage())
    empty = Corpus(Snapshot.open(folder), lambda: corpus.encoder)
    for name in recipe_names():
        answer = open_recipe(name, empty, OfflineLanguage(), RecipeSettings()).answer(QUESTION)
        assert answer.abstained
        assert answer.ranking == ()


def test_every_structure_that_a_recipe_needs_exists() -> None:
    assert needed_structures(recipe_names(), RecipeSettings()) <= set(structures_by_name(PassageLimits()))


def test_every_recipe_has_settings_and_a_description() -> None:
    for name in recipe_names():
        recipe = recipe_class(name)
        assert recipe.name == name
        assert recipe_settings(name) == getattr(RecipeSettings(), settings_key(name))
        assert (recipe.__doc__ or "").strip().endswith((".", "`"))


def test_selfask_fails_openly_in_the_middle(corpus: Corpus) -> None:
    decomposition = Decomposition(("Who designed the Tallow Bridge?",))
    language = ScriptedLanguage([decomposition, Failure("cut off"), Failure("again")])
    answer = open_recipe("selfask", corpus, language, RecipeSettings()).answer(QUESTION)
    assert answer.abstained
    assert [hop.verdict for hop in answer.trail] == [Verdict.FAILED, Verdict.FAILED]


@dataclass
class Laborious:
    """A language that always finds something else to ask, and is never sure: of `answers`, taken in turns, none is believed."""

    answers: tuple[bool, ...]
    name: str = "laborious"
    readings: int = 0
    others: int = 0
    plans: int = 0
    said: list[str] = field(default_factory=list)

    def perform(self, task: Task[Any]) -> Reply[Any]:
        drawn = task.samples if isinstance(task, Sample) else 1
        handed = isinstance(task, Read | Assess | Verify | Sample | Integrate | Summarise)
        self.readings, self.others = self.readings + drawn * handed, self.others + drawn * (not handed)
        self.plans += isinstance(task, Decompose | Complete)
        return Reply(self._reply(task), Usage(calls=drawn))

    def _reply(self, task: Task[Any]) -> Any:
        match task:
            case Decompose(one_at_a_time=alone):
                return Decomposition(tuple(self._new() for _ in range(1 if alone else 9)))
            case Complete(question=question, findings=findings):
                return f"{question} {findings[-1].answer or ''}"
            case Assess() | Verify():
                return 0.0
            case Sample(samples=samples):
                return Samples(tuple(self._new() for _ in range(samples)))
            case Equate():
                return False
            case Clarify(question=question):
                return question
            case Summarise():
                return "In short."
        return (
            Reading(self._new(), confidence=0.01) if self.answers[self.readings % len(self.answers)] else Reading(None)
        )

    def _new(self) -> str:
        self.said.append(
            f"What is it that Orla{'abcdefghijklmnopqrstuvwxyz'[len(self.said) % 26] * 3} {len(self.said)} did?"
        )
        return self.said[-1]


TELLING = [
    *recipe_names(),
    *(name for name in WITHOUT_WEIGHTS if recipe_settings(name, RecipeSettings()).effort != Effort()),
]
"""The recipes and presets that tell how many tasks a question takes."""


@pytest.mark.parametrize("name", TELLING)
def test_no_question_takes_more_tasks_than_its_settings_tell(name: str, corpus: Corpus) -> None:
    effort = recipe_settings(name, RecipeSettings()).effort
    for answers in ((True,), (False, True)):
        language = Laborious(answers)
        open_recipe(name, corpus, language, RecipeSettings()).answer(QUESTION)
        assert language.readings <= effort.readings[1], answers
        assert language.others <= effort.others[1] + effort.plans[1], answers
        assert language.plans <= effort.plans[1], answers


def test_the_default_recipe_can_take_all_that_its_settings_tell(corpus: Corpus) -> None:
    settings = TrailSettings(first_read=5, chain=ChainSettings(search=1, path_read=1, rethink=1))
    language = Laborious((False, True))
    TrailRecipe(corpus, language, settings).answer(QUESTION)
    assert settings.effort == TrailSettings().effort == Effort((1, 15), (0, 12))
    assert (language.readings, language.others) == (15, 11), (
        "the question that finds nothing left to ask is the twelfth"
    )
    few = TrailSettings(tasks=9, chain=settings.chain)
    assert few.effort == Effort((1, 9), (0, 0))


def test_evidence_names_the_unit_that_says_it_not_a_summary_before_it(corpus: Corpus) -> None:
    first, second = sorted(corpus.snapshot.units(Kind.PASSAGE), key=lambda unit: unit.id)[:2]
    summary = Unit("s1", Kind.SUMMARY, "", "In short.", (*first.sources, *second.sources))
    for hits, expected in (((summary, first), first), ((summary,), summary)):
        hop = Hop("Q", "Q", tuple(Hit(unit, 1.0, "test") for unit in hits), "Isk", Verdict.ANSWERED)
        (evidence,) = cite([CitedHop(hop, first.sources)], corpus)
        assert (evidence.unit, evidence.kind) == (expected.id, expected.kind)
