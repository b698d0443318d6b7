"""Plans the runs that reproduce the published tables, and reads their results. Runs nothing itself."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from glob import escape
from pathlib import Path
from typing import Any

from hoptrail.errors import DataError
from hoptrail.evaluation.datasets import QUESTION_FILES
from hoptrail.fingerprints import fingerprint
from hoptrail.language.identity import shaping
from hoptrail.models.environment import configured_model
from hoptrail.settings import Settings
from hoptrail.types import content_id
from hoptrail.types.json_object import JsonObject
from hoptrail_papers.presets import PREFIX
from hoptrail_papers.published_tables import AVERAGE, SHARES, Cell, Status, Table, cells_of

OUT_FOLDER = "reproduced"
OWN_SETTINGS = "SETTINGS.toml"
"""Placeholder in a command for a settings file that the user must write."""

_RUNNABLE = frozenset({Status.NEEDS_MODEL, Status.REPRODUCED, Status.DIFFERS})
_DIGITS = 8
"""Digits of the digests of settings and questions in the names of results."""


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One command: its arguments, its results file, and whether it calls a model."""

    arguments: tuple[str, ...]
    out: Path
    asks_model: bool


def digest_of_settings(settings: Settings) -> str:
    """A digest of the user's settings as far as they change results; empty for the defaults."""
    default = Settings()
    irrelevant: JsonObject = {"recipe": default.recipe, "language": default.language, "server": default.server}

    def digest(values: Settings) -> str:
        roles = [values.chat.of(role) for role in ("read", "decompose", "build")]
        layers = [configured_model(own.model) for own in roles[1:] if own.model != roles[0].model]
        return content_id(
            "", fingerprint(replace(values, **irrelevant, chat=default.chat)), *map(shaping, roles), *layers
        )

    own = digest(settings)
    return "" if own == digest(default) else own[:_DIGITS]


def planned_runs(table: Table, data: Path, work: Path, model: str = "", settings: str = "") -> tuple[PlannedRun, ...]:
    """The distinct `hoptrail evaluate` runs that fill cells of a table with answers of `model`.

    Runs that need another model, or data that is not in `data`, are left out. `settings` is the digest of the user's settings.
    """
    cells = [cell for cell in _runnable(table) if not _reason_left_out(cell, data, model)]
    outs = [_out(cell, work, _stem(cell, model, settings), data) for cell in cells]
    planned = {out: _plan(cell, data, work, out) for cell, out in zip(cells, outs, strict=True)}
    return tuple(planned.values())


def runs_left_out(table: Table, data: Path, model: str = "") -> dict[str, str]:
    """The runs of a table that would fill cells but are not planned, with their reasons."""
    return {cell.run: reason for cell in _runnable(table) if (reason := _reason_left_out(cell, data, model))}


def _runnable(table: Table) -> list[Cell]:
    return [cell for cell in cells_of(table) if cell.status in _RUNNABLE and cell.run and cell.data != AVERAGE]


def _reason_left_out(cell: Cell, data: Path, model: str) -> str:
    if OWN_SETTINGS in cell.run:
        return "run it by hand, with these settings in a file"
    if not _is_evaluation(cell):
        return "run it by hand: it writes no results file"
    if not (data / cell.data).is_dir():
        return f"there is no data set {data / cell.data}"
    if cell.indexed_by:
        return f"its row was indexed by {cell.indexed_by} and answered by another model, and here one model does both"
    return "" if _accepts_model(cell, model) else f"its row is of the model {cell.model}"


def found_values(
    table: Table, work: Path, model: str = "", data: Path | None = None, settings: str = ""
) -> dict[tuple[str, str], float]:
    """The results of finished runs by row and column, in the table's units.

    Only runs of `model`, with the `settings` of this digest, over the questions in `data` count. Without `data`, any questions
    count if there are results of only one set.
    Raises: DataError: a result is malformed, or there are results of several sets of questions.
    """
    values: dict[tuple[str, str], float] = {}
    for cell in cells_of(table):
        if not (_is_evaluation(cell) and _accepts_model(cell, model)):
            continue
        out = _result(cell, work, _stem(cell, model, settings), data)
        value = None if out is None else value_of(cell, _recipe_report(out, cell.recipe))
        if value is not None:
            values[cell.row, cell.column] = value
    return values


def _is_evaluation(cell: Cell) -> bool:
    """Whether a run can be planned. Runs with special settings are for the user, who must write a settings file."""
    return cell.run.startswith("hoptrail evaluate ") and cell.data != AVERAGE and OWN_SETTINGS not in cell.run


def _plan(cell: Cell, data: Path, work: Path, out: Path) -> PlannedRun:
    places = {"DATA": str(data), "WORK": str(work), "OUT": str(out)}
    words = shlex.split(cell.run)[1:]
    arguments = tuple(
        f"{data}/{word.removeprefix('DATA/')}" if word.startswith("DATA/") else places.get(word, word) for word in words
    )
    return PlannedRun(arguments, out, "chat" in words)


def _accepts_model(cell: Cell, model: str) -> bool:
    """Whether answers of a model count for a cell. Any model does if the row names none, or if the run needs no language."""
    if cell.indexed_by:
        return False
    return (
        not cell.model or "--language" not in cell.run or _letters_and_digits(cell.model) in _letters_and_digits(model)
    )


def _letters_and_digits(model: str) -> str:
    return "".join(letter for letter in model.casefold() if letter.isalnum())


def _out(cell: Cell, work: Path, stem: str, data: Path) -> Path:
    return work / OUT_FOLDER / f"{stem}-{_questions_digest(data / cell.data)}.json"


def _result(cell: Cell, work: Path, stem: str, data: Path | None) -> Path | None:
    if data is not None:
        out = _out(cell, work, stem, data)
        return out if out.is_file() else None
    files = sorted((work / OUT_FOLDER).glob(f"{escape(stem)}-{'[0-9a-f]' * _DIGITS}.json"))
    if len(files) > 1:
        raise DataError(
            f"there are results of several sets of questions: {files[0]}, {files[1]}; choose one with --data"
        )
    return files[0] if files else None


def _stem(cell: Cell, model: str, settings: str) -> str:
    """The prefix of a result's name: data set, recipe, mode, settings of the paper and of the user, model."""
    words = cell.run.split()
    how = [word.strip("-") for word in ("--own-context", "--single-hops") if word in words]
    how += [word.replace(":", ".") for word in words if word.startswith(PREFIX)]
    how += [f"settings.{settings}"] if settings else []
    performer = (_letters_and_digits(model) or "no-model") if "--language" in words else "retrieval"
    return "-".join([cell.data, cell.recipe.replace(":", "."), *how, performer])


def _questions_digest(folder: Path) -> str:
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


def value_of(cell: Cell, report: Mapping[str, Any]) -> float | None:
    """The value of a cell in a recipe's report, in the table's units; None if the report lacks it."""
    measure = cell.column.partition(" ")[2]
    if cell.column.isdecimal():  # EM by the number of turns
        turns = report.get("answers_by_turns", {}).get(cell.column)
        return None if turns is None else 100 * float(turns["em"])
    if measure in SHARES:
        value = report.get(measure)
        return None if value is None else 100 * float(value)
    if measure == "tpq":
        return float(sum(report["seconds_per_question"].values()))
    return float(report["pool_size"]) if measure == "pool" else None
