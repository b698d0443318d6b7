"""Plans the runs that reproduce the published tables, and reads their results. Runs nothing itself.

A result is named by data set, recipe, paper's settings, model, user's settings, questions, and by the code and machine that made
it. All values of a table come from one code and one machine: from those that made most of them.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from glob import escape
from pathlib import Path
from typing import Any

from hoptrail.errors import DataError
from hoptrail.evaluation.datasets import QUESTION_FILES
from hoptrail.fingerprints import digest_of_code, fingerprint
from hoptrail.index.settings import Settings
from hoptrail.language.factory import shaping
from hoptrail.models.environment import configured_model
from hoptrail.types import content_id
from hoptrail.types.json_object import JsonObject
from hoptrail_papers.hirag.wikipedia.corpora import COUNTS
from hoptrail_papers.long_answers import MEASURES, measured_answers
from hoptrail_papers.presets import PREFIX
from hoptrail_papers.published_tables import SHARES, Measured, Place, PublishedValue, Status, Table, cells_of, derived

OUT_FOLDER = "reproduced"

_RUNNABLE = frozenset(Status) - {Status.NO_RECIPE, Status.NEEDS_ENGINE}
_BY_HAND = "run it by hand"
_SUB_QUESTIONS = {"1": "first", "2 (Original)": "original", "2 (Rewritten)": "rewritten"}
"""The recalls of the probe of sub-questions, by the end of the row's name."""
_DIGITS = 8  # digits of the digests in the names of results
_HEX = "[0-9a-f]" * _DIGITS


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One command: its arguments, its results file, and whether it calls a model."""

    arguments: tuple[str, ...]
    out: Path
    asks_model: bool


@dataclass(frozen=True, slots=True)
class Setting:
    """What runs are made with: where results are (`work`) and the data sets (`data`; without it any questions count if there are
    results of only one set), the models that read and that build (empty: the same), the encoder, and a digest of the user's other
    settings as far as they change results, empty for the defaults.
    """

    work: Path
    data: Path | None = None
    model: str = ""
    builder: str = ""
    encoder: str = ""
    settings: str = ""

    @classmethod
    def of(cls, settings: Settings, work: Path, data: Path | None) -> Setting:
        """Those of the user's settings and of the environment."""
        build = settings.chat.build.model
        model = configured_model(settings.chat.of("read").model)
        return cls(work, data, model, build, settings.encoder, digest_of_settings(settings))

    @property
    def at_hand(self) -> frozenset[str]:
        """The names of the data sets."""
        return frozenset(path.name for path in self.data.iterdir() if path.is_dir()) if self.data else frozenset()


def digest_of_settings(settings: Settings) -> str:
    """A digest of the user's settings as far as they change results; empty for the defaults."""
    default = Settings()
    irrelevant: JsonObject = {"recipe": default.recipe, "language": default.language, "server": default.server}

    def digest(values: Settings) -> str:
        roles = [values.chat.of(role) for role in ("read", "decompose", "build")]
        layers = [own.model for own in roles[1:] if own.model != roles[0].model]
        further = fingerprint(replace(values, **irrelevant, chat=default.chat))
        return content_id("", further, *map(shaping, roles), *layers)

    own = digest(settings)
    return "" if own == digest(default) else own[:_DIGITS]


def made_here() -> str:
    """A digest of the code of the engine and of the papers, and of this machine."""
    machine = f"{platform.node()} {platform.machine()} {os.cpu_count()}"
    return content_id("", digest_of_code("hoptrail"), digest_of_code("hoptrail_papers"), machine)[:_DIGITS]


def planned_runs(table: Table, setting: Setting) -> tuple[PlannedRun, ...]:
    """The distinct runs that fill cells of a table, as far as they can be made with `setting`."""
    plans = (_plan(cell, setting) for cell in _runnable(table) if not _reason_left_out(cell, setting))
    return tuple({plan.out: plan for plan in plans}.values())


def runs_left_out(table: Table, setting: Setting) -> dict[str, str]:
    """The runs of a table that would fill cells but are not planned, with their reasons; one that is to be run by hand as
    it is typed, so that its results are read here.
    """
    left_out: dict[str, str] = {}
    for cell in _runnable(table):
        if reason := _reason_left_out(cell, setting):
            typed = ["hoptrail", *_plan(cell, setting).arguments]
            left_out[shlex.join(typed) if reason.startswith(_BY_HAND) else cell.run] = reason
    return left_out


def _runnable(table: Table) -> list[PublishedValue]:
    cells = [cell for cell in cells_of(table, printed=False) if cell.run]
    engine = [cell for cell in cells if cell.status is Status.NEEDS_ENGINE]
    online = {cell.run for cell in engine}
    return [*(cell for cell in cells if cell.status in _RUNNABLE and cell.run not in online), *engine]


def _reason_left_out(cell: PublishedValue, setting: Setting) -> str:
    if cell.status is Status.NEEDS_ENGINE:
        return f"{_BY_HAND}: it asks a search engine on the web"
    if " OUT" not in cell.run:
        return f"{_BY_HAND}: it wants a dump of Wikipedia"
    if setting.data is None or not (setting.data / cell.data).is_dir():
        return f"there is no data set {(setting.data or Path('DATA')) / cell.data}"
    return _refused(cell, setting)


def found_values(table: Table, setting: Setting) -> dict[Place, Measured]:
    """The results of finished runs by row and column, in the table's units; averages where all that they are over are there.
    Raises: DataError: a result is malformed, or there are results of several sets of questions.
    """
    by_maker: defaultdict[str, dict[Place, Measured]] = defaultdict(dict)
    for cell in cells_of(table, printed=False):
        if cell.run.startswith("hoptrail wikipedia "):
            counts = setting.data / cell.data / COUNTS if setting.data else None
            if counts and counts.is_file():  # what the command counted
                by_maker[""][cell.row, cell.column] = Measured(float(_content(counts)[cell.column]))
        elif " OUT" in cell.run and not _refused(cell, setting):
            for out in _results(cell, setting):
                by_maker[out.stem[-_DIGITS:]].update(_values(cell, out, setting))
    here = made_here()
    most = max(by_maker, key=lambda maker: (len(by_maker[maker]), maker == here), default="")
    values = by_maker[most]
    for row in {row for row, _ in values}:
        values |= derived(table, row, values)
    return values


def _plan(cell: PublishedValue, setting: Setting) -> PlannedRun:
    out = setting.work / OUT_FOLDER / f"{_stem(cell, setting)}-{made_here()}.json"
    places = {"WORK": str(setting.work), "OUT": str(out)}
    words = shlex.split(cell.run)[1:]
    arguments = tuple(
        f"{setting.data}/{word.removeprefix('DATA/')}" if word.startswith("DATA/") else places.get(word, word)
        for word in words
    )
    return PlannedRun(arguments, out, "chat" in words)


def _refused(cell: PublishedValue, setting: Setting) -> str:
    """Why answers of the setting's models do not count for a cell; empty if they do. The index is to be by the model that the row
    names, else by the one that reads, which may be any if the row or the run names none.
    """
    own = setting.builder in ("", setting.model)
    if not (_is_named(cell.indexed_by, setting.builder) if cell.indexed_by else own):
        indexed = cell.indexed_by or f"{setting.model or 'the model'} itself"
        return f"its row is of an index by {indexed}: name it as model under [chat.build]"
    reads = not cell.model or "--language" not in cell.run or _is_named(cell.model, setting.model)
    return "" if reads else f"its row is of the model {cell.model}"


def _is_named(model: str, name: str) -> bool:
    return _letters_and_digits(model) in _letters_and_digits(name)


def _letters_and_digits(model: str) -> str:
    return "".join(letter for letter in model.casefold() if letter.isalnum())


def _results(cell: PublishedValue, setting: Setting) -> list[Path]:
    """The results of a cell's run, by any code and machine."""
    ends = _HEX if setting.data else f"{_HEX}-{_HEX}"
    files = sorted((setting.work / OUT_FOLDER).glob(f"{escape(_stem(cell, setting))}-{ends}.json"))
    if len({file.stem[: -_DIGITS - 1] for file in files}) > 1:
        raise DataError(
            f"there are results of several sets of questions: {files[0]}, {files[-1]}; choose one with --data"
        )
    return files


def _stem(cell: PublishedValue, setting: Setting) -> str:
    """The beginning of a result's name: data set, recipe, mode, settings of the paper and of the user, model, questions."""
    words = shlex.split(cell.run)
    how = [word.strip("-") for word in ("--own-context", "--single-hops") if word in words]
    how += [word.replace(":", ".") for word in words if word.startswith(PREFIX)]
    how += [content_id("", *words[words.index("--set") :])[:_DIGITS]] if "--set" in words else []
    how += [f"settings.{setting.settings}"] if setting.settings else []
    how += [words[2]] if words[1] == "probe" else []
    performer = (_letters_and_digits(setting.model) or "no-model") if "--language" in words else "retrieval"
    questions = []
    if setting.data:
        file = next(filter(Path.is_file, (setting.data / cell.data / name for name in QUESTION_FILES)), None)
        questions.append(hashlib.sha256(file.read_bytes() if file else b"").hexdigest()[:_DIGITS])
    return "-".join([cell.data, cell.recipe.replace(":", "."), *how, performer, *questions])


def _values(cell: PublishedValue, out: Path, setting: Setting) -> Iterator[tuple[Place, Measured]]:
    """The value of a cell in a results file; beside seconds also the size of the pool, which TPER takes."""
    content = _content(out)
    report = content if " probe " in cell.run else content.get("recipes", {}).get(cell.recipe)
    if not isinstance(report, dict):
        raise DataError(f"{out} is not what `hoptrail evaluate --out` writes; remove it and run again")
    (data, _, measure), n = cell.column.partition(" "), int(report.get("n") or report.get("questions", 0))
    if measure in MEASURES:
        folder = setting.data / cell.data if setting.data else None
        value = measured_answers(measure, folder, setting.work, report) if folder else None
    else:
        value = value_of(cell, report)
    if value is not None:
        n = int(report["answers_by_turns"][cell.column].get("n", 0)) if cell.column.isdecimal() else n
        yield (cell.row, cell.column), Measured(value, n, setting.encoder)
    if measure == "tpq":
        yield (cell.row, f"{data} pool"), Measured(float(report["pool_size"]), n, setting.encoder)


def _content(path: Path) -> Mapping[str, Any]:
    try:
        content: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read ({error}); remove it and run again") from error
    return content


def value_of(cell: PublishedValue, report: Mapping[str, Any]) -> float | None:
    """The value of a cell in a recipe's report, in the table's units; None if the report lacks it."""
    first, _, measure = cell.column.partition(" ")
    if "groupings" in report:
        return _coverage(report["groupings"], first, measure)
    if "rewritten" in report:
        return float(report[_SUB_QUESTIONS[cell.row.removeprefix("Sub-question ")]])
    if cell.column.isdecimal():  # EM by the number of turns
        turns = report.get("answers_by_turns", {}).get(cell.column)
        return None if turns is None else 100 * float(turns["em"])
    if measure in SHARES:
        value = report.get(measure)
        return None if value is None else 100 * float(value)
    if measure == "tpq":
        return float(sum(report["seconds_per_question"].values()))
    key = "pool_size" if measure == "pool" else measure
    return float(report[key]) if isinstance(report.get(key), int | float) else None


def _coverage(groupings: Mapping[str, Any], which: str, measure: str) -> float | None:
    """A value of SiReRAG's table 1. The overlap of similarity is that of relatedness, over the other's share."""
    similarity, relatedness = groupings["similarity"], groupings["relatedness"]
    if which != "overlap":
        value = groupings[which][measure]
    elif measure == "relatedness" or not similarity["supporting"]:
        value = relatedness["overlap"]
    else:
        value = (relatedness["overlap"] or 0.0) * relatedness["supporting"] / similarity["supporting"]
    return None if value is None else 100 * float(value)
