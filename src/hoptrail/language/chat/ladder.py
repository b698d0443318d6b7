"""Get a reply in the required form from any model, on three rungs.

    the schema, as the server takes it  ->  the schema in the prompt  ->  plain text with checked quotes  ->  TaskFailed

The next rung is tried if the server refuses one, or if its reply is empty or cannot be used; the second one quotes an unusable
reply with its fault, and without an earlier rung is repaired once so. The rung that works is remembered per model, until
`hoptrail doctor` finds another. Remembered replies are looked up on every rung before anything is sent, and the way depends on
replies alone, so that a second run and a replay take the same one and pay nothing. A prompt that does not fit is drafted once
more with less evidence, and a reply that lacked room is requested once more with more.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Generic, TypeVar, cast

from pydantic import BaseModel

from hoptrail.errors import EndpointUnreached, TaskFailed
from hoptrail.language.chat.context import Room
from hoptrail.language.chat.prompting import Draft, Drafted, load_prompt
from hoptrail.language.chat.replies import OutOfRoom, Repeated, read_reply, scales_of
from hoptrail.language.chat.reply_parsing import InvalidReply, answer_so_far
from hoptrail.language.chat.schemas import schema_of
from hoptrail.language.listener import ObservedLanguage
from hoptrail.models.billing import Chat
from hoptrail.models.chat import ChatRequest, ChatSettings, Message, Rung
from hoptrail.models.completion import ChatReply
from hoptrail.models.failures import CallFailed, FailureKind
from hoptrail.models.prompt_text import estimated_tokens, start_of_loop
from hoptrail.types import Usage

R = TypeVar("R", bound=BaseModel)

QUOTED = 2_000
"""Characters of an unusable reply that a repair quotes to the model."""
SAMPLING_TEMPERATURE = 0.3
"""The temperature of SUNAR's released code, with 10 draws. Its repetition penalties are not sent: few endpoints support them."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Climbed(Generic[R]):
    """A usable reply (None: the model declined), the draft that it answers, and its cost."""

    reply: R | None
    draft: Draft
    usage: Usage


class Ladder:
    """Asks `chat` for replies in a given form. Thread-safe. A reply with a `seed` is a sampled one."""

    def __init__(self, chat: Chat, settings: ChatSettings, *, fully_priced: bool = False) -> None:
        self.chat = chat
        self.settings = settings
        self.fully_priced = fully_priced
        self._rungs = tuple(Rung) if settings.structured == "auto" else (Rung(settings.structured),)

    @property
    def room(self) -> Room:
        """The room of a first draft."""
        return Room(self.settings.context_window, self.settings.max_output_tokens)

    @property
    def working(self) -> Rung | None:
        """The rung that works, if it is known."""
        return self._rungs[0] if len(self._rungs) == 1 else self.chat.working_rung

    def climb(self, task: str, draft: Drafted, reply: type[R], seed: int | None = None) -> Climbed[R]:
        """A reply to the draft that `draft` makes for a room.
        Raises: TaskFailed: no usable reply; has the reason and the cost. EndpointRefused, EndpointBusy, BudgetExhausted,
        RecordingError: see `Chat.ask`.
        """
        climb = _Climb(self, task, reply, seed)
        try:
            drafted = draft(self.room)
            try:
                return Climbed(climb.reply(drafted, self.room, self._rungs), drafted, climb.usage)
            except OutOfRoom as cramped:
                told = _log.warning if cramped.window or cramped.reasoned else _log.info
                told("%s: %s; asked once more with other room", task, cramped)
                room = _adjusted_room(self.room, drafted, cramped)
                drafted = draft(room)
                left = self._rungs[self._rungs.index(climb.rung) :]
                return Climbed(climb.reply(drafted, room, left, last=True), drafted, climb.usage)
        except (OutOfRoom, InvalidReply) as fault:
            kind, reason = TaskFailed, f"got no usable reply: {fault}"
        except CallFailed as failure:
            kind = EndpointUnreached if failure.kind is FailureKind.UNREACHED else TaskFailed
            reason = failure.reason
        raise kind(f"{task}: {self.chat.model} at {self.chat.place} {reason}", climb.usage)

    def fetch(self, task: str, draft: Drafted, reply: type[R], seeds: Sequence[int]) -> Usage:
        """Fetch the replies with these seeds for later `climb` calls, in one request if the endpoint can and the working rung is
        known. Returns the cost.
        Raises: TaskFailed: the prompt does not fit. EndpointRefused, EndpointBusy, BudgetExhausted: see `Chat.fetch`.
        """
        if self.working is None:
            return Usage()
        drafted = draft(self.room)
        requests = [self.request(task, drafted, self.working, self.room, reply, seed) for seed in seeds]
        spent = self.chat.fetch(requests)
        return Usage() if self.fully_priced else spent  # else counted with each reply

    def request(
        self, task: str, draft: Draft, rung: Rung, room: Room, reply: type[BaseModel], seed: int | None = None
    ) -> ChatRequest:
        """The request for a draft on a rung."""
        schema = schema_of(reply, limited=rung is Rung.SCHEMA)
        messages = draft.plain if rung is Rung.PLAIN else draft.messages
        if rung is Rung.PROMPT:
            form = load_prompt("schema", self.settings.prompts).fill({"schema": schema})[-1].text
            messages = (Message("system", f"{messages[0].text}\n\n{form}"), *messages[1:])
        temperature, writing = self.settings.temperature, ObservedLanguage.writing.get()
        return ChatRequest(
            *(self.chat.place, self.chat.model, task, messages, rung, schema),
            temperature if seed is None or temperature < 0 else SAMPLING_TEMPERATURE,
            *(room.output, draft.documents, seed),
            logprobs=bool(scales_of(reply)),
            heard=writing and partial(_tell, writing),
        )


@dataclass
class _Climb(Generic[R]):
    """The requests of one task, what they cost, the last rung and fault, and an unusable reply to quote."""

    _ladder: Ladder
    _task: str
    _form: type[R]
    _seed: int | None
    usage: Usage = field(default_factory=Usage)
    rung: Rung = Rung.SCHEMA
    _fault: Exception | None = None
    _unusable: tuple[str, InvalidReply] | None = None

    def reply(self, draft: Draft, room: Room, rungs: Sequence[Rung], *, last: bool = False) -> R | None:
        """The reply of the first rung that gives one. A reply without enough room raises `OutOfRoom`, so that a second draft
        follows; in the `last` one its complete part is used, else plain text is asked for.
        """
        steps = [rung for rung in rungs if rung is not Rung.PLAIN or draft.plain]
        while steps:
            self.rung = steps.pop(0)
            request = self._repair(self._ladder.request(self._task, draft, self.rung, room, self._form, self._seed))
            said = self._asked(request)
            if said is None:
                continue
            try:
                found = read_reply(said, request, self._form)
            except OutOfRoom as cramped:
                if not last or (cramped.kept is None and (cramped.less or cramped.reasoned)):
                    raise
                if cramped.kept is not None:
                    _log.warning("%s: %s; what it says completely is used", self._task, cramped)
                    return cast("R", cramped.kept)
                self._fault, steps = cramped, [one for one in steps if one is Rung.PLAIN]
            except InvalidReply as invalid:
                if self._is_repaired(said.text, invalid) and Rung.PROMPT not in steps:
                    steps.insert(0, self.rung)
            else:
                if self._ladder.working is None:
                    self._ladder.chat.remember_rung(self.rung)
                return found
        raise self._fault or InvalidReply("it has no reply in this form")

    def _repair(self, request: ChatRequest) -> ChatRequest:
        """The request that quotes an earlier unusable reply, if there is one, with its fault; not in plain text."""
        if self._unusable is None or request.rung is Rung.PLAIN:
            return request
        said, fault = self._unusable
        said = said[: min(QUOTED, start_of_loop(said) or QUOTED)]
        plea = load_prompt("repair", self._ladder.settings.prompts).fill({"error": str(fault)})[-1]
        return replace(request, messages=(*request.messages, Message("assistant", said), plea))

    def _is_repaired(self, said: str, fault: InvalidReply) -> bool:
        """Note an unusable reply. Whether the next request quotes it."""
        _log.info("%s: the reply on the rung %s cannot be used: %s", self._task, self.rung, fault)
        if self.rung is Rung.PLAIN and self._fault:
            fault = InvalidReply(f"{self._fault}; nor in plain text: {fault}")
        self._fault = fault
        if self.rung is Rung.PLAIN or self._unusable or isinstance(fault, Repeated) or not said:
            return False
        self._unusable = said, fault
        return True

    def _asked(self, request: ChatRequest) -> ChatReply | None:
        """The reply, remembered, or requested unless a lower rung is the one that works; None if it is refused or not requested.
        Raises: CallFailed: see `Chat.ask`.
        """
        paid = self._ladder.chat.remembered(request)
        if paid is None:
            working, order = self._ladder.working, list(Rung)
            if working is not None and order.index(request.rung) < order.index(working):
                return None
            try:
                paid = self._ladder.chat.ask(request)
            except CallFailed as refused:
                if refused.kind is not FailureKind.FORMAT or request.rung is not Rung.SCHEMA:
                    raise
                _log.info("%s: the rung %s is refused: %s", self._task, request.rung, refused.reason)
                self._fault = InvalidReply(f"{refused.reason}. Check the model and the server with `hoptrail doctor`")
                return None
        self.usage += paid.reply.usage if self._ladder.fully_priced else paid.spent
        return paid.reply


def _tell(writing: Callable[[str], None], text: str) -> None:
    """Tell the answer in the text so far. The reply is paid, so that no fault of who listens may lose it."""
    try:
        writing(answer_so_far(text))
    except Exception:  # noqa: BLE001 - whatever it is
        _log.exception("an answer cannot be shown while it is written")


def _adjusted_room(room: Room, draft: Draft, cramped: OutOfRoom) -> Room:
    """Half the evidence if the prompt did not fit, else twice the room for the reply, up to half the window; all of that half
    for a model that reasons. If the server cut the prompt, its window.
    """
    if cramped.window:
        output = min(room.output, cramped.window // 2)
        return Room(min(room.tokens, cramped.window + output), output)
    output = min(room.output * (room.tokens if cramped.reasoned else 2), room.tokens // 2)
    if cramped.less or output <= room.output:
        return replace(room, evidence=sum(estimated_tokens(unit.searchable) for unit in draft.units) // 2)
    return replace(room, output=output)
