"""Measures how much a busy key slows another: one client's questions alone, and beside many clients of another key.

    python -m benchmarks.fair_shares INDEX [--clients N] [--requests N] [--turns N] [--out FILE.json]

INDEX is copied for two workspaces with a key each, served by one process, and copied again for a second server. The busy key's
clients run in a third process and ask again as soon as they are answered or refused: first the second server, which shows the
effect of the machine's load alone, then the same server. These measurements alternate, so that other load affects all.
Questions are searched for by `hybrid`.

Times are measured twice: by the wall clock, and by the CPU clock of the server's process, which counts the processor seconds that
the server has used, for all clients, between a question and its answer. The latter does not depend on other load. Linux only.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.synchronize
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import astuple, dataclass, field, replace
from pathlib import Path
from statistics import median

import httpx
from benchmarks.common import origin, parser, percentile, print_table, running_server, write_results

QUESTIONS = ("Who designed the lighthouse?", "Which river flows through the town?", "When was the bridge built?")
KEYS = {"busy": "the-key-of-the-busy-one", "other": "the-key-of-the-other-one"}


@dataclass(frozen=True, slots=True)
class Times:
    """Times of one client that asks one question after the other, in milliseconds, by both clocks."""

    beside: str
    requests: int
    refused: int
    p50: float
    p99: float
    server_p50: float
    server_p99: float


@dataclass
class Taken:
    """Seconds of requests, the server's CPU seconds meanwhile, and status codes."""

    seconds: list[float] = field(default_factory=list)
    used: list[float] = field(default_factory=list)
    codes: Counter[int] = field(default_factory=Counter)

    def __add__(self, other: Taken) -> Taken:
        return Taken(self.seconds + other.seconds, self.used + other.used, self.codes + other.codes)

    def times(self, beside: str) -> Times:
        """The row of these requests; `beside` names the other load."""
        requests = len(self.seconds)
        figures = [
            1000 * figure for times in (self.seconds, self.used) for figure in (median(times), percentile(times, 0.99))
        ]
        return Times(beside, requests, requests - self.codes[200], *figures)


@dataclass(frozen=True, slots=True)
class Server:
    port: int
    process: int

    def used(self) -> float:
        """CPU seconds that it has used."""
        return time.clock_gettime(~self.process << 3 | 2)  # CPUCLOCK_SCHED of another process


@dataclass(frozen=True, slots=True)
class Asked:
    server: Server
    key: str

    def client(self) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.key}"}
        return httpx.Client(base_url=f"http://127.0.0.1:{self.server.port}", headers=headers, timeout=300, verify=False)

    def ask(self, client: httpx.Client, number: int) -> int:
        """Ask question `number`; returns the status code."""
        body = {"question": QUESTIONS[number % len(QUESTIONS)], "recipe": "hybrid"}
        return client.post("/api/search", json=body).status_code


def main() -> None:
    options = parser(__doc__)
    options.add_argument("index", type=Path)
    options.add_argument("--clients", type=int, default=100)
    options.add_argument("--requests", type=int, default=100)
    options.add_argument("--turns", type=int, default=3, help="of each; the requests are divided among them")
    arguments = options.parse_args()
    with (
        tempfile.TemporaryDirectory() as ground,
        served(arguments.index, Path(ground, "a")) as server,
        served(arguments.index, Path(ground, "b")) as another,
    ):
        other = Asked(server, KEYS["other"])
        for one in (other, busy(other, server), busy(other, another)):
            timed(one, 5)
        crowds = {
            "nobody": None,
            f"{arguments.clients} clients of another server": busy(other, another),
            f"{arguments.clients} clients of this server": busy(other, server),
        }
        taken = {beside: Taken() for beside in crowds}
        for _ in range(arguments.turns):
            for beside, asking in crowds.items():
                with crowd(asking, arguments.clients) if asking else nullcontext():
                    taken[beside] += timed(other, arguments.requests // arguments.turns)
        rows = [one.times(beside) for beside, one in taken.items()]
    header = ("beside", "requests", "refused", "p50 ms", "p99 ms", "server's p50 ms", "server's p99 ms")
    print_table(header, map(astuple, rows))
    alone, elsewhere, crowded = rows
    print(f"p99 beside the same server's clients: {crowded.p99 / alone.p99:.2f} times as long as alone,")
    print(f"{crowded.p99 / elsewhere.p99:.2f} times as long as beside another server's;")
    print(f"by the server's clock {crowded.server_p99 / alone.server_p99:.2f} times as long as alone")
    measured_with = origin((arguments.index.name, QUESTIONS))
    write_results(arguments.out, {"of": measured_with, "verb": "search", "recipe": "hybrid", "times": rows})


def busy(other: Asked, server: Server) -> Asked:
    """The same requests with the busy key, to another server."""
    return replace(other, server=server, key=KEYS["busy"])


@contextmanager
def crowd(asked: Asked, clients: int) -> Iterator[None]:
    """Clients that ask continuously, in a separate process. Continues once each has been answered or refused."""
    context = multiprocessing.get_context("spawn")
    stop, begun = context.Event(), context.Semaphore(0)
    process = context.Process(target=keep_asking, args=(asked, clients, stop, begun))
    process.start()
    for _ in range(clients):
        begun.acquire()
    try:
        yield
    finally:
        stop.set()
        process.join()


@contextmanager
def served(index: Path, ground: Path) -> Iterator[Server]:
    ground.mkdir()
    for name in KEYS:
        shutil.copytree(index, ground / name)
    (ground / "keys").write_text("".join(f"{name} {key}\n" for name, key in KEYS.items()), encoding="utf-8")
    workspaces = [word for name in KEYS for word in ("--workspace", f"{name}={ground / name}")]
    with running_server(*workspaces, "--key-file", str(ground / "keys")) as (port, process):
        yield Server(port, process)


def timed(asked: Asked, requests: int) -> Taken:
    taken = Taken()
    with asked.client() as client:
        for number in range(requests):
            begun, used = time.perf_counter(), asked.server.used()
            taken.codes[asked.ask(client, number)] += 1
            taken.seconds.append(time.perf_counter() - begun)
            taken.used.append(asked.server.used() - used)
    return taken


def keep_asking(
    asked: Asked, clients: int, stop: multiprocessing.synchronize.Event, begun: multiprocessing.synchronize.Semaphore
) -> None:
    """Ask with many clients until `stop` is set; each releases `begun` after its first answer."""

    def ask_on(number: int) -> None:
        with asked.client() as client:
            asked.ask(client, number)
            begun.release()
            while not stop.is_set():
                asked.ask(client, number)

    with ThreadPoolExecutor(clients) as threads:
        list(threads.map(ask_on, range(clients)))


if __name__ == "__main__":
    main()
