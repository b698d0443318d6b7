"""A paid chat model: maps a request to its reply, never pays twice, never passes the limits.

It combines remembered replies (`remembered.py`), the limiter (`limiter.py`) and the call itself (`chat_endpoint.py`). Language
tasks use it as a `Chat`, which a recording is too (`recording.py`).
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

from hoptrail.models.chat import ChatRequest, ChatSettings, Rung
from hoptrail.models.chat_endpoint import ChatEndpoint
from hoptrail.models.completion import TOO_LONG, ChatReply
from hoptrail.models.dialect import Accepted
from hoptrail.models.environment import Address
from hoptrail.models.failures import CallFailed, FailureKind
from hoptrail.models.limiter import Limiter
from hoptrail.models.remembered import RememberedReplies
from hoptrail.models.spending import Limits, cost_of
from hoptrail.models.tracing import said, span
from hoptrail.types import Usage

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class PaidReply:
    """A reply, and what was spent to get it: nothing where it was remembered."""

    reply: ChatReply
    spent: Usage = field(default_factory=Usage)


class Chat(ABC):
    """A chat model as language tasks use it. `place` is the address of the endpoint without user, password and query; replies are
    stored under it.
    """

    def __init__(self, place: str, model: str) -> None:
        self.place = place
        self.model = model

    @property
    def working_rung(self) -> Rung | None:
        """The rung of the ladder that is known to work, if any."""
        return None

    def remember_rung(self, rung: Rung) -> None:  # noqa: B027 - what sends nothing tries no rung
        """Note that requests on this rung work, so that the next ones start there."""

    @abstractmethod
    def remembered(self, request: ChatRequest) -> PaidReply | None:
        """The remembered reply, or None."""

    @abstractmethod
    def ask(self, request: ChatRequest) -> PaidReply:
        """The reply.

        Raises:
            CallFailed: this call got no reply; others may.
            EndpointRefused, EndpointBusy, BudgetExhausted, RecordingError: no call will get one, for now.
        """

    def fetch(self, requests: Sequence[ChatRequest]) -> Usage:  # noqa: ARG002 - what sends nothing fetches nothing
        """Ask for the replies to requests that differ only in their seeds in one call, where possible. Returns what was spent
        beyond what `ask` will report for them. The caller must `ask` for replies that are still missing.
        Raises: EndpointRefused, EndpointBusy, BudgetExhausted: no call will get a reply, for now.
        """
        return Usage()


class Shared(Generic[K, V]):
    """A process-wide registry of objects by key, held by weak references. Thread-safe. A forked child starts with an empty one:
    locks held by a thread of the parent would never be released there.
    """

    def __init__(self) -> None:
        self._start_anew()
        if hasattr(os, "register_at_fork"):  # not on Windows
            os.register_at_fork(after_in_child=self._start_anew)

    def of(self, key: K, make: Callable[[], V]) -> V:
        """The object of `key`, made if there is none."""
        with self._guard:
            value = self._objects.get(key)
            if value is None:
                value = self._objects[key] = make()
            return value

    def _start_anew(self) -> None:
        self._guard = threading.Lock()
        self._objects: WeakValueDictionary[K, V] = WeakValueDictionary()


class KnownServers:
    """What is known about servers and their models, in the file of replies: the working rung of the ladder, and the dialect.

    Both are found by asking; `hoptrail doctor` finds them again and overwrites them. Safe for threads and processes.
    """

    def __init__(self, replies: RememberedReplies) -> None:
        self._file = replies.file

    def rung(self, place: str, model: str) -> Rung | None:
        """The rung that is known to work, if any."""
        rows = self._file.rows("SELECT rung FROM rungs WHERE place = ? AND model = ?", place, model)
        return next((Rung(rung) for (rung,) in rows if rung in set(Rung)), None)

    def remember_rung(self, place: str, model: str, rung: Rung) -> None:
        """Store the rung that works."""
        self._write("INSERT OR REPLACE INTO rungs VALUES (?, ?, ?)", place, model, rung.value)

    def accepted(self, place: str, model: str) -> Accepted:
        """The dialect, as far as it is known."""
        rows = self._file.rows("SELECT dialect FROM dialects WHERE place = ? AND model = ?", place, model)
        return Accepted.from_json(rows[0][0]) if rows else Accepted()

    def remember_accepted(self, place: str, model: str, accepted: Accepted) -> None:
        """Store the dialect."""
        self._write("INSERT OR REPLACE INTO dialects VALUES (?, ?, ?)", place, model, accepted.as_json())

    def _write(self, statement: str, place: str, model: str, value: str) -> None:
        with self._file.transaction() as connection:
            connection.execute(statement, (place, model, value))


_LOCKS: Shared[tuple[Path, str], threading.Lock] = Shared()
_LIMITERS: Shared[tuple[Address, ChatSettings], Limiter] = Shared()


class PaidChat(Chat):
    """The model behind `endpoint`, with its replies stored in `replies`. Thread-safe. Instances with the same file of replies pay
    once for a request; instances with the same endpoint and settings share a limiter.

    With `anew` every request is paid for, to find out whether the endpoint works now, without its stored dialect.

    Making an instance lets an endpoint that has refused be tried again: the key or the credit may be in order by now.
    """

    def __init__(
        self, endpoint: ChatEndpoint, settings: ChatSettings, replies: RememberedReplies, *, anew: bool = False
    ) -> None:
        super().__init__(endpoint.address.place, endpoint.address.model)
        self._anew = anew
        self.gives_logprobs = False
        """Whether a reply that was asked for anew had any."""
        self._endpoint = endpoint
        self._settings = settings
        self._replies = replies
        self._servers = KnownServers(replies)
        self._stored: Accepted | None = None  # the stored dialect of the endpoint, once it was read
        self._recalling = threading.Lock()
        self._limits = Limits.of(settings)
        self._file = replies.path.resolve()
        self.limiter = _LIMITERS.of(
            (endpoint.address, settings), lambda: Limiter(settings, f"{self.model} at {self.place}")
        )
        self.limiter.retest_refusal()  # else an earlier chat's refusal would hold or not depending on garbage collection

    def anew(self) -> PaidChat:
        """The same model, asked anew each time."""
        return PaidChat(self._endpoint, self._settings, self._replies, anew=True)

    @property
    def working_rung(self) -> Rung | None:
        """The rung that worked for this model at this place, in this process or an earlier one."""
        return None if self._anew else self._servers.rung(self.place, self.model)

    def remember_rung(self, rung: Rung) -> None:
        """Store the rung beside the replies, for later processes too."""
        if not self._anew:  # what works for one question need not work for all
            self._servers.remember_rung(self.place, self.model, rung)

    def remembered(self, request: ChatRequest) -> PaidReply | None:
        """The stored reply, for which nothing is spent now; None if there is none."""
        reply = None if self._anew else self._replies.reply(request.key)
        return None if reply is None else PaidReply(reply)

    def ask(self, request: ChatRequest) -> PaidReply:
        """The reply, remembered or paid for; see `Chat.ask`."""
        if self._anew:
            (reply,) = self._called([request])
            self.gives_logprobs = self.gives_logprobs or bool(reply.logprobs)
            return PaidReply(reply, reply.usage)
        with _LOCKS.of((self._file, request.key), threading.Lock):  # two threads pay once for the same request
            while True:
                known = self._replies.wait_for_others(request.key, self._settings.deadline_seconds)
                self._recall()
                if known:
                    return PaidReply(known)
                if replies := self._called([request]):
                    return PaidReply(replies[0], replies[0].usage)

    def fetch(self, requests: Sequence[ChatRequest]) -> Usage:
        """Ask for several replies in one call; see `Chat.fetch`."""
        missing = [request for request in requests if self.remembered(request) is None]
        self._recall()
        if len(missing) < 2 or not self._endpoint.takes_several:
            return Usage()
        with _LOCKS.of((self._file, missing[0].key), threading.Lock):
            try:
                return _usage_of(self._called(missing))
            except CallFailed:
                return Usage()  # `ask` will report the failure

    def _called(self, requests: Sequence[ChatRequest]) -> Sequence[ChatReply]:
        """Pay as often as is allowed, in one span."""
        asked, place = requests[0], urlsplit(self.place)
        about = {
            "gen_ai.provider.name": "openai",  # whose API it is
            "gen_ai.request.model": self.model,
            "gen_ai.request.max_tokens": asked.max_output_tokens,
            "gen_ai.request.temperature": asked.temperature if asked.temperature >= 0 else None,
            "gen_ai.request.seed": asked.seed,
            "gen_ai.request.choice.count": len(requests) if len(requests) > 1 else None,
            "server.address": place.hostname,
            "server.port": place.port,
            "hoptrail.task": asked.task,
            **said("input", ((message.role, message.text) for message in asked.messages)),
        }
        with span("chat", self.model, about) as note:
            replies = self.limiter.run(lambda: self._pay(requests))
            spent = _usage_of(replies)
            note({"gen_ai.response.finish_reasons": [reply.finish for reply in replies]})
            note(
                {
                    "gen_ai.usage.input_tokens": spent.prompt_tokens,
                    "gen_ai.usage.output_tokens": spent.completion_tokens,
                }
            )
            note(said("output", (("assistant", reply.text) for reply in replies)))
        return replies

    def _pay(self, requests: Sequence[ChatRequest]) -> Sequence[ChatReply]:
        """Ask once for all requests, and store the replies for them in order. Returns none where another process was faster,
        unless they are asked anew.
        """
        self._endpoint.client()
        asked = requests[0]
        most = cost_of(asked.prompt_tokens, asked.max_output_tokens * len(requests), self._settings)
        if self._anew:
            call: int | None = self._replies.reserve(asked, most, self._limits)
        else:
            call = self._replies.reserve_first(asked, most, self._limits, self._settings.deadline_seconds)
        if call is None:
            return ()
        try:
            replies = self._endpoint.send_for(asked, len(requests), lambda: self._replies.mark_sent(call))
        except CallFailed as failure:
            self._replies.close_call(call, failure.reason, paid=failure.paid)
            if failure.kind is not FailureKind.CONTEXT or len(requests) > 1:
                raise
            too_long = ChatReply("", TOO_LONG)
            self._replies.keep(call, asked, too_long)
            return [too_long]
        spent = _usage_of(replies)
        cost = cost_of(spent.prompt_tokens, spent.completion_tokens, self._settings)
        self._replies.settle(call, dict(zip(requests, replies, strict=False)), cost)
        self._keep_accepted()
        return replies

    def _recall(self) -> None:
        """Use the stored dialect of this server and model."""
        with self._recalling:
            if self._stored is None:
                self._stored = self._servers.accepted(self.place, self.model)
                if self._stored != Accepted():
                    self._endpoint.dialect.recall(self._stored)

    def _keep_accepted(self) -> None:
        """Store the dialect of the endpoint after a successful call."""
        accepted = self._endpoint.dialect.accepted
        with self._recalling:
            if accepted != self._stored:
                self._servers.remember_accepted(self.place, self.model, accepted)
                self._stored = accepted


def _usage_of(replies: Sequence[ChatReply]) -> Usage:
    return sum((reply.usage for reply in replies), Usage())
