"""Compares served searches: requests per second and their times for our server beside servers around bm25s, tantivy and txtai.

    python -m benchmarks.peers.served INDEX --environments DIR [--data NAME] [--requests N] [--rounds N] [--out FILE.json]

All serve the passages of INDEX and answer the development questions with the ten best and their texts, in one process each. The
clients are threads of this process, on the same cores: `nothing` is a server that does not search, and bounds what these clients
can measure. All servers run all the time; each round measures one after the other, and the medians of the rounds are reported.
`cpu` is the server's CPU time of a request, all threads together.

Peers hold all passages in memory and have neither keys, limits, metrics nor updates. txtai gets the vectors of passages and
encodes each question by itself, with the weights of our encoder in single precision. It has one thread for each product, as our
server has; `txtai-threads` has its own choice. Its own server (`txtai-own`) returns only position, text and score of a passage.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import astuple, dataclass, fields
from importlib.metadata import version
from itertools import product
from pathlib import Path
from statistics import mean, median
from typing import Any

import httpx
import numpy as np
from benchmarks import common
from benchmarks.peers.search_server import ServingJob
from benchmarks.peers.searching import OURS, Pieces, interpreters
from benchmarks.serving import client_of, served, speed

from hoptrail import Index
from hoptrail.evaluation.datasets import load_dataset
from hoptrail.index.contract import found_json
from hoptrail.models.local import packaged_folder
from hoptrail.types import Hit

CLIENTS = (1, 2, 8, 32)
LIMIT = 10
RECIPES = ("bm25", "hybrid")
PEERS = {
    "nothing": "keywords",
    "bm25s": "keywords",
    "tantivy": "keywords",
    "txtai": "txtai",
    "txtai-threads": "txtai",
    "txtai-own": "txtai",
}
"""Systems of `search_server` and their environments."""
PACKAGES = {"nothing": "fastapi", "txtai-threads": "txtai", "txtai-own": "txtai"}
"""The packages whose versions are recorded, if not named like the system."""


@dataclass(frozen=True, slots=True)
class Speed:
    """One number of clients: medians of the rounds; times in milliseconds. `driver_cpu` is the CPU time of the clients."""

    clients: int
    per_second: float
    p50: float
    p95: float
    cpu: float
    driver_cpu: float


@dataclass(frozen=True, slots=True)
class Row:
    """One system. `recall` of the hits that were served, in hundredths; `size` is the mean number of bytes of a reply."""

    data: str
    system: str
    version: str
    recall: float
    size: float
    requests: int
    rounds: int
    speeds: tuple[Speed, ...]
    of: common.Origin


@dataclass(frozen=True, slots=True)
class Server:
    """How a running system is asked, and which passages a reply has."""

    system: str
    version: str
    process: int
    ask: Callable[[str], httpx.Response]
    rows: Callable[[Any], list[int]]


def posting(client: httpx.Client, recipe: str) -> Callable[[str], httpx.Response]:
    def ask(question: str) -> httpx.Response:
        return client.post("/api/search", json={"question": question, "recipe": recipe, "limit": LIMIT})

    return ask


def rows_of(pieces: Pieces) -> Callable[[Any], list[int]]:
    """The positions of the hits of a reply like ours."""
    place = {unit.id: row for row, unit in enumerate(pieces.units)}
    return lambda reply: [place[hit["unit"]] for hit in reply["hits"]]


def ours(index: Path, pieces: Pieces, stack: ExitStack) -> Iterator[Server]:
    client, process = stack.enter_context(served(index))
    for recipe in RECIPES:
        yield Server(f"{OURS} {recipe}", version(OURS), process, posting(client, recipe), rows_of(pieces))


@contextmanager
def peer(system: str, python: Path, job: Path, pieces: Pieces) -> Iterator[Server]:
    package = PACKAGES.get(system, system)
    said: list[str | Path] = [python, "-c", f"from importlib.metadata import version; print(version('{package}'))"]
    installed = subprocess.run(said, capture_output=True, text=True, check=True).stdout.strip()
    port = common.free_port()
    command: list[str | Path] = [python, "-m", "benchmarks.peers.search_server", system, job, str(port)]
    with common.answering(command, port) as process, client_of(port) as client:
        if system == "txtai-own":

            def ask(question: str) -> httpx.Response:
                return client.get("/search", params={"query": question, "limit": LIMIT})

            yield Server(system, installed, process, ask, lambda reply: [int(hit["id"]) for hit in reply])
        else:
            yield Server(system, installed, process, posting(client, system), rows_of(pieces))


def peers(pieces: Pieces, environments: Path, folder: Path, stack: ExitStack) -> Iterator[Server]:
    given = folder / "job.json"
    job_of(pieces, folder).write(given)
    for system, python in interpreters(PEERS, environments):
        yield stack.enter_context(peer(system, python, given, pieces))


def job_of(pieces: Pieces, folder: Path) -> ServingJob:
    job = pieces.job(folder)
    np.save(folder / "passages.npy", np.load(job.vectors)[: len(job.texts)])
    hits = [dict(found_json(Hit(unit, 0.0, "peer"))) for unit in pieces.units]
    return ServingJob(job.texts, hits, str(folder / "passages.npy"), str(packaged_folder()), str(folder))


def answered(server: Server, pieces: Pieces) -> tuple[float, float]:
    """Recall of the served hits over all questions, and the mean size of a reply; also warms the server up."""
    replies = [server.ask(question.question).raise_for_status() for question in pieces.dataset.questions]
    scores, _ = pieces.scores(server.rows(reply.json()) for reply in replies)
    return scores[f"recall@{LIMIT}"], mean(len(reply.content) for reply in replies)


def cpu_milliseconds(process: int) -> float:
    """CPU time of a process and its threads so far, from Linux's own count."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return 1000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measured(server: Server, questions: list[str], clients: int, requests: int) -> Speed:
    before, own_before = cpu_milliseconds(server.process), cpu_milliseconds(os.getpid())
    per_second, p50, p95, _ = speed(server.ask, questions, clients, requests)
    spent = [cpu_milliseconds(server.process) - before, cpu_milliseconds(os.getpid()) - own_before]
    return Speed(clients, per_second, p50, p95, *(one / requests for one in spent))


def middle(speeds: list[Speed]) -> Speed:
    """The median of each figure over rounds with the same number of clients."""
    names = [field.name for field in fields(Speed)]
    return Speed(**{name: median(getattr(one, name) for one in speeds) for name in names})


def in_rounds(
    servers: list[Server], questions: list[str], requests: int, rounds: int
) -> Mapping[str, tuple[Speed, ...]]:
    found: dict[tuple[str, int], list[Speed]] = {}
    for number, clients, server in product(range(rounds), CLIENTS, servers):
        one = measured(server, questions, clients, requests)
        found.setdefault((server.system, clients), []).append(one)
        print(number + 1, server.system, one, file=sys.stderr, flush=True)
    return {one.system: tuple(middle(found[one.system, clients]) for clients in CLIENTS) for one in servers}


def main() -> None:
    arguments = common.parser(__doc__)
    arguments.add_argument("index", type=Path)
    arguments.add_argument("--environments", type=Path, metavar="DIR", required=True)
    arguments.add_argument("--data", default="2wiki")
    arguments.add_argument("--requests", type=int, default=200, help="requests of a round for each number of clients")
    arguments.add_argument("--rounds", type=int, default=3)
    options = arguments.parse_args()
    dataset = load_dataset(common.data_folder(options.data))
    with tempfile.TemporaryDirectory() as temporary, ExitStack() as stack:
        folder = Path(temporary)
        index = Index(shutil.copytree(options.index, folder / "index"))
        pieces = Pieces(dataset, index, index.recipe("hybrid").corpus)
        servers = [*ours(options.index, pieces, stack), *peers(pieces, options.environments, folder, stack)]
        answers = {server.system: answered(server, pieces) for server in servers}
        print("all servers answer", file=sys.stderr, flush=True)
        questions = [question.question for question in dataset.questions]
        speeds = in_rounds(servers, questions, options.requests, options.rounds)
    rows = [
        Row(
            *(options.data, server.system, server.version, *answers[server.system], options.requests, options.rounds),
            speeds[server.system],
            common.origin_of_data(options.data),
        )
        for server in servers
    ]
    figures = ("clients", "a second", "p50 ms", "p95 ms", "CPU ms", "driver's CPU ms")
    common.print_table(
        ("system", "version", "recall@10", "bytes", *figures),
        [(row.system, row.version, f"{row.recall:.1f}", row.size, *astuple(one)) for row in rows for one in row.speeds],
    )
    common.write_results(options.out, rows)


if __name__ == "__main__":
    main()
