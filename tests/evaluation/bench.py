"""A tiny data set with values worked out by hand, and runs over it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hoptrail import Index, Settings
from hoptrail.evaluation.datasets import load_dataset
from hoptrail.evaluation.reports import EvaluationReport
from hoptrail.evaluation.run_folder import Run, open_run
from hoptrail.evaluation.runner import evaluate
from hoptrail.index.indexing import Watcher
from hoptrail.recipes.registry import recipe_names
from world import Counting

WriteLines = Callable[[str, Iterable[object]], Path]
"""Writes objects to a file of this name."""

CORPUS = [
    {"id": "a", "title": "Orla Finch", "text": "Orla Finch was born in Wrenmouth."},
    {"id": "b", "title": "Wrenmouth", "text": "The river Isk flows through Wrenmouth."},
    {"id": "b2", "title": "Wrenmouth", "text": "The river Isk flows through Wrenmouth."},
    {"id": "c", "title": "Dunmere", "text": "Dunmere is a port."},
]
QUESTIONS: list[dict[str, Any]] = [
    {"id": "q1", "question": "Orla Finch?", "answers": ["Isk"], "supporting": ["a", "b"]},
    {"id": "q2", "question": "Isk?", "answers": ["Isk"], "supporting": ["b2"]},
    {"id": "q3", "question": "Zeppelin?", "answers": ["one"], "supporting": ["c"]},
    {"id": "q4", "question": "Dunmere?", "answers": ["port"]},
]
REPLIES = [
    {"task": "answer", "reply": {"answer": "Isk"}, "prompt_tokens": 10, "completion_tokens": 2},
    {"task": "answer", "reply": {"answer": "the river Isk"}, "prompt_tokens": 20, "completion_tokens": 3},
    {"task": "answer", "reply": {"answer": None}},
    {"task": "answer", "fail": "overloaded"},
]


@dataclass
class Bench:
    """A data folder, a work folder, and evaluations over them, by default with the recipe bm25."""

    folder: Path
    settings: Settings = field(default_factory=Settings)
    encoder: Counting = field(default_factory=Counting)

    @property
    def data(self) -> Path:
        return self.folder / "tiny"

    @property
    def work(self) -> Path:
        return self.folder / "work"

    def write(self, name: str, rows: Sequence[object]) -> Path:
        path = self.data / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    def run(self, *recipes: str, replies: Sequence[object] | None = REPLIES, **more: Any) -> EvaluationReport:
        """Evaluate recipes. `replies` are those of a scripted language, None for the offline language."""
        unscripted = more.pop("language", "offline")
        language = unscripted if replies is None else f"scripted:{self.write('script.jsonl', replies)}"
        index = Index(self.work / "index", self.settings)
        index.encoder = self.encoder
        dataset = load_dataset(self.data, more.pop("questions", None), more.pop("limit", None))
        watcher = more.pop("watcher", Watcher())
        return evaluate(dataset, recipes or ("bm25",), index, self.work, language, watcher, **more)

    def result(self, *recipes: str, **more: Any) -> dict[str, Any]:
        """The report of a single recipe."""
        (result,) = self.run(*recipes, **more).to_json()["recipes"].values()
        assert isinstance(result, dict)
        return result

    def only_run(self) -> Run:
        """The run, if there has been one."""
        (folder,) = (self.work / "runs").iterdir()
        return open_run(folder)

    def stored_results(self, recipe: str = "bm25") -> list[dict[str, Any]]:
        """Every result ever stored for a recipe."""
        path = self.work / "results" / f"tiny-{recipe}.jsonl"
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def stopping_after(questions: int) -> Watcher:
    """A watcher that stops after a number of questions, when the corpus is already indexed."""
    asked: list[str] = []
    return Watcher(
        lambda what, *_: asked.append(what) if what in recipe_names() else None, lambda: len(asked) >= questions
    )
