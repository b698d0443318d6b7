"""The HTTP client of chat models and encoders for endpoints with an OpenAI API, and how a single try of a call can fail.

Redirects are not followed. The size of everything that is read is bounded, including what the library reads by itself: bodies of
error statuses, single events of a stream. A query in the address (`?api-version=...`) is sent with every request.

A deadline applies to a whole exchange: the library's own time limits are per read, and one byte per second passes them all. An
event loop of its own can give up an exchange wherever it waits, but returns only after the thread that looks up the host.

The number of a status other than 200 decides what a failure is, and where that is not enough the server's message; servers agree
on neither. Some respond with 500 or 404 when they do not know a reply format.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

from hoptrail.models.environment import Address, certificates, hide_in_logs, without
from hoptrail.models.prompt_text import whole_text

V = TypeVar("V")

LARGEST_BODY = 64_000_000
"""The most bytes of a reply, decompressed, that are read."""


def in_time(seconds: float, work: Callable[[], Awaitable[V]]) -> V:
    """What `work` comes to, in an event loop of its own. Raises: TimeoutError: it took longer."""
    task: asyncio.Task[Any] | None = None

    async def timed() -> V:
        nonlocal task
        task = asyncio.current_task()
        async with asyncio.timeout(seconds):
            result = await work()
        if task and task.cancelling():  # by an interrupt, which `work` took for the end of the time
            raise asyncio.CancelledError
        return result

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(timed())
    with ThreadPoolExecutor(1) as pool:  # of a notebook, say, which has a loop in this thread
        running = pool.submit(copy_context().run, asyncio.run, timed())
        try:
            return running.result()
        except BaseException:
            with suppress(RuntimeError):  # the loop has ended
                if task:  # else an interrupt would wait for it
                    task.get_loop().call_soon_threadsafe(task.cancel)
            raise


def exchanged(
    address: Address,
    seconds: float,
    exchange: Callable[[Any], Awaitable[V]],
    body: Collection[str] = (),
    retries: int = 0,
) -> V:
    """What `exchange` makes of the client for an address, with `seconds` for each try, and one deadline for all. No log of the
    client shows a secret of the address. `body` has the parameters of the request.
    Raises: CallFailed: whatever went wrong, without any secret.
    """
    import openai  # takes up to a second, before the deadline runs

    async def work() -> V:
        parts = urlsplit(address.base_url)
        http = openai.DefaultAsyncHttpxClient(
            follow_redirects=False, verify=certificates(), params=parts.query, event_hooks={"response": [_bound]}
        )
        client = openai.AsyncOpenAI(
            base_url=urlunsplit(parts._replace(query="", fragment="")),
            api_key=address.key,
            max_retries=retries,
            timeout=openai.Timeout(seconds, connect=0.9 * seconds),  # before the deadline, which counts as paid
            http_client=http,
        )
        hide_in_logs(address.secrets)
        async with client:
            return await exchange(client)

    whole = seconds * (retries + 1)
    try:
        return in_time(whole, work)
    except TimeoutError:
        failure = CallFailed(FailureKind.PASSING, f"did not finish within {whole:g} seconds", paid=True)
    except Exception as error:  # noqa: BLE001 - untrusted bytes may raise anything in the libraries; only this call fails
        failure = failure_of(error, body)
    nowhere = failure.status in {404, 405} and not address.place.endswith("/v1")
    reason = failure.reason + (f". Most servers have their models at {address.place}/v1" if nowhere else "")
    reason = without(whole_text(reason), address.secrets)
    # Without its cause: the library's errors contain the request, and servers echo the key.
    raise CallFailed(failure.kind, reason, paid=failure.paid, wait=failure.wait, status=failure.status) from None


async def _bound(response: Any) -> None:
    """A response hook that limits the size of the body, and spares a request that is too large the client's own retries."""
    unbounded = response.aiter_bytes

    async def bounded(chunk_size: int | None = None) -> AsyncIterator[bytes]:
        total = 0
        async for chunk in unbounded(chunk_size):
            total += len(chunk)
            if total > LARGEST_BODY:
                await response.aclose()
                reason = f"sent more than {LARGEST_BODY:,} bytes"
                raise CallFailed(FailureKind.NONSENSE, reason, paid=response.is_success)
            yield chunk

    response.aiter_bytes = bounded
    if response.status_code == 500 and _TOO_LONG.search((await response.aread()).decode("utf-8", "replace")):
        response.headers["x-should-retry"] = "false"


SHOWN = 500
"""The most characters of a server's message that are passed on."""


class FailureKind(StrEnum):
    """What to do after a failed try."""

    BUSY = "busy"  # all calls wait, then retry
    PASSING = "passing"  # this call waits, then retries
    UNREACHED = "unreached"  # the same; no connection was made
    REFUSED = "refused"  # stop at once
    FORMAT = "format"  # the request is not understood; one without a reply format may be
    CONTEXT = "context"  # the prompt is too long for the model
    NONSENSE = "nonsense"  # not a reply of a chat endpoint, or not to this request


class CallFailed(Exception):
    """One try failed.

    `paid`: the server may have billed it, because the model may have run. `wait`: the seconds that the server asked us to wait.
    `status`: the number of its reply, if that was the failure.
    """

    def __init__(
        self, kind: FailureKind, reason: str, *, paid: bool = False, wait: float | None = None, status: int = 0
    ) -> None:
        super().__init__(reason)
        self.kind, self.reason, self.paid, self.wait, self.status = kind, reason, paid, wait, status


_NO_CREDIT = re.compile(r"(?i)insufficient[_ ](?:quota|funds|balance|credit)|exceeded[_ ](?:your )?current[_ ]quota")
_RATE = re.compile(r"\bper[ -](?:sec|min|hour|day)|rate[ _-]?limit|(?:try again|retry) (?:in|after)", re.IGNORECASE)
_TIME = r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)(?:ec(?:ond)?s?|in(?:ute)?s?|ours?|ays?)?(?![a-z])"
_WAIT = re.compile(rf"(?:try again|retry) (?:in|after)\s+((?:{_TIME}\s*)+)", re.IGNORECASE)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_TOO_LONG = re.compile(
    r"(?i)context[_ ]length|context (?:window|size)|maximum (?:context|(?:prompt|model) length)|maximum.{0,20}\btokens|"
    r"too many tokens|(?:prompt|input) is too l(?:ong|arge)|request too large|`inputs` (?:tokens|must have less)"
)
_TOO_LARGE = re.compile("request too large", re.IGNORECASE)
"""Larger than what is allowed in a minute: waiting would not help."""
_MODERATED = re.compile(r"flagged|moderat|content[_ ](?:policy|filter|management)|guardrail", re.IGNORECASE)
NAMES_FORMAT = re.compile(
    r"(?i)response[_ ](?:format|schema)|json[_ ]?(?:schema|object|mode|validate)|generate json|structured[_ ]?outputs?|"
    r"\btools?\b|tool[_ ](?:choice|call|use)|function[_ ]call|\bgrammar|guided[_ ](?:json|decoding)|requested parameters"
)
"""Finds words about the requested form of a reply, and about what servers make of it."""
LOADING_SECONDS = 10.0
"""How long a call waits for a model that its server is loading, before each of its other tries."""
_LOADING = re.compile(r"\bloading\b", re.IGNORECASE)
_NOWHERE = re.compile("unexpected endpoint", re.IGNORECASE)
"""How LM Studio says with status 200 that there is nothing at an address."""
_PAGE = re.compile(r"\A\s*<(?:!doctype|html)(?:.*?<title>(.*?)</title>)?.*", re.IGNORECASE | re.DOTALL)
"""A web page and its title, which gateways send in place of an error."""
_GATEWAY_TIMEOUTS = {504, 524}
"""A gateway stopped waiting for the server; the model may have continued, and been billed."""


def failure_of(error: Exception, body: Collection[str] = ()) -> CallFailed:
    """The failure that an error stands for, in reply to a request with these parameters. A connection that was never made cost
    nothing; a lost one may have.
    """
    import httpx2
    import openai

    cause = error.__cause__ or error
    for failure in (error, cause):
        if isinstance(failure, CallFailed):
            return failure
    if isinstance(error, openai.APIStatusError):
        words = words_of(error.body)
        return failure_of_status(error.status_code, error.response.headers, words, formed="response_format" in body)
    words = " ".join(str(error).split())
    if isinstance(error, openai.APIConnectionError | httpx2.TransportError):
        never = isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout)
        words = " ".join(dict.fromkeys((words.rstrip("."), str(cause)))).strip()
        kind = FailureKind.UNREACHED if never else FailureKind.PASSING
        return CallFailed(kind, f"could not be asked: {words or type(cause).__name__}", paid=not never)
    return CallFailed(FailureKind.PASSING, f"sent a broken reply ({words[:SHOWN]})", paid=True)


def failure_of_status(status: int, headers: Mapping[str, str], words: str, *, formed: bool = False) -> CallFailed:
    """The failure for a status. `formed`: the request asked for a reply format, which the server's words may be about."""
    wait = _wait(headers, words)
    if wait is None and status == 503 and _LOADING.search(words):
        wait = LOADING_SECONDS
    # Servers say "check your plan and billing" also when only the rate of requests is too high.
    no_credit = wait is None and _NO_CREDIT.search(words) and not _RATE.search(words)
    about_format = formed and NAMES_FORMAT.search(words)
    if status in {400, 403} and _MODERATED.search(words):
        kind = FailureKind.NONSENSE  # the content was refused, not the user
    elif status in {401, 402, 403, 405} or (status == 404 and not about_format) or (status == 429 and no_credit):
        kind = FailureKind.REFUSED
    elif status == 413 or _TOO_LARGE.search(words) or (status in {400, 422, 500} and _TOO_LONG.search(words)):
        kind = FailureKind.CONTEXT
    elif status == 429 or (status in {503, 529} and wait is not None):
        kind = FailureKind.BUSY
    elif status in {400, 422, 501} or about_format:
        kind = FailureKind.FORMAT
    elif status in {408, 409, 425} or status >= 500:
        kind = FailureKind.PASSING
    else:
        kind = FailureKind.NONSENSE
    reason = f"answered with status {status}" + (f": {words[:SHOWN]}" if words else "")
    return CallFailed(kind, reason, paid=status in _GATEWAY_TIMEOUTS, wait=wait, status=status)


def failure_within(error: Any, told: str) -> CallFailed:
    """The failure for an `error` inside a reply with status 200, by its code as the status would be; `told`: where it stood."""
    words = words_of(error)
    code = str(error.get("code", "")) if isinstance(error, dict) else ""
    guessed = 429 if _RATE.search(words.replace("_", " ")) else 404 if _NOWHERE.search(words) else 502
    failure = failure_of_status(int(code) if re.fullmatch(r"[45]\d\d", code) else guessed, {}, words)
    failure.reason = f"{told} the error {words[:SHOWN] or failure.status}"
    return failure


def words_of(content: Any) -> str:
    """A server's words for a fault, and its names for it (sometimes only `insufficient_quota`), from the body of an error; empty
    where it has none. Some send a list, some an object for the message, some pass on what their provider said (`metadata.raw`).
    """
    content = content[0] if isinstance(content, list) and content else content
    content = content.get("error", content) if isinstance(content, dict) else content
    parts = [content]
    if isinstance(content, dict):
        parts = [content.get(name) for name in ("message", "detail", "type", "code", "status", "param")]
        about = content.get("metadata")
        parts.append(about.get("raw") if isinstance(about, dict) else None)
    texts = [one if isinstance(one, str) else json.dumps(one) for one in parts if isinstance(one, str | list | dict)]
    words = [" ".join(_PAGE.sub(r"a web page (\1)", text).split()) for text in texts]
    return " ".join(dict.fromkeys(filter(None, words)))


def _wait(headers: Mapping[str, str], words: str) -> float | None:
    """The seconds to wait, from `Retry-After` (seconds, or a date by the server's clock), else from the server's words ("try
    again in 1m3.5s"); None where neither says so.
    """
    named = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d+(?:\.\d+)?", named):
        return float(named)
    try:
        until = parsedate_to_datetime(named)
        now = parsedate_to_datetime(headers.get("date", ""))
        return max(0.0, (until - now).total_seconds())
    except (ValueError, TypeError, OverflowError):
        said = _WAIT.search(words)
    if said is None:
        return None
    return sum(float(number) * _SECONDS[unit.lower()] for number, unit in re.findall(_TIME, said[1], re.IGNORECASE))
