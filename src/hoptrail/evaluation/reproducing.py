"""Which runs of the published tables can be made here, and what they gave. Knows the commands, but runs none."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hoptrail.errors import DataError
from hoptrail.evaluation.published import AVERAGE, Cell, Status, Table, cells_of

OUT_FOLDER = "reproduced"

_PERCENT = frozenset({"em", "f1", "precision", "recall"})
_RUNNABLE = frozenset({Status.NEEDS_MODEL, Status.REPRODUCED, Status.DIFFERS})


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One command of one table: its arguments, where it writes its results, and whether it asks a model."""

    arguments: tuple[str, ...]
    out: Path
    asks_model: bool


def planned_runs(table: Table, data: Path, work: Path) -> tuple[PlannedRun, ...]:
    """The `hoptrail evaluate` runs that fill cells of a table, each once; what needs data that is not in `data` is left out."""
    cells = [cell for cell in cells_of(table) if cell.status in _RUNNABLE and _is_evaluation(cell)]
    planned = {_out(cell, work): _planned(cell, data, work) for cell in cells if (data / cell.data).is_dir()}
    return tuple(planned.values())


def runs_left_out(table: Table, data: Path) -> dict[str, str]:
    """The runs of a table that would fill cells and are not planned, with the reason of each."""
    wanted = [cell for cell in cells_of(table) if cell.status in _RUNNABLE and cell.data != AVERAGE]
    return {cell.run: reason for cell in wanted if (reason := _left_out(cell, data))}


def _left_out(cell: Cell, data: Path) -> str:
    if not cell.run:
        return ""
    if "--settings" in cell.run:
        return "run it by hand, with these settings in a file"
    if not _is_evaluation(cell):
        return "run it by hand: what it gives is read from no file"
    return "" if (data / cell.data).is_dir() else f"there is no data set {data / cell.data}"


def found_values(table: Table, work: Path) -> dict[tuple[str, str], float]:
    """What finished runs gave, by row and column, in the table's units.

    Raises:
        DataError: a result is not one of ours.
    """
    found: dict[tuple[str, str], float] = {}
    for cell in cells_of(table):
        out = _out(cell, work)
        if _is_evaluation(cell) and out.is_file():
            value = _value(cell, _recipe_report(out, cell.recipe))
            if value is not None:
                found[cell.row, cell.column] = value
    return found


def count_statuses(cells: Iterable[Cell]) -> dict[Status, int]:
    """How many cells stand where, in the order of `Status`; none is left out."""
    counts = dict.fromkeys(Status, 0)
    for cell in cells:
        counts[cell.status] += 1
    return counts


def _is_evaluation(cell: Cell) -> bool:
    """Runs that need other settings are for the user: they want a settings file."""
    return cell.run.startswith("hoptrail evaluate ") and cell.data != AVERAGE and "--settings" not in cell.run


def _planned(cell: Cell, data: Path, work: Path) -> PlannedRun:
    places = {"DATA": str(data), "WORK": str(work), "OUT": str(_out(cell, work))}
    words = shlex.split(cell.run)[1:]
    arguments = tuple(
        f"{data}/{word.removeprefix('DATA/')}" if word.startswith("DATA/") else places.get(word, word) for word in words
    )
    return PlannedRun(arguments, _out(cell, work), "chat" in words)


def _out(cell: Cell, work: Path) -> Path:
    how = "" if "--language" in cell.run else "-retrieval"
    return work / OUT_FOLDER / f"{cell.data}-{cell.recipe.replace(':', '.')}{how}.json"


def _recipe_report(path: Path, recipe: str) -> Mapping[str, Any]:
    try:
        report: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))["recipes"][recipe]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{path} is not what `hoptrail evaluate --out` writes ({error}); remove it and run again"
        ) from error
    return report


def _value(cell: Cell, report: Mapping[str, Any]) -> float | None:
    measure = cell.column.partition(" ")[2]
    if measure in _PERCENT:
        value = report.get(measure)
        return None if value is None else 100 * float(value)
    if measure == "tpq":
        return float(sum(report["seconds_per_question"].values()))
    return float(report["pool_size"]) if measure == "pool" else None
