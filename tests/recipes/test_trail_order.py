"""The order of the passages of an answer by `trail`."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from hoptrail.language.tasks import Reading
from hoptrail.recipes.answering import CitedHop
from hoptrail.recipes.trail import Opinion, order_by_reading
from hoptrail.retrieval.rankings import without_repeats
from hoptrail.types import Hit, Hop, Kind, Ranking, Span, Unit, Verdict

LENGTH = 100


def hit(name: str, channel: str = "direct") -> Hit:
    return Hit(Unit(f"unit {name}", Kind.PASSAGE, name, "x" * LENGTH, (Span(name, 0, LENGTH),)), 0.5, channel)


FOUND: Ranking = tuple(map(hit, "ABCDEFGH"))


def cite(*names: str) -> tuple[Span, ...]:
    return tuple(Span(name, 10, 20) for name in names)


def hop(hits: str, *, answer: str | None, cites: Sequence[str] = ()) -> CitedHop:
    verdict = Verdict.UNANSWERED if answer is None else Verdict.ANSWERED
    return CitedHop(Hop("Who?", "Who?", tuple(map(hit, hits)), answer, verdict), cite(*cites))


def ordered(*opinions: Opinion, found: Ranking = FOUND) -> str:
    hits = [hit for opinion in opinions for cited in opinion.hops for hit in cited.hop.hits]
    return "".join(hit.unit.title for hit in order_by_reading(found, without_repeats((*found, *hits)), opinions))


def test_what_is_cited_comes_after_the_two_best() -> None:
    assert ordered(Opinion(Reading("yes", confidence=0.9), [hop("ABCDEF", answer="yes", cites="FD")])) == "ABFDCEGH"


def test_the_surer_opinion_comes_first() -> None:
    unsure = Opinion(Reading("one", confidence=0.2), [hop("ABCDEFGH", answer="one", cites="H")])
    sure = Opinion(Reading("other", confidence=0.7), [hop("ABCDEFGH", answer="other", cites="E")])
    assert ordered(unsure, sure) == "ABEHCDFG"


def test_a_passage_that_only_a_sub_question_found_takes_the_place_of_the_last() -> None:
    assert ordered(Opinion(Reading("yes", confidence=0.9), [hop("Z", answer="yes", cites="Z")])) == "ABZCDEFG"


def test_the_best_passage_for_a_completed_sub_question_without_an_answer_counts() -> None:
    broken_off = Opinion(Reading(None), [hop("ABC", answer="Ada", cites="C"), hop("YZA", answer=None)])
    assert ordered(broken_off) == "ABCYDEFG"


FAILED = Hop("Where was she born?", "Where was she born?", tuple(map(hit, "YZ")), None, Verdict.FAILED)
"""What was read for a question that still says `she` may be about anybody."""


@pytest.mark.parametrize(
    "opinion",
    [
        pytest.param(Opinion(Reading(None), [hop("YZ", answer=None)]), id="the first sub-question"),
        pytest.param(
            Opinion(Reading("a", confidence=0.4), [hop("A", answer="a"), hop("YZ", answer="a")]), id="an answered one"
        ),
        pytest.param(Opinion(Reading(None), [hop("A", answer="a"), CitedHop(FAILED)]), id="a failed one"),
        pytest.param(Opinion(Reading(None, promising=cite("G")), [hop("AG", answer=None)]), id="where a reading leads"),
    ],
)
def test_no_other_uncited_passage_is_moved(opinion: Opinion) -> None:
    assert ordered(opinion) == "ABCDEFGH"


def test_scores_fall_with_the_position_and_channels_stay() -> None:
    found = (hit("A"), hit("B", "bridge"), hit("C"), hit("D", "bridge"))
    order = order_by_reading(
        found, found, [Opinion(Reading("yes", confidence=0.9), [hop("D", answer="yes", cites="D")])]
    )
    assert [(one.unit.title, one.score, one.channel) for one in order] == [
        ("A", 1.0, "direct"), ("B", 1 / 2, "bridge"), ("D", 1 / 3, "bridge"), ("C", 1 / 4, "direct"),
    ]  # fmt: skip


def test_without_passages_there_is_nothing_to_order() -> None:
    assert ordered(Opinion(Reading(None), []), found=()) == ""
