"""Measures the server under load: requests per second and their times with 1, 8 and 32 clients, memory, time until answerable.

    python -m benchmarks.serving INDEX [--requests N] [--soak N] [--recipe NAME] [--questions DATA] [--out FILE.json]

A copy of INDEX is served by a separate process and queried by threads of this one, all on the same cores. `search` and `ask`
(language of the rules) take the questions of DATA in turn. Memory is the server's resident size before and after `--soak`
searches.
Finally one new document of about ten pages is uploaded: `answerable` is the time until a question about it is answered from it,
and `first hop` the time from sending a question to the first hop of its stream.
"""

from __future__ import annotations

import itertools
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from statistics import median

import httpx
from benchmarks.common import data_folder, parser, percentile, print_table, running_server, write_results

from hoptrail.evaluation.datasets import load_dataset

CLIENTS = (1, 8, 32)
TRIES = 5
PARAGRAPH = (
    "In {year} the committee of Varnholt met {times} times, and the minutes speak of drains, roofs and the weather. "
)
FACT = "The lighthouse of Varnholt was designed by Agda Torvik. "


@dataclass(frozen=True, slots=True)
class Load:
    """Clients that each ask one question after the other; times in milliseconds."""

    verb: str
    clients: int
    requests: int
    per_second: float
    p50: float
    p95: float
    p99: float


@dataclass(frozen=True, slots=True)
class Figures:
    """One server: resident megabytes before and after the soak, seconds."""

    soak: int
    megabytes_before: float
    megabytes_after: float
    answerable: float
    first_hop: float


@contextmanager
def served(index: Path) -> Iterator[tuple[httpx.Client, int]]:
    with (
        tempfile.TemporaryDirectory() as temporary,
        running_server("--index", shutil.copytree(index, f"{temporary}/index")) as (port, process),
        client_of(port) as client,
    ):
        yield client, process


def client_of(port: int) -> httpx.Client:
    """A client for all threads."""
    limits = httpx.Limits(max_connections=max(CLIENTS))
    return httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=300, limits=limits)


def load(client: httpx.Client, verb: str, questions: list[str], clients: int, requests: int, recipe: str) -> Load:
    def ask(question: str) -> httpx.Response:
        return client.post(f"/api/{verb}", json={"question": question, "recipe": recipe})

    return Load(verb, clients, requests, *speed(ask, questions, clients, requests))


def speed(ask: Callable[[str], httpx.Response], questions: list[str], clients: int, requests: int) -> list[float]:
    """Requests per second, and their p50, p95 and p99 in milliseconds; every reply must be a success."""

    def one(question: str) -> float:
        started = time.perf_counter()
        ask(question).raise_for_status()
        return 1000 * (time.perf_counter() - started)

    repeated = list(itertools.islice(itertools.cycle(questions), requests))
    started = time.perf_counter()
    with ThreadPoolExecutor(clients) as threads:
        times = list(threads.map(one, repeated))
    spent = time.perf_counter() - started
    return [requests / spent, *(percentile(times, share) for share in (0.5, 0.95, 0.99))]


def megabytes(process: int) -> float:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def first_hop(client: httpx.Client, question: str, recipe: str) -> float:
    """Seconds until a stream reports the first hop."""
    started = time.perf_counter()
    body = {"question": question, "recipe": recipe}
    with client.stream("POST", "/api/ask", json=body, headers={"Accept": "text/event-stream"}) as answer:
        for line in answer.iter_lines():
            if line == "event: hop":
                return time.perf_counter() - started
    raise AssertionError("a stream without a hop")


def answerable(client: httpx.Client) -> float:
    """Seconds from uploading ten pages to an answer that only they contain."""
    paragraphs = [PARAGRAPH.format(year=1800 + number, times=number) for number in range(300)]
    paragraphs[150] += FACT
    files = {"files": ("Varnholt.txt", "\n\n".join(paragraphs).encode())}
    started = time.perf_counter()
    job = client.post("/api/documents", files=files).raise_for_status().json()
    while client.get(f"/api/jobs/{job['id']}").json()["state"] not in {"done", "failed"}:
        time.sleep(0.05)
    asked = {"question": "Who designed the lighthouse of Varnholt?", "recipe": "hybrid"}
    answer = client.post("/api/ask", json=asked).json()
    if answer["answer"] != "Agda Torvik":
        sys.exit(f"the new document was not used in the answer: {answer['answer']!r}")
    return time.perf_counter() - started


def main() -> None:
    options = parser(__doc__)
    options.add_argument("index", type=Path)
    options.add_argument("--requests", type=int, default=200)
    options.add_argument("--soak", type=int, default=10_000)
    options.add_argument("--recipe", default="hybrid")
    options.add_argument("--questions", default="2wiki")
    chosen = options.parse_args()
    questions = [one.question for one in load_dataset(data_folder(chosen.questions)).questions]
    with served(chosen.index) as (client, process):
        load(client, "ask", questions, 1, 10, chosen.recipe)
        loads = []
        for verb, clients in itertools.product(("search", "ask"), CLIENTS):
            loads.append(load(client, verb, questions, clients, chosen.requests, chosen.recipe))
            print(loads[-1], file=sys.stderr, flush=True)
        before = megabytes(process)
        load(client, "search", questions, 8, chosen.soak, chosen.recipe)
        after = megabytes(process)
        waits = [first_hop(client, question, chosen.recipe) for question in questions[:TRIES]]
        figures = Figures(chosen.soak, before, after, answerable(client), median(waits))
    print_table([field.name for field in fields(Load)], [astuple(one) for one in loads])
    print_table([field.name for field in fields(Figures)], [astuple(figures)])
    write_results(chosen.out, {"recipe": chosen.recipe, "loads": loads, "figures": figures})


if __name__ == "__main__":
    main()
