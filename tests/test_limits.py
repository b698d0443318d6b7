"""Files, classes and functions stay small enough to be read: what is longer today is listed, and the list can only shrink."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src"

FILE, CLASS, METHODS, FUNCTION, PARAMETERS = 400, 250, 15, 40, 8
"""Lines of a file, of a class, methods of a class, lines of a function, parameters of a function."""

EXCEPTIONS = {
    "serving/cli.py:index: parameters": 14,
    "serving/cli_evaluation.py:evaluate: parameters": 12,
    "serving/cli_serving.py:serve: parameters": 13,
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
    over = {what: size for what, size, most in measured(SOURCE / "hoptrail") if size > most}
    grown = {what: size for what, size in over.items() if size > EXCEPTIONS.get(what, 0)}
    assert not grown, f"too long: {grown}. Divide it by what it is about; the list of exceptions only shrinks."
    shrunk = {what: size for what, size in EXCEPTIONS.items() if over.get(what, 0) < size}
    assert not shrunk, f"no longer so long: {shrunk}. Take it off the list of exceptions, or lower it to {over}."


def test_what_is_too_long_is_found(tmp_path: Path) -> None:
    lines = ["class Long:", *(f"    def m{number}(self): ..." for number in range(METHODS + 1))]
    lines += [f"def many({', '.join(f'p{number}' for number in range(PARAMETERS + 1))}):", *["    pass"] * FUNCTION]
    lines += ["class Wide:", *["    field: int"] * CLASS, *["# more"] * 100]
    (tmp_path / "long.py").write_text("\n".join(lines), encoding="utf-8")
    assert {what for what, size, most in measured(tmp_path) if size > most} == {
        "long.py: lines",
        "long.py:Long: methods",
        "long.py:many: parameters",
        "long.py:many: lines of the function",
        "long.py:Wide: lines of the class",
    }
