"""Which runs of the published tables can be made here, and what they gave. Knows the commands, but runs none."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from glob import escape
from pathlib import Path
from typing import Any

from hoptrail.errors import DataError
from hoptrail.evaluation.datasets import QUESTION_FILES
from hoptrail.evaluation.published_tables import AVERAGE, Cell, Status, Table, cells_of
from hoptrail.fingerprints import fingerprint
from hoptrail.language.identity import shaping
from hoptrail.recipes.papers import PREFIX
from hoptrail.settings import Settings
from hoptrail.types import content_id

OUT_FOLDER = "reproduced"
OWN_SETTINGS = "SETTINGS.toml"
"""Stands in a run for a file of settings that the user has to write."""

_PERCENT = frozenset({"em", "f1", "precision", "recall"})
_RUNNABLE = frozenset({Status.NEEDS_MODEL, Status.REPRODUCED, Status.DIFFERS})
_DIGITS = 8
"""Of the digests of settings and questions, in the names of results."""


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One command of one table: its arguments, where it writes its results, and whether it asks a model."""

    arguments: tuple[str, ...]
    out: Path
    asks_model: bool


def digest_of_settings(settings: Settings) -> str:
    """What stands for one's own settings, as far as results hang on them; empty where these are the defaults."""
    default = Settings()
    no_matter: dict[str, Any] = {"recipe": default.recipe, "language": default.language, "server": default.server}

    def digest(one: Settings) -> str:
        return content_id("", fingerprint(replace(one, **no_matter, chat=default.chat)), shaping(one.chat))

    own = digest(settings)
    return "" if own == digest(default) else own[:_DIGITS]


def planned_runs(table: Table, data: Path, work: Path, model: str = "", settings: str = "") -> tuple[PlannedRun, ...]:
    """The `hoptrail evaluate` runs that fill cells of a table with what `model` answers, each once; what needs data that is not
    in `data`, or another model, is left out. `settings` is the digest of one's own.
    """
    cells = [cell for cell in cells_of(table) if cell.status in _RUNNABLE and _is_evaluation(cell)]
    cells = [cell for cell in cells if (data / cell.data).is_dir() and _is_of(cell, model)]
    outs = [_out(cell, work, _stem(cell, model, settings), data) for cell in cells]
    planned = {out: _planned(cell, data, work, out) for cell, out in zip(cells, outs, strict=True)}
    return tuple(planned.values())


def runs_left_out(table: Table, data: Path, model: str = "") -> dict[str, str]:
    """The runs of a table that would fill cells and are not planned, with the reason of each."""
    wanted = [cell for cell in cells_of(table) if cell.status in _RUNNABLE and cell.data != AVERAGE]
    return {cell.run: reason for cell in wanted if (reason := _left_out(cell, data, model))}


def _left_out(cell: Cell, data: Path, model: str) -> str:
    if not cell.run:
        return ""
    if OWN_SETTINGS in cell.run:
        return "run it by hand, with these settings in a file"
    if not _is_evaluation(cell):
        return "run it by hand: what it gives is read from no file"
    if not (data / cell.data).is_dir():
        return f"there is no data set {data / cell.data}"
    if cell.indexed_by:
        return f"its row was indexed by {cell.indexed_by} and answered by another model, and here one model does both"
    return "" if _is_of(cell, model) else f"its row is of the model {cell.model}"


def found_values(
    table: Table, work: Path, model: str = "", data: Path | None = None, settings: str = ""
) -> dict[tuple[str, str], float]:
    """What finished runs gave, by row and column, in the table's units: those by `model`, under the settings of that digest, and
    over the questions in `data`. Without `data`, those of any questions count, if there are results of one set only.

    Raises:
        DataError: a result is not one of ours, or there are several of different questions.
    """
    found: dict[tuple[str, str], float] = {}
    for cell in cells_of(table):
        out = (
            _result(cell, work, _stem(cell, model, settings), data)
            if _is_evaluation(cell) and _is_of(cell, model)
            else None
        )
        if out is not None:
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
    return cell.run.startswith("hoptrail evaluate ") and cell.data != AVERAGE and OWN_SETTINGS not in cell.run


def _planned(cell: Cell, data: Path, work: Path, out: Path) -> PlannedRun:
    places = {"DATA": str(data), "WORK": str(work), "OUT": str(out)}
    words = shlex.split(cell.run)[1:]
    arguments = tuple(
        f"{data}/{word.removeprefix('DATA/')}" if word.startswith("DATA/") else places.get(word, word) for word in words
    )
    return PlannedRun(arguments, out, "chat" in words)


def _is_of(cell: Cell, model: str) -> bool:
    """Whether what a model answers counts for the cell: any does, where its row names none, and so does retrieval."""
    if cell.indexed_by:
        return False
    return not cell.model or "--language" not in cell.run or _bare(cell.model) in _bare(model)


def _bare(model: str) -> str:
    return "".join(letter for letter in model.casefold() if letter.isalnum())


def _out(cell: Cell, work: Path, stem: str, data: Path) -> Path:
    """Where a run writes."""
    return work / OUT_FOLDER / f"{stem}-{_questions(data / cell.data)}.json"


def _result(cell: Cell, work: Path, stem: str, data: Path | None) -> Path | None:
    if data is not None:
        out = _out(cell, work, stem, data)
        return out if out.is_file() else None
    found = sorted((work / OUT_FOLDER).glob(f"{escape(stem)}-{'[0-9a-f]' * _DIGITS}.json"))
    if len(found) > 1:
        raise DataError(
            f"there are results of several sets of questions: {found[0]}, {found[1]}; say --data which counts"
        )
    return found[0] if found else None


def _stem(cell: Cell, model: str, settings: str) -> str:
    """How the name of a result begins: data set, recipe, way of asking, the paper's settings and one's own, model."""
    words = cell.run.split()
    how = [word.strip("-") for word in ("--own-context", "--single-hops") if word in words]
    how += [word.replace(":", ".") for word in words if word.startswith(PREFIX)]
    how += [f"settings.{settings}"] if settings else []
    answered = _bare(model) or "no-model"
    return "-".join(
        [cell.data, cell.recipe.replace(":", "."), *how, answered if "--language" in words else "retrieval"]
    )


def _questions(folder: Path) -> str:
    """What stands for the questions of a data set."""
    files = [folder / name for name in QUESTION_FILES if (folder / name).is_file()]
    return hashlib.sha256(files[0].read_bytes() if files else b"").hexdigest()[:_DIGITS]


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
    if cell.column.isdecimal():  # EM by the number of turns
        turns = report.get("answers_by_turns", {}).get(cell.column)
        return None if turns is None else 100 * float(turns["em"])
    if measure in _PERCENT:
        value = report.get(measure)
        return None if value is None else 100 * float(value)
    if measure == "tpq":
        return float(sum(report["seconds_per_question"].values()))
    return float(report["pool_size"]) if measure == "pool" else None
