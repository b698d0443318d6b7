"""Counts model calls and sampled generations per question: our count beside that of the server.

    python -m benchmarks.generations [--work DIR] [--data NAME] [--recipes A,B] [--limit N] [--out FILE.json]

Runs `hoptrail evaluate --language chat` over real questions against the local server of the tests, whose model answers in the
right form by rules: a question has one to three sub-questions (by a hash of its text), answers are names from the evidence, ten
samples have up to three different answers, and an answer entails another if both begin alike. So it measures traffic and
arithmetic, never quality. Every recipe begins without stored replies. The run fails if the two counts differ; the number of
samples is the server's, from the prompt of each request.

DIR/index/NAME is the index, as `hoptrail evaluate --work DIR` keeps it; without --work the corpus is indexed first.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.common import ROOT, data_folder, parser, print_table, run_measured, write_results

sys.path.insert(0, str(ROOT / "tests"))

EXECUTABLE = Path(sys.executable).parent / "hoptrail"
RECIPES = "sunar:paper,sunar:guided,sunar"
NAMES = re.compile(r"\b[A-Z][\w'-]+(?: [A-Z][\w'-]+)*")
FINDING = re.compile(r"^#\d+ ", re.MULTILINE)
MOST_HOPS = 3
MEANINGS = 3
"""Number of different answers among the samples of one prompt."""


@dataclass(frozen=True, slots=True)
class Row:
    """Per question: `calls` by our count, and those of the server by task (`sample`: generations)."""

    recipe: str
    questions: int
    failed: int
    calls: float
    server_calls: float
    by_task: dict[str, float]
    tokens: float


def number_of(text: str) -> int:
    """A number that depends only on the text."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def reply_to(body: dict[str, Any]) -> str:
    """The model's reply, which depends only on prompt and seed."""
    from fakeai.brains import task_of

    prompt = body["messages"][-1]["content"]
    task = task_of(body)
    if task == "entail":
        first, second = re.findall(r"^(?:First|Second) answer: (.*)$", prompt, re.MULTILINE)
        return json.dumps({"relation": "entailment" if first.split()[:1] == second.split()[:1] else "neutral"})
    question = re.findall(r"^Question(?: to rewrite)?: (.*)$", prompt, re.MULTILINE)[-1]
    if task == "decompose_next":
        found = len(FINDING.findall(prompt))
        has_more = found <= number_of(question) % MOST_HOPS
        return json.dumps({"questions": [f"Step {found + 1} of this: {question}"] if has_more else []})
    if task == "complete":
        return json.dumps({"question": question})
    if task == "sample":
        place = number_of(f"{prompt}{body.get('seed')}") % MEANINGS
        return json.dumps({"reasoning": "The evidence names it.", "answer": named(prompt, place)})
    if task in {"assess", "verify", "equate"}:
        verdict = ("yes", "no")[number_of(prompt) % 2]
        return json.dumps({"enough": verdict, "supports": verdict, "same": verdict})
    answer = named(prompt, number_of(prompt))
    step = {"question": question, "answer": answer, "evidence": [1], "quote": ""}
    return json.dumps({"steps": [step], "answer": answer, "confidence": 0.5})


def named(text: str, place: int) -> str:
    """One of the names in a text."""
    names: list[str] = NAMES.findall(text) or ["nothing"]
    return names[place % len(names)]


def measure(recipe: str, data: Path, work: Path, limit: int) -> Row:
    """Run one recipe and compare both counts."""
    from fakeai.brains import task_of
    from fakeai.server import FakeAI, serving
    from hoptrail.models.remembered import FILE

    (work / "index").mkdir(parents=True, exist_ok=True)
    for replies in work.rglob(f"{FILE}*"):
        replies.unlink()
    with tempfile.TemporaryDirectory() as folder, serving(FakeAI(reply_to)) as fake:
        # Results of an earlier run would spare the calls: only the index is common to runs.
        Path(folder, "index").symlink_to((work / "index").resolve())
        out = Path(folder, "out.json")
        os.environ |= {"OPENAI_BASE_URL": fake.address, "OPENAI_API_KEY": "none", "HOPTRAIL_MODEL": "fake"}
        sizes = ["--limit", str(limit), "--language", "chat", "--work", folder, "--out", str(out)]
        run_measured([EXECUTABLE, "evaluate", data, "--recipes", recipe, *sizes])
        run = json.loads(out.read_text(encoding="utf-8"))["recipes"][recipe]
        tasks = Counter(task_of(asked.body) for asked in fake.log)
        tokens = fake.bill.prompt_tokens + fake.bill.completion_tokens
        if (run["calls"], run["tokens"]) != (len(fake.log), tokens):
            sys.exit(
                f"{recipe}: {run['calls']} calls and {run['tokens']} here, {len(fake.log)} and {tokens} at the server"
            )
    questions = run["n"]
    by_task = {task: count / questions for task, count in sorted(tasks.items())}
    spent = run["calls"] / questions, len(fake.log) / questions, by_task, tokens / questions
    return Row(recipe, questions, run["failed"], *spent)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--work", type=Path, metavar="DIR")
    options.add_argument("--data", default="2wiki", metavar="NAME")
    options.add_argument("--recipes", default=RECIPES, metavar="A,B")
    options.add_argument("--limit", type=int, default=10, metavar="N")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = chosen.work or Path(temporary)
        rows = [measure(name, data_folder(chosen.data), work, chosen.limit) for name in chosen.recipes.split(",")]
    tasks = sorted({task for row in rows for task in row.by_task})
    print_table(
        ("recipe", "questions", "failed", "calls, ours", "server's", "tokens", *tasks),
        [
            (
                row.recipe,
                row.questions,
                row.failed,
                row.calls,
                row.server_calls,
                row.tokens,
                *(row.by_task.get(task, 0.0) for task in tasks),
            )
            for row in rows
        ],
    )
    write_results(chosen.out, rows)


if __name__ == "__main__":
    main()
