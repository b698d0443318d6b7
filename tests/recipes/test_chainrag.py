"""ChainRAG past its second hop: scripted trails whose every retrieval is looked at."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fakeai.brains import task_of
from fakeai.clients import context_at
from fakeai.server import Body, FakeAI, serving
from hoptrail.errors import UsageError
from hoptrail.language.factory import open_language
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.scripted import Failure, Output, QuotedReading, QuotedStep
from hoptrail.language.tasks import (
    Abstain,
    Assess,
    Complete,
    Decompose,
    Decomposition,
    Integrate,
    Read,
    Reading,
    Summarise,
    Task,
)
from hoptrail.models.prompt_text import estimated_tokens
from hoptrail.recipes.answering import CARRIED
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.units.unit_search import dense_search
from hoptrail.types import Kind, Verdict
from hoptrail_papers.chainrag.chainrag import Chainrag, ChainragSettings, SentenceSearchSettings
from recipes.chain_world import (
    BORN,
    DESIGNED,
    FLOWS,
    GOLDEN,
    OWNER,
    QUESTION,
    RISES,
    SUB_QUESTIONS,
    Script,
    build,
    chainrag,
    check_answer,
    reading,
    tasks_of,
    texts,
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return build(tmp_path_factory.mktemp("graph"))


def test_the_golden_trail_of_four_hops(corpus: Corpus) -> None:
    recipe = chainrag(corpus, GOLDEN)
    answer = recipe.answer(QUESTION)
    assert answer.text == "the Grey Hills"
    assert [(hop.question, hop.asked, hop.answer, hop.verdict) for hop in answer.trail] == [
        (SUB_QUESTIONS.questions[0], "Who designed the Tallow Bridge ?", "Orla Finch", Verdict.ANSWERED),
        (SUB_QUESTIONS.questions[1], "Where was Orla Finch born ?", "Wrenmouth", Verdict.ANSWERED),
        (SUB_QUESTIONS.questions[2], "Which river flows through Wrenmouth ?", "the Isk", Verdict.ANSWERED),
        (SUB_QUESTIONS.questions[3], "Where does the Isk rise ?", "the Grey Hills", Verdict.ANSWERED),
    ]
    assert [(item.hop, item.title, item.text) for item in answer.evidence] == [
        (0, "Orla Finch", DESIGNED),
        (1, "Orla Finch", BORN),
        (2, "Wrenmouth", FLOWS),
        (3, "Isk", RISES),
    ]
    check_answer(answer, corpus)
    assert answer.usage.calls == len(GOLDEN) == len(tasks_of(recipe))
    assert answer.ranking == chainrag(corpus, GOLDEN).retrieve(QUESTION)


def test_every_retrieval_is_for_what_was_really_asked(corpus: Corpus) -> None:
    hops = chainrag(corpus, GOLDEN).answer(QUESTION).trail.hops
    for hop in hops:
        nearest = [hit.unit.id for hit in dense_search(corpus, hop.asked, 2, (Kind.SENTENCE,))]
        assert set(nearest) <= {hit.unit.id for hit in hop.hits}
    assert BORN in texts(hops[1])
    assert FLOWS in texts(hops[2])
    assert len(hops[2].hits) == 2
    assert len(hops[3].hits) > 2, "the last hop was not settled at once"


def test_the_conclusion_is_drawn_from_completed_sub_questions(corpus: Corpus) -> None:
    recipe = chainrag(corpus, GOLDEN, ChainragSettings(integration="answers"))
    recipe.answer(QUESTION)
    concluding = tasks_of(recipe)[-1]
    assert isinstance(concluding, Integrate)
    assert concluding.evidence == ()
    assert [finding.asked for finding in concluding.findings][1] == "Where was Orla Finch born ?"


def two_hops(*replies: tuple[type[Task[Any]], Output], second: str = SUB_QUESTIONS.questions[1]) -> Script:
    """The first hop settled and answered, then what a test says."""
    first = (Decompose, Decomposition((SUB_QUESTIONS.questions[0], second)))
    return [first, *GOLDEN[1:3], *replies]


def test_without_completion_the_trail_is_lost_and_with_it_kept(corpus: Corpus) -> None:
    for completion, kept in (("off", False), ("rules", True)):
        script = two_hops((Assess, 1.0), (Read, Reading(None)), (Integrate, Reading(None)))
        settings = ChainragSettings(completion=completion)  # type: ignore[arg-type]
        hop = chainrag(corpus, script, settings).answer(QUESTION).trail.hops[1]
        assert (BORN in texts(hop)) is kept
        assert hop.asked == ("Where was Orla Finch born ?" if kept else SUB_QUESTIONS.questions[1])


@pytest.mark.parametrize("completed", ["Where was the designer of the bridge born ?", "Where was Jonas Pell born ?"])
def test_a_completion_that_adds_no_answer_is_not_taken(corpus: Corpus, completed: str) -> None:
    script = two_hops((Complete, completed), (Assess, 1.0), (Read, Reading(None)), (Integrate, Reading(None)))
    answer = chainrag(corpus, script).answer(QUESTION)
    assert answer.trail.hops[1].asked == SUB_QUESTIONS.questions[1]
    assert answer.trail.hops[1].verdict is Verdict.UNANSWERED


def test_a_completion_that_loses_a_name_is_not_taken(corpus: Corpus) -> None:
    asked = "Did this designer work in Dunmere ?"
    script = two_hops(
        (Complete, "Did Orla Finch work ?"),
        (Assess, 1.0),
        (Read, Reading("yes")),
        (Integrate, Reading("yes")),
        second=asked,
    )
    assert chainrag(corpus, script).answer(QUESTION).trail.hops[1].asked == asked


def test_a_sub_question_that_stands_alone_is_not_rewritten(corpus: Corpus) -> None:
    alone = "Where does the Arrow flow ?"
    script = two_hops((Assess, 1.0), (Read, Reading(None)), (Integrate, Reading("Orla Finch")), second=alone)
    recipe = chainrag(corpus, script)
    assert recipe.answer(QUESTION).trail.hops[1].asked == alone
    assert not any(isinstance(task, Complete) for task in tasks_of(recipe))


SUMMARY = "Orla Finch designed the bridge, it seems."
UNANSWERED: Script = [
    (Decompose, Decomposition((SUB_QUESTIONS.questions[0], "Where was Orla Finch born ?"))),
    (Assess, 1.0),
    (Read, Reading(None)),
    (Summarise, SUMMARY),
    (Assess, 1.0),
    (Read, reading("Wrenmouth", BORN)),
    (Integrate, Reading("Wrenmouth")),
]


def test_what_was_found_for_an_unanswered_sub_question_goes_on_in_short(corpus: Corpus) -> None:
    recipe = chainrag(corpus, UNANSWERED)
    answer = recipe.answer(QUESTION)
    first, second = answer.trail.hops
    assert first.verdict is Verdict.UNANSWERED
    assert second.hits[-1].channel == CARRIED
    assert second.hits[-1].unit.text == SUMMARY
    assert set(second.hits[-1].unit.sources) == {span for hit in first.hits for span in hit.unit.sources}
    task = tasks_of(recipe)[5]
    assert isinstance(task, Read)
    assert task.evidence[-1].text == SUMMARY
    assert all(hit.unit.kind is Kind.SENTENCE for hit in answer.ranking)


def test_an_answer_from_the_summary_is_cited_to_what_was_summarised(corpus: Corpus) -> None:
    script: Script = [*UNANSWERED[:5], (Read, reading("Orla Finch", SUMMARY)), (Integrate, Reading("Orla Finch"))]
    answer = chainrag(corpus, script).answer(QUESTION)
    check_answer(answer, corpus)
    assert [item.kind for item in answer.evidence] == [Kind.SUMMARY]


@pytest.mark.parametrize("summary", [[(Summarise, Failure("cut off"))], [(Summarise, "  ")], []])
def test_without_a_summary_the_next_hop_goes_on(corpus: Corpus, summary: Script) -> None:
    settings = ChainragSettings(carried_words=80 if summary else 0)
    answer = chainrag(corpus, [*UNANSWERED[:3], *summary, *UNANSWERED[4:]], settings).answer(QUESTION)
    assert answer.text == "Wrenmouth"
    assert all(hit.channel != CARRIED for hop in answer.trail for hit in hop.hits)


def test_a_summary_has_its_room_where_the_evidence_is_full(corpus: Corpus) -> None:
    script = [step for step in UNANSWERED if step[0] is not Assess]
    for budget in (20, 60):
        recipe = chainrag(corpus, script, ChainragSettings(evidence_tokens=budget), context_k=9, expansions=0)
        answer = recipe.answer(QUESTION)
        readings = [task for task in tasks_of(recipe) if isinstance(task, Read)]
        assert readings[1].evidence[-1].text == SUMMARY
    hits = {hit.unit.sources[0]: estimated_tokens(hit.unit.searchable) for hop in answer.trail for hit in hop.hits}
    told = [hits[span] for unit in readings[1].evidence[:-1] for span in unit.sources]
    summary = estimated_tokens(readings[1].evidence[-1].searchable)
    assert len(told) > 1
    assert sum(told) + summary <= 60 < sum(hits.values()), "within the budget, which is full"


def test_contexts_are_merged_uncut_in_the_papers_settings(corpus: Corpus) -> None:
    """Each sub-question's evidence is as long as it may be; all of it together is not cut to that."""
    preset = Chainrag.presets["contexts"]
    assert preset.context_tokens >= preset.sub_questions * preset.evidence_tokens, "room for every sub-question's"
    settings = replace(preset, evidence_tokens=40)
    recipe = chainrag(corpus, GOLDEN, settings)
    answer = recipe.answer(QUESTION)
    concluding = tasks_of(recipe)[-1]
    assert isinstance(concluding, Integrate)
    handed = {span for unit in concluding.evidence for span in unit.sources}
    assert handed == {hit.unit.sources[0] for hop in answer.trail for hit in hop.hits}
    assert sum(estimated_tokens(unit.searchable) for unit in concluding.evidence) > settings.evidence_tokens


def test_without_completion_a_name_is_lost_as_people_lose_it(corpus: Corpus) -> None:
    numbered = Decomposition(("Who designed the Tallow Bridge ?", "Where was #1 born ?"))
    hop: Script = [(Assess, 1.0), (Read, Reading(None))]
    script: Script = [(Decompose, numbered), *hop, *hop]
    settings = replace(Chainrag.presets["no-completion"], carried_words=0, abstain=Abstain.ALWAYS)
    answer = chainrag(corpus, script, settings).answer(QUESTION)
    assert [hop.asked for hop in answer.trail] == ["Who designed the Tallow Bridge ?", "Where was this person born ?"]


NUMBERED = Decomposition(("Who designed the Tallow Bridge ?", "Where was #1 born ?"))


@pytest.mark.parametrize("completion", ["language", "rules"])
def test_a_number_without_an_answer_is_neither_searched_for_nor_read(corpus: Corpus, completion: Any) -> None:
    unanswered: Script = [(Assess, 1.0), (Read, Reading(None))]
    script: Script = [
        (Decompose, NUMBERED),
        *unanswered,
        (Assess, 1.0),
        (Read, Reading("Wrenmouth")),
        (Integrate, Reading("x")),
    ]
    recipe = chainrag(corpus, script, ChainragSettings(completion=completion, carried_words=0))
    answer = recipe.answer(QUESTION)
    assert [hop.asked for hop in answer.trail][1] == "Where was this person born ?"
    asked = [getattr(task, "question", "") for task in tasks_of(recipe)[1:]]
    shown = [finding.asked for task in tasks_of(recipe) for finding in getattr(task, "findings", ())]
    assert len(shown) == 2
    assert not any("#" in text for text in (*asked, *shown))


def test_a_model_rewrites_every_sub_question_that_refers_back(corpus: Corpus, tmp_path: Path) -> None:
    """By the paper's settings and a server that counts: a call each, and what it was told is asked."""
    parts = [*NUMBERED.questions, "Which river flows through #2 ?", "Where does the Isk rise ?"]
    rewritten = {"Where": "Where was Orla Finch born ?", "Which": "Which river flows through Wrenmouth ?"}

    def model(body: Body) -> str:
        task, given = task_of(body), body["messages"][1]["content"]
        rewriting = given.rpartition("Question to rewrite: ")[2]
        said = {
            "decompose": {"questions": parts},
            "complete": {"question": next((new for word, new in rewritten.items() if rewriting.startswith(word)), "")},
            "assess": {"enough": "yes"},
            "integrate": {"answer": "the Grey Hills"},
        }
        answers = ("Orla Finch", "Wrenmouth", "the Isk", "the Grey Hills")
        asked = zip((parts[0], *rewritten.values(), parts[3]), answers, strict=True)
        read = {"answer": next((answer for question, answer in asked if question in given), None)}
        return json.dumps(said.get(task, read))

    with serving(FakeAI(model)) as fake:
        recipe = Chainrag(corpus, open_language("chat", context_at(fake, tmp_path)), Chainrag.presets["paper"])
        answer = recipe.answer(QUESTION)
        tasks = [task_of(asked.body) for asked in fake.log]
    assert answer.text == "the Grey Hills"
    assert [hop.asked for hop in answer.trail] == [parts[0], *rewritten.values(), parts[3]]
    assert tasks.count("complete") == 2
    assert answer.usage.calls == len(tasks) == fake.bill.calls
    for asked in fake.log[1:]:
        assert not any(f"{word} #" in asked.prompt for word in ("was", "through"))
    effort = recipe.settings.effort
    assert effort.readings[0] + effort.plans[0] <= len(tasks) <= effort.readings[1] + effort.plans[1] + effort.others[1]


def test_contexts_and_both_hand_over_what_all_hops_found(corpus: Corpus) -> None:
    for integration, findings in (("contexts", 0), ("both", 4)):
        recipe = chainrag(corpus, GOLDEN, ChainragSettings(integration=integration))  # type: ignore[arg-type]
        answer = recipe.answer(QUESTION)
        concluding = tasks_of(recipe)[-1]
        assert isinstance(concluding, Integrate)
        assert len(concluding.findings) == findings
        handed = [span for unit in concluding.evidence for span in unit.sources]
        assert sorted(handed) == sorted(hit.unit.sources[0] for hit in answer.ranking)
        assert len(answer.trail) == 4


def test_sentences_of_a_document_are_read_as_one_piece_in_their_order(corpus: Corpus) -> None:
    recipe = chainrag(corpus, [(Read, Reading(None))], ChainragSettings(decompose=False), expansions=0, context_k=9)
    hits = recipe.retrieve("Where does the Isk rise and how many km long is it ?")
    (task,) = tasks_of(recipe)
    assert isinstance(task, Read)
    piece = next(unit for unit in task.evidence if unit.title == "Isk")
    assert piece.text.splitlines() == ["The Isk is a river.", RISES]
    assert [span.start for span in piece.sources] == [0, 20]
    assert [unit.title for unit in task.evidence] == list(dict.fromkeys(hit.unit.title for hit in hits))


def test_what_only_the_contexts_told_is_a_hop_of_its_own(corpus: Corpus) -> None:
    script = two_hops(
        (Complete, "Where was Orla Finch born ?"),
        (Assess, 1.0),
        (Read, Reading(None)),
        (Integrate, reading("in Wrenmouth", BORN)),
    )
    answer = chainrag(corpus, script, ChainragSettings(integration="both")).answer(QUESTION)
    last = answer.trail.hops[-1]
    assert (answer.text, last.question, last.answer) == ("in Wrenmouth", QUESTION, "in Wrenmouth")
    assert [(item.hop, item.text) for item in answer.evidence][-1] == (2, BORN)
    check_answer(answer, corpus)


def test_no_answer_at_all_is_an_abstention_without_concluding(corpus: Corpus) -> None:
    script: Script = [*UNANSWERED[:5], (Read, Reading(None))]
    recipe = chainrag(corpus, script, ChainragSettings(integration="answers"))
    assert recipe.answer(QUESTION).abstained
    assert len(tasks_of(recipe)) == len(script)


@pytest.mark.parametrize("place", [0, 1, 2, 3, 4, 5, 13])
def test_a_failing_task_costs_its_hop_only(corpus: Corpus, place: int) -> None:
    rest: Script = [] if place in {0, 13} else [(Assess, 1.0), (Read, Reading(None))] * 4
    answer = chainrag(corpus, [*GOLDEN[:place], (GOLDEN[place][0], Failure("overloaded")), *rest]).answer(QUESTION)
    assert answer.abstained
    verdicts = [hop.verdict for hop in answer.trail]
    assert Verdict.FAILED in verdicts
    assert len(verdicts) == (1 if place == 0 else 5)  # the last says that concluding failed
    check_answer(answer, corpus)


def test_evidence_that_cannot_be_judged_is_read(corpus: Corpus) -> None:
    script: Script = [(Decompose, Decomposition(())), (Assess, Failure("overloaded")), (Read, Reading("Jonas Pell"))]
    answer = chainrag(corpus, script).answer(OWNER)
    assert answer.text == "Jonas Pell"
    assert answer.ranking


def test_a_citation_of_what_was_not_handed_over_fails_the_hop(corpus: Corpus) -> None:
    elsewhere = next(unit for unit in corpus.snapshot.units(Kind.SENTENCE) if unit.text == RISES)
    invented = QuotedReading("x", (QuotedStep("", "x", elsewhere.sources),))
    script: Script = [(Assess, 1.0), (Read, invented)]
    answer = chainrag(corpus, script, ChainragSettings(decompose=False)).answer(OWNER)
    assert [hop.verdict for hop in answer.trail] == [Verdict.FAILED]
    assert answer.evidence == ()


def test_at_most_so_many_sub_questions_are_asked(corpus: Corpus) -> None:
    script: Script = [*GOLDEN[:6], (Integrate, Reading("Wrenmouth"))]
    assert len(chainrag(corpus, script, ChainragSettings(sub_questions=2)).answer(QUESTION).trail) == 2


def test_a_question_that_stays_whole_is_answered_by_its_one_hop(corpus: Corpus) -> None:
    for parts in ((), (OWNER,), ("Something else ?",)):
        script: Script = [(Decompose, Decomposition(parts)), (Assess, 1.0), (Read, Reading("Jonas Pell"))]
        answer = chainrag(corpus, script, ChainragSettings(integration="both")).answer(OWNER)
        assert [(hop.question, hop.answer) for hop in answer.trail] == [(OWNER, "Jonas Pell")]


def test_what_must_be_built_follows_the_settings() -> None:
    def needed(**search: Any) -> set[str]:
        return set(ChainragSettings(search=SentenceSearchSettings(**search)).structures)

    assert needed() == {"sentence-graph"}
    assert needed(expansions=0) == needed(links=()) == {"sentences"}
    assert needed(per_question=True) == {"sentences", "extractions"}


def test_presets_put_together_from_what_their_names_say() -> None:
    """The paper's main figures, and those of its ablations, are AnsInt."""
    others = {"contexts": "contexts", "both": "both"}
    for name, settings in Chainrag.presets.items():
        assert settings.integration == others.get(name, "answers"), name


def test_a_reranker_that_there_is_not_is_refused(corpus: Corpus) -> None:
    recipe = Chainrag(corpus, OfflineLanguage(), ChainragSettings(search=SentenceSearchSettings(reranker="x")))
    with pytest.raises(UsageError, match="no reranker 'x'"):
        recipe.answer(QUESTION)


@pytest.mark.parametrize(
    "wrong",
    [{"k": 0}, {"sub_questions": 0}, {"evidence_tokens": 0}, {"carried_words": -1}, {"sufficiency": 1.5}],
)
def test_impossible_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"at least|between 0 and 1"):
        ChainragSettings(**wrong)
