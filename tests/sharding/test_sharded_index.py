"""A corpus in shards is searched as one index is."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import pytest

from hoptrail.documents.corpus_part import Part
from hoptrail.errors import IndexMismatch, UsageError
from hoptrail.index import Index
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.sharding.building import build_shards
from hoptrail.sharding.scatter import LocalShards
from hoptrail.sharding.shard import Shard
from hoptrail.sharding.sharded_index import ShardedIndex
from hoptrail.types import Ranking
from sharding.conftest import COUNT, opened
from sharding.towns import TOWNS
from world import FACTS, HashingEncoder

T = TypeVar("T")

QUESTION = "Which river flows through the birthplace of the designer of the Tallow Bridge?"
QUESTIONS = (
    QUESTION,
    "Which town has a market?",
    *(f"Where does the road from {town} lead to?" for town in TOWNS[:12]),
)


def ids(found: Ranking) -> list[str]:
    return [hit.unit.id for hit in found]


@pytest.mark.parametrize("recipe", ["bm25", "dense", "hybrid"])
@pytest.mark.parametrize("limit", [3, 20, 150])
def test_rankings_are_those_of_one_index(whole: Index, sharded: ShardedIndex, recipe: str, limit: int) -> None:
    for question in QUESTIONS:
        here, there = whole.search(question, recipe, limit), sharded.search(question, recipe, limit)
        assert ids(here) == ids(there)
        assert [hit.score for hit in here] == pytest.approx([hit.score for hit in there], abs=1e-6)


def test_every_document_is_in_one_shard(sharded: ShardedIndex, whole: Index) -> None:
    found = sharded.search("town river bridge road market harbour", "bm25", 200)
    assert len(found) == len(set(ids(found))) == len(whole.search("town river bridge road market harbour", "bm25", 200))


def test_a_path_leads_through_several_shards(sharded: ShardedIndex, whole: Index) -> None:
    documents = {one.title: one.id for one in whole.contents().documents}
    path = ["Tallow Bridge", "Orla Finch", "Wrenmouth"]
    parts = {
        title: [number for number in range(1, COUNT + 1) if Part(number, COUNT).has(documents[title])] for title in path
    }
    assert len({tuple(numbers) for numbers in parts.values()}) > 1
    here, there = ([hit.unit.title for hit in index.search(QUESTION, "trail")] for index in (whole, sharded))
    assert here[:5] == there[:5]  # further down, passages with equal scores come in any order
    assert set(path) <= set(there)


def test_an_answer_has_its_trail(sharded: ShardedIndex) -> None:
    answer = sharded.ask("Where was Orla Finch born?", "trail", OfflineLanguage())
    assert answer.text == "Wrenmouth"
    assert [evidence.title for evidence in answer.evidence][:1] == ["Orla Finch"]


def test_a_call_may_be_repeated_and_asked_of_a_new_shard(sharded: ShardedIndex, tmp_path: Path) -> None:
    """As after the loss of a process: what a call before had found there is gone."""
    expected = ids(sharded.search(QUESTION, "trail"))

    class Forgetting(LocalShards):
        def all(self, call: Callable[[Shard], T]) -> list[T]:
            self.renew()
            super().all(call)
            return super().all(call)

    folders = [tmp_path / "shards" / str(number) for number in range(COUNT)]
    with closing(Forgetting(folders)) as shards:
        assert ids(ShardedIndex(shards).search(QUESTION, "trail")) == expected


def test_changes_are_found_after_the_next_run(towns: Path, address: str, tmp_path: Path) -> None:
    build_shards([towns], address, 2, ["hybrid"])
    (towns / "Kestbury.txt").unlink()
    (towns / "Nettle.txt").write_text("Nettle is a hamlet with an observatory.")
    (towns / "Isk.txt").write_text("The Isk is a canal with an observatory.")
    reports = build_shards([towns], address, 2, ["hybrid"])
    assert sum(report.documents for report in reports) == len(TOWNS) + len(FACTS) + 1
    assert sum(report.added + report.updated for report in reports) == 2
    with closing(opened(address, 2, tmp_path / "shards")) as shards:
        found = ShardedIndex(shards).search("Where is an observatory?", "bm25")
    assert {hit.unit.title for hit in found[:2]} == {"Nettle", "Isk"}


def test_more_shards_than_documents(address: str, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("Nettle is a hamlet with an observatory.")
    build_shards([tmp_path / "one.txt"], address, 3, ["trail"])
    with closing(opened(address, 3, tmp_path / "shards")) as shards:
        few = ShardedIndex(shards)
        for recipe in ("bm25", "dense", "hybrid", "trail"):
            assert [hit.unit.title for hit in few.search("Where is an observatory?", recipe)] == ["one"]


def test_what_shards_cannot_do_is_refused(sharded: ShardedIndex, towns: Path, address: str) -> None:
    with pytest.raises(UsageError, match="cannot search shards"):
        sharded.search(QUESTION, "sirerag")
    with pytest.raises(UsageError, match="cannot search shards"):
        build_shards([towns], address, COUNT, ["hirag"])
    with pytest.raises(UsageError, match=f"holds {COUNT} shards, not 3"):
        build_shards([towns], address, 3)
    with pytest.raises(UsageError, match="no part 5 of 4"):
        Part(5, 4)


def test_shards_of_another_encoder_are_refused(sharded: ShardedIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hoptrail.sharding.sharded_index.open_encoder", lambda *_: HashingEncoder("other"))
    with pytest.raises(IndexMismatch, match="shard 1 of 4"):
        ShardedIndex(sharded._scatter)


def test_shards_that_lack_structures_are_named(towns: Path, address: str, tmp_path: Path) -> None:
    build_shards([towns], address, 2, ["hybrid"])
    with (
        closing(opened(address, 2, tmp_path / "shards")) as shards,
        pytest.raises(UsageError, match="needs extractions, mentions, sentences, which shard 1"),
    ):
        ShardedIndex(shards).search(QUESTION, "trail")
