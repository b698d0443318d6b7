"""A chat model as tasks use it: one that is paid (maps a request to its reply, never pays twice, never passes the limits), or the
recording of one.

A paid one combines remembered replies (`ledger.py`), a limiter and the call itself (`chat_endpoint.py`). When the server is busy,
all calls wait: as long as it asks, or for growing times with jitter. The client's own retries are off: they would not make the
others wait, enter no try in the ledger, and not see a reply that breaks off. After a refusal no call is made for a while, unless
the endpoint is opened again.
"""

from __future__ import annotations

import json
import os
import random
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

from hoptrail.errors import EndpointBusy, EndpointRefused, RecordingError, UsageError
from hoptrail.models.chat import TOO_LONG, ChatReply, ChatRequest, ChatSettings, Rung
from hoptrail.models.chat_endpoint import ChatEndpoint
from hoptrail.models.client import SHOWN, CallFailed, FailureKind
from hoptrail.models.ledger import RememberedReplies, cost_of, read_recording
from hoptrail.models.tracing import said, span
from hoptrail.types import Usage

V = TypeVar("V")

JITTER = 0.25
"""The random share of a wait, so that waiting calls do not all continue at once."""
LONGEST_WAIT = 120.0
"""Rate limits count by the minute: a longer wait is a quota used up."""
REFUSED_SECONDS = 60.0
"""How long a refusal applies. A server runs for weeks, and credit may be added meanwhile; a call per minute is harmless."""


@dataclass(frozen=True, slots=True)
class PaidReply:
    """A reply, and what was spent to get it: nothing where it was remembered."""

    reply: ChatReply
    spent: Usage = field(default_factory=Usage)


class Chat(ABC):
    """A chat model as language tasks use it. `place` is the address of the endpoint without user, password and query; replies are
    stored under it.
    """

    working_rung: Rung | None = None
    """The rung of the ladder that is known to work, if any: requests start there."""

    def __init__(self, place: str, model: str) -> None:
        self.place = place
        self.model = model

    @abstractmethod
    def remembered(self, request: ChatRequest) -> PaidReply | None:
        """The remembered reply, or None."""

    @abstractmethod
    def ask(self, request: ChatRequest) -> PaidReply:
        """The reply. Raises: CallFailed: this call got none; others may. EndpointRefused, EndpointBusy, BudgetExhausted,
        RecordingError: no call will get one, for now.
        """

    def fetch(self, requests: Sequence[ChatRequest]) -> Usage:  # noqa: ARG002 - what sends nothing fetches nothing
        """Ask for the replies to requests that differ only in their seeds in one call, where possible. Returns what was spent
        beyond what `ask` will report for them. The caller must `ask` for replies that are still missing.
        Raises: EndpointRefused, EndpointBusy, BudgetExhausted: no call will get a reply, for now.
        """
        return Usage()


_SHARED: WeakValueDictionary[object, Any] = WeakValueDictionary()
_GUARD = threading.Lock()
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(before=_GUARD.acquire, after_in_parent=_GUARD.release, after_in_child=_GUARD.release)


def _shared(key: object, make: Callable[[], V]) -> V:
    """The object of a key for this process, made if nobody holds one. A forked child starts with none: locks held by a thread of
    the parent would never be released there.
    """
    with _GUARD:
        found: V | None = _SHARED.get((os.getpid(), key))
        if found is None:
            found = _SHARED[os.getpid(), key] = make()
        return found


class Limiter:
    """Limits the calls to one endpoint. Thread-safe. `name` is the name of the endpoint in messages."""

    def __init__(self, settings: ChatSettings, name: str) -> None:
        self._settings = settings
        self._name = name
        self._slots = threading.BoundedSemaphore(settings.concurrency)
        self._lock = threading.Lock()
        self._not_before = 0.0
        self._refusal = ""
        self.refused_until = 0.0
        """When a refusal no longer applies; 0 lets the next call test whether it still does, however recent it is."""

    def run(self, one_try: Callable[[], V]) -> V:
        """Run `one_try` when allowed, and retry it after temporary failures.
        Raises: CallFailed: the last failure, if it concerns this call alone. EndpointRefused: the server will not serve us.
        EndpointBusy: it kept asking us to wait, or for longer than the settings allow.
        """
        number = 0
        while True:
            number += 1
            try:
                with self._slots:
                    return self._once(one_try)
            except CallFailed as failure:
                self._wait(failure, number)

    def _once(self, one_try: Callable[[], V]) -> V:
        """One try after any pause. A refusal is noted before the slot is released."""
        while (left := self._not_before - time.monotonic()) > 0:
            time.sleep(left)
        if time.monotonic() < self.refused_until:
            raise EndpointRefused(self._refusal)
        try:
            return one_try()
        except CallFailed as failure:
            if failure.kind is not FailureKind.REFUSED:
                raise
            self._refusal = (
                f"{self._name} {failure.reason}. No further calls are made for now; what was finished is kept. Check the "
                "address, the key, the credit and the model's name, then run the same command again"
            )
            self.refused_until = time.monotonic() + REFUSED_SECONDS
            raise EndpointRefused(self._refusal) from None

    def _wait(self, failure: CallFailed, number: int) -> None:
        """Wait and return if there is another try; raise if not."""
        last, busy = number >= self._settings.attempts, failure.kind is FailureKind.BUSY
        if not busy and (last or failure.kind not in {FailureKind.PASSING, FailureKind.UNREACHED}):
            raise failure
        grown = self._settings.backoff_seconds * 2.0 ** (number - 1) * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311
        wait = min(grown, LONGEST_WAIT) if failure.wait is None else failure.wait
        if busy and (last or wait > LONGEST_WAIT):
            raise EndpointBusy(
                f"{self._name} {failure.reason} (try {number} of {self._settings.attempts}, to wait {wait:.3g} s). What "
                "was finished is kept; run the same command again later, or lower `concurrency` under [chat]"
            ) from None
        if not busy:
            time.sleep(wait)
            return
        with self._lock:
            spread = random.uniform(0, JITTER) * min(wait, self._settings.backoff_seconds)  # noqa: S311 - no secret
            self._not_before = max(self._not_before, time.monotonic() + wait + spread)


class PaidChat(Chat):
    """The model behind `endpoint`, with its replies stored in `replies`. Thread-safe. Instances with the same file of replies pay
    once for a request; instances with the same endpoint and settings share a limiter.

    With `anew` every request is paid for, to find out whether the endpoint works now, without its stored dialect.

    Making an instance lets an endpoint that has refused be tried again: the key or the credit may be in order by now.
    Raises: UsageError: money is limited, but a price is unknown.
    """

    def __init__(
        self, endpoint: ChatEndpoint, settings: ChatSettings, replies: RememberedReplies, *, anew: bool = False
    ) -> None:
        super().__init__(endpoint.address.place, endpoint.address.model)
        if settings.limit_money and cost_of(0, 0, settings).money is None:
            raise UsageError(
                f"limit_money is set, but the price of {self.model} is not: set prompt_price and completion_price (for a million "
                "tokens; 0 if it costs nothing) under [chat], or limit calls or tokens instead"
            )
        self._anew = anew
        self._endpoint = endpoint
        self._settings = settings
        self._replies = replies
        self._refused: frozenset[str] | None = None  # the stored dialect of the endpoint, once it was read
        self._file = replies.path.resolve()
        name = f"{self.model} at {self.place}"
        self.limiter = _shared((endpoint.address, settings), lambda: Limiter(settings, name))
        self.limiter.refused_until = 0.0  # else an earlier chat's refusal would hold until that chat is collected

    def anew(self) -> PaidChat:
        """The same model, asked anew each time."""
        return PaidChat(self._endpoint, self._settings, self._replies, anew=True)

    @property
    def working_rung(self) -> Rung | None:
        """The rung that worked for this model at this place, in this process or an earlier one; stored beside the replies."""
        known = "" if self._anew else self._replies.known("rungs", self.place, self.model)
        return Rung(known) if known in set(Rung) else None

    @working_rung.setter
    def working_rung(self, rung: Rung | None) -> None:
        if rung and not self._anew:  # what works for one question need not work for all
            self._replies.note("rungs", self.place, self.model, rung.value)

    def remembered(self, request: ChatRequest) -> PaidReply | None:
        """The stored reply, for which nothing is spent now; None if there is none."""
        reply = None if self._anew else self._replies.reply(request.key)
        return None if reply is None else PaidReply(reply)

    def ask(self, request: ChatRequest) -> PaidReply:
        """The reply, remembered or paid for; see `Chat.ask`."""
        with _shared((self._file, request.key), threading.Lock):  # two threads pay once for the same request
            while True:
                known = None if self._anew else self._replies.reply(request.key, self._settings.deadline_seconds)
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
        with _shared((self._file, missing[0].key), threading.Lock):
            try:
                return _usage_of(self._called(missing))
            except CallFailed:
                return Usage()  # `ask` will report the failure

    def _called(self, requests: Sequence[ChatRequest]) -> Sequence[ChatReply]:
        self._recall()
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
            **said("input", asked.messages),
        }
        with span("chat", self.model, about) as note:
            replies = self.limiter.run(lambda: self._pay(requests))
            spent = _usage_of(replies)
            found = {
                "gen_ai.response.finish_reasons": [reply.finish for reply in replies],
                "gen_ai.usage.input_tokens": spent.prompt_tokens,
                "gen_ai.usage.output_tokens": spent.completion_tokens,
            }
            note(found | said("output", (("assistant", reply.text) for reply in replies)))
        return replies

    def _pay(self, requests: Sequence[ChatRequest]) -> Sequence[ChatReply]:
        """Ask once for all requests, and store the replies in order; none where another process was faster, unless asked anew."""
        import openai  # noqa: F401 - takes up to a second, before a call is entered as sent

        asked = requests[0]
        most = cost_of(asked.prompt_tokens, asked.max_output_tokens * len(requests), self._settings)
        longest = None if self._anew else self._settings.deadline_seconds
        call = self._replies.reserve(asked, most, self._settings, longest)
        if call is None:
            return ()
        try:
            replies = self._endpoint.send_for(asked, len(requests))
        except CallFailed as failure:
            self._replies.close_call(call, failure.reason, paid=failure.paid)
            if failure.kind is not FailureKind.CONTEXT or len(requests) > 1:
                raise
            too_long = ChatReply("", TOO_LONG, refusal=f"({failure.reason})")
            self._replies.settle(call, {asked: too_long})
            return [too_long]
        spent = _usage_of(replies)
        cost = cost_of(spent.prompt_tokens, spent.completion_tokens, self._settings)
        self._replies.settle(call, dict(zip(requests, replies, strict=False)), cost)
        if (refused := self._endpoint.refused) != self._refused:
            self._replies.note("dialects", self.place, self.model, json.dumps({"refused": sorted(refused)}))
            self._refused = refused
        return replies

    def _recall(self) -> None:
        if self._refused is None and not self._anew:
            known = self._replies.known("dialects", self.place, self.model)
            self._refused = frozenset(json.loads(known)["refused"]) if known else frozenset()
            if self._refused:
                self._endpoint.recall(self._refused)


def _usage_of(replies: Sequence[ChatReply]) -> Usage:
    return sum((reply.usage for reply in replies), Usage())


class RecordedChat(Chat):
    """The chat model of a recording."""

    working_rung = Rung.PLAIN
    """The last one, so that replies recorded on any rung are found before one counts as missing."""

    def __init__(self, path: Path, replies: dict[str, ChatReply], place: str, model: str) -> None:
        super().__init__(place, model)
        self._path = path
        self._replies = replies
        self._heard: set[str] = set()

    @classmethod
    def open(cls, path: Path, model: str = "") -> RecordedChat:
        """Open the recording at `path`; `model` chooses one of several.
        Raises: RecordingError: it was altered. UsageError: it cannot be read, is empty, or has several models and none is chosen.
        """
        stored = read_recording(path)
        origins = sorted({(reply.place, reply.model) for reply in stored if not model or reply.model == model})
        if len(origins) != 1:
            models = ", ".join(f"{name} at {place}" for place, name in origins) or "none"
            raise UsageError(
                f"a replay is of one model, and the recording {path} holds {models}"
                + (f" called {model}" if model and not origins else "")
                + ". Name one of them as HOPTRAIL_MODEL, or as model under [chat]"
            )
        replies = {reply.key: reply.reply for reply in stored if (reply.place, reply.model) == origins[0]}
        return cls(path, replies, *origins[0])

    def remembered(self, request: ChatRequest) -> PaidReply | None:
        """The recorded reply, the first time with its original usage, so that a replay reports what the run did."""
        reply = self._replies.get(request.key)
        if reply is None:
            return None
        spent = Usage() if request.key in self._heard else reply.usage
        self._heard.add(request.key)
        return PaidReply(reply, spent)

    def ask(self, request: ChatRequest) -> PaidReply:
        """The recorded reply. Raises: RecordingError: there is none; the message names the call."""
        if reply := self.remembered(request):
            return reply
        words = " ".join(request.messages[-1].text.split())
        raise RecordingError(
            f"the recording {self._path} has no reply to the call {request.key} ({request.task}, by {request.model}): "
            f"...{words[-SHOWN:]} Record the run again with the same documents, settings and version"
        )
