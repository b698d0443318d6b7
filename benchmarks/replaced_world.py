"""Documents with two versions, and five ways in which the second replaces the first, for `replacing`."""

from __future__ import annotations

import gzip
import json
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from benchmarks.operations import command_line
from benchmarks.served_world import ended_jobs, server
from benchmarks.small_world import ENCODER, Seen, look

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import Writer
from hoptrail.errors import HoptrailError, Interrupted
from hoptrail.index.index import Index
from hoptrail.index.indexing import Watcher
from hoptrail.types import Kind

if TYPE_CHECKING:
    from fastapi.testclient import TestClient

    from hoptrail.serving.server.jobs import Jobs

STOPPED = 3  # the exit code of a command that was stopped and can be resumed

KEPT = {f"Kept {number}": f"Kept {number} is a mill on the river Orne." for number in range(3)}
TITLES = ("Alba", "Brandt", "Corvia", "Delia", "Emmer", "Fenn", "Goole", "Hove")
"""The documents that get new versions."""


def text_of(title: str, version: int) -> str:
    """Each version has a word of its own, and enough sentences for several passages."""
    said = "Part {} of {} was built by {} in {}."
    sentences = (said.format(number, title, TITLES[number % 8], 1900 + number) for number in range(25))
    return f"{title} holds the {title.lower()}{'old' if version == 1 else 'new'}mark.\n\n{' '.join(sentences)}"


def _files(world: Path, version: int, *, broken: bool) -> None:
    """Write a version of each document; of a broken one, the first file is cut short."""
    world.mkdir(exist_ok=True)
    for title, text in (*KEPT.items(), *((title, text_of(title, version)) for title in TITLES[:4])):
        packed = gzip.compress(text.encode(), mtime=0)
        damaged = broken and title == TITLES[0]
        (world / f"{title}.txt.gz").write_bytes(packed[: len(packed) // 2] if damaged else packed)


def _lines(world: Path, version: int, *, broken: bool) -> None:
    """As `_files`, as the lines of one file."""
    world.mkdir(exist_ok=True)
    texts = KEPT | {title: text_of(title, version) for title in TITLES}
    lines = [json.dumps({"id": title, "title": title, "text": text}) for title, text in texts.items()]
    if broken:
        lines[len(KEPT)] = '{"id": "Alba", "text": '
    (world / "lines.jsonl").write_text("\n".join(lines), encoding="utf-8")


# --- the ways, as functions for forked processes

Command = Callable[[], int]


def _by_command(world: Path, index: Path) -> int:
    return command_line(["index", world, "--index", index])()


def by_watching(world: Path, index: Path, change: Callable[[], None]) -> int:
    from hoptrail.index import watching

    watching.QUIET = 0.05
    try:
        watcher = Watcher(stopped=_STOPPING.is_set, say=lambda _: _STOPPING.set())
        for number, report in enumerate(watching.watch(Index(index), [world], (), watcher)):
            if number == 0:
                change()
            elif report.updated:
                return 4 if report.failures else 0
    except Interrupted:
        return STOPPED
    except HoptrailError as error:
        print(error)
        return 1
    return 1


def _by_upload(world: Path, index: Path) -> int:
    """Upload the files of a folder, one job for all, and wait for its end."""
    with _server(index) as client:
        files = [("files", (path.name, path.read_bytes())) for path in sorted(world.iterdir())]
        answer = client.post("/api/documents", files=files)
        return _ended(client) if answer.status_code == 202 else 1


def _resume(world: Path, index: Path) -> int:
    """Start a server, which goes on with a job that was accepted, and resume a cancelled one. Without a job upload again."""
    with _server(index) as client:
        jobs = [job["id"] for job in client.get("/api/jobs").json()["jobs"]]
        _ended(client)
        for job in jobs:
            client.post(f"/api/jobs/{job}/resume")
        code = _ended(client)
    return code if code == 0 and len(jobs) > 1 else _by_upload(world, index)


def discard(index: Path) -> int:
    """Start a server that gets nothing done, and discard what was accepted."""

    def add(*_: object, **__: object) -> None:
        raise Interrupted("stopped.")

    Index.add = add  # type: ignore[method-assign, assignment]
    with _server(index) as client:
        for job in client.get("/api/jobs").json()["jobs"]:
            client.post(f"/api/jobs/{job['id']}/cancel")
        _ended(client)
        codes = [client.delete(f"/api/jobs/{job['id']}").status_code for job in client.get("/api/jobs").json()["jobs"]]
        return int(set(codes) > {200})


@contextmanager
def _server(index: Path) -> Iterator[TestClient]:
    with server(index) as client:
        _JOBS.append(client.app.state.services.jobs["main"])  # type: ignore[attr-defined] # ours has a state
        yield client


def _ended(client: TestClient) -> int:
    """Wait until no job is left. Returns the exit code that a command would have."""
    jobs = ended_jobs(client)
    if jobs is None:
        return 99
    states = {job["state"] for job in jobs}
    if "stopped" in states:
        return STOPPED
    return 1 if "failed" in states else 4 * any("failed" in job["counts"] for job in jobs)


_STOPPING = Event()  # whether the watch is to end

_JOBS: list[Jobs] = []  # those of the server in this process


def _cancel_job() -> None:
    for job in _JOBS[-1].all():
        _JOBS[-1].cancel(job.id)


def stopped_at(step: int, stop: Callable[[], None], command: Command) -> int:
    """The command, stopped at one of the steps of indexing, from 1."""
    steps = count(1)
    _at_each_step(lambda: stop() if next(steps) == step else None)
    return command()


def looking(index: Path, before: Seen | None, command: Command) -> int:
    """The command, with a reader who looks at each step: whether it sees the state before, or where that is not given, each
    document once. Prints the number of steps, and those at which it does not.
    """
    seen: list[bool] = []

    def see() -> None:
        with Snapshot.open(index) as snapshot:
            once = set(Counter(title_of(document.text) for document in snapshot.documents()).values()) == {1}
        seen.append(once and before in (None, look(index)))

    _at_each_step(see)
    code = command()
    print(f"\nsteps: {len(seen)}, wrong at: {[step for step, right in enumerate(seen, 1) if not right]}")
    return code


def _at_each_step(act: Callable[[], None]) -> None:
    """Call a function before each step of indexing in this process: where finished work may be committed, and a run stops."""
    checkpoint = Writer.checkpoint

    def acting(writer: Writer) -> None:
        act()
        checkpoint(writer)

    Writer.checkpoint = acting  # type: ignore[method-assign, assignment]


@dataclass(frozen=True, slots=True)
class Way:
    """How documents are replaced: `write` makes a version of the sources, `first` indexes version 1, `replace` version 2 while it
    is written by a given function (most need it before), `again` is what to do after a stop, `stop` cancels.
    """

    name: str
    write: Callable[..., None]
    replace: Callable[[Path, Path], int]
    stop: Callable[[], None]
    again: Callable[[Path, Path], int]
    is_served: bool = False
    is_watched: bool = False

    @property
    def is_batched(self) -> bool:
        """Whether the documents are committed in several batches."""
        return self.is_served and self.write is _files


def _ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)


WAYS = (
    Way("upload", _files, _by_upload, _cancel_job, _resume, is_served=True),
    Way("uploaded lines", _lines, _by_upload, _cancel_job, _resume, is_served=True),
    Way("lines", _lines, _by_command, _ctrl_c, _by_command),
    Way("folder", _files, _by_command, _ctrl_c, _by_command),
    Way("watched folder", _files, _by_command, _STOPPING.set, _by_command, is_watched=True),
)


Part = frozenset[object]  # what is made from one document, and how it is found by its words and by its vectors


def parts_of(index: Path) -> dict[str, Part]:
    """The parts of the documents of an index, by their texts."""
    with Snapshot.open(index) as snapshot:
        texts = {document.id: document.text for document in snapshot.documents()}
        made: dict[str, set[object]] = {id_: set() for id_ in texts}
        for kind in (Kind.PASSAGE, Kind.SENTENCE):
            for unit in snapshot.units(kind):
                words = {hit.id for hit, _ in snapshot.search.keywords(unit.text, 20)}
                near = {hit for hit, _ in snapshot.search.nearest(kind, ENCODER.encode([unit.text]), 20)[0]}
                made[unit.document].add(
                    (kind, unit.id, unit.text, kind is Kind.SENTENCE or unit.id in words, unit.id in near)
                )
    return {text: frozenset(made[id_]) for id_, text in texts.items()}


def title_of(text: str) -> str:
    return " ".join(text.split(" ")[: 2 if text.startswith("Kept") else 1])
