"""CompRAG in a world where only the relation, its direction, or a second hop tells the right passage."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.documents.splitting import PassageLimits
from hoptrail.errors import IndexUnavailable
from hoptrail.index.indexing import BuildLanguage, Watcher, update_index
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.units.unit_search import HybridSearchSettings, dense_search, hybrid_search
from hoptrail.structures.declaration import Structure
from hoptrail.structures.extractions import Extractions
from hoptrail.structures.passages import Passages
from hoptrail.types import Kind, Ranking
from hoptrail_papers.comprag.composition import CompositionSettings
from hoptrail_papers.comprag.comprag import ALONE, Comprag, CompragSettings
from hoptrail_papers.comprag.graph import (
    LocalGraph,
    TripleGraphSettings,
    local_graph,
    pagerank,
)
from hoptrail_papers.comprag.question_triples import Pattern, question_triples
from hoptrail_papers.comprag.space import stored_triples
from hoptrail_papers.comprag.triples import Triples, TripleSettings
from world import HashingEncoder

WORLD = {
    "Letters": "Ada Quill praised Milo Fen.",
    "Diaries": "Milo Fen praised Ada Quill.",
    "Guild Roll": "Orla Finch designed the Tallow Bridge.",
    "Gallery": "Jonas Pell painted the Tallow Bridge.",
    "Parish Book": "Orla Finch was born in Wrenmouth.",
    "Pilot Guide": "The Isk flows through Wrenmouth.",
    "Mill": "Tom Reed grinds barley with Ida Voss.",
    "Fair": "Ida Voss sells Green Apples.",
}
BORN = "Where was the one who designed the Tallow Bridge born?"


def build(folder: Path, world: dict[str, str], settings: TripleSettings) -> Corpus:
    encoder = HashingEncoder(dimension=256)
    for title, text in world.items():
        (folder / f"{title}.txt").write_text(text, encoding="utf-8")
    structures: list[Structure] = [Passages(PassageLimits()), Extractions(), Triples(settings)]
    sources = sorted(folder.glob("*.txt"))
    performer = BuildLanguage(OfflineLanguage())
    update_index(folder / "index", sources, encoder, structures, Watcher(), performer)
    return Corpus(Snapshot.open(folder / "index"), lambda: encoder)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return build(tmp_path_factory.mktemp("triples"), WORLD, TripleSettings(lemmas=True, texts=True))


def comprag(corpus: Corpus, settings: CompragSettings | None = None, **graph: Any) -> Comprag:
    chosen = settings or ALONE
    return Comprag(corpus, OfflineLanguage(), replace(chosen, graph=replace(chosen.graph, **graph)))


def composed(method: str) -> CompragSettings:
    return replace(ALONE, space=CompositionSettings(method))  # type: ignore[arg-type]


def titles(ranking: Ranking) -> list[str]:
    return [hit.unit.title for hit in ranking]


def score(ranking: Ranking, title: str) -> float:
    return next(hit.score for hit in ranking if hit.unit.title == title)


def test_the_relation_decides(corpus: Corpus) -> None:
    assert titles(comprag(corpus, depth=1).retrieve("Who painted the Tallow Bridge?"))[0] == "Gallery"
    assert titles(comprag(corpus, depth=1).retrieve("Who designed the Tallow Bridge?"))[0] == "Guild Roll"


@pytest.mark.parametrize("method", ["roles", "shift-sum", "concatenation"])
def test_direction_decides_where_the_composition_sees_it(method: str, corpus: Corpus) -> None:
    recipe = comprag(corpus, composed(method), depth=1)
    assert titles(recipe.retrieve("Who praised Milo Fen?"))[0] == "Letters"
    assert titles(recipe.retrieve("Who praised Ada Quill?"))[0] == "Diaries"


@pytest.mark.parametrize("method", ["product", "mean"])
def test_direction_is_not_seen_by_what_commutes(method: str, corpus: Corpus) -> None:
    """Uncentred, because the mean of all subjects is not that of all objects."""
    settings = replace(composed(method), space=CompositionSettings(method, centred=False))  # type: ignore[arg-type]
    found = comprag(corpus, settings, depth=1).retrieve("Who praised Milo Fen?")
    if method == "mean":
        assert score(found, "Letters") == pytest.approx(score(found, "Diaries"), abs=1e-5)
    space = comprag(corpus, settings).space()
    there, back = space.vectors_of(
        [Pattern("Ada Quill", "praised", "Milo Fen"), Pattern("Milo Fen", "praised", "Ada Quill")]
    )
    assert float(there @ back) == pytest.approx(1, abs=1e-4)


def test_the_poster_tells_who_did_it_to_whom_and_the_code_does_not(corpus: Corpus) -> None:
    """Both without a graph, over whose steps everything is reached in so small a world."""
    poster, reference = (comprag(corpus, Comprag.presets[name], depth=1, seed_k=1) for name in ("poster", "reference"))
    assert titles(poster.retrieve("Who praised Milo Fen?"))[0] == "Letters"
    assert titles(poster.retrieve("Who praised Ada Quill?"))[0] == "Diaries"
    there, back = reference.space().vectors_of(
        [Pattern("Ada Quill", "praised", None), Pattern(None, "praised", "Ada Quill")]
    )
    assert float(there @ back) == pytest.approx(1, abs=1e-4)


def test_the_code_compares_what_it_writes_into_open_slots(corpus: Corpus) -> None:
    space = comprag(corpus, Comprag.presets["reference"]).space()
    open_, written = space.vectors_of([Pattern(None, "praised", "Milo Fen"), Pattern("?", "praised", "Milo Fen")])
    assert float(open_ @ written) == pytest.approx(1, abs=1e-5)
    space = comprag(corpus, Comprag.presets["poster"]).space()
    open_, written = space.vectors_of([Pattern(None, "praised", "Milo Fen"), Pattern("?", "praised", "Milo Fen")])
    assert float(open_ @ written) < 0.95


def test_the_second_hop_comes_over_a_shared_entity(corpus: Corpus) -> None:
    near, far = comprag(corpus, depth=1, seed_k=1), comprag(corpus, depth=2, seed_k=1)
    assert "Parish Book" not in titles(near.retrieve(BORN))
    found = far.retrieve(BORN)
    assert titles(found)[0] == "Guild Roll"
    assert "Parish Book" in titles(found)
    assert {hit.channel for hit in found} == {"triples"}


def test_a_third_hop_needs_another_step(corpus: Corpus) -> None:
    question = "Which river flows through the town where the one who designed the Tallow Bridge was born?"
    reached = [titles(comprag(corpus, depth=depth, seed_k=1).retrieve(question)) for depth in (1, 2, 3)]
    assert ["Pilot Guide" in found for found in reached] == [False, False, True]
    scores = comprag(corpus, depth=3, seed_k=1).retrieve(question)
    assert score(scores, "Guild Roll") >= score(scores, "Parish Book") >= score(scores, "Pilot Guide") > 0


def test_of_what_shares_an_entity_the_questions_relation_is_taken_first(corpus: Corpus) -> None:
    recipe = comprag(corpus, depth=2, seed_k=1, branching_k=1)
    assert "Parish Book" in titles(recipe.retrieve(BORN))


def test_entities_of_too_many_triples_link_nothing(corpus: Corpus) -> None:
    assert "Parish Book" not in titles(comprag(corpus, depth=2, seed_k=1, entity_most=1).retrieve(BORN))


def test_links_by_likeness_are_weighted_by_it(corpus: Corpus) -> None:
    graph = local_graph(
        comprag(corpus, Comprag.presets["uncentred"]).space(),
        question_triples("Who praised Milo Fen?"),
        TripleGraphSettings(depth=2, seed_k=1, branching_k=1, links=("similarity",)),
    )
    assert graph.edges
    assert all(0 < weight <= 1 + 1e-5 for weight in graph.edges.values())
    assert all(graph.scores[a] >= graph.scores[b] for a, b in graph.edges)
    assert graph.seeds.keys() < graph.scores.keys()


def test_pagerank_is_a_distribution_that_favours_seeds_and_what_they_lead_to() -> None:
    graph = LocalGraph({0: 1.0, 1: 0.5, 2: 0.5, 3: 0.1}, {0: 1.0}, {(0, 1): 1.0, (0, 2): 0.5, (2, 3): 1.0})
    ranks = pagerank(graph)
    assert sum(ranks.values()) == pytest.approx(1)
    assert ranks[0] > ranks[1] > ranks[3]
    assert pagerank(LocalGraph({4: 0.7}, {4: 0.7})) == {4: pytest.approx(1)}
    assert pagerank(LocalGraph()) == {}


def test_without_a_triple_the_question_is_searched_by_its_vector(corpus: Corpus) -> None:
    question = "what is sold at the market?"
    found = comprag(corpus).retrieve(question)
    assert found == dense_search(corpus, question, 20)
    assert {hit.channel for hit in found} == {"dense"}


def test_a_corpus_without_triples_is_searched_by_vectors(tmp_path: Path) -> None:
    corpus = build(tmp_path, {"zqx": "zqx zqx."}, TripleSettings())
    for preset in ("no-graph", "both-links", "poster"):
        recipe = Comprag(corpus, OfflineLanguage(), Comprag.presets[preset])
        assert {hit.channel for hit in recipe.retrieve("Who painted the Tallow Bridge?")} == {"dense"}


def test_a_corpus_of_one_triple(tmp_path: Path) -> None:
    """Centring would make its slots vanish: what is left has no direction, and nothing breaks."""
    corpus = build(tmp_path, {"Letters": WORLD["Letters"]}, TripleSettings(lemmas=True, texts=True))
    for preset, settings in Comprag.presets.items():
        found = Comprag(corpus, OfflineLanguage(), settings).retrieve("Who praised Milo Fen?")
        assert titles(found) == ["Letters"], preset


def test_triples_beside_the_other_searches(corpus: Corpus) -> None:
    question = "Who praised Milo Fen?"
    for settings in (CompragSettings(), Comprag.presets["hybrid-rrf"]):
        recipe = Comprag(corpus, OfflineLanguage(), settings)
        assert {hit.channel for hit in recipe.retrieve(question)} == {"fused"}
        assert titles(recipe.retrieve(question))[0] == "Letters"
        unnamed = "what is sold at the market?"
        assert recipe.retrieve(unnamed) == hybrid_search(corpus, unnamed, 20, recipe.settings.search)


@pytest.mark.parametrize("fusion", ["convex", "rrf"])
@pytest.mark.parametrize("kept", [0, 1, 3, 4])
def test_triples_take_no_more_than_the_places_that_are_left_to_them(
    fusion: str, kept: int, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What keyword and dense search find first stays ahead, whatever triples say; they have a say in the order."""
    monkeypatch.setattr("hoptrail_papers.comprag.comprag.AHEAD", 4)
    search = HybridSearchSettings(fusion=fusion)
    settings = CompragSettings(search=search, kept=kept, hybrid_weight=0.1)
    found = Comprag(corpus, OfflineLanguage(), settings).retrieve(BORN)
    others = hybrid_search(corpus, BORN, 20, search)
    mixed = Comprag(corpus, OfflineLanguage(), replace(settings, kept=0)).retrieve(BORN)
    assert set(titles(others[:kept])) <= set(titles(found[:4]))
    rest = [title for title in titles(mixed) if title not in titles(others[:kept])]
    assert set(titles(found[:4])) == {*titles(others[:kept]), *rest[: 4 - kept]}
    for part in (found[:4], found[4:]):
        assert titles(part) == [title for title in titles(mixed) if title in titles(part)], (
            "in the order of all searches"
        )
    scores = [hit.score for hit in found]
    assert scores == sorted(scores, reverse=True)
    if kept == 4 and fusion == "convex":
        assert set(titles(mixed[:4])) != set(titles(others[:4])), "triples would have cost some"


def test_every_triple_stands_in_its_passage(corpus: Corpus) -> None:
    stored = stored_triples(corpus.snapshot)
    passages = {unit.id: unit for unit in corpus.snapshot.units(Kind.PASSAGE)}
    assert stored.ids == tuple(sorted(stored.ids))
    for (subject, _, object_), place in zip(stored.slots, stored.passages, strict=True):
        text = passages[stored.passage_ids[place]].text
        assert subject in text
        assert object_ in text
    assert stored.entities["orla finch"].tolist() == [
        row for row, slots in enumerate(stored.slots) if "Orla Finch" in slots
    ]


@pytest.mark.parametrize(("preset", "setting"), [("text", "texts"), ("lemmatised", "lemmas")])
def test_what_the_index_does_not_hold_is_asked_for_by_name(preset: str, setting: str, tmp_path: Path) -> None:
    corpus = build(tmp_path, WORLD, TripleSettings())
    with pytest.raises(IndexUnavailable, match=rf"Set {setting} = true under \[structures.triples\]"):
        Comprag(corpus, OfflineLanguage(), Comprag.presets[preset]).retrieve(BORN)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: TripleGraphSettings(depth=0),
        lambda: CompragSettings(hybrid_weight=2.0),
        lambda: CompragSettings(kept=11),
        lambda: CompragSettings(k=0),
    ],
)
def test_impossible_settings_are_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"at least|between"):
        wrong()
