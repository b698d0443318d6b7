"""Rethinking, attempt by attempt: which chunk of which page is read, when another engine or memory is asked, what is cited."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from hoptrail.errors import TaskFailed, UsageError
from hoptrail.language.listener import Meter
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.scripted import Failure, Output, ScriptedLanguage
from hoptrail.language.tasks import Clarify, Decompose, Decomposition, Read, Reading, Recall, Step, Task, Verify
from hoptrail.recipes.answering import MEMORY, ONLINE
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.units.unit_search import hybrid_search
from hoptrail.types import Kind, Span, Verdict
from hoptrail_papers.hirag.hierarchy import HierarchySettings
from hoptrail_papers.hirag.hirag import Hirag, HiragSettings
from hoptrail_papers.hirag.rethinking import (
    FALLBACK,
    Rethinking,
    RethinkSettings,
    SubQuestion,
    memory_draws,
)
from hoptrail_papers.hirag.web_search import WebSearchSettings
from recipes.chain_world import Script, check_answer, reading
from recipes.hirag_world import (
    FLOWS,
    NOTHING,
    OWNER,
    OWNS,
    accepted,
    build,
    count,
    hirag,
    passages_of,
    reads_of,
    unused_replies,
)
from search_server import WIKI, serving

ALONE = HiragSettings(decompose=False)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return build(tmp_path_factory.mktemp("pages"))


def test_the_first_chunk_fails_and_the_second_answers(corpus: Corpus) -> None:
    recipe = hirag(corpus, [NOTHING, *accepted("Jonas Pell", OWNS)], ALONE)
    # The best chunk by words is the one that names the mill; the script says that it does not answer.
    answer = recipe.answer("Who owns the Kestrel Mill, this mill that grinds barley all year?")
    first, second = reads_of(recipe)
    assert [unit.text for unit in first] == ["The Kestrel Mill grinds barley all year."]
    assert [unit.text for unit in second] == [OWNS]
    assert answer.text == "Jonas Pell"
    (hop,) = answer.trail
    assert [hit.unit.text for hit in hop.hits[:2]] == [OWNS, first[0].text], "what settled it stands first"
    assert [item.text for item in answer.evidence] == [OWNS]
    check_answer(answer, corpus)
    assert unused_replies(recipe) == 0


def test_the_first_page_fails_and_the_second_answers(corpus: Corpus) -> None:
    """Three chunks of the better page are tried, then the next page by title and search."""
    script: Script = [NOTHING, NOTHING, NOTHING, (Read, Reading("Ida Voss")), (Verify, 1.0)]
    recipe = hirag(corpus, script, ALONE, fallback="none")
    answer = recipe.answer("Who owns the Kestrel Mill or the Harrow Mill?")
    titles = [evidence[0].title for evidence in reads_of(recipe)]
    second = titles[-1]
    assert set(titles) == {"Kestrel Mill", "Harrow Mill"}
    assert titles == sorted(titles, key=second.__eq__), "a page is done with before the next one"
    assert len(set(reads_of(recipe))) == 4
    assert answer.text == "Ida Voss"
    assert answer.trail.hops[0].hits[0].unit == reads_of(recipe)[3][0]


def test_an_answer_that_does_not_hold_is_thought_about_again(corpus: Corpus) -> None:
    rejected: Script = [(Read, Reading("a heron")), (Verify, 0.4)]
    recipe = hirag(corpus, [*rejected, (Read, Reading("Jonas Pell")), (Verify, 0.5)], ALONE, acceptance=0.5)
    assert recipe.answer(OWNER).text == "Jonas Pell"
    asked = [task for task in recipe.language.tasks if isinstance(task, Verify)]  # type: ignore[attr-defined]
    assert [(task.answer, len(task.evidence)) for task in asked] == [("a heron", 1), ("Jonas Pell", 1)]


@pytest.mark.parametrize("attempts", [1, 2, 3, 4])
def test_attempts_never_exceed_their_limit(corpus: Corpus, attempts: int) -> None:
    recipe = hirag(corpus, [NOTHING] * 9, ALONE, fallback="none", attempts=attempts)
    (hop,) = recipe.answer(OWNER).trail
    assert count(recipe, Read) == attempts
    assert hop.verdict is Verdict.UNANSWERED
    assert len(set(reads_of(recipe))) == attempts, "nothing is read twice"


@pytest.mark.parametrize(
    ("chunks", "pages", "reads", "distinct"),
    [(True, True, 4, 2), (False, True, 4, 4), (True, False, 4, 1), (False, False, 1, 1)],
)
def test_each_level_of_rethinking_can_be_off(
    corpus: Corpus,
    chunks: bool,
    pages: bool,
    reads: int,
    distinct: int,
) -> None:
    recipe = hirag(corpus, [NOTHING] * 9, ALONE, fallback="none", chunk_rethink=chunks, page_rethink=pages)
    recipe.answer(OWNER)
    assert len(reads_of(recipe)) == reads
    assert len({unit.title for (unit,) in reads_of(recipe)}) == distinct
    assert reads_of(recipe)[0][0].title == "Kestrel Mill"


def test_when_all_attempts_fail_the_corpus_is_searched_as_a_whole(corpus: Corpus) -> None:
    recipe = hirag(corpus, [*[NOTHING] * 4, *accepted("Jonas Pell", OWNS)], ALONE, fallback_k=5)
    answer = recipe.answer(OWNER)
    expected = hybrid_search(corpus, OWNER, 5)
    assert reads_of(recipe)[4] == tuple(hit.unit for hit in expected)
    assert {hit.channel for hit in answer.trail.hops[0].hits[:5]} == {FALLBACK}
    assert answer.trail.hops[0].hits[0].unit.text == OWNS
    assert [item.text for item in answer.evidence] == [OWNS]
    check_answer(answer, corpus)


def test_what_is_cited_stands_among_the_hits_however_few_are_kept(corpus: Corpus) -> None:
    recipe = hirag(corpus, [*[NOTHING] * 4, *accepted("Jonas Pell", OWNS)], replace(ALONE, k=1), fallback_k=8)
    answer = recipe.answer(OWNER)
    assert [item.text for item in answer.evidence] == [OWNS]
    assert answer.trail.hops[0].hits[0].unit.text == OWNS, "what says it stands first"
    check_answer(answer, corpus)


def test_the_best_of_what_was_rejected_is_the_last_resort(corpus: Corpus) -> None:
    rejected: Script = [
        (Read, Reading("a heron")),
        (Verify, 0.2),
        (Read, reading("Jonas Pell", OWNS)),
        (Verify, 0.3),
        NOTHING,
    ]
    asked = "Who owns the Kestrel Mill, this mill that grinds barley all year?"
    settings: dict[str, Any] = {"fallback": "none", "attempts": 3, "acceptance": 0.5}
    answer = hirag(corpus, rejected, ALONE, **settings, last_resort=0.1).answer(asked)
    assert (answer.text, [item.text for item in answer.evidence]) == ("Jonas Pell", [OWNS])
    check_answer(answer, corpus)
    for never in (0.4, 1.0):
        assert hirag(corpus, rejected, ALONE, **settings, last_resort=never).answer(asked).abstained
    sure: Script = [(Read, Reading("a heron")), (Verify, 1.0)]
    assert hirag(corpus, sure, ALONE, last_resort=1.0).answer(asked).text == "a heron"


def test_attempts_that_agree_support_their_answer_together(corpus: Corpus) -> None:
    script: Script = [
        (Read, Reading("a heron")),
        (Verify, 0.28),
        (Read, Reading("jonas pell")),
        (Verify, 0.1),
        (Read, reading("Jonas Pell", OWNS)),
        (Verify, 0.2),
    ]
    asked = "Who owns the Kestrel Mill, this mill that grinds barley all year?"
    order = hirag(corpus, [NOTHING] * 9, ALONE, fallback="none", attempts=3)
    order.answer(asked)
    place = next(at for at, units in enumerate(reads_of(order)) if units[0].text == OWNS)
    script[2 * place : 2 * place + 2], script[4:6] = script[4:6], script[2 * place : 2 * place + 2]
    answer = hirag(corpus, script, ALONE, fallback="none", attempts=3).answer(asked)
    assert (answer.text, [item.text for item in answer.evidence]) == ("Jonas Pell", [OWNS]), "in its best reading"
    assert hirag(corpus, script, ALONE, fallback="none", attempts=3, last_resort=0.31).answer(asked).abstained


ISK = "How long is the Isk?"


REWORDED = "How long is the Isk, the river through Wrenmouth?"


def test_a_tie_of_titles_asks_the_enriched_question(corpus: Corpus) -> None:
    """`Isk` and `Isk (song)`: the question is reworded in the light of the earlier answer that names it (equation 4)."""
    script: Script = [
        (Decompose, Decomposition(("Which river flows through Wrenmouth?",))),
        *accepted("the Isk", FLOWS),
        (Decompose, Decomposition((ISK,))),
        (Clarify, REWORDED),
        (Read, Reading("90 km")),
        (Verify, 1.0),
        (Decompose, Decomposition(())),
    ]
    recipe = hirag(corpus, script, fallback_k=3)
    answer = recipe.answer("How long is the river that flows through Wrenmouth?")
    enriched = hybrid_search(corpus, REWORDED, 3)
    assert reads_of(recipe)[1] == tuple(hit.unit for hit in enriched)
    assert clarified(recipe) == [Clarify(ISK, "Isk", "Which river flows through Wrenmouth? the Isk")]
    asked = [task.question for task in recipe.language.tasks if isinstance(task, Read)]  # type: ignore[attr-defined]
    assert asked[1] == ISK, "what is asked of the texts stays as it was"
    assert answer.trail.hops[1].answer == "90 km"
    assert {hit.channel for hit in answer.trail.hops[1].hits[:3]} == {FALLBACK}
    check_answer(answer, corpus)


def test_without_an_earlier_answer_the_whole_question_goes_along(corpus: Corpus) -> None:
    whole = "How long is the Isk that rises in the Grey Hills?"
    script: Script = [(Decompose, Decomposition((ISK,))), (Clarify, REWORDED), (Read, Reading("90 km"))]
    recipe = hirag(corpus, script, fallback_k=3)
    recipe.answer(whole)
    enriched = hybrid_search(corpus, REWORDED, 3)
    assert reads_of(recipe)[0] == tuple(hit.unit for hit in enriched)
    assert clarified(recipe) == [Clarify(ISK, "Isk", whole)]


def test_a_question_that_is_its_own_context_is_not_reworded(corpus: Corpus) -> None:
    recipe = hirag(corpus, [NOTHING] * 9, ALONE)
    recipe.answer(ISK)
    assert not clarified(recipe)


def test_rules_put_the_context_behind_the_question() -> None:
    assert OfflineLanguage().perform(Clarify(ISK, "Isk", FLOWS)).value == f"{ISK} {FLOWS}"


def clarified(recipe: Hirag) -> list[Task[Any]]:
    return [task for task in recipe.language.tasks if isinstance(task, Clarify)]  # type: ignore[attr-defined]


def test_enrichment_can_be_off(corpus: Corpus) -> None:
    recipe = hirag(corpus, [NOTHING] * 9, ALONE, enrichment=False)
    recipe.answer(ISK)
    first = reads_of(recipe)[0]
    assert [unit.title for unit in first] in (["Isk"], ["Isk (song)"]), "a page is read at once"
    assert count(recipe, Read) == 5, "three chunks at most of a page, four attempts, and the fallback in the end"


def test_enriching_costs_no_attempt_and_the_second_namesake_is_read(corpus: Corpus) -> None:
    recipe = hirag(corpus, [NOTHING] * 9, ALONE)
    recipe.answer(ISK)
    assert count(recipe, Read) == 6, "enriched, four attempts, and the fallback in the end"
    assert {unit.title for (unit,) in reads_of(recipe)[1:5]} == {"Isk", "Isk (song)"}
    recipe = hirag(corpus, [NOTHING] * 9, ALONE, fall_back=False)
    recipe.answer(ISK)
    assert count(recipe, Read) == 5


@pytest.mark.parametrize("asked", ["what is it?", "who?"])
def test_without_any_page_memory_is_drawn_as_often_as_there_might_be_attempts(corpus: Corpus, asked: str) -> None:
    pages = HierarchySettings(search="none")
    drawn = (RethinkSettings(memory=True, seed=seed) for seed in range(5000))
    seed = next(one.seed for one in drawn if tuple(memory_draws(asked, one)) == (False, False, False, True))
    script: Script = [(Recall, Reading("Jonas Pell", (), 0.9))]
    recipe = hirag(corpus, script, ALONE, fallback="none", memory=True, seed=seed, pages=pages)
    assert recipe.answer(asked).text == "Jonas Pell"
    assert count(recipe, Read) == 0


def test_the_paper_gives_up_after_its_attempts(corpus: Corpus) -> None:
    """Another engine's texts would hide what an ablation takes away."""
    settings = replace(Hirag.presets["paper"], decompose=False)
    recipe = hirag(corpus, [NOTHING] * 9, settings, memory=False)
    assert recipe.answer(OWNER).abstained
    assert {unit.title for units in reads_of(recipe) for unit in units} <= {"Kestrel Mill", "Harrow Mill"}
    assert count(recipe, Read) <= 4


def test_the_most_similar_title_is_taken_however_little_it_is(corpus: Corpus) -> None:
    asked = "Who owns the Kestrel Windmill Company?"
    settings = replace(Hirag.presets["paper"], decompose=False)
    recipe = hirag(corpus, [NOTHING] * 9, settings, memory=False)
    recipe.answer(asked)
    assert reads_of(recipe)[0][0].title == "Kestrel Mill"
    near = replace(settings.rethink.pages, least_similarity=RethinkSettings().pages.least_similarity)
    recipe = hirag(corpus, [NOTHING] * 9, settings, memory=False, pages=near)
    recipe.answer(asked)
    assert not reads_of(recipe), "our default is stricter"


def test_the_profile_is_read_on_the_first_tries_of_a_page(corpus: Corpus) -> None:
    recipe = hirag(corpus, [NOTHING] * 3, ALONE, fallback="none", attempts=2, profile_tries=1)
    recipe.answer("Where was Orla Finch born?")
    first, second = reads_of(recipe)
    assert [unit.kind for unit in first] == [Kind.PASSAGE, Kind.PROFILE]
    assert first[1].text.startswith("Orla Finch was born in Wrenmouth.\nOrla Finch designed")
    assert [unit.kind for unit in second] == [Kind.PASSAGE]


def test_what_a_profile_says_is_cited_where_it_stands(corpus: Corpus) -> None:
    asked = "Where was Orla Finch born?"
    recipe = hirag(corpus, [NOTHING] * 9, ALONE, profile_tries=1)
    recipe.answer(asked)
    profile = reads_of(recipe)[0][1]
    said = Reading("1871", (Step("", "1871", (profile.sources[1],)),))
    answer = hirag(corpus, [(Read, said), (Verify, 1.0)], ALONE, profile_tries=1).answer(asked)
    assert [item.text for item in answer.evidence] == ["She designed the Tallow Bridge in 1871."]
    assert answer.evidence[0].kind is Kind.PROFILE
    check_answer(answer, corpus)


def test_the_lead_of_a_page_comes_along(corpus: Corpus) -> None:
    recipe = hirag(corpus, [NOTHING] * 9, ALONE, fallback="none", lead_chunk=True, page_rethink=False)
    recipe.answer("Who owns the Kestrel Mill, this mill with four sails?")
    lead = passages_of(corpus, "Kestrel Mill")[0]
    assert {evidence[0] for evidence in reads_of(recipe)} == {lead}
    assert [len(evidence) for evidence in reads_of(recipe)].count(2) >= 2


def test_memory_is_drawn_more_and_more_often() -> None:
    """.04, .16, .36, .64 after the first, second, third and fourth failed attempt."""
    drawn = Counter(
        place
        for seed in range(4000)
        for place, draw in enumerate(memory_draws(OWNER, RethinkSettings(memory=True, seed=seed)))
        if draw
    )
    assert [drawn[place] / 4000 for place in range(4)] == pytest.approx([0.04, 0.16, 0.36, 0.64], abs=0.03)
    assert not any(memory_draws(OWNER, RethinkSettings()))
    again = [list(memory_draws(OWNER, RethinkSettings(memory=True, seed=7))) for _ in range(2)]
    assert again[0] == again[1]
    others = {tuple(memory_draws(f"{OWNER} {n}", RethinkSettings(memory=True))) for n in range(40)}
    assert len(others) > 1, "the draw hangs on the question as well"


AT_ONCE, NOT_AT_ONCE = (True,), (False, True)


def drawing(*draws: bool) -> int:
    """A seed under which memory is drawn so for the owner of the mill."""
    settings = (RethinkSettings(memory=True, seed=seed) for seed in range(5000))
    return next(one.seed for one in settings if tuple(memory_draws(OWNER, one))[: len(draws)] == draws)


def test_an_answer_from_memory_says_so_and_cites_nothing(corpus: Corpus) -> None:
    script: Script = [NOTHING, NOTHING, (Recall, Reading("Jonas Pell", (), 0.9))]
    recipe = hirag(corpus, script, ALONE, memory=True, seed=drawing(*NOT_AT_ONCE))
    answer = recipe.answer(OWNER)
    (hop,) = answer.trail
    assert (hop.answer, hop.verdict, answer.evidence) == ("Jonas Pell", Verdict.ANSWERED, ())
    assert (hop.hits[0].channel, hop.hits[0].unit.text) == (MEMORY, "Jonas Pell")
    assert MEMORY not in {hit.channel for hit in answer.ranking}
    assert count(recipe, Read) == 2


@pytest.mark.parametrize("remembered", [Reading(None), Reading("Jonas Pell", (), 0.1)])
def test_a_memory_that_is_not_sure_changes_nothing(corpus: Corpus, remembered: Reading) -> None:
    script: Script = [NOTHING, (Recall, remembered), *accepted("Jonas Pell", OWNS)]
    recipe = hirag(corpus, script, ALONE, memory=True, seed=drawing(*AT_ONCE))
    (hop,) = recipe.answer("Who owns the Kestrel Mill?").trail
    assert count(recipe, Read) == 2
    assert hop.hits[0].channel != MEMORY


@pytest.mark.parametrize(
    "script",
    [
        [(Read, Failure("cut off"))],
        [(Read, Reading("x")), (Verify, Failure("cut off"))],
        [NOTHING, (Recall, Failure("cut off"))],
        [(Read, Reading("x", (Step("", "x", (Span("d-invented", 0, 3),)),)))],
        [*[NOTHING] * 4, (Read, Failure("cut off"))],
    ],
)
def test_a_task_that_fails_is_a_failed_hop(corpus: Corpus, script: list[tuple[type[Task[Any]], Output]]) -> None:
    recalls = any(task is Recall for task, _ in script)
    settings: dict[str, Any] = {"memory": True, "seed": drawing(*AT_ONCE)} if recalls else {}
    recipe = hirag(corpus, script, ALONE, **settings)
    answer = recipe.answer(OWNER)
    assert answer.abstained
    assert [hop.verdict for hop in answer.trail] == [Verdict.FAILED]
    assert answer.trail.hops[0].hits, "what was found until then is shown"
    assert unused_replies(recipe) == 0


def test_what_the_web_says_is_told_from_what_is_stored(corpus: Corpus) -> None:
    """It may answer a hop, and the trail says where it is from; it is no evidence."""
    script: Script = [*[NOTHING] * 4, (Read, reading("a designer", "A designer.")), (Verify, 1.0)]
    with serving(WIKI) as server:
        online = WebSearchSettings("mediawiki", server.address)
        recipe = hirag(corpus, script, ALONE, fallback="online", online=online)
        answer = recipe.answer(OWNER)
    (hop,) = answer.trail
    assert (hop.answer, hop.verdict, answer.evidence) == ("a designer", Verdict.ANSWERED, ())
    assert [(hit.channel, hit.unit.document) for hit in hop.hits[:2]] == [
        (ONLINE + "mediawiki", "https://wiki.example/Orla"),
        (ONLINE + "mediawiki", "https://wiki.example/Isk"),
    ]
    assert not any(hit.channel.startswith(ONLINE) for hit in answer.ranking)
    assert answer.ranking, "what the index gave stays"


def test_an_engine_on_the_web_that_fails_is_a_failed_hop(corpus: Corpus) -> None:
    with serving(behaviour="break") as server:
        online = WebSearchSettings("mediawiki", server.address)
        answer = hirag(corpus, [NOTHING] * 9, ALONE, fallback="online", online=online).answer(OWNER)
    assert [hop.verdict for hop in answer.trail] == [Verdict.FAILED]


def test_other_recipes_can_have_a_sub_question_settled(corpus: Corpus) -> None:
    meter = Meter(ScriptedLanguage(accepted("the Isk", FLOWS)))
    question = "Which river flows through Wrenmouth?"
    cited = Rethinking(corpus, k=3).hop(SubQuestion("Which river?", question, question), meter)
    assert (cited.hop.question, cited.hop.asked, cited.hop.answer) == ("Which river?", question, "the Isk")
    assert len(cited.hop.hits) == 3
    assert cited.support


def test_nothing_that_is_named_is_found_by_searching(corpus: Corpus) -> None:
    asked = "Which place is a port with a harbour that freezes in winter?"
    recipe = hirag(corpus, [(Read, Reading("Dunmere")), (Verify, 1.0)], ALONE)
    assert recipe.answer(asked).text == "Dunmere"
    assert reads_of(recipe)[0][0].title == "Dunmere"
    titles_only = hirag(corpus, [NOTHING] * 9, ALONE, fallback="none", pages=HierarchySettings(search="none"))
    answer = titles_only.answer(asked)
    assert (answer.abstained, answer.ranking, count(titles_only, Read)) == (True, (), 0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"attempts": 0},
        {"chunk_tries": 0},
        {"fallback_k": 0},
        {"acceptance": 1.1},
        {"last_resort": -0.1},
        {"profile_tries": -1},
        {"attempts": 6},
        {"seed": -1},
        {"fallback": "online"},
    ],
)
def test_impossible_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"at least|at most|between|needs an engine"):
        RethinkSettings(**wrong)


def test_a_missing_key_is_told_and_not_swallowed(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SERPER_API_KEY", raising=False)
    online = WebSearchSettings("serper", "http://127.0.0.1:9/search")
    with pytest.raises(UsageError, match="SERPER_API_KEY"):
        hirag(corpus, [NOTHING] * 9, ALONE, fallback="online", online=online).answer(OWNER)
    assert not issubclass(UsageError, TaskFailed)
