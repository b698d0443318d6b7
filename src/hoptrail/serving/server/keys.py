"""Keys of workspaces, compared by their hashes in constant time.

Keys come from the environment or from a file, never from the command line, which every user of a machine can read. Only their
SHA-256 is kept: keys are random, so no slower hash is needed.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from hoptrail.errors import UsageError
from hoptrail.system import environment_variables

VARIABLE = "HOPTRAIL_KEY"
SHORTEST_KEY = 16
"""In characters: a random text of this length cannot be guessed."""


@dataclass(frozen=True, slots=True)
class Key:
    """The hash of a key that opens a workspace, and the labels that limit it to documents with one of them (None: no limit)."""

    workspace: str
    hash: bytes = field(repr=False)
    labels: frozenset[str] | None = None


class Keys(tuple[Key, ...]):
    """The keys of all workspaces. Without any, every workspace is open to anyone who can reach the server."""

    __slots__ = ()

    def opened_by(self, key: str) -> dict[str, frozenset[str] | None]:
        """The workspaces that a key opens, and the labels that limit it. A wrong key takes as long as a right one."""
        digest = _hash(key)
        return {one.workspace: one.labels for one in self if hmac.compare_digest(digest, one.hash)}

    def mark_of(self, key: str) -> str:
        """A fingerprint that identifies a key without revealing it; empty without keys."""
        return _hash(key).hex()[:12] if self else ""


def find_keys(workspaces: Iterable[str], key_file: Path | None = None) -> Keys:
    """The keys of the workspaces, from a file with lines `NAME KEY`, or from HOPTRAIL_KEY_NAME (HOPTRAIL_KEY for one).
    `NAME KEY LABEL,...` limits the key to reading documents with one of these labels.

    Several lines of one workspace all open it, so that a key can be replaced while clients still send the old one.

    Raises: UsageError: the file cannot be read or holds no key; a variable is empty, or does not belong to exactly one served
    workspace; a key is short; only some workspaces have a key.
    """
    names = list(workspaces)
    keys = _from_file(key_file, names) if key_file else _from_environment(names)
    for (name, _), times in Counter((one.workspace, one.hash) for one in keys).items():
        if times > 1:
            raise UsageError(f"a key of workspace {name} occurs twice: give all of its labels in one line.")
    without = [name for name in names if name not in {one.workspace for one in keys}]
    if keys and without:
        raise UsageError(
            f"no key for workspace {', '.join(without)}: either every workspace has a key or none has. Set "
            f"{variable_of(without[0])} or add a line to the key file."
        )
    return Keys(keys)


def variable_of(workspace: str) -> str:
    """The environment variable with the key of a workspace."""
    return f"{VARIABLE}_{re.sub(r'[^A-Za-z0-9]', '_', workspace).upper()}"


def _key(workspace: str, key: str, labels: frozenset[str] | None = None) -> Key:
    if len(key) < SHORTEST_KEY or not key.isascii() or not key.isprintable() or " " in key:
        raise UsageError(
            f"the key of workspace {workspace} is not valid: it needs at least {SHORTEST_KEY} visible ASCII characters, for "
            f"example from `openssl rand -base64 24`."
        )
    return Key(workspace, _hash(key), labels)


def _from_environment(names: list[str]) -> list[Key]:
    given = environment_variables.variables(re.compile(rf"{VARIABLE}(_|$)"))
    owners = {variable: [name for name in names if variable in {VARIABLE, variable_of(name)}] for variable in given}
    variables = ", ".join(dict.fromkeys(map(variable_of, names)))
    if given and not any(owners.values()):
        raise UsageError(f"{', '.join(sorted(given))} belongs to no served workspace: set {variables}.")
    for variable, owned in owners.items():
        if owned and not given[variable]:
            raise UsageError(f"{variable} is set but empty: set it to a key, or unset it to serve without one.")
        if len(owned) > 1:
            raise UsageError(
                f"{variable} would be the key of workspaces {' and '.join(owned)}: set {variables} instead, or, if these are "
                "the same, rename a workspace or give --key-file."
            )
    keys = {owners[variable][0]: given[variable] for variable in sorted(given) if owners[variable]}
    return [_key(name, key) for name, key in keys.items()]


def _from_file(path: Path, names: list[str]) -> list[Key]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the key file {path}: {error}.") from error
    found: list[Key] = []
    for number, words in enumerate(map(str.split, lines), start=1):
        if not words or words[0].startswith("#"):
            continue
        labels = frozenset(filter(None, words[2].split(","))) if len(words) == 3 else None
        if not 2 <= len(words) <= 3 or words[0] not in names or labels == frozenset():
            raise UsageError(
                f"line {number} of the key file {path} is not `NAME KEY` or `NAME KEY LABEL,...` with the name of a served "
                "workspace."
            )
        found.append(_key(words[0], words[1], labels))
    if not found:
        what_to_do = "Add a line `NAME KEY` for every workspace, or leave --key-file out."
        raise UsageError(f"the key file {path} holds no key. {what_to_do}")
    return found


def _hash(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
