"""Late interaction over a first stage: every token of the question counts, so that one passage must say all of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.documents.splitting import PassageLimits
from hoptrail.errors import UsageError
from hoptrail.index.indexing import Watcher, update_index
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.recipes.catalogue import open_recipe
from hoptrail.recipes.settings import RecipeSettings
from hoptrail.retrieval.corpus import Corpus
from hoptrail.structures.passages import Passages
from world import HashingEncoder, TokenHashingEncoder

QUESTION = "keeper of the lamp at Skerry Point"
WORLD = {
    "Lamps": "The keeper of the lamp, the keeper of the lamp.",
    "Log": "That year our lamp at Skerry Point had Nell Marsh as keeper of its oil, who swept the stairs, wound clocks and "
    "wrote every storm down; she left when winter came, and nobody else would climb so high.",
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder: Path = tmp_path_factory.mktemp("tokens")
    encoder = TokenHashingEncoder(dimension=256)
    for title, text in WORLD.items():
        (folder / f"{title}.txt").write_text(text, encoding="utf-8")
    structures = [Passages(PassageLimits())]
    update_index(folder / "index", sorted(folder.glob("*.txt")), encoder, structures, Watcher())
    return Corpus(Snapshot.open(folder / "index"), lambda: encoder)


@pytest.mark.parametrize("preset", ["late-interaction", "late-interaction-bm25"])
def test_what_matches_every_token_comes_before_what_repeats_one(preset: str, corpus: Corpus) -> None:
    dense = open_recipe("dense", corpus, OfflineLanguage(), RecipeSettings()).retrieve(QUESTION)
    late = open_recipe(f"hybrid:{preset}", corpus, OfflineLanguage(), RecipeSettings()).retrieve(QUESTION)
    assert [hit.unit.title for hit in dense] == ["Lamps", "Log"]
    assert [hit.unit.title for hit in late] == ["Log", "Lamps"]
    assert {hit.channel for hit in late} == {"late-interaction"}


def test_an_encoder_without_tokens_is_told_so(corpus: Corpus) -> None:
    plain = Corpus(corpus.snapshot, lambda: HashingEncoder(dimension=256))
    with pytest.raises(UsageError, match="needs an encoder with a vector per token"):
        open_recipe("hybrid:late-interaction", plain, OfflineLanguage(), RecipeSettings()).retrieve(QUESTION)
