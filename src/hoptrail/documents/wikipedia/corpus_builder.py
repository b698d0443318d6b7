"""Builds the three files of a corpus from a dump: documents.jsonl, profiles.jsonl and corpus.json. Resumable, in bounded memory.

While the dump is read, documents are appended to `documents.jsonl.part`, and everything else is stored in `corpus.unfinished`
(`progress_file.py`). A checkpoint flushes the first to disk, and then commits the second with the length of the first. A later
run truncates the file to that length and skips the finished pages, without parsing them; so it ends with the same bytes as an
uninterrupted run. corpus.json is written last: if it exists, the corpus is complete.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO

from filelock import FileLock, Timeout

from hoptrail.documents.decoding import Unreadable
from hoptrail.documents.limits import MIB
from hoptrail.documents.wikipedia.child_pool import converting
from hoptrail.documents.wikipedia.converting import Converted, Form, WikipediaSettings
from hoptrail.documents.wikipedia.dump import Dump, RawPage, open_dump
from hoptrail.documents.wikipedia.page import Site, read_site
from hoptrail.documents.wikipedia.progress_file import Notebook, Progress, open_notebook
from hoptrail.errors import DocumentError, Interrupted, StorageError, UsageError
from hoptrail.execution.executor import batched
from hoptrail.json_object import JsonObject
from hoptrail.models.extras import optional_package

DOCUMENTS, PROFILES, MANIFEST = "documents.jsonl", "profiles.jsonl", "corpus.json"
PART, UNFINISHED, LOCK = "documents.jsonl.part", "corpus.unfinished", "corpus.lock"
BATCH, BATCH_BYTES = 100, 4 * MIB
"""Pages, and bytes of XML, per batch for a worker."""
CHECKPOINT = 2000
"""Pages between two checkpoints: the most that a kill loses."""
FORMAT = 3
"""Increased when the same dump gives other files."""
NAMED = 1000
"""Faulty pages that the manifest names; further ones are only counted."""
COUNTED = 100
"""Templates without output that the manifest counts, the most frequent first."""

DEFAULTS = WikipediaSettings()
Report = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class WikipediaCorpus:
    """A summary of the corpus, and the content of corpus.json.

    `dump`: its name, size in bytes, and the SHA-256 of its first MiB. `words`: of all documents. `redirects`: all in the dump;
    `redirects_unused` of them lead to no page with a profile (the page is left out or missing, or they form a cycle).
    `left_out`: numbers of pages by reason. `faults`: title and reason of at most 1,000 faulty pages, of `faults_in_all`. `ended`:
    where and why the dump is cut off, else empty. `templates_dropped`: the templates that most often showed nothing, with counts.
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
    def from_json(cls, content: JsonObject) -> WikipediaCorpus:
        """Read the content of corpus.json.

        Raises:
            TypeError: keys are missing or unknown.
        """
        return cls(**{**content, "faults": tuple((title, reason) for title, reason in content["faults"])})

    @property
    def complete(self) -> bool:
        """Whether the dump is whole and none of its pages faulty."""
        return not self.ended and not self.faults_in_all


def build_corpus(
    dump: Path,
    out: Path,
    settings: WikipediaSettings = DEFAULTS,
    workers: int = 1,
    report: Report = lambda *_: None,
    stopped: Callable[[], bool] = lambda: False,
) -> WikipediaCorpus:
    """Build the corpus of a dump in the folder `out`, or resume; a complete corpus is left as it is.

    `report` receives the progress in MiB of the dump; `stopped` is called after every batch.

    Raises:
        ModelUnavailable: mwparserfromhell or defusedxml is not installed.
        DocumentError: the dump cannot be read at all.
        UsageError: `workers` is below 1, `out` has another corpus, or another process is building one there.
        StorageError: a file cannot be written.
        Interrupted: `stopped` returned True; finished pages are kept.
    """
    for package in ("mwparserfromhell", "defusedxml"):
        optional_package(package, "wikipedia")
    if workers < 1:
        raise UsageError(f"at least 1 worker is needed, not {workers}")
    identity = _identity(dump)
    try:
        out.mkdir(parents=True, exist_ok=True)
        with FileLock(out / LOCK, timeout=0):
            corpus = _load_finished(out, identity, settings)
            if corpus is None:
                with open_notebook(out / UNFINISHED) as notebook:
                    builder = _Builder(dump, out, identity, settings, notebook, report, stopped)
                    builder.read(workers)
                    corpus = builder.finish()
            (out / UNFINISHED).unlink(missing_ok=True)
            return corpus
    except Timeout as error:
        raise UsageError(f"another process is making a corpus in {out}. Wait for it to end, or stop it.") from error
    except OSError as error:
        raise StorageError(f"{out} cannot be written: {error.strerror or error}.") from error


@dataclass
class _Builder:
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
        return _task(self.identity, _made_by(self.settings))

    def read(self, workers: int) -> None:
        """Read the dump to its end, from the last checkpoint of an earlier run."""
        if begun := self.notebook.begun():
            task, self.progress = begun
            _check_same(self.out, task == self.task)
        if self.progress.finished:
            return
        with open_dump(self.dump) as opened, _appending(self.out / PART, self.progress.size) as documents:
            pages = opened.pages()
            first = list(islice(pages, 1))  # the description of the wiki comes before it
            remaining = self._skip_finished(chain(first, pages))
            with converting(_site(opened), self.settings, workers) as pool:
                for converted in pool.each(batched(remaining, BATCH, lambda page: len(page.data), BATCH_BYTES)):
                    self._write(converted, documents)
                    self.report(f"MiB of {self.dump.name}", opened.read // MIB, int(self.identity["bytes"]) // MIB)
                    self._checkpoint(documents)
            self.progress.finished, self.progress.ended = True, opened.ended
            self.progress.unpacked = opened.unpacked
            self._commit(documents)

    def _skip_finished(self, pages: Iterator[RawPage]) -> Iterator[RawPage]:
        for number, page in enumerate(pages):
            if number >= self.progress.pages:
                yield page
                break
            if number % CHECKPOINT == 0:
                self._check_stopped()
        yield from pages

    def _check_stopped(self) -> None:
        if self.stopped():
            raise Interrupted("stopped; what was finished is kept. Run the same command again to go on from here.")

    def _write(self, pages: list[Converted], documents: BinaryIO) -> None:
        progress = self.progress
        for page in pages:
            if page.text:
                content = {"id": page.id, "title": page.title, "text": page.text}
                progress.size += documents.write(_json_line(content))
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
        self._check_stopped()

    def _commit(self, documents: BinaryIO) -> None:
        documents.flush()
        os.fsync(documents.fileno())
        self.notebook.commit(self.task, self.progress)
        self.committed = self.progress.pages

    def finish(self) -> WikipediaCorpus:
        """Write the profiles with their redirects, and move all files into place."""
        used, total = 0, self.progress.forms[Form.ENTITY] + self.progress.forms[Form.DISAMBIGUATION]
        with _replacing(self.out / PROFILES) as file:
            for number, profile in enumerate(self.notebook.profiles(), 1):
                names = {"title": profile.title, "also": profile.also, "ambiguous": profile.ambiguous}
                file.write(_json_line({**names, "profile": profile.pairs}))
                used += len(profile.also)
                if number % CHECKPOINT == 0:
                    self.report("profiles", number, total)
                    self._check_stopped()
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


def _site(opened: Dump) -> Site:
    try:
        return read_site(opened.header)
    except Unreadable as refusal:
        raise DocumentError(str(opened.path), f"the <siteinfo> at its beginning {refusal}") from refusal


def _identity(dump: Path) -> dict[str, str | int]:
    """A fingerprint of the dump. A digest of the whole file would take as long as unpacking it."""
    try:
        with dump.open("rb") as stream:
            digest = hashlib.sha256(stream.read(MIB)).hexdigest()
            return {"name": dump.name, "bytes": os.fstat(stream.fileno()).st_size, "sha256_of_first_mib": digest}
    except OSError as error:
        raise DocumentError(str(dump), f"could not be read ({error.strerror or error})") from error


def _made_by(settings: WikipediaSettings) -> dict[str, object]:
    return {"format": FORMAT, "mwparserfromhell": version("mwparserfromhell"), "settings": asdict(settings)}


def _task(dump: object, made_by: object) -> str:
    return json.dumps({"dump": dump, "made_by": made_by}, sort_keys=True)


def _load_finished(out: Path, identity: object, settings: WikipediaSettings) -> WikipediaCorpus | None:
    """The complete corpus in `out`, which must be that of this dump and these settings, or None."""
    file = out / MANIFEST
    if not file.exists():
        return None
    try:
        content = json.loads(file.read_bytes())
        task = _task(content["dump"], content["made_by"])
        corpus = WikipediaCorpus.from_json(content)
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(
            f"{file} is not the manifest of a corpus of Wikipedia: take another folder as --out."
        ) from error
    _check_same(out, task == _task(identity, _made_by(settings)))
    return corpus


def _check_same(out: Path, same: bool) -> None:
    if not same:
        raise UsageError(
            f"{out} has the corpus of another dump, or one made with other settings or another version of the parser: take "
            "another folder as --out, or remove it."
        )


@contextmanager
def _appending(file: Path, size: int) -> Iterator[BinaryIO]:
    """Open the file for appending, truncated to its `size` at the last checkpoint."""
    with file.open("r+b" if file.exists() else "w+b") as stream:
        if stream.seek(0, os.SEEK_END) < size:
            raise UsageError(f"{file} is not as the last run left it: remove the folder and begin anew.")
        stream.truncate(size)
        stream.seek(size)
        yield stream


@contextmanager
def _replacing(file: Path) -> Iterator[BinaryIO]:
    part = file.with_name(f"{file.name}.part")
    with part.open("wb") as stream:
        yield stream
        stream.flush()
        os.fsync(stream.fileno())
    part.replace(file)


def _json_line(content: JsonObject) -> bytes:
    return json.dumps(content, ensure_ascii=False).encode() + b"\n"
