"""Finds the files of sources: single files, or all files of folders in sorted order. Opens none of them but `.gitignore`.

- Hidden files and folders, the lock and backup files of editors, and the files of an index are skipped.
- What `.gitignore` files ignore and what the user excludes is reported as left out. A source that is named itself is always read.
- Every folder is listed once, by whatever names and links it is reached.
- Links out of the folder are reported. They are followed only on request; then each target is read once, under the path of
  the link.
- Links within the sources are not followed, because their target is read at its own path. If the target is hidden, a file is
  read and a folder is reported.
- A folder of evaluation data gives only its corpus file; its other readable files are reported.

Patterns are those of git: the last one that matches a file decides, `!` takes a pattern back, and nothing below an ignored folder
is looked at. They are read here because libraries for lists of paths (pathspec) judge a folder by its files: `*`, `!*/`, `!*.md`
would ignore all folders. `tests/documents/test_ignoring.py` compares with git itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hoptrail.documents.forms import known_ending
from hoptrail.documents.marks import FileMark
from hoptrail.errors import DocumentError, UsageError
from hoptrail.types.sources import UPLOADS

_CORPUS = ("corpus.jsonl", "corpus.jsonl.gz")
_BESIDE_A_CORPUS = re.compile(r"(questions|queries|qrels|extra_|openie).*\.(jsonl|jsonl\.gz|tsv|json)|qrels")
OF_AN_INDEX = ".hoptrail"  # the default folder of an index, beside the documents
_SIGNS_OF_AN_INDEX = frozenset({"index.sqlite", "head.lance"})  # in the current format, and in that of version 0.1
_INDEX_FILE = re.compile(r"(index|replies)\.sqlite.*|arrays|.+\.lance|(writer|readers)\.lock|writer\.json")
_SKIPPED = re.compile(r"\..*|~\$.*|#.*#|.*\.swp", re.DOTALL)
"""Hidden files, among them `.~lock.NAME#` and `.#NAME`; what Word, Emacs and Vim keep beside an open file."""

GITIGNORE = ".gitignore"
IGNORED, EXCLUDED = f"ignored by {GITIGNORE}", "excluded"  # reasons why a file or folder is left out


@dataclass(frozen=True, slots=True)
class Selection:
    """Which files of the named folders are read.

    - `follow_links`: follow links to outside the folder.
    - `gitignore`: leave out what `.gitignore` files ignore.
    - `exclude`: further patterns of what to leave out, as in a `.gitignore` of the named folder.
    """

    follow_links: bool = False
    gitignore: bool = True
    exclude: tuple[str, ...] = ()


USUAL_SELECTION = Selection()


@dataclass(slots=True)
class Findings:
    """Results of reading beside documents and failures. Files are source strings."""

    notes: list[str] = field(default_factory=list)  # decisions made
    left_out: dict[str, str] = field(default_factory=dict)  # files, and folders with a slash behind them, with reason
    whole: set[str] = field(default_factory=set)
    """JSONL files read to their end without a failure, or as one document: a line that is missing now was deleted."""
    seen: set[str] = field(default_factory=set)  # the files found that are documents, unless they turn out unreadable
    closed: list[str] = field(default_factory=list)
    """Places that could not be listed or reached, so that their files are unknown, as behind links that lead nowhere now."""
    unchanged: int = 0  # number of known files with the same content as before
    compared: dict[str, FileMark] = field(default_factory=dict)  # of unchanged files whose bytes had to be compared
    marks: dict[str, FileMark] = field(default_factory=dict)  # of files that were read
    redated: dict[str, str] = field(default_factory=dict)  # the new day of files with the same bytes and another time


def shown(path: Path) -> str:
    r"""The path as a source string with forward slashes. Bytes that are not UTF-8 are escaped (\xe9), so that the string can be
    stored and different names stay different.
    """
    return path.as_posix().encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def files_in(sources: Sequence[str | Path], selection: Selection = USUAL_SELECTION) -> Iterator[Path | DocumentError]:
    """Yield the files of sources: see `SourceWalk`."""
    walk = SourceWalk(sources, selection, Findings())
    return (entry for source in sources for entry in walk.files_of(Path(source)))


class SourceWalk:
    """One walk over sources: the files as resolved paths, with errors in their place. `findings` get what is not read."""

    def __init__(self, sources: Sequence[str | Path], selection: Selection, findings: Findings) -> None:
        self._selection = selection
        self._findings = findings
        self._roots = set(filter(None, map(_target, map(Path, sources))))
        self._reached: set[Path] = set()  # the folders listed, and the files outside of them that links led to

    def files_of(self, source: Path) -> Iterator[Path | DocumentError]:
        """Yield the files of one of the sources that were not found before."""
        try:
            resolved = source.resolve(strict=True)
        except (OSError, RuntimeError, ValueError) as error:
            missing = isinstance(error, FileNotFoundError)
            reason = "does not exist: check the path" if missing else f"cannot be reached ({error})"
            yield DocumentError(shown(source), reason)
            return
        if OF_AN_INDEX in resolved.parts and resolved.parent.name != UPLOADS:  # what a server was sent waits there
            yield DocumentError(shown(source), "is part of an index: name the folder of the documents")
        else:
            yield from self._below(resolved)

    def _below(self, root: Path) -> Iterator[Path | DocumentError]:
        excluded, waiting = _patterns_of(root, self._selection.exclude), [(root, Patterns())]
        while waiting:
            place, ignored = waiting.pop()
            is_link = place.is_symlink()
            try:
                is_folder = place.is_dir()
                if reason := self._reason_against(place, ignored, excluded, is_folder=is_folder and not is_link):
                    self._findings.left_out[shown(place) + "/" * (is_folder and not is_link)] = reason
                elif is_link and not self._follows(place, root):
                    yield from self._link(place)
                elif (is_folder or is_link) and not self._is_new(place):
                    continue
                elif is_folder:
                    if self._selection.gitignore:
                        ignored = _within(place, ignored_above(root) if place == root else ignored)
                    children = _children(place)
                    corpora = [child for name in _CORPUS for child in children if child.name == name]
                    if corpora and any(_BESIDE_A_CORPUS.fullmatch(child.name) for child in children):
                        self._leave_out_beside(corpora[0], children)
                        children = corpora[:1]
                    waiting += [(child, ignored) for child in reversed(children)]
                else:
                    yield place if place.is_file() else DocumentError(shown(place), "is neither a file nor a folder")
            except OSError as error:
                yield DocumentError(shown(place), f"cannot be listed ({error.strerror})", temporary=True)

    def _reason_against(self, place: Path, ignored: Patterns, excluded: Patterns, *, is_folder: bool) -> str:
        """Why a file or folder is left out; empty if it is not. Sources are not."""
        if place in self._roots:
            return ""
        if _ignores(excluded, place, is_folder=is_folder):
            return EXCLUDED
        return IGNORED if _ignores(ignored, place, is_folder=is_folder) else ""

    def _is_new(self, place: Path) -> bool:
        target = place.resolve()
        if target in self._reached or (target.is_file() and not self._reached.isdisjoint(target.parents)):
            return False
        self._reached.add(target)
        return True

    def _leave_out_beside(self, corpus: Path, children: list[Path]) -> None:
        """Leave out the files of a folder of evaluation data but its corpus; its own data files are not worth a note."""
        others = (one for one in children if one != corpus and not _BESIDE_A_CORPUS.fullmatch(one.name))
        found = files_in([child for child in others if not child.is_symlink()])
        names = [shown(entry) for entry in found if isinstance(entry, Path)]
        self._findings.left_out |= dict.fromkeys(names, f"beside {corpus.name} in a data folder")
        if number := sum(bool(known_ending(name.lower().removesuffix(".gz"))) for name in names):
            what = "another file" if number == 1 else f"{number:,} other files"
            about = f"{shown(corpus.parent)}: a data folder, of which {corpus.name} is read"
            left = f"{what} that could be read {'was' if number == 1 else 'were'} left out"
            self._findings.notes.append(f"{about}; {left}")

    def _follows(self, link: Path, root: Path) -> bool:
        target = _target(link)
        if target is None or not self._selection.follow_links or OF_AN_INDEX in target.parts:
            return False
        return not (root.is_relative_to(target) or any(map(target.is_relative_to, self._roots)))

    def _link(self, link: Path) -> Iterator[Path]:
        """The target of a link, or a note that it is not followed. This is no failure: no file of the folder is missing."""
        target, reason = _target(link), ""
        root = next((root for root in self._roots if target is not None and target.is_relative_to(root)), None)
        if target is None:
            reason = "is a link that leads nowhere"
        elif root is None:
            reason = f"is a link that leads out of the folder, to {shown(target)}: name that as a source"
        elif OF_AN_INDEX in target.parts:
            reason = "is a link into an index, which holds no documents"
        elif any(part.startswith(".") for part in target.relative_to(root).parts):
            if target.is_file():
                yield target
                return
            what = "is a link to a folder that is hidden or in a hidden one"
            reason = f"{what}, {shown(target)}: name that as a source"
        if reason:
            self._findings.notes.append(f"{shown(link)} {reason}")
            self._findings.closed += [shown(link)] * (target is None)


def _children(folder: Path) -> list[Path]:
    names = sorted(child.name for child in folder.iterdir() if not _SKIPPED.fullmatch(child.name))
    if not _SIGNS_OF_AN_INDEX.isdisjoint(names):
        names = [name for name in names if not _INDEX_FILE.fullmatch(name)]
    return [folder / name for name in names]


def _target(path: Path) -> Path | None:
    try:
        return path.resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        return None


_REPOSITORY = ".git"  # the folder or file that marks the top of a repository
_Pattern = tuple[re.Pattern[str], bool, bool]
"""What matches whole paths relative to the folder of the pattern; whether it ignores them; whether only folders."""
Patterns = tuple[tuple[Path, list[_Pattern]], ...]
"""The patterns of folders, each for all below it, the outermost first."""


def _patterns_of(folder: Path, lines: Iterable[str]) -> Patterns:
    return ((folder, [pattern for line in lines if (pattern := _pattern(line)) is not None]),)


def _ignores(patterns: Patterns, path: Path, *, is_folder: bool) -> bool:
    """Whether a file or folder is ignored, if no folder above it is. The innermost and last pattern that matches it decides."""
    for folder, known in reversed(patterns):
        name = path.relative_to(folder).as_posix()
        for expression, ignores, folders_only in reversed(known):
            if (is_folder or not folders_only) and expression.fullmatch(name):
                return ignores
    return False


def _within(folder: Path, above: Patterns) -> Patterns:
    """The patterns for a folder; a repository within another one has only its own. Raises: OSError: they cannot be read."""
    above = () if (folder / _REPOSITORY).exists() else above
    file = folder / GITIGNORE
    if not file.is_file():
        return above
    return above + _patterns_of(folder, file.read_text(encoding="utf-8-sig", errors="surrogateescape").split("\n"))


def ignored_above(folder: Path) -> Patterns:
    """The patterns of the repository above a folder; none if they ignore it. Raises: OSError: one cannot be read."""
    patterns: Patterns = ()
    repository = next((place for place in (folder, *folder.parents) if (place / _REPOSITORY).exists()), folder)
    for place in reversed([one for one in folder.parents if one.is_relative_to(repository)]):
        if _ignores(patterns, place, is_folder=True):
            return ()
        patterns = _within(place, patterns)
    return () if _ignores(patterns, folder, is_folder=True) else patterns


def check_pattern(pattern: str) -> None:
    """Raises: UsageError: it is no pattern."""
    if _pattern(pattern) is None:
        advice = "write one as in .gitignore, such as drafts/ or *.log."
        raise UsageError(f"{pattern!r} is not a pattern of files: {advice}")


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
        whole = _TOKEN.sub(_translated, body.removeprefix("/"))
        expression = re.compile(whole if anchored else f"(?:.*/)?{whole}", re.DOTALL)
    except re.error:  # a class or an escape without its end
        return None
    return (expression, ignores, line != body) if body.strip("/") else None


_TOKEN = re.compile(
    r"(?P<above>(?:\A|(?<=/))\*\*/)|(?P<below>(?<=/)\*\*\Z)|\\(?P<escaped>.)|(?P<wildcard>[*?])"
    r"|\[(?P<inverted>[!^]?)(?P<characters>\]?(?:\\.|[^\]\\])*)\]|(?P<other>.)",
    re.DOTALL,
)
_WILDCARDS = {"*": "[^/]*", "?": "[^/]"}


def _translated(token: re.Match[str]) -> str:
    if token["above"] or token["below"]:
        return "(?:.*/)?" if token["above"] else ".+"
    if (inside := token["characters"]) is not None:
        literal = re.sub(r"\\(.)|([^\w-])", lambda one: re.escape(one[1] or one[2]), inside, flags=re.DOTALL)
        return f"(?!/)[{'^' if token['inverted'] else ''}{literal}]"
    if token["other"] in ("[", "\\"):
        return token["other"]
    return _WILDCARDS.get(token["wildcard"], "") or re.escape(token["escaped"] or token["other"])
