"""Self-ask goes past its second hop: four scripted hops, each retrieved for with the answers before it."""

from __future__ import annotations

from hoptrail.language.scripted import ScriptedLanguage
from hoptrail.language.tasks import Complete, Decompose, Decomposition, Integrate, Read, Reading
from hoptrail.retrieval.corpus import Corpus
from hoptrail.types import Verdict
from hoptrail_papers.baselines.selfask import SelfAsk, SelfAskSettings
from recipes.chain_world import QUESTION, Script, reading

SCRIPT: Script = [
    (Decompose, Decomposition(("Who designed the Tallow Bridge?",))),
    (Read, reading("Orla Finch", "It was designed by Orla Finch.")),
    (Decompose, Decomposition(("Where was she born?",))),
    (Complete, "Where was Orla Finch born?"),
    (Read, reading("Wrenmouth", "Orla Finch was born in Wrenmouth.")),
    (Decompose, Decomposition(("Which river flows through #2?",))),
    (Complete, "Which river flows through Wrenmouth?"),
    (Read, reading("the Isk", "The river Isk flows through Wrenmouth.")),
    (Decompose, Decomposition(("Where does that river rise?",))),
    (Complete, "Where does the Isk rise?"),
    (Read, reading("the Grey Hills", "It rises in the Grey Hills and is 90 km long.")),
    (Decompose, Decomposition(())),
    (Integrate, Reading("the Grey Hills")),
]


def test_the_golden_trail_of_four_hops(corpus: Corpus) -> None:
    language = ScriptedLanguage(SCRIPT)
    answer = SelfAsk(corpus, language, SelfAskSettings(k=3)).answer(QUESTION)
    assert answer.text == "the Grey Hills"
    assert [(hop.question, hop.asked, hop.answer, hop.verdict) for hop in answer.trail] == [
        ("Who designed the Tallow Bridge?", "Who designed the Tallow Bridge?", "Orla Finch", Verdict.ANSWERED),
        ("Where was she born?", "Where was Orla Finch born?", "Wrenmouth", Verdict.ANSWERED),
        ("Which river flows through #2?", "Which river flows through Wrenmouth?", "the Isk", Verdict.ANSWERED),
        ("Where does that river rise?", "Where does the Isk rise?", "the Grey Hills", Verdict.ANSWERED),
    ]
    assert [(item.hop, item.title, item.text) for item in answer.evidence] == [
        (0, "Tallow Bridge", "It was designed by Orla Finch."),
        (1, "Orla Finch", "Orla Finch was born in Wrenmouth."),
        (2, "Wrenmouth", "The river Isk flows through Wrenmouth."),
        (3, "Isk", "It rises in the Grey Hills and is 90 km long."),
    ]
    assert answer.usage.calls == len(SCRIPT)


def test_what_is_retrieved_for_each_hop_is_what_was_really_asked(corpus: Corpus) -> None:
    """The second hop's words as put ("she") would not find the page that its completed question finds."""
    answer = SelfAsk(corpus, ScriptedLanguage(SCRIPT), SelfAskSettings(k=1)).answer(QUESTION)
    assert [hop.hits[0].unit.title for hop in answer.trail] == ["Tallow Bridge", "Orla Finch", "Wrenmouth", "Isk"]


def test_a_conclusion_that_no_hop_had_is_told_and_cited(corpus: Corpus) -> None:
    """Two hops, and an answer that is neither's: without a hop of its own nobody could check it."""
    replies: Script = [
        *SCRIPT[:5],
        (Decompose, Decomposition(())),
        (Integrate, reading("the Isk", "The river Isk flows through Wrenmouth.")),
    ]
    answer = SelfAsk(corpus, ScriptedLanguage(replies), SelfAskSettings()).answer(QUESTION)
    assert [hop.answer for hop in answer.trail] == ["Orla Finch", "Wrenmouth", "the Isk"]
    assert [(item.hop, item.text) for item in answer.evidence][-1] == (2, "The river Isk flows through Wrenmouth.")


def test_the_limit_on_hops_holds(corpus: Corpus) -> None:
    cut: Script = [*SCRIPT[:5], (Integrate, Reading("Wrenmouth"))]
    answer = SelfAsk(corpus, ScriptedLanguage(cut), SelfAskSettings(hops=2)).answer(QUESTION)
    assert len(answer.trail) == 2


def test_a_repeated_sub_question_ends_the_asking(corpus: Corpus) -> None:
    again: Script = [
        *SCRIPT[:2],
        (Decompose, SCRIPT[0][1]),
        (Integrate, Reading("x")),
    ]
    answer = SelfAsk(corpus, ScriptedLanguage(again), SelfAskSettings()).answer(QUESTION)
    assert len(answer.trail) == 1


def test_a_hop_that_found_nothing_is_told_and_the_rest_goes_on(corpus: Corpus) -> None:
    replies: Script = [
        SCRIPT[0],
        (Read, Reading(None)),
        *SCRIPT[2:5],
        (Decompose, Decomposition(())),
        (Integrate, Reading("Wrenmouth")),
    ]
    answer = SelfAsk(corpus, ScriptedLanguage(replies), SelfAskSettings()).answer(QUESTION)
    assert [hop.verdict for hop in answer.trail] == [Verdict.UNANSWERED, Verdict.ANSWERED]
    assert [item.hop for item in answer.evidence] == [1]


def test_nothing_found_at_all_is_an_abstention_without_concluding(corpus: Corpus) -> None:
    replies: Script = [SCRIPT[0], (Read, Reading(None)), (Decompose, Decomposition(()))]
    answer = SelfAsk(corpus, ScriptedLanguage(replies), SelfAskSettings()).answer(QUESTION)
    assert answer.abstained
    assert answer.usage.calls == 3
