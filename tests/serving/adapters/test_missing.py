"""Without its library, an adapter names the package to install."""

from __future__ import annotations

import sys
from importlib import import_module

import pytest


@pytest.mark.parametrize(
    ("adapter", "library"),
    [("langchain", "langchain_core.callbacks"), ("llamaindex", "llama_index.core"), ("haystack", "haystack")],
)
def test_a_missing_library_is_named(adapter: str, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)  # as if it were not there
    for name in [name for name in sys.modules if name.startswith(f"{library}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, f"hoptrail.serving.adapters.{adapter}", raising=False)
    with pytest.raises(ImportError, match=rf"pip install hoptrail\[{adapter}\]"):
        import_module(f"hoptrail.serving.adapters.{adapter}")
