"""Short identities of settings and of the code, stored with results and structures."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
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
    digest = hashlib.sha256()
    for name, place in sorted(_walk(files(package), "")):
        digest.update(f"{name}\x1f{hashlib.sha256(place.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()[:12]


def _walk(folder: Traversable, path: str) -> list[tuple[str, Traversable]]:
    found: list[tuple[str, Traversable]] = []
    for place in folder.iterdir():
        if place.is_dir():
            found += _walk(place, f"{path}{place.name}/")
        elif Path(place.name).suffix in _SOURCE:
            found.append((path + place.name, place))
    return found
