"""A chat model that is paid for: one request in, its reply out, never paid twice, never past the limits.

Puts the parts together: what is remembered (`remembered.py`), who may call (`limiter.py`), the call itself (`chat.py`). The
`Chat` protocol is what the language tasks see; a recording satisfies it too (`recording.py`).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from hoptrail.models.chat import ChatRequest, ChatSettings, Rung
from hoptrail.models.chat_endpoint import ChatEndpoint
from hoptrail.models.completion import TOO_LONG, ChatReply
from hoptrail.models.dialect import Accepted
from hoptrail.models.environment import Address
from hoptrail.models.failures import CallFailed, FailureKind
from hoptrail.models.known_servers import KnownServers
from hoptrail.models.limiter import Limiter
from hoptrail.models.remembered import RememberedReplies
from hoptrail.models.shared import Shared
from hoptrail.models.spending import Limits, cost_of
from hoptrail.types import Usage


@dataclass(frozen=True, slots=True)
class PaidReply:
    """A reply, and what hearing it spent: nothing where it was remembered."""

    reply: ChatReply
    spent: Usage = field(default_factory=Usage)


class Chat(Protocol):
    """A chat model as the language tasks see it."""

    @property
    def place(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def working_rung(self) -> Rung | None:
        """The rung of the ladder that is known to work, if any is."""
        ...

    def remember_rung(self, rung: Rung) -> None: ...

    def remembered(self, request: ChatRequest) -> PaidReply | None:
        """The reply that is there already, or None."""
        ...

    def knows(self, request: ChatRequest) -> bool:
        """Whether the reply is there already; asking this changes nothing."""
        ...

    def ask(self, request: ChatRequest) -> PaidReply:
        """The reply.

        Raises:
            CallFailed: this call got none; others may.
            EndpointRefused, EndpointBusy, BudgetExhausted, RecordingError: no call will, for now.
        """
        ...

    def fetch(self, requests: Sequence[ChatRequest]) -> Usage:
        """Ask for the replies to requests that differ in their seeds alone in one call, where that can be done; what that
        spent beyond what hearing them will tell. Those that are not there afterwards are to be asked for one by one.

        Raises:
            EndpointRefused, EndpointBusy, BudgetExhausted: no call will get any, for now.
        """
        ...


_LOCKS: Shared[tuple[Path, str], threading.Lock] = Shared()
_LIMITERS: Shared[tuple[Address, ChatSettings], Limiter] = Shared()


class PaidChat:
    """The model behind `endpoint`, with its replies kept in `replies`. For any number of threads, and beside others of its kind:
    those with the same file of replies pay once for a request, those with the same endpoint and settings share a limiter.

    Making one gives an endpoint that has refused another chance: the key or the credit may be in order by now.
    """

    def __init__(self, endpoint: ChatEndpoint, settings: ChatSettings, replies: RememberedReplies) -> None:
        self._endpoint = endpoint
        self._settings = settings
        self._replies = replies
        self._servers = KnownServers(replies)
        self._kept: Accepted | None = None  # what is kept of the endpoint's dialect, once that was looked at
        self._recalling = threading.Lock()
        self._limits = Limits.of(settings)
        self._file = replies.path.resolve()
        self.limiter = _LIMITERS.of(
            (endpoint.address, settings), lambda: Limiter(settings, f"{endpoint.address.model} at {self.place}")
        )
        self.limiter.retest_refusal()  # else it would depend on garbage collection whether an earlier chat's refusal holds

    @property
    def place(self) -> str:
        return self._endpoint.address.place

    @property
    def model(self) -> str:
        return self._endpoint.address.model

    @property
    def working_rung(self) -> Rung | None:
        return self._servers.rung(self.place, self.model)

    def remember_rung(self, rung: Rung) -> None:
        self._servers.remember_rung(self.place, self.model, rung)

    def remembered(self, request: ChatRequest) -> PaidReply | None:
        reply = self._replies.reply(request.key)
        return None if reply is None else PaidReply(reply)

    def knows(self, request: ChatRequest) -> bool:
        return self._replies.reply(request.key) is not None

    def ask(self, request: ChatRequest) -> PaidReply:
        """The reply, remembered or paid for; see `Chat.ask`."""
        with _LOCKS.of((self._file, request.key), threading.Lock):  # the same at once from two threads is paid once
            while True:
                known = self._replies.wait_for_others(request.key, self._settings.deadline_seconds)
                self._recall()
                heard = PaidReply(known) if known else self.limiter.run(lambda: self._pay(request, first=True))
                if heard is not None:
                    return heard

    def ask_anew(self, request: ChatRequest) -> PaidReply:
        """The reply, paid for even if it is there already; see `Chat.ask`. What the endpoint accepts is found out anew, unless
        `ask` or `fetch` came first.
        """
        heard = self.limiter.run(lambda: self._pay(request, first=False))
        assert heard is not None  # noqa: S101 - only `first` gives way
        return heard

    def fetch(self, requests: Sequence[ChatRequest]) -> Usage:
        """Ask for several replies in one call; see `Chat.fetch`."""
        wanted = [request for request in requests if not self.knows(request)]
        self._recall()
        if len(wanted) < 2 or not self._endpoint.takes_several:
            return Usage()
        with _LOCKS.of((self._file, wanted[0].key), threading.Lock):
            try:
                return self.limiter.run(lambda: self._pay_for(wanted))
            except CallFailed:
                return Usage()  # each by itself will find out why

    def _pay_for(self, requests: Sequence[ChatRequest]) -> Usage:
        """Ask once for all of them, and enter the replies under the requests in order."""
        self._endpoint.client()
        first = requests[0]
        most = cost_of(first.prompt_tokens, first.max_output_tokens * len(requests), self._settings)
        call = self._replies.reserve_first(first, most, self._limits, self._settings.deadline_seconds)
        if call is None:
            return Usage()
        try:
            replies = self._endpoint.send_for(first, len(requests), lambda: self._replies.mark_sent(call))
        except CallFailed as failure:
            self._replies.close_call(call, failure.reason, paid=failure.paid)
            raise
        spent = sum((reply.usage for reply in replies), Usage())
        cost = cost_of(spent.prompt_tokens, spent.completion_tokens, self._settings)
        self._replies.settle(call, dict(zip(requests, replies, strict=False)), cost)
        self._keep_accepted()
        return spent

    def _pay(self, request: ChatRequest, *, first: bool) -> PaidReply | None:
        """Ask once and enter it. With `first`, None where another process came first."""
        self._endpoint.client()
        most = cost_of(request.prompt_tokens, request.max_output_tokens, self._settings)
        if first:
            longest = self._settings.deadline_seconds
            call = self._replies.reserve_first(request, most, self._limits, longest)
        else:
            call = self._replies.reserve(request, most, self._limits)
        if call is None:
            return None
        try:
            reply = self._endpoint.send(request, lambda: self._replies.mark_sent(call))
        except CallFailed as failure:
            self._replies.close_call(call, failure.reason, paid=failure.paid)
            if failure.kind is not FailureKind.CONTEXT:
                raise
            reply = ChatReply("", TOO_LONG)
            self._replies.keep(call, request, reply)
            return PaidReply(reply)
        cost = cost_of(reply.prompt_tokens, reply.completion_tokens, self._settings)
        self._replies.settle(call, {request: reply}, cost)
        self._keep_accepted()
        return PaidReply(reply, reply.usage)

    def _recall(self) -> None:
        """Put requests as this server and model are known to want them."""
        with self._recalling:
            if self._kept is None:
                self._kept = self._servers.accepted(self.place, self.model)
                if self._kept != Accepted():
                    self._endpoint.recall(self._kept)

    def _keep_accepted(self) -> None:
        """Remember what the endpoint has shown that it accepts, now that a call succeeded."""
        accepted = self._endpoint.accepted
        with self._recalling:
            if accepted != self._kept:
                self._servers.remember_accepted(self.place, self.model, accepted)
                self._kept = accepted


class _InFrontOf:
    """Goes by the name of the chat that it passes requests on to."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat

    @property
    def place(self) -> str:
        return self._chat.place

    @property
    def model(self) -> str:
        return self._chat.model


class FullyPriced(_InFrontOf):
    """A chat every reply of which is heard with what it took when it was made: so what asking comes to does not hang on what was
    asked before. Nothing is paid for that.
    """

    @property
    def working_rung(self) -> Rung | None:
        return self._chat.working_rung

    def remember_rung(self, rung: Rung) -> None:
        self._chat.remember_rung(rung)

    def remembered(self, request: ChatRequest) -> PaidReply | None:
        heard = self._chat.remembered(request)
        return None if heard is None else PaidReply(heard.reply, heard.reply.usage)

    def knows(self, request: ChatRequest) -> bool:
        return self._chat.knows(request)

    def ask(self, request: ChatRequest) -> PaidReply:
        """The reply; see `Chat.ask`."""
        reply = self._chat.ask(request).reply
        return PaidReply(reply, reply.usage)

    def fetch(self, requests: Sequence[ChatRequest]) -> Usage:
        """What it spends is told where each reply is heard."""
        self._chat.fetch(requests)
        return Usage()


class Unremembering(_InFrontOf):
    """A chat that is asked anew each time: for finding out whether it works now. What it costs is entered like all else."""

    working_rung: Rung | None = None
    _chat: PaidChat

    def __init__(self, chat: PaidChat) -> None:
        super().__init__(chat)
        self.gives_logprobs = False  # whether a reply had any so far

    def remember_rung(self, rung: Rung) -> None:
        """Nothing: what works for one question is no proof for all."""

    def remembered(self, request: ChatRequest) -> PaidReply | None:  # noqa: ARG002 - the protocol's
        return None

    def knows(self, request: ChatRequest) -> bool:  # noqa: ARG002 - the protocol's
        return False

    def ask(self, request: ChatRequest) -> PaidReply:
        """The reply, paid for; see `Chat.ask`."""
        heard = self._chat.ask_anew(request)
        self.gives_logprobs = self.gives_logprobs or bool(heard.reply.logprobs)
        return heard

    def fetch(self, requests: Sequence[ChatRequest]) -> Usage:  # noqa: ARG002 - the protocol's
        return Usage()
