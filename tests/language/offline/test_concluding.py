"""How probable an answer is: more evidence for it makes it more so."""

from __future__ import annotations

from dataclasses import replace

from hoptrail.language.offline.concluding import MOST, Evidence, cut, stored_judge


def test_what_speaks_for_an_answer_makes_it_more_probable() -> None:
    judge = stored_judge()
    weak = Evidence(odds=-2.0, lead=0.1, helps=-1.4, said=0.4)
    strong = Evidence(odds=6.0, lead=4.0, helps=3.0, said=0.9)
    assert judge.probability(weak) < 0.3 < judge.probability(strong)
    assert judge.probability(replace(strong, cell=1.0)) > judge.probability(strong)
    assert judge.probability(replace(strong, against=1.0)) < judge.probability(strong)


def test_log_odds_are_cut() -> None:
    assert (cut(99.0), cut(-99.0), cut(1.5)) == (MOST, -MOST, 1.5)
