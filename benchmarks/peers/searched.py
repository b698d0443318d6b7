"""The job and the result of a peer that searches: rankings and times.

Importable without hoptrail, using only the standard library, because peers run in their own interpreters.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

Search = Callable[[str], Sequence[int]]  # maps a question to positions of texts, best first


@dataclass(frozen=True, slots=True)
class SearchJob:
    """`texts` are searched, `limit` is the number of results. `vectors` names a NumPy file with one row of length 1 for
    each text and then for each question.
    """

    texts: list[str]
    questions: list[str]
    limit: int
    vectors: str

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @staticmethod
    def read(path: Path) -> SearchJob:
        return SearchJob(**json.loads(path.read_text(encoding="utf-8")))


@dataclass(frozen=True, slots=True)
class Searched:
    """The results of one system: positions of texts for each question, best first, and the
    milliseconds of each search: wall clock, and CPU time of all threads.
    """

    system: str
    version: str
    build_seconds: float
    found: list[list[int]]
    milliseconds: list[float]
    cpu_milliseconds: list[float]


def search_all(system: str, package: str, build: Callable[[], Search], job: SearchJob) -> Searched:
    """Build, ask one warm-up question that is not counted, and then ask all in turn."""
    started = time.perf_counter()
    search = build()
    build_seconds = time.perf_counter() - started
    search(job.questions[0])
    found, milliseconds, cpu_milliseconds = [], [], []
    for question in job.questions:
        started, cpu_started = time.perf_counter(), time.process_time()
        positions = search(question)
        cpu_milliseconds.append(1000 * (time.process_time() - cpu_started))
        milliseconds.append(1000 * (time.perf_counter() - started))
        found.append([int(position) for position in positions])
    return Searched(system, version(package), build_seconds, found, milliseconds, cpu_milliseconds)


def run_peers(systems: Callable[[SearchJob], Iterator[Searched]]) -> None:
    """The main program of a peer: `python -m benchmarks.peers.NAME JOB.json FOUND.json`."""
    given, made = map(Path, sys.argv[1:])
    found = [asdict(one) for one in systems(SearchJob.read(given))]
    made.write_text(json.dumps(found), encoding="utf-8")


def read_searched(path: Path) -> list[Searched]:
    return [Searched(**one) for one in json.loads(path.read_text(encoding="utf-8"))]
