"""How much a busy key slows another: times of one client's questions alone, and beside many clients of another key.

    python -m benchmarks.fair_shares INDEX [--clients N] [--requests N] [--turns N] [--verb search|ask] [--recipe NAME]

INDEX is copied for two workspaces with a key each, served by a process of its own, and once more so by another. The busy key's
clients live in a third process and ask again as soon as they are answered or refused: first the other server, which shows what
the machine's load alone does, then the same one. These
come in turns, so that other work on the machine falls on all alike. Language of the rules.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.synchronize
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

import httpx
from benchmarks.common import parser, percentile, print_table, write_results

QUESTIONS = ("Who designed the lighthouse?", "Which river flows through the town?", "When was the bridge built?")
KEYS = {"busy": "the-key-of-the-busy-one", "other": "the-key-of-the-other-one"}


@dataclass(frozen=True, slots=True)
class Times:
    """Of one client that asks one question after the other; milliseconds."""

    beside: str
    requests: int
    refused: int
    p50: float
    p99: float


@dataclass
class Taken:
    """Seconds that requests took, and their status codes."""

    seconds: list[float] = field(default_factory=list)
    codes: Counter[int] = field(default_factory=Counter)

    def __add__(self, other: Taken) -> Taken:
        return Taken(self.seconds + other.seconds, self.codes + other.codes)

    def times(self, beside: str) -> Times:
        requests = len(self.seconds)
        p50, p99 = median(self.seconds), percentile(self.seconds, 0.99)
        return Times(beside, requests, requests - self.codes[200], 1000 * p50, 1000 * p99)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked, and where."""

    port: int
    verb: str
    recipe: str
    key: str

    def client(self) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.key}"}
        return httpx.Client(base_url=f"http://127.0.0.1:{self.port}", headers=headers, timeout=300, verify=False)

    def ask(self, client: httpx.Client, number: int) -> int:
        body = {"question": QUESTIONS[number % len(QUESTIONS)], "recipe": self.recipe}
        return client.post(f"/api/{self.verb}", json=body).status_code


def main() -> None:
    options = parser(__doc__)
    options.add_argument("index", type=Path)
    options.add_argument("--clients", type=int, default=100)
    options.add_argument("--requests", type=int, default=100)
    options.add_argument(
        "--turns", type=int, default=3, help="how often each comes; the requests are shared among them"
    )
    options.add_argument("--verb", choices=("search", "ask"), default="search")
    options.add_argument("--recipe", default="hybrid")
    arguments = options.parse_args()
    with (
        tempfile.TemporaryDirectory() as ground,
        served(arguments.index, Path(ground, "a")) as port,
        served(arguments.index, Path(ground, "b")) as elsewhere,
    ):
        other = Asked(port, arguments.verb, arguments.recipe, KEYS["other"])
        for one in (other, busy(other, port), busy(other, elsewhere)):
            timed(one, 5)
        told = {
            "nobody": None,
            f"{arguments.clients} clients of another server": busy(other, elsewhere),
            f"{arguments.clients} clients of this server": busy(other, port),
        }
        taken = {beside: Taken() for beside in told}
        for _ in range(arguments.turns):
            for beside, asking in told.items():
                with crowd(asking, arguments.clients) if asking else nullcontext():
                    taken[beside] += timed(other, arguments.requests // arguments.turns)
        rows = [one.times(beside) for beside, one in taken.items()]
    print_table(
        ("beside", "requests", "refused", "p50 ms", "p99 ms"),
        [(one.beside, one.requests, one.refused, f"{one.p50:.0f}", f"{one.p99:.0f}") for one in rows],
    )
    for before in rows[:2]:
        print(
            f"beside {before.beside}: p50 {rows[2].p50 / before.p50:.2f} times, p99 {rows[2].p99 / before.p99:.2f} times"
        )
    write_results(arguments.out, {"verb": arguments.verb, "recipe": arguments.recipe, "times": rows})


def busy(other: Asked, port: int) -> Asked:
    return replace(other, port=port, key=KEYS["busy"])


@contextmanager
def crowd(asked: Asked, clients: int) -> Iterator[None]:
    """Clients that ask on, in a process of their own."""
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    process = context.Process(target=keep_asking, args=(asked, clients, stop))
    process.start()
    time.sleep(10)
    try:
        yield
    finally:
        stop.set()
        process.join()


@contextmanager
def served(index: Path, ground: Path) -> Iterator[int]:
    """The port of a server over two copies of an index."""
    ground.mkdir()
    for name in KEYS:
        shutil.copytree(index, ground / name)
    (ground / "keys").write_text("".join(f"{name} {key}\n" for name, key in KEYS.items()), encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    workspaces = [word for name in KEYS for word in ("--workspace", f"{name}={ground / name}")]
    command = [sys.executable, "-m", "hoptrail.serving.cli", "serve", *workspaces]
    command += ["--key-file", str(ground / "keys"), "--port", str(port)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, env=dict(os.environ)) as process:
        try:
            while True:
                try:
                    httpx.get(f"http://127.0.0.1:{port}/health")
                    break
                except httpx.TransportError:
                    if process.poll() is not None:
                        sys.exit("the server did not start")
                    time.sleep(0.1)
            yield port
        finally:
            process.kill()


def timed(asked: Asked, requests: int) -> Taken:
    taken = Taken()
    with asked.client() as client:
        for number in range(requests):
            begun = time.perf_counter()
            taken.codes[asked.ask(client, number)] += 1
            taken.seconds.append(time.perf_counter() - begun)
    return taken


def keep_asking(asked: Asked, clients: int, stop: multiprocessing.synchronize.Event) -> None:
    def ask_on(number: int) -> None:
        with asked.client() as client:
            while not stop.is_set():
                asked.ask(client, number)

    with ThreadPoolExecutor(clients) as threads:
        list(threads.map(ask_on, range(clients)))


if __name__ == "__main__":
    main()
