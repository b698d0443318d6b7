"""Closed book and self-consistency: what is not read is not cited, and what most chains say is the answer."""

from __future__ import annotations

import pytest

from hoptrail.errors import UsageError
from hoptrail.index.conversation import answer_message
from hoptrail.index.settings import settings_from
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.scripted import ScriptedLanguage
from hoptrail.language.tasks import Abstain, Integrate, Language, Read, Reading, Recall, Sample, Samples
from hoptrail.recipes.answering import MEMORY
from hoptrail.recipes.catalogue import open_recipe
from hoptrail.recipes.settings import RecipeSettings
from hoptrail.retrieval.corpus import Corpus
from hoptrail.types import Answer, AnswerKind, Verdict
from hoptrail_papers.baselines.closed_book import ClosedBook
from hoptrail_papers.baselines.cot import Cot, CotSettings
from hoptrail_papers.baselines.raptor import Raptor, RaptorSettings
from hoptrail_papers.baselines.voting import VotingSettings
from recipes.chain_world import RecordingLanguage, reading
from recipes.test_contract import Laborious

QUESTION = "Who designed the Tallow Bridge?"
DESIGNED = "It was designed by Orla Finch."


def test_an_answer_from_memory_cites_nothing_and_says_where_it_is_from(corpus: Corpus) -> None:
    language = RecordingLanguage(ScriptedLanguage([(Recall, Reading("Orla Finch", confidence=0.7))]))
    answer = ClosedBook(corpus, language).answer(QUESTION)
    assert (answer.text, answer.confidence, answer.evidence, answer.ranking) == ("Orla Finch", 0.7, (), ())
    assert [(hit.channel, hit.unit.title) for hit in answer.trail.hops[0].hits] == [(MEMORY, "from memory")]
    assert language.tasks == [Recall(QUESTION)], "no text is handed over"


@pytest.mark.parametrize("name", ["closed-book", "sirerag:closed-book", "hirag:no-retrieval"])
def test_what_needs_a_model_says_so(name: str, corpus: Corpus) -> None:
    def ask(language: Language, message: str = QUESTION) -> Answer:
        return answer_message(message, (), open_recipe(name, corpus, language, RecipeSettings()), language)

    refused = ask(OfflineLanguage())
    assert refused.abstained
    assert "`hoptrail setup` finds one" in refused.notes[0]
    assert ask(OfflineLanguage(), "Hello!").kind is AnswerKind.REPLY
    assert ask(Laborious((True,))).text


@pytest.mark.parametrize("key", ["k", "evidence_tokens"])
def test_what_is_retrieved_and_read_is_no_setting_where_nothing_is(key: str) -> None:
    with pytest.raises(UsageError, match=f"recipes.closed_book.{key}: there is no such setting"):
        settings_from({"recipes": {"closed_book": {key: 3}}}, "mine.toml")
    assert (
        settings_from({"recipes": {"closed_book": {"abstain": "never"}}}, "mine.toml").recipes.closed_book.abstain
        == "never"
    )


def test_who_remembers_nothing_abstains(corpus: Corpus) -> None:
    answer = ClosedBook(corpus, OfflineLanguage()).answer(QUESTION)
    assert answer.abstained
    assert [(hop.verdict, hop.hits) for hop in answer.trail] == [(Verdict.UNANSWERED, ())]


def test_the_commonest_chain_wins_and_is_cited_where_it_stands(corpus: Corpus) -> None:
    drawn = Samples(("Orla Finch", "a heron", "orla finch", "Orla Finch"))
    language = RecordingLanguage(
        ScriptedLanguage(
            [(Read, reading("Dunmere", "The Tallow Bridge spans the harbour of Dunmere.")), (Sample, drawn)]
        )
    )
    answer = Cot(corpus, language).answer(QUESTION)
    assert (answer.text, answer.confidence) == ("Orla Finch", 0.6)
    assert answer.evidence
    assert all("Orla Finch" in item.text for item in answer.evidence)
    read, sampled = language.tasks
    assert isinstance(read, Read)
    assert isinstance(sampled, Sample)
    assert (sampled.samples, sampled.evidence) == (4, read.evidence), "all chains see what one search found"


def test_the_reading_stands_where_chains_are_divided(corpus: Corpus) -> None:
    for abstain in Abstain:
        settings = CotSettings(voting=VotingSettings(replies=3), abstain=abstain)
        scripted = ScriptedLanguage([(Read, reading("Orla Finch", DESIGNED)), (Sample, Samples(("a heron", None)))])
        language = RecordingLanguage(scripted)
        answer = Cot(corpus, language, settings).answer(QUESTION)
        assert (answer.text, [item.text for item in answer.evidence]) == ("Orla Finch", [DESIGNED])
        assert [task.abstain for task in language.tasks if isinstance(task, Read | Sample)] == [abstain] * 2


def test_chains_that_mostly_abstain_are_an_abstention(corpus: Corpus) -> None:
    language = ScriptedLanguage(
        [(Read, reading("Orla Finch", DESIGNED)), (Sample, Samples((None, None, None, "Dunmere")))]
    )
    assert Cot(corpus, language).answer(QUESTION).abstained


# --- the readers of a pool


def test_a_pool_that_is_asked_by_heart_says_so(corpus: Corpus) -> None:
    language = ScriptedLanguage([(Recall, Reading("Orla Finch", confidence=0.7))])
    answer = Raptor(corpus, language, RaptorSettings(reader="closed-book")).answer(QUESTION)
    assert [(hit.channel, hit.unit.title) for hit in answer.trail.hops[0].hits] == [(MEMORY, "from memory")]


def read_twice(corpus: Corpus, concluded: str) -> Answer:
    first = reading("Orla Finch", DESIGNED)
    language = ScriptedLanguage([(Read, first), (Integrate, Reading(concluded, confidence=0.7))])
    answer = Raptor(corpus, language, RaptorSettings(reader="self-ask")).answer(QUESTION)
    assert answer.text == concluded
    return answer


def test_a_conclusion_without_a_citation_rests_on_the_step_that_says_the_same_or_on_nothing(corpus: Corpus) -> None:
    same = read_twice(corpus, "orla finch")
    assert [hop.answer for hop in same.trail] == ["Orla Finch"]
    assert [item.text for item in same.evidence] == [DESIGNED]
    other = read_twice(corpus, "Nairobi")
    assert [hop.answer for hop in other.trail] == ["Orla Finch", "Nairobi"]
    assert [(item.hop, item.text) for item in other.evidence] == [(0, DESIGNED)], "the sentence does not say Nairobi"
