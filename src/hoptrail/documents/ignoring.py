"""Patterns of files that are not read, as git defines them for `.gitignore`: the last pattern that matches a file decides, `!`
takes a pattern back, and nothing below an ignored folder is looked at.

Written here because libraries for lists of paths (pathspec) judge a folder by its files: `*`, `!*/`, `!*.md` would ignore all
folders. `tests/documents/test_ignoring.py` compares with git itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hoptrail.errors import UsageError

GITIGNORE = ".gitignore"
_REPOSITORY = ".git"
"""The folder or file that marks the top of a repository."""


@dataclass(frozen=True, slots=True)
class _Pattern:
    expression: re.Pattern[str]
    """Matches whole paths relative to the folder of the pattern."""
    ignores: bool
    folders_only: bool


class Patterns:
    """The patterns for a folder and all below it."""

    def __init__(self, folder: Path, lines: Iterable[str]) -> None:
        self.folder = folder
        self._patterns = [pattern for line in lines if (pattern := _pattern(line)) is not None]

    def decide(self, path: Path, *, is_folder: bool) -> bool | None:
        """Whether a file or folder is ignored; None if no pattern matches it."""
        if not path.is_relative_to(self.folder):
            return None
        name = path.relative_to(self.folder).as_posix()
        for pattern in reversed(self._patterns):
            if (is_folder or not pattern.folders_only) and pattern.expression.fullmatch(name):
                return pattern.ignores
        return None


@dataclass(frozen=True, slots=True)
class IgnoredByGit:
    """What the `.gitignore` files of a folder and of those above it ignore, outermost first."""

    levels: tuple[Patterns, ...] = ()

    def within(self, folder: Path) -> IgnoredByGit:
        """The same with the patterns of a folder below; a repository within another one has only its own.
        Raises: OSError: its `.gitignore` cannot be read.
        """
        own = (folder / _REPOSITORY).exists()
        file = folder / GITIGNORE
        if not file.is_file():
            return IgnoredByGit() if own else self
        lines = file.read_text(encoding="utf-8-sig", errors="surrogateescape").split("\n")
        return IgnoredByGit((*(() if own else self.levels), Patterns(folder, lines)))

    def has(self, path: Path, *, is_folder: bool) -> bool:
        """Whether a file or folder is ignored, if no folder above it is. The innermost patterns decide first."""
        verdicts = (level.decide(path, is_folder=is_folder) for level in reversed(self.levels))
        return next((verdict for verdict in verdicts if verdict is not None), False)


def ignored_above(folder: Path) -> IgnoredByGit:
    """What the `.gitignore` files of the repository above a folder ignore. Nothing if they ignore the folder itself, which is
    read because it was named.
    Raises: OSError: a `.gitignore` cannot be read.
    """
    ignored = IgnoredByGit()
    repository = next((place for place in (folder, *folder.parents) if (place / _REPOSITORY).exists()), folder)
    for place in reversed([one for one in folder.parents if one.is_relative_to(repository)]):
        if ignored.has(place, is_folder=True):
            return IgnoredByGit()
        ignored = ignored.within(place)
    return IgnoredByGit() if ignored.has(folder, is_folder=True) else ignored


def check_pattern(pattern: str) -> None:
    """Raises: UsageError: it is no pattern."""
    if _pattern(pattern) is None:
        raise UsageError(
            f"{pattern!r} is not a pattern of files: write one as in .gitignore, such as drafts/ or *.log."
        )


def _pattern(line: str) -> _Pattern | None:
    """The pattern of a line; None for a comment, an empty line, and one that git never matches."""
    line = line.removesuffix("\r")
    while line.endswith(" ") and not line.endswith("\\ "):
        line = line[:-1]
    if line.startswith("#"):
        return None
    ignores = not line.startswith("!")
    line = line.removeprefix("!")
    body = line.removesuffix("/")
    anchored = "/" in body
    try:
        expression = re.compile(("" if anchored else "(?:.*/)?") + _expression(body.removeprefix("/")), re.DOTALL)
    except re.error:  # a class or an escape without its end
        return None
    return _Pattern(expression, ignores, folders_only=line != body) if body.strip("/") else None


_TOKEN = re.compile(
    r"(?P<above>(?:\A|(?<=/))\*\*/)|(?P<below>(?<=/)\*\*\Z)|\\(?P<escaped>.)|(?P<wildcard>[*?])"
    r"|\[(?P<inverted>[!^]?)(?P<characters>\]?(?:\\.|[^\]\\])*)\]|(?P<other>.)",
    re.DOTALL,
)
_WILDCARDS = {"*": "[^/]*", "?": "[^/]"}


def _expression(pattern: str) -> str:
    """A pattern as a regular expression for paths, which is none if a class or an escape lacks its end."""
    return _TOKEN.sub(_translated, pattern)


def _translated(token: re.Match[str]) -> str:
    if token["above"] or token["below"]:
        return "(?:.*/)?" if token["above"] else ".+"
    if (inside := token["characters"]) is not None:
        literal = re.sub(r"\\(.)|([^\w-])", lambda one: re.escape(one[1] or one[2]), inside, flags=re.DOTALL)
        return f"(?!/)[{'^' if token['inverted'] else ''}{literal}]"
    if token["other"] in ("[", "\\"):
        return token["other"]
    return _WILDCARDS.get(token["wildcard"], "") or re.escape(token["escaped"] or token["other"])
