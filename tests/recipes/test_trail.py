"""The stages of `trail`: which are gone through, what each reads, when an answer is believed, and what limits leave out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fakeai.brains import by_task, task_of
from fakeai.clients import KEY, context_at
from fakeai.server import FakeAI, serving
from hoptrail.language.factory import open_language
from hoptrail.language.scripted import (
    Failure,
    Output,
    Quote,
    QuotedReading,
    QuotedStep,
    ScriptedLanguage,
    ScriptedReply,
)
from hoptrail.language.tasks import (
    Complete,
    Decompose,
    Decomposition,
    Integrate,
    Read,
    Reading,
    Reply,
    Step,
    Task,
    Verify,
)
from hoptrail.recipes.trail import NO_CHAIN, ChainSettings, Opinion, TrailRecipe, TrailSettings, combined_confidence
from hoptrail.retrieval.corpus import Corpus
from hoptrail.text.statements import statements_of
from hoptrail.types import Span, Usage, Verdict
from recipes.chain_world import ASKED, QUESTION, SAID, RecordingLanguage, Script, check_answer


def reading(number: int, confidence: float = 1.0, answer: str | None = None) -> QuotedReading:
    """What the hop of this number says, cited, perhaps with another answer."""
    said, sentence = SAID[number]
    answer = said if answer is None else answer
    return QuotedReading(answer, (QuotedStep(ASKED[number], answer, (Quote(sentence),)),), confidence)


def chain(conclusion: Output) -> Script:
    replies: Script = []
    for number, asked in enumerate(ASKED):
        replies.append((Decompose, Decomposition((asked,))))
        replies.append((Read, reading(number)))
    return [*replies, (Decompose, Decomposition(())), (Integrate, conclusion)]


def trail(corpus: Corpus, replies: Script, **settings: Any) -> tuple[TrailRecipe, list[Task[Any]]]:
    listening = RecordingLanguage(ScriptedLanguage(replies))
    chosen = TrailSettings(**{"least_confidence": 0.1, "first_read": 5, **settings})
    return TrailRecipe(corpus, listening, chosen), listening.tasks


def test_an_answer_that_is_sure_at_once_costs_one_task(corpus: Corpus) -> None:
    recipe, tasks = trail(corpus, [(Read, reading(3, confidence=0.9))], first_read=7)
    answer = recipe.answer(QUESTION)
    assert (answer.text, answer.usage.calls) == ("the Grey Hills", 1)
    check_answer(answer, corpus)
    read = tasks[0]
    assert isinstance(read, Read)
    assert [unit.id for unit in read.evidence] == [hit.unit.id for hit in answer.ranking[:7]]


def test_an_abstention_shows_the_statement_that_a_reading_leads_to(corpus: Corpus) -> None:
    settings = TrailSettings(chain=NO_CHAIN, wide=False)
    last = TrailRecipe(corpus, ScriptedLanguage([]), settings).retrieve(QUESTION)[-1].unit
    led_to = statements_of(last)[0]
    recipe = TrailRecipe(corpus, ScriptedLanguage([(Read, Reading(None, promising=led_to.support))]), settings)
    answer = recipe.answer(QUESTION)
    assert answer.text is None
    assert led_to.text.strip() in answer.closest[1].said
    without = TrailRecipe(corpus, ScriptedLanguage([(Read, Reading(None))]), settings).answer(QUESTION)
    assert not any(led_to.text.strip() in statement.said for statement in without.closest)


def test_an_unsure_answer_is_followed_by_the_chain_and_a_sure_one_ends_it(corpus: Corpus) -> None:
    replies = [(Read, reading(3, confidence=0.4)), *chain(Reading("the Grey Hills", confidence=0.7))]
    recipe, tasks = trail(corpus, replies, sure=0.6)
    answer = recipe.answer(QUESTION)
    assert answer.text == "the Grey Hills"
    assert len(tasks) == len(replies) == answer.usage.calls  # and no wide reading
    check_answer(answer, corpus)


def test_the_golden_trail_of_four_hops(corpus: Corpus) -> None:
    replies = [(Read, Reading(None)), *chain(Reading("the Grey Hills", confidence=0.9))]
    recipe, tasks = trail(corpus, replies)
    answer = recipe.answer(QUESTION)
    assert [(hop.asked, hop.answer, hop.verdict) for hop in answer.trail] == [
        (asked, said, Verdict.ANSWERED) for asked, (said, _) in zip(ASKED, SAID, strict=True)
    ]
    assert [(item.hop, item.text) for item in answer.evidence] == list(enumerate(sentence for _, sentence in SAID))
    integrated = tasks[-1]
    assert isinstance(integrated, Integrate)
    assert [finding.answer for finding in integrated.findings] == [said for said, _ in SAID]


def test_every_hop_reads_what_is_found_for_it_alone_and_then_the_path(corpus: Corpus) -> None:
    recipe, _ = trail(
        corpus,
        [(Read, Reading(None)), *chain(Reading("x", confidence=1.0))],
        chain=ChainSettings(search=2, path_read=3),
    )
    answer = recipe.answer(QUESTION)
    best = [hit.unit.id for hit in recipe.retrieve(QUESTION)[:3]]
    for hop in answer.trail:
        names = [hit.unit.id for hit in hop.hits]
        assert len(names) == len(set(names)) <= 5
        assert set(best) <= set(names)
        assert {hit.unit.id for hit in hop.hits if hit.channel == "fused"} <= set(names[:2])


def test_where_stages_differ_everything_is_read_and_the_surest_is_believed(corpus: Corpus) -> None:
    first, conclusion = reading(3, 0.3, answer="90 km"), Reading("the Isk", confidence=0.2)
    replies = [(Read, first), *chain(conclusion), (Read, reading(3, confidence=0.25))]
    recipe, tasks = trail(corpus, replies, sure=0.5)
    answer = recipe.answer(QUESTION)
    assert answer.text == "90 km"
    last = tasks[-1]
    assert isinstance(last, Read)
    assert len(last.evidence) == len(answer.ranking)
    replies[-1] = (Read, reading(3, 0.45, answer="the Isk"))
    assert trail(corpus, replies, sure=0.5)[0].answer(QUESTION).text == "the Isk"


def test_what_nothing_settles_is_an_abstention_with_its_trail(corpus: Corpus) -> None:
    unanswered: Script = [(Decompose, Decomposition((ASKED[0],))), (Read, Reading(None))]
    answer = trail(corpus, [(Read, Reading(None)), *unanswered, (Read, Reading(None))])[0].answer(QUESTION)
    assert answer.abstained
    assert [hop.verdict for hop in answer.trail] == [Verdict.UNANSWERED]
    assert not answer.evidence


def test_least_confidence_turns_a_guess_into_an_abstention(corpus: Corpus) -> None:
    replies: Script = [(Read, reading(3, confidence=0.2)), (Read, reading(3, confidence=0.1))]
    guess = trail(corpus, replies, chain=NO_CHAIN, least_confidence=0.0)[0].answer(QUESTION)
    assert guess.text == "the Grey Hills"
    answer = trail(corpus, replies, chain=NO_CHAIN, least_confidence=0.3)[0].answer(QUESTION)
    assert answer.abstained
    assert answer.confidence == pytest.approx(0.2)  # of what was held back
    assert answer.trail.hops[-1].answer is None
    assert answer.guess is not None
    assert (answer.guess.text, round(answer.guess.confidence, 4)) == ("the Grey Hills", 0.2)
    assert answer.guess.evidence == tuple(
        replace(one, hop=0) for one in guess.evidence if one.hop == len(guess.trail) - 1
    )


@pytest.mark.parametrize(("confidence", "guessed"), [(0.14, None), (0.16, "the Grey Hills")])
def test_what_the_language_withholds_is_a_guess_if_it_is_likely_enough(
    corpus: Corpus, confidence: float, guessed: str | None
) -> None:
    cited = trail(corpus, [(Read, reading(3))], chain=NO_CHAIN)[0].answer(QUESTION).evidence[-1]
    step = Step(QUESTION, "the Grey Hills", (Span(cited.document, cited.start, cited.end),))
    withheld = Reading(None, confidence=confidence, withheld=step)
    answer = trail(corpus, [(Read, withheld), (Read, withheld)], chain=NO_CHAIN)[0].answer(QUESTION)
    assert answer.abstained
    assert (answer.guess and answer.guess.text) == guessed
    assert [item.text for item in (answer.guess.evidence if answer.guess else ())] == [cited.text] * (
        guessed is not None
    )


@pytest.mark.parametrize("fails", range(4))
def test_a_task_that_fails_costs_its_stage_only(corpus: Corpus, fails: int) -> None:
    stages: list[Script] = [
        [(Read, reading(3, confidence=0.4))],
        [(Decompose, Decomposition((ASKED[3],))), (Read, reading(3)), (Decompose, Decomposition(()))],
        [(Integrate, Reading("the Grey Hills", confidence=0.4))],
        [(Read, reading(3, confidence=0.4))],
    ]
    broken = (stages[fails][0][0], Failure("down"))
    if fails == 1:
        stages[1:3] = [[broken], []]
    else:
        stages[fails] = [broken]
    answer = trail(corpus, [reply for stage in stages for reply in stage], sure=1.0)[0].answer(QUESTION)
    assert answer.text == "the Grey Hills"
    check_answer(answer, corpus)


@pytest.mark.parametrize("fails", [0, 1])
def test_an_abstention_tells_of_a_task_that_failed_in_any_stage(corpus: Corpus, fails: int) -> None:
    replies: Script = [(Read, Reading(None)), (Read, Reading(None))]
    replies[fails] = (Read, Failure("down"))
    answer = trail(corpus, replies, chain=NO_CHAIN)[0].answer(QUESTION)
    assert answer.failed
    assert [hop.verdict for hop in answer.trail] == [[Verdict.FAILED], [Verdict.UNANSWERED, Verdict.FAILED]][fails]
    replies[fails], replies[1 - fails] = (Read, Failure("down")), (Read, reading(3))
    answer = trail(corpus, replies, chain=NO_CHAIN, sure=1.0)[0].answer(QUESTION)
    assert not answer.failed
    assert Verdict.FAILED not in [hop.verdict for hop in answer.trail]


@pytest.mark.parametrize(
    ("tasks", "spent"),
    [(1, [Read]), (2, [Read, Read]), (5, [Read, Read]), (6, [Read, Decompose, Read, Integrate, Read])],
)
def test_a_limit_leaves_out_stages_and_hops_but_answers(
    corpus: Corpus, tasks: int, spent: list[type[Task[Any]]]
) -> None:
    unsure = reading(3, confidence=0.1)
    replies: dict[type[Task[Any]], Output] = {
        Read: unsure,
        Decompose: Decomposition((ASKED[3],)),
        Integrate: Reading("90 km", confidence=0.05),
    }
    recipe, asked = trail(corpus, [(task, replies[task]) for task in spent], tasks=tasks, least_confidence=0.0)
    assert recipe.answer(QUESTION).text == "the Grey Hills"
    assert [type(task) for task in asked] == spent
    assert len(asked) <= tasks


@pytest.mark.parametrize("limit", range(6, 24))
@pytest.mark.parametrize("verify", [False, True])
def test_never_more_tasks_than_the_limit(corpus: Corpus, limit: int, *, verify: bool) -> None:
    """Also where every hop is tried twice, and held against its evidence: what is still to come is kept free."""

    class Unsure:
        name = "unsure"

        def __init__(self) -> None:
            self.tasks: list[Task[Any]] = []

        def perform(self, task: Task[Any]) -> Reply[Any]:
            self.tasks.append(task)
            match task:
                case Decompose(findings=findings):
                    return Reply(Decomposition((f"Who was the {len(findings)}th?",)), Usage())
                case Complete(question=question):
                    return Reply(question, Usage())
                case Read():
                    again = len(self.tasks) % 2 == 0
                    return Reply(Reading("Orla Finch" if again else None, confidence=0.2), Usage())
                case Verify():
                    return Reply(0.6, Usage())
                case _:
                    return Reply(Reading(None), Usage())

    language = Unsure()
    settings = TrailSettings(tasks=limit, chain=ChainSettings(verify=verify, most_hops=6))
    TrailRecipe(corpus, language, settings).answer(QUESTION)
    assert len(language.tasks) <= limit


def test_the_same_text_read_twice_is_one_opinion(corpus: Corpus) -> None:
    """Where the first reading had all that is found, reading it again would only make a doubtful answer look surer."""
    replies: Script = [(Read, reading(3, confidence=0.35))]
    recipe, tasks = trail(corpus, replies, k=4, first_read=4, chain=NO_CHAIN, sure=0.5, least_confidence=0.1)
    assert recipe.answer(QUESTION).confidence == pytest.approx(0.35)
    assert len(tasks) == 1
    unsure: Script = [(Read, Reading("Bob", confidence=0.35))]
    cramped = trail(corpus, unsure, evidence_tokens=1, chain=NO_CHAIN, least_confidence=0.1)[0]
    assert cramped.answer(QUESTION).confidence == pytest.approx(0.35), "more is found, but no more fits"


def test_tokens_spent_end_it(corpus: Corpus) -> None:
    listening = RecordingLanguage(ScriptedLanguage([ScriptedReply(reading(3, confidence=0.1), Read, prompt_tokens=10)]))
    answer = TrailRecipe(corpus, listening, TrailSettings(tokens=10, least_confidence=0.0)).answer(QUESTION)
    assert (answer.text, len(listening.tasks)) == ("the Grey Hills", 1)


def hops(*readings: Output) -> Script:
    """The first hops of a chain, each with what it reads, and that nothing is left to ask."""
    replies: Script = []
    for number, reading in enumerate(readings):
        replies.append((Decompose, Decomposition((ASKED[number],))))
        replies.append((Read, reading))
    return [*replies, (Decompose, Decomposition(()))]


NOTHING = (Read, Reading(None))
ALONE: dict[str, Any] = {"wide": False, "least_confidence": 0.0}


def test_a_chain_is_no_surer_than_its_least_sure_hop(corpus: Corpus) -> None:
    conclusion = (Integrate, Reading("the Grey Hills", confidence=0.9))
    replies = [NOTHING, *hops(reading(0, 0.8), reading(1, 0.2)), conclusion]
    answer = trail(corpus, replies, **ALONE)[0].answer(QUESTION)
    assert answer.text == "the Grey Hills"
    assert answer.confidence == pytest.approx(0.2)
    held_back = trail(corpus, replies, wide=False, least_confidence=0.3)[0].answer(QUESTION)
    assert held_back.abstained
    assert held_back.confidence == pytest.approx(0.2)


def test_a_chain_with_a_hop_that_nothing_answers_has_no_say(corpus: Corpus) -> None:
    replies = [NOTHING, *hops(reading(0), Reading(None))[:-1]]
    recipe, tasks = trail(corpus, replies, chain=ChainSettings(rethink=0), **ALONE)
    answer = recipe.answer(QUESTION)
    assert answer.abstained
    assert len(tasks) == len(replies)  # nothing more is asked, nor concluded from half a chain
    assert [hop.verdict for hop in answer.trail] == [Verdict.ANSWERED, Verdict.UNANSWERED]


def test_a_hop_without_an_answer_is_tried_once_more_with_further_passages(corpus: Corpus) -> None:
    chain = ChainSettings(path_read=1, search=1)
    replies: Script = [NOTHING, (Decompose, Decomposition((ASKED[1],))), NOTHING, (Read, reading(3))]
    replies += [(Decompose, Decomposition(())), (Integrate, Reading("the Grey Hills", confidence=1.0))]
    recipe, tasks = trail(corpus, replies, chain=chain, **ALONE)
    answer = recipe.answer(QUESTION)
    first, further = [task for task in tasks if isinstance(task, Read)][1:]
    assert {unit.id for unit in first.evidence}.isdisjoint(unit.id for unit in further.evidence)
    assert 0 < len(further.evidence) <= chain.rethink
    assert [hit.unit.id for hit in answer.trail.hops[0].hits] == [
        unit.id for unit in (*first.evidence, *further.evidence)
    ]
    check_answer(answer, corpus)


def test_an_answer_in_doubt_is_held_against_its_evidence(corpus: Corpus) -> None:
    chain = ChainSettings(verify=True, rethink=0)
    borne = [NOTHING, *hops(reading(0, 0.9))[:-1], (Decompose, Decomposition((ASKED[1],)))]
    for verdict, expected in ((0.6, Verdict.ANSWERED), (0.4, Verdict.UNANSWERED)):
        replies: Script = [*borne, (Read, reading(1, 0.3)), (Verify, verdict)]
        if expected is Verdict.ANSWERED:
            replies += [(Decompose, Decomposition(())), (Integrate, Reading("the Isk", confidence=1.0))]
        recipe, tasks = trail(corpus, replies, chain=chain, **ALONE)
        answer = recipe.answer(QUESTION)
        assert answer.trail.hops[1].verdict is expected
        assert len(tasks) == len(replies)  # what is sure is not held against anything
        verify = next(task for task in tasks if isinstance(task, Verify))
        assert (verify.question, verify.answer) == (ASKED[1], SAID[1][0])


def test_an_unsupported_answer_is_looked_into_and_neither_given_nor_guessed(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that is sure of a river that no passage names, cites a sentence for it, and has nothing else to ask."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    quote = "The river Isk flows through Wrenmouth."
    step = {"question": QUESTION, "evidence": [1], "quote": quote, "answer": "the Thames"}
    brain = by_task(
        {
            "answer": {"steps": [step], "answer": "the Thames", "confidence": "high"},
            "decompose_next": {"missing": "nothing", "questions": []},
        }
    )
    with serving(FakeAI(brain)) as fake:
        answer = TrailRecipe(corpus, open_language("chat", context_at(fake, tmp_path))).answer(QUESTION)
        asked = [task_of(entry.body) for entry in fake.log]
    shown = answer.trail.hops[-1]
    assert (answer.text, answer.guess, shown.answer, shown.verdict) == (None, None, None, Verdict.UNANSWERED)
    assert answer.confidence is not None
    assert answer.confidence < 0.5
    assert "decompose_next" in asked, "it is not believed, as a supported answer of that confidence would be"


def test_a_conclusion_is_checked_by_one_from_the_answers_alone(corpus: Corpus) -> None:
    replies = [NOTHING, *hops(reading(0, 0.4)), (Integrate, Reading("the Isk", confidence=0.9))]
    replies += [(Integrate, Reading("the Isk", confidence=0.9))]
    recipe, tasks = trail(corpus, replies, chain=ChainSettings(conclude="both"), **ALONE)
    answer = recipe.answer(QUESTION)
    assert answer.confidence == pytest.approx(0.4)
    evidence = [task.evidence for task in tasks if isinstance(task, Integrate)]
    assert evidence[0]
    assert not evidence[1]


def test_stages_that_agree_are_as_sure_as_the_surest() -> None:
    opinions = [
        Opinion(Reading("the Isk", confidence=0.4), []),
        Opinion(Reading("Isk", confidence=0.5), []),
        Opinion(Reading("90 km", confidence=0.6), []),
        Opinion(Reading(None), []),
    ]
    assert combined_confidence(opinions[0], opinions) == pytest.approx(0.5)
    assert combined_confidence(opinions[2], opinions) == pytest.approx(0.6)
    assert combined_confidence(opinions[3], opinions) == 0


@pytest.mark.parametrize(
    "settings", [{"k": 0}, {"sure": 1.1}, {"tasks": -1}, {"least_confidence": -0.1}, {"first_read": 0}]
)
def test_impossible_settings_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"at least|lie between"):
        TrailSettings(**settings)


@pytest.mark.parametrize("settings", [{"most_hops": -1}, {"path_read": 0}, {"rethink": -1}, {"doubt": 1.5}])
def test_impossible_settings_of_the_chain_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"at least|lie between"):
        ChainSettings(**settings)


def test_a_pronoun_is_rewritten_before_anything_is_searched(corpus: Corpus) -> None:
    """The hop shows the sub-question as it was put and as it was asked; nothing is read for "she"."""
    put = "Where was she born?"
    replies = chain(Reading("the Grey Hills", confidence=0.9))
    replies[2:3] = [(Decompose, Decomposition((put,))), (Complete, ASKED[1])]
    recipe, tasks = trail(corpus, [(Read, Reading(None)), *replies])
    hop = recipe.answer(QUESTION).trail.hops[1]
    assert (hop.question, hop.asked, hop.verdict) == (put, ASKED[1], Verdict.ANSWERED)
    assert put not in [task.question for task in tasks if isinstance(task, Read)]


def test_a_pronoun_that_cannot_be_rewritten_fails_its_hop_openly(corpus: Corpus) -> None:
    put = "Where was she born?"
    replies: Script = [
        *chain(Reading(None))[:2],
        (Decompose, Decomposition((put,))),
        (Complete, Failure("no name to put")),
    ]
    recipe, tasks = trail(corpus, [(Read, Reading(None)), *replies, (Read, Reading(None))])
    answer = recipe.answer(QUESTION)
    assert answer.abstained
    assert [hop.verdict for hop in answer.trail][:2] == [Verdict.ANSWERED, Verdict.FAILED]
    assert answer.trail.hops[0].answer == "Orla Finch"
    assert put not in [task.question for task in tasks if isinstance(task, Read)]
