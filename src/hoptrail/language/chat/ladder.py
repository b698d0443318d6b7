"""Get a reply in the required form from any model: try rung by rung, repair once, change the room once.

    JSON schema  ->  JSON mode with a schema  ->  a function's arguments  ->  JSON mode  ->  schema in the prompt
        ->  one repair that quotes the error  ->  plain text  ->  TaskFailed

The next rung is tried if the endpoint refuses one, or if a rung that never worked gives nonsense or nothing. The working rung is
remembered per model. A lower one replaces it only after many refusals in a row, because a server may refuse a single prompt for
what its model made of it. Remembered replies are looked up on every rung before anything is sent, so that a second run takes the
same path and pays nothing. A prompt that does not fit is drafted once more with less evidence, and a reply that lacked room is
requested once more with more. Without any JSON, a few words in plain text are asked for; the remembered rung does not change.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar, cast

from pydantic import BaseModel

from hoptrail.errors import EndpointUnreached, TaskFailed
from hoptrail.language.chat.context import Room
from hoptrail.language.chat.prompting import load_prompt
from hoptrail.language.chat.replies import OutOfRoom, Repeated, Silent, read_reply, scales_of
from hoptrail.language.chat.reply_parsing import InvalidReply
from hoptrail.language.chat.schemas import limited_schema_of, schema_of
from hoptrail.models.billing import Chat
from hoptrail.models.chat import ChatRequest, ChatSettings, Message, Rung
from hoptrail.models.completion import ChatReply
from hoptrail.models.failures import CallFailed, FailureKind
from hoptrail.models.prompt_text import estimated_tokens
from hoptrail.models.repetition import start_of_loop
from hoptrail.types import Unit, Usage

R = TypeVar("R", bound=BaseModel)

QUOTED = 2_000
"""Characters of an unusable reply that the repair quotes to the model."""

QUOTED_REFUSAL = 200
"""Characters of a server's refusal that a failure's reason quotes."""

REFUSALS = 10
"""Distinct requests in a row that a rung must refuse before it is given up after it worked. They cost time, but no money."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Draft:
    """A prompt ready to send, the units it shows in the order of their numbers, the documents that its words come from by way of
    earlier replies (`origins`), and the same prompt for a plain-text reply (may be empty).
    """

    messages: tuple[Message, ...]
    units: tuple[Unit, ...] = ()
    origins: tuple[str, ...] = ()
    plain: tuple[Message, ...] = ()

    @property
    def documents(self) -> tuple[str, ...]:
        """Every document whose text, or text made from it, is in the prompt."""
        shown = (span.document for unit in self.units for span in unit.sources)
        return tuple(dict.fromkeys((*shown, *self.origins)))


@dataclass(frozen=True, slots=True)
class Draw:
    """A sampled reply: its seed and temperature (not sent if the settings send none)."""

    seed: int
    temperature: float


@dataclass(frozen=True, slots=True)
class Climbed(Generic[R]):
    """A usable reply (None: the model declined), the draft that it answers, and its cost."""

    reply: R | None
    draft: Draft
    usage: Usage


class Ladder:
    """Asks `chat` for replies in a given form. Thread-safe."""

    def __init__(self, chat: Chat, settings: ChatSettings) -> None:
        self._chat = chat
        self._settings = settings
        self._refusals: _Refusals = {rung: set() for rung in Rung}

    @property
    def workers(self) -> int:
        """How many climbs may run at a time."""
        return self._settings.concurrency

    @property
    def room(self) -> Room:
        """The room of a first draft."""
        return Room(self._settings.context_window, self._settings.max_output_tokens)

    def climb(self, task: str, draft: Callable[[Room], Draft], reply: type[R], draw: Draw | None = None) -> Climbed[R]:
        """A reply to the draft that `draft` makes for a room; with `draw`, a sampled one.
        Raises: TaskFailed: no usable reply; has the reason and the cost. EndpointRefused, EndpointBusy, BudgetExhausted,
        RecordingError: see `Chat.ask`.
        """
        return _Climb(self._chat, self._settings, self._refusals, task, reply, draw).run(draft)

    def fetch(self, task: str, draft: Callable[[Room], Draft], reply: type[R], draws: Sequence[Draw]) -> Usage | None:
        """Fetch the replies to these draws for later `climb` calls, in one request if the endpoint can. Returns the cost, or None
        if the working rung is not known yet.
        Raises: TaskFailed: the prompt does not fit. EndpointRefused, EndpointBusy, BudgetExhausted: see `Chat.fetch`.
        """
        climbs = [_Climb(self._chat, self._settings, self._refusals, task, reply, draw) for draw in draws]
        requests = [request for climb in climbs if (request := climb.first_request(draft)) is not None]
        return self._chat.fetch(requests) if requests else None


_Refusals = dict[Rung, set[str]]
"""For each rung, the keys of the requests that it refused since its last reply."""


@dataclass
class _Climb(Generic[R]):
    _chat: Chat
    _settings: ChatSettings
    _refusals: _Refusals
    _task: str
    _reply: type[R]
    _draw: Draw | None
    _usage: Usage = field(default_factory=Usage)
    _last_refusal: str = ""

    def first_request(self, draft: Callable[[Room], Draft]) -> ChatRequest | None:
        """The request if nothing goes wrong; None if the working rung is not known yet."""
        working = self._working()
        if working is None:
            return None
        room = Room(self._settings.context_window, self._settings.max_output_tokens)
        drafted = draft(room)
        plain = replace(drafted, messages=drafted.plain) if working is Rung.PLAIN else drafted
        return self._request(plain, working, room)

    def run(self, draft: Callable[[Room], Draft]) -> Climbed[R]:
        """Climb with the first room, and once more with another room if that was too small."""
        room = Room(self._settings.context_window, self._settings.max_output_tokens)
        rungs = _rungs_of(self._settings)
        try:
            drafted = draft(room)

            def was_retried(rung: Rung) -> bool:
                more = _adjusted_room(room, drafted, less=False)
                return self._chat.knows(self._request(draft(more), rung, more))

            try:
                return Climbed(self._usable_reply(drafted, room, rungs, was_retried), drafted, self._usage)
            except OutOfRoom as cramped:
                _log.info("%s: %s; asked once more with other room", self._task, cramped)
                other = _adjusted_room(room, drafted, less=cramped.less)
                redrafted = draft(other)
                left = rungs[rungs.index(cramped.rung) :]
                return Climbed(self._usable_reply(redrafted, other, left), redrafted, self._usage)
        except (OutOfRoom, InvalidReply) as fault:
            raise self._failure(f"got no usable reply: {fault}") from None
        except CallFailed as failure:
            unreached = failure.kind is FailureKind.UNREACHED
            raise self._failure(failure.reason, EndpointUnreached if unreached else TaskFailed) from None

    def _failure(self, reason: str, kind: type[TaskFailed] = TaskFailed) -> TaskFailed:
        return kind(f"{self._task}: {self._chat.model} at {self._chat.place} {reason}", self._usage)

    def _usable_reply(
        self, draft: Draft, room: Room, rungs: Sequence[Rung], was_retried: Callable[[Rung], bool] | None = None
    ) -> R | None:
        """The reply in JSON, else in plain text if that is allowed. `was_retried` is given for the first draft: then a reply
        without enough room raises `OutOfRoom`, so that a second draft follows (see `_in_json`).
        """
        formed = [rung for rung in rungs if rung is not Rung.PLAIN]
        plain = bool(draft.plain) and Rung.PLAIN in rungs
        try:
            return self._in_json(draft, room, formed, was_retried)
        except OutOfRoom as cramped:
            if was_retried is None and cramped.kept is not None:
                _log.warning("%s: %s; what it says completely is used", self._task, cramped)
                self._record_success(cramped.rung)
                return cast("R", cramped.kept)
            if not plain or cramped.less or was_retried is not None:
                raise
            fault, exhausted = str(cramped), False
        except InvalidReply as unusable:
            if not plain:
                raise
            fault, exhausted = str(unusable), True
        _log.info("%s: no reply in JSON (%s); asked for plain text", self._task, fault)
        try:
            found = self._in_plain_text(draft, room)
        except InvalidReply as neither:
            reason = str(neither) if self._working() is Rung.PLAIN else f"{fault}; nor in plain text: {neither}"
            raise InvalidReply(reason) from None
        if exhausted and self._working() is None:
            self._record_success(Rung.PLAIN)
        return found

    def _in_json(
        self, draft: Draft, room: Room, rungs: Sequence[Rung], was_retried: Callable[[Rung], bool] | None
    ) -> R | None:
        """The reply of the first rung that gives one. The last rung's unusable reply is repaired once, unless it repeats its
        prompt or plain text is the working rung.

        With `was_retried`, an empty reply also leads from an unproven rung to the next, unless an earlier run stayed on it
        and asked with more room.
        """
        working = self._working()
        request, fault = None, None
        for rung in rungs:
            asked = self._request(draft, rung, room)
            above = working is not None and _is_above(rung, working)
            chat_reply = self._fetch_reply(asked, send=not above)
            if chat_reply is None:
                continue
            try:
                found = read_reply(chat_reply, asked, self._reply)
            except Silent:
                unproven = above or (working is None and rung is not rungs[-1])
                if was_retried is None or not unproven or was_retried(rung):
                    raise
                _log.info("%s: the rung %s gave an empty reply", self._task, rung)
                continue
            except InvalidReply as unusable:
                fault = unusable
                request = None if isinstance(unusable, Repeated) else self._repair(asked, chat_reply, unusable)
                if rung is working or (request is not None and self._chat.knows(request)):
                    break
                continue
            self._record_success(rung)
            return found
        if request is None or (working is Rung.PLAIN and not self._chat.knows(request)):
            raise fault if isinstance(fault, Repeated) else _no_rung_worked(self._last_refusal)
        _log.info("%s: a reply was not usable (%s); asked to repair it", self._task, fault)
        return self._ask_repair(request)

    def _in_plain_text(self, draft: Draft, room: Room) -> R | None:
        request = self._request(replace(draft, messages=draft.plain), Rung.PLAIN, room)
        chat_reply = self._fetch_reply(request, send=True)
        if chat_reply is None:
            raise _no_rung_worked(self._last_refusal)
        return read_reply(chat_reply, request, self._reply)

    def _ask_repair(self, request: ChatRequest) -> R | None:
        chat_reply = self._fetch_reply(request, send=True)
        if chat_reply is None:
            raise InvalidReply("it refused the request to repair its reply")
        found = read_reply(chat_reply, request, self._reply)
        self._record_success(request.rung)
        return found

    def _record_success(self, rung: Rung) -> None:
        working = self._working()  # other climbs may have changed it
        if working is None:
            self._chat.remember_rung(rung)
        elif _is_above(working, rung) and (refused := len(self._refusals[working])) >= REFUSALS:
            warning = "%s at %s refused the last %d requests on the rung %s, which worked before; from now on it is asked on %s"
            _log.warning(warning, self._chat.model, self._chat.place, refused, working, rung)
            self._chat.remember_rung(rung)

    def _fetch_reply(self, request: ChatRequest, *, send: bool) -> ChatReply | None:
        """The reply, remembered or (with `send`) requested; None if it was not sent or the rung was refused.
        Raises: CallFailed: the call failed otherwise.
        """
        chat_reply = self._chat.remembered(request)
        if chat_reply is None:
            if not send:
                return None
            try:
                chat_reply = self._chat.ask(request)
            except CallFailed as failure:
                if failure.kind is not FailureKind.FORMAT or not request.rung.is_formed:
                    raise
                _log.info("%s: the rung %s is refused: %s", self._task, request.rung, failure.reason)
                self._refusals[request.rung].add(request.key)
                self._last_refusal = failure.reason
                return None
            self._refusals[request.rung].clear()
        self._usage += chat_reply.spent
        return chat_reply.reply

    def _request(self, draft: Draft, rung: Rung, room: Room) -> ChatRequest:
        schema = limited_schema_of(self._reply) if rung.carries_schema else schema_of(self._reply)
        messages = draft.messages
        if rung is Rung.PROMPT:
            form = load_prompt("schema", self._settings.prompts).fill({"schema": schema})[-1].text
            messages = (Message("system", f"{messages[0].text}\n\n{form}"), *messages[1:])
        temperature, draw = self._settings.temperature, self._draw
        return ChatRequest(
            *(self._chat.place, self._chat.model, self._task, messages, rung, schema),
            draw.temperature if draw and temperature >= 0 else temperature,
            *(room.output, draft.documents, draw.seed if draw else None),
            logprobs=bool(scales_of(self._reply)),
        )

    def _repair(self, request: ChatRequest, chat_reply: ChatReply, fault: InvalidReply) -> ChatRequest:
        said = chat_reply.text[: min(QUOTED, start_of_loop(chat_reply.text) or QUOTED)]
        plea = load_prompt("repair", self._settings.prompts).fill({"error": str(fault)})[-1]
        return replace(request, messages=(*request.messages, Message("assistant", said), plea))

    def _working(self) -> Rung | None:
        rungs = _rungs_of(self._settings)
        return rungs[0] if len(rungs) == 1 else self._chat.working_rung


def _rungs_of(settings: ChatSettings) -> tuple[Rung, ...]:
    return tuple(Rung) if settings.structured == "auto" else (Rung(settings.structured),)


def _no_rung_worked(refusal: str) -> InvalidReply:
    """The fault if no rung gave a reply; `refusal` is the server's last message, if any."""
    last = f", the last one with the words: {refusal[:QUOTED_REFUSAL]}" if refusal else ""
    return InvalidReply(
        f"it refuses every form of request{last}. Check the model and the endpoint with `hoptrail doctor`"
    )


def _is_above(rung: Rung, other: Rung) -> bool:
    order = list(Rung)
    return order.index(rung) < order.index(other)


def _adjusted_room(room: Room, draft: Draft, *, less: bool) -> Room:
    """Half the evidence if the prompt did not fit, else twice the room for the reply, up to half the window."""
    output = min(room.output * 2, room.tokens // 2)
    if less or output <= room.output:
        return replace(room, evidence=sum(estimated_tokens(unit.searchable) for unit in draft.units) // 2)
    return replace(room, output=output)
