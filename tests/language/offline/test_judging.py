"""How probable an answer is: more evidence for it makes it more so, and weights of other values are refused."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from hoptrail.language.offline.judging import (
    MOST,
    NAMES,
    WHICH,
    Evidence,
    Judge,
    chosen,
    cut,
    read_judge,
    stored_judge,
    write_judge,
)

WEAK = Evidence(odds=-2.0, lead=0.1, said=0.4, covered=0.2)
STRONG = Evidence(odds=6.0, lead=4.0, said=0.9, covered=0.9)


def probability(*options: Evidence) -> float:
    return stored_judge().likeliest(options)[1]


def test_what_speaks_for_an_answer_makes_it_more_probable() -> None:
    assert probability(WEAK) < 0.3 < probability(STRONG)
    assert probability(replace(STRONG, cell=1.0)) > probability(STRONG)
    assert probability(replace(STRONG, broken_off=1.0)) < probability(STRONG)


@pytest.mark.parametrize("other", [replace(STRONG, odds=1.0), replace(STRONG, covered=0.3)])
def test_the_option_with_more_to_say_for_it_is_taken(other: Evidence) -> None:
    judge = stored_judge()
    assert [judge.likeliest([STRONG, other])[0], judge.likeliest([other, STRONG])[0]] == [0, 1]


def test_an_option_as_likely_leaves_less_for_each() -> None:
    which, alike = [1.0] * len(WHICH), replace(STRONG)
    shares = [
        chosen(which, options)[1][NAMES.index("share")] for options in ([STRONG], [STRONG, WEAK], [STRONG, alike])
    ]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == 0.0
    judge = Judge(tuple(which), tuple(float(name == "share") for name in NAMES), 0.0)
    assert judge.likeliest([STRONG, alike])[1] < judge.likeliest([STRONG, WEAK])[1]


def test_log_odds_are_cut() -> None:
    assert (cut(99.0), cut(-99.0), cut(1.5)) == (MOST, -MOST, 1.5)


def test_weights_are_written_and_read() -> None:
    judge = Judge(tuple(0.5 * at for at in range(len(WHICH))), tuple(0.25 * at for at in range(len(NAMES))), -1.0)
    assert read_judge(write_judge(judge)) == judge


@pytest.mark.parametrize("step", ["which", "names"])
def test_weights_of_other_values_are_refused(step: str) -> None:
    stored = json.loads(write_judge(stored_judge())) | {step: {"another": 0.0}}
    with pytest.raises(ValueError, match="fitted to other values"):
        read_judge(json.dumps(stored))
