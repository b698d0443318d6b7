"""Settings: round trips, everything wrong listed at once with its path, fingerprints that are the same everywhere."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from command import Hoptrail
from hoptrail.documents.splitting import PassageLimits
from hoptrail.errors import UsageError
from hoptrail.fingerprints import fingerprint
from hoptrail.index.settings import Settings, load_settings, settings_from, to_toml
from hoptrail.models.chat import ChatSettings
from hoptrail.recipes.registry import recipe_names
from hoptrail.recipes.settings import RecipeSettings
from hoptrail.retrieval.units.unit_search import HybridSearchSettings
from hoptrail.types import content_id

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def paths(settings: Any, before: str = "") -> list[str]:
    """Every setting by its full path."""
    found = []
    for one in (one for one in fields(settings) if one.repr):
        value = getattr(settings, one.name)
        name = f"{before}{one.name}"
        found += paths(value, f"{name}.") if is_dataclass(value) else [name]
    return found


def nested(path: str, value: object) -> dict[str, Any]:
    """`{"a": {"b": value}}` for `a.b`."""
    for name in reversed(path.split(".")):
        value = {name: value}
    assert isinstance(value, dict)
    return value


def value_at(settings: object, path: str) -> Any:
    for name in path.split("."):
        settings = getattr(settings, name)
    return settings


# --- reading and writing


def test_what_the_command_prints_reads_back_as_the_same_settings(hoptrail: Hoptrail, tmp_path: Path) -> None:
    printed = hoptrail("settings")
    (tmp_path / "one.toml").write_text(printed.out, encoding="utf-8")
    assert load_settings(tmp_path / "one.toml") == Settings()
    assert (printed.code, printed.err) == (0, "")
    again = hoptrail("settings", "--settings", tmp_path / "one.toml")
    assert again.out == printed.out


@settings(max_examples=20)  # each reads the classes of all settings
@given(name=TEXT, words=st.integers(1, 10**9), weight=st.floats(0, 1))
def test_any_settings_go_through_toml_unchanged(name: str, words: int, weight: float) -> None:
    search = HybridSearchSettings(dense_weight=weight)
    recipes = replace(RecipeSettings(), hybrid=replace(RecipeSettings().hybrid, search=search, reranker=name))
    settings = Settings(encoder=f"endpoint:m{name}", passages=PassageLimits(words=words), recipes=recipes)
    assert settings_from(tomllib.loads(to_toml(settings)), "here") == settings


def test_one_key_changes_one_setting_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "one.toml"
    file.write_text("[recipes.hybrid.search]\ndense_weight = 1\n", encoding="utf-8")
    settings = load_settings(file)
    assert load_settings(str(file)) == settings
    assert settings.recipes.hybrid.search.dense_weight == 1.0
    changed = [path for path in paths(Settings()) if value_at(settings, path) != value_at(Settings(), path)]
    assert changed == ["recipes.hybrid.search.dense_weight"]


def test_without_a_file_settings_are_the_defaults() -> None:
    assert load_settings(None) == Settings()
    assert settings_from({}, "nothing") == Settings()


def test_the_environment_may_name_the_file(hoptrail: Hoptrail, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.toml").write_text('recipe = "bm25"\n', encoding="utf-8")
    monkeypatch.setenv("HOPTRAIL_SETTINGS", str(tmp_path / "mine.toml"))
    assert 'recipe = "bm25"\n' in hoptrail("settings").out


# --- refusing


def named_in_one_refusal(value: object, wanted: list[str]) -> list[str]:
    """Those of the settings `wanted` that are named when all of them have a wrong value."""
    content: dict[str, Any] = {}
    for path in wanted:
        *tables, name = path.split(".")
        table = content
        for one in tables:
            table = table.setdefault(one, {})
        table[name] = value
    with pytest.raises(UsageError, match=r"my\.toml cannot be used: ") as refused:
        settings_from(content, "my.toml")
    return [path for path in wanted if re.search(rf" {re.escape(path)}[:.]", str(refused.value))]


@pytest.mark.parametrize(
    ("value", "kinds"),
    [
        ("seven", (bool, int, float)),
        (7, (bool, str, tuple)),
        (True, (int, float, str, tuple)),
        ([], (bool, int, float, str)),
        ({"deeper": 1}, (bool, int, float, str, tuple)),
    ],
    ids=str,
)
def test_no_setting_takes_a_value_of_another_type(value: object, kinds: tuple[type, ...]) -> None:
    wanted = [path for path in paths(Settings()) if type(value_at(Settings(), path)) in kinds]
    assert wanted
    assert named_in_one_refusal(value, wanted) == wanted


def test_counts_below_their_least_are_refused() -> None:
    for path in (path for path in paths(Settings()) if type(value_at(Settings(), path)) is int):
        table, _, name = path.rpartition(".")
        with pytest.raises(UsageError, match=rf"{table}: .*{name if table != 'passages' else 'word'}"):
            settings_from(nested(path, -1), "my.toml")


def test_everything_that_is_wrong_is_listed_at_once_with_its_path() -> None:
    content = {
        "nope": 1,
        "reading": {"pages": 0, "colour": "red"},
        "passages": {"words": "many"},
        "recipes": {
            "bm25": {"k": 0},
            "wonder": {"k": 1},
            "hybrid": {"search": {"fusion": "magic", "depth": 5, "weight": 1}},
            "selfask": {"hops": 2.5},
        },
    }
    with pytest.raises(UsageError) as caught:
        settings_from(content, "my.toml")
    message = str(caught.value)
    for path in ("nope", "reading.colour", "recipes.wonder", "recipes.hybrid.search.weight"):
        assert f"{path}: there is no such setting" in message
    for path in ("reading", "passages.words", "recipes.bm25", "recipes.hybrid.search", "recipes.selfask.hops"):
        assert f" {path}: " in message
    assert "pages must be at least 1, not 0" in message
    assert "not magic" in message


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"a = = 1", "not valid TOML"), (b"\xff\xfe", "not valid TOML"), (b"k = 1\nk = 2", "not valid TOML")],
)
def test_a_file_that_is_no_toml_is_named(tmp_path: Path, content: bytes, reason: str) -> None:
    file = tmp_path / "bad.toml"
    file.write_bytes(content)
    with pytest.raises(UsageError, match=rf"bad\.toml is {reason}"):
        load_settings(file)


@pytest.mark.parametrize(
    "content", [f"k = {'[' * 5000}{']' * 5000}", f"k = {'{a = ' * 5000}1{'}' * 5000}", f"[{'.'.join('a' * 5000)}]"]
)
def test_a_file_that_nests_too_deeply_is_named(tmp_path: Path, content: str) -> None:
    file = tmp_path / "deep.toml"
    file.write_text(content)
    with pytest.raises(UsageError, match=r"deep\.toml cannot be used: it nests"):
        load_settings(file)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"missing\.toml: No such file"):
        load_settings(tmp_path / "missing.toml")
    with pytest.raises(UsageError, match=r"Is a directory"):
        load_settings(tmp_path)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_numbers_without_end_are_refused(value: str) -> None:
    with pytest.raises(UsageError, match="dense_weight"):
        settings_from(tomllib.loads(f"[recipes.hybrid.search]\ndense_weight = {value}\n"), "my.toml")


def test_no_number_without_end_passes() -> None:
    """A limit of `nan` would be none: no comparison holds."""
    wanted = [path for path in paths(Settings()) if type(value_at(Settings(), path)) is float]
    assert named_in_one_refusal(math.nan, wanted) == wanted


@pytest.mark.parametrize("name", ["limit_money", "prompt_price", "completion_price"])
def test_limits_and_prices_made_by_hand_are_finite_too(name: str) -> None:
    for value in (math.nan, math.inf):
        made: dict[str, Any] = {name: value}
        with pytest.raises(UsageError, match=f"{name} must be (at least 0 and )?finite"):
            ChatSettings(**made)


@pytest.mark.parametrize("value", ["1979-05-27", "1979-05-27T07:32:00Z", "07:32:00", "[1979-05-27]"])
def test_a_date_is_no_text(value: str) -> None:
    for name in ("encoder", "chat.model", "recipes.lightrag.levels", "passages.words"):
        with pytest.raises(UsageError, match=f"{name}: no setting is a date or a time"):
            settings_from(tomllib.loads(f"{name} = {value}\n"), "my.toml")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('recipe = "nope"', r"recipe: there is no recipe nope\. There are: bm25, .*, sunar\. `hoptrail"),
        ('recipe = "sirerag:nope"', r"recipe: recipe sirerag has no preset 'nope'\. There are: sirerag:paper"),
        ('encoder = "minlim"', r"encoder: there is no encoder 'minlim': name minilm, "),
        ('language = "nobody"', r"language: there is no language 'nobody'; available: offline, scripted:FILE"),
        ('language = "replay"', r"language: there is no language 'replay'"),
        ('language = "chat:fake"', r"language: there is no language 'chat:fake'"),
    ],
)
def test_a_name_of_nothing_is_refused_where_it_is_read(content: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        settings_from(tomllib.loads(content), "my.toml")


def test_every_name_that_can_be_used_somewhere_is_a_setting() -> None:
    for name in [*recipe_names(), "sirerag:paper", "trail:verified"]:
        assert settings_from({"recipe": name}, "here").recipe == name
    for name in ("offline", "chat", "scripted:replies.jsonl", "replay:a:b.jsonl", "oracle"):
        assert settings_from({"language": name}, "here").language == name


# --- fingerprints


@dataclass(frozen=True)
class Sample:
    """Settings of every kind that there is."""

    words: int = 200
    weight: float = 0.1
    title: str = "Zürich \U0001f9ed"
    names: tuple[str, ...] = ("b", "a")
    deeper: HybridSearchSettings = field(default_factory=HybridSearchSettings)


def test_a_fingerprint_changes_with_any_value_and_the_class() -> None:
    variants: list[Any] = [
        Sample(),
        Sample(words=201),
        Sample(weight=0.2),
        Sample(title="Zurich"),
        Sample(names=("a", "b")),
        Sample(deeper=HybridSearchSettings(depth=99)),
        HybridSearchSettings(),
        RecipeSettings().bm25,
        RecipeSettings().dense,
    ]
    prints = [fingerprint(variant) for variant in variants]
    assert len(set(prints)) == len(variants)
    assert fingerprint(Sample()) == prints[0]
    assert all(len(one) == 12 and int(one, 16) >= 0 for one in prints)


def test_fingerprints_and_ids_do_not_depend_on_the_machines_moods() -> None:
    """Hash seed, locale and time zone: results are looked up by fingerprint and citations by id."""
    code = (
        "from hoptrail.fingerprints import fingerprint\n"
        "from hoptrail.index.settings import Settings\n"
        "from hoptrail.types import content_id\n"
        "print(fingerprint(Settings()), content_id('d', 'Zürich', 'İstanbul'))\n"
    )
    mood = {"PYTHONHASHSEED": "4711", "LC_ALL": "tr_TR.UTF-8", "TZ": "Pacific/Kiritimati", "PYTHONUTF8": "1"}
    ended = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **mood}, capture_output=True, text=True, check=True
    )
    assert ended.stdout.split() == [fingerprint(Settings()), content_id("d", "Zürich", "İstanbul")]
