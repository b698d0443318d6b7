"""Where names, words and triples are looked up around a question, recipes find what they find among all."""

from __future__ import annotations

import random
from collections.abc import Collection
from pathlib import Path
from typing import Literal

import pytest

from hoptrail.documents.limits import ReadingLimits
from hoptrail.documents.splitting import PassageLimits
from hoptrail.indexing import Performer, Watcher, update_index
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.recipes.catalogue import RecipeSettings, needed_structures, open_recipe
from hoptrail.retrieval import triples_around
from hoptrail.retrieval.corpus import Corpus
from hoptrail.store.snapshot import Snapshot
from hoptrail.structures.catalogue import StructureSettings, structures_by_name, with_foundations
from hoptrail.structures.mentions import MentionSettings
from hoptrail.structures.names import TRIPLES
from hoptrail.structures.triples import END
from hoptrail.types import Hit, Kind
from world import FACTS, HashingEncoder

RECIPES = ("trail:frontier", "trail")
"""Those that look up names and words."""

OF_TRIPLES = (
    *(
        "graphrag",
        "graphrag:no-neighbours",
        "lightrag",
        "lightrag:mix",
        "hipporag",
        "hipporag:one",
        "hipporag:two-unfiltered",
    ),
    *("comprag", "comprag:poster", "comprag:unbinding", "comprag:triples", "comprag:pagerank"),
)
"""Those that look up the triples around a question."""

QUESTIONS = (
    "Which river flows through the town where the designer of the Tallow Bridge was born?",
    "Who was the miller of Mill 17?",
    "Where did Anna Reed of the Lindeth buy the millstones?",
)

WORDS = [
    "alder",
    "birch",
    "cedar",
    "dogwood",
    "elm",
    "fir",
    "gorse",
    "hazel",
    "ivy",
    "juniper",
    "larch",
    "maple",
    "oak",
    "pine",
    "rowan",
    "spruce",
    "willow",
    "yew",
]


def opened(folder: Path, terms_above: int) -> Corpus:
    encoder = HashingEncoder()
    chance = random.Random(0)
    pages = dict(FACTS)
    for number in range(10, 70):  # a word of one letter is not counted in memory, but in the store
        words = [" ".join(chance.sample(WORDS, chance.randint(3, 9))) for _ in range(2)]
        pages[f"Mill {number}"] = (
            f"Mill {number} stood beside {words[0]}. Its miller was Anna Reed, who sold {words[1]}."
        )
    for title, text in pages.items():
        (folder / f"{title}.txt").write_text(text, encoding="utf-8")
    known = structures_by_name(PassageLimits(), StructureSettings(mentions=MentionSettings(terms_above)))
    update_index(
        folder / "index",
        sorted(folder.glob("*.txt")),
        encoder,
        with_foundations(needed_structures(RECIPES + OF_TRIPLES, RecipeSettings()), known),
        ReadingLimits(),
        Watcher(),
        Performer(OfflineLanguage()),
    )
    return Corpus(Snapshot.open(folder / "index"), lambda: encoder)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return opened(tmp_path_factory.mktemp("small"), 1000)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return opened(tmp_path_factory.mktemp("large"), 0)


def found_by(name: str, corpus: Corpus, hits: int) -> list[list[Hit]]:
    recipe = open_recipe(name, corpus, OfflineLanguage(), RecipeSettings())
    return [list(recipe.retrieve(question)[:hits]) for question in QUESTIONS]


def check_alike(found: list[list[Hit]], expected: list[list[Hit]]) -> None:
    for one, other in zip(found, expected, strict=True):
        assert [hit.unit for hit in one] == [hit.unit for hit in other]
        assert [hit.score for hit in one] == pytest.approx([hit.score for hit in other], abs=1e-4)


@pytest.mark.parametrize("name", OF_TRIPLES)
def test_where_all_triples_lie_around_a_question_it_finds_what_it_finds_among_all(
    name: str, small: Corpus, large: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = found_by(name, small, 10)
    monkeypatch.setattr(triples_around, "HELD", 0)
    for limit in ("NEAREST", "NAMES", "A_NAME", "LOOKED_AT", "REACHED", "SPEAKING"):
        monkeypatch.setattr(triples_around, limit, 10_000)
    check_alike(found_by(name, large, 10), expected)
    assert (TRIPLES, "stored") in small.snapshot._derived
    assert (TRIPLES, "stored") not in large.snapshot._derived


def test_few_triples_around_a_question_are_enough(large: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triples_around, "HELD", 0)
    monkeypatch.setattr(triples_around, "NEAREST", 5)
    monkeypatch.setattr(triples_around, "REACHED", 20)
    monkeypatch.setattr(triples_around, "SPEAKING", 5)
    found = triples_around.triples_around(large, ["Who was the miller of Mill 17?", "Mill 17"])
    assert not found.whole
    assert 5 < len(found) < large.snapshot.count(Kind.TRIPLE) / 2
    best = open_recipe("graphrag:passages", large, OfflineLanguage(), RecipeSettings()).retrieve(QUESTIONS[1])[0]
    assert best.unit.title == "Mill 17"


def test_of_a_name_in_thousands_of_triples_a_share_is_read(large: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triples_around, "HELD", 0)
    read: list[tuple[int, str]] = []
    linked = Snapshot.linked

    def counting(
        snapshot: Snapshot, end: Literal["source", "target"], ids: Collection[str], kind: str, below: str = ""
    ) -> list[tuple[str, str]]:
        found = list(linked(snapshot, end, ids, kind, below))
        if kind == END:
            read.append((len(found), below))
            assert all(target < below for _, target in found if below)
        return found

    monkeypatch.setattr(Snapshot, "linked", counting)
    texts = ["Who was the miller of Mill 17?", "Mill 17"]

    def links_read() -> int:
        read.clear()
        triples_around.triples_around(large, texts)
        return sum(count for count, below in read if not below)

    everything = links_read()
    assert all(bool(below) == (place % 2 == 0) for place, (_, below) in enumerate(read))
    monkeypatch.setattr(triples_around, "SHARE", 0.5)
    monkeypatch.setattr(triples_around, "FAMOUS", 1)
    assert 0 < links_read() < everything / 2
    assert all(count for count, below in read if below)


@pytest.mark.parametrize("name", RECIPES)
def test_a_large_corpus_is_searched_like_a_small_one(name: str, small: Corpus, large: Corpus) -> None:
    assert large.snapshot.has_terms
    assert not small.snapshot.has_terms
    check_alike(found_by(name, large, 20), found_by(name, small, 20))
