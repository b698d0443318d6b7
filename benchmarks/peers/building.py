"""Measures the cost of building an index that can answer questions: ours, LightRAG, nano-graphrag and LlamaIndex's RAPTOR.

    python -m benchmarks.peers.building --environments DIR [--data NAME] [--documents N] [--ours A,B] [--out FILE.json]

All build over the first N documents and call the same local server (`scripted.py`): a model that answers at once, in
the form that each library requests, and our encoder's vectors. Calls and tokens are counted by the server. Seconds are those of
building alone, without imports, that is, the work of a library around its calls: a real model adds its time for every call,
divided by the number of concurrent calls. CPU seconds and memory are those of the whole process, start-up included. Ours encodes
in its own process, the peers at the server. The results are not queried.

`--ours` are recipes, each built for in an empty folder: `hybrid` calls no model; for others a model makes everything that it can
(`--language chat`). A peer without an environment (`environments.py`), or that fails, is left out with the reason.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.common import (
    ROOT,
    Failed,
    Measured,
    Passage,
    parser,
    print_table,
    read_passages,
    try_measured,
    write_results,
)
from benchmarks.peers.built import DIMENSION, KEY, MODEL, BuildJob, Built
from benchmarks.peers.environments import interpreter
from benchmarks.peers.scripted import reply_to

sys.path.insert(0, str(ROOT / "tests"))
from fakeai.server import FakeAI, serving

PEERS = {
    "lightrag_build": "lightrag",
    "nano_graphrag_build": "nano-graphrag",
    "llamaindex_raptor_build": "llamaindex-raptor",
}
"""The peers' modules and environments."""
OURS = "hybrid,raptor,sirerag,comprag,hirag,lightrag"
BUILD = """
import json, sys, time
import apsw
from hoptrail import Index, Settings
corpus, folder, recipe, language = sys.argv[1:]
index = Index(folder, Settings(language=language))
index.encoder.encode(["ready"])
started = time.perf_counter()
index.add([corpus], [recipe])
seconds = time.perf_counter() - started
found = index.contents()
units = {str(kind): count for kind, count in found.units.items()}
print(json.dumps({"seconds": seconds, "made": units}))
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One system. `made` counts the results."""

    system: str
    version: str
    seconds: float
    cpu_seconds: float
    peak_megabytes: float
    calls: int
    prompt_tokens: int
    completion_tokens: int
    made: Mapping[str, int]


@contextmanager
def scripted_server() -> Iterator[FakeAI]:
    """With the server in the environment."""
    from hoptrail.models.minilm import MiniLmEncoder

    encoder = MiniLmEncoder()
    assert encoder.identity.dimension == DIMENSION
    with serving(FakeAI(reply_to, embed=lambda texts: encoder.encode(texts).tolist())) as fake:
        os.environ |= {"OPENAI_BASE_URL": fake.address, "OPENAI_API_KEY": KEY, "HOPTRAIL_MODEL": MODEL}
        yield fake


def row(built: Built, measured: Measured, fake: FakeAI) -> Row:
    bill = fake.bill
    spent = bill.calls, bill.prompt_tokens, bill.completion_tokens
    cost = built.seconds, measured.cpu_seconds, measured.peak_megabytes
    return Row(built.system, built.version, *cost, *spent, built.made)


def ours(recipe: str, passages: list[Passage], folder: Path) -> Row | str:
    from importlib.metadata import version

    corpus = folder / "corpus.jsonl"
    lines = (json.dumps({"id": one.id, "title": one.title, "text": one.text}) for one in passages)
    corpus.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    language = "offline" if recipe == "hybrid" else "chat"
    with scripted_server() as fake:
        measured = try_measured([sys.executable, "-c", BUILD, corpus, folder / "index", recipe, language])
        if isinstance(measured, Failed):
            return measured.why
        report = json.loads(measured.output)
        return row(Built(f"hoptrail {recipe}", version("hoptrail"), report["seconds"], report["made"]), measured, fake)


def peer(module: str, environments: Path, passages: list[Passage], folder: Path) -> Row | str:
    python = interpreter(environments, PEERS[module])
    if python is None:
        return f"there is no environment {PEERS[module]} in {environments}"
    given, made, work = folder / "job.json", folder / "built.json", folder / "work"
    work.mkdir()
    with scripted_server() as fake:
        BuildJob([one.searchable for one in passages], fake.address, str(work)).write(given)
        measured = try_measured([python, "-m", f"benchmarks.peers.{module}", given, made])
        if isinstance(measured, Failed):
            return measured.why
        return row(Built(**json.loads(made.read_text(encoding="utf-8"))), measured, fake)


def measure(recipes: list[str], passages: list[Passage], environments: Path) -> Iterator[Row]:
    for name in (*recipes, *PEERS):
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            found = peer(name, environments, passages, folder) if name in PEERS else ours(name, passages, folder)
        if isinstance(found, str):
            print(f"{name} is left out: {found}", file=sys.stderr)
        else:
            yield found


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--environments", type=Path, metavar="DIR", required=True)
    arguments.add_argument("--data", default="2wiki", metavar="NAME")
    arguments.add_argument("--documents", type=int, default=50, metavar="N")
    arguments.add_argument("--ours", default=OURS, metavar="A,B")
    options = arguments.parse_args()
    passages = read_passages(options.data)[: options.documents]
    rows = list(measure(options.ours.split(","), passages, options.environments))
    print(f"The first {len(passages)} documents of {options.data}:\n")
    print_table(
        ("system", "version", "seconds", "CPU s", "peak MB", "calls", "prompt tokens", "completion tokens", "made"),
        [
            (
                *(one.system, one.version, one.seconds, one.cpu_seconds, one.peak_megabytes),
                *(one.calls, one.prompt_tokens, one.completion_tokens),
                ", ".join(f"{count:,} {what}" for what, count in one.made.items()),
            )
            for one in rows
        ],
    )
    write_results(options.out, rows)


if __name__ == "__main__":
    main()
