"""Removing keys from text: from servers' messages, and from what the HTTP libraries log.

These libraries log status lines, response headers and addresses at DEBUG or INFO (not request headers and bodies), and servers
echo keys in them. A key is recognised as written, as Python shows it in quotes, and by its beginning where a text was cut. Not
covered: a key that a server sends back encoded, in pieces or in another case.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

HIDDEN = "(key)"
SHORTEST = 5
"""Shorter texts are not secrets: local servers get the key `none`."""
HEAD = 8
"""The beginning, in characters, by which a cut key is recognised."""

_LIBRARIES = frozenset({"httpx2", "httpcore2", "h11", "openai"})


def without(text: str, secrets: Iterable[str]) -> str:
    """`text` with all secrets, and beginnings of them from HEAD characters on, replaced."""
    for secret in secrets:
        if len(secret) >= SHORTEST:
            for form in {secret, repr(secret)[1:-1]}:
                text = _without_form(text, form)
    return text


def without_whole(text: str, secret: str) -> str:
    """`text` with the whole secret replaced, but not beginnings of it: for replies, which must not be altered needlessly."""
    return text.replace(secret, HIDDEN) if len(secret) >= SHORTEST else text


def hide_in_logs(secrets: Iterable[str]) -> None:
    """Remove `secrets` from everything that the existing loggers of the HTTP libraries log from now on."""
    _hiding.secrets |= {secret for secret in secrets if len(secret) >= SHORTEST}
    for name in list(logging.root.manager.loggerDict):
        if name.split(".")[0] in _LIBRARIES:
            logging.getLogger(name).addFilter(_hiding)


class _Hiding(logging.Filter):
    """Removes secrets from log records. There is one per process, as for loggers."""

    def __init__(self) -> None:
        super().__init__()
        self.secrets: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        secrets = tuple(self.secrets)
        record.msg, record.args = without(record.getMessage(), secrets), None
        if record.exc_info:
            record.exc_text = without(logging.Formatter().formatException(record.exc_info), secrets)
            record.exc_info = None
        return True


_hiding = _Hiding()


def _without_form(text: str, secret: str) -> str:
    parts, at = [], 0
    while (found := text.find(secret[:HEAD], at)) >= 0:
        parts += [text[at:found], HIDDEN]
        shown = text[found : found + len(secret)]
        at = found + next((end for end in range(len(shown), 0, -1) if secret.startswith(shown[:end])), 0)
    return "".join([*parts, text[at:]])
