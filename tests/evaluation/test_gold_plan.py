"""Gold decompositions as plans: triples reveal no earlier answer, and an unusable decomposition is one step."""

from __future__ import annotations

import pytest

from evaluation.oracle_world import oracle_of, read
from hoptrail.evaluation.datasets import GoldStep, Question
from hoptrail.language.tasks import Decompose, Finding, Integrate
from hoptrail_papers.gold_plan import gold_plan


class TestPlans:
    def plan(self, question: str, *steps: tuple[str, str | None]) -> list[str]:
        gold = tuple(GoldStep(text, answer, "p") for text, answer in steps)
        return [step.question for step in gold_plan(Question("q", question, ("a",), decomposition=gold)).steps]

    @pytest.mark.parametrize("head", ["Ann Lee", "Ann Lee (poet)", "ann lee", "Ann Mary Lee", "A. Lee"])
    def test_a_triples_head_that_an_earlier_step_told_becomes_a_reference(self, head: str) -> None:
        steps = self.plan("Who bore the author of Reeds?", ("Reeds >> author", "Ann Lee"), (f"{head} >> mother", "Jo"))
        assert steps == ["Reeds >> author", "#1 >> mother"]

    def test_heads_that_the_question_names_stay(self) -> None:
        question = "Is the author of Reeds Ann Lee's pupil?"
        assert self.plan(question, ("Lee Park >> place", "Lee"), ("Ann Lee >> pupil", "Jo"))[1] == "Ann Lee >> pupil"

    def test_branches_refer_to_their_own_step(self) -> None:
        steps = self.plan(
            "Which film's director was born later, Reeds or Sand?",
            ("Reeds >> director", "Ann Lee"),
            ("Sand >> director", "Bo Ray"),
            ("Ann Lee >> born", "1901"),
            ("Bo Ray (director) >> born", "1902"),
        )
        assert steps[2:] == ["#1 >> born", "#2 >> born"]

    def test_a_decomposition_that_cannot_be_followed_is_the_question_itself(self) -> None:
        assert self.plan("Who?", ("Reeds >> author", "Ann Lee"), ("#1 >> mother", None)) == ["Who?"]

    def test_two_steps_with_the_same_words_are_answered_by_either_passage(self) -> None:
        steps = (GoldStep("Isk >> town", "Wrenmouth", "town"), GoldStep("Isk >> town", "Lindeth", "song"))
        oracle = oracle_of(Question("q", "Which towns?", ("both",), supporting=("town", "song"), decomposition=steps))
        assert read(oracle, "Isk >> town", "song") == "Lindeth"
        findings = (Finding("Isk >> town", "Isk >> town", "Lindeth"),)
        assert oracle.perform(Decompose("Which towns?", findings, one_at_a_time=True)).value.questions == ()
        assert oracle.perform(Integrate("Which towns?", findings)).value.answer == "both"


def test_a_number_sign_without_an_earlier_step_is_no_reference() -> None:
    steps = (GoldStep("Who sang two #1 hits?", "Bo", "p"), GoldStep("When did #1 sing #7?", "1901", "p"))
    plan = gold_plan(Question("q", "When?", ("1901",), decomposition=steps))
    assert [step.needs for step in plan.steps] == [frozenset(), frozenset({0})]
    assert [plan.completed(position, {0}) for position in (0, 1)] == ["Who sang two #1 hits?", "When did Bo sing #7?"]
