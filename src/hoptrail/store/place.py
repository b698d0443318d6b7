"""Where an index is: a folder of this machine, or a path in an object store. The one home of "is it local".

Credentials and endpoints of object stores come from the environment, which the libraries that reach the store read
themselves (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION, AWS_ENDPOINT_URL, and their like of
GOOGLE_ and AZURE_). Read here is only what they are not told otherwise: whether the endpoint is one without TLS, what must
show nowhere, and where this machine keeps what belongs to an index that is elsewhere. Knows nothing of files or tables.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from hoptrail.errors import UsageError

SCHEMES = ("s3", "gs", "az")

_SECRET = re.compile(r"^(AWS|AZURE|GOOGLE)_.*(KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|SAS)")
_ENDPOINT = re.compile(r"^(AWS|AZURE|GOOGLE)_.*ENDPOINT")


@dataclass(frozen=True, slots=True)
class Place:
    """`address` is a path of this machine, or SCHEME://BUCKET/PATH without anything secret. Made by `of`."""

    address: str
    is_local: bool = True

    @classmethod
    def of(cls, where: str | Path | Place) -> Place:
        """The place that a user means.

        Raises:
            UsageError: no text, an address that is no place for an index, or one with credentials in it.
        """
        if isinstance(where, Place):
            return where
        if not str(where).strip():
            raise UsageError(  # it would be the current folder, and comes of a variable that is not set
                "an index cannot be at an empty address: name a folder, . for the current one, or an address as s3://BUCKET/PATH."
            )
        scheme, mark, rest = str(where).partition("://")
        if (
            isinstance(where, Path)
            and where.parts[:1]
            and where.parts[0].rstrip(":") in SCHEMES
            and ":" in where.parts[0]
        ):
            raise UsageError(
                f"{_without_query(str(where))} is written as a path, which loses a slash: give addresses of object stores as "
                f"text."
            )
        if isinstance(where, Path) or not mark:
            return cls(str(Path(where).expanduser()))
        return cls(f"{scheme}://{_checked(scheme, rest)}", is_local=False)

    def __str__(self) -> str:
        return self.address

    @property
    def folder(self) -> Path:
        """The index folder, of a local place."""
        if not self.is_local:
            raise UsageError(f"this works on a folder of this machine only, not on {self}.")
        return Path(self.address)

    @property
    def beside(self) -> Path:
        """The folder of this machine for what belongs to the index but not into it: paid replies, uploads under way.

        For a local index that is the index folder; for another one, a folder of its own under HOPTRAIL_DATA or, without
        that, where the system has programs keep a user's data: nothing that was paid for lies in a cache.
        """
        if self.is_local:
            return self.folder
        name = re.sub(r"[^A-Za-z0-9-]+", "-", self.address)[-80:].strip("-")
        return _data_folder() / "indexes" / f"{name}-{hashlib.sha256(self.address.encode()).hexdigest()[:12]}"

    @property
    def identity(self) -> str:
        """The same for two places that are one."""
        return str(self.folder.resolve()) if self.is_local else self.address


def _checked(scheme: str, rest: str) -> str:
    """Bucket and path of an address, without slashes at the end."""
    bucket, _, path = rest.rstrip("/").partition("/")
    if scheme not in SCHEMES:
        known = ", ".join(f"{name}://" for name in SCHEMES)
        raise UsageError(
            f"an index cannot be at an address that begins with {scheme}://; it may be in a folder, or {known}."
        )
    if "@" in bucket or ":" in bucket:
        raise UsageError(
            f"an address is {scheme}://BUCKET/PATH, without user or password: credentials come from the environment."
        )
    if (
        not bucket
        or any(part in {"", ".", ".."} for part in path.split("/") if path)
        or re.search(r"[?#%\\\x00-\x1f]", rest)
    ):
        raise UsageError(
            f"{scheme}://{_without_query(rest)} is no place for an index: an address is {scheme}://BUCKET/PATH, without "
            f"? # % and \\."
        )
    return f"{bucket}/{path}" if path else bucket


def _without_query(address: str) -> str:
    """As much of an address as may be shown: what follows ? or # may be a signature."""
    return re.split(r"[?#]", address)[0]


def _data_folder() -> Path:
    chosen = os.environ.get("HOPTRAIL_DATA", "")
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_data_path

    return user_data_path("hoptrail", appauthor=False)


def endpoint() -> str:
    """The endpoint that the environment names, without user and password; empty for the usual one of the store."""
    named = next((value for value in _endpoints() if value), "")
    parts = urlsplit(named)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}" if named else ""


def without_tls() -> bool:
    """Whether the environment asks for an endpoint without TLS, by its address: a server of one's own, or a test's."""
    return any(value.startswith("http://") for value in _endpoints())


def secrets() -> tuple[str, ...]:
    """What must show in no message: values of the environment that are keys to an object store."""
    values = [value for name, value in os.environ.items() if _SECRET.match(name)]
    passwords = [urlsplit(value).password or "" for value in _endpoints()]
    keys = _of_google_account("private_key")
    return tuple(value for value in (*values, *keys, *passwords, *map(unquote, passwords)) if value)


def _endpoints() -> list[str]:
    named = [value for name, value in sorted(os.environ.items()) if _ENDPOINT.match(name)]
    return [*named, *_of_google_account("gcs_base_url")]


def _of_google_account(name: str) -> list[str]:
    """A text that a service account of the environment has under this name: another server is named there, and a key kept."""
    for variable in ("GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_PATH", "GOOGLE_SERVICE_ACCOUNT_KEY"):
        try:
            given = os.environ[variable]
            account = json.loads(given if variable.endswith("KEY") else Path(given).read_text(encoding="utf-8"))
        except (KeyError, OSError, ValueError):  # the libraries say what is wrong with it
            continue
        if isinstance(account, dict) and isinstance(account.get(name), str):
            return [account[name]]
    return []
