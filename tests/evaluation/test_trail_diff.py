"""Divergence of trails: one pair for each stage, the gain of the second run, the command."""

from __future__ import annotations

from dataclasses import replace

from command import Hoptrail
from evaluation.bench import QUESTIONS, Bench
from evaluation.made_runs import hop, made_run, passages_of, reading, result, with_trails
from evaluation.oracle_world import CHAIN
from hoptrail.evaluation.results import TrailRecord
from hoptrail.types import Verdict
from hoptrail_papers.trail_diff import Divergence, Stage, diff_trails

FIRST = hop("Who designed the Tallow Bridge?", ["bridge", "song"], "Orla Finch")
SECOND = replace(hop("Where was she born?", ["finch"], "Wrenmouth"), asked="Where was Orla Finch born?")
TRAIL = TrailRecord(
    "chain",
    "",
    (FIRST, SECOND),
    readings=tuple(reading(one.asked, passages_of(one), one.answer) for one in (FIRST, SECOND)),
    ranking=(*FIRST.hits, *SECOND.hits),
)


def diff(other: TrailRecord, *, exact: bool = False, said: str = "said") -> Divergence:
    first = with_trails(made_run("selfask", [CHAIN], [result("chain", 0)]), TRAIL)
    second = with_trails(made_run("chainrag", [CHAIN], [replace(result("chain", 1), prediction=said)]), other)
    (departure,) = diff_trails(first, second, exact=exact)
    assert departure.gain == 1.0
    return departure


def place(other: TrailRecord, *, exact: bool = False) -> tuple[Stage, int, str, str]:
    found = diff(other, exact=exact)
    return found.stage, found.hop, found.first, found.second


def test_nowhere_and_conclusion() -> None:
    assert place(TRAIL) == (Stage.NOWHERE, 2, "said", "said")
    found = diff(TRAIL, said="Grey Hills")
    assert (found.stage, found.first, found.second) == (Stage.CONCLUSION, "said", "Grey Hills")


def test_decomposition() -> None:
    other = replace(TRAIL, hops=(FIRST, replace(SECOND, question="Where is she from?")))
    assert place(other) == (Stage.DECOMPOSITION, 1, "Where was she born?", "Where is she from?")
    assert place(replace(TRAIL, hops=(FIRST,))) == (Stage.DECOMPOSITION, 1, "Where was she born?", "no sub-question")
    assert place(replace(TRAIL, hops=(*TRAIL.hops, FIRST)))[:3] == (Stage.DECOMPOSITION, 2, "no sub-question")


def test_completion() -> None:
    other = replace(TRAIL, hops=(FIRST, replace(SECOND, asked=SECOND.question)))
    assert place(other) == (Stage.COMPLETION, 1, "Where was Orla Finch born?", "Where was she born?")


def test_retrieval_by_gold_passages_or_by_units() -> None:
    without = replace(TRAIL, hops=(FIRST, replace(SECOND, hits=())))
    assert place(without) == (Stage.RETRIEVAL, 1, "finch", "nothing")
    swapped = replace(TRAIL, hops=(replace(FIRST, hits=FIRST.hits[::-1]), SECOND))
    assert place(swapped)[0] is Stage.NOWHERE
    assert place(swapped, exact=True) == (Stage.RETRIEVAL, 0, "u-bridge, u-song", "u-song, u-bridge")
    assert place(replace(TRAIL, ranking=FIRST.hits)) == (Stage.RETRIEVAL, 2, "finch", "nothing")


def test_packing() -> None:
    other = replace(TRAIL, readings=(reading(FIRST.asked, ["song"], "Orla Finch"), TRAIL.readings[1]))
    assert place(other) == (Stage.PACKING, 0, "bridge", "nothing")
    longer = reading(FIRST.asked, ["bridge", "song", "arrow"], "Orla Finch")
    assert place(replace(TRAIL, readings=(longer, TRAIL.readings[1])))[0] is Stage.NOWHERE
    assert place(replace(TRAIL, readings=(longer, TRAIL.readings[1])), exact=True)[0] is Stage.PACKING


def test_reading() -> None:
    other = replace(TRAIL, hops=(FIRST, replace(SECOND, answer=None, verdict=Verdict.UNANSWERED)))
    assert place(other) == (Stage.READING, 1, "Wrenmouth", "unanswered")


def test_a_question_without_gold_is_compared_by_units() -> None:
    question = replace(CHAIN, supporting=(), decomposition=())
    swapped = replace(TRAIL, hops=(replace(FIRST, hits=FIRST.hits[::-1]), SECOND))
    runs = [
        with_trails(made_run(name, [question], [result("chain", 0)]), trail)
        for name, trail in (("a", TRAIL), ("b", swapped))
    ]
    assert [one.stage for one in diff_trails(*runs)] == [Stage.RETRIEVAL]


def test_without_trail_or_score() -> None:
    failed = replace(result("chain", 0), error="overloaded", prediction=None, score=None)
    first = with_trails(made_run("a", [CHAIN], [result("chain", 0)]), TRAIL)
    (found,) = diff_trails(first, with_trails(made_run("b", [CHAIN], [failed])))
    assert (found.stage, found.second, found.gain) == (Stage.UNKNOWN, "no trail", None)
    (found,) = diff_trails(first, with_trails(made_run("b", [CHAIN], [failed]), TRAIL))
    assert (found.stage, found.second) == (Stage.CONCLUSION, "failed")


def test_the_command(bench: Bench, hoptrail: Hoptrail) -> None:
    """bm25 finds nothing for the Zeppelin, dense everything for everything."""
    bench.run("bm25", "dense", replies=None)
    runs = [bench.work / "runs" / f"tiny-{name}" for name in ("bm25", "dense")]
    ended = hoptrail("trail", "diff", *runs, "--examples", 1)
    assert ended.code == 0, ended.err
    assert ended.out.startswith("Where bm25 and dense diverge")
    given = hoptrail("trail", "diff", *runs, "--json").json
    assert given["runs"] == ["bm25", "dense"]
    assert sum(given["stages"].values()) == len(given["departures"]) == len(QUESTIONS)
    assert given["stages"]["retrieval"] >= 2
    assert hoptrail("trail", "diff", runs[0], runs[0], "--json").json["stages"]["nowhere"] == len(QUESTIONS)


def test_a_run_never_diverges_from_itself(bench: Bench) -> None:
    bench.run("selfask", replies=None)
    run = bench.only_run()
    assert {one.stage for exact in (False, True) for one in diff_trails(run, run, exact=exact)} == {Stage.NOWHERE}
