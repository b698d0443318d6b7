"""Who may see which workspace: a key each, told apart by hashes that are compared in constant time.

Keys come from the environment or from a file, never from the command line, which every user of a machine can read. Only their
SHA-256 is kept: they are to be random, so nothing slower is needed.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hoptrail.errors import UsageError

VARIABLE = "HOPTRAIL_KEY"
SHORTEST_KEY = 16
"""Characters: a random text of this length cannot be guessed."""


@dataclass(frozen=True, slots=True)
class Keys:
    """Hashes of the keys that open each workspace, and the labels that some of them are limited to, by workspace and hash.

    Without any key, every workspace is open to whoever can reach the server.
    """

    hashes: Mapping[str, tuple[bytes, ...]] = field(default_factory=dict, repr=False)
    limits: Mapping[tuple[str, bytes], frozenset[str]] = field(default_factory=dict, repr=False)

    def __bool__(self) -> bool:
        return bool(self.hashes)

    def opened_by(self, key: str) -> frozenset[str]:
        """The workspaces that a key opens. As many comparisons for a wrong key as for a right one."""
        given = _hash(key)
        pairs = [(name, wanted) for name, hashes in self.hashes.items() for wanted in hashes]
        return frozenset(name for name, wanted in pairs if hmac.compare_digest(given, wanted))

    def labels_of(self, key: str) -> dict[str, frozenset[str]]:
        """Of the workspaces in which a key is limited to documents with some labels, these labels."""
        given = _hash(key)
        return {name: labels for (name, wanted), labels in self.limits.items() if hmac.compare_digest(given, wanted)}

    def mark_of(self, key: str) -> str:
        """What tells the requests of one key from those of others, and does not give it away; empty without keys."""
        return _hash(key).hex()[:12] if self.hashes else ""


def find_keys(workspaces: Iterable[str], key_file: Path | None = None) -> Keys:
    """The keys of the workspaces, from a file with a line `NAME KEY` each, or from HOPTRAIL_KEY_NAME (HOPTRAIL_KEY for one).
    With `NAME KEY LABEL,...` the key is limited to documents with one of these labels, and to reading.

    Several lines of one workspace all open it, so that a key can be replaced while clients still send the old one.

    Raises:
        UsageError: the file cannot be read or holds no key; a variable is empty, or not that of one workspace that is served;
            a key is short; some workspaces have a key and others have not.
    """
    names = list(workspaces)
    lines = _from_file(key_file, names) if key_file else _from_environment(names)
    keys: dict[str, list[str]] = {}
    for name, key, _ in lines:
        if key in keys.setdefault(name, []):
            raise UsageError(f"a key of workspace {name} is there twice: give all of its labels in one line.")
        keys[name].append(key)
        if len(key) < SHORTEST_KEY or not key.isascii() or not key.isprintable() or " " in key:
            raise UsageError(
                f"the key of workspace {name} is not one: at least {SHORTEST_KEY} visible ASCII characters are wanted, for "
                f"example from `openssl rand -base64 24`."
            )
    without = [name for name in names if name not in keys]
    if keys and without:
        raise UsageError(
            f"no key for workspace {', '.join(without)}: either every workspace has a key or none has. Set "
            f"{variable_of(without[0])} or add a line to the key file."
        )
    limits = {(name, _hash(key)): labels for name, key, labels in lines if labels is not None}
    return Keys({name: tuple(map(_hash, found)) for name, found in keys.items()}, limits)


def variable_of(workspace: str) -> str:
    """The environment variable with the key of a workspace."""
    return f"{VARIABLE}_{re.sub(r'[^A-Za-z0-9]', '_', workspace).upper()}"


_Line = tuple[str, str, frozenset[str] | None]
"""A workspace, a key, and the labels that the key is limited to (None: not at all)."""


def _from_environment(names: list[str]) -> list[_Line]:
    variables = {name: variable_of(name) for name in names}
    given = {name: key for name, key in os.environ.items() if name == VARIABLE or name.startswith(f"{VARIABLE}_")}
    if VARIABLE in given and len(names) > 1:
        raise UsageError(
            f"{VARIABLE} is set, but several workspaces are served: it is the key of one alone. Unset it, and set "
            f"{', '.join(variables.values())}."
        )
    for variable in (VARIABLE, *variables.values()):
        if given.get(variable) == "":
            raise UsageError(f"{variable} is set but empty: set it to a key, or unset it to serve without one.")
        meant = [name for name in names if variables[name] == variable]
        if variable in given and len(meant) > 1:
            raise UsageError(
                f"{variable} would be the key of workspaces {', '.join(meant)} alike: rename one, or give --key-file."
            )
    keys = {name: given[variable] for name, variable in variables.items() if variable in given}
    if VARIABLE in given:
        keys = {names[0]: given[VARIABLE], **keys}
    if given and not keys:
        raise UsageError(
            f"{', '.join(sorted(given))} is of no workspace that is served: wanted is {', '.join(variables.values())}."
        )
    return [(name, key, None) for name, key in keys.items()]


def _from_file(path: Path, names: list[str]) -> list[_Line]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the key file {path}: {error}.") from error
    pairs = [line.split() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if not pairs:
        raise UsageError(
            f"the key file {path} holds no key. Add a line `NAME KEY` for every workspace, or leave it out."
        )
    found: list[_Line] = []
    for number, pair in enumerate(pairs, start=1):
        labels = [label for label in pair[2].split(",") if label] if len(pair) == 3 else None
        if not 2 <= len(pair) <= 3 or pair[0] not in names or labels == []:
            raise UsageError(
                f"entry {number} of the key file {path} is not `NAME KEY` or `NAME KEY LABEL,...` with the name of a workspace "
                f"that is served."
            )
        found.append((pair[0], pair[1], None if labels is None else frozenset(labels)))
    return found


def _hash(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
