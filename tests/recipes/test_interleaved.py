"""IRCoT, Iter-RetGen and FLARE: what the first step said is searched for in the second, and past it."""

from __future__ import annotations

import pytest

from hoptrail.language.scripted import Failure, ScriptedLanguage
from hoptrail.language.tasks import Complete, Decompose, Decomposition, Integrate, Read, Reading, Recall
from hoptrail.recipes.answering import MEMORY
from hoptrail.retrieval.corpus import Corpus
from hoptrail.types import Answer, Verdict
from hoptrail_papers.baselines.flare import Flare, FlareSettings
from hoptrail_papers.baselines.ircot import Ircot, IrcotSettings
from hoptrail_papers.baselines.iter_retgen import IterRetgen, IterRetgenSettings
from recipes.chain_world import RecordingLanguage, Script, check_answer, reading

QUESTION = "Which river flows through the birthplace of the Tallow Bridge's designer?"
DESIGNED = "It was designed by Orla Finch."
BORN = "Orla Finch was born in Wrenmouth."
FLOWS = "The river Isk flows through Wrenmouth."
NOTHING_LEFT = (Decompose, Decomposition(()))


def asks(question: str) -> tuple[type[Decompose], Decomposition]:
    return Decompose, Decomposition((question,))


FIRST = asks("Who designed the Tallow Bridge?")
CHAIN: Script = [
    FIRST,
    (Read, reading("Orla Finch", DESIGNED)),
    asks("Where was Orla Finch born?"),
    (Read, reading("Wrenmouth", BORN)),
    asks("Which river flows through Wrenmouth?"),
    (Read, reading("the Isk", FLOWS)),
    NOTHING_LEFT,
]


def titles(answer: Answer) -> list[list[str]]:
    """Of each hop, the titles of its hits."""
    return [[hit.unit.title for hit in hop.hits] for hop in answer.trail]


# --- IRCoT

RISES = "It rises in the Grey Hills and is 90 km long."


def test_each_thought_is_searched_for_and_its_passages_join_those_before(corpus: Corpus) -> None:
    """Past the first turn: Orla Finch is found by what the first step said, the Isk by what the third said."""
    last: Script = [asks("Where does the Isk rise?"), (Read, reading("the Grey Hills", RISES)), NOTHING_LEFT]
    language = RecordingLanguage(ScriptedLanguage([*CHAIN[:-1], *last, (Read, reading("the Grey Hills", RISES))]))
    answer = Ircot(corpus, language, IrcotSettings(per_step=2)).answer(QUESTION)
    check_answer(answer, corpus)
    assert answer.text == "the Grey Hills"
    first, second, _, fourth, reader = titles(answer)
    assert set(second) - set(first) == {"Orla Finch"}
    assert "Isk" in fourth
    assert "Isk" not in second
    assert reader == fourth == [hit.unit.title for hit in answer.ranking], "the reader has all that was collected"
    *_, task = language.tasks
    assert isinstance(task, Read)
    assert task.question == QUESTION


def test_a_step_that_is_not_settled_is_searched_for_and_thought_again(corpus: Corpus) -> None:
    again: Script = [FIRST, (Read, Reading(None)), FIRST, (Read, reading("Orla Finch", DESIGNED)), NOTHING_LEFT]
    language = RecordingLanguage(ScriptedLanguage([*again, (Read, Reading(None))]))
    answer = Ircot(corpus, language, IrcotSettings(per_step=1)).answer("Where did Orla Finch work?")
    assert [hop.verdict for hop in answer.trail][:2] == [Verdict.UNANSWERED, Verdict.ANSWERED]
    first, second, _ = titles(answer)
    assert (first, second) == (["Orla Finch"], ["Orla Finch", "Tallow Bridge"])


def test_thinking_again_ends_when_it_brings_nothing_new(corpus: Corpus) -> None:
    replies: Script = [FIRST, (Read, Reading(None)), FIRST, (Read, Reading(None))]
    answer = Ircot(corpus, ScriptedLanguage(replies), IrcotSettings(per_step=1)).answer(
        "Who made the Tallow Bridge of Dunmere?"
    )
    assert answer.abstained
    assert [hop.verdict for hop in answer.trail] == [Verdict.UNANSWERED] * 2, "the step, and the reader"


def test_the_answer_can_be_that_of_the_chain(corpus: Corpus) -> None:
    language = ScriptedLanguage([*CHAIN, (Integrate, reading("the Isk", FLOWS))])
    answer = Ircot(corpus, language, IrcotSettings(per_step=2, reader="chain")).answer(QUESTION)
    assert (answer.text, len(answer.trail)) == ("the Isk", 3)


def test_collecting_stops_at_k(corpus: Corpus) -> None:
    language = ScriptedLanguage([*CHAIN[:4], NOTHING_LEFT, (Read, Reading("x"))])
    answer = Ircot(corpus, language, IrcotSettings(per_step=2, k=3)).answer(QUESTION)
    assert len(answer.ranking) == 3


# --- Iter-RetGen


def test_the_second_round_searches_with_what_the_first_said(corpus: Corpus) -> None:
    """Alone, the question's first passage is the bridge's; the answer in front of it brings its designer's."""
    question = "Where was the designer of the Tallow Bridge born?"
    language = RecordingLanguage(
        ScriptedLanguage([(Read, reading("Orla Finch", DESIGNED)), (Read, reading("Wrenmouth", BORN))])
    )
    answer = IterRetgen(corpus, language, IterRetgenSettings(k=1)).answer(question)
    assert answer.text == "Wrenmouth"
    assert titles(answer) == [["Tallow Bridge"], ["Orla Finch"]]
    assert [hop.asked for hop in answer.trail] == [question, f"Orla Finch {question}"]
    assert [task.question for task in language.tasks if isinstance(task, Read)] == [question] * 2
    assert [hit.unit.title for hit in answer.ranking] == ["Orla Finch"]


def test_every_round_joins_the_last_generation_only(corpus: Corpus) -> None:
    language = ScriptedLanguage([(Read, Reading(answer)) for answer in ("Orla Finch", "Wrenmouth", "Dunmere")])
    answer = IterRetgen(corpus, language, IterRetgenSettings(rounds=3)).answer(QUESTION)
    assert [hop.asked for hop in answer.trail] == [QUESTION, f"Orla Finch {QUESTION}", f"Wrenmouth {QUESTION}"]
    assert answer.text == "Dunmere"


def test_rounds_end_when_nothing_was_said_that_could_be_searched_for(corpus: Corpus) -> None:
    answer = IterRetgen(corpus, ScriptedLanguage([(Read, Reading(None))])).answer(QUESTION)
    assert answer.abstained
    assert len(answer.trail) == 1


def test_the_last_answer_stands_where_the_last_round_abstains(corpus: Corpus) -> None:
    language = ScriptedLanguage([(Read, reading("Orla Finch", DESIGNED)), (Read, Reading(None))])
    assert IterRetgen(corpus, language).answer(QUESTION).text == "Orla Finch"


# --- FLARE


def draft(confidence: float, answer: str = "Orla Finch") -> tuple[type[Read], Reading]:
    return Read, Reading(answer, (), confidence)


@pytest.mark.parametrize(("confidence", "searched"), [(0.79, True), (0.8, False)])
def test_a_step_is_searched_for_where_its_draft_is_not_sure(corpus: Corpus, confidence: float, searched: bool) -> None:
    again = [(Read, reading("Orla Finch", DESIGNED))] if searched else []
    rest: Script = [NOTHING_LEFT, (Integrate, Reading("Orla Finch"))]
    language = RecordingLanguage(ScriptedLanguage([FIRST, draft(confidence), *again, *rest]))
    answer = Flare(corpus, language, FlareSettings(k=1)).answer("Which harbour freezes, and who is to blame?")
    assert titles(answer) == [["Tallow Bridge"] if searched else ["Dunmere"]]
    assert sum(isinstance(task, Read) for task in language.tasks) == 1 + searched


def test_the_next_draft_is_from_what_the_last_search_found(corpus: Corpus) -> None:
    second: Script = [asks("Where was she born?"), (Complete, "Where was Orla Finch born?"), draft(1.0, "Wrenmouth")]
    script: Script = [FIRST, draft(0.1), draft(0.1), *second, NOTHING_LEFT, (Integrate, Reading("Wrenmouth"))]
    answer = Flare(corpus, ScriptedLanguage(script), FlareSettings(k=1)).answer("Which harbour freezes?")
    assert titles(answer) == [["Tallow Bridge"], ["Tallow Bridge"]]


def test_a_draft_from_memory_is_marked_and_cites_nothing(corpus: Corpus) -> None:
    recalled = (Recall, Reading("Orla Finch", confidence=0.9))
    unsure: Script = [
        asks("Where was Orla Finch born?"),
        (Recall, Failure("cut off")),
        (Read, reading("Wrenmouth", BORN)),
    ]
    script: Script = [FIRST, recalled, *unsure, NOTHING_LEFT, (Integrate, Reading("Wrenmouth"))]
    answer = Flare(corpus, ScriptedLanguage(script), FlareSettings(draft="memory")).answer(QUESTION)
    check_answer(answer, corpus)
    assert [hop.hits[0].channel == MEMORY for hop in answer.trail] == [True, False]
    assert [item.hop for item in answer.evidence] == [1]
    assert all(hit.channel != MEMORY for hit in answer.ranking)
