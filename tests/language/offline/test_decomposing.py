from __future__ import annotations

import pytest

from hoptrail.language.offline.concluding import make_plan
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.language.tasks import Decompose, Finding

CHAINS = {
    "Where was the inventor of the Halden Valve born?": (
        "Who is the inventor of the Halden Valve?",
        "Where was #1 born?",
    ),
    "When did Mira Oste's father die?": ("Who is the father of Mira Oste?", "When did #1 die?"),
    "Who is Mira Oste's stepmother?": ("Who is the father of Mira Oste?", "Who is the wife of #1?"),
    "Which stadium lies in the city where the striker who scored for Port Arden was born?": (
        "Who is the striker who scored for Port Arden?",
        "What is the city where #1 was born?",
        "Which stadium lies in #2?",
    ),
    "When was the firm that bottles Kestrel Cider founded?": (
        "What is the firm that bottles Kestrel Cider?",
        "When was #1 founded?",
    ),
    "What is the capital of the province where Lake Orrin lies?": (
        "What is the province where Lake Orrin lies?",
        "What is the capital of #1?",
    ),
    "Which enzyme is blocked by the drug that Ada Lunt discovered?": (
        "What is the drug that Ada Lunt discovered?",
        "Which enzyme is blocked by #1?",
    ),
    "Who is older, Ada Lunt or Piet Korver?": ("When was Ada Lunt born?", "When was Piet Korver born?"),
    "Which opera has the composer who died first, Night Ferry or The Glass Hen?": (
        "Who is the composer of Night Ferry?",
        "When did #1 die?",
        "Who is the composer of The Glass Hen?",
        "When did #3 die?",
    ),
    "Which bridge is longer, the Tarn Bridge or the Ox Bridge?": (
        "How long is the Tarn Bridge?",
        "How long is the Ox Bridge?",
    ),
    "Do Ada Lunt and Piet Korver have the same nationality?": (
        "What is the nationality of Ada Lunt?",
        "What is the nationality of Piet Korver?",
    ),
}


@pytest.mark.parametrize("question", CHAINS)
def test_nested_and_comparing_questions_are_taken_apart(question: str) -> None:
    assert OfflineLanguage().perform(Decompose(question)).value.questions == CHAINS[question]


@pytest.mark.parametrize(
    "question",
    [
        "Where did Martin die?",
        "Who wrote The Glass Hen?",
        "What is the capital of Norway?",
        "How many people live in Dunmere?",
        "What is the answer to this question?",
        "Wo wurde der Erfinder der Dampfmaschine geboren?",
        "誰がこの橋を設計しましたか",
        "???",
        "",
    ],
)
def test_plain_or_foreign_questions_stay_one(question: str) -> None:
    assert OfflineLanguage().perform(Decompose(question)).value.questions == (question,)


def test_never_more_than_eight_hops() -> None:
    nested = "Who is " + "the teacher of " * 40 + "Ada Lunt?"
    questions = make_plan(nested, OfflineSettings()).questions
    assert len(questions) <= 8
    assert questions[0] == "Who is the teacher of Ada Lunt?"


def test_one_at_a_time_gives_the_next_and_then_none() -> None:
    question = "Where was the inventor of the Halden Valve born?"
    language = OfflineLanguage()

    def following(*findings: Finding) -> tuple[str, ...]:
        return language.perform(Decompose(question, findings, one_at_a_time=True)).value.questions

    first = Finding("Who is the inventor of the Halden Valve?", "Who is the inventor of the Halden Valve?", "Ada Lunt")
    second = Finding("Where was #1 born?", "Where was Ada Lunt born?", "Dunmere")
    assert following() == ("Who is the inventor of the Halden Valve?",)
    assert following(first) == ("Where was #1 born?",)
    assert following(first, second) == ()
    assert following(Finding(first.question, first.asked, None)) == ()
