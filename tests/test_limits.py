"""Files, classes and functions stay small enough to be read, and the package shrinks: what is longer today, and how much there is
of each thing, is listed, and the lists can only shrink.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

import pytest

from hoptrail.index.settings import Settings
from hoptrail.recipes.catalogue import presets_of
from hoptrail.recipes.registry import recipe_class, recipe_names, settings_key

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"

FILE, CLASS, METHODS, FUNCTION, PARAMETERS = 500, 250, 15, 60, 8
"""Lines of a file, of a class, methods of a class, lines of a function, parameters of a function."""

EXCEPTIONS = {
    "hoptrail/serving/cli.py:index: parameters": 15,
    "hoptrail/serving/cli_asking.py:ask: parameters": 9,
    "hoptrail/serving/cli_evaluation.py:evaluate: parameters": 13,
    "hoptrail/serving/cli_serving.py:serve: parameters": 14,
}
"""Commands, whose parameters are their options."""


def measured(folder: Path) -> Iterator[tuple[str, int, int]]:
    """What is measured of each thing, how much it is, and how much it may be. Docstrings and comments count, too."""
    for path in sorted(folder.rglob("*.py")):
        text, place = path.read_text(encoding="utf-8"), path.relative_to(folder).as_posix()
        yield f"{place}: lines", len(text.splitlines()), FILE
        yield from _measured_in(ast.parse(text), place)


def _measured_in(node: ast.AST, place: str) -> Iterator[tuple[str, int, int]]:
    for child in ast.iter_child_nodes(node):
        name = place
        if isinstance(child, ast.ClassDef):
            name = f"{place}:{child.name}"
            yield f"{name}: lines of the class", _lines(child), CLASS
            methods = [one for one in child.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
            yield f"{name}: methods", len(methods), METHODS
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            name = f"{place}:{child.name}"
            yield f"{name}: lines of the function", _lines(child), FUNCTION
            given = child.args
            parameters = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
            yield f"{name}: parameters", len([one for one in parameters if one not in {"self", "cls"}]), PARAMETERS
        yield from _measured_in(child, name)


def _lines(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def test_files_classes_and_functions_keep_within_their_limits() -> None:
    over = {what: size for what, size, most in measured(SOURCE) if size > most}
    grown = {what: size for what, size in over.items() if size > EXCEPTIONS.get(what, 0)}
    assert not grown, f"too long: {grown}. Divide it by what it is about; the list of exceptions only shrinks."
    shrunk = {what: size for what, size in EXCEPTIONS.items() if over.get(what, 0) < size}
    assert not shrunk, f"no longer so long: {shrunk}. Take it off the list of exceptions, or lower it to {over}."


def test_what_is_too_long_is_found(tmp_path: Path) -> None:
    lines = ["class Long:", *(f"    def m{number}(self): ..." for number in range(METHODS + 1))]
    lines += [f"def many({', '.join(f'p{number}' for number in range(PARAMETERS + 1))}):", *["    pass"] * FUNCTION]
    lines += ["class Wide:", *["    field: int"] * CLASS, *["# more"] * 200]
    (tmp_path / "long.py").write_text("\n".join(lines), encoding="utf-8")
    assert {what for what, size, most in measured(tmp_path) if size > most} == {
        "long.py: lines",
        "long.py:Long: methods",
        "long.py:many: parameters",
        "long.py:many: lines of the function",
        "long.py:Wide: lines of the class",
    }


# --- how much there is

LINES = {
    ".": 518,
    "corpus": 5166,
    "documents": 10_743,
    "evaluation": 2132,
    "execution": 85,
    "hoptrail": 42_905,
    "hoptrail_papers": 11_536,
    "hoptrail_scale": 2065,
    "index": 2076,
    "language": 5602,
    "models": 3703,
    "recipes": 1390,
    "retrieval": 1508,
    "serving": 6193,
    "structures": 1557,
    "system": 166,
    "text": 1390,
    "types": 676,
}
"""Lines of each folder of the engine (`.` are the modules at the top), and of each package."""

COUNTS = {
    "settings": 333,
    "settings of the engine": 108,
    "presets": 107,
    "patterns in language": 50,
    "words in language": 608,
    "patterns in text": 42,
    "words in text": 1174,
    "numbers": 696,
}
"""What a user or a reader must know one by one. Settings and presets are those of all recipes; those of the engine are without
the recipes and structures of other packages. A pattern is a call of `re`; words are those in the strings of a module's constants,
patterns included, and numbers are those of these constants.
"""

WALK = {
    "files": 70,
    "depth": 26,
}
"""What one question goes through (`benchmarks/calls.py`)."""

CALLS = 15_050
"""The most calls for it. A processor that rounds otherwise may need some more than the 14,900 of another one."""

FLOORS = 10
"""The longest chain of folders and modules at the top of the engine of which each imports the next."""

RULES = ("language", "text")
"""The folders whose patterns and words are rules for the form of a question or a statement."""


def lines_by_folder(source: Path) -> dict[str, int]:
    found: dict[str, int] = {}
    for path in source.rglob("*.py"):
        package, *inside = path.relative_to(source).parts
        folder = inside[0] if len(inside) > 1 else "."
        lines = len(path.read_text(encoding="utf-8").splitlines())
        for name in (package, *([folder] if package == "hoptrail" else ())):
            found[name] = found.get(name, 0) + lines
    return found


def counts(package: Path) -> dict[str, int]:
    """What COUNTS has of patterns, words and numbers."""
    found = dict.fromkeys(
        [*(f"{what} in {folder}" for folder in RULES for what in ("patterns", "words")), "numbers"], 0
    )
    for path in package.rglob("*.py"):
        tree, folder = ast.parse(path.read_text(encoding="utf-8")), path.relative_to(package).parts[0]
        values = [node.value for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign) and node.value]
        constants = [one.value for value in values for one in ast.walk(value) if isinstance(one, ast.Constant)]
        found["numbers"] += sum(isinstance(one, int | float) and not isinstance(one, bool) for one in constants)
        if folder in RULES:
            strings = [one for one in constants if isinstance(one, str)]
            found[f"words in {folder}"] += sum(len(re.findall(r"[^\W\d_]{2,}", one)) for one in strings)
            found[f"patterns in {folder}"] += sum(map(_is_pattern, ast.walk(tree)))
    return found


def floors(package: Path) -> int:
    """What FLOORS is of a package, its public door left out. Imports within functions count. Raises: CycleError: two of them
    import each other.
    """
    files = [(path, path.relative_to(package).parts[0].removesuffix(".py")) for path in package.rglob("*.py")]
    rooms: dict[str, set[str]] = {room: set() for _, room in files if room != "__init__"}
    for path, room in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [one.name for one in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            before = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            paths = [f"{before}{name}".split(".") for name in names]
            known = {inside[0] for top, *inside in paths if top == package.name and inside}
            rooms.get(room, set()).update(known & rooms.keys() - {room})
    heights: dict[str, int] = {}
    for room in TopologicalSorter(rooms).static_order():
        heights[room] = 1 + max((heights[one] for one in rooms[room]), default=0)
    return max(heights.values())


def _is_pattern(node: ast.AST) -> bool:
    called = node.func if isinstance(node, ast.Call) else None
    return isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "re"


def settings_in(settings: Any) -> int:
    """The number of single settings in a tree of them."""
    values = (getattr(settings, field.name) for field in fields(settings) if field.repr)
    return sum(settings_in(value) if is_dataclass(value) else 1 for value in values)


def settings_of_other_packages(settings: Settings) -> int:
    """The number of those whose recipe or structure is not the engine's."""
    recipes = (name for name in recipe_names() if not recipe_class(name).__module__.startswith("hoptrail."))
    owners = [getattr(settings.recipes, settings_key(name)) for name in recipes]
    structures = (getattr(settings.structures, field.name) for field in fields(settings.structures))
    owners += [one for one in structures if not type(one).__module__.startswith("hoptrail.")]
    return sum(map(settings_in, owners))


def amiss(found: Mapping[str, int], most: Mapping[str, int], slack: int) -> str:
    """What has grown, and what has fallen by more than the slack or a hundredth (smaller steps would collide when merged)."""
    lines = []
    for name in sorted(found.keys() | most.keys()):
        number, limit = found.get(name, 0), most.get(name, 0)
        if number > limit:
            lines.append(f"{name}: {number}, more than {limit}: delete as much as you add")
        elif number < limit - max(slack, limit // 100):
            lines.append(f"{name}: {number}, lower the limit {limit} to it")
    return "\n".join(lines)


def test_no_folder_grows() -> None:
    assert not (said := amiss(lines_by_folder(SOURCE), LINES, 50)), said


def test_neither_settings_nor_rules_become_more() -> None:
    presets = sum(len(presets_of(name)) for name in recipe_names())
    everything = settings_in(Settings())
    own = everything - settings_of_other_packages(Settings())
    settings = {"settings": everything, "settings of the engine": own, "presets": presets}
    found = {**settings, **counts(SOURCE / "hoptrail")}
    assert not (said := amiss(found, COUNTS, 5)), said


def test_a_question_goes_through_no_more_files_and_calls() -> None:
    """In a process of its own, because what other tests have cached is not called again."""
    ended = subprocess.run(
        [sys.executable, "-m", "benchmarks.calls"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    figures = {name: int(number.replace(",", "")) for name, number in re.findall(r"(\w.*?) +([\d,]+)\n", ended.stdout)}
    assert not (said := amiss({name: figures[name] for name in WALK}, WALK, 2)), said
    assert figures["calls"] <= CALLS


def test_the_engine_has_no_more_floors(tmp_path: Path) -> None:
    assert floors(SOURCE / "hoptrail") == FLOORS
    package = tmp_path / "house"
    (package / "attic").mkdir(parents=True)
    (package / "__init__.py").write_text("from house.attic.trunk import lid\n")
    (package / "cellar.py").write_text("import hall\n")
    (package / "hall.py").write_text("def f():\n    from house import cellar\n")
    (package / "attic" / "trunk.py").write_text("from house.hall import f\nimport house.attic.lamp\nimport sys\n")
    (package / "attic" / "lamp.py").write_text("from house.cellar import sys\n")
    assert floors(package) == 3
    (package / "cellar.py").write_text("import house.attic.lamp\n")
    with pytest.raises(CycleError):
        floors(package)


def test_what_grows_or_falls_far_is_named(tmp_path: Path) -> None:
    package = tmp_path / "hoptrail"
    (package / "text").mkdir(parents=True)
    (package / "text" / "rules.py").write_text(
        'import re\n_MOST, _NAMES = 3, "ada berg"\n_P = re.compile(r"lunt|\\bx")\ndef f(s):\n    return re.sub("a", "of", s)\n'
    )
    (package / "top.py").write_text("A = 0.5\nB: int = -2\nC = True\n")
    assert lines_by_folder(tmp_path) == {"text": 5, ".": 3, "hoptrail": 8}
    assert counts(package) == {
        "patterns in language": 0,
        "words in language": 0,
        "patterns in text": 2,
        "words in text": 4,
        "numbers": 3,
    }
    assert amiss({"a": 10}, {"a": 10}, 5) == amiss({"a": 5}, {"a": 10}, 5) == amiss({"a": 990}, {"a": 1000}, 5) == ""
    assert amiss({"a": 11}, {"a": 10}, 5) == "a: 11, more than 10: delete as much as you add"
    assert amiss({"a": 4, "b": 989}, {"a": 10, "b": 1000}, 5) == (
        "a: 4, lower the limit 10 to it\nb: 989, lower the limit 1000 to it"
    )
    assert amiss({"b": 1}, {}, 5).startswith("b: 1, more than 0")
