"""Reading worlds of other kinds than the sample: science, companies, sport, cooking."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal
from unicodedata import normalize

import pytest

from counting import steps
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.language.tasks import Decompose, Finding, Integrate, Read, Reading, Recall
from hoptrail.recipes.trail import TrailSettings
from hoptrail.text.mentions import find_mentions
from hoptrail.text.normal_forms import folded, stands_in
from hoptrail.text.words import content_stems
from hoptrail.types import Kind, Span, Unit
from language.offline.outcomes import given
from world import HashingEncoder

MakeUnit = Callable[[str, str], Unit]


WORLD = {
    "Halden Valve": "The Halden Valve is a pressure valve for steam boilers. It was invented by Ada Lunt in 1884.",
    "Ada Lunt": "Ada Lunt (3 May 1850 – 12 June 1921) was a Norwegian engineer. She was born in Dunmere, the daughter of "
    "Karl Lunt and Berta Foss. She studied at the Arden Institute.",
    "Karl Lunt": "Karl Lunt was a watchmaker. He died in Port Arden in 1899.",
    "Piet Korver": "Piet Korver (born 7 January 1862) is a Dutch chemist. He discovered lunatin.",
    "Kestrel Cider": "Kestrel Cider is bottled by Orchard & Sons. It won the Golden Pip in 1931.",
    "Orchard & Sons": "Orchard & Sons is a drinks company based in Dunmere. The company was founded in 1902 and employs "
    "340 people.",
    "Arden FC": "Arden FC is a football club from Port Arden. Its coach is Tomas Reul.",
    "Brine soup": "Brine soup is a soup of samphire and cockles. The recipe was first published by Hanna Oke in 1911.",
}


@pytest.fixture
def world(passage: MakeUnit) -> tuple[Unit, ...]:
    return tuple(passage(title, text) for title, text in WORLD.items())


LANGUAGE = OfflineLanguage()
"""One for most tests, as an index has one for all its questions: it remembers what it has read."""


def read(question: str, evidence: tuple[Unit, ...], language: OfflineLanguage = LANGUAGE) -> Reading:
    return language.perform(Read(question, evidence)).value


def is_withheld(reading: Reading) -> bool:
    """Whether `trail` gives no answer by this reading, at most a guess."""
    return reading.answer is None or reading.confidence < TrailSettings().least_confidence


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who invented the Halden Valve?", "Ada Lunt"),
        ("When was Ada Lunt born?", "3 May 1850"),
        ("When did Ada Lunt die?", "12 June 1921"),
        ("In what year did the inventor of the Halden Valve die?", "12 June 1921"),
        ("Where was the inventor of the Halden Valve born?", "Dunmere"),
        ("Who is the father of Ada Lunt?", "Karl Lunt"),
        ("Where did Ada Lunt's father die?", "Port Arden"),
        ("When was the company that bottles Kestrel Cider founded?", "1902"),
        ("How many people does the company that bottles Kestrel Cider employ?", "340"),
        ("What is the nationality of the inventor of the Halden Valve?", "Norwegian"),
        ("Which prize did Kestrel Cider win?", "Golden Pip"),
        ("Who is the coach of Arden FC?", "Tomas Reul"),
        ("Who is older, Ada Lunt or Piet Korver?", "Ada Lunt"),
        ("Do Ada Lunt and Piet Korver have the same nationality?", "no"),
        ("Who published the recipe of brine soup?", "Hanna Oke"),
    ],
)
def test_answers(question: str, answer: str, world: tuple[Unit, ...]) -> None:
    assert read(question, world).answer == answer


@pytest.mark.parametrize(
    "question",
    [
        "Who wrote The Glass Hen?",
        "Where was the inventor of the Glass Hen born?",
        "What is the answer to this question?",
        "Wer hat das Halden-Ventil erfunden?",
        "¿Quién inventó la válvula?",
        "誰がこの橋を設計しましたか",
        "",
        "?",
        "\x00\x01\x02",
        "\ud800 who",
    ],
)
def test_left_unanswered(question: str, world: tuple[Unit, ...]) -> None:
    assert is_withheld(read(question, world))


@pytest.mark.parametrize(
    "question",
    [
        "Who is the brother of Ada Lunt?",
        "Who is the spouse of the inventor of the Halden Valve?",
        "When did Piet Korver die?",
        "When was Arden FC founded?",
    ],
)
def test_what_nobody_says_is_left_unanswered(question: str, world: tuple[Unit, ...]) -> None:
    assert is_withheld(read(question, world))


HOLMS = {
    "Ada Brun": "Ada Brun (2 March 1830 – 4 May 1899) was an architect. She was born in Velm. She also was a singer.",
    "Karl Holm": "Karl Holm (3 June 1834 – 1 January 1910) was a Norwegian painter, the son of a poet.",
    "Nils Berg": "Nils Berg is a poet from Velm. He was a pupil of the painter Karl Holm.",
    "Petra Holm": "Petra Holm lived in Velm. Her brother was the painter Karl Holm. Her brother was born in Oslo.",
    "Ida Brun": "Ida Brun was a painter's wife. Karl Holm was a guest of hers.",
    "Low Tarn": "Low Tarn is a genus of shrubs. It grows in Velm.",
}


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Was Ada Brun born before Karl Holm?", "yes"),
        ("Did Ada Brun die before Karl Holm?", "yes"),
        ("Is Ada Brun younger than Karl Holm?", "no"),
    ],
)
def test_dates_of_two_lives_are_compared(question: str, answer: str, passage: MakeUnit) -> None:
    assert read(question, tuple(passage(title, text) for title, text in HOLMS.items())).answer == answer


MISREAD = pytest.mark.xfail(reason="the reader takes what is said of another, or in part, for a yes", strict=False)


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("Was Nils Berg born before Karl Holm?", {None}),
        ("Was Ada Brun born two years before Karl Holm?", {None}),
        ("Was Ada Brun born in Velm?", {"yes", None}),
        ("Was Ada Brun born in Oslo?", {"no", None}),
        ("Was Ada Brun an architect?", {"yes", None}),
        ("Was Ada Brun never a singer?", {"no", None}),
        pytest.param("Was Karl Holm a poet?", {"no", None}, marks=MISREAD),
        pytest.param("Was Petra Holm born in Oslo?", {"no", None}, marks=MISREAD),
    ],
)
def test_no_wrong_yes_or_no_is_given(question: str, answers: set[str | None], passage: MakeUnit) -> None:
    assert given(read(question, tuple(passage(title, text) for title, text in HOLMS.items()))) in answers


def test_without_evidence_nothing_is_answered() -> None:
    assert read("Who invented the Halden Valve?", ()) == Reading(None)


def test_steps_show_one_hop_each_with_exact_spans(world: tuple[Unit, ...]) -> None:
    reading = read("Where did Ada Lunt's father die?", world)
    assert [(step.question, step.answer) for step in reading.steps] == [
        ("Who is Ada Lunt's father?", "Karl Lunt"),
        ("Where did Karl Lunt die?", "Port Arden"),
    ]
    unit = next(unit for unit in world if unit.title == "Karl Lunt")
    (span,) = reading.steps[1].support
    assert span.document == unit.document
    assert unit.text[span.start - 7 : span.end - 7] == "He died in Port Arden in 1899."


def test_a_comparison_ends_in_a_step_with_the_support_of_both_sides(world: tuple[Unit, ...]) -> None:
    reading = read("Who is older, Ada Lunt or Piet Korver?", world)
    assert len(reading.steps) == 3
    assert reading.steps[2].support == (*reading.steps[0].support, *reading.steps[1].support)


def test_support_of_a_derived_unit_is_the_source_of_its_line() -> None:
    text = "The Halden Valve is a pressure valve.\nIt was invented by Ada Lunt in 1884."
    sources = (Span("d1", 3, 40), Span("d2", 50, 90))
    derived = Unit("u", Kind.AGGREGATE, "Halden Valve", text, sources)
    assert read("Who invented the Halden Valve?", (derived,)).steps[0].support == (sources[1],)
    joined = Unit("u", Kind.SUMMARY, "Halden Valve", text.replace("\n", " "), sources)
    assert read("Who invented the Halden Valve?", (joined,)).steps[0].support == sources


def test_order_and_repeats_of_evidence_do_not_change_the_answer(world: tuple[Unit, ...]) -> None:
    question = "Where was the inventor of the Halden Valve born?"
    assert read(question, world[::-1] + world).answer == read(question, world).answer


def test_an_encoder_only_orders_candidates(world: tuple[Unit, ...]) -> None:
    language = OfflineLanguage(HashingEncoder())
    assert language.perform(Read("Where did Ada Lunt's father die?", world)).value.answer == "Port Arden"
    assert language.perform(Read("Who wrote The Glass Hen?", world)).value.answer is None


@pytest.mark.parametrize(
    ("question", "values", "answer"),
    [
        ("Is Ada Lunt older than Piet Korver?", ("1850", "1862"), "yes"),
        ("Do Ada Lunt and Piet Korver have the same trade?", ("weaver", "smith"), "no"),
    ],
)
def test_a_claim_is_decided_by_the_values_of_its_sides(question: str, values: Sequence[str], answer: str) -> None:
    steps = OfflineLanguage().perform(Decompose(question)).value.questions
    findings = tuple(Finding(step, step, value) for step, value in zip(steps, values, strict=True))
    assert OfflineLanguage().perform(Integrate(question, findings, ())).value.answer == answer


def test_a_number_of_a_room_is_no_open_reference(passage: MakeUnit) -> None:
    rooms = (passage("Rooms", "Room #12b belongs to Ida Berg."),)
    assert OfflineLanguage().perform(Read("Who does room #12b belong to?", rooms)).value.answer == "Ida Berg"


def test_what_findings_conclude_cites_the_line_that_says_it_in_whole_words(passage: MakeUnit) -> None:
    arden = passage("Arden", "Arden burnt down in 1912. It burnt for 12 days. The north wind is known to be cold.")

    def cited(question: str, *answers: str) -> list[str]:
        asked = OfflineLanguage().perform(Decompose(question)).value.questions
        findings = tuple(Finding(one, one, answer) for one, answer in zip(asked, answers, strict=True))
        reading = OfflineLanguage().perform(Integrate(question, findings, (arden,))).value
        return [arden.text[span.start - 7 : span.end - 7] for span in reading.steps[-1].support]

    assert cited("How many boats has Foss?", "12") == ["It burnt for 12 days."]
    assert cited("How many boats has Foss?", "91") == []
    assert cited("Are Ada Lunt and Piet Korver both painters?", "yes", "no") == []


@pytest.mark.parametrize(("asked", "written"), [("NFC", "NFD"), ("NFD", "NFC"), ("NFD", "NFD")])
def test_c8_accents_are_read_however_they_are_stored(
    asked: Literal["NFC", "NFD"], written: Literal["NFC", "NFD"], passage: MakeUnit
) -> None:
    title, text = "Jörg Weiß", "Jörg Weiß was a Norwegian engineer. He was born in München."
    page = passage(normalize(written, title), normalize(written, text))
    question = normalize(asked, "Where was Jörg Weiß born?")
    assert read(question, (page,)).answer == normalize(written, "München")


def test_c8_accents_and_soft_hyphens_make_no_other_name() -> None:
    assert folded("Mün\u00adchen") == folded(normalize("NFD", "München")) == "münchen"
    assert folded("Munchen") != "münchen"
    assert content_stems("mün\u00adchener brücken") == content_stems(normalize("NFD", "münchener brücken"))


@pytest.mark.parametrize("space", ["\u00a0", "\u2009", "\u202f", "\u3000", "\n"])
def test_c8_names_and_figures_go_on_over_any_space(space: str) -> None:
    found = find_mentions(f"It was built by Ada{space}Lunt for 2.5{space}million crowns.")
    assert [mention.text for mention in found] == ["Ada Lunt", "2.5 million"]


@pytest.mark.parametrize(
    ("answer", "sentence", "there"),
    [
        ("12", "the mill had 12 rooms, 3 of them dry.", True),
        ("12", "it was built in 12.", True),
        ("12", "the mill had 12,000 stones.", False),
        ("000", "the mill had 12,000 stones.", False),
        ("5", "it stands 3.5 miles away.", False),
        ("12,000", "the mill had 12,000 stones.", True),
        ("mill", "the miller came.", False),
        ("mill", "the mill,3 came.", True),
    ],
)
def test_an_answer_stands_in_a_sentence_as_a_whole_word_or_number(answer: str, sentence: str, *, there: bool) -> None:
    assert stands_in(answer, sentence) is there


def test_cells_of_a_table_are_names_of_their_own() -> None:
    assert [mention.text for mention in find_mentions("Oslo\tBergen\tPort Arden")] == ["Oslo", "Bergen", "Port Arden"]


def test_recall_always_abstains_and_usage_is_seconds_only() -> None:
    reply = OfflineLanguage().perform(Recall("What is the capital of Norway?"))
    assert reply.value == Reading(None)
    assert (reply.usage.calls, reply.usage.prompt_tokens, reply.usage.completion_tokens) == (0, 0, 0)
    assert reply.usage.seconds > 0


@pytest.mark.parametrize(
    "question",
    [
        "a" * 300_000,
        "Which " * 60_000,
        "((((" * 75_000,
        "A or B, " * 40_000,
        "the X of " * 33_000,
        "'s " * 100_000,
        "who is " + "the son of the daughter of " * 40 + "Ada Lunt?",
        "#1 " * 100_000,
        "“" * 300_000,
        "1,1" * 100_000,
    ],
    ids=lambda question: question[:12],
)
def test_huge_and_odd_questions_take_little_time(question: str, world: tuple[Unit, ...]) -> None:
    read(question, world)  # a quadratic pattern takes longer than a test may


@pytest.mark.parametrize(
    "text", ["a" * 300_000, "(1900 – " * 40_000, "Ada " * 75_000, "* \n" * 100_000, "A. " * 100_000, "1," * 150_000]
)
def test_huge_and_odd_evidence_takes_little_time(text: str, passage: MakeUnit) -> None:
    read("Where was Ada Lunt born?", (passage("Ada Lunt", text),))


def test_twenty_passages_take_twice_the_work_of_ten(passage: MakeUnit) -> None:
    filler = " ".join(f"In {1900 + at} the Orrin Works of Dunmere sold {at} valves to Karl Lunt." for at in range(4))
    evidence = tuple(
        passage(f"{title} {at}" if at else title, f"{text} {filler}")
        for at in range(3)
        for title, text in WORLD.items()
    )[:20]

    answers: list[str | None] = []

    def work(passages: int) -> int:
        question, language = "Where was the inventor of the Halden Valve born?", OfflineLanguage()
        return steps(lambda: answers.append(read(question, evidence[:passages], language).answer))

    work(20)  # what the reader has read once, it remembers
    assert work(20) < 2.5 * work(10)
    assert set(answers) == {"Dunmere"}


def test_a_question_about_somebody_nobody_mentions_is_left_unanswered(world: tuple[Unit, ...]) -> None:
    assert read("When was Oswin Tarrant born?", world).answer is None
    assert read("Which town did Ada Lunt and Oswin Tarrant both visit?", world).answer is None
