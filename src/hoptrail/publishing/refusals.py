"""Translating errors of object stores into messages that say what to do.

The client library has few types of errors, so errors are recognised by words in their messages. Messages of stores may quote
keys, which are removed.
"""

from __future__ import annotations

from hoptrail.errors import StorageError
from hoptrail.models.redacting import without
from hoptrail.publishing.address import Address, endpoint, secrets

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


def refusal(address: Address, error: Exception) -> StorageError:
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


def _advice(address: Address, kind: str) -> str:
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
