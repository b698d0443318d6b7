"""The endpoint in the environment: OPENAI_BASE_URL, OPENAI_API_KEY, HOPTRAIL_MODEL. No other module reads these variables.

They are read when an endpoint is opened, never at import. A key is held by an `Address` only, whose representation hides it.

Keys are removed from servers' messages, which echo them, and from what the HTTP libraries log: status lines, response headers and
addresses at DEBUG or INFO (not request headers and bodies). A key is recognised as written, as Python shows it in quotes, and by
its beginning where a text was cut. Not covered: a key that a server sends back encoded, in pieces or in another case.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus, unquote, unquote_plus, urlsplit

from hoptrail.errors import UsageError
from hoptrail.system import environment_variables

if TYPE_CHECKING:
    from ssl import SSLContext

NO_KEY = "none"
"""The key for servers that need none: the client requires one."""

SHORTEST_TOKEN = 16
"""From this length on, a value in the query of an address counts as a secret, not a switch, and a user name as a token."""

API_VERSION = "api-version"
"""A parameter in the query of Azure's addresses, which is never a secret."""

HIDDEN = "(key)"
SHORTEST = 5
"""Shorter texts are not secrets: local servers get the key `none`."""
HEAD = 8
"""The beginning, in characters, by which a cut key is recognised."""

_LIBRARIES = frozenset({"httpx2", "httpcore2", "h11", "openai"})


@dataclass(frozen=True, slots=True)
class Address:
    """The address of an endpoint, the model, and the key."""

    base_url: str
    model: str
    key: str = field(default=NO_KEY, repr=False)

    @property
    def place(self) -> str:
        """The address without user, password and query. Replies are stored under it."""
        parts = urlsplit(self.base_url)
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path.rstrip('/')}"

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must never be shown: the key, and what the address contains beside the place."""
        parts = urlsplit(self.base_url)
        user, password = parts.username or "", parts.password or ""
        if password and len(user) < SHORTEST_TOKEN:
            user = ""  # a short user name beside a password is not a secret; alone it is a token
        fields = (field.partition("=") for field in parts.query.split("&"))
        values = [value for name, _, value in fields if len(value) >= SHORTEST_TOKEN and name != API_VERSION]
        forms = [self.key]
        for written in (user, password, *values):  # as written, decoded, and as the HTTP library writes them in its log
            plain, spaced = unquote(written), unquote_plus(written)
            forms += [written, plain, spaced, quote(plain, ""), quote_plus(spaced)]
        return tuple(dict.fromkeys(filter(None, forms)))


def find_address(what: str, base_url: str = "", model: str = "", key_variable: str = "OPENAI_API_KEY") -> Address:
    """The address for `what`; empty arguments are filled from the environment.
    Raises: UsageError: no address or no model is set, the address is invalid, or the key cannot be sent.
    """
    base_url, model = configured_base_url(base_url), configured_model(model)
    if not base_url:
        raise UsageError(
            f"{what} needs an address: set OPENAI_BASE_URL, for example to https://api.openai.com/v1, and OPENAI_API_KEY if it "
            "needs a key, or let `hoptrail setup` find a server on this machine"
        )
    if not model:
        raise UsageError(f"{what} needs a model: set HOPTRAIL_MODEL, or `model` under [chat] in the settings file")
    address = Address(base_url, model, find_key(key_variable) or NO_KEY)
    try:
        usable = urlsplit(base_url).scheme in {"http", "https"} and bool(urlsplit(base_url).hostname)
        usable = usable and bool(address.place)
    except ValueError:
        usable = False
    if not usable:
        raise UsageError(f"{what} has an invalid address; it must begin with http:// or https:// and name a host")
    return address


def find_key(variable: str) -> str:
    """The key in an environment variable, without the line end that files of keys often have; empty where there is none.
    Raises: UsageError: it cannot be sent in an HTTP header. Checked here, because every call would fail and count as paid.
    """
    key = environment_variables.variable(variable).strip()
    if not (key.isascii() and key.isprintable()):
        raise UsageError(
            f"the key in {variable} has characters that no key has: letters beyond ASCII, perhaps a dash or a quotation mark "
            "that a word processor changed, or a line end. Copy it again from where it was made"
        )
    return key


def configured_base_url(base_url: str = "") -> str:
    """`base_url`, or the one that the environment names; empty where neither does. Of the whole address of a call, which people
    copy from examples, the end is dropped. All else stays as it is written: an index knows its encoder by the address.
    """
    named = base_url or environment_variables.variable("OPENAI_BASE_URL")
    return re.sub(r"(?<=[^/:])/+(?:chat/completions|embeddings|models)/*(?=\Z|\?)", "", named)


def configured_model(model: str = "") -> str:
    """`model`, or the one that the environment names; empty where neither does."""
    return model or environment_variables.variable("HOPTRAIL_MODEL")


def certificates() -> SSLContext:
    """The authorities that certificates of servers are checked with, read once: that takes as long as many a call."""
    return _certificates(*map(environment_variables.variable, ("SSL_CERT_FILE", "SSL_CERT_DIR")))


@cache
def _certificates(_file: str, _folder: str) -> SSLContext:
    import httpx2

    return httpx2.create_ssl_context()  # reads both variables itself


def without(text: str, secrets: Iterable[str]) -> str:
    """`text` with all secrets, and beginnings of them from HEAD characters on, replaced."""
    for secret in [form for one in secrets if len(one) >= SHORTEST for form in {one, repr(one)[1:-1]}]:
        parts, at = [], 0
        while (found := text.find(secret[:HEAD], at)) >= 0:
            parts += [text[at:found], HIDDEN]
            shown = text[found : found + len(secret)]
            at = found + next((end for end in range(len(shown), 0, -1) if secret.startswith(shown[:end])), 0)
        text = "".join([*parts, text[at:]])
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
