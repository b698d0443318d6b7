"""The notebook in `examples/` runs from its first cell to its last, and shows what it says it shows."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from shared_models import OPEN_ENCODER, open_once

EXAMPLES = Path(__file__).parent.parent / "examples"


def shown_by(notebook: dict[str, Any]) -> list[object]:
    """What each cell of code shows: the value of its last expression. In this process, since a kernel takes seconds to start."""
    names: dict[str, object] = {}
    shown = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            *before, last = ast.parse("".join(cell["source"])).body
            assert isinstance(last, ast.Expr), "each cell ends with what it shows"
            exec(compile(ast.Module(before, []), "<cell>", "exec"), names)  # noqa: S102 - our own notebook
            shown.append(eval(compile(ast.Expression(last.value), "<cell>", "eval"), names))  # noqa: S307
    return shown


def test_the_notebook_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = json.loads((EXAMPLES / "notebook.ipynb").read_text(encoding="utf-8"))
    assert not any(cell.get("outputs") for cell in notebook["cells"]), "stored without what a run puts out"
    monkeypatch.chdir(EXAMPLES)
    monkeypatch.setattr(OPEN_ENCODER, open_once)
    shown = shown_by(notebook)
    rich: list[str] = [one._repr_html_() for one in shown if hasattr(one, "_repr_html_")]
    plain = list(map(repr, shown))
    assert "18 added" in rich[0]
    assert "18 documents" in rich[1]
    assert "<mark>River Lathe</mark>" in rich[2]
    assert "Not settled" in rich[3]
    assert plain[4].count("True") == 3
    assert any("When was Ilse Marrow born?" in text and "1832" in text for text in plain)
    assert all(len(text) < 1_000 for text in plain), "no screenful of records"
