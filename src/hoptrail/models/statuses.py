"""What a status other than 200 calls for: again later, never again, with less, or in another form.

By its number, and where that says too little by the server's words: servers agree on neither. Some answer 500 or 404 where they
mean that they do not know a reply format.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from hoptrail.models.failures import SHOWN, CallFailed, FailureKind
from hoptrail.models.logprobs import names_logprobs

_NO_CREDIT = re.compile(
    r"insufficient[_ ](?:quota|funds|balance|credit)|exceeded[_ ](?:your )?current[_ ]quota", re.IGNORECASE
)
_RATE = re.compile(r"\bper[ -](?:sec|min|hour|day)|rate[ _-]?limit|(?:try again|retry) (?:in|after)", re.IGNORECASE)
_TIME = r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)(?:ec(?:ond)?s?|in(?:ute)?s?|ours?|ays?)?(?![a-z])"
_WAIT = re.compile(rf"(?:try again|retry) (?:in|after)\s+((?:{_TIME}\s*)+)", re.IGNORECASE)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_TOO_LONG = re.compile(
    r"context[_ ]length|context (?:window|size)|maximum (?:context|(?:prompt|model) length)|maximum.{0,20}tokens|too many tokens|"
    r"(?:prompt|input) is too long|`inputs` (?:tokens|must have less)",
    re.IGNORECASE,
)
_MODERATED = re.compile(r"flagged|moderat|content[_ ]policy|guardrail", re.IGNORECASE)
_FORMAT = re.compile(
    r"response[_ ]format|json[_ ]?(?:schema|object|mode)|structured[_ ]?outputs?|\btools?\b|tool[_ ](?:choice|call|use)|"
    r"function[_ ]call|\bgrammar|guided[_ ](?:json|decoding)",
    re.IGNORECASE,
)
"""What a reply format is called, or what servers make of one."""
_GATEWAY_TIMEOUTS = {504, 524}
"""What stands between us and the server stopped waiting for it; the model may have run on, and been billed."""


def failure_of_status(
    status: int, headers: Mapping[str, str], words: str, *, formed: bool = False, logprobs: bool = False
) -> CallFailed:
    """What this status calls for. `formed`: the request asked for a reply format, `logprobs`: for log-probabilities, which the
    words may be about.
    """
    reason = f"answered with status {status}" + (f": {words[:SHOWN]}" if words else "")
    if logprobs and status != 429 and names_logprobs(words):
        return CallFailed(FailureKind.FORMAT, reason)  # some forbid them (403), some break (500)
    wait = _wait(headers, words)
    if status == 403 and _MODERATED.search(words):
        return CallFailed(FailureKind.NONSENSE, reason)  # what was asked was refused, not who asked
    # Servers say "check your plan and billing" also to those who only ask too often in a minute.
    no_credit = wait is None and _NO_CREDIT.search(words) and not _RATE.search(words)
    about_format = formed and names_format(words)
    if status in {401, 402, 403} or (status == 404 and not about_format) or (status == 429 and no_credit):
        return CallFailed(FailureKind.REFUSED, reason)
    if status == 429 or (status in {503, 529} and wait is not None):
        return CallFailed(FailureKind.BUSY, reason, wait=wait)
    if status in {400, 413, 422, 500} and _TOO_LONG.search(words):
        return CallFailed(FailureKind.CONTEXT, reason)
    if status in {400, 422, 501} or about_format:
        return CallFailed(FailureKind.FORMAT, reason)
    if status in {408, 409, 425} or status >= 500:
        return CallFailed(FailureKind.PASSING, reason, paid=status in _GATEWAY_TIMEOUTS)
    return CallFailed(FailureKind.NONSENSE, reason)


def names_format(words: str) -> bool:
    """Whether a server's words are about the form in which a reply was asked for."""
    return _FORMAT.search(words) is not None


def _wait(headers: Mapping[str, str], words: str) -> float | None:
    """Seconds that `Retry-After` asks for, given as such or as a date by the server's own clock, or else the server's words
    ("try again in 1m3.5s"); None where neither does.
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
