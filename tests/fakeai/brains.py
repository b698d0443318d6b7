"""What the server's model says when it behaves: from a script by task, or at random."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from fakeai.server import Body, Brain, FakeAI
from hoptrail.language.chat.prompting import known_prompts, load_prompt

PROMPTS = tuple(load_prompt(name) for name in known_prompts() if name not in {"repair", "schema"})


def task_of(body: Body) -> str:
    """The prompt that a request was made from, by its instructions or its short form."""
    said = body["messages"][0]["content"]
    return next(
        prompt.name
        for prompt in PROMPTS
        if said.startswith(prompt.instructions) or (prompt.short and said.startswith(prompt.short))
    )


def asked_of(fake: FakeAI) -> dict[str, set[str]]:
    """The tasks by the model that was asked."""
    asked: dict[str, set[str]] = {}
    for one in fake.log:
        asked.setdefault(one.body["model"], set()).add(task_of(one.body))
    return asked


def by_task(replies: Mapping[str, Any]) -> Brain:
    """A model that has one reply a prompt, whatever is asked."""
    return lambda body: json.dumps(replies[task_of(body)], ensure_ascii=False)


def in_order(replies: Iterable[tuple[str, Any]]) -> Brain:
    """A model that gives each prompt's replies in order, the last for ever."""
    queues: defaultdict[str, deque[Any]] = defaultdict(deque)
    for task, reply in replies:
        queues[task].append(reply)

    def brain(body: Body) -> str:
        queue = queues[task_of(body)]
        return json.dumps(queue.popleft() if len(queue) > 1 else queue[0], ensure_ascii=False)

    return brain


class RandomModel:
    """A recurrent network of random weights that writes until it likes its last symbol: a peer whose words mean nothing.

    Its vocabulary is full of brackets, quotes and the fields' names, so that its garbage often is nearly a reply. The same
    prompt gives the same words.
    """

    VOCABULARY = (
        *(
            "{",
            "}",
            "[",
            "]",
            ":",
            ",",
            '"',
            "'",
            "\\",
            "\n",
            " ",
            "`",
            "<",
            ">",
            "/",
            "$",
            "#1",
            "-",
            ".",
            "\u202e",
            "\x00",
        ),
        *("true", "false", "null", "NaN", "Infinity", "1", "0.5", "-7", "1e999", "```json", "<think>", "</think>"),
        *('"answer"', '"steps"', '"questions"', '"entities"', '"facts"', '"summary"', '"enough"', '"confidence"'),
        *(
            '{"answer": ',
            '{"questions": ["',
            '"]}',
            '"}',
            '{"enough": "yes',
            '{"summary": "',
            "Isk",
            "日本",
            "é",
            "I'm sorry",
        ),
        *(
            '{"question": "',
            '{"entities": [], "facts": [',
            '"evidence": [99]',
            "<|eot|>",
            "[TOOL_CALLS]",
            "the",
            "river",
        ),
        "",
    )

    def __init__(self, seed: int, size: int = 48) -> None:
        random = np.random.default_rng(seed)
        count = len(self.VOCABULARY)
        self._seed = seed
        self._inputs = random.normal(0, 1, (count, size))
        self._inner = random.normal(0, 1.2 / np.sqrt(size), (size, size))
        self._outputs = random.normal(0, 1.2, (size, count))

    def __call__(self, body: Body) -> str:
        prompt = json.dumps(body["messages"]) + json.dumps(body.get("response_format"))
        digest = hashlib.sha256(f"{self._seed}{prompt}".encode()).digest()
        random = np.random.default_rng(int.from_bytes(digest[:8], "big"))
        state = random.normal(0, 1, len(self._inner))
        words: list[str] = []
        for _ in range(min(body.get("max_tokens", 200), 120)):
            scores = state @ self._outputs / 4
            chances = np.exp(scores - scores.max())
            word = int(random.choice(len(self.VOCABULARY), p=chances / chances.sum()))
            if not self.VOCABULARY[word]:
                break
            words.append(self.VOCABULARY[word])
            state = np.tanh(state @ self._inner + self._inputs[word])
        return "".join(words)
