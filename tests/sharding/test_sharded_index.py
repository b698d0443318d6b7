"""A corpus in shards is searched as one index is."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest

from command import Hoptrail
from hoptrail.corpus.passage_graph import NAMES
from hoptrail.documents.splitting import CorpusPart
from hoptrail.errors import IndexMismatch, UsageError
from hoptrail.index.index import Index
from hoptrail.index.settings import Settings
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.recipes.settings import RecipeSettings
from hoptrail.recipes.single_pass import HybridSettings
from hoptrail.retrieval.units.unit_search import HybridSearchSettings
from hoptrail.types import Kind, Ranking, Unit
from hoptrail_scale.publishing.objects import Objects, StoreAddress
from hoptrail_scale.sharding.building import COUNT as COUNT_OBJECT
from hoptrail_scale.sharding.building import build_shards, shard_addresses
from hoptrail_scale.sharding.shard import LocalShards, Shard
from hoptrail_scale.sharding.sharded_index import ShardedIndex, candidate_index
from publishing.indexes import manifests_of
from sharding.conftest import COUNT, Built, opened
from sharding.towns import TOWNS
from structures.site import names_of
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
        title: [number for number in range(1, COUNT + 1) if CorpusPart(number, COUNT).has(documents[title])]
        for title in path
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


def test_changed_files_leave_their_shards(towns: Path, address: str, tmp_path: Path) -> None:
    build_shards([towns], address, 2, ["hybrid"])
    for path in sorted(towns.iterdir()):
        path.write_text(f"{path.stem} was renamed and has an observatory.")
    reports = build_shards([towns], address, 2, ["hybrid"])
    assert sum(report.documents for report in reports) == len(TOWNS) + len(FACTS)
    with closing(opened(address, 2, tmp_path / "shards")) as shards:
        assert not ShardedIndex(shards).search("streets road leads", "bm25")


def test_structures_of_earlier_runs_are_kept_in_step(towns: Path, address: str, tmp_path: Path) -> None:
    build_shards([towns], address, 2, ["trail"])
    (towns / "Nettle.txt").write_text("Nettle is a hamlet with an observatory.")
    build_shards([towns], address, 2, ["bm25"])
    with closing(opened(address, 2, tmp_path / "shards")) as shards:
        assert any("Nettle" in titles for titles in shards.all(titles_of_sentences))


def titles_of_sentences(shard: Shard) -> set[str]:
    return {unit.title for unit in shard._snapshot.units(Kind.SENTENCE)}


def test_a_title_stays_with_the_first_passage(tmp_path: Path, address: str) -> None:
    """Of a long document other passages may be gathered than the one that has its title as a name."""
    folder = tmp_path / "papers"
    folder.mkdir()
    middle = " ".join(
        f"Its {number}th chamber holds {number} jars of dried moss and nothing else." for number in range(400)
    )
    text = f"Zephyr is a house of the Bright family. {middle} The observatory of Marrow was built beside it in 1844."
    (folder / "Zephyr.txt").write_text(text)
    (folder / "Marrow.txt").write_text("Marrow is a village. Zephyr stands above it.")
    build_shards([folder], address, 2, ["trail"])
    with closing(opened(address, 2, tmp_path / "shards")) as shards:
        heads, _ = zip(*shards.all(Shard.state), strict=True)
        few = [
            unit.id
            for shard in shards.all(passages_of)
            for unit in shard
            if "observatory" in unit.text or unit.title == "Marrow"
        ]
        parts = shards.all(partial(Shard.contents, ids=frozenset(few), sentences=True))
        with candidate_index(parts, heads[0], ShardedIndex(shards), HashingEncoder()) as snapshot:
            names = names_of(snapshot, NAMES)
    passages = {unit.id: unit.title for part in parts for unit in part.units if unit.kind is Kind.PASSAGE}
    assert set(passages.values()) == {"Zephyr", "Marrow"}
    assert {passages[unit] for name, unit in names if unit in passages} == {"Marrow"}


def passages_of(shard: Shard) -> list[Unit]:
    return list(shard._snapshot.units(Kind.PASSAGE))


def test_newer_commits_are_searched_after_renewing(towns: Path, address: str, tmp_path: Path) -> None:
    build_shards([towns], address, 2, ["trail"])
    (tmp_path / "Nettle.txt").write_text("Nettle is a hamlet with an observatory.")
    with closing(opened(address, 2, tmp_path / "shards")) as shards:
        index, question = ShardedIndex(shards), "Which hamlet has an observatory?"
        before = index.search(question, "trail")
        Index(tmp_path / "shards" / "1").add(tmp_path / "Nettle.txt", ["trail"])
        assert ids(index.search(question, "trail")) == ids(before)
        index.renew()
        assert index.search(question, "trail")[0].unit.title == "Nettle"
        assert index.sizes()[0] == len(TOWNS) + len(FACTS) + 1


def test_deeper_fusion_is_that_of_one_index(towns: Path, address: str, tmp_path: Path) -> None:
    search = HybridSearchSettings(fusion="rrf", depth=400)
    settings = Settings(recipes=replace(RecipeSettings(), hybrid=HybridSettings(search=search)))
    whole = Index(tmp_path / "whole", settings)
    whole.add(towns, ["hybrid"])
    build_shards([towns], address, 2, ["hybrid"])
    with closing(opened(address, 2, tmp_path / "shards")) as shards:
        sharded = ShardedIndex(shards, settings)
        for question in QUESTIONS[:4]:
            assert ids(sharded.search(question, "hybrid", 60)) == ids(whole.search(question, "hybrid", 60))


def test_damage_is_repaired_by_building_again(towns: Path, address: str, tmp_path: Path) -> None:
    build_shards([towns], address, 2, ["bm25"])
    Objects(StoreAddress.of(address)).put(COUNT_OBJECT, b"two")
    first = Objects(StoreAddress.of(shard_addresses(address, 2)[0]))
    chunk = min(manifests_of(shard_addresses(address, 2)[0])[0].chunks)
    first.put(f"chunks/{chunk}", b"altered")
    build_shards([towns], address, 2, ["bm25"])
    with closing(opened(address, 2, tmp_path / "shards")) as shards:
        assert ShardedIndex(shards).search("Which town has a market?", "bm25")


def test_the_command_names_what_it_did(hoptrail: Hoptrail, towns: Path, address: str, tmp_path: Path) -> None:
    (towns / "torn.docx").write_bytes(b"PK\x03\x04 torn")
    done = hoptrail("shards", towns, "--to", address, "--count", 2, "--for", "bm25", "--on", "here")
    assert done.code == 4
    assert done.err.count("torn.docx") == 1
    assert "Shard 2 of 2:" in done.err
    assert hoptrail("shards", towns, "--to", address, "--count", 3, "--on", "here").code == 2
    with closing(opened(address, 2, tmp_path / "shards")) as shards:
        assert ShardedIndex(shards).search("Which town has a market?", "bm25")


def test_more_shards_than_documents(address: str, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("Nettle is a hamlet with an observatory.")
    build_shards([tmp_path / "one.txt"], address, 3, ["trail"])
    with closing(opened(address, 3, tmp_path / "shards")) as shards:
        few = ShardedIndex(shards)
        for recipe in ("bm25", "dense", "hybrid", "trail"):
            assert [hit.unit.title for hit in few.search("Where is an observatory?", recipe)] == ["one"]


@pytest.mark.usefixtures("store")
def test_what_shards_cannot_do_is_refused(sharded: ShardedIndex, towns: Path, built: Built) -> None:
    address = built.address
    with pytest.raises(UsageError, match="cannot search shards"):
        sharded.search(QUESTION, "sirerag")
    with pytest.raises(UsageError, match="cannot search shards"):
        build_shards([towns], address, COUNT, ["hirag"])
    with pytest.raises(UsageError, match="cannot search shards"):
        build_shards([towns], address, COUNT, settings=Settings(recipe="hirag"))
    with pytest.raises(UsageError, match=f"holds {COUNT} shards, not 3"):
        build_shards([towns], address, 3)
    with pytest.raises(UsageError, match="no part 5 of 4"):
        CorpusPart(5, 4)


def test_shards_of_another_encoder_are_refused(sharded: ShardedIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hoptrail_scale.sharding.sharded_index.open_encoder", lambda *_, **__: HashingEncoder("other"))
    with pytest.raises(IndexMismatch, match="shard 1 of 4"):
        ShardedIndex(sharded._scatter)


def test_shards_that_lack_structures_are_named(towns: Path, address: str, tmp_path: Path) -> None:
    build_shards([towns], address, 2, ["hybrid"])
    with (
        closing(opened(address, 2, tmp_path / "shards")) as shards,
        pytest.raises(UsageError, match="needs extractions, mentions, sentences, which shard 1"),
    ):
        ShardedIndex(shards).search(QUESTION, "trail")
