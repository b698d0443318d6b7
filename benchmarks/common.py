"""Shared parts of the benchmarks: evaluation data, measured processes, tables, results as JSON.

Importable without hoptrail. Reads the data beside the repository
(`../shared/data`). Times are wall clock, which is long and uneven on a busy machine, so compare only figures of one run.
"""

from __future__ import annotations

import argparse
import datetime as dt
import hashlib
import json
import math
import os
import platform
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hoptrail.evaluation.datasets import Dataset, Question
    from hoptrail.evaluation.retrieval_measures import RetrievalMeans

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data"
COMMAND = str(Path(sys.executable).with_name("hoptrail"))


@dataclass(frozen=True, slots=True)
class Measured:
    """A finished process: wall clock time, CPU time of all its threads, peak resident memory, output.

    `own_megabytes` is the peak without file pages, which the system can reclaim. It is sampled a few times a second, so a short
    peak may be missed; not a number if the system does not report it.
    """

    seconds: float
    cpu_seconds: float
    peak_megabytes: float
    own_megabytes: float
    output: str


@dataclass(frozen=True, slots=True)
class Failed:
    """A process that failed; `why` is the last line of its standard error."""

    why: str


def data_folder(name: str) -> Path:
    """The folder of a data set; exits if it is missing."""
    folder = DATA / name
    if not folder.is_dir():
        sys.exit(f"there is no data at {folder}: this benchmark reads evaluation data beside the repository")
    return folder


def part_of(whole: Dataset, questions: Iterable[Question], passages: Set[str], folder: Path) -> Dataset:
    """A data set of some questions over some passages of another, written to a folder."""
    from hoptrail.evaluation.datasets import load_dataset
    from hoptrail.evaluation.lines import read_lines
    from hoptrail.system.atomic_write import replace_file

    folder.mkdir(parents=True, exist_ok=True)
    kept = (line.content for line in read_lines(whole.corpus) if line.content["id"] in passages)
    for name, rows in (("corpus.jsonl", kept), ("questions.jsonl", map(asdict, questions))):
        lines = (f"{json.dumps(row, sort_keys=True)}\n" for row in rows)
        replace_file(folder / name, "".join(lines).encode())  # another benchmark may be reading it
    return load_dataset(folder)


def run_measured(command: Sequence[str | Path]) -> Measured:
    """As `try_measured`; exits if the process fails."""
    done = try_measured(command)
    if isinstance(done, Failed):
        sys.exit(f"{' '.join(map(str, command))} failed: {done.why}")
    return done


def try_measured(command: Sequence[str | Path]) -> Measured | Failed:
    """Run a process in the root of the repository.

    The peak is that of the process itself, without its children. A small process stands between, because a process
    inherits the peak of its parent.
    """
    with tempfile.NamedTemporaryFile("r") as report:
        launched = [sys.executable, "-I", "-S", "-c", _LAUNCH, report.name, *map(str, command)]
        done = subprocess.run(launched, capture_output=True, text=True, cwd=ROOT, check=False)
        if done.returncode != 0:
            return Failed((done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"])[-1])
        seconds, cpu_seconds, kilobytes, own = map(float, report.read().split())
        return Measured(seconds, cpu_seconds, kilobytes / 1024, own / 1024, done.stdout)


def evaluated(folder: Path, *options: str) -> dict[str, Any]:
    """Run `hoptrail evaluate FOLDER OPTION...` in a separate process and return the reports by recipe, or exit if it fails."""
    with tempfile.TemporaryDirectory() as temporary:
        out = Path(temporary, "report.json")
        command = [COMMAND, "evaluate", str(folder), *options, "--out", str(out)]
        if code := subprocess.run(command, cwd=ROOT, check=False).returncode:
            sys.exit(f"{' '.join(command)} ended with {code}")
        reports: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))["recipes"]
    return reports


_LAUNCH = """
import os, sys, threading, time
own = []
ended = threading.Event()
def look():
    while True:
        try:
            with open(f"/proc/{child}/status") as told:
                own.extend(float(line.split()[1]) for line in told if line.startswith("RssAnon"))
        except OSError:
            pass
        if ended.wait(0.1):
            return
started = time.perf_counter()
child = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
looking = threading.Thread(target=look)
looking.start()
_, status, usage = os.wait4(child, 0)
seconds = time.perf_counter() - started
ended.set()
looking.join()
with open(sys.argv[1], "w") as report:
    print(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss, max(own, default=float("nan")), file=report)
sys.exit(os.waitstatus_to_exitcode(status) and 1)
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    return port


@contextmanager
def running_server(*options: str) -> Iterator[tuple[int, int]]:
    """The port and the process of `hoptrail serve OPTION...`, once it answers; exits if it does not start."""
    port = free_port()
    with answering([COMMAND, "serve", *options, "--port", str(port)], port) as process:
        yield port, process


@contextmanager
def answering(command: Sequence[str | Path], port: int, path: str = "/health") -> Iterator[int]:
    """The process of a command that serves this port, once it answers; exits if it does not start."""
    import httpx

    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            while True:
                try:
                    reply = httpx.get(f"http://127.0.0.1:{port}{path}")
                    if reply.status_code != 503:  # as of a server that still loads its model
                        break
                except httpx.TransportError:
                    if process.poll() is not None:
                        sys.exit(f"the server did not start: {' '.join(map(str, command))}")
                time.sleep(0.1)
            yield process.pid
        finally:
            process.terminate()


def size_of(folder: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that a `share` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def print_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table; floats get three significant digits."""
    print(markdown(header, ([shown(cell) for cell in row] for row in rows)), end="\n\n", flush=True)


def markdown(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table whose first column is text and whose others are numbers."""
    rule = "|---" + "|--:" * (len(header) - 1) + "|"
    return "\n".join(["| " + " | ".join(header) + " |", rule, *("| " + " | ".join(line) + " |" for line in lines)])


def in_hundredths(means: Mapping[int, RetrievalMeans]) -> tuple[dict[str, float], dict[int, dict[str, float]]]:
    """The scores as percentages: over all questions with gold passages, which there must be, and by number of hops."""
    by_hops = {hops: {name: 100 * value for name, value in one.scores.items()} for hops, one in means.items()}
    return by_hops.pop(0), by_hops


def shown(value: object) -> str:
    """A table cell: floats with three significant digits, integers with thousands separators."""
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def parser(description: str | None) -> argparse.ArgumentParser:
    """An argument parser with `--out`, which every benchmark has."""
    new_parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    new_parser.add_argument("--out", type=Path, metavar="FILE.json", help="write the results as JSON")
    return new_parser


@dataclass(frozen=True, slots=True)
class Origin:
    """The conditions of a measurement: commit of the code, fingerprint of the settings, hash of the data, day, machine, and
    whether settings or weights were chosen with these questions in view.
    """

    commit: str
    settings: str
    data: str
    date: str
    machine: str
    tuned: bool


def origin(data: object, *, tuned: bool = False) -> Origin:
    """The origin for the code in this folder and the default settings of the commands. `data` is identified by its `repr`."""
    from hoptrail.fingerprints import fingerprint
    from hoptrail.index.settings import Settings

    data_hash = hashlib.sha256(repr(data).encode()).hexdigest()[:12]
    today = dt.datetime.now(dt.UTC).date().isoformat()
    return Origin(commit_of(ROOT), fingerprint(Settings()), data_hash, today, machine(), tuned)


def commit_of(checkout: Path) -> str:
    """The commit of a checkout, marked where files are changed; entering results changes no code."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(checkout), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!results")
    return (git("rev-parse", "HEAD") or "no commit") + ("-dirty" if changed else "")


def origin_of_data(name: str, folder: Path | None = None) -> Origin:
    """The origin for a data set, identified by its corpus or documents and its questions; these were used for tuning."""
    place = folder or data_folder(name)
    files = sorted((*place.glob("*.jsonl*"), *(path for path in place.glob("documents/**/*") if path.is_file())))
    parts = tuple((path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for path in files)
    return origin((name, parts), tuned=True)


def machine() -> str:
    """The processor model and the number of processors that this process may use."""
    told = Path("/proc/cpuinfo")
    lines = told.read_text(encoding="utf-8").splitlines() if told.exists() else []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return f"{next(named, platform.machine())}, {len(os.sched_getaffinity(0))} processors"


def write_results(out: Path | None, results: object) -> None:
    """Write dataclasses and plain values as JSON, if `out` is given."""
    if out is not None:
        out.write_text(json.dumps(results, default=_plain, indent=1) + "\n", encoding="utf-8")


def _plain(value: object) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
