"""The neighbourhood graph: equal to the plain definition, and true through additions, removals, stops and repeats."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import writing_to
from hoptrail.documents.splitting import PassageLimits
from hoptrail.errors import Interrupted
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.catalogue import structures_by_name
from hoptrail.structures.passages import Passages
from hoptrail.structures.progress_tracker import ignore
from hoptrail.types import Document, Kind, Link, Usage
from hoptrail_papers import nearest
from hoptrail_papers.keyword_statistics import KeywordStatistics
from hoptrail_papers.sunar import neighbours
from hoptrail_papers.sunar.adaptive import stored_neighbours
from hoptrail_papers.sunar.neighbours import (
    Bm25Neighbours,
    Bm25NeighbourSettings,
    ByKeywords,
    DenseNeighbours,
    DenseNeighbourSettings,
    dearest_words,
)
from structures.site import Site
from world import FACTS, HashingEncoder, make_document

Graph = DenseNeighbours | Bm25Neighbours
WORDS = "alder birch cedar dogwood elm fir gorse hazel ivy juniper larch maple".split()  # noqa: SIM905


def make_documents(count: int, seed: int = 0) -> list[Document]:
    """Texts of a few words each, many of them alike."""
    chance = np.random.default_rng(seed)
    texts = [" ".join(chance.choice(WORDS, 4)) + f" n{number}." for number in range(count)]
    return [make_document(f"T{number}", text) for number, text in enumerate(texts)]


def dense(count: int = 3, **settings: Any) -> DenseNeighbours:
    return DenseNeighbours(DenseNeighbourSettings(neighbours=count, **settings))


def bm25(count: int = 3, words: int = 0) -> Bm25Neighbours:
    return Bm25Neighbours(Bm25NeighbourSettings(neighbours=count, words=words))


def links(site: Site, graph: Graph) -> set[Link]:
    """Without those of a passage to itself, which say that it has no more."""
    found = site.snapshot.links(graph.name)
    return {link for link in found if link.source != link.target}


def ends(found: set[Link]) -> set[tuple[str, str]]:
    return {(link.source, link.target) for link in found}


def built(folder: Path, graph: Graph, documents: list[Document]) -> Site:
    site = Site(folder)
    site.build(graph, add=documents)
    return site


def around(site: Site, graph: str, name: str, most: int) -> tuple[str, ...]:
    return tuple(stored_neighbours(site.snapshot, graph, [name], most)[name])


def test_neighbours_by_vector_are_the_nearest_by_cosine(tmp_path: Path) -> None:
    site = built(tmp_path, dense(), make_documents(20))
    mirror = site.snapshot.search.vectors(Kind.PASSAGE)
    for row, name in enumerate(mirror.ids):
        cosines = np.round(mirror.matrix @ mirror.matrix[row], 5)
        order = sorted((other for other in range(20) if other != row), key=lambda other: (-cosines[other], other))
        assert around(site, "dense-neighbours", name, 3) == tuple(mirror.ids[other] for other in order[:3])
        assert around(site, "dense-neighbours", name, 1) == (mirror.ids[order[0]],)
    weights = {round(link.weight, 5) for link in links(site, dense())}
    assert max(weights) <= 1.00001


def test_neighbours_by_keywords_are_the_best_by_bm25(tmp_path: Path) -> None:
    site = built(tmp_path, bm25(), make_documents(20))
    units = sorted(site.units(Kind.PASSAGE).values(), key=lambda unit: unit.id)
    statistics = KeywordStatistics.of([unit.searchable for unit in units])
    for row, unit in enumerate(units):
        once = " ".join(dict.fromkeys(unit.searchable.lower().replace(".", " ").split()))
        scores = np.round(statistics.scores(once).astype(float), 4)
        order = sorted((other for other in range(20) if other != row), key=lambda other: (-scores[other], other))
        found = around(site, "bm25-neighbours", unit.id, 3)
        assert [round(scores[[one.id for one in units].index(name)], 4) for name in found] == [
            round(scores[other], 4) for other in order[: len(found)]
        ]


def test_a_passage_asks_with_its_dearest_words() -> None:
    statistics = KeywordStatistics.of(["common rare common", "common other", "common third"])
    kept = dearest_words(statistics.matrix, 1).toarray()
    assert kept.sum(axis=1).tolist() == [1, 1, 1]
    assert (statistics.matrix.toarray() * kept).max(axis=1).tolist() == statistics.matrix.toarray().max(axis=1).tolist()
    assert dearest_words(statistics.matrix, 0).toarray().sum() == 6
    alone = ByKeywords(statistics, Bm25NeighbourSettings(words=1)).of(np.arange(3, dtype=np.int32))
    assert alone.sources.tolist() == alone.targets.tolist() == [0, 1, 2], "the rarest words are nobody else's"


def test_words_have_the_same_columns_in_every_run() -> None:
    matrix = KeywordStatistics.of(["zinc amber", "amber lime"]).matrix.toarray()
    assert (matrix > 0).tolist() == [[True, False, True], [True, True, False]]


@pytest.mark.parametrize("graph", [dense(), bm25(words=3)])
def test_building_step_by_step_gives_what_building_at_once_gives(graph: Graph, tmp_path: Path) -> None:
    documents = make_documents(30)
    whole = built(tmp_path / "whole", graph, documents)
    steps = built(tmp_path / "steps", graph, documents[:12])
    steps.build(graph, add=documents[12:13])
    steps.build(graph, add=documents[13:])
    if isinstance(graph, DenseNeighbours):
        assert links(steps, graph) == links(whole, graph)
    else:  # links that stand keep the score they were made with
        shared = ends(links(steps, graph)) & ends(links(whole, graph))
        assert len(shared) > 0.6 * len(links(whole, graph))
    assert len(links(steps, graph)) == len(links(whole, graph)) == 30 * 3


@pytest.mark.parametrize("graph", [dense(), bm25()])
def test_removal_leaves_no_link_behind_and_fills_the_gaps(graph: Graph, tmp_path: Path) -> None:
    documents = make_documents(20)
    site = built(tmp_path / "site", graph, documents)
    site.build(graph, remove=documents[:6])
    left = set(site.units(Kind.PASSAGE))
    found = links(site, graph)
    assert {name for link in found for name in (link.source, link.target)} <= left
    assert len(found) == 14 * 3
    if isinstance(graph, DenseNeighbours):
        assert found == links(built(tmp_path / "anew", graph, documents[6:]), graph)


def test_only_those_change_that_are_concerned(tmp_path: Path) -> None:
    documents = make_documents(20)
    site = built(tmp_path, dense(), documents)
    before = links(site, dense())
    site.build(dense(), add=[make_document("Far", "entirely unrelated prose here.")])
    (far,) = (unit.id for unit in site.units(Kind.PASSAGE).values() if unit.title == "Far")
    after = links(site, dense())
    changed = {link.source for link in before ^ after}
    assert changed - {far} == {link.source for link in after if link.target == far}
    assert len(after) == len(before) + 3


@pytest.mark.parametrize("graph", [dense(), dense(exact_up_to=0), bm25()])
def test_a_stopped_build_comes_to_the_same_end(graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "CELL", 5)
    monkeypatch.setattr(neighbours, "PROBES", 2)
    documents = make_documents(23)
    whole = built(tmp_path / "whole", graph, documents)
    site = Site(tmp_path / "stopped")
    site.build(add=documents)
    run(site, graph, stop_after(1))
    assert links(site, graph) == set()
    run(site, graph, lambda: None)
    assert links(site, graph) == links(whole, graph)


def stop_after(calls: int) -> Callable[[], None]:
    left = iter(range(calls))

    def pause() -> None:
        if next(left, None) is None:
            raise Interrupted("enough")

    return pause


def run(site: Site, graph: Graph, pause: Callable[[], None]) -> None:
    with writing_to(site.folder, site.encoder.identity) as writer:

        def checked() -> None:
            writer.checkpoint()
            pause()

        with suppress(Interrupted):
            graph.update(BuildContext(writer, site.encoder, ignore, checked))
        writer.publish(Usage())


@pytest.mark.parametrize("graph", [dense(), bm25()])
@pytest.mark.parametrize("count", [1, 3])
def test_few_passages_have_as_many_neighbours_as_there_are(graph: Graph, count: int, tmp_path: Path) -> None:
    documents = [make_document(f"T{number}", f"Alder and birch {number}.") for number in range(count)]
    site = built(tmp_path, graph, documents)
    assert len(links(site, graph)) == count * (count - 1)
    for name in site.units(Kind.PASSAGE):
        assert name not in around(site, graph.name, name, 10)


@pytest.mark.parametrize("graph", [dense(2), bm25(2)])
def test_identical_passages_go_to_the_lowest_ids(graph: Graph, tmp_path: Path) -> None:
    site = built(tmp_path, graph, [make_document("", f"Alder birch.{' ' * number}") for number in range(6)])
    ids = sorted(site.units(Kind.PASSAGE))
    for name in ids:
        assert around(site, graph.name, name, 9) == tuple(other for other in ids if other != name)[:2]


def test_who_shares_no_word_is_no_neighbour(tmp_path: Path) -> None:
    documents = [make_document("", text) for text in ("Alder.", "Birch.", "Alder birch.", "的。", "the of and.")]
    site = built(tmp_path, bm25(), documents)
    titles = {unit.id: unit.text for unit in site.units(Kind.PASSAGE).values()}
    found = {(titles[link.source], titles[link.target]) for link in links(site, bm25())}
    both = "Alder birch."
    assert found == {("Alder.", both), ("Birch.", both), (both, "Alder."), (both, "Birch.")}
    empty = built(tmp_path / "empty", bm25(), [make_document("", "the of."), make_document("", "of the.")])
    assert links(empty, bm25()) == set()


def test_a_list_that_was_closed_takes_newcomers(tmp_path: Path) -> None:
    site = built(
        tmp_path, bm25(2), [make_document("", text) for text in ("Alder one.", "Alder two.", "Cedar.", "Fir.")]
    )
    assert len(links(site, bm25())) == 2
    site.build(bm25(2), add=[make_document("", "Alder cedar."), make_document("", "Cedar fir.")])
    texts = {unit.id: unit.text for unit in site.units(Kind.PASSAGE).values()}
    found = {(texts[link.source], texts[link.target]) for link in links(site, bm25())}
    assert {target for source, target in found if source == "Cedar."} == {"Alder cedar.", "Cedar fir."}
    assert {target for source, target in found if source == "Alder one."} == {"Alder two.", "Alder cedar."}
    assert {target for source, target in found if source == "Fir."} == {"Cedar fir."}
    (newcomer,) = (entry for entry in site.snapshot.documents() if entry.text == "Cedar fir.")
    site.build(bm25(2), remove=[newcomer])
    assert all(link.source != name for link in links(site, bm25()) for name, text in texts.items() if text == "Fir.")


def test_newcomers_take_places_among_those_in_their_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "CELL", 10)
    monkeypatch.setattr(neighbours, "PROBES", 4)
    graph, documents = dense(exact_up_to=0), make_documents(120)
    whole = built(tmp_path / "whole", graph, documents)
    grown = built(tmp_path / "grown", graph, documents[:60])
    standing = set(grown.units(Kind.PASSAGE))
    grown.build(graph, add=documents[60:])
    found, wanted = (
        {end for end in ends(links(site, graph)) if end[0] in standing and end[1] not in standing}
        for site in (grown, whole)
    )
    assert len(found & wanted) > 0.75 * len(wanted)
    assert len(links(grown, graph)) == 120 * 3


def test_blocks_of_keyword_scores_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = make_documents(40)
    whole = built(tmp_path / "whole", bm25(), documents[:20])
    monkeypatch.setattr(neighbours, "BLOCK", 50)
    parts = built(tmp_path / "parts", bm25(), documents[:20])
    assert links(parts, bm25()) == links(whole, bm25())
    parts.build(bm25(), add=documents[20:])
    monkeypatch.undo()
    whole.build(bm25(), add=documents[20:])
    assert links(parts, bm25()) == links(whole, bm25())


def test_passages_cut_anew_are_linked_anew(tmp_path: Path) -> None:
    long = [make_document(f"L{n}", " ".join(f"Alder birch {n} {m}." for m in range(40))) for n in range(4)]
    site = built(tmp_path, dense(2), long)
    other = Site(site.folder, limits=PassageLimits(words=20, short_document_words=0))
    with writing_to(site.folder, site.encoder.identity) as writer:
        writer.drop_units(Kind.PASSAGE)
        writer.publish(Usage())
    other.build(dense(2))
    ids = set(other.units(Kind.PASSAGE))
    assert len(ids) > 4
    assert {name for link in links(other, dense(2)) for name in (link.source, link.target)} <= ids
    assert len(links(other, dense(2))) == 2 * len(ids)


@pytest.mark.parametrize("graph", [dense(2), bm25(2)])
def test_links_of_documents_that_are_cut_otherwise_are_those_of_an_index_made_anew(
    graph: Graph, tmp_path: Path
) -> None:
    documents = [
        *(make_document(f"L{n}", " ".join(f"Alder birch {n} {m}." for m in range(40))) for n in range(4)),
        *make_documents(6),
    ]
    site = built(tmp_path / "site", graph, documents)
    before = set(site.units(Kind.PASSAGE))
    with writing_to(site.folder, site.encoder.identity) as writer:
        Passages(site.limits).discard(writer)
        writer.publish(Usage())
    cut, anew = (
        Site(tmp_path / name, limits=PassageLimits(words=20, short_document_words=0)) for name in ("site", "anew")
    )
    cut.build(graph)
    anew.build(graph, add=documents)
    assert 0 < len(before & set(cut.units(Kind.PASSAGE))) < len(before), "short documents keep their passages"
    assert set(cut.snapshot.links(graph.name)) == set(anew.snapshot.links(graph.name))


@pytest.mark.parametrize("graph", [dense(), bm25()])
def test_links_to_passages_that_are_gone_are_found_where_nothing_is_to_be_linked(graph: Graph, tmp_path: Path) -> None:
    site = built(tmp_path, graph, make_documents(9))
    whole = links(site, graph)
    one = next(iter(whole))
    with writing_to(site.folder, site.encoder.identity) as writer:
        writer.links.put([Link(one.source, "gone", graph.name, 1.0), Link("gone", one.target, graph.name, 1.0)])
        writer.publish(Usage())
    site.build(graph)
    assert links(site, graph) == whole


def test_they_are_in_the_catalogue_with_their_settings(tmp_path: Path) -> None:
    known = structures_by_name(PassageLimits())
    assert [known[name].name for name in ("dense-neighbours", "bm25-neighbours")] == [
        "dense-neighbours",
        "bm25-neighbours",
    ]
    assert dense(3).fingerprint != dense(4).fingerprint
    site = built(tmp_path, dense(), [make_document(title, text) for title, text in FACTS.items()])
    with writing_to(tmp_path, HashingEncoder().identity) as writer:
        dense().discard(writer)
        writer.publish(Usage())
    assert list(Snapshot.open(tmp_path).links()) == []
    assert site.units(Kind.PASSAGE)
