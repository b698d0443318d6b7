"""Keeping keys out of text: out of what a server's words become on our side, and out of what the HTTP libraries log.

Those libraries log status lines, response headers and addresses at DEBUG or INFO, and servers echo keys in them. (Request
headers and bodies they do not log.) A key is known as it is written, as Python shows it inside quotes, and by its beginning,
where a text was cut in the middle of it. Not known: a key that a server sends back encoded, in pieces or in other letters.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

HIDDEN = "(key)"
SHORTEST = 5
"""Characters below which a text is no secret: local servers are sent the key `none`."""
HEAD = 8
"""Characters by which a key that was cut off is still recognised."""

_LIBRARIES = frozenset({"httpx2", "httpcore2", "h11", "openai"})


def without(text: str, secrets: Iterable[str]) -> str:
    """`text` with every secret, and every longer beginning of one, replaced."""
    for secret in secrets:
        if len(secret) >= SHORTEST:
            for form in {secret, repr(secret)[1:-1]}:
                text = _without_form(text, form)
    return text


def without_whole(text: str, secret: str) -> str:
    """`text` with the whole secret replaced and nothing else: for what is worth more than a beginning that looks alike."""
    return text.replace(secret, HIDDEN) if len(secret) >= SHORTEST else text


def hide_in_logs(secrets: Iterable[str]) -> None:
    """From now on, no logger that the HTTP libraries have by now shows any of `secrets`."""
    _hiding.secrets |= {secret for secret in secrets if len(secret) >= SHORTEST}
    for name in list(logging.root.manager.loggerDict):
        if name.split(".")[0] in _LIBRARIES:
            logging.getLogger(name).addFilter(_hiding)


class _Hiding(logging.Filter):
    """Lets every record through, without secrets. One for the process: loggers are the process's as well."""

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
