"""Measures the cost of a question by chat: calls and tokens of every recipe and paper preset, as billed by a counting server.

    python -m benchmarks.chat_costs [--data musique_train] [--questions N] [--corpus M] [--recipes A,B]

The first N questions are asked over the candidates of the first M. Decisions are the oracle's, so that every recipe takes the
hops that a good model would. Each task is also sent over HTTP, and the server's model replies with the oracle's decision
in the requested form, with reasons and quotes of a typical length. So prompts and calls are real, and replies have a typical
size. The server returns several replies per call (`n`). Indexing is not counted: rules make the structures.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, TypeVar

from benchmarks.common import ROOT, data_folder, parser, part_of, print_table, write_results

sys.path.insert(0, str(ROOT / "tests"))

from fakeai.server import Body, FakeAI, serving
from hoptrail import Index
from hoptrail.evaluation.datasets import Dataset, load_dataset
from hoptrail.evaluation.question_run import Asking, PerQuestion
from hoptrail.evaluation.retrieval_measures import Showing
from hoptrail.evaluation.runner import corpus_ids_by_document, index_corpus
from hoptrail.index.indexing import Watcher
from hoptrail.language import tasks
from hoptrail.recipes.catalogue import presets_of
from hoptrail.recipes.registry import recipe_names
from hoptrail_papers.oracle import OracleLanguage

T = TypeVar("T")
OF_PAPERS = ("paper", "poster")
"""Name of the presets with a paper's settings."""
WHY = "The passages say so in the sentence that is quoted, and nothing else in them says otherwise."
QUOTE = "It was designed by the engineer whose first two drawings had been refused by the board as too slender for the swell."


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one recipe: means over the questions, and the maximum of one question."""

    recipe: str
    questions: int
    calls: float
    prompt_tokens: float
    completion_tokens: float
    most_calls: int
    most_tokens: int


class Priced(OracleLanguage):
    """The oracle, which also sends each task to `chat`; `brain` is told what to reply."""

    def __init__(self, chat: tasks.Language, brain: Echo) -> None:
        super().__init__()
        self._chat = chat
        self._brain = brain

    def perform(self, task: tasks.Task[T]) -> tasks.Reply[T]:
        """Perform a task: the oracle's output, at the price of the model's reply."""
        value = super().perform(task).value
        self._brain.reply = _in_words(task, value)
        return tasks.Reply(value, self._chat.perform(task).usage)


@dataclass
class Echo:
    """A model that gives prepared replies."""

    reply: str = "{}"

    def __call__(self, _: Body) -> str:
        return self.reply


def _in_words(task: object, value: object) -> str:
    """A reply equivalent to `value`, with every field that some prompt for the task may require."""
    content: dict[str, Any] = {"reasoning": WHY, "reason": WHY, "plan": WHY}
    content |= {"missing": "nothing", "difference": "nothing"}
    match value:
        case tasks.Decomposition(questions=questions):
            content = {"plan" if isinstance(task, tasks.Decompose) and not task.one_at_a_time else "missing": WHY}
            content["questions"] = list(questions)
        case tasks.Reading(answer=answer) if isinstance(task, tasks.Integrate) and not task.evidence:
            content = {"reasoning": WHY, "answer": answer, "confidence": "high"}
        case tasks.Reading(answer=answer):
            step = {"question": getattr(task, "question", ""), "evidence": [1], "quote": QUOTE, "answer": answer}
            content = {"steps": [step] if answer else [], "answer": answer, "confidence": "high"}
        case tasks.Samples(answers=answers):
            content = {"reasoning": WHY, "answer": answers[0] or "nobody knows"}
        case float() if isinstance(task, tasks.Assess | tasks.Verify):
            content = {"missing": "nothing", "enough": "yes" if value > 0.5 else "no"}
            if isinstance(task, tasks.Verify):
                content = {"reason": WHY, "supports": "yes" if value > 0.5 else "no"}
        case bool() if isinstance(task, tasks.Equate):
            content = {"difference": "nothing", "same": "yes" if value else "no"}
        case str():
            content = {"question": value, "summary": value}
    return json.dumps(content)


def small_data(name: str, limit: int, corpus_of: int, folder: Path) -> Dataset:
    """The first `limit` questions of a data set, over the passages of the first `corpus_of`."""
    whole = load_dataset(data_folder(name))
    passages = {passage for one in whole.questions[:corpus_of] for passage in (*one.candidates, *one.supporting)}
    return part_of(whole, whole.questions[: min(limit, corpus_of)], passages, folder / name)


def costs(dataset: Dataset, recipes: list[str], fake: FakeAI, echo: Echo, work: Path) -> Iterator[Cost]:
    os.environ |= {"OPENAI_BASE_URL": fake.address, "HOPTRAIL_MODEL": "counted"}
    index = Index(work)
    index_corpus(dataset, [name.partition(":")[0] for name in recipes] + recipes, index, Watcher())
    for name in recipes:
        chat = index.language("chat", fully_priced=True)
        opened: Callable[[], tasks.Language] = lambda chat=chat: Priced(chat, echo)  # type: ignore[misc] # noqa: E731
        performers = PerQuestion(OracleLanguage.name, opened)
        recipe = index.recipe(name, performers)
        names = corpus_ids_by_document(recipe.corpus.snapshot, dataset)
        asking = Asking(recipe, performers, dataset, Showing(recipe.corpus, names), retrieval_only=False)
        results = [asking.ask(question)[0] for question in dataset.questions]
        for failed in (result for result in results if result.error):
            print(name, failed.question, failed.error, file=sys.stderr)
        calls, tokens = [result.calls for result in results], [result.tokens for result in results]
        completion = fmean(result.completion_tokens for result in results)
        prompt = fmean(tokens) - completion
        yield Cost(name, len(results), fmean(calls), prompt, completion, max(calls), max(tokens))


def _recipes(named: str) -> list[str]:
    found = [] if not named else named.split(",")
    for name in recipe_names() if not named else ():
        found += [name, *(f"{name}:{preset}" for preset in presets_of(name) if preset in OF_PAPERS)]
    return found


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--data", default="musique_train")
    arguments.add_argument("--questions", type=int, default=10, metavar="N")
    arguments.add_argument(
        "--corpus", type=int, default=30, metavar="M", help="number of questions whose passages are searched"
    )
    arguments.add_argument("--recipes", default="", help="default: all, with the presets of their papers")
    options = arguments.parse_args()
    echo = Echo()
    measured = []
    with tempfile.TemporaryDirectory() as folder, serving(FakeAI(echo, several=True)) as fake:
        dataset = small_data(options.data, options.questions, options.corpus, Path(folder))
        for cost in costs(dataset, _recipes(options.recipes), fake, echo, Path(folder) / "index"):
            measured.append(cost)
            print(cost, flush=True)
    shown = ("recipe", "calls", "most_calls", "prompt_tokens", "completion_tokens", "most_tokens")
    rows = [[getattr(one, name) for name in shown] for one in measured]
    print_table([name.replace("_", " ") for name in shown], rows)
    write_results(options.out, measured)


if __name__ == "__main__":
    main()
