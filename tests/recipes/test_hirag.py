"""HiRAG as a whole: one sub-question at a time, when it stops, how it concludes, and worlds without useful titles."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hoptrail.documents.splitting import PassageLimits
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.scripted import Failure, QuotedReading
from hoptrail.language.tasks import Complete, Decompose, Decomposition, Integrate, Read, Reading, Recall, Step, Verify
from hoptrail.recipes.answering import MEMORY
from hoptrail.retrieval.corpus import Corpus
from hoptrail.structures.extractions import Extractions
from hoptrail.types import Document, Kind, Verdict
from hoptrail_papers.hirag.hierarchy import HierarchySettings
from hoptrail_papers.hirag.hirag import Hirag, HiragSettings, word_overlap
from hoptrail_papers.hirag.profiles import Profiles
from hoptrail_papers.hirag.rethinking import RethinkSettings
from recipes.chain_world import Script, check_answer
from recipes.hirag_world import FLOWS, NOTHING, accepted, build, count, hirag, reads_of, unused_replies
from structures.site import Rules, Site
from world import make_document

QUESTION = "In which hills does the river that flows through the birthplace of the Tallow Bridge's designer rise?"
FIRST: tuple[type[Decompose], Decomposition] = (Decompose, Decomposition(("Who designed the Tallow Bridge?",)))
DONE: tuple[type[Decompose], Decomposition] = (Decompose, Decomposition(()))
BORN = "Orla Finch was born in Wrenmouth."


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return build(tmp_path_factory.mktemp("pages"))


def ask(question: str) -> tuple[type[Decompose], Decomposition]:
    return Decompose, Decomposition((question,))


def settled_hop(corpus: Corpus, question: str, answer: str, sentence: str) -> Script:
    """Readings that abstain up to the chunk where the sentence stands."""
    trying = hirag(corpus, [NOTHING] * 9, HiragSettings(decompose=False))
    trying.answer(question)
    place = next(at for at, units in enumerate(reads_of(trying)) if any(sentence in unit.text for unit in units))
    return [*[NOTHING] * place, *accepted(answer, sentence)]


DESIGNED = "It was designed by Orla Finch."


def first_hop(corpus: Corpus) -> Script:
    asked = "Who designed the Tallow Bridge?"
    return [ask(asked), *settled_hop(corpus, asked, "Orla Finch", DESIGNED)]


def second_hop(corpus: Corpus) -> Script:
    asked = "Where was Orla Finch born?"
    return [ask("Where was this designer born?"), (Complete, asked), *settled_hop(corpus, asked, "Wrenmouth", BORN)]


def golden(corpus: Corpus) -> Script:
    asked = "Which river flows through Wrenmouth?"
    third = settled_hop(corpus, asked, "the Isk", FLOWS)
    through: Script = [ask("Which river flows through that town?"), (Complete, asked)]
    return [*first_hop(corpus), *second_hop(corpus), *through, *third, DONE, (Integrate, Reading("the Isk"))]


def test_the_golden_trail_of_three_hops(corpus: Corpus) -> None:
    script = golden(corpus)
    recipe = hirag(corpus, script)
    answer = recipe.answer(QUESTION)
    assert answer.text == "the Isk"
    assert [(hop.question, hop.asked, hop.answer, hop.verdict) for hop in answer.trail] == [
        ("Who designed the Tallow Bridge?", "Who designed the Tallow Bridge?", "Orla Finch", Verdict.ANSWERED),
        ("Where was this designer born?", "Where was Orla Finch born?", "Wrenmouth", Verdict.ANSWERED),
        ("Which river flows through that town?", "Which river flows through Wrenmouth?", "the Isk", Verdict.ANSWERED),
    ]
    assert [(item.hop, item.title, item.text) for item in answer.evidence] == [
        (0, "Tallow Bridge", "It was designed by Orla Finch."),
        (1, "Orla Finch", BORN),
        (2, "Wrenmouth", FLOWS),
    ]
    check_answer(answer, corpus)
    assert (answer.usage.calls, unused_replies(recipe)) == (len(script), 0)
    assert [hit.unit.title for hit in answer.ranking[:3]] == ["Tallow Bridge", "Orla Finch", "Wrenmouth"]
    assert answer.ranking == hirag(corpus, script).retrieve(QUESTION)


def test_pages_are_found_for_what_was_really_asked(corpus: Corpus) -> None:
    recipe = hirag(corpus, golden(corpus))
    recipe.answer(QUESTION)
    titles = dict.fromkeys(evidence[0].title for evidence in reads_of(recipe))
    assert list(titles) == ["Tallow Bridge", "Orla Finch", "Wrenmouth"]


def test_done_on_the_first_turn_asks_the_question_itself(corpus: Corpus) -> None:
    recipe = hirag(corpus, [DONE, *accepted("Wrenmouth", BORN), DONE])
    answer = recipe.answer("Where was Orla Finch born?")
    assert answer.text == "Wrenmouth"
    assert [hop.question for hop in answer.trail] == ["Where was Orla Finch born?"]
    assert (count(recipe, Integrate), unused_replies(recipe)) == (0, 0)


def test_a_sub_question_asked_before_ends_the_asking(corpus: Corpus) -> None:
    again = ask("The Tallow Bridge was designed by whom?")
    recipe = hirag(corpus, [*first_hop(corpus), again, (Integrate, Reading("Orla Finch"))])
    answer = recipe.answer(QUESTION)
    assert (len(answer.trail), answer.text, unused_replies(recipe)) == (1, "Orla Finch", 0)


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("Who designed the bridge?", "The bridge was designed by whom?", True),
        ("When was Ann Lee born?", "When was Anna Lee born?", False),
        ("Who directed Foo?", "Who directed Goo?", False),
        ("When was Ann Lee born?", "Where was Ann Lee born?", False),
        ("In which town was Ann Lee born?", "Ann Lee was born in what town?", True),
        ("Where was he?", "where  was HE?", True),
        ("Who killed Ann Lee?", "Who was killed by Ann Lee?", False),
        ("Who killed Ann Lee?", "Who was Ann Lee killed by?", True),
        ("Who killed Ann Lee?", "Ann Lee was killed by whom?", True),
        ("Which film was made by Ann Lee?", "Which film did Ann Lee make?", True),
        ("Who is Ann Lee the mother of?", "Who is the mother of Ann Lee?", False),
        ("Which river flows into the Isk?", "Which river does the Isk flow into?", False),
        ("Who did Ann Lee help?", "Who was helped by Ann Lee?", True),
        ("", "Who?", False),
    ],
)
def test_questions_repeat_when_their_words_do(first: str, second: str, *, same: bool) -> None:
    assert (word_overlap(first, second) >= HiragSettings().repeats) is same


def test_the_limit_on_turns_holds(corpus: Corpus) -> None:
    script: Script = [*first_hop(corpus), *second_hop(corpus), (Integrate, Reading("Wrenmouth"))]
    recipe = hirag(corpus, script, HiragSettings(turns=2))
    assert len(recipe.answer(QUESTION).trail) == 2
    assert unused_replies(recipe) == 0


def test_a_hop_without_answer_is_told_and_the_rest_goes_on(corpus: Corpus) -> None:
    script: Script = [FIRST, *[NOTHING] * 5, ask("Where was Orla Finch born?"), *accepted("Wrenmouth", BORN), DONE]
    recipe = hirag(corpus, [*script, (Integrate, Reading("Wrenmouth"))])
    answer = recipe.answer(QUESTION)
    assert [hop.verdict for hop in answer.trail] == [Verdict.UNANSWERED, Verdict.ANSWERED]
    assert answer.text == "Wrenmouth"


def test_a_hop_without_answer_is_no_part_of_what_is_concluded_from(corpus: Corpus) -> None:
    script: Script = [FIRST, *[NOTHING] * 5, ask("Where was Orla Finch born?"), *accepted("Wrenmouth", BORN), DONE]
    recipe = hirag(corpus, [*script, (Integrate, Reading("Wrenmouth"))])
    recipe.answer(QUESTION)
    concluding = recipe.language.tasks[-1]  # type: ignore[attr-defined]
    assert [finding.answer for finding in concluding.findings] == ["Wrenmouth"]


def test_nothing_found_at_all_is_an_abstention_without_concluding(corpus: Corpus) -> None:
    recipe = hirag(corpus, [FIRST, *[NOTHING] * 5, DONE])
    assert recipe.answer(QUESTION).abstained
    assert unused_replies(recipe) == 0


CUT = Failure("cut off")


@pytest.mark.parametrize(
    ("before", "script", "verdicts"),
    [
        (False, [(Decompose, CUT)], [Verdict.FAILED]),
        (False, [FIRST, (Read, CUT), DONE], [Verdict.FAILED]),
        (False, [FIRST, (Read, Reading("x")), (Verify, CUT), DONE], [Verdict.FAILED]),
        (True, [(Decompose, CUT)], [Verdict.ANSWERED, Verdict.FAILED]),
        (True, [ask("Where was this designer born?"), (Complete, CUT)], [Verdict.ANSWERED, Verdict.FAILED]),
        (True, [DONE, (Integrate, CUT)], [Verdict.ANSWERED, Verdict.FAILED]),
    ],
)
def test_every_task_that_fails_is_a_failed_hop(
    corpus: Corpus,
    before: bool,
    script: Script,
    verdicts: list[Verdict],
) -> None:
    """`before`: a hop was answered before. Whether something can be concluded then is left to the conclusion."""
    concluding: Script = [(Integrate, Reading(None))] if before else []
    recipe = hirag(corpus, [*(first_hop(corpus) if before else []), *script, *concluding])
    answer = recipe.answer(QUESTION)
    assert [hop.verdict for hop in answer.trail] == verdicts
    assert answer.abstained
    check_answer(answer, corpus)


def test_without_decomposition_the_question_is_its_own_sub_question(corpus: Corpus) -> None:
    settings = replace(Hirag.presets["plugin"], rethink=RethinkSettings(profile_tries=0))
    recipe = hirag(corpus, accepted("Wrenmouth", BORN), settings)
    assert recipe.answer("Where was Orla Finch born?").text == "Wrenmouth"
    assert (count(recipe, Decompose), count(recipe, Integrate)) == (0, 0)


def test_without_retrieval_memory_answers(corpus: Corpus) -> None:
    script: Script = [ask("Who?"), (Recall, Reading("Ida")), DONE, (Integrate, Reading("Ida"))]
    answer = hirag(corpus, script, Hirag.presets["no-retrieval"]).answer(QUESTION)
    assert (answer.text, answer.evidence, answer.ranking) == ("Ida", (), ())
    assert [hit.channel for hit in answer.trail.hops[0].hits] == [MEMORY]
    for failing, verdict in ((Failure("cut off"), Verdict.FAILED), (Reading(None), Verdict.UNANSWERED)):
        recipe = hirag(corpus, [ask("Who?"), (Recall, failing), DONE], Hirag.presets["no-retrieval"])
        assert recipe.answer(QUESTION).trail.hops[0].verdict is verdict


def test_a_conclusion_that_reads_something_new_is_a_hop(corpus: Corpus) -> None:
    script: Script = [*first_hop(corpus), DONE]
    cited = QuotedReading("Dunmere", ())
    answer = hirag(corpus, [*script, (Integrate, cited)]).answer(QUESTION)
    assert (answer.text, len(answer.trail)) == ("Dunmere", 1)
    span = answer.ranking[0].unit.sources[0]
    new = Reading("Dunmere", (Step("", "Dunmere", (span,)),))
    answer = hirag(corpus, [*script, (Integrate, new)]).answer(QUESTION)
    assert [hop.answer for hop in answer.trail] == ["Orla Finch", "Dunmere"]
    check_answer(answer, corpus)
    alone = hirag(corpus, [*script, (Integrate, new)], HiragSettings(integration="answers")).answer(QUESTION)
    assert alone.abstained, "from answers alone nothing can be cited"


def test_offline_goes_from_title_to_title(corpus: Corpus) -> None:
    answer = Hirag(corpus, OfflineLanguage()).answer("Where was the designer of the Tallow Bridge born?")
    assert answer.text == "Wrenmouth"
    assert [hop.hits[0].unit.title for hop in answer.trail] == ["Tallow Bridge", "Orla Finch"]
    check_answer(answer, corpus)


@pytest.mark.parametrize(
    "documents",
    [
        [],
        [make_document("", "Orla Finch was born in Wrenmouth."), make_document("", "The Isk is a river.")],
        [make_document("Same", "Orla Finch was born in Wrenmouth."), make_document("Same", "The Isk is a river.")],
        [make_document("Orla Finch", ""), make_document("(", "?"), make_document("...", "Orla Finch sings.")],
    ],
)
def test_worlds_without_useful_titles(tmp_path: Path, documents: list[Document]) -> None:
    site = Site(tmp_path, limits=PassageLimits(8, 0))
    site.build(Extractions(), Profiles(), add=documents, language=Rules())
    corpus = Corpus(site.snapshot, lambda: site.encoder) if documents else _empty(site)
    for settings in (HiragSettings(), Hirag.presets["paper"], Hirag.presets["reference"]):
        recipe = Hirag(corpus, OfflineLanguage(), settings)
        for question in ("Where was Orla Finch born?", "What is the Same?", "Which one?", "(?", "它在哪里？"):
            answer = recipe.answer(question)
            check_answer(answer, corpus)
            assert answer.ranking == recipe.retrieve(question)


def _empty(site: Site) -> Corpus:
    site.build(add=[make_document("x", "y")])
    site.build(remove=[make_document("x", "y")])
    return Corpus(site.snapshot, lambda: site.encoder)


@pytest.mark.parametrize("wrong", [{"k": 0}, {"turns": 0}, {"evidence_tokens": 0}, {"repeats": 0}, {"repeats": 1.1}])
def test_impossible_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"at least 1|lie above"):
        HiragSettings(**wrong)


def test_settings_say_what_is_needed() -> None:
    assert HiragSettings().structures == ("passages", "profiles")
    assert Hirag.presets["no-profile"].structures == ("passages",)
    assert Hirag.presets["no-profile"].pool.kinds == (Kind.PASSAGE,)
    assert HiragSettings().pool.kinds == (Kind.PASSAGE, Kind.PROFILE)
    assert HierarchySettings().chunk_characters == HierarchySettings().chunk_words == 0
