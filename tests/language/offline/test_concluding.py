"""How probable an answer is: more evidence for it makes it more so, and weights of other values are refused."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from hoptrail.language.offline.concluding import MOST, NAMES, Evidence, cut, read_judge, stored_judge, write_judge


def test_what_speaks_for_an_answer_makes_it_more_probable() -> None:
    judge = stored_judge()
    weak = Evidence(odds=-2.0, lead=0.1, helps=0.2, said=0.4)
    strong = Evidence(odds=6.0, lead=4.0, helps=0.95, said=0.9)
    assert judge.probability(weak) < 0.3 < judge.probability(strong)
    assert judge.probability(replace(strong, cell=1.0)) > judge.probability(strong)
    assert judge.probability(replace(strong, against=1.0)) < judge.probability(strong)


def test_log_odds_are_cut() -> None:
    assert (cut(99.0), cut(-99.0), cut(1.5)) == (MOST, -MOST, 1.5)


def test_weights_are_written_and_read() -> None:
    weights = [0.25 * at for at in range(len(NAMES))]
    judge = read_judge(write_judge(weights, -1.0))
    assert judge.weights == tuple(weights)
    assert judge.constant == -1.0


def test_weights_of_other_values_are_refused() -> None:
    stored = json.loads(write_judge([0.0] * len(NAMES), 0.0)) | {"names": ["another"]}
    with pytest.raises(ValueError, match="fitted to other values"):
        read_judge(json.dumps(stored))
