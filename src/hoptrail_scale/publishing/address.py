"""Addresses on object stores, and the environment variables about them.

The client library reads credentials and endpoints from the environment itself (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
AWS_SESSION_TOKEN, AWS_REGION, AWS_ENDPOINT_URL, and their counterparts with GOOGLE_ and AZURE_). This module reads only what the
library must be told, whether the endpoint has no TLS, and the secrets that must not appear in messages.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from urllib.parse import unquote, urlsplit

from hoptrail.errors import UsageError
from hoptrail.system.environment_variables import variable, variables

SCHEMES = ("s3", "gs", "az")

_SECRET = re.compile(r"^(AWS|AZURE|GOOGLE)_.*(KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|SAS)")
_ENDPOINT = re.compile(r"^(AWS|AZURE|GOOGLE)_.*ENDPOINT")
_ACCOUNTS = ("GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_PATH", "GOOGLE_SERVICE_ACCOUNT_KEY")


@dataclass(frozen=True, slots=True)
class StoreAddress:
    """SCHEME://BUCKET/PATH, without secrets. Use `of`."""

    scheme: str
    bucket: str
    path: str

    @classmethod
    def of(cls, text: str) -> Self:
        """Parse an address. Raises: UsageError: it is not an address of an object store, or contains credentials."""
        scheme, mark, rest = text.partition("://")
        shown = re.split(r"[?#]", text)[0]  # the rest may be a signature
        bucket, _, path = rest.rstrip("/").partition("/")
        if "@" in bucket or ":" in bucket:
            raise UsageError(
                f"an address is {scheme}://BUCKET/PATH, without user or password: credentials come from the environment."
            )
        if not mark or scheme not in SCHEMES:
            known = ", ".join(f"{name}://" for name in SCHEMES)
            raise UsageError(f"{shown} is not an address of an object store, which begins with one of {known}.")
        parts = path.split("/") if path else []
        if not bucket or {"", ".", ".."} & set(parts) or re.search(r"[?#%\\\x00-\x1f]", rest):
            raise UsageError(f"{shown} is not a usable address: write {scheme}://BUCKET/PATH, without ? # % and \\.")
        return cls(scheme, bucket, path)

    def __str__(self) -> str:
        return f"{self.scheme}://{self.bucket}/{self.path}".rstrip("/")

    @property
    def folder_name(self) -> str:
        """A unique and readable folder name for the address."""
        readable = re.sub(r"[^A-Za-z0-9-]+", "-", str(self))[-60:].strip("-")
        return f"{readable}-{hashlib.sha256(str(self).encode()).hexdigest()[:12]}"


def is_address(text: str) -> bool:
    """Whether a text is an address, not a path."""
    return "://" in text


def endpoint() -> str:
    """The endpoint in the environment, without user and password; empty where there is none."""
    named = next((value for value in _endpoints() if value), "")
    parts = urlsplit(named)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}" if named else ""


def without_tls() -> bool:
    """Whether the environment names an endpoint without TLS."""
    return any(value.startswith("http://") for value in _endpoints())


def secrets() -> tuple[str, ...]:
    """The secrets of object stores in the environment."""
    values = variables(_SECRET).values()
    passwords = [urlsplit(value).password or "" for value in _endpoints()]
    keys = _of_google_account("private_key")
    return tuple(value for value in (*values, *keys, *passwords, *map(unquote, passwords)) if value)


def _endpoints() -> list[str]:
    named = variables(_ENDPOINT).values()
    return [*named, *_of_google_account("gcs_base_url")]


def _of_google_account(name: str) -> list[str]:
    """The field `name` of the service account in the environment, if it is a text."""
    for account_variable in _ACCOUNTS:
        try:
            value = variable(account_variable)
            account = json.loads(value if account_variable.endswith("KEY") else Path(value).read_text(encoding="utf-8"))
        except (OSError, ValueError):  # the client library reports what is wrong
            continue
        if isinstance(account, dict) and isinstance(account.get(name), str):
            return [account[name]]
    return []
