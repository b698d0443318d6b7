"""Rehearse indexing to estimate its cost: draft every prompt as it would be sent, but let rules reply and send nothing.

A rehearsal counts what indexing with the model would cost if the rules wrote as much as the model. Replies that are already paid
for count nothing. Repairs are not counted: a model whose first replies are unusable costs more.
"""

from __future__ import annotations

import threading
from typing import TypeVar

from hoptrail.language.chat import schemas
from hoptrail.language.chat.performer import ChatLanguage
from hoptrail.language.tasks import Extract, Language, Reply, Summarise, Task
from hoptrail.models.billing import Chat, PaidReply
from hoptrail.models.chat import ChatRequest, ChatSettings, Rung
from hoptrail.models.completion import ChatReply
from hoptrail.models.prompt_text import estimated_tokens
from hoptrail.types import Extraction, Usage

T = TypeVar("T")


class RehearsedChat(Chat):
    """`chat` with a prepared reply in place of each that would cost money, for the prompts of its working rung."""

    def __init__(self, chat: Chat) -> None:
        super().__init__(chat.place, chat.model)
        self._chat = chat
        self.ready = threading.local()

    @property
    def working_rung(self) -> Rung | None:
        return self._chat.working_rung

    def remembered(self, request: ChatRequest) -> PaidReply | None:
        return self._chat.remembered(request)

    def ask(self, request: ChatRequest) -> PaidReply:
        """The prepared reply, counted as if the model had written it."""
        text: str = self.ready.text
        prompt, completion = request.prompt_tokens, estimated_tokens(text)
        return PaidReply(ChatReply(text, "stop", prompt, completion, estimated=True), Usage(1, prompt, completion))


class RehearsalLanguage:
    """Performs the tasks of indexing through the prompts of `chat` with replies by `rules`, other tasks by `rules` alone."""

    def __init__(self, chat: Chat, settings: ChatSettings, rules: Language) -> None:
        self._chat = RehearsedChat(chat)
        self._drafting = ChatLanguage(self._chat, settings)
        self._rules = rules

    @property
    def name(self) -> str:
        """The model's name, because a rehearsal continues the model's own results."""
        return self._drafting.name

    def perform(self, task: Task[T]) -> Reply[T]:
        """Perform one task; its usage is what the model would cost. Raises: TaskFailed: the prompt does not fit."""
        by_rules = self._rules.perform(task)
        text = _as_reply(task, by_rules.value)
        if text is None:
            return by_rules
        self._chat.ready.text = text
        return self._drafting.perform(task)


def _as_reply(task: object, value: object) -> str | None:
    """The model's reply for this output, if the task is one of indexing."""
    if isinstance(task, Extract) and isinstance(value, Extraction):
        entities = [schemas.EntityReply(name=name, type="thing") for name in value.entities]
        facts = [
            schemas.FactReply(text=fact.text, entities=list(fact.entities), sentence=[number])
            for number, fact in enumerate(value.facts, 1)
        ]
        return schemas.ExtractReply(entities=entities, facts=facts).model_dump_json()
    if isinstance(task, Summarise) and isinstance(value, str):
        return schemas.SummariseReply(summary=value).model_dump_json()
    return None
