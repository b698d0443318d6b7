"""The papers' tables, cell by cell: the value, the run that would reproduce it, the tolerance, and the status here.

The values are in `published.toml`. This module derives what follows from a table alone: TPER from seconds and pool sizes, and
impossible values (a share of 500 questions that is no whole number of them, an F1 above the mean of
precision and recall, a wrong average).
"""

from __future__ import annotations

import math
import shlex
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from importlib.resources import files

from hoptrail.errors import UsageError
from hoptrail.evaluation.answer_scores import mean
from hoptrail_papers.presets import PREFIX

AVERAGE = "average"  # the data set of a column that is the mean over the others
SHARES = ("em", "f1", "precision", "recall")  # the measures in percent
_HALF_DIGIT = 0.0051  # values are rounded to two digits


class Need(StrEnum):
    """What the user must provide for a run."""

    MODEL = "model"
    DATA = "data"
    ENGINE = "engine"


class Status(StrEnum):
    REPRODUCED = "reproduced"
    DIFFERS = "differs"
    FOLLOWS = "follows from other published values"
    NEEDS_MODEL = "recipe here, needs a model"
    NEEDS_ENGINE = "recipe here, needs a search engine on the web"
    NEEDS_DATA = "needs data not at hand"
    NO_RECIPE = "no recipe for it here"
    IMPOSSIBLE = "published value impossible"


@dataclass(frozen=True, slots=True)
class Row:
    """One system's values, in the order of the table's columns.

    - `recipe`: the recipe that reproduces it; `lacks`: the part of the system that has no recipe, or the data that it needs if
      these differ from the other rows'; `follows`: how it is reckoned from other published values.
    - `set`: what it sets over the paper's settings (`KEY=VALUE`); `command`: the command if it is not the table's.
    - `model`: if not empty, only answers of this model count; `indexed_by`: the model that indexed if another one answered.
    - `folder`: the data set of all its columns if these do not name it; `corpus`: what the data sets' folders are over, at the
      end of their names, if it is not their own corpus.
    - `rules`: values here without a model by column, made as `rules_by` says. They reproduce nothing.
    """

    name: str
    values: tuple[float, ...]
    recipe: str = ""
    lacks: str = ""
    follows: str = ""
    needs: Need | None = None
    set: tuple[str, ...] = ()
    command: str = ""
    model: str = ""
    indexed_by: str = ""
    folder: str = ""
    corpus: str = ""
    pools: tuple[int, ...] = ()
    rules: Mapping[str, float] = field(default_factory=dict)
    rules_by: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A published table: the `setting` it was made under, and the differences `here`. Columns are `DATA MEASURE`.

    `questions`: the number of questions by data set, if known; `missing`: the data that are missing; `folders`: other names of
    data sets; `settings`: the paper whose shipped settings runs use, or empty; `command`: that of its rows.
    """

    id: str
    paper: str
    title: str
    setting: str
    here: str
    columns: tuple[str, ...]
    tolerance: float
    needs: Need
    row: tuple[Row, ...]
    questions: Mapping[str, int] = field(default_factory=dict)
    missing: str = ""
    folders: Mapping[str, str] = field(default_factory=dict)
    settings: str = ""
    command: str = "hoptrail evaluate DATA/{data} --recipes {recipe} --language chat --work WORK --out OUT"


Place = tuple[str, str]  # a row and a column


@dataclass(frozen=True, slots=True)
class Measured:
    """A value measured here, over `n` questions (0: none were asked), with what encoder."""

    value: float
    n: int = 0
    encoder: str = ""


Values = Mapping[Place, Measured]


@dataclass(frozen=True, slots=True)
class PublishedValue:
    """One published value.

    `run`: the command that would reproduce it, empty without a recipe; `measured`: our value, over `n` questions with `encoder`;
    `why`: the reason for the status; `by_rules`: the value with the language `offline` in place of the model, which is no
    reproduction but shows what the rest of the system achieves.
    """

    table: str
    row: str
    column: str
    value: float
    run: str
    recipe: str
    data: str
    tolerance: float
    status: Status
    why: str
    measured: float | None = None
    model: str = ""
    indexed_by: str = ""
    by_rules: float | None = None
    n: int = 0
    encoder: str = ""


@cache
def published_tables() -> tuple[Table, ...]:
    """All tables, in the order of the file."""
    from pydantic import TypeAdapter

    content = tomllib.loads(files("hoptrail_papers").joinpath("published.toml").read_text(encoding="utf-8"))
    return TypeAdapter(tuple[Table, ...]).validate_python(content["table"])


def tables_named(names: Sequence[str]) -> tuple[Table, ...]:
    """The tables with these ids, and all tables of the papers with these names; all tables without names.
    Raises: UsageError: there is no such table or paper.
    """
    known = {table.id: table for table in published_tables()}
    every = dict.fromkeys((*(name.partition("-")[0] for name in known), *known))
    if unknown := [name for name in names if name not in every]:
        raise UsageError(f"there is no paper or table {unknown[0]}. There are: {', '.join(every)}.")
    chosen = {name for name in known for wanted in names if wanted in (name, name.partition("-")[0])}
    return tuple(table for name, table in known.items() if name in chosen or not names)


def cells_of(
    table: Table, found: Values | None = None, data: Collection[str] = (), *, printed: bool = True
) -> tuple[PublishedValue, ...]:
    """Every cell, row by row; with `printed`, only those with a value. `found`: what was measured here by row and column; `data`:
    the data sets at hand.
    """
    values: dict[Place, Measured] = {}
    named = dict.fromkeys(column.partition(" ")[0] for column in table.columns if " " in column)
    data_sets = [name for name in named if name != AVERAGE]
    for row in table.row:
        values |= {(row.name, column): Measured(value) for column, value in zip(table.columns, row.values, strict=True)}
        pools = zip(data_sets, row.pools, strict=False)
        values |= {(row.name, f"{name} pool"): Measured(float(pool)) for name, pool in pools}
    return tuple(
        _cell(table, row, column, values, (found or {}).get((row.name, column)), data)
        for row in table.row
        for column in table.columns
        if not (printed and math.isnan(values[row.name, column].value))
    )


def run_of(table: Table, row: Row, column: str) -> str:
    """The command that would reproduce a cell, with placeholders DATA, WORK and OUT; empty without a recipe, and for an average,
    which follows from the cells of its data sets.
    """
    data = _folder(table, row, column)
    if not row.recipe or data == AVERAGE:
        return ""
    command = (row.command or table.command).replace("{recipe}", row.recipe).replace("{data}", data)
    if table.settings and command.startswith("hoptrail evaluate "):
        command = command.replace(" --work", f" --settings {PREFIX}{table.settings} --work", 1)
    return " ".join([command, *(f"--set {shlex.quote(line)}" for line in row.set)])


def _folder(table: Table, row: Row, column: str) -> str:
    data = row.folder or column.partition(" ")[0]
    return "-".join(filter(None, (table.folders.get(data, data), row.corpus)))


def _cell(
    table: Table, row: Row, column: str, values: Values, measured: Measured | None, data: Collection[str]
) -> PublishedValue:
    folder, value = _folder(table, row, column), values[row.name, column].value
    compared = _compared(table, row.name, column, values, measured)
    status, why = compared or _needed(table, row, at_hand=folder in data)
    rules = row.rules.get(column)
    if rules is not None and measured is None:
        why = "; ".join(filter(None, (why, f"by rules: {row.rules_by}")))
    here = (measured.n, measured.encoder) if measured else ()
    return PublishedValue(
        *(table.id, row.name, column, value, run_of(table, row, column), row.recipe, folder, table.tolerance),
        *(status, why, measured.value if measured else None, row.model, row.indexed_by, rules, *here),
    )


def _compared(
    table: Table, row: str, column: str, values: Values, measured: Measured | None
) -> tuple[Status, str] | None:
    """What a published value is beside others of the table and what was `measured`; None if there is nothing to compare with."""
    follows = derived(table, row, values).get((row, column))
    value = values[row, column].value
    data, _, measure = column.partition(" ")
    if follows and measure == "tper" and measured is None and abs(follows.value - value) <= table.tolerance:
        return Status.FOLLOWS, f"{follows.value:.4f} by the published seconds and pool sizes"
    why, number = "", table.questions.get(data)
    nearest = round(value / 100 * number) / number * 100 if measure == "em" and number else value
    parts = [values.get((row, f"{data} {name}")) for name in ("precision", "recall")]
    most = mean([part.value if part else math.nan for part in parts])
    if abs(nearest - value) > _HALF_DIGIT:
        why = f"no whole number of {number} questions: the nearest is {nearest:.2f}"
    elif measure == "f1" and value > most + 2 * _HALF_DIGIT:
        why = f"above the mean of precision and recall ({most:.2f}), which no mean of F1 can be"
    elif follows and measure in SHARES and not math.isnan(follows.value):
        is_rounded = value in (round(follows.value, 1), round(follows.value, 2))
        why = "" if is_rounded else f"the mean of the row is {follows.value:.2f}"
    if why:
        return Status.IMPOSSIBLE, why
    if measured is None:
        return None
    close = abs(measured.value - value) <= table.tolerance
    return (Status.REPRODUCED if close else Status.DIFFERS), table.here


def _needed(table: Table, row: Row, *, at_hand: bool) -> tuple[Status, str]:
    """What it takes to measure the value."""
    if row.follows:
        return Status.FOLLOWS, row.follows
    if not row.recipe:
        if row.needs is Need.DATA:
            return Status.NEEDS_DATA, row.lacks or table.missing
        return Status.NO_RECIPE, row.lacks
    why = f"only of the model {row.model}" if row.model else ""
    if row.indexed_by:
        why = f"indexed by {row.indexed_by}: name it as model under [chat.build]"
    if row.needs is Need.ENGINE:
        return Status.NEEDS_ENGINE, "; ".join(filter(None, (why, "it asks Wikipedia, so it is run by hand")))
    if (row.needs or table.needs) is Need.DATA and not at_hand:
        return Status.NEEDS_DATA, "; ".join(filter(None, (why, row.lacks or table.missing)))
    return Status.NEEDS_MODEL, why


def derived(table: Table, row: str, values: Values) -> dict[Place, Measured]:
    """A row's TPER (equation 1 of SiReRAG: the growth of seconds over that of the pool, from the first row) and its averages, as
    far as `values` have all that they are made of.
    """
    known, base = dict(values), table.row[0].name
    for column in table.columns if row != base else ():
        data, _, measure = column.partition(" ")
        places = [(one, f"{data} {what}") for what in ("tpq", "pool") for one in (row, base)]
        if measure == "tper" and known.keys() >= set(places):
            seconds, before, pool, pool_before = (known[place].value for place in places)
            known[row, column] = replace(known[places[0]], value=seconds / before / (pool / pool_before))
    for column in (column for column in table.columns if column.startswith(f"{AVERAGE} ")):
        ends = column.removeprefix(AVERAGE)
        places = [(row, other) for other in table.columns if other.endswith(ends) and other != column]
        if places and known.keys() >= set(places):
            parts = [known[place] for place in places]
            average = mean([part.value for part in parts])
            known[row, column] = Measured(average, sum(part.n for part in parts), parts[0].encoder)
    return {place: made for place, made in known.items() if made is not values.get(place)}
