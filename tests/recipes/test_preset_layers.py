"""A preset is a base: what a settings file or `--set` says lies over it, and nothing that is set is ignored."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from command import Hoptrail
from hoptrail.errors import UsageError
from hoptrail.fingerprints import fingerprint
from hoptrail.index.index import Index
from hoptrail.index.settings import load_settings, settings_from
from hoptrail.language.tasks import Abstain
from hoptrail.recipes.catalogue import changed_keys, recipe_settings
from hoptrail.recipes.settings import RecipeSettings
from hoptrail_papers.chainrag.chainrag import Chainrag, ChainragSettings
from hoptrail_papers.sunar.sunar import Sunar
from world import HashingEncoder

TABLE = {"tasks": 0, "tokens": 0, "scorer": "cross-encoder:mine", "uncertainty": {"equivalence": "nli:mine"}}


def test_what_is_set_lies_over_a_preset_even_where_it_is_the_default() -> None:
    settings = settings_from({"recipes": {"sunar": TABLE}}, "here").recipes
    own: Any = recipe_settings("sunar:paper", settings)
    paper: Any = Sunar.presets["paper"]
    assert (own.tasks, own.tokens, own.scorer) == (0, 0, "cross-encoder:mine")
    assert (paper.tasks, paper.tokens) != (0, 0), "the default of these keys is 0, so only what is given tells"
    assert own.uncertainty.equivalence == "nli:mine"
    assert (own.nar, own.uncertainty.samples, own.kept) == (paper.nar, paper.uncertainty.samples, paper.kept)
    assert recipe_settings("sunar:paper") == paper == recipe_settings("sunar:paper", RecipeSettings())


def test_from_python_what_differs_from_the_defaults_lies_over_a_preset() -> None:
    recipes = RecipeSettings(sunar=replace(RecipeSettings().sunar, kept=3))
    assert recipe_settings("sunar:paper", recipes) == replace(Sunar.presets["paper"], kept=3)


def test_the_fingerprint_differs_and_the_changed_keys_are_named() -> None:
    settings = settings_from({"recipes": {"sunar": TABLE}}, "here").recipes
    own = recipe_settings("sunar:paper", settings)
    assert fingerprint(own) != fingerprint(Sunar.presets["paper"])
    named = changed_keys("sunar:paper", settings)
    assert "tasks = 0 (preset: 24)" in named
    assert [line.split(" = ")[0] for line in named] == ["scorer", "uncertainty.equivalence", "tasks", "tokens"]
    assert changed_keys("sunar", settings) == changed_keys("sunar:paper", RecipeSettings()) == ()


def test_a_set_value_that_the_preset_forbids_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    paper = Chainrag.presets["paper"]
    wide = replace(paper, search=replace(paper.search, context_k=50))
    monkeypatch.setitem(cast("dict[str, ChainragSettings]", Chainrag.presets), "wide", wide)
    settings = settings_from({"recipes": {"chainrag": {"search": {"prefilter": 20}}}}, "here").recipes
    with pytest.raises(
        UsageError, match=r"under recipes\.chainrag cannot be had with the preset chainrag:wide: prefilt"
    ):
        recipe_settings("chainrag:wide", settings)


def test_keys_of_the_command_lie_over_the_file(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('recipe = "bm25"\n[recipes.bm25]\nk = 3\nabstain = "never"\n', encoding="utf-8")
    settings = load_settings(tmp_path / "mine.toml", ["recipes.bm25.k=4", "labels=[]", "chat.model=my model"])
    own = settings.recipes.bm25
    assert (own.k, own.abstain, settings.chat.model) == (4, Abstain.NEVER, "my model")
    assert load_settings("paper:hirag", ["recipes.hirag.turns=3"]).recipes.closed_book.abstain == "never"
    with pytest.raises(UsageError, match=r"--set recipes\.bm25: write KEY=VALUE"):
        load_settings(None, ["recipes.bm25"])
    with pytest.raises(UsageError, match=r"--set cannot be used: recipes\.bm25\.most: there is no such setting"):
        load_settings(None, ["recipes.bm25.most=4"])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("hoptrail.models.encoder_factory.open_encoder", lambda *_: HashingEncoder())
    index = Index(tmp_path / "index")
    index.encoder = HashingEncoder()
    index.add([Path(__file__).parents[2] / "examples" / "harbour"], ["bm25", "iter-retgen:paper"])
    return index.folder


def test_the_command_says_what_it_changes_of_a_preset(hoptrail: Hoptrail, folder: Path) -> None:
    arguments = ("search", "Who built the lighthouse?", "--index", folder, "--json", "--recipe", "iter-retgen:paper")
    usual, own = hoptrail(*arguments), hoptrail(*arguments, "--set", "recipes.iter_retgen.k=1")
    assert "iter-retgen:paper with k = 1 (preset: " in own.err
    assert len(json.loads(own.out)["hits"]) == 1 < len(json.loads(usual.out)["hits"])
    assert usual.err == ""


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "recipes.hirag.turns=2",
            "--set recipes.hirag.turns has no effect here, where bm25 is used: set recipes.bm25.KEY",
        ),
        ("server.asks=2", "--set server.asks has no effect on this command"),
        ("recipe=hybrid", "--set recipe has no effect on this command, or an option decides it"),
        ("build.language=chat", "--set build.language has no effect on this command"),
        ("build={language='chat'}", "--set build.language has no effect on this command"),
        ("chat={build={model='other'}}", "--set chat.build.model has no effect on this command"),
        ("labels=[]", "--set labels has no effect on this command"),
        ("recipes.hirag={turns=2}", "--set recipes.hirag.turns has no effect here, where bm25 is used"),
        ("chat.read.model=other", "--set chat.read.model has no effect here, where no model does that"),
    ],
)
def test_a_key_without_effect_is_refused(hoptrail: Hoptrail, folder: Path, line: str, said: str) -> None:
    for command in ("search", "ask"):
        ended = hoptrail(command, "Who?", "--index", folder, "--recipe", "bm25", "--set", line)
        assert (ended.code, said in ended.err) == (2, True), ended.err


def test_a_table_given_at_once_is_as_its_keys(hoptrail: Hoptrail, folder: Path) -> None:
    arguments = ("search", "Who built the lighthouse?", "--index", folder, "--json", "--recipe", "bm25", "--set")
    for line in ("recipes.bm25={k=1}", "recipes={bm25={k=1}}"):
        ended = hoptrail(*arguments, line)
        assert (ended.code, len(json.loads(ended.out)["hits"])) == (0, 1), ended.err


def test_of_two_languages_none_is_ignored(hoptrail: Hoptrail, folder: Path) -> None:
    file = folder.parent / "note.txt"
    file.write_text("The lens was made in Tarn.", encoding="utf-8")
    for arguments in (("index", file, "--for", "bm25"), ("ask", "Who?", "--recipe", "bm25")):
        ended = hoptrail(*arguments, "--index", folder, "--language", "offline", "--set", "language=chat")
        assert (ended.code, "--set language has no effect on this command, or an option decides it" in ended.err) == (
            2,
            True,
        )
