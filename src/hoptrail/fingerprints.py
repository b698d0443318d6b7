"""Short identities of settings and of the code, stored with results and structures."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

ADDED = "added"  # in a field's metadata: a setting that came after others of its class
_SOURCE = frozenset({".py", ".md", ".json", ".npz"})


def fingerprint(settings: DataclassInstance) -> str:
    """Twelve hex digits that change when any value of `settings` does, the same on every machine. What was made before a setting
    came or went stays valid: ADDED settings count unless at their defaults, and what is a constant now counts as the setting that
    it was (`former`: a class's settings of earlier versions, by name, with the values that are meant where nothing else is set).
    """
    added = {field.name: field.default for field in fields(settings) if ADDED in field.metadata}
    values = {name: value for name, value in _values(settings).items() if name not in added or value != added[name]}
    content = json.dumps([type(settings).__name__, values], sort_keys=True, default=str)
    return hashlib.sha256(content.encode()).hexdigest()[:12]


def _values(settings: DataclassInstance) -> dict[str, object]:
    former: Mapping[str, object] = getattr(settings, "former", {})
    values = asdict(settings)
    for field in fields(settings):
        value = getattr(settings, field.name)
        if is_dataclass(value) and not isinstance(value, type):
            values[field.name] = _values(value)
        elif field.name in former and value == field.default:
            values[field.name] = former[field.name]
    return {**former, **values}


def digest_with(part: object) -> str:
    """The digest of the engine's code, and of the package that the class of `part` comes from, if that is another one."""
    package = type(part).__module__.partition(".")[0]
    return "".join(map(digest_of_code, dict.fromkeys(("hoptrail", package))))


@cache
def digest_of_code(package: str) -> str:
    """The first twelve hex digits of a SHA-256 over the source, prompts and weights of a package, or of a module alone."""
    digest, module = hashlib.sha256(), import_module(package)
    folder = Path(next(iter(getattr(module, "__path__", ())), module.__file__ or ""))
    for path in sorted(folder.rglob("*")) if folder.is_dir() else [folder]:
        if path.suffix in _SOURCE:
            name = path.relative_to(folder).as_posix()
            digest.update(f"{name}\x1f{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()[:12]
