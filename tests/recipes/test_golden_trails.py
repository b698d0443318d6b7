"""One question of three hops by every recipe and a scripted chat model: each request, each reply and the trail, as files to read.

`golden/NAME.md` holds what the model is given and says; its instructions stand in `language/chat/requests`. After a change that
is meant, `HOPTRAIL_RENEW=1 pytest tests/recipes/test_golden_trails.py` writes the files anew.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from fakeai.brains import task_of
from fakeai.clients import KEY, context_at
from fakeai.server import Asked, Body, Brain, FakeAI, serving
from hoptrail.language.factory import open_language
from hoptrail.recipes.catalogue import open_recipe
from hoptrail.recipes.registry import recipe_names
from hoptrail.recipes.settings import RecipeSettings
from hoptrail.retrieval.corpus import Corpus
from hoptrail.types import Answer
from renewed import check_file

FOLDER = Path(__file__).parent / "golden"
QUESTION = "Which river flows through the town where the designer of the Tallow Bridge was born?"
HOPS = [
    ("Who designed the Tallow Bridge?", "Tallow Bridge", "Orla Finch", "It was designed by Orla Finch."),
    ("Where was Orla Finch born?", "Orla Finch", "Wrenmouth", "Orla Finch was born in Wrenmouth."),
    ("Which river flows through Wrenmouth?", "Wrenmouth", "Isk", "The river Isk flows through Wrenmouth."),
]
PLAN = [HOPS[0][0], "Where was that person born?", "Which river flows through #2?"]
WITHOUT_READING = {"closed-book"}
STEPWISE = {"selfask", "ircot", "flare", "chainrag", "hirag", "sunar", "trail"}


def scripted(*, reads_at_once: bool) -> Brain:
    """A model that knows the plan, and finds each answer in whatever passage has the sentence that says so."""

    def brain(body: Body) -> str:
        return json.dumps(reply_to(task_of(body), body["messages"][1]["content"], reads_at_once=reads_at_once))

    return brain


def reply_to(task: str, given: str, *, reads_at_once: bool) -> dict[str, Any]:
    question = re.search(r"^Question(?: to rewrite)?: (.*)$", given, re.MULTILINE)
    assert question
    match task:
        case "decompose":
            return {"plan": "the designer, the town, its river", "questions": PLAN}
        case "decompose_next":
            found = given.count(" -> ")
            return {"missing": PLAN[found] if found < 3 else "nothing", "questions": PLAN[found : found + 1]}
        case "complete":
            return {"question": HOPS[2 if "river" in question[1] else 1][0]}
        case "recall":
            return {"answer": "Isk", "confidence": "low"}
        case "assess":
            return {"missing": "nothing", "enough": "yes"}
        case "verify":
            return {"reason": "A passage says so.", "supports": "yes"}
        case "integrate":
            return {"reasoning": "Finch was born in Wrenmouth, on the Isk.", "answer": "Isk", "confidence": "high"}
        case "sample":
            return {"reasoning": "The Isk flows through Wrenmouth.", "answer": "Isk"}
    whole = question[1] == QUESTION
    steps = [step_of(hop, given) for hop in HOPS if whole or question[1] == hop[0]]
    if None in steps or not steps or (whole and task == "answer" and not reads_at_once):
        return {"steps": [], "answer": None, "confidence": "low"}
    return {"steps": steps, "answer": steps[-1]["answer"] if steps[-1] else None, "confidence": "high"}


def step_of(hop: tuple[str, str, str, str], given: str) -> dict[str, Any] | None:
    """A step with the numbers of the passages that have its sentence; None where none has."""
    question, _, answer, quote = hop
    passages = re.findall(r'<passage n="(\d+)">(.*?)</passage>', given, re.DOTALL)
    numbers = [int(number) for number, text in passages if quote in text][:1]
    return {"question": question, "evidence": numbers, "quote": quote, "answer": answer} if numbers else None


@pytest.mark.parametrize("name", recipe_names())
def test_three_hops_by_chat(name: str, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving(FakeAI(scripted(reads_at_once=name != "trail"))) as fake:
        language = open_language("chat", context_at(fake, tmp_path))
        answer = open_recipe(name, corpus, language, RecipeSettings()).answer(QUESTION)
        assert answer.text == "Isk"
        assert answer.usage.calls == len(fake.log) == fake.bill.calls
        cited = {item.text.strip() for item in answer.evidence}
        assert cited == (set() if name in WITHOUT_READING else {quote for *_, quote in HOPS})
        if name in STEPWISE:
            assert [hop.answer for hop in answer.trail][:3] == [found for _, _, found, _ in HOPS]
            assert [hop.asked for hop in answer.trail][:3] == [asked for asked, *_ in HOPS]
        check_file(FOLDER / f"{name}.md", rendered(name, fake.log, fake.brain, answer))


def rendered(name: str, log: list[Asked], brain: Brain, answer: Answer) -> str:
    """A run as a page."""
    counts = Counter(task_of(asked.body) for asked in log)
    parts = [f"# {name}: {', '.join(f'{task} {count}' for task, count in counts.items())}\n"]
    for number, asked in enumerate(log, 1):
        given, said = asked.body["messages"][1]["content"], brain(asked.body)
        parts.append(f"## {number}. {task_of(asked.body)}\n\n{given}\n\n### reply\n\n{said}\n")
    parts.append("## trail\n")
    for number, hop in enumerate(answer.trail):
        parts.append(f"{number + 1}. {hop.question} | {hop.asked} | {hop.answer} ({hop.verdict})")
        parts += [f"    {item.title}: {item.text.strip()}" for item in answer.evidence if item.hop == number]
    return "\n".join([*parts, f"\nanswer: {answer.text}\n"])
