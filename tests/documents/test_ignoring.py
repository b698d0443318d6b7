"""Patterns ignore what git ignores; git itself is asked."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from hoptrail.documents.walking import Selection, check_pattern, files_in, ignored_above
from hoptrail.errors import UsageError

FILES = (
    "a.md", "b.txt", "build/out.md", "build/keep.md", "docs/a.md", "docs/build/x.md", "docs/deep/er/a.md", "docs/deep/er/b.txt",
    "logs/today.log", "logs/old/a.log", "two words.md", "bang!.md", "#hash.md", "node_modules/pkg/README.md", "x1.md", "x-.md",
    "star*.md", "docs/build.md", "tail /t.md",
)  # fmt: skip

LISTS = (
    "*\n!*/\n!*.md",
    "build/\n!build/keep.md",
    "build/*\n!build/keep.md",
    "/build",
    "docs/build/",
    "**/er\n!**/er/",
    "docs/**\n!docs/a.md",
    "docs/**/a.md",
    "**/build/**",
    "*.md\n!/docs/*.md\n# comment\n\n\\#hash.md",
    "\\#hash.md\n!bang!.md\n\\!x",
    "x[0-9].md\r\nx[!0-9].md \n",
    "x[]-].md\n[^a]*.txt",
    "star\\*.md\n[unclosed\ntrailing\\",
    "foo\n!foo/\nlogs\n!logs/old/",
    "l?gs/*.log",
    "a.md/",
    "tail\\ /\ntwo words.md  ",
    "*\n!docs/\n!docs/deep/\n!docs/deep/**",
    "do**er/\n**",
    "/**/a.md",
)


def written(folder: Path, gitignore: dict[str, str]) -> Path:
    for name in FILES:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, encoding="utf-8")
    for where, lines in gitignore.items():
        (folder / where / ".gitignore").write_bytes(lines.encode())
    return folder


def kept_by_git(folder: Path) -> set[str]:
    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, text=True).stdout

    git("init", "-q")
    names = git("ls-files", "-z", "--others", "--exclude-per-directory=.gitignore").split("\0")
    return {name for name in names if name and not name.endswith(".gitignore")}


def kept(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in files_in([folder], Selection()) if isinstance(path, Path)}


with_git = pytest.mark.skipif(not shutil.which("git"), reason="compares with git")


@with_git
@pytest.mark.parametrize("lines", LISTS)
def test_one_list_is_followed_as_git_does(tmp_path: Path, lines: str) -> None:
    folder = written(tmp_path, {".": lines})
    assert kept(folder) == kept_by_git(folder)


@with_git
def test_lists_in_several_folders_are_followed_as_git_does(tmp_path: Path) -> None:
    chance = random.Random(1)
    kept_numbers = set()
    for number in range(40):
        lists = {where: chance.choice(LISTS) for where in (".", "docs", "docs/deep", "build") if chance.random() < 0.7}
        folder = written(tmp_path / str(number), lists)
        assert kept(folder) == kept_by_git(folder), lists
        kept_numbers.add(len(kept(folder)))
    assert len(kept_numbers) > 5, "the lists differ in what they keep"


def test_the_lists_of_the_repository_above_count(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    folder = written(tmp_path / "deep" / "notes", {})
    (tmp_path / ".gitignore").write_text("/deep/notes/logs/\n*.txt\n")
    assert {"a.md", "build/out.md"} <= kept(folder)
    assert not {"b.txt", "logs/today.log"} & kept(folder)
    (tmp_path / ".gitignore").write_text("deep/\n*.txt\n")
    assert "b.txt" in kept(folder), "a folder that is named is read although it is ignored"
    assert ignored_above(folder) == ()


def test_outside_a_repository_only_the_folders_own_lists_count(tmp_path: Path) -> None:
    folder = written(tmp_path / "notes", {"docs": "a.md"})
    (tmp_path / ".gitignore").write_text("*.txt")
    assert {"b.txt", "a.md"} <= kept(folder)
    assert "docs/a.md" not in kept(folder)


@pytest.mark.parametrize("pattern", ["", "/", "# comment", "[a", "a\\", "!"])
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(UsageError, match="is not a pattern"):
        check_pattern(pattern)
