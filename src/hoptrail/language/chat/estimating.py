"""Estimate the cost of a chat model before spending anything.

Asking: an interval for the mean of many questions. At the low end the model answers briefly at the first try from few passages.
At the high end it fills every evidence budget, takes half of the permitted hops, and repairs a tenth of the replies.

Indexing is rehearsed: every prompt is drafted as it would be sent, but rules reply and nothing is sent. Replies that are already
paid for count nothing. Repairs are not counted: a model whose first replies are unusable costs more.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import TypeVar

from hoptrail.language.chat import schemas
from hoptrail.language.chat.context import MARGIN
from hoptrail.language.chat.performer import ChatLanguage
from hoptrail.language.tasks import Effort, Language, Reply, Summarise, Task
from hoptrail.models.billing import Chat, PaidReply
from hoptrail.models.chat import ChatReply, ChatRequest, ChatSettings
from hoptrail.models.ledger import Cost, cost_of
from hoptrail.models.prompt_text import estimated_tokens
from hoptrail.types import Extraction

T = TypeVar("T")

PROMPT_TOKENS = (280, 800)  # range for a prompt without evidence, but with its schema, over the tasks of asking
REPLY_TOKENS = (15, 250)  # range for a reply of these tasks
EVIDENCE_SHARE = (0.25, 1.1)
"""Range for the used share of the evidence budget: some recipes begin with few passages, and tokenisers differ."""
MOST_SHARE = 0.5  # where the mean of many questions lies between the fewest tasks (0) and the most (1)
REPAIRED = 1.1  # the most calls for a task: hardly one reply in ten has to be repaired


@dataclass(frozen=True, slots=True)
class Estimate:
    """The least and the most that something may cost: pairs of calls and of their cost."""

    calls: tuple[float, float]
    costs: tuple[Cost, Cost]

    def __str__(self) -> str:
        least, most = self.costs
        counts = (
            (self.calls, "calls"),
            ((least.prompt_tokens, most.prompt_tokens), "prompt tokens"),
            ((least.completion_tokens, most.completion_tokens), "completion tokens"),
        )
        tokens = ", ".join(f"{low:,.0f} to {high:,.0f} {what}" for (low, high), what in counts)
        if least.money is None or most.money is None:
            return f"{tokens}; in money unknown, because prompt_price and completion_price under [chat] are not set"
        free = " (the prices are set to 0)" if most.money == 0 else ""
        return f"{tokens}; {least.money:,.6g} to {most.money:,.6g} in money{free}"


def estimate_asking(questions: int, settings: ChatSettings, *, evidence_tokens: int, effort: Effort) -> Estimate:
    """The cost of `questions` questions of some `effort` that read up to `evidence_tokens` at a time."""
    evidence = min(evidence_tokens, settings.context_window * MARGIN)
    reads, others = effort.readings[0], effort.plans[0] + effort.others[0]
    most_reads, *most_others = (low + (high - low) * MOST_SHARE for low, high in astuple(effort))
    calls = questions * (reads + others), questions * (most_reads + sum(most_others)) * REPAIRED + 3
    prompts = (
        calls[0] * PROMPT_TOKENS[0] + questions * reads * evidence * EVIDENCE_SHARE[0],
        calls[1] * PROMPT_TOKENS[1] + questions * most_reads * evidence * EVIDENCE_SHARE[1] * REPAIRED,
    )
    replies = calls[0] * REPLY_TOKENS[0], calls[1] * min(REPLY_TOKENS[1], settings.max_output_tokens)
    least, most = (cost_of(round(asked), round(said), settings) for asked, said in zip(prompts, replies, strict=True))
    return Estimate(calls, (least, most))


class RehearsedChat(Chat):
    """`chat` with `text` in place of each reply that would cost money, for the prompts of its working rung."""

    def __init__(self, chat: Chat, text: str) -> None:
        super().__init__(chat.place, chat.model)
        self.working_rung = chat.working_rung
        self._chat = chat
        self._text = text

    def remembered(self, request: ChatRequest) -> PaidReply | None:
        return self._chat.remembered(request)

    def ask(self, request: ChatRequest) -> PaidReply:
        """A remembered reply, or the text, counted as if the model had written it."""
        reply = ChatReply(self._text, "stop", request.prompt_tokens, estimated_tokens(self._text), estimated=True)
        return self.remembered(request) or PaidReply(reply, reply.usage)


class RehearsalLanguage:
    """Performs the tasks of indexing through the prompts of `chat` with replies by `rules`, other tasks by `rules` alone.
    `name` is the model's, because a rehearsal continues the model's own results.
    """

    def __init__(self, chat: Chat, settings: ChatSettings, rules: Language) -> None:
        self._chat = chat
        self._settings = settings
        self._rules = rules
        self.name = ChatLanguage(chat, settings).name

    def perform(self, task: Task[T]) -> Reply[T]:
        """Perform one task; its usage is what the model would cost. Raises: TaskFailed: the prompt does not fit."""
        by_rules = self._rules.perform(task)
        text = _as_reply(by_rules.value, task)
        if text is None:
            return by_rules
        return ChatLanguage(RehearsedChat(self._chat, text), self._settings).perform(task)


def _as_reply(value: object, task: object) -> str | None:
    """The model's reply for this output, if the task is one of indexing."""
    if isinstance(value, Extraction):
        entities = [schemas.EntityReply(name=name, type="thing") for name in value.entities]
        facts = [
            schemas.FactReply(text=fact.text, entities=list(fact.entities), sentence=[number])
            for number, fact in enumerate(value.facts, 1)
        ]
        return schemas.ExtractReply(entities=entities, facts=facts).model_dump_json()
    if isinstance(task, Summarise):
        return schemas.SummariseReply(summary=str(value)).model_dump_json()
    return None
