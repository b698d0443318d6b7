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
    """Hashes of keys by the workspace they open. Without any, every workspace is open to whoever can reach the server."""

    hashes: Mapping[str, bytes] = field(default_factory=dict, repr=False)

    def __bool__(self) -> bool:
        return bool(self.hashes)

    def opened_by(self, key: str) -> frozenset[str]:
        """The workspaces that a key opens. As many comparisons for a wrong key as for a right one."""
        given = _hash(key)
        return frozenset(name for name, wanted in self.hashes.items() if hmac.compare_digest(given, wanted))


def find_keys(workspaces: Iterable[str], key_file: Path | None = None) -> Keys:
    """The keys of the workspaces, from a file with a line `NAME KEY` each, or from HOPTRAIL_KEY_NAME (HOPTRAIL_KEY for one).

    Raises:
        UsageError: the file cannot be read, a key is short, or some workspaces have a key and others have not.
    """
    names = list(workspaces)
    keys = _from_file(key_file, names) if key_file else _from_environment(names)
    for name, key in keys.items():
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
    return Keys({name: _hash(key) for name, key in keys.items()})


def variable_of(workspace: str) -> str:
    """The environment variable with the key of a workspace."""
    return f"{VARIABLE}_{re.sub(r'[^A-Za-z0-9]', '_', workspace).upper()}"


def _from_environment(names: list[str]) -> dict[str, str]:
    keys = {name: os.environ.get(variable_of(name), "") for name in names}
    if len(names) == 1:
        keys[names[0]] = keys[names[0]] or os.environ.get(VARIABLE, "")
    return {name: key for name, key in keys.items() if key}


def _from_file(path: Path, names: list[str]) -> dict[str, str]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the key file {path}: {error}.") from error
    pairs = [line.split() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    for number, pair in enumerate(pairs, start=1):
        if len(pair) != 2 or pair[0] not in names:
            raise UsageError(
                f"entry {number} of the key file {path} is not `NAME KEY` with the name of a workspace that is served."
            )
    return {pair[0]: pair[1] for pair in pairs}


def _hash(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
