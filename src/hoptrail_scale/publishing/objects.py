"""Addresses on object stores, and the objects below them: reading, conditional writing, listing, deleting.

The client library has few types of errors, so these are recognised by words in their messages. The messages raised here say what
to do. Those of stores may quote keys, which are removed.

The client library reads credentials and endpoints from the environment itself (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
AWS_SESSION_TOKEN, AWS_REGION, AWS_ENDPOINT_URL, and their counterparts with GOOGLE_ and AZURE_). This module reads only what the
library must be told, whether the endpoint has no TLS, and the secrets that must not appear in messages.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Self
from urllib.parse import unquote, urlsplit

from hoptrail.errors import StorageError, UsageError
from hoptrail.models.environment import without
from hoptrail.system.environment_variables import variable, variables

if TYPE_CHECKING:
    from obstore import UpdateVersion
    from obstore.store import ObjectStore

SCHEMES = ("s3", "gs", "az")

_SECRET = re.compile(r"^(AWS|AZURE|GOOGLE)_.*(KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|SAS)")
_ENDPOINT = re.compile(r"^(AWS|AZURE|GOOGLE)_.*ENDPOINT")
_ACCOUNTS = ("GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_PATH", "GOOGLE_SERVICE_ACCOUNT_KEY")
STREAMS = 16  # concurrent requests
RETRIES, RETRY_SECONDS = 5, 30  # how often and for how many seconds a failing request is retried


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


def endpoint() -> str:
    """The endpoint in the environment, without user and password; empty where there is none."""
    named = next((value for value in _endpoints() if value), "")
    parts = urlsplit(named)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}" if named else ""


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


class Outdated(Exception):
    """A conditional write was refused: the object is not the version that it was to replace."""


class Unchanged(Exception):
    """An object still has the known version."""


class Objects:
    """The objects below an address, by name. Thread-safe. Failures other than those documented raise StorageError."""

    def __init__(self, address: StoreAddress) -> None:
        from obstore.store import from_url

        self.address = address
        without_tls = any(value.startswith("http://") for value in _endpoints())
        with self._failing():
            self._store: ObjectStore = from_url(
                str(address),
                client_options={"allow_http": without_tls, "connect_timeout": timedelta(seconds=5)},
                retry_config={"max_retries": RETRIES, "retry_timeout": timedelta(seconds=RETRY_SECONDS)},
            )

    def get(self, name: str) -> bytes | None:
        """An object; None where there is none."""
        found = self.get_version(name)
        return found and found[0]

    def get_version(self, name: str, other_than: UpdateVersion | None = None) -> tuple[bytes, UpdateVersion] | None:
        """An object and its version; None where there is none.
        Raises: Unchanged: its version is still `other_than`; the object was not sent.
        """
        from obstore.exceptions import NotFoundError, NotModifiedError

        known = (other_than or {}).get("e_tag")
        with self._failing():
            try:
                found = self._store.get(name, options={"if_none_match": known} if known else None)
                content = bytes(found.bytes())
            except NotModifiedError as error:
                raise Unchanged from error
            except (NotFoundError, FileNotFoundError) as error:
                if kind_of(error) == NO_BUCKET:
                    raise
                return None
            return content, {"e_tag": found.meta["e_tag"], "version": found.meta["version"]}

    def put(self, name: str, content: bytes) -> None:
        """Write an object."""
        with self._failing():
            self._store.put(name, content, use_multipart=False)

    def replace(self, name: str, content: bytes, version: UpdateVersion | None) -> None:
        """Write an object only if it still has this version, or (None) does not exist.
        Raises: Outdated: it does not. (Also if this write took effect and the response was lost.)
        """
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        known: UpdateVersion | None = None
        if version is not None:  # a condition must not name what the store does not report
            known = {key: value for key, value in version.items() if value is not None}  # type: ignore[assignment]
        with self._failing():
            try:
                self._store.put(name, content, mode=known or "create", use_multipart=False)
            except (AlreadyExistsError, PreconditionError) as error:
                raise Outdated from error

    def written(self, under: str) -> dict[str, datetime]:
        """The objects below a folder with the times when they were written, by the clock of the store."""
        with self._failing():
            return {item["path"]: item["last_modified"] for items in self._store.list(under) for item in items}

    def delete(self, name: str) -> None:
        """Delete an object if it exists."""
        from obstore.exceptions import NotFoundError

        with self._failing(), suppress(NotFoundError, FileNotFoundError):
            self._store.delete(name)

    @contextmanager
    def _failing(self) -> Iterator[None]:
        from obstore.exceptions import BaseError

        try:
            yield
        except (BaseError, OSError, ValueError) as error:
            raise refusal(self.address, error) from error


_CREDENTIALS = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN where the key is a temporary one)",
    "gs": "GOOGLE_SERVICE_ACCOUNT (the path of the account's key file)",
    "az": "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
}

NO_BUCKET = "no bucket"

_SIGNS = (
    (("NoSuchBucket", "ContainerNotFound", "bucket does not exist"), NO_BUCKET),
    (("InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "ExpiredToken", "Unauthenticated"), "wrong"),
    (("169.254.169.254", "169.254.170.2", "Failed to get AWS credentials", "Account must be specified"), "none"),
    (("no storage account configured", "metadata.google.internal", "token request"), "none"),
    (
        ("403 Forbidden", "status: 403", "AccessDenied", "PermissionDenied", "lacked the necessary privileges"),
        "forbidden",
    ),
    (("error sending request", "kind: Connect", "dns error", "timed out", "TimedOut", "kind: Timeout"), "unreachable"),
    (("kind: Request", "connection closed", "connection reset"), "unreachable"),
    (("status: 5", "status code: 5", "status: 429", "status code: 429", "SlowDown"), "failing"),
)
"""Checked in this order: a message of an earlier kind may contain words of a later one."""


def refusal(address: StoreAddress, error: Exception) -> StorageError:
    """The error to raise when an object store, or the connection to it, fails."""
    if advice := _advice(address, kind_of(error)):
        return StorageError(advice)
    # The first line, without positions in the library's source and without keys.
    line = (str(error).splitlines() or [type(error).__name__])[0].split(", /", 1)[0]
    return StorageError(f"{address}: {without(line, secrets())[:300]}")


def kind_of(error: Exception) -> str:
    """The kind of an error; empty where it is not recognised."""
    text = str(error)
    return next((kind for signs, kind in _SIGNS if any(sign in text for sign in signs)), "")


def _advice(address: StoreAddress, kind: str) -> str:
    where = f" at {endpoint()}" if endpoint() else ""
    credentials = _CREDENTIALS[address.scheme]
    return {
        NO_BUCKET: f"there is no bucket {address.bucket!r}{where}. Make it first, or correct the address {address}.",
        "wrong": f"the object store{where} does not accept the credentials for {address}: check {credentials}, and their region.",
        "none": f"no credentials were found for {address}: set {credentials}.",
        "forbidden": f"the object store{where} forbids this on {address} (403). Fetching needs the right to get objects, "
        f"publishing also to list, put and delete them; or {credentials} belong to another account.",
        "unreachable": f"the object store of {address} cannot be reached{where}. Check the network, and the endpoint "
        f"(AWS_ENDPOINT_URL and AWS_REGION, or their counterparts with AZURE_ and GOOGLE_).",
        "failing": f"the object store of {address}{where} kept failing after several tries. Run the same command again later.",
    }.get(kind, "")
