"""A recipe of one's own is a package with an entry point, a format is one file and one line: tried by the command line."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"

PAGE = Path(__file__).parents[2] / "docs" / "plugins.md"
RECIPE = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)[0]
"""The recipe that the page shows, which calls its module `toy_recipe`."""

FORMAT = '''"""Lines of words that stand backwards."""

from hoptrail.documents.plain_text import parse_plain


def parse_toy(data, limits):
    return parse_plain(data[::-1], limits)
'''


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the source with a format more."""
    source = tmp_path / "src"
    shutil.copytree(SOURCE, source, ignore=shutil.ignore_patterns("__pycache__"))
    (source / "hoptrail" / "documents" / "toy.py").write_text(FORMAT, "utf-8")
    _add_line(
        source / "hoptrail" / "documents" / "forms.py", "FORMS = (", '    Form("toy", (".toy",), "toy:parse_toy"),'
    )
    return source


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The folder into which pip has installed a package with a recipe."""
    wheel = tmp_path / "toy_recipe-1.0-py3-none-any.whl"
    about = "toy_recipe-1.0.dist-info"
    contents = {
        "toy_recipe.py": RECIPE,
        f"{about}/entry_points.txt": "[hoptrail.recipes]\ntoy = toy_recipe:Toy\n",
        f"{about}/METADATA": "Metadata-Version: 2.1\nName: toy-recipe\nVersion: 1.0\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in contents.items():
            archive.writestr(name, text)
        archive.writestr(f"{about}/RECORD", "".join(f"{name},,\n" for name in (*contents, f"{about}/RECORD")))
    folder = tmp_path / "installed"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        "--target",
        str(folder),
        str(wheel),
    ]
    subprocess.run(pip, check=True, capture_output=True)
    return folder


def test_a_recipe_of_ones_own_is_a_package_of_its_own(installed: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for river, mountain in (("Isk", "Corrie"), ("Tam", "Sellar")):
        (notes / f"{river}.txt").write_text(f"The {river} rises on Mount {mountain}.", "utf-8")
    (tmp_path / "my.toml").write_text("[recipes.toy]\nmost = 2\n", "utf-8")

    _hoptrail(installed, tmp_path, "index", "notes", "--for", "toy")
    one = _hoptrail(installed, tmp_path, "search", "rises on Mount Corrie", "--recipe", "toy", "--json")
    two = _hoptrail(
        installed, tmp_path, "search", "rises on Mount", "--recipe", "toy", "--json", "--settings", "my.toml"
    )

    assert [hit["text"] for hit in json.loads(one)["hits"]] == ["The Isk rises on Mount Corrie."]
    assert len(json.loads(two)["hits"]) == 2
    assert "toy" in _hoptrail(installed, tmp_path, "recipes")


def test_a_package_that_cannot_be_imported_is_named(installed: Path, tmp_path: Path) -> None:
    (installed / "toy_recipe.py").write_text("import nothing_of_that_name", "utf-8")
    ended = _ended(installed, tmp_path, "settings")
    assert ended.returncode == 2
    assert "toy of the package toy-recipe cannot be used: No module named 'nothing_of_that_name'" in ended.stderr


def test_a_format_of_ones_own_needs_a_file_and_a_line(copied: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "isk.toy").write_bytes(b"The Isk rises on Mount Corrie."[::-1])
    _hoptrail(copied, tmp_path, "index", "notes", "--for", "bm25")
    found = _hoptrail(copied, tmp_path, "search", "rises on Mount Corrie", "--recipe", "bm25", "--json")
    assert [hit["text"] for hit in json.loads(found)["hits"]] == ["The Isk rises on Mount Corrie."]


def _add_line(file: Path, after: str, line: str) -> None:
    text = file.read_text("utf-8")
    assert text.count(after) == 1
    file.write_text(text.replace(after, f"{after}\n{line}"), "utf-8")


def _hoptrail(source: Path, folder: Path, *arguments: str) -> str:
    ended = _ended(source, folder, *arguments)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def _ended(source: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hoptrail", *arguments]
    there = os.environ | {"PYTHONPATH": str(source)}
    return subprocess.run(command, cwd=folder, env=there, capture_output=True, text=True, check=False)
