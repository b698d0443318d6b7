"""Addresses on object stores, and what the environment says of them.

Credentials and endpoints come from the environment, which the library that reaches the store reads itself (AWS_ACCESS_KEY_ID,
AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION, AWS_ENDPOINT_URL, and their like of GOOGLE_ and AZURE_). Read here is only
what the library has to be given: whether the endpoint has no TLS; and what must appear in no message.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from urllib.parse import unquote, urlsplit

from hoptrail.errors import UsageError

SCHEMES = ("s3", "gs", "az")

_SECRET = re.compile(r"^(AWS|AZURE|GOOGLE)_.*(KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|SAS)")
_ENDPOINT = re.compile(r"^(AWS|AZURE|GOOGLE)_.*ENDPOINT")
_ACCOUNTS = ("GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_PATH", "GOOGLE_SERVICE_ACCOUNT_KEY")


@dataclass(frozen=True, slots=True)
class Address:
    """SCHEME://BUCKET/PATH, without anything secret. Use `of`."""

    scheme: str
    bucket: str
    path: str

    @classmethod
    def of(cls, text: str) -> Self:
        """Raises: UsageError: not an address of an object store, or one with credentials in it."""
        scheme, mark, rest = text.partition("://")
        shown = re.split(r"[?#]", text)[0]  # what follows may be a signature
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
        """A name for a folder of its own."""
        readable = re.sub(r"[^A-Za-z0-9-]+", "-", str(self))[-60:].strip("-")
        return f"{readable}-{hashlib.sha256(str(self).encode()).hexdigest()[:12]}"


def is_address(text: str) -> bool:
    """Whether a text is meant as an address, not as a path."""
    return "://" in text


def endpoint() -> str:
    """The endpoint that the environment names, without user and password; empty where it names none."""
    named = next((value for value in _endpoints() if value), "")
    parts = urlsplit(named)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}" if named else ""


def without_tls() -> bool:
    """Whether the environment names an endpoint without TLS."""
    return any(value.startswith("http://") for value in _endpoints())


def secrets() -> tuple[str, ...]:
    """Values of the environment that are keys to an object store."""
    values = [value for name, value in os.environ.items() if _SECRET.match(name)]
    passwords = [urlsplit(value).password or "" for value in _endpoints()]
    keys = _of_google_account("private_key")
    return tuple(value for value in (*values, *keys, *passwords, *map(unquote, passwords)) if value)


def _endpoints() -> list[str]:
    named = [value for name, value in sorted(os.environ.items()) if _ENDPOINT.match(name)]
    return [*named, *_of_google_account("gcs_base_url")]


def _of_google_account(name: str) -> list[str]:
    """A text that the service account of the environment has under this name."""
    for variable in _ACCOUNTS:
        try:
            given = os.environ[variable]
            account = json.loads(given if variable.endswith("KEY") else Path(given).read_text(encoding="utf-8"))
        except (KeyError, OSError, ValueError):  # the library that reaches the store says what is wrong with it
            continue
        if isinstance(account, dict) and isinstance(account.get(name), str):
            return [account[name]]
    return []
