"""Get a reply in the required form from any model, on three rungs.

    the schema, as the server takes it  ->  the schema in the prompt  ->  plain text with checked quotes  ->  TaskFailed

The next rung is tried if the server refuses one, or if its reply is empty or cannot be used; the second one quotes an unusable
reply with its fault, and without an earlier rung is repaired once so. The rung that works is remembered per model. Remembered
replies are looked up on every rung before anything is sent, and the way depends on replies alone, so that a second run and a
replay take the same one and pay nothing. What did not fit is asked once more with other room.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Generic, TypeVar

from hoptrail.errors import EndpointUnreached, TaskFailed
from hoptrail.language.chat.context import Room
from hoptrail.language.chat.prompting import Draft, Drafter, load_prompt
from hoptrail.language.chat.replies import OutOfRoom, Repeated, read_reply
from hoptrail.language.chat.reply_parsing import InvalidReply, answer_so_far
from hoptrail.language.chat.schemas import ReplyForm, schema_of
from hoptrail.language.listener import ObservedLanguage
from hoptrail.models.billing import Chat
from hoptrail.models.chat import ChatReply, ChatRequest, ChatSettings, Message, Rung
from hoptrail.models.client import CallFailed, FailureKind
from hoptrail.models.prompt_text import estimated_tokens, start_of_loop
from hoptrail.types import Usage

R = TypeVar("R", bound=ReplyForm)

QUOTED = 2_000  # characters of an unusable reply that a repair quotes to the model
SAMPLING_TEMPERATURE = 0.3
"""The temperature of SUNAR's released code, with 10 draws. Its repetition penalties are not sent: few endpoints support them."""

_log = logging.getLogger(__name__)


class Ladder:
    """Asks `chat` for replies in a given form. Thread-safe. A reply with a `seed` is a sampled one. `room`: of a first draft."""

    def __init__(self, chat: Chat, settings: ChatSettings, *, fully_priced: bool = False) -> None:
        self.chat = chat
        self.settings = settings
        self.fully_priced = fully_priced
        self.room = Room(settings.context_window, settings.max_output_tokens)
        self._rungs = tuple(Rung) if settings.structured == "auto" else (Rung(settings.structured),)

    @property
    def working(self) -> Rung | None:
        return self._rungs[0] if len(self._rungs) == 1 else self.chat.working_rung

    def climb(self, task: str, draft: Drafter, form: type[R], seed: int | None = None) -> Climb[R]:
        """A reply to the draft that `draft` makes for a room.
        Raises: TaskFailed: no usable reply; has the reason and the cost. EndpointRefused, EndpointBusy, BudgetExhausted,
        RecordingError: see `Chat.ask`.
        """
        climb = Climb(self, task, form, seed, draft(self.room))
        try:
            try:
                return climb.up(self.room, self._rungs)
            except OutOfRoom as cramped:
                told = _log.warning if cramped.window or cramped.reasoned else _log.info
                room = _adjusted_room(self.room, climb.draft, cramped)
                try:
                    climb.draft = draft(room)
                except TaskFailed:
                    if cramped.kept is None:
                        raise
                    _log.warning("%s: %s; what it says completely is used", task, cramped)
                    climb.found = cramped.kept
                    return climb
                told("%s: %s; asked once more with other room", task, cramped)
                return climb.up(room, self._rungs[self._rungs.index(climb.rung) :], last=True)
        except (OutOfRoom, InvalidReply) as fault:
            kind, reason = TaskFailed, f"got no usable reply: {fault}"
        except CallFailed as failure:
            kind = EndpointUnreached if failure.kind is FailureKind.UNREACHED else TaskFailed
            reason = failure.reason
        raise kind(f"{task}: {self.chat.model} at {self.chat.place} {reason}", climb.usage)

    def fetch(self, task: str, draft: Drafter, form: type[ReplyForm], seeds: Sequence[int]) -> Usage:
        """Fetch the replies with these seeds for later `climb` calls, in one request if the endpoint can and the working rung is
        known. Returns the cost.
        Raises: TaskFailed: the prompt does not fit. EndpointRefused, EndpointBusy, BudgetExhausted: see `Chat.fetch`.
        """
        if self.working is None:
            return Usage()
        drafted = draft(self.room)
        spent = self.chat.fetch([self.request(task, drafted, self.working, self.room, form, seed) for seed in seeds])
        return Usage() if self.fully_priced else spent  # else counted with each reply

    def request(
        self, task: str, draft: Draft, rung: Rung, room: Room, form: type[ReplyForm], seed: int | None
    ) -> ChatRequest:
        schema = schema_of(form, limited=rung is Rung.SCHEMA, answered=draft.answered)
        messages = draft.plain if rung is Rung.PLAIN else draft.messages
        if rung is Rung.PROMPT:
            told = load_prompt("schema").fill({"schema": schema})[-1].text
            messages = (Message("system", f"{messages[0].text}\n\n{told}"), *messages[1:])
        temperature, writing = self.settings.temperature, ObservedLanguage.writing.get()
        return ChatRequest(
            *(self.chat.place, self.chat.model, task, messages, rung, schema),
            temperature if seed is None or temperature < 0 else SAMPLING_TEMPERATURE,
            *(room.output, draft.documents, seed),
            heard=writing and partial(_tell, writing),
        )


@dataclass
class Climb(Generic[R]):
    """The way to a usable reply: the draft that is asked, what that cost, the last rung and fault, an unusable reply to quote.
    `found` is the reply; None: the model declined.
    """

    ladder: Ladder
    task: str
    form: type[R]
    seed: int | None
    draft: Draft
    found: R | None = None
    usage: Usage = field(default_factory=Usage)
    rung: Rung = Rung.SCHEMA
    _fault: Exception | None = None
    _unusable: tuple[str, InvalidReply] | None = None

    def up(self, room: Room, rungs: Sequence[Rung], *, last: bool = False) -> Climb[R]:
        """Itself, with the reply of the first rung that gives one. A reply without enough room raises `OutOfRoom`, so that a
        second draft follows; in the `last` one its complete part is used, else plain text is asked for.
        """
        steps = [rung for rung in rungs if rung is not Rung.PLAIN or self.draft.plain]
        while steps:
            self.rung = steps.pop(0)
            request = self._request(room)
            said = self._asked(request)
            if said is None:
                continue
            try:
                self.found = read_reply(said, request, self.form)
            except OutOfRoom as cramped:
                if not last or (cramped.kept is None and (cramped.less or cramped.reasoned)):
                    raise
                self.found, self._fault = cramped.kept, cramped
                if cramped.kept is not None:
                    _log.warning("%s: %s; what it says completely is used", self.task, cramped)
                    return self
                steps = [one for one in steps if one is Rung.PLAIN]
            except InvalidReply as invalid:
                if self._is_repaired(said.text, invalid) and Rung.PROMPT not in steps:
                    steps.insert(0, self.rung)
            else:
                if self.ladder.working is None:
                    self.ladder.chat.working_rung = self.rung
                return self
        raise self._fault or InvalidReply("it has no reply in this form")

    def _request(self, room: Room) -> ChatRequest:
        """The request on this rung. It quotes an earlier unusable reply, if there is one, with its fault; not in plain text."""
        request = self.ladder.request(self.task, self.draft, self.rung, room, self.form, self.seed)
        if self._unusable is None or self.rung is Rung.PLAIN:
            return request
        said, fault = self._unusable
        said = said[: min(QUOTED, start_of_loop(said) or QUOTED)]
        plea = load_prompt("repair").fill({"error": str(fault)})[-1]
        return replace(request, messages=(*request.messages, Message("assistant", said), plea))

    def _is_repaired(self, said: str, fault: InvalidReply) -> bool:
        """Note an unusable reply. Whether the next request quotes it."""
        _log.info("%s: the reply on the rung %s cannot be used: %s", self.task, self.rung, fault)
        plain = self.rung is Rung.PLAIN
        self._fault = InvalidReply(f"{self._fault}; nor in plain text: {fault}") if plain and self._fault else fault
        if plain or self._unusable or isinstance(fault, Repeated) or not said:
            return False
        self._unusable = said, fault
        return True

    def _asked(self, request: ChatRequest) -> ChatReply | None:
        """The reply, only a remembered one if a lower rung is the one that works; None if there is none, or the rung is refused.
        Raises: CallFailed: see `Chat.ask`.
        """
        order, working = list(Rung), self.ladder.working
        passed = working is not None and order.index(self.rung) < order.index(working)
        try:
            paid = (self.ladder.chat.remembered if passed else self.ladder.chat.ask)(request)
        except CallFailed as refused:
            if refused.kind is not FailureKind.FORMAT or self.rung is not Rung.SCHEMA:
                raise
            _log.info("%s: the rung %s is refused: %s", self.task, self.rung, refused.reason)
            self._fault = InvalidReply(f"{refused.reason}. Check the model and the server with `hoptrail doctor`")
            return None
        if paid is None:
            return None
        self.usage += paid.reply.usage if self.ladder.fully_priced else paid.spent
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
