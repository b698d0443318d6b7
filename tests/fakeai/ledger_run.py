"""The server's bill against our ledger while the server misbehaves and the client is killed, again and again.

The client is a process of its own that asks a numbered list of questions with several threads and starts over after every
kill; the server lives in the caller's process and survives. Used by a test (few calls) and by `benchmarks/ledger.py` (many).
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fakeai.clients import paid_chat, replies_in, request
from fakeai.server import Body, FakeAI, count_tokens, serving
from hoptrail.errors import EndpointBusy
from hoptrail.models.chat import ChatRequest
from hoptrail.models.client import CallFailed
from hoptrail.models.ledger import FILE

WORKERS = 4
FAULTS = ("500", "502", "unavailable", "busy seconds", "reset", "reset in body", "hang", "web page")
FAULTY = 0.15
"""The share of requests that go wrong."""
CLIENT: dict[str, Any] = {
    "concurrency": WORKERS,
    "attempts": 3,
    "backoff_seconds": 0.01,
    "deadline_seconds": 0.5,
    "limit_calls": 1_000_000,  # so that the ledger is summed up
}


@dataclass(frozen=True)
class Outcome:
    """What a run came to. `bill` is the server's, `ledger` ours: its calls are `settled` (the reply is here) or `unsettled` (no
    reply, or killed before it came). `settled_tokens` are those of calls whose reply we have, `settled_bill_tokens` what the
    server charged for them.
    """

    answered: int
    kills: int
    workers: int
    requests: int
    faults: int
    paid_twice: int
    bill_calls: int
    ledger_calls: int
    settled: int
    unsettled: int
    refused: int
    bill_tokens: int
    ledger_tokens: int
    settled_tokens: int
    settled_bill_tokens: int
    seconds: float

    @property
    def unheard(self) -> int:
        """Requests that the server turned down without billing them, to a client that was killed before it heard."""
        return self.requests - self.bill_calls - self.refused

    def faults_of_the_ledger(self) -> list[str]:
        """What must not be: empty. But for what was unheard, the bill lies between the settled and all calls."""
        arrived = self.bill_calls + self.unheard
        faults = {
            "a reply was paid twice": self.paid_twice > 0,
            "the server saw more calls than perhaps went out": arrived > self.ledger_calls,
            "the bill has fewer calls than were settled": self.bill_calls < self.settled,
            "the ledger has fewer calls than the bill": self.ledger_calls < self.bill_calls,
            "the ledger has fewer tokens than the bill": self.ledger_tokens < self.bill_tokens,
            "the bill has fewer tokens than were settled": self.bill_tokens < self.settled_tokens,
            "settled calls differ from what was charged": self.settled_tokens != self.settled_bill_tokens,
        }
        return [what for what, happened in faults.items() if happened]


def question(number: int) -> str:
    return f"Question {number}: " + "which way does the river flow? " * (1 + number % 5)


def reply_to(body: Body) -> str:
    asked = body["messages"][-1]["content"]
    return f"It flows to the sea, says reply {len(asked)}. " * (1 + len(asked) % 3)


def run_with_kills(folder: Path, calls: int, kills: int, seed: int, seconds: float = 0.01) -> Outcome:
    """Let the client ask `calls` questions, and kill it `kills` times on the way; the model takes `seconds` for a reply."""
    started = time.monotonic()
    # The fault of a request depends on its number and the seed alone.
    chances = [random.Random(seed * 1_000_003 + number) for number in range(calls * 10)]

    def choose(number: int, _body: Body) -> str | None:
        chance = chances[number % len(chances)]
        return chance.choice(FAULTS) if chance.random() < FAULTY else None

    delays = random.Random(seed)
    with serving(FakeAI(reply_to, choose=choose, seconds=seconds, retry_after="0.02")) as fake:
        killed = 0
        while True:
            client = _start_client(fake, folder, calls)
            if killed < kills:
                target = len(fake.log) + max(1, calls // (kills + 1)) - delays.randrange(3)
                while client.poll() is None and len(fake.log) < target:
                    time.sleep(0.002)
                time.sleep(delays.uniform(0, 0.03))
                client.send_signal(signal.SIGKILL)
            code = client.wait()
            if code == 0:
                break
            assert code == -signal.SIGKILL, f"the client ended with {code}"
            killed += 1
        time.sleep(0.05)  # replies to a client that is gone are billed as well
        return _outcome(fake, folder, calls, killed, time.monotonic() - started)


def _start_client(fake: FakeAI, folder: Path, calls: int) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])}
    command = [sys.executable, "-m", "fakeai.ledger_run", str(fake.port), str(folder), str(calls)]
    return subprocess.Popen(command, env=environment)


def _outcome(fake: FakeAI, folder: Path, calls: int, killed: int, seconds: float) -> Outcome:
    ledger = replies_in(folder).ledger()
    connection = sqlite3.connect(folder / FILE)
    rows = connection.execute(
        "SELECT key, prompt_tokens + completion_tokens FROM calls WHERE state = 'settled'"
    ).fetchall()
    answered = connection.execute("SELECT count(*) FROM replies").fetchone()[0]
    connection.close()
    charged = {_request(fake, number).key: _charge(fake, number) for number in range(calls)}
    return Outcome(
        answered=answered,
        kills=killed,
        workers=WORKERS,
        requests=len(fake.log),
        faults=sum(asked.fault is not None for asked in fake.log),
        paid_twice=len(rows) - len({key for key, _ in rows}),
        bill_calls=fake.bill.calls,
        ledger_calls=ledger.calls,
        settled=ledger.calls - ledger.unsettled,
        unsettled=ledger.unsettled,
        refused=ledger.refused,
        bill_tokens=fake.bill.prompt_tokens + fake.bill.completion_tokens,
        ledger_tokens=ledger.prompt_tokens + ledger.completion_tokens,
        settled_tokens=sum(tokens for _, tokens in rows),
        settled_bill_tokens=sum(charged[key] for key, _ in rows),
        seconds=seconds,
    )


def _request(fake: FakeAI, number: int) -> ChatRequest:
    """Every other reply is streamed."""
    heard = (lambda _: None) if number % 2 else None
    return replace(request(question(number), place=fake.address), heard=heard)


def _charge(fake: FakeAI, number: int) -> int:
    messages = [{"content": message.text} for message in _request(fake, number).messages]
    reply = reply_to({"messages": messages})
    return sum(count_tokens(message["content"]) for message in messages) + count_tokens(reply)


def _be_the_client(port: int, folder: Path, calls: int) -> None:
    """Ask every question until it is answered."""
    fake = FakeAI(reply_to, port=port)
    chat = paid_chat(fake, folder, **CLIENT)

    def ask(number: int) -> None:
        for _ in range(20):
            try:
                chat.ask(_request(fake, number))
            except (CallFailed, EndpointBusy):
                continue
            return
        raise AssertionError(f"question {number} was never answered")

    with ThreadPoolExecutor(2 * WORKERS) as workers:
        list(workers.map(ask, range(calls)))


if __name__ == "__main__":
    _be_the_client(int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
