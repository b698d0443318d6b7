"""Getting a reply of the form asked for from a model that may not know how: rung by rung, one repair, one change of room.

    JSON schema  ->  JSON mode with a schema  ->  a function's arguments  ->  JSON mode  ->  schema in the prompt
        ->  one repair that quotes the error  ->  plain text  ->  TaskFailed

The next rung is tried when the endpoint refuses one, or when a rung that never worked gives nonsense or nothing. The rung that
works is remembered per model. A lower one replaces it only after many refusals in a row, because a server may refuse a single
prompt for what its model made of it. Kept replies are looked up on every rung before anything is sent, so that a second run takes
the same way and pays nothing. A prompt that does not fit is drafted once more with less evidence, and a reply that lacked room is
asked for once more with more. If there is no JSON after all that, the model is asked for a few words in plain text; that alone
does not change the rung that is remembered.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar, cast

from pydantic import BaseModel

from hoptrail.errors import EndpointUnreached, TaskFailed
from hoptrail.language.chat.context import Room
from hoptrail.language.chat.prompting import load_prompt
from hoptrail.language.chat.replies import Cramped, Repeated, Silent, read_reply
from hoptrail.language.chat.reply_parsing import Unusable
from hoptrail.language.chat.schemas import limited_schema_of, schema_of
from hoptrail.language.chat.weighing import scales_of
from hoptrail.models.billing import Chat
from hoptrail.models.chat import ChatRequest, ChatSettings, Message, Rung
from hoptrail.models.completion import ChatReply
from hoptrail.models.failures import CallFailed, FailureKind
from hoptrail.models.prompt_text import estimated_tokens
from hoptrail.models.repetition import start_of_loop
from hoptrail.types import Unit, Usage

R = TypeVar("R", bound=BaseModel)

QUOTED = 2_000
"""Characters of an unusable reply that the repair shows the model again."""

QUOTED_REFUSAL = 200
"""Characters of a server's refusal that the reason of a failure quotes."""

REFUSALS = 10
"""Requests in a row, no two the same, that are refused on a rung that worked before it is given up. That costs time, no money."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Draft:
    """A prompt as it would go out, the units it shows, in the order of their numbers, the documents that words of it were made
    from by way of earlier replies, and the same prompt for a reply without JSON (empty: there is none).
    """

    messages: tuple[Message, ...]
    units: tuple[Unit, ...] = ()
    origins: tuple[str, ...] = ()
    plain: tuple[Message, ...] = ()

    @property
    def documents(self) -> tuple[str, ...]:
        """Every document that the prompt holds text of, or text made from."""
        shown = (span.document for unit in self.units for span in unit.sources)
        return tuple(dict.fromkeys((*shown, *self.origins)))


@dataclass(frozen=True, slots=True)
class Draw:
    """A reply by chance: its seed, and the temperature, which is not sent where the settings send none."""

    seed: int
    temperature: float


@dataclass(frozen=True, slots=True)
class Climbed(Generic[R]):
    """A usable reply (None: the model declined), the draft that it answers, and what it cost."""

    reply: R | None
    draft: Draft
    usage: Usage


class Ladder:
    """Asks `chat` for replies of a given form. For any number of threads."""

    def __init__(self, chat: Chat, settings: ChatSettings) -> None:
        self._chat = chat
        self._settings = settings
        self._refusals = _Refusals()

    @property
    def workers(self) -> int:
        """How many climbs may be under way at a time."""
        return self._settings.concurrency

    @property
    def room(self) -> Room:
        """What a first draft may use."""
        return Room(self._settings.context_window, self._settings.max_output_tokens)

    def climb(self, task: str, draft: Callable[[Room], Draft], reply: type[R], draw: Draw | None = None) -> Climbed[R]:
        """A reply to what `draft` makes of the room it is given; with `draw`, one of several.

        Raises:
            TaskFailed: no usable reply; the message says why and carries what it cost.
            EndpointRefused, EndpointBusy, BudgetExhausted, RecordingError: see `Chat.ask`.
        """
        return _Climb(self._chat, self._settings, self._refusals, task, reply, draw).run(draft)

    def fetch(self, task: str, draft: Callable[[Room], Draft], reply: type[R], draws: Sequence[Draw]) -> Usage | None:
        """Have the replies to these draws ready for `climb`, got in one call where the endpoint can; what that spent. None
        where it is not known yet which rung works.

        Raises:
            TaskFailed: the prompt does not fit.
            EndpointRefused, EndpointBusy, BudgetExhausted: see `Chat.fetch`.
        """
        climbs = [_Climb(self._chat, self._settings, self._refusals, task, reply, draw) for draw in draws]
        requests = [request for climb in climbs if (request := climb.first_request(draft)) is not None]
        return self._chat.fetch(requests) if requests else None


class _Refusals:
    """Of each rung, the requests that it refused since it last gave a reply. For any number of threads."""

    def __init__(self) -> None:
        self._keys: dict[Rung, set[str]] = {rung: set() for rung in Rung}

    def refused(self, request: ChatRequest) -> None:
        self._keys[request.rung].add(request.key)

    def answered(self, request: ChatRequest) -> None:
        self._keys[request.rung].clear()

    def of(self, rung: Rung) -> int:
        return len(self._keys[rung])


class _Climb(Generic[R]):
    """One task on its way."""

    def __init__(
        self, chat: Chat, settings: ChatSettings, refusals: _Refusals, task: str, reply: type[R], draw: Draw | None
    ) -> None:
        self._chat = chat
        self._settings = settings
        self._refusals = refusals
        self._task = task
        self._reply = reply
        self._draw = draw
        self._usage = Usage()
        self._last_refusal = ""

    def first_request(self, draft: Callable[[Room], Draft]) -> ChatRequest | None:
        """What will be asked if nothing goes wrong; None where it is not known yet which rung works."""
        working = self._working()
        if working is None:
            return None
        room = Room(self._settings.context_window, self._settings.max_output_tokens)
        drafted = draft(room)
        plain = replace(drafted, messages=drafted.plain) if working is Rung.PLAIN else drafted
        return self._request(plain, working, room)

    def run(self, draft: Callable[[Room], Draft]) -> Climbed[R]:
        room = Room(self._settings.context_window, self._settings.max_output_tokens)
        rungs = _rungs_of(self._settings)
        try:
            drafted = draft(room)

            def asked_with_more(rung: Rung) -> bool:
                more = _other_room(room, drafted, less=False)
                return self._chat.knows(self._request(draft(more), rung, more))

            try:
                return Climbed(self._usable(drafted, room, rungs, asked_with_more), drafted, self._usage)
            except Cramped as cramped:
                _log.info("%s: %s; asked once more with other room", self._task, cramped)
                other = _other_room(room, drafted, less=cramped.less)
                redrafted = draft(other)
                left = rungs[rungs.index(cramped.rung) :]
                return Climbed(self._usable(redrafted, other, left), redrafted, self._usage)
        except (Cramped, Unusable) as fault:
            raise self._failed(f"got no usable reply: {fault}") from None
        except CallFailed as failure:
            unreached = failure.kind is FailureKind.UNREACHED
            raise self._failed(failure.reason, EndpointUnreached if unreached else TaskFailed) from None

    def _failed(self, reason: str, kind: type[TaskFailed] = TaskFailed) -> TaskFailed:
        return kind(f"{self._task}: {self._chat.model} at {self._chat.place} {reason}", self._usage)

    def _usable(
        self, draft: Draft, room: Room, rungs: Sequence[Rung], asked_with_more: Callable[[Rung], bool] | None = None
    ) -> R | None:
        """The reply in JSON, or else in plain text where that may be asked for. With `asked_with_more` there is another draft to
        come: that is for a reply without enough room, see `_in_json`.
        """
        formed = [rung for rung in rungs if rung is not Rung.PLAIN]
        plain = bool(draft.plain) and Rung.PLAIN in rungs
        try:
            return self._in_json(draft, room, formed, asked_with_more)
        except Cramped as cramped:
            if asked_with_more is None and cramped.kept is not None:
                _log.warning("%s: %s; what it says completely is used", self._task, cramped)
                self._works(cramped.rung)
                return cast("R", cramped.kept)
            if not plain or cramped.less or asked_with_more is not None:
                raise
            fault, exhausted = str(cramped), False
        except Unusable as unusable:
            if not plain:
                raise
            fault, exhausted = str(unusable), True
        _log.info("%s: no reply in JSON (%s); asked for plain text", self._task, fault)
        try:
            found = self._in_plain_text(draft, room)
        except Unusable as neither:
            reason = str(neither) if self._working() is Rung.PLAIN else f"{fault}; nor in plain text: {neither}"
            raise Unusable(reason) from None
        if exhausted and self._working() is None:
            self._works(Rung.PLAIN)
        return found

    def _in_json(
        self, draft: Draft, room: Room, rungs: Sequence[Rung], asked_with_more: Callable[[Rung], bool] | None
    ) -> R | None:
        """The reply of the first rung that gives one; the last one's is repaired once, unless it repeats its prompt or plain text
        is what works.

        With `asked_with_more`, a rung that never worked is left for an empty reply as well, unless an earlier run stayed on it
        and asked with more room.
        """
        working = self._working()
        request, fault = None, None
        for rung in rungs:
            asked = self._request(draft, rung, room)
            above = working is not None and _above(rung, working)
            heard = self._hear(asked, send=not above)
            if heard is None:
                continue
            try:
                found = read_reply(heard, asked, self._reply)
            except Silent:
                unproven = above or (working is None and rung is not rungs[-1])
                if asked_with_more is None or not unproven or asked_with_more(rung):
                    raise
                _log.info("%s: the rung %s gave an empty reply", self._task, rung)
                continue
            except Unusable as unusable:
                fault = unusable
                request = None if isinstance(unusable, Repeated) else self._repair(asked, heard, unusable)
                if rung is working or (request is not None and self._chat.knows(request)):
                    break
                continue
            self._works(rung)
            return found
        if request is None or (working is Rung.PLAIN and not self._chat.knows(request)):
            raise fault if isinstance(fault, Repeated) else _no_form(self._last_refusal)
        _log.info("%s: a reply was not usable (%s); asked to repair it", self._task, fault)
        return self._repaired(request)

    def _in_plain_text(self, draft: Draft, room: Room) -> R | None:
        """The reply in a few words."""
        request = self._request(replace(draft, messages=draft.plain), Rung.PLAIN, room)
        heard = self._hear(request, send=True)
        if heard is None:
            raise _no_form(self._last_refusal)
        return read_reply(heard, request, self._reply)

    def _repaired(self, request: ChatRequest) -> R | None:
        heard = self._hear(request, send=True)
        if heard is None:
            raise Unusable("it refused the request to repair its reply")
        found = read_reply(heard, request, self._reply)
        self._works(request.rung)
        return found

    def _works(self, rung: Rung) -> None:
        working = self._working()  # as others have found meanwhile
        if working is None:
            self._chat.remember_rung(rung)
        elif _above(working, rung) and (refused := self._refusals.of(working)) >= REFUSALS:
            warning = "%s at %s refused the last %d requests on the rung %s, which worked before; from now on it is asked on %s"
            _log.warning(warning, self._chat.model, self._chat.place, refused, working, rung)
            self._chat.remember_rung(rung)

    def _hear(self, request: ChatRequest, *, send: bool) -> ChatReply | None:
        """The reply, remembered or asked for; None where it may not be asked for or the rung is refused.

        Raises:
            CallFailed: there is none.
        """
        heard = self._chat.remembered(request)
        if heard is None:
            if not send:
                return None
            try:
                heard = self._chat.ask(request)
            except CallFailed as failure:
                if failure.kind is not FailureKind.FORMAT or not request.rung.is_formed:
                    raise
                _log.info("%s: the rung %s is refused: %s", self._task, request.rung, failure.reason)
                self._refusals.refused(request)
                self._last_refusal = failure.reason
                return None
            self._refusals.answered(request)
        self._usage += heard.spent
        return heard.reply

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

    def _repair(self, request: ChatRequest, heard: ChatReply, fault: Unusable) -> ChatRequest:
        """The same request, what came of it, and what is wrong with that."""
        said = heard.text[: min(QUOTED, start_of_loop(heard.text) or QUOTED)]
        plea = load_prompt("repair", self._settings.prompts).fill({"error": str(fault)})[-1]
        return replace(request, messages=(*request.messages, Message("assistant", said), plea))

    def _working(self) -> Rung | None:
        rungs = _rungs_of(self._settings)
        return rungs[0] if len(rungs) == 1 else self._chat.working_rung


def _rungs_of(settings: ChatSettings) -> tuple[Rung, ...]:
    return tuple(Rung) if settings.structured == "auto" else (Rung(settings.structured),)


def _no_form(refusal: str) -> Unusable:
    """Nothing was heard; `refusal` is what the server said last, if it said anything."""
    last = f", the last one with the words: {refusal[:QUOTED_REFUSAL]}" if refusal else ""
    return Unusable(f"it refuses every form of request{last}. Check the model and the endpoint with `hoptrail doctor`")


def _above(rung: Rung, other: Rung) -> bool:
    order = list(Rung)
    return order.index(rung) < order.index(other)


def _other_room(room: Room, draft: Draft, *, less: bool) -> Room:
    """Half the evidence where the prompt did not fit, else twice the room for the reply, as far as half the window goes."""
    output = min(room.output * 2, room.tokens // 2)
    if less or output <= room.output:
        return replace(room, evidence=sum(estimated_tokens(unit.searchable) for unit in draft.units) // 2)
    return replace(room, output=output)
