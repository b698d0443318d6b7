"""A new recipe, and a new format, is one file and one line: tried on a copy of the source, by the command line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"

RECIPE = '''"""The best passages by keywords, and few of them."""

from dataclasses import dataclass, field
from typing import ClassVar

from hoptrail.recipes.recipe import PassageSettings
from hoptrail.recipes.single_pass import SinglePass
from hoptrail.retrieval.units.unit_search import keyword_search


@dataclass(frozen=True, slots=True)
class ToySettings(PassageSettings):
    """As for every single pass."""

    most: int = 1


@dataclass(frozen=True)
class Toy(SinglePass):
    """The best passages by keywords, and no more than `most`."""

    settings: ToySettings = field(default_factory=ToySettings)
    name: ClassVar[str] = "toy"

    def retrieve(self, question):
        return keyword_search(self.corpus, question, self.settings.most)
'''

FORMAT = '''"""Lines of words that stand backwards."""

from hoptrail.documents.plain_text import parse_plain


def parse_toy(data, limits):
    return parse_plain(data[::-1], limits)
'''


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the source with a recipe and a format more."""
    source = tmp_path / "src"
    shutil.copytree(SOURCE, source, ignore=shutil.ignore_patterns("__pycache__"))
    package = source / "hoptrail"
    (package / "recipes" / "toy.py").write_text(RECIPE, "utf-8")
    (package / "documents" / "toy.py").write_text(FORMAT, "utf-8")
    _add_line(package / "recipes" / "registry.py", "_CLASSES = {", '    "toy": "Toy",')
    _add_line(package / "documents" / "forms.py", "FORMS = (", '    Form("toy", (".toy",), "toy:parse_toy"),')
    return source


def test_a_recipe_and_a_format_of_ones_own_need_a_file_and_a_line_each(copied: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "isk.toy").write_bytes(b"The Isk rises on Mount Corrie."[::-1])
    (notes / "tam.txt").write_text("The Tam rises on Mount Sellar.", "utf-8")
    (tmp_path / "my.toml").write_text("[recipes.toy]\nmost = 2\n", "utf-8")

    _hoptrail(copied, tmp_path, "index", "notes", "--for", "toy")
    one = _hoptrail(copied, tmp_path, "search", "rises on Mount Corrie", "--recipe", "toy", "--json")
    two = _hoptrail(copied, tmp_path, "search", "rises on Mount", "--recipe", "toy", "--json", "--settings", "my.toml")

    assert [hit["text"] for hit in json.loads(one)["hits"]] == ["The Isk rises on Mount Corrie."]
    assert len(json.loads(two)["hits"]) == 2


def _add_line(file: Path, after: str, line: str) -> None:
    text = file.read_text("utf-8")
    assert text.count(after) == 1
    file.write_text(text.replace(after, f"{after}\n{line}"), "utf-8")


def _hoptrail(source: Path, folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "hoptrail", *arguments]
    there = os.environ | {"PYTHONPATH": str(source)}
    ended = subprocess.run(command, cwd=folder, env=there, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout
