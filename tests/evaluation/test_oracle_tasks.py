"""The oracle task by task: it answers only what gold passages in the evidence show."""

from __future__ import annotations

import pytest

from evaluation.oracle_world import (
    CHAIN,
    DOCUMENTS,
    LENGTHS,
    LONGER,
    STEPS,
    UNITS,
    cited,
    evidence,
    make_findings,
    oracle_of,
    read,
)
from hoptrail.errors import TaskFailed, UsageError
from hoptrail.evaluation.datasets import GoldStep, Question
from hoptrail.language.factory import open_language
from hoptrail.language.tasks import (
    Assess,
    Complete,
    Decompose,
    Extract,
    Finding,
    Integrate,
    Read,
    Reading,
    Recall,
    Summarise,
    Verify,
)
from hoptrail.types import Kind, Span, Unit
from hoptrail_papers.oracle import OracleLanguage
from world import make_document, make_passage


class TestReading:
    def test_the_right_words_elsewhere_are_not_the_gold_passage(self) -> None:
        oracle = oracle_of(CHAIN)
        text = "Which river flows through Wrenmouth?"
        assert read(oracle, text, "song", "river", "bridge") is None
        assert read(oracle, text, "song", "town") == "Isk"

    def test_a_reference_left_open_is_unanswered_even_with_the_gold_passage(self) -> None:
        oracle = oracle_of(CHAIN)
        oracle.perform(Decompose(CHAIN.question, make_findings("Orla Finch", "Wrenmouth", None), one_at_a_time=True))
        assert read(oracle, "Where does #3 rise?", "river") is None
        oracle.perform(Decompose(CHAIN.question, make_findings("Orla Finch", "Wrenmouth", "Isk"), one_at_a_time=True))
        assert read(oracle, "Where does #3 rise?", "river") is None
        assert read(oracle, "where does ISK rise", "river") == "Grey Hills"

    def test_own_words_mean_the_step_that_the_recipe_is_at(self) -> None:
        oracle = oracle_of(CHAIN)
        oracle.perform(Decompose(CHAIN.question, make_findings("Orla Finch"), one_at_a_time=True))
        assert read(oracle, "Birthplace of the bridge's designer?", "finch") == "Wrenmouth"
        assert read(oracle, "Birthplace of the bridge's designer?", "bridge", "town", "river") is None

    def test_own_words_for_a_step_that_rests_on_nothing_are_unanswered(self) -> None:
        oracle = oracle_of(CHAIN)
        oracle.perform(Decompose(CHAIN.question, make_findings("Orla Finch", None), one_at_a_time=True))
        assert read(oracle, "The river of the birthplace?", "town") is None

    def test_words_that_fit_nothing_are_unanswered(self) -> None:
        assert read(oracle_of(CHAIN), "Who sang the song?", *UNITS) is None

    def test_the_whole_needs_every_supporting_passage(self) -> None:
        oracle = oracle_of(CHAIN)
        assert read(oracle, CHAIN.question, "bridge", "finch", "river", "song") is None
        assert read(oracle, CHAIN.question, "bridge", "finch", "river", "town") == "Grey Hills"

    def test_a_question_without_gold_passages_is_unanswered(self) -> None:
        bare = Question("bare", "Who sang?", ("Nobody",))
        oracle = oracle_of(bare)
        assert read(oracle, bare.question, *UNITS) is None
        assert read(oracle, bare.question) is None

    def test_it_costs_nothing(self) -> None:
        usage = oracle_of(CHAIN).perform(Read(CHAIN.question, ())).usage
        assert (usage.calls, usage.prompt_tokens, usage.completion_tokens) == (0, 0, 0)


class TestSupport:
    def test_the_sentence_with_the_answer_of_every_step(self) -> None:
        reading = oracle_of(CHAIN).perform(Read(CHAIN.question, evidence("river", "song", *CHAIN.supporting))).value
        assert cited(reading) == [
            "Orla Finch designed the Tallow Bridge.",
            "Orla Finch was born in Wrenmouth.",
            "The Isk runs past its walls and on to the sea.",
            "It does rise in the Grey Hills.",
        ]

    def test_else_the_supporting_sentences_else_the_passage(self) -> None:
        """No sentence can hold a "yes"; of the Arrow no supporting sentence is known."""
        reading = oracle_of(LONGER).perform(Read(LONGER.question, evidence("river", "arrow"))).value
        assert cited(reading) == ["The Isk is 90 km long.", "The Arrow is 40 km long."]

    def test_a_supporting_sentence_is_preferred_among_those_with_the_answer(self) -> None:
        twice = make_document("Orla", "Orla drew Wrenmouth. Orla left Wrenmouth. Orla slept.")
        question = Question("q", "Where?", ("Wrenmouth",), None, ("twice",), (("twice", 1), ("twice", 9)))
        oracle = OracleLanguage()
        oracle.follow(question, {twice.id: ["twice"]}, lambda _: {twice.id: twice})
        step = oracle.perform(Read("Where?", (make_passage(twice),))).value.steps[0]
        assert [twice.slice(span) for span in step.support] == ["Orla left Wrenmouth."]

    def test_it_stays_inside_what_was_handed_over(self) -> None:
        """One sentence of the gold passage, and not the one with the answer."""
        document = DOCUMENTS["finch"]
        part = Span(document.id, 5, 22)
        unit = Unit("u", Kind.SENTENCE, document.title, document.slice(part), (part,))
        reading = oracle_of(CHAIN).perform(Read("Where was Orla Finch born?", (unit,))).value
        assert reading.answer == "Wrenmouth"
        assert reading.steps[0].support == (part,)

    def test_a_derived_unit_counts_for_what_it_was_made_from(self) -> None:
        sources = tuple(span for name in ("song", "finch") for span in UNITS[name].sources)
        question = "Where was Orla Finch born?"
        gathered = Unit("u", Kind.AGGREGATE, "", "Facts in other words.", sources)
        assert cited(oracle_of(CHAIN).perform(Read(question, (gathered,))).value) == [
            "Orla Finch was born in Wrenmouth."
        ]

    def test_a_summary_counts_for_what_it_keeps_word_for_word(self) -> None:
        sources = tuple(span for name in ("song", "finch") for span in UNITS[name].sources)
        for text, answer in (("In other words.", None), ("Orla Finch was born in Wrenmouth. So it is.", "Wrenmouth")):
            summary = Unit("u", Kind.SUMMARY, "", text, sources)
            assert oracle_of(CHAIN).perform(Read("Where was Orla Finch born?", (summary,))).value.answer == answer


class TestDecomposing:
    def test_all_at_once_and_one_at_a_time(self) -> None:
        oracle = oracle_of(CHAIN)
        assert oracle.perform(Decompose(CHAIN.question)).value.questions == tuple(step.question for step in STEPS)
        for hops, step in enumerate(STEPS):
            findings = make_findings(*(["x"] * hops))
            given = oracle.perform(Decompose(CHAIN.question, findings, one_at_a_time=True)).value.questions
            assert given == (step.question,)
        assert (
            oracle.perform(Decompose(CHAIN.question, make_findings(*"abcd"), one_at_a_time=True)).value.questions == ()
        )

    def test_findings_in_other_words_count_by_their_place(self) -> None:
        findings = (Finding("Bridge maker?", "Bridge maker?", "Orla Finch"),)
        given = oracle_of(CHAIN).perform(Decompose(CHAIN.question, findings, one_at_a_time=True)).value
        assert given.questions == (STEPS[1].question,)

    def test_a_step_asked_again_is_not_a_further_step(self) -> None:
        findings = (*make_findings(None), *make_findings("Orla Finch"))
        given = oracle_of(CHAIN).perform(Decompose(CHAIN.question, findings, one_at_a_time=True)).value
        assert given.questions == (STEPS[1].question,)

    def test_an_unanswered_try_at_the_whole_question_is_no_step_an_answered_one_is_all(self) -> None:
        oracle = oracle_of(CHAIN)
        for answer, following in ((None, (STEPS[0].question,)), ("Grey Hills", ())):
            findings = (Finding(CHAIN.question, CHAIN.question, answer),)
            assert oracle.perform(Decompose(CHAIN.question, findings, one_at_a_time=True)).value.questions == following

    def test_a_sub_question_is_not_split_further(self) -> None:
        oracle = oracle_of(CHAIN)
        text = "Where was Orla Finch born?"
        assert oracle.perform(Decompose(text)).value.questions == (text,)
        once = (Finding(text, text, None),)
        assert oracle.perform(Decompose(text, once, one_at_a_time=True)).value.questions == ()


class TestCompleting:
    def test_only_answers_that_were_found_are_put_in(self) -> None:
        both = Question(
            "both",
            "How?",
            ("so",),
            None,
            ("bridge",),
            decomposition=(*STEPS[:2], GoldStep("How did #1 leave #2, by #7?", "so", "song")),
        )
        oracle = oracle_of(both)
        for answers, words in (
            (("Orla Finch", "Wrenmouth"), "How did Orla Finch leave Wrenmouth, by #7?"),
            ((None, "Wrenmouth"), "How did #1 leave Wrenmouth, by #7?"),
            ((None, None), "How did #1 leave #2, by #7?"),
        ):
            assert oracle.perform(Complete("How did #1 leave #2, by #7?", make_findings(*answers))).value == words

    def test_own_words_become_the_gold_words(self) -> None:
        oracle = oracle_of(CHAIN)
        assert (
            oracle.perform(Complete("And where was she born?", make_findings("Orla Finch"))).value
            == "Where was Orla Finch born?"
        )
        assert oracle.perform(Complete("And where was she born?", make_findings(None))).value == "Where was #1 born?"

    def test_what_stands_alone_stays(self) -> None:
        oracle = oracle_of(CHAIN)
        assert oracle.perform(Complete(CHAIN.question, make_findings("Orla Finch"))).value == CHAIN.question
        assert oracle.perform(Complete("Further?", make_findings(*"abcd"))).value == "Further?"


class TestAssessingAndIntegrating:
    @pytest.mark.parametrize(
        ("text", "seen", "answer", "expected"),
        [
            ("Where was Orla Finch born?", ("finch",), None, 1.0),
            ("Where was Orla Finch born?", ("finch",), "the Wrenmouth", 1.0),
            ("Where was Orla Finch born?", ("finch",), "Dunmere", 0.0),
            ("Where was Orla Finch born?", ("song",), "Wrenmouth", 0.0),
            (CHAIN.question, CHAIN.supporting, None, 1.0),
            (CHAIN.question, CHAIN.supporting[:3], None, 0.0),
            ("What else?", tuple(UNITS), None, 0.0),
        ],
    )
    def test_assess(self, text: str, seen: tuple[str, ...], answer: str | None, expected: float) -> None:
        shown = evidence(*seen)
        task = Assess(text, shown) if answer is None else Verify(text, shown, answer)
        assert oracle_of(CHAIN).perform(task).value == expected

    @pytest.mark.parametrize(
        ("answers", "seen", "expected"),
        [
            (("Orla Finch", "Wrenmouth", "Isk", "Grey Hills"), (), "Grey Hills"),
            (("Orla Finch", "Wrenmouth", None, None), CHAIN.supporting, None),
            (("Orla Finch", "Wrenmouth", "Isk"), CHAIN.supporting, None),
            ((), CHAIN.supporting, "Grey Hills"),
            ((), CHAIN.supporting[1:], None),
        ],
    )
    def test_integrate(self, answers: tuple[str | None, ...], seen: tuple[str, ...], expected: str | None) -> None:
        reading = oracle_of(CHAIN).perform(Integrate(CHAIN.question, make_findings(*answers), evidence(*seen))).value
        assert reading.answer == expected

    def test_a_plan_of_one_step_may_be_settled_by_the_evidence(self) -> None:
        oracle = oracle_of(LONGER)
        unanswered = (Finding(LONGER.question, LONGER.question, None),)
        assert oracle.perform(Integrate(LONGER.question, unanswered, evidence("river", "arrow"))).value.answer == "yes"
        assert oracle.perform(Integrate(LONGER.question, unanswered, evidence("river"))).value.answer is None

    def test_branches_that_rest_on_nothing_are_answered_apart_and_concluded_together(self) -> None:
        oracle = oracle_of(LENGTHS)
        assert read(oracle, "Isk >> length", "arrow") is None
        assert read(oracle, "Arrow >> length", "arrow") == "40 km"
        for first, expected in ((None, None), ("90 km", "Isk")):
            findings = (Finding("Isk >> length", "", first), Finding("Arrow >> length", "", "40 km"))
            assert oracle.perform(Integrate(LENGTHS.question, findings)).value.answer == expected


class TestWhatItCannotDo:
    def test_extract_has_no_gold_and_a_summary_needs_none(self) -> None:
        oracle = oracle_of(CHAIN)
        with pytest.raises(TaskFailed, match=r"extract: the oracle has no gold"):
            oracle.perform(Extract(UNITS["song"]))
        assert 1 <= len(oracle.perform(Summarise(evidence("song"), 10)).value.split()) <= 10

    def test_it_has_no_memory_of_its_own(self) -> None:
        assert oracle_of(CHAIN).perform(Recall(CHAIN.question)).value == Reading(None)

    def test_without_a_question_to_follow_it_says_where_it_serves(self) -> None:
        with pytest.raises(TaskFailed, match="hoptrail evaluate"):
            OracleLanguage().perform(Read(CHAIN.question, evidence("song")))

    def test_it_is_no_language_for_asking(self) -> None:
        with pytest.raises(UsageError, match="oracle"):
            open_language("oracle")
