"""All settings in one place: read from one TOML file, checked, frozen.

A default stands in the settings class beside the code it steers; this file only gathers those classes. Unknown keys and
impossible values are refused together, each with its full path.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, field, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hoptrail.documents.reading import ReadingLimits
from hoptrail.documents.splitting import PassageLimits
from hoptrail.errors import UsageError
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.models.chat import ChatSettings
from hoptrail.recipes.catalogue import DEFAULT, RecipeSettings
from hoptrail.server_limits import ServerLimits
from hoptrail.store.tables import StorageSettings
from hoptrail.structures.catalogue import StructureSettings

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set. `encoder`: see `models.opening.open_encoder`; `recipe` and `language` are the defaults."""

    encoder: str = "minilm"
    recipe: str = DEFAULT
    language: str = "offline"
    reading: ReadingLimits = field(default_factory=ReadingLimits)
    passages: PassageLimits = field(default_factory=PassageLimits)
    structures: StructureSettings = field(default_factory=StructureSettings)
    chat: ChatSettings = field(default_factory=ChatSettings)
    offline: OfflineSettings = field(default_factory=OfflineSettings)
    recipes: RecipeSettings = field(default_factory=RecipeSettings)
    storage: StorageSettings = field(default_factory=StorageSettings)
    server: ServerLimits = field(default_factory=ServerLimits)


def load_settings(path: Path | None) -> Settings:
    """The settings in a TOML file; the defaults where there is no file to read.

    Raises:
        UsageError: the file cannot be read, or any of its keys or values is not a setting; all are listed.
    """
    if path is None:
        return Settings()
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read the settings file {path}: {error.strerror or error}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not valid TOML: {error}.") from error
    return settings_from(content, str(path))


def settings_from(content: dict[str, Any], origin: str) -> Settings:
    """Settings from nested keys and values as TOML gives them; `origin` is named in errors.

    Raises:
        UsageError: a key or a value is not a setting; all are listed, each with its full path.
    """
    from pydantic import TypeAdapter, ValidationError

    faults = [f"{key}: there is no such setting" for key in _unknown_keys(content, Settings())]
    settings = Settings()
    try:
        # As JSON, because only there strict checking (no text for a number) takes tables for settings classes.
        settings = TypeAdapter(Settings).validate_json(json.dumps(content, default=str), strict=True)
    except ValidationError as error:
        said = [(".".join(map(str, fault["loc"])), fault["msg"]) for fault in error.errors()]
        faults += [f"{place}: {message.removeprefix('Value error, ')}" for place, message in said]
    if faults:
        raise UsageError(f"{origin} cannot be used: {'; '.join(faults)}. `hoptrail settings` lists every setting.")
    return settings


def to_toml(settings: DataclassInstance, path: str = "") -> str:
    """Settings as the TOML that `load_settings` reads back."""
    values, tables = [], []
    for key in settings.__dataclass_fields__:
        value = getattr(settings, key)
        if is_dataclass(value) and not isinstance(value, type):
            tables.append(to_toml(value, f"{path}{key}."))
        else:
            text = json.dumps(value, ensure_ascii=False).replace(
                "\x7f", "\\u007f"
            )  # which TOML wants escaped, JSON not
            values.append(f"{key} = {text}\n")
    header = f"\n[{path[:-1]}]\n" if path and values else ""
    return header + "".join(values) + "".join(tables)


def _unknown_keys(content: dict[str, Any], default: DataclassInstance, path: str = "") -> list[str]:
    """Paths of keys that no field answers to. (The checking library ignores them for plain dataclasses.)"""
    unknown = []
    for key, value in content.items():
        table = getattr(default, key, None)
        if key not in default.__dataclass_fields__:
            unknown.append(path + key)
        elif isinstance(value, dict) and is_dataclass(table) and not isinstance(table, type):
            unknown += _unknown_keys(value, table, f"{path}{key}.")
    return unknown
