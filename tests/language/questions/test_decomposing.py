from __future__ import annotations

import pytest

from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.questions.decomposing import chain
from hoptrail.language.questions.plans import make_plan
from hoptrail.language.tasks import Decompose, Finding

CHAINS = {
    "Where was the inventor of the Halden Valve born?": (
        "Who is the inventor of the Halden Valve?",
        "Where was #1 born?",
    ),
    "Where is the hometown of the author of The Worries of the City?": (
        "Who is the author of The Worries of the City?",
        "Where is the hometown of #1?",
    ),
    "When did the owner of the Tallow boat join the club?": (
        "Who is the owner of the Tallow boat?",
        "When did #1 join the club?",
    ),
    "In which town does the keeper live who built Foss Bridge?": (
        "Who is the keeper who built Foss Bridge?",
        "In which town does #1 live?",
    ),
    "Which crew has the longer lead time, Foss Yard or Arden Yard?": (
        "What is the lead time of Foss Yard?",
        "What is the lead time of Arden Yard?",
    ),
    "which takes longer, the ferry or the tide mill": (
        "How long does the ferry take?",
        "How long does the tide mill take?",
    ),
    "Which is cheaper, Foss Yard or Arden Yard?": ("Which is cheaper, Foss Yard or Arden Yard?",),
    "What was the error of the Foss gauge when it was new?": ("What was the error of the Foss gauge when it was new?",),
    "When did Mira Oste's father die?": ("Who is the father of Mira Oste?", "When did #1 die?"),
    "Who is the wife of Mira Oste's younger brother?": (
        "Who is the younger brother of Mira Oste?",
        "Who is the wife of #1?",
    ),
    "Where did Mira Oste's last teacher retire?": ("Who is the last teacher of Mira Oste?", "Where did #1 retire?"),
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
    "What is the capital of the country where the founder of the company that makes Kestrel Cider was born?": (
        "What is the company that makes Kestrel Cider?",
        "Who is the founder of #1?",
        "What is the country where #2 was born?",
        "What is the capital of #3?",
    ),
    "On which hill does the stream that flows past the mill where the painter of The Grey Hen died rise?": (
        "Who is the painter of The Grey Hen?",
        "What is the mill where #1 died?",
        "What is the stream that flows past #2?",
        "On which hill does #3 rise?",
    ),
    "Who is the mother of the playwright whose play opened the theatre that Ada Lunt built?": (
        "What is the theatre that Ada Lunt built?",
        "Who is the playwright whose play opened #1?",
        "Who is the mother of #2?",
    ),
    "How deep is the lake into which the glacier that Karl Lunt mapped melts?": (
        "What is the glacier that Karl Lunt mapped?",
        "What is the lake into which #1 melts?",
        "How deep is #2?",
    ),
    "Which firm owns the tugboat which cleared Foss Bar?": (
        "What is the tugboat which cleared Foss Bar?",
        "Which firm owns #1?",
    ),
    "What is the population of the port where the ship commanded by Ada Lunt sank?": (
        "What is the ship commanded by Ada Lunt?",
        "What is the port where #1 sank?",
        "What is the population of #2?",
    ),
    "When did the guild that trained Ada Lunt start selling Arden loaves?": (
        "What is the guild that trained Ada Lunt?",
        "When did #1 start selling Arden loaves?",
    ),
    "In what year was the gull that last wore the tag Foss 7 ringed?": (
        "What is the gull that last wore the tag Foss 7?",
        "In what year was #1 ringed?",
    ),
    "When did the person who makes up the rota do her first aid course?": (
        "Who is the person who makes up the rota?",
        "When did #1 do her first aid course?",
    ),
    "How much oil was left at the end of the month in which we sold the Foss boat?": (
        "What is the month in which we sold the Foss boat?",
        "How much oil was left at the end of #1?",
    ),
    "Since when has the manager of the Foss evening been a member?": (
        "Who is the manager of the Foss evening?",
        "Since when has #1 been a member?",
    ),
    "Ada got the rent that Bo Marsh pays halved in 2024. Where is it paid?": (
        "Ada got the rent that Bo Marsh pays halved in 2024. Where is it paid?",
    ),
    "Who is in the booth on the evening of The Keeper's Ball?": (
        "What is the evening of The Keeper's Ball?",
        "Who is in the booth on #1?",
    ),
    "At what time is the yard gate locked in the evening?": ("At what time is the yard gate locked in the evening?",),
    "I have to get into the pump house: where does the key hang?": (
        "I have to get into the pump house: where does the key hang?",
    ),
    "In the list of people, which office belongs to the keeper of the boats?": (
        "In the list of people, which office belongs to the keeper of the boats?",
    ),
    "By how much did the bill for the roof exceed the contract sum?": (
        "By how much did the bill for the roof exceed the contract sum?",
    ),
    "What was the price of the big FossLites ordered in May?": (
        "What was the price of the big FossLites ordered in May?",
    ),
    "In which county is the village of Foss located?": ("In which county is the village of Foss located?",),
    "Where was the glaciologist Ada Lunt born?": ("Where was the glaciologist Ada Lunt born?",),
    "Who is older, Ada Lunt or Piet Korver?": ("When was Ada Lunt born?", "When was Piet Korver born?"),
    "Are Arden FC and Dun FC both football clubs?": (
        "Is Arden FC one of the football clubs?",
        "Is Dun FC one of the football clubs?",
    ),
    "Are Arden and Foss both named after Ada Lunt?": (
        "Is Arden named after Ada Lunt?",
        "Is Foss named after Ada Lunt?",
    ),
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
    "Does Ada Lunt have the same nationality as Piet Korver?": (
        "What is the nationality of Ada Lunt?",
        "What is the nationality of Piet Korver?",
    ),
    "Was Ada Lunt born in the same town as Piet Korver?": (
        "Where was Ada Lunt born?",
        "Where was Piet Korver born?",
    ),
    "Do both Night Ferry and The Glass Hen films have the directors from the same country?": (
        "Who is the director of Night Ferry?",
        "What is the nationality of #1?",
        "Who is the director of The Glass Hen?",
        "What is the nationality of #3?",
    ),
    "Do Ada Lunt and Piet Korver have the same nationality?": (
        "What is the nationality of Ada Lunt?",
        "What is the nationality of Piet Korver?",
    ),
}


@pytest.mark.parametrize(
    "question",
    [
        "Who wrote The Hen and the Fox?",
        "Which bridge connects both Arden and Foss?",
        "Who is the father of Ada and Karl Lunt?",
        "Which physicist and chemist won the Golden Pip?",
        "What lies between both Arden and Foss?",
        "Was Ada Lunt born in Arden and buried in Foss?",
        "Where did Ada Lunt live and work?",
    ],
)
def test_a_question_with_an_and_stays_one(question: str) -> None:
    assert make_plan(question, 8, 2_000).questions == (question,)


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
    questions = make_plan(nested, 8, 2_000).questions
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


@pytest.mark.parametrize(
    "question",
    ["in which town does the person live who speaks norse", "In which town does the person live who speaks Norse?"],
)
def test_capitals_and_a_question_mark_are_not_needed(question: str) -> None:
    first, second = chain(question, 8)
    assert first.lower() == "who is the person who speaks norse?"
    assert second.lower() == "in which town does #1 live?"


@pytest.mark.parametrize(
    "question", ["What is the keeper live who speaks?", "In which town does the Tallow?", "in which town does Ada"]
)
def test_what_does_not_read_as_english_is_not_taken_apart(question: str) -> None:
    assert chain(question, 8) == (question,)


def test_a_side_is_given_by_its_whole_name() -> None:
    plan = make_plan("Which film was released first, Night Ferry or A Hen in Arden?", 8, 2_000)
    assert plan.conclude(["1950", "1940"]) == "A Hen in Arden"
    assert plan.conclude(["1930", "1940"]) == "Night Ferry"
    assert plan.conclude(["1930", None]) is None
    assert plan.conclude(["1930", "1930"]) is None


@pytest.mark.parametrize(
    ("question", "values", "answer"),
    [
        ("Does Ada Lunt have the same nationality as Piet Korver?", ("Dutch", "Dutch"), "yes"),
        ("Does Ada Lunt have the same nationality as Piet Korver?", ("Dutch", "Danish"), "no"),
        ("Who is older, Ada Lunt or Piet Korver?", ("1850", "1862"), "Ada Lunt"),
        ("Who is younger, Ada Lunt or Piet Korver?", ("1850", "1862"), "Piet Korver"),
        ("Who lived longer, Ada Lunt or Piet Korver?", ("1850", "1900", "1862", "1952"), "Piet Korver"),
    ],
)
def test_values_decide(question: str, values: tuple[str, ...], answer: str | None) -> None:
    assert make_plan(question, 8, 2_000).conclude(values) == answer
