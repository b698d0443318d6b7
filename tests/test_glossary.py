"""The glossary is short, names what is in the code, and has every word that a record can hold."""

from __future__ import annotations

import ast
import re
from collections import Counter
from enum import StrEnum
from importlib import import_module
from importlib.metadata import files
from pathlib import Path

import pytest

from hoptrail.types import AnswerKind, BlockKind, Kind, Verdict

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "glossary.md").read_text("utf-8")
ROWS = [[cell.strip() for cell in row.strip("|").split("|")] for row in PAGE.splitlines() if row.startswith("| ")][1:]
MOST_WORDS = 60


def test_the_glossary_is_short_and_says_each_word_once() -> None:
    words = [word for word, *_ in ROWS]
    assert 0 < len(words) <= MOST_WORDS
    assert len(set(words)) == len(words)
    assert all(len(row) == 3 and all(row) for row in ROWS)


@pytest.mark.parametrize("name", [name.strip("`") for _, _, name in ROWS])
def test_what_a_word_is_called_in_code_is_there(name: str) -> None:
    parts = name.split(".")
    package = parts.pop(0) if parts[0].startswith("hoptrail_") else "hoptrail"
    found: object = import_module(package)
    for at, part in enumerate(parts, 1):
        if not hasattr(found, part) and part not in getattr(found, "__dataclass_fields__", ()):
            found = import_module(".".join([package, *parts[:at]]))
        else:
            found = getattr(found, part, None)


@pytest.mark.parametrize("kinds", [Kind, BlockKind, AnswerKind, Verdict])
def test_every_kind_is_in_the_glossary(kinds: type[StrEnum]) -> None:
    known = {word for word, *_ in ROWS} | set(re.findall(r"`([a-z-]+)`", PAGE))
    assert [kind.value for kind in kinds if kind.value not in known] == []


OTHER_CHUNKS = {"glossary.md", "object-stores.md", "recipes.md", "serving.md"}
"""Pages where the word is explained, is a paper's, or is of a stream or a file."""


def test_pages_say_passage_and_not_chunk() -> None:
    pages = [page for page in (ROOT / "docs").glob("*.md") if page.name not in OTHER_CHUNKS]
    assert [page.name for page in pages if re.search(r"\bchunks?\b", page.read_text("utf-8"), re.IGNORECASE)] == []


def test_notices_of_what_reads_pdfs_are_named_and_come_with_it() -> None:
    notice = (ROOT / "NOTICE").read_text("utf-8")
    assert "The PDFium Authors" in notice
    assert '"NOTICE"' in (ROOT / "pyproject.toml").read_text("utf-8")
    shipped = [str(file) for file in files("pypdfium2") or ()]
    assert any(name.endswith("licenses/BUILD_LICENSES/pdfium.txt") for name in shipped)


RETIRED = re.compile(
    r"\b(?:Standing|Grove|Openings|Titled|Said|Described|Cramped|Unusable|Unremembering|ListenedLanguage|Workshop|_hangs_on"
    r"|Course|Gathering|told_name|tell_nobody|tell_no_progress|made_once|stand_alone|unleased|wanted_model|refuse_learned)\b"
)
"""Names that gave way to the trade's terms."""
RIDDLES = re.compile(
    r"\b(?:whoever|nobody knows (?:what|who|where)|what there is too much of|which of them is told|as good as drawn|told apart"
    r"|has it that|what is there is)\b",
    re.IGNORECASE,
)
"""Turns of phrase that have to be read twice."""


def test_retired_words_stay_away() -> None:
    written = [*(ROOT / "src").rglob("*.py"), *(ROOT / "benchmarks").glob("*.py")]
    pages = [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]
    pages = [page for page in pages if page.name not in {"diary.md", "CHANGELOG.md"}]  # they are kept as written
    texts = {file: file.read_text("utf-8") for file in (*written, *pages)}
    found = [(file.name, match[0]) for file, text in texts.items() for match in RIDDLES.finditer(text)]
    found += [(file.name, match[0]) for file in written for match in RETIRED.finditer(texts[file])]
    assert found == []


def classes_by_name(source: Path) -> Counter[str]:
    """How many classes have each public name, nested ones too."""
    trees = (ast.parse(file.read_text("utf-8")) for file in source.rglob("*.py"))
    names = (node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return Counter(name for name in names if not name.startswith("_"))


def test_a_public_name_of_a_class_stands_for_one_thing(tmp_path: Path) -> None:
    assert {name for name, number in classes_by_name(ROOT / "src").items() if number > 1} == {"HoptrailRetriever"}
    (tmp_path / "one.py").write_text("class Line:\n    class Cell: ...\nclass _Own: ...\n", "utf-8")
    (tmp_path / "two.py").write_text("def f():\n    class Line: ...\nclass _Own: ...\n", "utf-8")
    assert classes_by_name(tmp_path) == {"Line": 2, "Cell": 1}


def test_modules_share_a_name_only_if_they_are_the_same_thing_of_two_packages() -> None:
    names = [file.stem for file in (ROOT / "src").rglob("*.py") if file.stem != "__init__"]
    shared = {name for name in names if names.count(name) > 1}
    assert shared <= SIBLINGS


SIBLINGS = {
    "catalogue",
    "commands",
    "folder",
    "graph",
    "performer",
    "raptor",
    "refusals",
    "sentences",
    "settings",
    "words",
}
"""One in each of two or more packages; the list only shrinks."""
