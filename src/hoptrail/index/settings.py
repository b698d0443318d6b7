"""All settings in one place: read from one TOML file, checked, frozen.

Defaults stand in the settings classes beside the code they steer; this module only gathers those classes. All unknown keys and
impossible values are refused together, each with its full path.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import date, time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

from hoptrail.corpus.view import check_label
from hoptrail.documents.limits import MIB
from hoptrail.documents.read_sources import ReadingLimits
from hoptrail.documents.splitting import PassageLimits
from hoptrail.documents.walking import Selection, check_pattern
from hoptrail.errors import UsageError
from hoptrail.language.factory import check_language
from hoptrail.language.offline.settings import OfflineSettings
from hoptrail.models.chat import ChatSettings
from hoptrail.models.encoder_factory import DEFAULT_ENCODER, check_encoder
from hoptrail.plugins import found, loaded
from hoptrail.recipes.catalogue import DEFAULT, recipe_settings
from hoptrail.recipes.settings import RecipeSettings
from hoptrail.setting_limits import Above0, AtLeast0, AtLeast1, Limited
from hoptrail.structures.catalogue import StructureSettings
from hoptrail.types.json_object import JsonObject

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True)
class ServerLimits(Limited):
    """Limits on what one client may cost the server, enforced in `serving/server/`. Sizes are bytes, times seconds. A request
    beyond a limit is refused with a message that names the limit.
    """

    body: AtLeast1 = MIB // 4  # size of a request without documents
    upload: AtLeast1 = 64 * MIB  # size of a request with documents, all of them together
    files: AtLeast1 = 100  # documents in one request
    waiting_uploads: AtLeast1 = 512 * MIB  # uploads of a workspace that are not indexed yet
    waiting_jobs: AtLeast1 = 1000  # unfinished jobs of a workspace
    asks: AtLeast1 = 8
    """Questions answered at once, over all workspaces. One key gets at most three quarters of them."""
    queue: AtLeast0 = 64  # waiting questions of one key; further ones are refused with a request to retry
    ask_seconds: Above0 = 300.0  # time for a question; no language task is started after it
    body_seconds: Above0 = 60.0  # time for the whole body of a request to arrive
    header_seconds: Above0 = 10.0  # time for the head of a request to arrive, on a new or a kept-alive connection
    connections: AtLeast1 = 1000
    address_connections: AtLeast1 = 200
    """Connections from one address. Behind a proxy all have its address: set it to `connections` there."""
    stop_seconds: AtLeast1 = 20  # time for running requests when the server stops


@dataclass(frozen=True, slots=True)
class BuildSettings:
    """`language`: what performs the tasks of building structures; empty: the language of questions."""

    language: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set. `recipe` and `language` are the defaults of questions; for `encoder` see
    `models.encoder_factory.open_encoder`. With `sync`, indexing a folder removes the documents whose files are no longer in it;
    for `follow_links`, `gitignore` and `exclude` see `Selection`. Each of `labels` is `NAME=PATTERN`: a document has the label if
    its source matches the pattern (`*` is any text). Keys of a server may be limited to labels.
    """

    encoder: str = DEFAULT_ENCODER
    recipe: str = DEFAULT
    language: str = "offline"
    sync: bool = False
    labels: tuple[str, ...] = ()
    follow_links: bool = False
    gitignore: bool = True
    exclude: tuple[str, ...] = ()
    reading: ReadingLimits = field(default_factory=ReadingLimits)
    passages: PassageLimits = field(default_factory=PassageLimits)
    structures: StructureSettings = field(default_factory=StructureSettings)
    build: BuildSettings = field(default_factory=BuildSettings)
    chat: ChatSettings = field(default_factory=ChatSettings)
    offline: OfflineSettings = field(default_factory=OfflineSettings)
    recipes: RecipeSettings = field(default_factory=RecipeSettings)
    server: ServerLimits = field(default_factory=ServerLimits)

    @property
    def builder(self) -> str:
        return self.build.language or self.language

    @property
    def selection(self) -> Selection:
        return Selection(self.follow_links, self.gitignore, self.exclude)

    def excluding(self, patterns: Sequence[str], *, gitignore: bool = True) -> Settings:
        """The same settings with further patterns of what not to read; without `gitignore`, files that git ignores are read.
        Raises: UsageError: one of them is no pattern.
        """
        for pattern in patterns:
            check_pattern(pattern)
        return replace(self, exclude=(*self.exclude, *patterns), gitignore=self.gitignore and gitignore)


_NAMES: dict[str, Callable[[str], object]] = {
    "encoder": check_encoder,
    "recipe": lambda name: recipe_settings(name, RecipeSettings()),
    "language": check_language,
    "build.language": lambda name: check_language(name) if name else None,
    "labels": check_label,
    "exclude": check_pattern,
}
"""Settings that name something, and the functions that refuse unknown or unusable names."""


def load_settings(path: str | Path | None, given: Sequence[str] = ()) -> Settings:
    """Load settings from a TOML file or, by name, from a package (`paper:NAME`); without a path, the defaults. Each of `given`
    is `KEY=VALUE`, over the file: a full path, and a value as in TOML, or text.
    Raises: UsageError: the file cannot be read, or some keys or values are not settings; all are listed.
    """
    if path is None and not given:
        return Settings()
    kind, colon, name = str(path or "").partition(":")
    try:
        if colon and kind in found("settings"):
            content: JsonObject = {kind: name}
        else:
            content = tomllib.loads(Path(path).read_text(encoding="utf-8")) if path else {}
        for line in given:
            content = _over(content, from_line(line))
        return settings_from(content, " and ".join(filter(None, (str(path or ""), "--set" if given else ""))))
    except OSError as error:
        raise UsageError(f"cannot read the settings file {path}: {error.strerror or error}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not valid TOML: {error}.") from error
    except RecursionError as error:
        raise UsageError(f"{path} cannot be used: it nests arrays or tables too deeply.") from error


def from_line(line: str) -> JsonObject:
    key, equals, value = line.partition("=")
    if not equals or not all(key.split(".")):
        raise UsageError(f"--set {line}: write KEY=VALUE, as in --set recipes.hirag.turns=3.")
    try:
        content: object = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        content = value
    for name in reversed(key.split(".")):
        content = {name: content}
    return cast("JsonObject", content)


def settings_from(content: JsonObject, origin: str) -> Settings:
    """Settings from nested keys and values as TOML gives them; errors name `origin`. The key `paper`, or another that
    a package offers, names the defaults.
    Raises: UsageError: a key or a value is not a setting; all are listed, each with its full path.
    """
    from pydantic import ValidationError

    for kind in sorted(content.keys() & found("settings").keys()):
        others = {key: content[key] for key in content if key != kind}
        content = _over(loaded("settings", kind)(str(content[kind])), others)
    faults = [f"{key}: there is no such setting" for key in _unknown_keys(content, Settings())]
    faults += [f"{key}: {fault}" for key, value in values_of(content) if (fault := _fault(key, value))]
    settings = Settings()
    try:
        # As JSON, because only there strict checking (no text for a number) takes tables for settings classes.
        settings = _adapter().validate_json(json.dumps(content, default=str), strict=True)
    except ValidationError as error:
        for details in error.errors():
            faults.append(f"{'.'.join(map(str, details['loc']))}: {details['msg'].removeprefix('Value error, ')}")
    if faults:
        raise UsageError(f"{origin} cannot be used: {'; '.join(faults)}. `hoptrail settings` lists every setting.")
    given = tuple(dict.fromkeys(key for key, _ in values_of(content.get("recipes", {}))))
    return replace(settings, recipes=replace(settings.recipes, given=given))


def _over(base: JsonObject, content: JsonObject) -> JsonObject:
    both = {
        key: _over(base[key], content[key])
        for key in base.keys() & content.keys()
        if isinstance(base[key], dict) and isinstance(content[key], dict)
    }
    return {**base, **content, **both}


@cache
def _adapter() -> TypeAdapter[Settings]:
    """The validator of settings; making it costs more than a hundred times as much as using it."""
    from pydantic import TypeAdapter

    return TypeAdapter(Settings)


def to_toml(
    settings: DataclassInstance, path: str = "", base: DataclassInstance | None = None, given: Collection[str] = ()
) -> str:
    """Settings as the TOML that `load_settings` reads back: all, or what differs from `base` and the recipes' keys `given`."""
    values, tables = [], []
    for key in _keys(settings):
        value, usual = getattr(settings, key), getattr(base, key, None)
        if is_dataclass(value) and not isinstance(value, type):
            tables.append(to_toml(value, f"{path}{key}.", usual, given))
        elif base is None or value != usual or f"{path}{key}".removeprefix("recipes.") in given:
            text = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # TOML requires the escape
            values.append(f"{key} = {text}\n")
    header = f"\n[{path[:-1]}]\n" if path and values else ""
    return header + "".join(values) + "".join(tables)


def _keys(settings: DataclassInstance) -> list[str]:
    """The names of the settings of a class; a field that is no setting is not shown (`repr`) either."""
    return [one.name for one in fields(settings) if one.repr]


def values_of(content: JsonObject, path: str = "") -> Iterator[tuple[str, object]]:
    """Every value with the path of its key; the items of a list one by one."""
    for key, value in content.items():
        for item in value if isinstance(value, list) and value else [value]:
            if isinstance(item, dict):
                yield from values_of(item, f"{path}{key}.")
            else:
                yield path + key, item


def _fault(key: str, value: object) -> str:
    """What is wrong with a value that pydantic accepts; empty where nothing is.

    It gets dates as text, does not know the names, and accepts `nan`, which passes every check of a limit by comparison.
    """
    if isinstance(value, date | time):
        return "no setting is a date or a time; put text into quotes"
    if isinstance(value, float) and not math.isfinite(value):
        return f"must be a finite number, not {value}"
    if isinstance(value, str) and key in _NAMES:
        try:
            _NAMES[key](value)
        except UsageError as error:
            return str(error).rstrip(".")
    return ""


def _unknown_keys(content: JsonObject, default: DataclassInstance, path: str = "") -> list[str]:
    """Paths of keys that have no field. (Pydantic ignores them for plain dataclasses.)"""
    unknown = []
    for key, value in content.items():
        table = getattr(default, key, None)
        if key not in _keys(default):
            unknown.append(path + key)
        elif isinstance(value, dict) and is_dataclass(table) and not isinstance(table, type):
            unknown += _unknown_keys(value, table, f"{path}{key}.")
    return unknown
