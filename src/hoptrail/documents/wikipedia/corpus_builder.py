"""From a dump to the three files of a corpus: documents.jsonl, profiles.jsonl and corpus.json, in bounded memory and resumable.

While a dump is read, documents are appended to `documents.jsonl.part` and the rest is entered in `corpus.unfinished`
(`notebook.py`). At a checkpoint the first is brought to the disk and then the second committed with the first's length; a run
that finds both cuts the file back to that length, passes over the pages that are done, and so ends with the same bytes as a run
that was never stopped. corpus.json comes last: where it is, the corpus is whole. Passing over pages unpacks and cuts, no more.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from filelock import FileLock, Timeout

from hoptrail.documents.decoding import Unreadable
from hoptrail.documents.limits import MIB
from hoptrail.documents.wikipedia.child_pool import converting
from hoptrail.documents.wikipedia.converting import Converted, Form, WikipediaSettings
from hoptrail.documents.wikipedia.dump import Dump, RawPage, open_dump
from hoptrail.documents.wikipedia.page import Site, read_site
from hoptrail.documents.wikipedia.progress_file import Notebook, Profile, Progress, open_notebook
from hoptrail.errors import DocumentError, Interrupted, StorageError, UsageError
from hoptrail.models.extras import optional_package

DOCUMENTS, PROFILES, MANIFEST = "documents.jsonl", "profiles.jsonl", "corpus.json"
PART, UNFINISHED, LOCK = "documents.jsonl.part", "corpus.unfinished", "corpus.lock"
BATCH, BATCH_BYTES = 100, 4 * MIB
"""Pages, and bytes of XML, that a worker gets at once."""
CHECKPOINT = 2000
"""Pages between two checkpoints: what a kill loses at most."""
FORMAT = 3
"""Rises when the same dump gives other files."""
NAMED = 1000
"""Faulty pages that the manifest names; of further ones only the number is."""
COUNTED = 100
"""Templates that showed nothing and are counted in the manifest, the most frequent first."""

DEFAULTS = WikipediaSettings()
Report = Callable[[str, int, int], None]


def _tell_nobody(what: str, done: int, total: int) -> None:
    """For callers that do not watch."""


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class WikipediaCorpus:
    """What was made of a dump: the content of corpus.json.

    `dump`: its name, size in bytes, and the SHA-256 of its first MiB. `words` are those of all documents. `redirects` are all
    of the dump; `redirects_unused` lead to no page that has a profile (a page left out or missing, or in a circle).
    `left_out`: numbers of pages by reason. `faults`: (title, reason) of pages that could not be used, at most 1,000, of
    `faults_in_all`. `ended`: where and why the dump ends before its end, else empty. `templates_dropped`: the templates that most
    often showed nothing, and how often.
    """

    dump: dict[str, str | int]
    made_by: dict[str, object]
    pages: int
    documents: int
    entities: int
    words: int
    infoboxes: int
    redirects: int
    redirects_unused: int
    disambiguation_pages: int
    left_out: dict[str, int]
    faults_in_all: int
    faults: tuple[tuple[str, str], ...] = field(default=())
    ended: str = ""
    templates_dropped: dict[str, int] = field(default_factory=dict)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> WikipediaCorpus:
        """Raises TypeError where keys are missing or too many."""
        return cls(**{**content, "faults": tuple((title, reason) for title, reason in content["faults"])})

    @property
    def complete(self) -> bool:
        """Whether every page of a whole dump could be used."""
        return not self.ended and not self.faults_in_all


def build_corpus(
    dump: Path,
    out: Path,
    settings: WikipediaSettings = DEFAULTS,
    workers: int = 1,
    report: Report = _tell_nobody,
    stopped: Callable[[], bool] = _never,
) -> WikipediaCorpus:
    """Make the corpus of a dump in the folder `out`, or go on with it; one that is whole already is left as it is.

    `report` is told how many MiB of the dump are read; `stopped` is asked after every batch.

    Raises:
        ModelUnavailable: mwparserfromhell or defusedxml is not installed.
        DocumentError: the dump cannot be read at all.
        UsageError: `out` has a corpus of something else, or another process is making one.
        StorageError: a file cannot be written.
        Interrupted: `stopped` said so; what was finished is kept.
    """
    for package in ("mwparserfromhell", "defusedxml"):
        optional_package(package, "wikipedia")
    if workers < 1:
        raise UsageError(f"at least 1 worker is needed, not {workers}")
    identity = _identity(dump)
    try:
        out.mkdir(parents=True, exist_ok=True)
        with FileLock(out / LOCK, timeout=0):
            made = _finished(out, identity, settings)
            if made is None:
                with open_notebook(out / UNFINISHED) as notebook:
                    work = _Work(dump, out, identity, settings, notebook, report, stopped)
                    work.read(workers)
                    made = work.finish()
            (out / UNFINISHED).unlink(missing_ok=True)
            return made
    except Timeout as error:
        raise UsageError(f"another process is making a corpus in {out}. Wait for it to end, or stop it.") from error
    except OSError as error:
        raise StorageError(f"{out} cannot be written: {error.strerror or error}.") from error


@dataclass
class _Work:
    """The making of one corpus."""

    dump: Path
    out: Path
    identity: dict[str, str | int]
    settings: WikipediaSettings
    notebook: Notebook
    report: Report
    stopped: Callable[[], bool]
    progress: Progress = field(default_factory=Progress)
    committed: int = 0

    @property
    def task(self) -> str:
        return _task(self.identity, self.settings)

    def read(self, workers: int) -> None:
        """Read the dump to its end, from where an earlier run came to."""
        if begun := self.notebook.begun():
            task, self.progress = begun
            _check_same(self.out, task == self.task)
        if self.progress.finished:
            return
        with open_dump(self.dump) as opened, _appending(self.out / PART, self.progress.size) as documents:
            pages = opened.pages()
            first = next(pages, None)
            site = _site(opened)
            left = self._left(chain([] if first is None else [first], pages))
            with converting(site, self.settings, workers) as pool:
                for converted in pool.each(_batches(left)):
                    self._write(converted, documents)
                    self.report(f"MiB of {self.dump.name}", opened.read // MIB, int(self.identity["bytes"]) // MIB)
                    self._checkpoint(documents)
            self.progress.finished, self.progress.ended = True, opened.ended
            self.progress.unpacked = opened.unpacked
            self._commit(documents)

    def _left(self, pages: Iterator[RawPage]) -> Iterator[RawPage]:
        """The pages that no earlier run has done."""
        for number, page in enumerate(pages):
            if number >= self.progress.pages:
                yield page
                break
            if number % CHECKPOINT == 0:
                self._pause()
        yield from pages

    def _pause(self) -> None:
        if self.stopped():
            raise Interrupted("stopped; what was finished is kept. Run the same command again to go on from here.")

    def _write(self, pages: list[Converted], documents: BinaryIO) -> None:
        progress = self.progress
        for page in pages:
            if page.text:
                line = json.dumps({"id": page.id, "title": page.title, "text": page.text}, ensure_ascii=False)
                progress.size += documents.write(line.encode() + b"\n")
            self.notebook.enter(page)
            progress.pages += 1
            progress.forms[page.form] += 1
            progress.documents += bool(page.text)
            progress.words += page.words
            progress.profiled += bool(page.pairs)
            progress.left_out[page.detail] += page.form is Form.LEFT_OUT
            progress.last_title = page.title

    def _checkpoint(self, documents: BinaryIO) -> None:
        if self.progress.pages - self.committed >= CHECKPOINT or self.stopped():
            self._commit(documents)
        self._pause()

    def _commit(self, documents: BinaryIO) -> None:
        documents.flush()
        os.fsync(documents.fileno())
        self.notebook.commit(self.task, self.progress)
        self.committed = self.progress.pages

    def finish(self) -> WikipediaCorpus:
        """Put redirects and names to the profiles and bring all files to their places."""
        used, total = 0, self.progress.forms[Form.ENTITY] + self.progress.forms[Form.DISAMBIGUATION]
        with _replacing(self.out / PROFILES) as file:
            for number, profile in enumerate(self.notebook.profiles(), 1):
                file.write(_line(profile))
                used += len(profile.also)
                if number % CHECKPOINT == 0:
                    self.report("profiles", number, total)
                    self._pause()
        part = self.out / PART
        if part.exists():
            part.replace(self.out / DOCUMENTS)
        content = json.dumps(asdict(self._corpus(used)), ensure_ascii=False, indent=1)
        with _replacing(self.out / MANIFEST) as file:
            file.write(content.encode() + b"\n")
        return WikipediaCorpus.from_json(json.loads(content))

    def _corpus(self, used: int) -> WikipediaCorpus:
        progress, forms = self.progress, self.progress.forms
        where = f"after page {progress.pages} ({progress.last_title!r}), byte {progress.unpacked} of the unpacked XML"
        return WikipediaCorpus(
            dump=self.identity,
            made_by=_made_by(self.settings),
            pages=progress.pages,
            documents=progress.documents,
            entities=forms[Form.ENTITY],
            words=progress.words,
            infoboxes=progress.profiled,
            redirects=forms[Form.REDIRECT],
            redirects_unused=forms[Form.REDIRECT] - used,
            disambiguation_pages=forms[Form.DISAMBIGUATION],
            left_out={reason: count for reason, count in sorted(progress.left_out.items()) if count},
            faults_in_all=forms[Form.FAULT],
            faults=tuple((title, reason) for title, reason in self.notebook.faults(NAMED)),
            ended=f"{where}: {progress.ended}" if progress.ended else "",
            templates_dropped=dict(self.notebook.dropped(COUNTED)),
        )


def _batches(pages: Iterable[RawPage]) -> Iterator[list[RawPage]]:
    batch: list[RawPage] = []
    size = 0
    for page in pages:
        batch.append(page)
        size += len(page.data)
        if len(batch) >= BATCH or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _site(opened: Dump) -> Site:
    try:
        return read_site(opened.header)
    except Unreadable as refusal:
        raise DocumentError(str(opened.path), f"the <siteinfo> at its beginning {refusal}") from refusal


def _identity(dump: Path) -> dict[str, str | int]:
    """What tells this dump from others; a digest of it all would take as long as unpacking."""
    try:
        with dump.open("rb") as stream:
            digest = hashlib.sha256(stream.read(MIB)).hexdigest()
            return {"name": dump.name, "bytes": os.fstat(stream.fileno()).st_size, "sha256_of_first_mib": digest}
    except OSError as error:
        raise DocumentError(str(dump), f"could not be read ({error.strerror or error})") from error


def _made_by(settings: WikipediaSettings) -> dict[str, object]:
    return {"format": FORMAT, "mwparserfromhell": version("mwparserfromhell"), "settings": asdict(settings)}


def _task(identity: object, settings: WikipediaSettings) -> str:
    return json.dumps({"dump": identity, "made_by": _made_by(settings)}, sort_keys=True)


def _finished(out: Path, identity: object, settings: WikipediaSettings) -> WikipediaCorpus | None:
    """The corpus of this dump that is in `out` already, if it is whole."""
    file = out / MANIFEST
    if not file.exists():
        return None
    try:
        content = json.loads(file.read_bytes())
        same = json.dumps({name: content[name] for name in ("dump", "made_by")}, sort_keys=True) == _task(
            identity, settings
        )
        made = WikipediaCorpus.from_json(content)
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(
            f"{file} is not the manifest of a corpus of Wikipedia: take another folder as --out."
        ) from error
    _check_same(out, same)
    return made


def _check_same(out: Path, same: bool) -> None:
    if not same:
        raise UsageError(
            f"{out} has the corpus of another dump, or one made with other settings or another version of the parser: take "
            "another folder as --out, or remove it."
        )


@contextmanager
def _appending(file: Path, size: int) -> Iterator[BinaryIO]:
    """The file, cut to what the last checkpoint knows of."""
    with file.open("r+b" if file.exists() else "w+b") as stream:
        if stream.seek(0, os.SEEK_END) < size:
            raise UsageError(f"{file} is not as the last run left it: remove the folder and begin anew.")
        stream.truncate(size)
        stream.seek(size)
        yield stream


@contextmanager
def _replacing(file: Path) -> Iterator[BinaryIO]:
    """A new file in the place of an old one, whole or not at all."""
    part = file.with_name(f"{file.name}.part")
    with part.open("wb") as stream:
        yield stream
        stream.flush()
        os.fsync(stream.fileno())
    part.replace(file)


def _line(profile: Profile) -> bytes:
    content = {
        "title": profile.title,
        "also": profile.also,
        "ambiguous": profile.ambiguous,
        "profile": profile.pairs,
    }
    return json.dumps(content, ensure_ascii=False).encode() + b"\n"
