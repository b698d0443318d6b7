"""Short identities of settings and of the code, stored with results and structures."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_SOURCE = frozenset({".py", ".md", ".json", ".npz"})


def fingerprint(settings: DataclassInstance) -> str:
    """Twelve hex digits that change when any value of `settings` does; the same on every machine."""
    content = json.dumps([type(settings).__name__, asdict(settings)], sort_keys=True, default=str)
    return hashlib.sha256(content.encode()).hexdigest()[:12]


@cache
def digest_of_code(package: str) -> str:
    """The first twelve hex digits of a SHA-256 over the source, prompts and weights of a package."""
    digest, folder = hashlib.sha256(), Path(str(files(package)))
    for path in sorted(folder.rglob("*")):
        if path.suffix in _SOURCE:
            name = path.relative_to(folder).as_posix()
            digest.update(f"{name}\x1f{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()[:12]
