"""Measures what each interface adds to a question: the server's routes, agents, adapters and views, relative to Python.

    python -m benchmarks.doors [--rounds N] [--documents N] [--out FILE.json]

One index (the sample corpus), one server in a separate process, one question. All interfaces take turns, round by round, so that
other load on the machine affects all; `ratio` is of medians to that of Python in the same run, `adds` is the difference in
milliseconds. Connections stay open, as with real clients. Asking uses `hybrid`, searching `bm25`, both without a language model.
Then the cost of views over `--documents` generated documents of three sections, a third of which have a date: CPU milliseconds
until the first hit of a new view (`first`), and of a later search by `bm25`, alternating with the same search without a view.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx
from benchmarks.common import ROOT, origin, parser, write_results
from benchmarks.made_corpora import WordHashes
from benchmarks.serving import served

from hoptrail import Index, Settings
from hoptrail.retrieval.units.unit_search import keyword_search

QUESTION = "Which river flows through the town where Ilse Marrow was born?"
LABELS = ("all=*",)
WORDS = ("harbour", "ferry", "lamp", "rope", "mill", "bridge", "choir", "museum", "pump", "slip")
ASKING, SEARCHING = "Index.ask", "Index.search"
"""The baselines of the interfaces."""

Door = Callable[[], object]


def doors(index: Index, client: httpx.Client) -> dict[str, tuple[str, Door]]:
    """For each interface its baseline, and a function that asks one question through it."""

    def post(path: str, **body: Any) -> Door:
        return lambda: client.post(path, json=body).raise_for_status()

    def call(tool: str, **arguments: Any) -> Door:
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        headers = {"Accept": "application/json, text/event-stream"}
        return lambda: client.post("/mcp", json=body, headers=headers).raise_for_status()

    ask: dict[str, Any] = {"question": QUESTION, "recipe": "hybrid"}
    search: dict[str, Any] = {"question": QUESTION, "recipe": "bm25"}
    chat: dict[str, Any] = {"model": "hybrid", "messages": [{"role": "user", "content": QUESTION}]}
    found: dict[str, tuple[str, Door]] = {
        ASKING: (ASKING, lambda: index.ask(QUESTION, "hybrid")),
        "Index.ask, as_of": (ASKING, lambda: index.ask(QUESTION, "hybrid", as_of="2100")),
        "Index.ask, labels": (ASKING, lambda: index.ask(QUESTION, "hybrid", labels=["all"])),
        "POST /api/ask": (ASKING, post("/api/ask", **ask)),
        "POST /v1/chat/completions": (ASKING, post("/v1/chat/completions", **chat)),
        "the same as a stream": (ASKING, post("/v1/chat/completions", **chat, stream=True)),
        "POST /v1/responses": (ASKING, post("/v1/responses", model="hybrid", input=QUESTION)),
        "responses as a stream": (ASKING, post("/v1/responses", model="hybrid", input=QUESTION, stream=True)),
        "POST /mcp, ask": (ASKING, call("ask", **ask)),
        SEARCHING: (SEARCHING, lambda: index.search(QUESTION, "bm25")),
        "POST /api/search": (SEARCHING, post("/api/search", **search)),
        "POST /mcp, search": (SEARCHING, call("search", **search)),
    }
    return found | _adapters(index)


def _adapters(index: Index) -> dict[str, tuple[str, Door]]:
    from hoptrail.serving.adapters.langchain import HoptrailRetriever, HoptrailTool

    retriever, tool = HoptrailRetriever(index=index, recipe="bm25"), HoptrailTool(index=index, recipe="hybrid")
    found: dict[str, tuple[str, Door]] = {
        "LangChain, retriever": (SEARCHING, lambda: retriever.invoke(QUESTION)),
        "LangChain, tool": (ASKING, lambda: tool.invoke({"question": QUESTION})),
    }
    os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "false"
    from hoptrail.serving.adapters import haystack

    fetching, answering = haystack.HoptrailRetriever(index, "bm25"), haystack.HoptrailAnswerer(index, "hybrid")
    return found | {
        "Haystack, retriever": (SEARCHING, lambda: fetching.run(query=QUESTION)),
        "Haystack, answerer": (ASKING, lambda: answering.run(query=QUESTION)),
    }


def views(folder: Path, documents: int, rounds: int) -> list[dict[str, Any]]:
    """Measure asking the past, and asking with labels, over generated documents."""
    index = Index(folder / "views", Settings(labels=("half=*/notes/[0-4]/*",)))
    index.encoder = WordHashes()
    index.add(made_notes(folder / "notes", documents), ["bm25"])
    plain = index.corpus()
    lines = []
    for name, view in (("as_of 2012", index.view("2012")), ("label of half", index.view(labels=["half"]))):
        started = time.process_time()
        view_corpus = index.corpus(view)
        keyword_search(view_corpus, WORDS[0], 10)
        first = 1000 * (time.process_time() - started)
        pair: dict[str, tuple[str, Door]] = {
            one: ("", partial(keyword_search, corpus, WORDS[0], 10))
            for one, corpus in (("plain", plain), (name, view_corpus))
        }
        medians = {one: statistics.median(taken) for one, taken in measured(pair, rounds, time.process_time).items()}
        ratio = round(medians[name] / medians["plain"], 2)
        lines.append({"view": name, "documents": documents, "first": round(first, 1), "ratio": ratio})
    return lines


def made_notes(folder: Path, documents: int) -> Path:
    """Write generated notes with dated and undated sections."""
    for number in range(documents):
        sentences = [
            f"The {WORDS[(number + part) % 10]} is {WORDS[(number * 7 + part) % 10]} {number}." for part in range(3)
        ]
        parts = ("", f"## {2000 + number % 26}-05-01\n\n", "## More\n\n")
        text = "\n\n".join(f"{head}{one}" for head, one in zip(parts, sentences, strict=True))
        file = folder / f"{number % 10}" / f"{number}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# Note {number}\n\n{text}\n", encoding="utf-8")
    return folder


def measured(
    opened: dict[str, tuple[str, Door]], rounds: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, list[float]]:
    """Milliseconds of each interface in each round, after a warm-up round."""
    times: dict[str, list[float]] = {name: [] for name in opened}
    for number in range(rounds + 1):
        for name, (_, door) in opened.items():
            started = clock()
            door()
            if number:
                times[name].append(1000 * (clock() - started))
    return times


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--rounds", type=int, default=100)
    options.add_argument("--documents", type=int, default=5000)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        index = Index(Path(folder) / "index", Settings(labels=LABELS))
        index.add(ROOT / "examples" / "harbour", ["hybrid", "bm25"])
        with served(str(index.folder)) as (client, _):
            opened = doors(index, client)
            times = measured(opened, chosen.rounds)
        view_rows = views(Path(folder), chosen.documents, chosen.rounds)
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    rows = [
        {
            "door": name,
            "beside": beside,
            "milliseconds": round(medians[name], 2),
            "adds": round(medians[name] - medians[beside], 2),
            "ratio": round(medians[name] / medians[beside], 2),
        }
        for name, (beside, _) in opened.items()
    ]
    for row in rows:
        print(
            f"{row['door']:28} {row['milliseconds']:8} ms  adds {row['adds']:7} ms  ratio {row['ratio']:5}  of {row['beside']}"
        )
    for line in view_rows:
        print(
            f"{line['view']:28} of {line['documents']} documents: first {line['first']} ms, then ratio {line['ratio']}"
        )
    of = origin((QUESTION, WORDS, chosen.documents))
    write_results(chosen.out, {"of": of, "rounds": chosen.rounds, "doors": rows, "views": view_rows})


if __name__ == "__main__":
    main()
