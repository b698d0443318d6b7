"""Money: by hand, the shipped table, unknown models, malformed tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from evaluation.made_runs import made_run, question, result
from hoptrail.errors import DataError
from hoptrail.evaluation.comparison_tables import tables_of
from hoptrail.evaluation.prices import Price, PriceTable, load_prices, price_notes
from hoptrail.evaluation.run_comparison import compare
from hoptrail.evaluation.run_folder import Run

TABLE = PriceTable("2030-01", "EUR", {"big": Price(2.0, 10.0)})


def run_of(name: str, model: str, tokens: int) -> Run:
    spent = replace(result("q1", 1), tokens=tokens, completion_tokens=tokens // 10)
    run = made_run(name, [question("q1")], [spent])
    return replace(run, header=replace(run.header, model=model))


def test_by_hand() -> None:
    assert TABLE.money("big", 1_000_000, 100_000) == pytest.approx(0.9 * 2 + 0.1 * 10)
    assert TABLE.money("", 0, 0) == 0.0
    assert TABLE.money("small", 10, 1) is None


def test_the_shipped_table() -> None:
    table = load_prices()
    assert table.date
    assert table.of("gpt-4o-mini") == Price(0.15, 0.60)
    assert table.of("gpt-4o-mini-2030") is None


def test_money_is_compared_where_every_price_is_known() -> None:
    runs = [run_of("free", "", 0), run_of("paid", "big", 1000)]
    comparison = compare(runs, TABLE)
    paid = comparison.score("paid", comparison.groups[0], "money")
    assert paid is not None
    assert paid.mean == pytest.approx((900 * 2 + 100 * 10) / 1_000_000)
    assert "money" in tables_of(comparison)[0].header
    for others in ([runs[0], run_of("paid", "small", 1000)], [runs[0], run_of("other", "", 0)]):
        assert "money" not in compare(others, TABLE).measures
    assert "money" not in compare(runs).measures


def test_notes() -> None:
    assert price_notes(["", ""], TABLE) == []
    assert price_notes(["", "big"], TABLE) == ["Money in EUR, at the prices of 2030-01."]
    (note,) = price_notes(["big", "small", "small"], TABLE)
    assert "no small; give --prices" in note


PRICES = '{date}\ncurrency = "EUR"\n[models]\n"m" = {{ prompt = {prompt}, completion = 1 }}\n'


def test_an_own_table_replaces_the_shipped_one(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    for written, read in (('"2030"', "2030"), ('"2030-01"', "2030-01"), ("2030-01-31", "2030-01-31")):
        path.write_text(PRICES.format(date=f"date = {written}", prompt=0))
        assert load_prices(path) == PriceTable(read, "EUR", {"m": Price(0, 1)})


@pytest.mark.parametrize(
    "text",
    ["date = 1", "nonsense", PRICES.format(date="", prompt=0), PRICES.format(date='date = "lately"', prompt=0)]
    + [PRICES.format(date='date = "2030"', prompt=prompt) for prompt in ("-1", "nan", "inf", '"dear"')],
)
def test_malformed_price_tables_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(text)
    with pytest.raises(DataError, match="no price table"):
        load_prices(path)


def test_a_missing_table(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        load_prices(tmp_path / "none.toml")
