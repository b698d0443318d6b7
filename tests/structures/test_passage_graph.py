"""The stored graph of path search: equal to one made anew after any change, and absent where it would show more than a view."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hoptrail.corpus.passage_graph import GraphArrays, make_graph, stored_graph
from hoptrail.corpus.repairing import repair
from hoptrail.corpus.segments import Family, in_order
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.view import View
from hoptrail.corpus.writer import writing_to
from hoptrail.index.indexing import Watcher, update_index
from hoptrail.structures.passages import Passages
from hoptrail.structures.sentences import Sentences
from hoptrail.structures.title_mentions import TitleMentions
from hoptrail.types import Document, Usage
from structures.site import Site
from world import make_document

STRUCTURES = (Sentences(), TitleMentions())


def equal(one: GraphArrays | None, other: GraphArrays) -> bool:
    if one is None:
        return False
    arrays, others = one.stored(), other.stored()
    return arrays.keys() == others.keys() and all(
        np.array_equal(array, others[name]) and array.dtype == others[name].dtype for name, array in arrays.items()
    )


@pytest.fixture
def site(tmp_path: Path, documents: list[Document]) -> Site:
    site = Site(tmp_path / "index")
    site.build(*STRUCTURES, add=documents)
    update_index(site.folder, [], site.encoder, [Passages(site.limits), *STRUCTURES], Watcher())
    return site


def test_it_equals_one_made_anew_after_every_change(site: Site, documents: list[Document]) -> None:
    assert equal(stored_graph(site.snapshot), make_graph(site.snapshot))
    bridge = next(document for document in documents if document.title == "Tallow Bridge")
    for added, removed in (([], [bridge]), ([bridge], []), ([make_document("Isk Quay", "It lies on the Isk.")], [])):
        before = make_graph(site.snapshot)
        site.build(*STRUCTURES, add=added, remove=removed)
        assert equal(stored_graph(site.snapshot), make_graph(site.snapshot))
        assert not equal(stored_graph(site.snapshot), before)


def test_removed_units_take_it_with_them_before_it_is_made_again(site: Site, documents: list[Document]) -> None:
    with writing_to(site.folder, site.encoder.identity) as writer:
        writer.remove_documents([documents[0].id])
        assert stored_graph(writer.snapshot()) is None
        writer.note_spent(Usage())
        assert equal(stored_graph(writer.snapshot()), make_graph(writer.snapshot()))


def test_many_small_commits_merge_their_segments_and_keep_it(site: Site) -> None:
    for number in range(9):
        site.build(*STRUCTURES, add=[make_document(f"Quay {number}", f"Quay {number} lies on the Isk. It is old.")])
    with writing_to(site.folder, site.encoder.identity) as writer:
        writer.names.merge()
        writer._segments.merge(Family.UNITS, in_order)
        assert equal(stored_graph(writer.snapshot()), make_graph(writer.snapshot()))


def test_a_view_makes_its_own(site: Site) -> None:
    site.build(*STRUCTURES, add=[make_document("Isk Quay", "It lies on the Isk.", "/hidden/quay.txt")])
    with Snapshot.open(site.folder, View(sources=("/world/*",))) as view, Snapshot.open(site.folder) as whole:
        assert stored_graph(view) is None
        assert len(make_graph(view).numbers) == len(make_graph(whole).numbers) - 1


@pytest.mark.parametrize("family", [Family.GRAPHS, Family.NAMES])
def test_it_comes_back_after_a_repair(site: Site, family: Family) -> None:
    with writing_to(site.folder, site.encoder.identity) as writer:
        [graph] = writer.snapshot().numbered._segments.of(family, "names")
        writer._database.run("UPDATE arrays SET checksum = checksum + 1 WHERE segment = ?", graph.number)
        writer._segments.changed = True
        writer.commit()
    repair(site.folder, site.encoder.encode)
    assert stored_graph(site.snapshot) is None
    update_index(site.folder, [], site.encoder, [Passages(site.limits), *STRUCTURES], Watcher())
    assert equal(stored_graph(site.snapshot), make_graph(site.snapshot))
