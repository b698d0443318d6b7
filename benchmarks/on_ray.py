"""Compares building on two Ray nodes of one core each with building in one process: time, CPU time, and a killed worker.

    python -m benchmarks.on_ray [--passages 2000] [--out FILE.json]

Both nodes are on this machine, so a speed-up shows only if two cores are free: the load is printed with it. It measures
bringing passages up to date (reading, splitting, encoding, writing), and, separately, starting Ray.
CPU seconds are those of this process and of all that Ray started. Every index must hold the same vectors, bit for bit.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.common import parser, read_passages, write_results

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.splitting import PassageLimits
from hoptrail.execution.executor import LOCAL_EXECUTOR, Executor
from hoptrail.execution.on_ray import RayExecutor
from hoptrail.indexing import Watcher, update_index
from hoptrail.models.encoder import Encoder
from hoptrail.models.encoder_factory import NamedEncoder, open_encoder
from hoptrail.structures.build_context import Report
from hoptrail.structures.course import ignore
from hoptrail.structures.passages import Passages
from hoptrail.types import Kind

SMALL = 20
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Run:
    """One build. `load` is the machine's load at its end."""

    what: str
    passages: int
    seconds: float
    cpu_seconds: float
    load: float
    vectors: str


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--passages", type=int, default=2000)
    arguments.add_argument("--data", default="2wiki")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        results = measure(Path(temporary), options.data, options.passages)
    print(json.dumps(results, indent=1))
    write_results(options.out, results)


def measure(folder: Path, data: str, count: int) -> dict[str, Any]:
    small, large = corpus(folder / "small.jsonl", data, SMALL), corpus(folder / "large.jsonl", data, count)
    encoder = NamedEncoder("minilm", open_encoder("minilm").identity)
    started = time.perf_counter()
    with two_nodes() as address, RayExecutor(address) as executor:
        up = time.perf_counter() - started
        runs = [
            build("2 nodes, encoder not loaded", folder, small, encoder, executor),
            build("2 nodes", folder, small, encoder, executor),
            build("2 nodes", folder, large, encoder, executor),
            build("2 nodes, a worker killed half-way", folder, large, encoder, executor, killing(count // 2)),
        ]
    runs += [  # last, since the store would rather not be open when processes are started
        build("here, encoder not loaded", folder, small, encoder, LOCAL_EXECUTOR),
        build("here", folder, small, encoder, LOCAL_EXECUTOR),
        build("here", folder, large, encoder, LOCAL_EXECUTOR),
    ]
    for size in {run.passages for run in runs}:
        assert len({run.vectors for run in runs if run.passages == size}) == 1, "vectors differ"
    return {"seconds to start two nodes": round(up, 1), "cores": os.cpu_count(), "runs": list(map(asdict, runs))}


def corpus(file: Path, data: str, count: int) -> Path:
    """The first passages of a data set."""
    lines = [{"id": one.id, "title": one.title, "text": one.text} for one in read_passages(data)[:count]]
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return file


def build(what: str, folder: Path, source: Path, encoder: Encoder, executor: Executor, report: Report = ignore) -> Run:
    place = Path(tempfile.mkdtemp(dir=folder))
    structures = [Passages(PassageLimits())]
    before, started = cpu_seconds(), time.perf_counter()
    update_index(place, [source], encoder, structures, ReadingLimits(), Watcher(report), None, executor)
    seconds, spent = time.perf_counter() - started, cpu_seconds() - before
    mirror = Snapshot.open(place).search.vectors(Kind.PASSAGE)
    digest = hashlib.sha256("".join(mirror.ids).encode() + mirror.matrix.tobytes()).hexdigest()[:16]
    run = Run(what, len(mirror.ids), round(seconds, 2), round(spent, 2), round(os.getloadavg()[0], 1), digest)
    print(run, flush=True)
    return run


def killing(at: int) -> Callable[[str, int, int], None]:
    """A watcher that kills one busy worker once this many passages are encoded."""
    killed: list[int] = []

    def report(what: str, done: int, total: int) -> None:  # noqa: ARG001
        if what == "encoding" and done >= at and not killed:
            killed.append(next(process for process, name in descendants() if name.startswith("ray::_perform")))
            lost.append(_cpu_of(killed[0]))
            os.kill(killed[0], signal.SIGKILL)

    return report


@contextmanager
def two_nodes() -> Iterator[str]:
    """A cluster of two nodes with one core each; yields its address."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": 200_000_000}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    try:
        cluster.add_node(**node)
        cluster.wait_for_nodes()
        yield cluster.address
    finally:
        cluster.shutdown()


lost: list[float] = []
"""CPU seconds of the workers that we killed: nobody waits for them, so no process counts them as children."""


def cpu_seconds() -> float:
    """CPU seconds of this process and all its descendants, including finished ones."""
    return sum(_cpu_of(process) for process in [os.getpid(), *(process for process, _ in descendants())]) + sum(lost)


def _cpu_of(process: int) -> float:
    fields = _stat(process)
    return sum(map(int, fields[11:15])) / TICKS if fields else 0.0


def descendants() -> list[tuple[int, str]]:
    """The descendants of this process, with their names."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        fields = _stat(int(entry.name)) if entry.name.isdigit() else []
        if fields:
            parents[int(entry.name)] = int(fields[1])
    found, waiting = [], [os.getpid()]
    while waiting:
        above = waiting.pop()
        below = [process for process, parent in parents.items() if parent == above]
        found += below
        waiting += below
    return [(process, _command(process)) for process in found]


def _stat(process: int) -> list[str]:
    """The fields of /proc/N/stat after the name: state, parent, ..., user and system time of the process and of its children."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _command(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")[0].decode("utf-8", "replace")
    except OSError:
        return ""


if __name__ == "__main__":
    main()
