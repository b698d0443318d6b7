"""What installed packages add, found by their entry points; the papers' recipes in this distribution are found the same way.

    hoptrail.recipes      NAME = MODULE:CLASS     a recipe (`recipes/recipe.py`)
    hoptrail.structures   NAME = MODULE:CLASS     a structure (`structures/declaration.py`)
    hoptrail.settings     PREFIX = MODULE:FUNCTION  settings by name, `--settings PREFIX:NAME`: nested values, or UsageError
    hoptrail.languages    NAME = MODULE:CLASS     a language that only an evaluation opens (`evaluation/question_run.py`)
    hoptrail.commands     NAME = MODULE:FUNCTION  a command, or a Typer of several (`serving/cli.py`)
    hoptrail.indexes      SCHEME = MODULE:FUNCTION  opens the index at an address such as `s3://…` to be served
    hoptrail.executors    NAME = MODULE:FUNCTION  where documents are processed: `--on NAME`

A name is looked up without importing anything; what it stands for is imported when it is used.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from hoptrail.errors import UsageError


@cache
def found(group: str) -> dict[str, EntryPoint]:
    """What `hoptrail.GROUP` has, by name, sorted. Raises: UsageError: two packages offer the same name."""
    points: dict[str, EntryPoint] = {}
    for point in sorted(entry_points(group=f"hoptrail.{group}")):
        other = points.setdefault(point.name, point)
        if other.value != point.value:
            raise UsageError(
                f"two installed packages offer {point.name} in hoptrail.{group}: {_owner(other)} and {_owner(point)}. "
                f"Uninstall one of them."
            )
    return points


def loaded(group: str, name: str) -> Any:
    """The object of a name that `found` has. Raises: UsageError: it cannot be imported."""
    point = found(group)[name]
    try:
        return point.load()
    except (ImportError, AttributeError) as error:
        raise UsageError(
            f"{name} of the package {_owner(point)} cannot be used: {error}. Reinstall the package, or uninstall it."
        ) from error


def _owner(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value
