"""Finds the files that a source names: itself, or all of a folder in sorted order. Opens none of them.

Hidden files and folders are skipped. Links that lead out of the folder are named, not followed unless that is asked for: then
what is there is read under the path of the link, once. Links that stay inside need not be followed, because what they point to
is read where it stands. In hidden places, files that they point to are read and folders named. A folder of evaluation data gives
its corpus file alone, and what else could have been read there is told. What hoptrail itself keeps in the folder of an index is
passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hoptrail.errors import DocumentError

_CORPUS = ("corpus.jsonl", "corpus.jsonl.gz")
_BESIDE_A_CORPUS = re.compile(r"(questions|queries|qrels|extra_|openie).*\.(jsonl|jsonl\.gz|tsv|json)|qrels")
OF_AN_INDEX = ".hoptrail"
"""The folder of an index that nobody named, beside the documents."""
_SIGNS_OF_AN_INDEX = frozenset({"index.sqlite", "head.lance"})
"""Of today's format, and of that of version 0.1."""
_OF_AN_INDEX = re.compile(r"(index|replies)\.sqlite.*|arrays|.+\.lance|(writer|readers)\.lock|writer\.json")


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Files that are not read because their folder is one of evaluation data, whose `corpus` is read. None of those are data."""

    corpus: Path
    files: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Unfollowed:
    """A link that is not followed, which is no failure: no file of the folder was lost."""

    source: str
    reason: str


def shown(path: Path) -> str:
    r"""The path as a source string: posix; bytes of a name that are not UTF-8 stand as \xe9, so that it can be stored and two
    such names stay two.
    """
    return path.as_posix().encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def files_of(source: Path, *, follow: bool = False) -> Iterator[Path | DocumentError | LeftOut | Unfollowed]:
    """The files to read for one source, resolved, what in it can not be read, what is left out and which links are not followed:
    with `follow`, those that lead out of the folder are. A stream; each folder is listed once.
    """
    try:
        resolved = source.resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        reason = (
            "does not exist: check the path" if isinstance(error, FileNotFoundError) else f"cannot be reached ({error})"
        )
        yield DocumentError(shown(source), reason)
        return
    if OF_AN_INDEX in resolved.parts:
        yield DocumentError(shown(source), "is part of an index, which holds no documents: name the folder it is of")
        return
    waiting, followed = [resolved], set[Path]()
    while waiting:
        place = waiting.pop()
        try:
            if place.is_symlink() and not (follow and _leads_on(place, resolved, followed)):
                yield from _link(place, resolved)
            elif place.is_dir():
                children = _children(place)
                if corpus := _corpus(children):
                    yield _left_out(corpus, children)
                waiting += [corpus] if corpus else reversed(children)
            elif place.is_file():
                yield place
            else:
                yield DocumentError(shown(place), "is neither a file nor a folder")
        except OSError as error:
            yield DocumentError(shown(place), f"cannot be listed ({error.strerror})")


def _children(folder: Path) -> list[Path]:
    """What may be read in a folder, sorted by name."""
    names = sorted(child.name for child in folder.iterdir() if not child.name.startswith("."))
    if not _SIGNS_OF_AN_INDEX.isdisjoint(names):
        names = [name for name in names if not _OF_AN_INDEX.fullmatch(name)]
    return [folder / name for name in names]


def _corpus(children: list[Path]) -> Path | None:
    """The corpus file, if these are what is in a folder of evaluation data."""
    corpus = next((child for name in _CORPUS for child in children if child.name == name), None)
    return corpus if any(_BESIDE_A_CORPUS.fullmatch(child.name) for child in children) else None


def _left_out(corpus: Path, children: list[Path]) -> LeftOut:
    others = (child for child in children if child.name not in _CORPUS and not _BESIDE_A_CORPUS.fullmatch(child.name))
    found = (path for child in others if not child.is_symlink() for path in files_of(child))
    return LeftOut(corpus, tuple(path for path in found if isinstance(path, Path)))


def _leads_on(link: Path, root: Path, followed: set[Path]) -> bool:
    """Whether a link leads out of the folder, to where no other has led."""
    try:
        target = link.resolve(strict=True)
    except (OSError, RuntimeError):
        return False
    if target.is_relative_to(root) or root.is_relative_to(target) or target in followed or OF_AN_INDEX in target.parts:
        return False
    followed.add(target)
    return True


def _link(link: Path, root: Path) -> Iterator[Path | Unfollowed]:
    try:
        target = link.resolve(strict=True)
    except (OSError, RuntimeError):
        yield Unfollowed(shown(link), "is a link that leads nowhere")
        return
    if not target.is_relative_to(root):
        yield Unfollowed(
            shown(link), f"is a link that leads out of the folder, to {shown(target)}: name that as a source"
        )
    elif OF_AN_INDEX in target.parts:
        yield Unfollowed(shown(link), "is a link into an index, which holds no documents")
    elif any(part.startswith(".") for part in target.relative_to(root).parts):
        if target.is_file():
            yield target
        else:
            yield Unfollowed(
                shown(link),
                f"is a link to a folder that is hidden or in a hidden one, {shown(target)}: name that as a source",
            )
