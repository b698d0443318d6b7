"""A tree is grown once, kept up to date by its changes alone, and goes on where it was stopped."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import Writer, writing_to
from hoptrail.documents.splitting import PassageLimits
from hoptrail.errors import BudgetExhausted, Interrupted
from hoptrail.language.scripted import ScriptedLanguage
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.declaration import Structure
from hoptrail.structures.passages import Passages
from hoptrail.structures.progress_tracker import ignore
from hoptrail.types import Kind, Link, Usage
from hoptrail_papers.sirerag import tree_store, trees
from hoptrail_papers.sirerag.tree_store import level_of
from hoptrail_papers.sirerag.trees import SimilarityTree, SimilarityTreeSettings
from structures.tree_world import (
    ENCODER,
    SMALL_GROUPS,
    TREE,
    Summariser,
    ancestors,
    corpus,
    groups,
    grow,
    passage_of,
    state,
    units,
)
from world import make_document


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tree") / "planted"
    grow(folder, Summariser(), add=corpus(60))
    return folder


@pytest.fixture
def grown(planted: Path, tmp_path: Path) -> Path:
    """A tree over 60 passages."""
    return Path(copytree(planted, tmp_path / "grown"))


def check_whole(folder: Path) -> None:
    """Every group has its summary, whose sources are those of its children; every node but the highest has a parent."""
    found, summaries, passages = groups(folder), units(folder), units(folder, Kind.PASSAGE)
    nodes = passages | summaries
    assert set(found) == set(summaries)
    for group, children in found.items():
        assert len(children) >= 2
        spans = [span for child in children for span in nodes[child].sources]
        assert sorted(summaries[group].sources) == sorted(set(spans))
    members = {child for children in found.values() for child in children}
    highest = max(map(level_of, found))
    assert set(passages) <= members
    assert {group for group in found if group not in members} == {
        group for group in found if level_of(group) == highest
    }


def test_levels_are_grouped_and_summarised_from_the_leaves_up(grown: Path) -> None:
    check_whole(grown)
    found = groups(grown)
    levels = [sum(level_of(group) == level for group in found) for level in (2, 3, 4)]
    assert levels[0] > levels[1] > levels[2] >= 1
    assert levels[0] + levels[1] + levels[2] == len(found)
    for group, children in found.items():
        below = {level_of(child) if child in found else 1 for child in children}
        assert below == {level_of(group) - 1}


def test_a_summary_is_what_the_language_said_of_the_children_with_its_vector(grown: Path) -> None:
    summaries, mirror = units(grown), Snapshot.open(grown).search.vectors(Kind.SUMMARY)
    passages = units(grown, Kind.PASSAGE)
    for group, children in groups(grown).items():
        if level_of(group) == 2:
            ordered = sorted(children, key=lambda child: passages[child].sources)
            words = [word for child in ordered for word in passages[child].text.split()[:8]]
            assert summaries[group].text == " ".join(words[:40])
    texts = [summaries[id_].searchable for id_ in mirror.ids]
    assert np.allclose(mirror.matrix, ENCODER.encode(texts), atol=1e-6)


def test_links_weigh_how_near_a_child_is_to_the_middle_of_its_group(grown: Path) -> None:
    snapshot = Snapshot.open(grown)
    row = {id_: vector for kind in (Kind.PASSAGE, Kind.SUMMARY) for id_, vector in _vectors(snapshot, kind).items()}
    children = groups(grown)
    for link in snapshot.links(TREE.name):
        middle = np.sum([row[child] for child in children[link.source]], axis=0)
        assert link.weight == pytest.approx(float(row[link.target] @ middle / np.linalg.norm(middle)), abs=1e-5)


def _vectors(snapshot: Snapshot, kind: Kind) -> dict[str, np.ndarray[tuple[int], np.dtype[np.float32]]]:
    mirror = snapshot.search.vectors(kind)
    return dict(zip(mirror.ids, mirror.matrix, strict=True))


def test_a_tree_has_as_many_levels_as_asked_for(tmp_path: Path) -> None:
    tree = SimilarityTree(SimilarityTreeSettings(levels=2, clustering=SMALL_GROUPS))
    grow(tmp_path, Summariser(), [tree], add=corpus(60))
    assert {level_of(group) for group in groups(tmp_path)} == {2}


def test_growing_stops_where_a_level_has_one_group(tmp_path: Path) -> None:
    language = Summariser()
    grow(tmp_path, language, add=corpus(3, topics=1))
    assert len(language.asked) == len(groups(tmp_path)) == 1
    check_whole(tmp_path)


def test_nothing_new_writes_nothing_and_asks_nothing(grown: Path) -> None:
    before, language = state(grown), Summariser()
    assert not grow(grown, language).changed
    assert language.asked == []
    assert state(grown) == before


def test_a_new_document_costs_the_summaries_on_its_way_up(grown: Path) -> None:
    before, summaries, language = groups(grown), units(grown), Summariser()
    [document] = corpus(1, first=60)
    grow(grown, language, add=[document])
    way_up = ancestors(groups(grown), passage_of(grown, document))
    assert 2 <= len(way_up) <= 4
    assert len(language.asked) == len(way_up)
    after = units(grown)
    assert {group for group in after if after[group] != summaries.get(group)} == way_up
    assert groups(grown).keys() == before.keys()
    check_whole(grown)


def test_a_removed_document_costs_the_summaries_on_its_way_up_and_leaves_no_trace(grown: Path) -> None:
    [document] = corpus(1, first=17)
    way_up = ancestors(groups(grown), passage_of(grown, document))
    summaries, language = units(grown), Summariser()
    assert any(document.id in str(unit.sources) for unit in summaries.values())
    grow(grown, language, remove=[document.id])
    assert len(language.asked) == len(way_up)
    after = units(grown)
    assert {group for group in summaries if after.get(group) != summaries[group]} == way_up
    assert not any(document.id in str(unit.sources) for unit in after.values())
    check_whole(grown)


def test_a_third_more_documents_find_groups_and_leave_the_others_alone(grown: Path) -> None:
    before, language = units(grown), Summariser()
    grow(grown, language, add=corpus(18, first=60))
    check_whole(grown)
    after = units(grown)
    redone = [group for group in after if after[group] != before.get(group)]
    assert len(language.asked) == len(redone)
    assert len(language.asked) == len(set(map(frozenset, language.asked)))
    assert any(after[group] == before.get(group) and level_of(group) == 2 for group in after)


def test_a_tree_that_grew_by_single_documents_stays_within_its_largest_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trees, "NEWCOMERS", 1.0)
    tree = SimilarityTree(SimilarityTreeSettings(clustering=SMALL_GROUPS))
    documents = corpus(40, topics=2)
    grow(tmp_path, Summariser(), [tree], add=documents[:10])
    for start in range(10, 40, 10):
        grow(tmp_path, Summariser(), [tree], add=documents[start : start + 10])
    assert max(len(children) for children in groups(tmp_path).values()) <= 9
    check_whole(tmp_path)


def test_removing_everything_leaves_nothing(grown: Path) -> None:
    language = Summariser()
    grow(grown, language, remove=[document.id for document in corpus(60)])
    assert (units(grown), groups(grown), language.asked) == ({}, {}, [])
    assert not grow(grown, language).changed


def test_removing_most_regroups_what_is_left(grown: Path) -> None:
    grow(grown, Summariser(), remove=[document.id for document in corpus(50)])
    check_whole(grown)
    assert not grow(grown, Summariser()).changed


def test_the_same_corpus_gives_the_same_tree(grown: Path, tmp_path: Path) -> None:
    grow(tmp_path / "again", Summariser(), add=corpus(60)[::-1])
    assert state(tmp_path / "again") == state(grown)


def test_however_little_is_written_together_the_tree_is_the_same(
    grown: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes: dict[str, Any] = {"add": corpus(9, first=60), "remove": [one.id for one in corpus(20, first=3)]}
    straight = Summariser()
    grow(tmp_path / "whole", straight, add=corpus(60))
    grow(tmp_path / "whole", straight, **changes)
    assert state(tmp_path / "whole")[0] != state(grown)[0]

    monkeypatch.setattr(tree_store, "WRITTEN", 3)
    language = Summariser()
    grow(tmp_path / "little", language, add=corpus(60))
    assert state(tmp_path / "little") == state(grown)
    assert not grow(tmp_path / "little", language).changed
    grow(tmp_path / "little", language, **changes)
    assert state(tmp_path / "little") == state(tmp_path / "whole")
    assert language.asked == straight.asked


def test_a_build_stopped_anywhere_ends_in_the_same_tree(
    grown: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trees, "BATCH", 12)
    expected, language = state(grown), Summariser()
    pauses = grow(tmp_path / "whole", language, add=corpus(60)).pauses
    assert pauses >= 7
    for stop in range(1, pauses + 1):
        folder, again = tmp_path / str(stop), Summariser()
        with pytest.raises(Interrupted):
            grow(folder, again, add=corpus(60), stop_at=stop)
        grow(folder, again)
        assert state(folder) == expected
        assert sorted(again.asked) == sorted(language.asked)


@pytest.mark.parametrize("removed", [0, 3])
def test_an_update_stopped_at_every_pause_in_turn_ends_in_the_same_tree(
    grown: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, removed: int
) -> None:
    """It asks nothing twice, unless summaries went with documents: until they are made again, nothing is kept."""
    monkeypatch.setattr(trees, "BATCH", 2)
    grow(tmp_path / "other", Summariser(), add=corpus(60))
    new, old = corpus(5, first=60), [document.id for document in corpus(removed)]
    language, straight = Summariser(), Summariser()
    grow(tmp_path / "other", straight, add=new, remove=old)
    for stop in range(1, 40):
        with suppress(Interrupted):
            grow(grown, language, add=new, remove=old, stop_at=stop)
            break
    assert stop > 3
    assert state(grown) == state(tmp_path / "other")
    assert set(language.asked) == set(straight.asked)
    if not removed:
        assert len(language.asked) == len(straight.asked)


def test_what_was_made_before_the_money_ran_out_is_kept(tmp_path: Path) -> None:
    first = Summariser(budget=5)
    with pytest.raises(BudgetExhausted):
        grow(tmp_path, first, add=corpus(60))
    second = Summariser()
    grow(tmp_path, second)
    assert len(first.asked) == 5
    assert not set(first.asked) & set(second.asked)
    check_whole(tmp_path)


def test_a_failed_summary_is_noted_left_out_and_made_by_the_next_run(tmp_path: Path) -> None:
    poor = Summariser(failing=lambda task: any("own7." in unit.text for unit in task.units))
    run = grow(tmp_path, poor, add=corpus(60))
    missing = groups(tmp_path).keys() - units(tmp_path).keys()
    assert len(missing) == len(run.notes) > 0
    assert all("Item" in note and "no reply could be used" in note and "again" in note for note in run.notes)
    assert max(map(level_of, units(tmp_path))) > 2
    rich = Summariser()
    assert grow(tmp_path, rich).notes == []
    check_whole(tmp_path)
    assert len(rich.asked) == len(ancestors(groups(tmp_path), *missing) | missing)


def test_a_summary_that_cannot_be_renewed_stays_as_it_was(grown: Path) -> None:
    before, [document] = state(grown), corpus(1, first=60)
    run = grow(grown, Summariser(failing=lambda _: True), add=[document])
    assert len(run.notes) == 1
    assert state(grown)[:3] == before[:3]
    grow(grown, Summariser())
    check_whole(grown)


def test_an_empty_reply_is_a_failure(tmp_path: Path) -> None:
    run = grow(tmp_path, ScriptedLanguage([" "]), add=corpus(3, topics=1))
    assert units(tmp_path) == {}
    [note] = run.notes
    assert "the reply was empty" in note


@pytest.mark.parametrize(("count", "summaries"), [(0, 0), (1, 0), (2, 1)])
def test_the_smallest_corpora(tmp_path: Path, count: int, summaries: int) -> None:
    language = Summariser()
    grow(tmp_path, language, add=corpus(count, topics=1))
    if count:
        assert len(units(tmp_path)) == len(language.asked) == summaries
    assert not grow(tmp_path, language).changed


def test_texts_that_are_all_the_same(tmp_path: Path) -> None:
    grow(tmp_path, Summariser(), add=[make_document(f"{number:02}", "The same text.") for number in range(30)])
    check_whole(tmp_path)
    assert not grow(tmp_path, Summariser()).changed


def test_a_text_that_is_longer_than_a_group_may_be_is_in_no_group(tmp_path: Path) -> None:
    """It would take the place of all others in a prompt; it stands in the pool by itself."""
    long = make_document("Long", "word " * 49_999 + "end.")
    language = Summariser()
    grow(tmp_path, language, add=[long, *corpus(12)])
    members = {child for children in groups(tmp_path).values() for child in children}
    assert passage_of(tmp_path, long) not in members
    assert len(members & units(tmp_path, Kind.PASSAGE).keys()) == 12
    assert not grow(tmp_path, language).changed


def test_without_a_language_what_must_go_goes_and_the_groups_stay(grown: Path) -> None:
    [document] = corpus(1, first=17)
    found = groups(grown)
    passage = passage_of(grown, document)
    way_up = ancestors(found, passage)
    run = grow(grown, None, remove=[document.id])
    assert units(grown).keys() == found.keys() - way_up
    assert groups(grown) == {
        group: tuple(child for child in children if child != passage) for group, children in found.items()
    }
    [note] = run.notes
    assert f"{len(way_up)} of {len(found)} summaries" in note
    assert "hoptrail index --index DIR --for RECIPE --language NAME" in note
    language = Summariser()
    assert grow(grown, language).notes == []
    assert len(language.asked) == len(way_up)
    check_whole(grown)


def test_without_a_language_new_leaves_wait_and_are_counted(grown: Path) -> None:
    before = groups(grown)
    run = grow(grown, None, add=corpus(4, first=60))
    assert "0 of" in run.notes[0]
    assert "4 leaves are in no group" in run.notes[0]
    assert groups(grown) == before


def test_without_a_language_and_without_a_tree_there_is_nothing_to_say(tmp_path: Path) -> None:
    assert grow(tmp_path, None, add=corpus(4)).notes == []


def test_passages_that_were_made_anew_get_a_new_tree(tmp_path: Path) -> None:
    """Other limits: all leaves have other ids, and no group stands."""

    def shorter(writer: Writer) -> None:
        writer.drop_units(Kind.PASSAGE)
        limits = PassageLimits(words=12, short_document_words=0)
        Passages(limits).update(BuildContext(writer, ENCODER, ignore, writer.checkpoint))

    documents = [make_document(one.title, f"{one.text} {one.text}") for one in corpus(20)]
    grow(tmp_path, Summariser(), add=documents)
    before = units(tmp_path).keys()
    grow(tmp_path, Summariser(), prepare=shorter)
    assert len(units(tmp_path, Kind.PASSAGE)) == 40
    assert not before & units(tmp_path).keys()
    check_whole(tmp_path)


def test_a_summary_that_lost_all_links_goes(grown: Path) -> None:
    """As when the structure that made its children took them away, though their documents stay."""
    passages = set(units(grown, Kind.PASSAGE))
    [group] = sorted(groups(grown))[:1]

    def take_links(writer: Writer) -> None:
        writer.links.remove(TREE.name, [group])

    language = Summariser()
    grow(grown, language, prepare=take_links)
    assert group not in units(grown)
    assert passages <= {child for children in groups(grown).values() for child in children}


def test_discarding_takes_its_own_summaries_and_links_only(grown: Path) -> None:
    foreign = units(grown)[next(iter(groups(grown)))]
    with writing_to(grown, ENCODER.identity) as writer:
        other = type(foreign)("s2other", Kind.SUMMARY, "", "Another tree's.", foreign.sources)
        writer.put_units([other], ENCODER.encode([other.searchable]))
        writer.links.put([Link("s2other", "p1", "relatedness-tree", 1.0)])
        structure: Structure = TREE
        structure.discard(writer)
        writer.publish(Usage())
    assert set(units(grown)) == {"s2other"}
    assert [link.kind for link in Snapshot.open(grown).links()] == ["relatedness-tree"]


def test_another_setting_is_another_fingerprint() -> None:
    assert SimilarityTree().fingerprint != TREE.fingerprint
    assert SimilarityTree().fingerprint == SimilarityTree().fingerprint
