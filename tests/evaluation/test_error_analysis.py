"""The first cause of errors: one trail for each cause, made by hand over a chain of four passages, and real runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from command import Hoptrail
from evaluation.bench import Bench
from evaluation.made_runs import hop, made_run, passages_of, reading, result, with_trails
from evaluation.oracle_world import CHAIN, LONGER, STEPS
from hoptrail.errors import UsageError
from hoptrail.evaluation.datasets import GoldStep, Question
from hoptrail.evaluation.results import HopRecord, ReadingRecord, TrailRecord
from hoptrail_papers.error_analysis import Cause, Diagnosis, analyse_errors

BRIDGE = hop("Who designed the Tallow Bridge?", ["bridge", "song"], "Orla Finch")
FINCH = hop("Where was Orla Finch born?", ["finch"], "Wrenmouth")
TOWN = hop("Which river flows through Wrenmouth?", ["song", "town"], "the Isk")
RIVER = hop("Where does the Isk rise?", ["river"], "in the Grey Hills")
WHOLE = hop(CHAIN.question, ["bridge", "finch", "town", "river"], "Dunmere")


def diagnose(
    hops: Sequence[HopRecord],
    readings: Sequence[ReadingRecord] | None = None,
    question: Question = CHAIN,
    *,
    abstained: bool = False,
    outside: tuple[str, ...] = (),
) -> Diagnosis:
    """Diagnose a wrong answer after these hops; by default each was read with all that it found."""
    wrong = result(question.id, 0)
    if abstained:
        wrong = replace(wrong, prediction=None, abstained=True)
    given = [reading(one.asked, passages_of(one), one.answer) for one in hops] if readings is None else readings
    run = made_run("selfask", [question], [wrong])
    run = replace(run, header=replace(run.header, outside_pool=outside))
    trail = TrailRecord(question.id, "", tuple(hops), readings=tuple(given))
    (diagnosis,) = analyse_errors(with_trails(run, trail)).diagnoses
    assert diagnosis.abstained == abstained
    return diagnosis


def cause_of(*hops: HopRecord, **more: object) -> tuple[Cause, str]:
    found = diagnose(hops, **more)  # type: ignore[arg-type]
    return found.cause, found.why


# --- recipes that ask sub-questions


def test_not_in_the_pool() -> None:
    assert cause_of(BRIDGE, FINCH, TOWN, RIVER, outside=("river",)) == (Cause.NOT_IN_POOL, "river")


def test_not_ranked() -> None:
    """The third sub-question is the right one, but finds the song only."""
    missed = hop(TOWN.asked, ["song"], None)
    assert cause_of(BRIDGE, FINCH, missed) == (Cause.NOT_RANKED, "town")
    assert cause_of(BRIDGE, FINCH, missed, abstained=True) == (Cause.NOT_RANKED, "town")


def test_not_handed_over() -> None:
    missed = replace(TOWN, answer=None)
    readings = [reading(one.asked, passages_of(one), one.answer) for one in (BRIDGE, FINCH)]
    readings.append(reading(TOWN.asked, ["song"], None))
    assert cause_of(BRIDGE, FINCH, missed, readings=readings) == (Cause.NOT_HANDED_OVER, "town")


@pytest.mark.parametrize("answer", [None, "the Arrow"])
def test_not_read(answer: str | None) -> None:
    missed = replace(TOWN, answer=answer)
    assert cause_of(BRIDGE, FINCH, missed) == (Cause.NOT_READ, "Which river flows through #2?")


def test_wrong_decomposition() -> None:
    """No sub-question asks for the designer, or none follows once the birthplace is known."""
    other = hop("How long is the sea wall of Dunmere?", ["song"], "40 km")
    assert cause_of(other) == (Cause.WRONG_DECOMPOSITION, "Who designed the Tallow Bridge?")
    assert cause_of(BRIDGE, FINCH) == (Cause.WRONG_DECOMPOSITION, "Which river flows through #2?")


def test_wrong_completion() -> None:
    """The birthplace is known, but the next sub-question does not name it."""
    lost = replace(hop("Which river flows through it?", ["song"], "the Arrow"))
    assert cause_of(BRIDGE, FINCH, lost) == (Cause.WRONG_COMPLETION, "Which river flows through #2?")
    kept = hop("Which river flows through #2?", ["song"], None)
    assert cause_of(BRIDGE, FINCH, kept)[0] is Cause.NOT_RANKED  # it has the step's own words


def test_naming_the_needed_answer_asks_only_a_relation() -> None:
    """The sub-question names the town but asks for something else, so the decomposition was wrong, not the completion."""
    other = hop("How many people live in Wrenmouth?", ["town"], "40")
    assert cause_of(BRIDGE, FINCH, other) == (Cause.WRONG_DECOMPOSITION, "Which river flows through #2?")
    related = [
        GoldStep("#2 >> river", step.answer, step.supporting) if "river" in step.question else step for step in STEPS
    ]
    question = replace(CHAIN, decomposition=tuple(related))
    assert cause_of(BRIDGE, FINCH, other, question=question) == (Cause.NOT_READ, "#2 >> river")


def test_the_question_in_another_order_is_no_sub_question() -> None:
    turned = hop(
        "Of the Tallow Bridge designer's birthplace, the river does rise in which hills?", passages_of(WHOLE), "no"
    )
    assert cause_of(turned) == (Cause.NOT_READ, "all gold passages were handed over")


def test_articles_do_not_make_a_sub_question_ask_a_step() -> None:
    """It has one of three content words of "Who designed the Tallow Bridge?"."""
    other = hop("Who painted the bridge of the town?", ["bridge"], "Ada")
    assert cause_of(other) == (Cause.WRONG_DECOMPOSITION, "Who designed the Tallow Bridge?")


@pytest.mark.parametrize("said", ["Hills", "in the Grey Hills of Dorn"])
def test_partly_right(said: str) -> None:
    wrong = replace(result(CHAIN.id, 0.5), prediction=said)
    (diagnosis,) = analyse_errors(with_trails(made_run("selfask", [CHAIN], [wrong]))).diagnoses
    assert (diagnosis.cause, diagnosis.why) == (Cause.PARTLY_RIGHT, f"{said!r} for 'Grey Hills'")


def test_yes_and_no_are_never_partly_right() -> None:
    wrong = replace(result(LONGER.id, 0), prediction="yes or no")
    (diagnosis,) = analyse_errors(with_trails(made_run("bm25", [LONGER], [wrong]))).diagnoses
    assert diagnosis.cause is not Cause.PARTLY_RIGHT


def test_wrong_integration() -> None:
    assert cause_of(BRIDGE, FINCH, TOWN, RIVER) == (Cause.WRONG_INTEGRATION, "every step was answered")


def test_a_later_step_implies_the_steps_it_needs() -> None:
    """The bridge's designer was never named, but the river was found, so the chain broke after it."""
    skipping = hop("Which river flows through the birthplace of the designer of the Tallow Bridge?", ["town"], "Isk")
    assert cause_of(skipping) == (Cause.WRONG_DECOMPOSITION, "Where does #3 rise?")
    lost = hop("Where does this river rise?", ["song"], None)
    assert cause_of(skipping, lost) == (Cause.WRONG_COMPLETION, "Where does #3 rise?")


# --- recipes that read once


def test_one_reading_is_judged_by_the_gold_passages_of_the_question() -> None:
    assert cause_of(WHOLE) == (Cause.NOT_READ, "all gold passages were handed over")
    missed = replace(WHOLE, hits=WHOLE.hits[:2])
    assert cause_of(missed) == (Cause.NOT_RANKED, "river")
    cut = [reading(CHAIN.question, ["bridge", "finch", "river"], "Dunmere")]
    assert cause_of(WHOLE, readings=cut) == (Cause.NOT_HANDED_OVER, "town")


# --- what cannot be told


def test_causes_without_gold_steps() -> None:
    isk, arrow = hop("How long is the Isk?", ["river"], "90 km"), hop("How long is the Arrow?", ["arrow"], "40 km")
    cause, why = cause_of(isk, arrow, question=LONGER)
    assert (cause, "without gold steps" in why) == (Cause.UNKNOWN, True)
    cause, why = cause_of(isk, question=LONGER)
    assert (cause, why.startswith("arrow was not ranked")) == (Cause.UNKNOWN, True)
    cut = [reading(isk.asked, ["river"], "90 km")]
    assert cause_of(isk, arrow, question=LONGER, readings=cut) == (Cause.NOT_HANDED_OVER, "arrow")
    unread = [*(reading(one.asked, passages_of(one), one.answer) for one in (isk, arrow))]
    unread.append(reading(LONGER.question, ["river", "arrow"], "no"))
    assert cause_of(isk, arrow, question=LONGER, readings=unread)[0] is Cause.NOT_READ
    joined = [*unread[:2], replace(unread[2], task="integrate")]
    assert cause_of(isk, arrow, question=LONGER, readings=joined)[0] is Cause.UNKNOWN
    right = hop("Is the Isk longer?", ["river", "arrow"], "yes")
    assert cause_of(right, question=LONGER)[0] is Cause.WRONG_INTEGRATION


def test_the_cause_is_unknown_without_gold_or_trail() -> None:
    bare = replace(LONGER, supporting=())
    assert cause_of(BRIDGE, question=bare) == (Cause.UNKNOWN, "the question has no gold passages")
    (diagnosis,) = analyse_errors(with_trails(made_run("bm25", [CHAIN], [result("chain", 0)]))).diagnoses
    assert (diagnosis.cause, diagnosis.why) == (Cause.UNKNOWN, "no trail was kept")


def test_right_and_failed_answers_have_no_cause() -> None:
    questions = [replace(CHAIN, id=name) for name in ("right", "failed", "missing", "near")]
    failed = replace(result("failed", 0), error="overloaded", prediction=None, score=None)
    run = with_trails(made_run("bm25", questions, [result("right", 1), failed, result("near", 0.5)]))
    analysis = analyse_errors(run)
    assert (analysis.questions, analysis.right, analysis.failed) == (4, 1, 2)
    assert [one.question for one in analysis.diagnoses] == ["near"]
    assert analysis.count(Cause.UNKNOWN, abstained=False) == 1
    retrieved = replace(run, header=replace(run.header, retrieval_only=True))
    with pytest.raises(UsageError, match="no answers"):
        analyse_errors(retrieved)


# --- real runs


def test_a_gold_passage_that_no_unit_was_made_from(bench: Bench) -> None:
    """An empty text has no passage."""
    bench.write("corpus.jsonl", [{"id": "a", "title": "A", "text": "Isk."}, {"id": "empty", "title": "", "text": ""}])
    bench.write("questions.jsonl", [{"id": "q1", "question": "Isk?", "answers": ["x"], "supporting": ["a", "empty"]}])
    bench.run(replies=None)
    run = bench.only_run()
    assert run.header.outside_pool == ("empty",)
    assert [one.cause for one in analyse_errors(run).diagnoses] == [Cause.NOT_IN_POOL]


def test_the_command(bench: Bench, hoptrail: Hoptrail) -> None:
    """Keyword search misses q1's second passage, q2 is partly right, q3 finds nothing, and q4 fails."""
    bench.run()
    folder = bench.only_run().path
    ended = hoptrail("errors", folder)
    assert ended.code == 0, ended.err
    rows = dict(re.split(r" {2,}", line, maxsplit=1) for line in ended.out.splitlines() if "  " in line)
    assert (rows["partly right"], rows["not ranked"], rows["right"], rows["failed"]) == ("1 + 0", "0 + 1", "1", "1")
    given = hoptrail("errors", folder, "--json").json["bm25"]
    assert given["wrong"]["partly right"] == given["abstained"]["not ranked"] == 1
    assert [one["question"] for one in given["diagnoses"]] == ["q2", "q3"]
    assert hoptrail("errors", Path("nothing")).code == 2
