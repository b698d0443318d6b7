"""What each of the four trees groups, and by what."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from shutil import copytree

import pytest

from hoptrail.corpus.columns import Numbers
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import Writer
from hoptrail.models.encoder import FloatMatrix
from hoptrail.types import Extraction, Kind, Span, Unit, content_id
from hoptrail_papers.sirerag import trees
from hoptrail_papers.sirerag.tree_store import level_of
from hoptrail_papers.sirerag.trees import EntityTree, JointTree, RelatednessTree, SimilarityTree, SimilarityTreeSettings
from structures.tree_world import (
    ENCODER,
    SETTINGS,
    SMALL_GROUPS,
    TREE,
    Children,
    Summariser,
    ancestors,
    corpus,
    groups,
    grow,
    passage_of,
    state,
    units,
)

RELATED = RelatednessTree(SETTINGS)
JOINT = JointTree(SETTINGS, (TREE, RELATED))
TREES = [TREE, RELATED, JOINT]
ENTITIES = EntityTree(SETTINGS)
DOCUMENTS = corpus(36)


def aggregates(keys: Sequence[int], facts: int = 2) -> Callable[[Writer], None]:
    """Puts aggregates that stand for entities: `facts` facts each, from as many documents."""

    def put(writer: Writer) -> None:
        made = []
        for key in keys:
            chosen = [DOCUMENTS[(key + 6 * number) % len(DOCUMENTS)] for number in range(facts)]
            spans = tuple(Span(document.id, 0, key + 1) for document in chosen)  # no two aggregates share one
            text = "\n".join(document.text for document in chosen)
            made.append(Unit(content_id("a", str(key), "0"), Kind.AGGREGATE, f"Entity {key}", text, spans))
        writer.put_units(made, ENCODER.encode([unit.searchable for unit in made]))

    return put


def extractions(found: Mapping[int, tuple[str, ...]]) -> Callable[[Writer], None]:
    """Puts the entities of documents' passages."""

    def put(writer: Writer) -> None:
        passages = {unit.document: unit.id for unit in writer.snapshot().units(Kind.PASSAGE)}
        writer.put_extractions({passages[DOCUMENTS[at].id]: Extraction(entities, ()) for at, entities in found.items()})

    return put


def kinds_below(folder: Path, tree: str) -> set[frozenset[Kind]]:
    """The kinds that stand together in groups."""
    kind = {id_: unit.kind for one in Kind for id_, unit in units(folder, one).items()}
    return {frozenset(kind[child] for child in children) for children in groups(folder, tree).values()}


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trees") / "planted"
    grow(folder, Summariser(), TREES, add=DOCUMENTS, prepare=aggregates(range(24), facts=3))
    return folder


@pytest.fixture
def grown(planted: Path, tmp_path: Path) -> Path:
    """The similarity, relatedness and joint tree over the documents and 24 aggregates."""
    return Path(copytree(planted, tmp_path / "grown"))


def test_the_relatedness_tree_stands_on_aggregates(grown: Path) -> None:
    leaves = units(grown, Kind.AGGREGATE).keys()
    found = groups(grown, RELATED.name)
    assert leaves <= {child for children in found.values() for child in children}
    assert kinds_below(grown, RELATED.name) == {frozenset({Kind.AGGREGATE}), frozenset({Kind.SUMMARY})}


def test_an_aggregate_that_says_more_keeps_its_place_and_renews_what_stands_above_it(grown: Path) -> None:
    before, language = groups(grown, RELATED.name), Summariser()
    grow(grown, language, [RELATED], prepare=aggregates([7], facts=4))
    assert groups(grown, RELATED.name) == before
    assert len(language.asked) == len(ancestors(before, content_id("a", "7", "0"))) > 0


def test_an_aggregate_that_was_made_anew_without_a_removed_document_keeps_its_group(grown: Path) -> None:
    """The writer takes the aggregate and every summary above it away, and leaves the links."""
    before, language, gone = groups(grown, RELATED.name), Summariser(), DOCUMENTS[25]
    touched = [13, 19]
    grow(grown, language, [RELATED], remove=[gone.id], prepare=aggregates(touched, facts=1))
    assert groups(grown, RELATED.name) == before
    assert len(language.asked) == len(ancestors(before, *(content_id("a", str(key), "0") for key in touched)))
    assert not any(gone.id in str(unit.sources) for id_, unit in units(grown).items() if id_ in before)


def test_trees_side_by_side_do_not_touch_each_other(grown: Path, tmp_path: Path) -> None:
    grow(tmp_path / "alone", Summariser(), [TREE], add=DOCUMENTS)
    alone, together = units(tmp_path / "alone"), units(grown)
    assert {id_: together[id_] for id_ in alone} == alone
    assert groups(grown, TREE.name) == groups(tmp_path / "alone", TREE.name)
    assert sum(len(groups(grown, tree.name)) for tree in TREES) == len(together)
    assert not grow(grown, Summariser(), TREES).changed


def test_the_joint_tree_groups_the_nodes_of_both_trees_on_every_level(grown: Path) -> None:
    found = groups(grown, JOINT.name)
    members = {child for children in found.values() for child in children}
    assert units(grown, Kind.PASSAGE).keys() | units(grown, Kind.AGGREGATE).keys() <= members
    assert frozenset({Kind.PASSAGE, Kind.AGGREGATE}) in kinds_below(grown, JOINT.name)
    assert not members & found.keys()
    similar, related = groups(grown, TREE.name), groups(grown, RELATED.name)
    assert any(set(children) & similar.keys() and set(children) & related.keys() for children in found.values())
    for group, children in found.items():
        assert {int(child[1]) if child[0] == "s" else 1 for child in children} == {int(group[1]) - 1}


def test_the_joint_tree_follows_the_others(grown: Path) -> None:
    gone = DOCUMENTS[8]
    grow(grown, Summariser(), TREES, remove=[gone.id], prepare=aggregates([2], facts=1))
    assert not any(gone.id in str(unit.sources) for unit in units(grown).values())
    nodes = {id_ for kind in Kind for id_ in units(grown, kind)}
    for tree in TREES:
        assert {child for children in groups(grown, tree.name).values() for child in children} <= nodes
    assert not grow(grown, Summariser(), TREES).changed


ISLANDS = {at: ("Alba", "Bern", f"Town {at}") if at % 2 else ("Crete", "Delos", f"Bay {at}") for at in range(16)}
"""Entities of the first documents: two families of names, by odd and even number, across all topics."""


def family(folder: Path, first: int) -> set[str]:
    return {passage_of(folder, DOCUMENTS[at]) for at in range(first, 16, 2)}


def leaf_groups(folder: Path) -> Children:
    return {group: children for group, children in groups(folder, ENTITIES.name).items() if level_of(group) == 2}


def test_above_the_passages_the_entity_tree_groups_its_own_summaries_and_those_by_likeness(tmp_path: Path) -> None:
    trees = [TREE, ENTITIES]
    grow(tmp_path, Summariser(), trees, add=DOCUMENTS, prepare=extractions(ISLANDS))
    found, similar = groups(tmp_path, ENTITIES.name), groups(tmp_path)
    above = {child for group, children in found.items() if level_of(group) == 3 for child in children}
    assert above == leaf_groups(tmp_path).keys() | {group for group in similar if level_of(group) == 2}
    assert any(level_of(group) == 3 for group in similar)
    highest = {child for group, children in found.items() if level_of(group) == 4 for child in children}
    assert highest == {group for group in found if level_of(group) == 3}, "one tree: nothing made by likeness alone"
    assert not grow(tmp_path, Summariser(), trees).changed


def test_the_entity_tree_groups_passages_by_what_they_name(tmp_path: Path) -> None:
    language = Summariser()
    grow(tmp_path, language, [ENTITIES], add=DOCUMENTS, prepare=extractions(ISLANDS | {20: ()}))
    found = leaf_groups(tmp_path)
    assert {child for children in found.values() for child in children} == family(tmp_path, 0) | family(tmp_path, 1)
    assert all(
        set(children) <= family(tmp_path, 0) or set(children) <= family(tmp_path, 1) for children in found.values()
    )
    own = {unit.text.split()[0] for unit in units(tmp_path, Kind.PASSAGE).values()}
    assert {unit.text.split()[0] for unit in units(tmp_path).values()} <= own
    assert not grow(tmp_path, language, [ENTITIES]).changed


def test_a_passage_that_gets_entities_later_joins_those_that_name_the_same(tmp_path: Path) -> None:
    grow(tmp_path, Summariser(), [ENTITIES], add=DOCUMENTS, prepare=extractions(ISLANDS))
    language = Summariser()
    grow(tmp_path, language, [ENTITIES], prepare=extractions({20: ("Crete", "Delos", "Bay")}))
    new = passage_of(tmp_path, DOCUMENTS[20])
    [children] = [children for children in leaf_groups(tmp_path).values() if new in children]
    assert set(children) - {new} <= family(tmp_path, 0)
    assert len(language.asked) == len(ancestors(groups(tmp_path, ENTITIES.name), new))


def two_level(folder: Path) -> tuple[SimilarityTree, set[str]]:
    """A tree over the documents, every sixth of which names nothing, and the passages of those."""
    settings = SimilarityTreeSettings(clustering=SMALL_GROUPS, leaf_placement="two-level", abstract=1 / 6)
    tree = SimilarityTree(settings)
    names = {at: () if at % 6 == 0 else ("Alba", "Bern") for at in range(36)}
    grow(folder, Summariser(), [tree], add=DOCUMENTS, prepare=extractions(names))
    return tree, {passage_of(folder, DOCUMENTS[at]) for at in range(0, 36, 6)}


def test_abstract_passages_enter_on_the_second_level(tmp_path: Path) -> None:
    tree, abstract = two_level(tmp_path)
    found = groups(tmp_path)
    low = {child for group, children in found.items() if group[1] == "2" for child in children}
    high = {child for group, children in found.items() if group[1] == "3" for child in children}
    assert low == units(tmp_path, Kind.PASSAGE).keys() - abstract
    assert abstract <= high
    assert high - abstract == {group for group in found if group[1] == "2"}
    assert not grow(tmp_path, Summariser(), [tree]).changed


def test_a_passage_stays_on_its_level_when_others_come(tmp_path: Path) -> None:
    """The six that name least are other ones now; only the new one is free to choose."""
    tree, abstract = two_level(tmp_path)
    before, [new] = groups(tmp_path), corpus(1, first=41)

    def name_nothing(writer: Writer) -> None:
        passages = {unit.document: unit.id for unit in writer.snapshot().units(Kind.PASSAGE)}
        writer.put_extractions({passages[new.id]: Extraction((), ())})

    grow(tmp_path, Summariser(), [tree], add=[new], prepare=name_nothing)
    after = groups(tmp_path)
    for level in "234":
        now = {child for group, children in after.items() if group[1] == level for child in children}
        then = {child for group, children in before.items() if group[1] == level for child in children}
        assert now - then <= {passage_of(tmp_path, new)}
    assert abstract <= {child for group, children in after.items() if group[1] == "3" for child in children}


def test_all_trees_are_the_same_however_few_sources_are_held(
    grown: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trees, "SOURCES", 1)
    kept: list[int] = []
    put_units = Writer.put_units

    def counting(writer: Writer, units: Sequence[Unit], vectors: FloatMatrix | None) -> Numbers:
        kept.extend([len(units)] if units[0].kind is Kind.SUMMARY else [])
        return put_units(writer, units, vectors)

    monkeypatch.setattr(Writer, "put_units", counting)
    grow(tmp_path / "few", Summariser(), TREES, add=DOCUMENTS, prepare=aggregates(range(24), facts=3))
    assert state(tmp_path / "few") == state(grown)
    assert set(kept) == {1}
    assert len(kept) == Snapshot.open(tmp_path / "few").count(Kind.SUMMARY)


def test_each_tree_says_what_it_is_built_from() -> None:
    assert SimilarityTree().built_from == ("passages",)
    placed = SimilarityTreeSettings(leaf_placement="two-level")
    assert SimilarityTree(placed).built_from == ("extractions",)
    assert RelatednessTree().built_from == ("aggregates",)
    assert JointTree().built_from == ("similarity-tree", "relatedness-tree")
    assert EntityTree().built_from == ("extractions", "similarity-tree")
