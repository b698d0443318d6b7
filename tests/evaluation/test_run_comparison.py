"""Comparison of runs: values by hand, the questions that count, corrections, the tables, the page, the command."""

from __future__ import annotations

import csv
import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from command import Hoptrail
from evaluation.bench import QUESTIONS, Bench
from evaluation.made_runs import made_run, question, result
from hoptrail.errors import UsageError
from hoptrail.evaluation.answer_scores import Rule, Share
from hoptrail_papers.comparing import plots
from hoptrail_papers.comparing.plots import reached_by_hop, recall_by_k, reliability, risk_by_coverage, to_page
from hoptrail_papers.comparing.run_comparison import Breakdown, RunComparison, compare, labels_of, paired_difference
from hoptrail_papers.comparing.run_tables import tables_of, to_csv, to_markdown

CHAINS = [question(f"c{number}", ("a", "b"), "chain") for number in range(6)]
PAIRS = [question(f"p{number}", ("a", "b", "c"), "pair") for number in range(6)]
EVERYTHING = [*CHAINS, *PAIRS]


def overall(comparison: RunComparison, run: str, measure: str) -> float | None:
    score = comparison.score(run, comparison.groups[0], measure)
    return None if score is None else score.mean


def two_runs() -> RunComparison:
    """The second also finds b, and answers the chains."""
    first = made_run("bm25", EVERYTHING, [result(item.id, 0, "a") for item in EVERYTHING])
    second = made_run(
        "hybrid", EVERYTHING, [result(item.id, float(item in CHAINS), "a", "b", confidence=0.5) for item in EVERYTHING]
    )
    return compare([first, second])


def test_values_by_hand() -> None:
    comparison = two_runs()
    assert (comparison.runs, comparison.questions, comparison.left_out) == (("bm25", "hybrid"), 12, 0)
    assert overall(comparison, "bm25", "em") == 0.0
    assert overall(comparison, "hybrid", "em") == 0.5
    assert overall(comparison, "bm25", "recall@5") == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert overall(comparison, "hybrid", "recall@5") == pytest.approx((1 + 2 / 3) / 2)
    assert overall(comparison, "hybrid", "full@5") == 0.5
    assert overall(comparison, "hybrid", "seconds") == 3.0
    groups = [(group.by, group.value, len(group.questions)) for group in comparison.groups]
    assert groups == [
        (Breakdown.ALL, "", 12),
        (Breakdown.HOPS, "2", 6),
        (Breakdown.HOPS, "3", 6),
        (Breakdown.TYPE, "chain", 6),
        (Breakdown.TYPE, "pair", 6),
    ]
    chains = comparison.score("hybrid", comparison.groups[1], "em")
    assert chains is not None
    assert (chains.mean, chains.n) == (1.0, 6)


def test_differences_are_paired_and_corrected_within_a_breakdown() -> None:
    """Six wins without a loss have p = 2/64, twelve 2/4096; four measures are tested overall: em, f1, recall@5, full@5."""
    comparison = two_runs()
    scores = {score.measure: score for score in comparison.scores if score.group is comparison.groups[0]}
    em, recall = scores["em"], scores["recall@5"]
    assert em.difference is not None
    assert recall.difference is not None
    assert em.difference == paired_difference([0.0] * 12, [1.0] * 6 + [0.0] * 6, seed=0)
    assert em.difference.p == 2 / 64
    assert em.corrected == pytest.approx(3 * 2 / 64)
    assert not em.significant
    assert recall.difference.p == 2 / 4096
    assert recall.corrected == pytest.approx(4 * 2 / 4096)
    assert recall.significant
    assert scores["answered"].difference is None
    assert all(score.difference is None for score in comparison.scores if score.run == "bm25")


def test_failed_and_missing_questions_count_as_zero() -> None:
    good = [result(item.id, 1, "a", "b") for item in CHAINS]
    failed = replace(good[0], error="overloaded", prediction=None, score=None, passages=())
    comparison = compare([made_run("bm25", CHAINS, good), made_run("dense", CHAINS, [failed, *good[2:]])])
    assert overall(comparison, "dense", "em") == overall(comparison, "dense", "recall@5") == pytest.approx(4 / 6)


def test_a_failed_question_has_found_nothing_whatever_its_record_says() -> None:
    good = [result(item.id, 1, "a", "b") for item in CHAINS]
    failed = replace(good[0], error="overloaded", prediction=None, score=None)
    runs = [made_run("bm25", CHAINS, good), made_run("dense", CHAINS, [failed, *good[1:]])]
    comparison = compare(runs)
    assert overall(comparison, "dense", "recall@5") == overall(comparison, "dense", "full@5") == pytest.approx(5 / 6)
    assert [point["share of questions"] for point in reached_by_hop(runs) if point["run"] == "dense"] == pytest.approx(
        [5 / 6, 5 / 6]
    )


def test_answers_by_different_rules_are_not_compared() -> None:
    runs = [made_run(name, CHAINS, [result(item.id, 1, "a") for item in CHAINS]) for name in ("bm25", "dense")]
    runs[1] = replace(runs[1], header=replace(runs[1].header, rule=Rule.MUSIQUE))
    with pytest.raises(UsageError, match=r"different rules \(hotpotqa, musique\)"):
        compare(runs)
    runs[0] = replace(runs[0], header=replace(runs[0].header, retrieval_only=True))
    assert overall(compare(runs), "dense", "recall@5") == 0.5


def test_only_questions_that_all_runs_have_with_the_same_gold_count() -> None:
    corrected = [replace(CHAINS[0], answers=("other",)), *CHAINS[1:4]]
    runs = [
        made_run("bm25", CHAINS, [result(item.id, 1, "a") for item in CHAINS]),
        made_run("dense", corrected, [result(item.id, 1, "a") for item in corrected]),
    ]
    comparison = compare(runs)
    assert (comparison.questions, comparison.left_out) == (3, 3)
    with pytest.raises(UsageError, match="no question in common"):
        compare([runs[0], made_run("dense", PAIRS, [])])
    with pytest.raises(UsageError, match="at least two runs"):
        compare(runs[:1])


def test_retrieval_alone_leaves_answers_out() -> None:
    runs = [made_run(name, CHAINS, [result(item.id, 0, "a") for item in CHAINS]) for name in ("bm25", "dense")]
    runs[1] = replace(runs[1], header=replace(runs[1].header, retrieval_only=True))
    comparison = compare(runs)
    assert not {"em", "f1", "answered"} & set(comparison.measures)
    assert overall(comparison, "dense", "recall@2") == 0.5


def test_questions_without_gold_passages_have_no_recall() -> None:
    questions = [question("q1", (), None), question("q2", (), None)]
    comparison = compare([made_run(name, questions, [result("q1", 1)]) for name in ("bm25", "dense")])
    assert overall(comparison, "bm25", "em") == 0.5
    assert "recall@5" not in comparison.measures
    assert [group.by for group in comparison.groups] == [Breakdown.ALL]


def test_labels_of_runs() -> None:
    item, two = made_run("bm25", CHAINS, []), made_run("bm25", CHAINS, [])
    other = replace(two, header=replace(two.header, language="oracle"))
    assert labels_of([item, other]) == ("bm25 (offline)", "bm25 (oracle)")
    assert labels_of([item, replace(two, path=Path("/runs/other"))]) == ("tiny-bm25", "other")
    assert labels_of([item, two]) == ("/runs/tiny-bm25", "/runs/tiny-bm25")


def test_confidence_by_hand() -> None:
    """Six right and six wrong answers, all at 0.5."""
    (confidence,) = two_runs().confidences
    assert (confidence.run, confidence.answers, confidence.risk) == ("hybrid", 12, 0.5)
    assert confidence.area == pytest.approx(0.5)
    assert confidence.calibration == pytest.approx(0.0)
    assert (confidence.brier, confidence.sure, confidence.coverage) == (0.25, Share(6, 12), 1.0)


# --- tables


def test_tables_have_the_measured_values() -> None:
    tables = {table.title: table for table in tables_of(two_runs())}
    assert list(tables) == ["tiny: 12 questions", "Differences from bm25", "By hops", "By type", "Confidence"]
    means = tables["tiny: 12 questions"]
    assert means.header == ("run", "em", "f1", "recall@5", "full@5", "answered", "tasks", "tokens", "seconds")
    assert means.rows[1][:4] == ("hybrid", "0.500 [0.25 0.75]", "0.500 [0.25 0.75]", "0.833* [0.75 0.92]")
    assert ("hybrid", "recall@5", "+0.417") in {row[:3] for row in tables["Differences from bm25"].rows}


def test_a_type_with_a_line_break_stays_in_its_row() -> None:
    questions = [replace(item, type="x\ny|z") for item in CHAINS] + PAIRS
    runs = [made_run(name, questions, [result(item.id, 1, "a") for item in questions]) for name in ("bm25", "dense")]
    assert "| x y\\|z |" in to_markdown(compare(runs))


def test_markdown_and_csv() -> None:
    comparison = replace(two_runs(), runs=("bm25", "hybrid"))
    text = to_markdown(comparison)
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert all(row.endswith(" |") for row in rows)
    assert "| bm25 | 0.000 [0.00 0.00] |" in text
    values = list(csv.DictReader(to_csv(comparison).splitlines()))
    assert len(values) == len(comparison.scores)
    (row,) = [
        item for item in values if (item["run"], item["breakdown"], item["measure"]) == ("hybrid", "all", "recall@5")
    ]
    assert float(row["mean"]) == overall(comparison, "hybrid", "recall@5")
    assert (row["baseline"], float(row["p"])) == ("bm25", 2 / 4096)


# --- curves


def test_curves_by_hand() -> None:
    ranked = ["x", "a", "y", "b"]
    run = made_run("bm25", CHAINS[:2], [result("c0", 1, *ranked, confidence=0.9), result("c1", 0, "b", confidence=0.1)])
    recall = [point["recall"] for point in recall_by_k([run])]
    assert len(recall) == 20
    assert recall[:4] == [0.25, 0.5, 0.5, 0.75]
    reached = {"run": "bm25", "hops": 2, "share of questions": 0.5}
    assert reached_by_hop([run]) == [reached | {"hop": 1}, reached | {"hop": 2}]
    assert [(point["coverage"], point["risk"]) for point in risk_by_coverage([run])] == [(0.5, 0.0), (1.0, 0.5)]
    right = [(point["confidence"], point["share of right answers"]) for point in reliability([run])]
    assert right == [(0.1, 0.0), (0.9, 1.0)]


# --- the page


def test_the_page_includes_its_library_and_has_no_external_references() -> None:
    questions = [replace(item, type="</script><b>") for item in CHAINS]
    runs = [made_run(name, questions, [result(item.id, 1, "a", confidence=0.5) for item in questions]) for name in "ab"]
    runs[0] = replace(runs[0], header=replace(runs[0].header, recipe="<img src=x>"))
    page = to_page(compare(runs), runs)
    assert "Reliability" in page
    assert page.count("vegaEmbed('#plot") == page.count('<div id="plot') == 6
    before, opening, rest = page.partition('<script type="module">')
    _script, closing, after = rest.partition("</script>")
    assert opening
    assert closing
    assert not re.search(r"<(?:script|link|img)|https?:", before + after)
    drawn = re.findall(r"vegaEmbed\('#plot\d', (\{.*\}), \{actions: false\}\);", page)
    assert [json.loads(item)["$schema"].rpartition("/")[2][:2] for item in drawn] == ["v6"] * 6


def test_a_page_without_gold_passages_draws_the_remaining_plots() -> None:
    questions = [question("q1"), question("q2")]
    answered = [made_run(name, questions, [result("q1", 1)]) for name in ("bm25", "dense")]
    assert recall_by_k(answered) == []
    assert to_page(compare(answered), answered).count('<div id="plot') == 2
    retrieval_runs = [replace(run, header=replace(run.header, retrieval_only=True)) for run in answered]
    assert '<div id="plot' not in to_page(compare(retrieval_runs), retrieval_runs)


@pytest.mark.parametrize("missing", ["altair", "vl_convert"])
def test_a_page_without_the_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    runs = [made_run(name, CHAINS, [result(item.id, 1) for item in CHAINS]) for name in ("bm25", "dense")]
    monkeypatch.setattr(plots, "_library", plots._library.__wrapped__)  # of another test, it may be there already
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(UsageError, match=r"pip install 'hoptrail\[plots\]'"):
        to_page(compare(runs), runs)


# --- the command


def test_from_evaluate_to_compare(bench: Bench, command: Hoptrail, tmp_path: Path) -> None:
    ended = command("evaluate", bench.data, "--recipes", "bm25,selfask", "--work", bench.work, "--threads", 2)
    assert ended.code == 0
    runs = re.findall(r"^run: (.+)$", ended.out, re.MULTILINE)
    assert [Path(run).parent for run in runs] == [bench.work / "runs"] * 2
    files: dict[str, Any] = {name: tmp_path / "out" / f"page.{name}" for name in ("markdown", "csv", "html")}
    options = [part for name, path in files.items() for part in (f"--{name}", path)]
    ended = command("compare", *runs, *options)
    assert ended.code == 0, ended.err
    assert ended.out.startswith(f"tiny: {len(QUESTIONS)} questions")
    assert "Differences from bm25" in ended.out
    assert "## tiny: 4 questions" in files["markdown"].read_text()
    assert files["csv"].read_text().startswith("data,run,breakdown")
    assert files["html"].read_text().startswith("<!DOCTYPE html>")


def test_wrong_calls(bench: Bench, command: Hoptrail) -> None:
    assert command("compare", bench.work / "nothing", bench.work / "nothing").code == 2
    command("evaluate", bench.data, "--recipes", "bm25", "--work", bench.work)
    ended = command("compare", bench.work / "runs" / "tiny")
    assert ended.code == 2
    assert "at least two runs" in ended.err
