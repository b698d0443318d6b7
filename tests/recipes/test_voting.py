"""Several replies to one sub-question: how many are asked for, which counts, and what is cited for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.scripted import Failure
from hoptrail.language.tasks import Equate, Read, Reading, Sample, Samples, Verify
from hoptrail.retrieval.corpus import Corpus
from hoptrail.types import Verdict
from hoptrail_papers.baselines.voting import VotingSettings, _sentences_with
from hoptrail_papers.hirag.hirag import Hirag, HiragSettings
from recipes.chain_world import Script, check_answer, reading
from recipes.hirag_world import NOTHING, OWNER, OWNS, build, count, hirag, reads_of, unused_replies
from structures.site import Site
from world import make_document, make_passage

ALONE = HiragSettings(decompose=False)
THREE = VotingSettings(replies=3)
BY_MEANING = VotingSettings(replies=3, equivalence="meaning")
PELL = reading("Jonas Pell", OWNS)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return build(tmp_path_factory.mktemp("pages"))


def place_of_owner(corpus: Corpus) -> int:
    """The attempt that reads who owns the mill."""
    recipe = hirag(corpus, [NOTHING] * 9, ALONE)
    recipe.answer(OWNER)
    return next(at for at, units in enumerate(reads_of(recipe)) if any(unit.text == OWNS for unit in units))


def voting(corpus: Corpus, script: Script, settings: VotingSettings = THREE) -> Hirag:
    """Attempts before the one that reads the owner are abstained from with one voice; there the script begins."""
    before: Script = [NOTHING, (Sample, Samples((None, None)))] * place_of_owner(corpus)
    return hirag(corpus, [*before, *script], ALONE, voting=settings, fallback="none")


def test_one_reply_is_the_default_and_draws_nothing(corpus: Corpus) -> None:
    recipe = hirag(corpus, [(Read, Reading("Jonas Pell")), (Verify, 1.0)], ALONE)
    assert recipe.answer(OWNER).text == "Jonas Pell"
    assert (count(recipe, Read), count(recipe, Sample)) == (1, 0)


@pytest.mark.parametrize("replies", [2, 3, 5])
def test_generations_are_as_many_as_the_replies_counted(corpus: Corpus, replies: int) -> None:
    drawn = Samples(("Jonas Pell",) * (replies - 1))
    recipe = hirag(
        corpus, [(Read, Reading("Jonas Pell")), (Sample, drawn), (Verify, 1.0)], ALONE, voting=VotingSettings(replies)
    )
    assert recipe.answer(OWNER).text == "Jonas Pell"
    tasks = recipe.language.tasks  # type: ignore[attr-defined]
    generations = sum(task.samples if isinstance(task, Sample) else isinstance(task, Read) for task in tasks)
    assert (generations, unused_replies(recipe)) == (replies, 0)


def test_the_reading_stands_with_its_citation_where_it_is_not_outvoted(corpus: Corpus) -> None:
    recipe = voting(corpus, [(Read, PELL), (Sample, Samples(("a heron", "jonas pell."))), (Verify, 1.0)])
    answer = recipe.answer(OWNER)
    assert (answer.text, [item.text for item in answer.evidence]) == ("Jonas Pell", [OWNS])
    undecided = voting(corpus, [(Read, PELL), (Sample, Samples(("a heron", None))), (Verify, 1.0)])
    assert undecided.answer(OWNER).text == "Jonas Pell", "of equally many the first counts"


def test_what_outvotes_the_reading_is_verified_and_cited_where_it_stands(corpus: Corpus) -> None:
    recipe = voting(corpus, [(Read, Reading("a heron")), (Sample, Samples(("Jonas Pell",) * 2)), (Verify, 1.0)])
    answer = recipe.answer(OWNER)
    assert (answer.text, [item.text for item in answer.evidence]) == ("Jonas Pell", [OWNS])
    assert [task.answer for task in recipe.language.tasks if isinstance(task, Verify)] == ["Jonas Pell"]  # type: ignore[attr-defined]
    check_answer(answer, corpus)


def test_what_stands_nowhere_is_not_cited(corpus: Corpus) -> None:
    recipe = voting(corpus, [(Read, PELL), (Sample, Samples(("Pel", "Pel"))), (Verify, 1.0)])
    answer = recipe.answer(OWNER)
    assert (answer.text, answer.evidence) == ("Pel", ()), "a part of a word is not the word"


def test_what_is_voted_in_a_script_without_spaces_is_cited(tmp_path: Path) -> None:
    document = make_document("東京", "東京は日本の首都です。")
    site = Site(tmp_path)
    site.build(add=[document])
    found = _sentences_with("首都", [make_passage(document)], Corpus(site.snapshot, lambda: site.encoder))
    assert [document.slice(span) for span in found] == ["東京は日本の首都です。"]


def test_abstentions_are_votes(corpus: Corpus) -> None:
    recipe = voting(corpus, [(Read, PELL), (Sample, Samples((None, None)))])
    (hop,) = recipe.answer(OWNER).trail
    assert (hop.verdict, count(recipe, Verify), unused_replies(recipe)) == (Verdict.FAILED, 0, 0), (
        "the next attempt has no reply"
    )
    answered = voting(corpus, [NOTHING, (Sample, Samples(("Jonas Pell",) * 2)), (Verify, 1.0)])
    assert answered.answer(OWNER).text == "Jonas Pell"


def test_meaning_is_judged_where_words_differ(corpus: Corpus) -> None:
    script: Script = [(Read, Reading("a heron")), (Sample, Samples(("J. Pell", "Jonas Pell")))]
    different, same = (Equate, False), (Equate, True)
    recipe = voting(corpus, [*script, different, different, same, (Verify, 1.0)], BY_MEANING)
    assert (recipe.answer(OWNER).text, unused_replies(recipe)) == ("J. Pell", 0)
    apart = voting(corpus, [*script, different, different, different, (Verify, 1.0)], BY_MEANING)
    assert (apart.answer(OWNER).text, unused_replies(apart)) == ("a heron", 0), "all three differ, so the first counts"


def test_a_draw_that_fails_is_a_failed_hop(corpus: Corpus) -> None:
    recipe = hirag(corpus, [(Read, Reading("x")), (Sample, Failure("cut off"))], ALONE, voting=THREE)
    assert [hop.verdict for hop in recipe.answer(OWNER).trail] == [Verdict.FAILED]


def test_rules_vote_by_their_evidence(corpus: Corpus) -> None:
    answer = Hirag(corpus, OfflineLanguage(), Hirag.presets["votes"]).answer("Where was Orla Finch born?")
    assert answer.text == "Wrenmouth"
    check_answer(answer, corpus)


def test_at_least_one_reply_is_counted() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        VotingSettings(replies=0)
