"""What an object store, or the way to it, refuses: the words of the libraries that reach it, turned into what to do.

The table store has no types for its errors and obstore few, so both are known by words that their messages hold. Messages of
stores may quote keys; none is passed on with one.
"""

from __future__ import annotations

from hoptrail.errors import StorageError
from hoptrail.models.redacting import without
from hoptrail.store.place import Place, endpoint, secrets

_CREDENTIALS = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN where the key is a temporary one)",
    "gs": "GOOGLE_SERVICE_ACCOUNT (the path of the account's key file)",
    "az": "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
}

_SIGNS = (
    (("NoSuchBucket", "ContainerNotFound", "bucket does not exist"), "no bucket"),
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
"""In this order: a message of a later kind may hold the words of an earlier one, but not the other way round."""


def refusal(place: Place, error: Exception) -> StorageError:
    """What to tell a user whom an object store refused."""
    return StorageError(_advice(place, kind_of(error)) or f"{place}: {first_line(error)}")


def known_refusal(place: Place, error: Exception) -> StorageError | None:
    """The same, if the error is of a kind that has nothing to do with what the index holds."""
    advice = None if place.is_local else _advice(place, kind_of(error))
    return StorageError(advice) if advice else None


def kind_of(error: Exception) -> str:
    text = str(error)
    return next((kind for signs, kind in _SIGNS if any(sign in text for sign in signs)), "")


def first_line(error: BaseException) -> str:
    """The first line of a message, without the library's source positions that follow it, and without keys."""
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    return without(text.split(", /", 1)[0], secrets())[:300]


def _advice(place: Place, kind: str) -> str:
    scheme = place.address.partition("://")[0]
    bucket = place.address.split("/")[2]
    where = f" at {endpoint()}" if endpoint() else ""
    credentials = _CREDENTIALS[scheme]
    return {
        "no bucket": f"there is no bucket {bucket!r}{where}. Make it first (hoptrail makes none), or mend the address {place}.",
        "wrong": f"the object store{where} does not accept the credentials for {place}: check {credentials}, and their region.",
        "none": f"no credentials were found for {place}: set {credentials}.",
        "forbidden": f"the object store{where} forbids this on {place} (403). Reading needs the rights to list the bucket and "
        f"to get objects, writing also to put and to delete them; or {credentials} are somebody else's.",
        "unreachable": f"the object store of {place} cannot be reached{where}. Check the network, and the endpoint "
        f"(AWS_ENDPOINT_URL and AWS_REGION, or their like of AZURE_ and GOOGLE_). The index is as it was last committed.",
        "failing": f"the object store of {place}{where} kept failing after several tries. The index is as it was last "
        f"committed: run the same command again later.",
    }.get(kind, "")
