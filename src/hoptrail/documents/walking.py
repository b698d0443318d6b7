"""Finds the files of a source: a single file, or all files of a folder in sorted order. Opens none of them.

- Hidden files and folders are skipped, and so are the files of an index.
- Links out of the folder are reported. They are followed only on request; then each target is read once, under the path of
  the link.
- Links within the folder are not followed, because their target is read at its own path. If the target is hidden, a file is
  read and a folder is reported.
- A folder of evaluation data gives only its corpus file; its other readable files are reported.
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
"""The default folder of an index, beside the documents."""
_SIGNS_OF_AN_INDEX = frozenset({"index.sqlite", "head.lance"})
"""In the current format, and in that of version 0.1."""
_INDEX_FILE = re.compile(r"(index|replies)\.sqlite.*|arrays|.+\.lance|(writer|readers)\.lock|writer\.json")


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Files of an evaluation data folder that are not read, unlike its `corpus`. Its own data files are not among them."""

    corpus: Path
    files: tuple[Path, ...]


def shown(path: Path) -> str:
    r"""The path as a source string with forward slashes. Bytes that are not UTF-8 are escaped (\xe9), so that the string can be
    stored and different names stay different.
    """
    return path.as_posix().encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def files_of(source: Path, *, follow: bool = False) -> Iterator[Path | DocumentError | LeftOut | str]:
    """Yield the files of one source as resolved paths, with errors, files left out and notes on unfollowed links in their place.
    `follow` follows links that lead out of the folder. Each folder is listed once.
    """
    try:
        resolved = source.resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        missing = isinstance(error, FileNotFoundError)
        reason = "does not exist: check the path" if missing else f"cannot be reached ({error})"
        yield DocumentError(shown(source), reason)
        return
    if OF_AN_INDEX in resolved.parts:
        reason = "is part of an index, which holds no documents: name the folder of the documents"
        yield DocumentError(shown(source), reason)
        return
    waiting, followed = [resolved], set[Path]()
    while waiting:
        place = waiting.pop()
        try:
            if place.is_symlink() and not (follow and _leads_out(place, resolved, followed)):
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
    names = sorted(child.name for child in folder.iterdir() if not child.name.startswith("."))
    if not _SIGNS_OF_AN_INDEX.isdisjoint(names):
        names = [name for name in names if not _INDEX_FILE.fullmatch(name)]
    return [folder / name for name in names]


def _corpus(children: list[Path]) -> Path | None:
    """The corpus file, if these are the entries of a folder of evaluation data."""
    corpus = next((child for name in _CORPUS for child in children if child.name == name), None)
    return corpus if any(_BESIDE_A_CORPUS.fullmatch(child.name) for child in children) else None


def _left_out(corpus: Path, children: list[Path]) -> LeftOut:
    others = (child for child in children if child.name not in _CORPUS and not _BESIDE_A_CORPUS.fullmatch(child.name))
    results = (result for child in others if not child.is_symlink() for result in files_of(child))
    return LeftOut(corpus, tuple(path for path in results if isinstance(path, Path)))


def _target(link: Path) -> Path | None:
    try:
        return link.resolve(strict=True)
    except (OSError, RuntimeError):
        return None


def _leads_out(link: Path, root: Path, followed: set[Path]) -> bool:
    """Whether a link leads out of the folder to a target not followed before; if so, adds the target to `followed`."""
    target = _target(link)
    if target is None or target.is_relative_to(root) or root.is_relative_to(target):
        return False
    if target in followed or OF_AN_INDEX in target.parts:
        return False
    followed.add(target)
    return True


def _link(link: Path, root: Path) -> Iterator[Path | str]:
    """The target of a link, or a note that it is not followed. This is no failure: no file of the folder is missing."""
    target = _target(link)
    if target is None:
        yield f"{shown(link)} is a link that leads nowhere"
    elif not target.is_relative_to(root):
        yield f"{shown(link)} is a link that leads out of the folder, to {shown(target)}: name that as a source"
    elif OF_AN_INDEX in target.parts:
        yield f"{shown(link)} is a link into an index, which holds no documents"
    elif not any(part.startswith(".") for part in target.relative_to(root).parts):
        return
    elif target.is_file():
        yield target
    else:
        what = "is a link to a folder that is hidden or in a hidden one"
        yield f"{shown(link)} {what}, {shown(target)}: name that as a source"
