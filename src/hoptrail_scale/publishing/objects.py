"""The objects below an address: reading, conditional writing, listing, deleting.

The client library has few types of errors, so these are recognised by words in their messages. The messages raised here say what
to do. Those of stores may quote keys, which are removed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from hoptrail.errors import StorageError
from hoptrail.models.environment import without
from hoptrail_scale.publishing.address import StoreAddress, endpoint, secrets, without_tls

if TYPE_CHECKING:
    from obstore import UpdateVersion
    from obstore.store import ObjectStore

STREAMS = 16
"""Concurrent requests."""

RETRIES, RETRY_SECONDS = 5, 30
"""How often and for how many seconds a failing request is retried."""


class Outdated(Exception):
    """A conditional write was refused: the object is not the version that it was to replace."""


class Unchanged(Exception):
    """An object still has the known version."""


class Objects:
    """The objects below an address, by name. Thread-safe. Failures other than those documented raise StorageError."""

    def __init__(self, address: StoreAddress) -> None:
        from obstore.store import from_url

        self.address = address
        with self._failing():
            self._store: ObjectStore = from_url(
                str(address),
                client_options={"allow_http": without_tls(), "connect_timeout": timedelta(seconds=5)},
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
    return StorageError(_advice(address, kind_of(error)) or f"{address}: {_first_line(error)}")


def kind_of(error: Exception) -> str:
    """The kind of an error; empty where it is not recognised."""
    text = str(error)
    return next((kind for signs, kind in _SIGNS if any(sign in text for sign in signs)), "")


def _first_line(error: Exception) -> str:
    """The first line of the message, without positions in the library's source and without keys."""
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    return without(text.split(", /", 1)[0], secrets())[:300]


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
