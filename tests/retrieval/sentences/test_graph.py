"""Walking the sentence graph: neighbours in order, kinds side by side, one question's graph beside the corpus's."""

from __future__ import annotations

from itertools import combinations, islice
from pathlib import Path

import pytest

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import writing_to
from hoptrail.errors import UsageError
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.extractions import Extractions
from hoptrail.structures.progress_tracker import ignore
from hoptrail.structures.sentences import Sentences, sentence_units
from hoptrail.types import Document, Kind, Link, Unit, Usage
from hoptrail_papers.chainrag.sentence_graph import (
    EC,
    KINDS,
    SA,
    SS,
    SentenceGraph,
    SentenceGraphSettings,
    SentenceLinks,
)
from world import FACTS, HashingEncoder, make_document, make_passage

DOCUMENTS = [make_document(title, text) for title, text in FACTS.items()]
PASSAGES = [make_passage(document) for document in DOCUMENTS]


def publish(folder: Path, documents: list[Document]) -> Snapshot:
    encoder = HashingEncoder()
    passages = [make_passage(document) for document in documents]
    with writing_to(folder, encoder.identity) as writer:
        writer.put_documents(documents)
        writer.put_units(passages, encoder.encode([unit.searchable for unit in passages]))
        context = BuildContext(writer, encoder, ignore, writer.checkpoint, OfflineLanguage())
        for structure in (Extractions(), Sentences(), SentenceLinks()):
            structure.update(context)
        writer.publish(Usage())
    return Snapshot.open(folder)


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return publish(tmp_path_factory.mktemp("graph"), DOCUMENTS)


def sentences(*documents: int) -> list[Unit]:
    return [unit for at in documents for unit in sentence_units(DOCUMENTS[at])]


def around(links: list[Link], frontier: list[str]) -> list[str]:
    """The definition of neighbours."""
    strongest: dict[str, float] = {}
    for link in links:
        for near, far in ((link.source, link.target), (link.target, link.source)):
            if near in frontier and far not in frontier:
                strongest[far] = max(strongest.get(far, 0.0), link.weight)
    return sorted(strongest, key=lambda name: (-strongest[name], name))


@pytest.mark.parametrize("kinds", [KINDS, (EC,), (SS,), (SA,), (SA, EC), ()])
def test_neighbours_are_those_of_the_chosen_links_strongest_first(snapshot: Snapshot, kinds: tuple[str, ...]) -> None:
    graph = SentenceGraph.of(snapshot, kinds)
    links = [link for kind in kinds for link in snapshot.links(kind)]
    for size, step in ((1, 1), (2, 3), (3, 29)):
        for frontier in islice(combinations(graph.ids, size), 0, None, step):
            assert list(graph.neighbours(frontier)) == around(links, list(frontier))


def test_the_frontier_may_be_empty_repeated_or_everything(snapshot: Snapshot) -> None:
    graph = SentenceGraph.of(snapshot)
    first = graph.ids[0]
    assert graph.neighbours([]) == graph.neighbours(graph.ids) == ()
    assert graph.neighbours([first, first]) == graph.neighbours([first])


@pytest.mark.parametrize("name", ["", "s0", "zzz"])
def test_an_unknown_sentence_is_refused_by_name(snapshot: Snapshot, name: str) -> None:
    graph = SentenceGraph.of(snapshot)
    with pytest.raises(UsageError, match="sentences of this graph") as raised:
        graph.neighbours([name])
    assert repr(name) in str(raised.value)


def test_over_all_passages_it_is_the_graph_of_the_corpus(snapshot: Snapshot) -> None:
    whole, same = SentenceGraph.of(snapshot), SentenceGraph.over(PASSAGES, snapshot)
    assert list(same.ids) == list(whole.ids)
    for name in whole.ids:
        assert same.neighbours([name]) == whole.neighbours([name])


def test_over_some_passages_it_has_their_sentences_and_is_the_graph_of_a_corpus_of_them(
    snapshot: Snapshot, tmp_path: Path
) -> None:
    chosen = [4, 1]
    part = SentenceGraph.over([PASSAGES[at] for at in chosen], snapshot)
    alone = SentenceGraph.of(publish(tmp_path, [DOCUMENTS[at] for at in chosen]))
    assert list(part.ids) == sorted(unit.id for unit in sentences(*chosen))
    for name in part.ids:
        assert part.neighbours([name]) == alone.neighbours([name])
    with pytest.raises(UsageError):
        part.neighbours([sentences(0)[0].id])


def test_the_settings_of_a_question_are_its_own(snapshot: Snapshot) -> None:
    near = SentenceGraph.over(PASSAGES, snapshot, (SS,), SentenceGraphSettings(neighbours=1))
    far = SentenceGraph.over(PASSAGES, snapshot, (SS,))
    assert all(len(near.neighbours([name])) <= 1 for name in near.ids)
    assert any(len(far.neighbours([name])) > 1 for name in far.ids)


def test_over_no_or_one_sentence(snapshot: Snapshot, tmp_path: Path) -> None:
    nothing = SentenceGraph.over([], snapshot)
    assert list(nothing.ids) == []
    assert nothing.neighbours([]) == ()
    document = make_document("One", "One sentence stands here.")
    alone = SentenceGraph.over([make_passage(document)], publish(tmp_path, [document]))
    assert len(alone.ids) == 1
    assert alone.neighbours(alone.ids) == ()


def test_an_index_without_sentences_has_an_empty_graph(tmp_path: Path) -> None:
    with writing_to(tmp_path, HashingEncoder().identity) as writer:
        writer.put_documents(DOCUMENTS)
        writer.publish(Usage())
    snapshot = Snapshot.open(tmp_path)
    assert list(SentenceGraph.of(snapshot).ids) == list(SentenceGraph.over(PASSAGES, snapshot).ids) == []


def test_a_stored_link_whose_sentence_is_gone_leads_nowhere(tmp_path: Path) -> None:
    publish(tmp_path, DOCUMENTS[:1])
    kept, lost = sentences(0)
    with writing_to(tmp_path, HashingEncoder().identity) as writer:
        writer.links.put([Link(kept.id, "s-gone", SS, 0.9)])
        writer.publish(Usage())
    graph = SentenceGraph.of(Snapshot.open(tmp_path))
    assert graph.neighbours([kept.id]) == (lost.id,)
    assert Kind.SENTENCE in Snapshot.open(tmp_path).table.kinds
