"""A flat pool: kinds and trees ranked as one list, by each scorer; equal to the plain definition."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import writing_to
from hoptrail.errors import UsageError
from hoptrail.retrieval.corpus import Corpus
from hoptrail.retrieval.rankings import scores_of, shares_of_best
from hoptrail.types import Kind, Link, Span, Unit, Usage
from hoptrail_papers.sirerag.pool_search import WIDENINGS, Scorer, TreePool, search_pool
from world import FACTS, HashingEncoder, TokenHashingEncoder, make_document, make_passage

DOCUMENTS = [make_document(title, text) for title, text in FACTS.items()]
PASSAGES = [make_passage(document) for document in DOCUMENTS]
SPAN = Span(DOCUMENTS[0].id, 0, 5)
AGGREGATES = [
    Unit("a1", Kind.AGGREGATE, "Isk", "The river Isk flows through Wrenmouth.\nIt rises in hills.", (SPAN, SPAN))
]
SUMMARIES = [
    Unit("s1", Kind.SUMMARY, "", "Rivers and towns: the Isk, the Arrow.", (SPAN,)),
    Unit("s2", Kind.SUMMARY, "", "Harbours that freeze in winter.", (SPAN,)),
]
EVERYTHING = TreePool((Kind.PASSAGE, Kind.AGGREGATE), ("one-tree", "other-tree"))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return publish(tmp_path_factory.mktemp("pool"))


def publish(folder: Path, further: Sequence[Unit] = ()) -> Corpus:
    """`further` summaries belong to the other tree."""
    encoder = HashingEncoder()
    with writing_to(folder, encoder.identity) as writer:
        writer.put_documents(DOCUMENTS)
        for units in (PASSAGES, AGGREGATES, [*SUMMARIES, *further]):
            writer.put_units(units, encoder.encode([unit.searchable for unit in units]))
        links = [Link("s1", PASSAGES[0].id, "one-tree", 1.0), Link("s2", PASSAGES[1].id, "other-tree", 1.0)]
        links += [Link(unit.id, PASSAGES[1].id, "other-tree", 1.0) for unit in further]
        writer.links.put([*links, Link("s2-gone", PASSAGES[1].id, "one-tree", 1.0)])
        writer.publish(Usage())
    return Corpus(Snapshot.open(folder), lambda: encoder)


def cosines(units: list[Unit], question: str) -> list[str]:
    encoder = HashingEncoder()
    vector = encoder.encode([question])[0]
    scores = {unit.id: float(encoder.encode([unit.searchable])[0] @ vector) for unit in units}
    return sorted(scores, key=lambda name: (-round(scores[name], 5), name))


def test_all_kinds_and_trees_are_one_ranking(corpus: Corpus) -> None:
    ranking = search_pool(corpus, "towns on rivers", EVERYTHING, 99, "dense")
    assert [hit.unit.id for hit in ranking] == cosines([*PASSAGES, *AGGREGATES, *SUMMARIES], "towns on rivers")


def test_summaries_of_other_trees_are_not_in_the_pool(corpus: Corpus) -> None:
    pool = TreePool((Kind.PASSAGE,), ("one-tree",))
    assert pool.size(corpus.snapshot) == len(PASSAGES) + 1
    for scorer in ("dense", "bm25", "hybrid"):
        found = {hit.unit.id for hit in search_pool(corpus, "harbour that freezes in winter, towns", pool, 99, scorer)}
        assert "s1" in found
        assert not found & {"s2", "a1"}


@pytest.mark.parametrize("scorer", ["dense", "bm25", "hybrid"])
def test_the_limit_cuts_the_same_ranking(corpus: Corpus, scorer: Scorer) -> None:
    """Also of both scorers fused, who are asked for more than the limit."""
    question = "Which river flows through towns with a harbour?"
    whole = search_pool(corpus, question, EVERYTHING, 99, scorer)
    assert len(whole) > 4
    for limit in (1, 2, 4):
        assert search_pool(corpus, question, EVERYTHING, limit, scorer) == whole[:limit]
    assert {hit.channel for hit in whole} == {{"dense": "dense", "bm25": "keyword", "hybrid": "fused"}[scorer]}


def test_fused_scores_are_the_mean_of_both_scorers_shares(corpus: Corpus) -> None:
    question = "Which river flows through Wrenmouth?"
    shares = [
        shares_of_best(scores_of(search_pool(corpus, question, EVERYTHING, 99, scorer))) for scorer in ("dense", "bm25")
    ]
    fused = scores_of(search_pool(corpus, question, EVERYTHING, 99, "hybrid"))
    assert len(shares[1]) < len(fused) == len(shares[0])
    assert fused == pytest.approx({name: sum(share.get(name, 0.0) for share in shares) / 2 for name in fused})


@pytest.mark.parametrize("others", [4, 40, WIDENINGS[-1] + 1])
def test_summaries_are_found_behind_any_number_of_nearer_ones_of_another_tree(others: int, tmp_path: Path) -> None:
    span = Span(DOCUMENTS[1].id, 0, 5)
    nearer = [Unit(f"s2-{number}", Kind.SUMMARY, "", "Frozen harbours.", (span,)) for number in range(others)]
    corpus = publish(tmp_path, nearer)
    found = search_pool(corpus, "frozen harbours", TreePool((), ("one-tree",)), 1, "dense")
    assert [(hit.unit.id, hit.channel) for hit in found] == [("s1", "dense")]
    assert [
        hit.unit.id for hit in search_pool(corpus, "frozen harbours", TreePool((), ("other-tree",)), 2, "dense")
    ] == [unit.id for unit in sorted(nearer, key=lambda unit: unit.id)[:2]]


def test_of_a_tree_only_the_first_level_may_be_wanted(corpus: Corpus) -> None:
    """The level of a group is in its id: s2 is made of passages, s1 would be a leaf."""
    for lowest, expected in (((), {"s1", "s2"}), (("one-tree",), {"s2"}), (("one-tree", "other-tree"), {"s2"})):
        pool = TreePool((), ("one-tree", "other-tree"), lowest)
        assert {unit.id for unit in pool.units(corpus.snapshot)} == expected
        assert pool.size(corpus.snapshot) == len(expected)


def test_a_tree_that_is_not_there_adds_nothing(corpus: Corpus) -> None:
    pool = TreePool((Kind.PASSAGE,), ("no-tree",))
    assert {hit.unit.kind for hit in search_pool(corpus, "towns", pool, 99, "dense")} == {Kind.PASSAGE}
    assert pool.size(corpus.snapshot) == len(PASSAGES)


def test_bm25_has_the_statistics_of_the_whole_pool(corpus: Corpus) -> None:
    ranking = search_pool(corpus, "Which river is the Isk?", EVERYTHING, 99, "bm25")
    texts = {unit.id: words(unit.searchable) for unit in [*PASSAGES, *AGGREGATES, *SUMMARIES]}
    expected = {name: bm25(["river", "isk"], name, texts) for name in texts}
    assert {hit.unit.id: hit.score for hit in ranking} == pytest.approx(
        {name: score for name, score in expected.items() if score > 0}, rel=1e-4
    )


def words(text: str) -> list[str]:
    plain = "".join(character if character.isalnum() else " " for character in text.lower()).split()
    stop = {"is", "in", "the", "and", "it", "was", "by", "of", "a", "she", "its", "that"}
    return [word for word in plain if word not in stop and len(word) > 1]


def bm25(asked: list[str], name: str, texts: dict[str, list[str]]) -> float:
    mean = sum(map(len, texts.values())) / len(texts)
    counts = Counter(texts[name])
    total = 0.0
    for word in asked:
        holding = sum(word in text for text in texts.values())
        idf = math.log(1 + (len(texts) - holding + 0.5) / (holding + 0.5))
        total += idf * counts[word] / (counts[word] + 1.2 * (0.25 + 0.75 * len(texts[name]) / mean))
    return total


def test_words_that_stand_nowhere_find_nothing_by_bm25(corpus: Corpus) -> None:
    for question in ("zqx", "the of and", "?", "的"):
        assert search_pool(corpus, question, EVERYTHING, 5, "bm25") == ()


def test_accents_do_not_matter_and_other_scripts_are_kept(tmp_path: Path) -> None:
    encoder = HashingEncoder()
    documents = [make_document("A", "São Tomé lies south."), make_document("Б", "Река Иск течёт.")]
    units = [make_passage(document) for document in documents]
    with writing_to(tmp_path, encoder.identity) as writer:
        writer.put_documents(documents)
        writer.put_units(units, encoder.encode([unit.searchable for unit in units]))
        writer.publish(Usage())
    corpus = Corpus(Snapshot.open(tmp_path), lambda: encoder)
    for question, found in (("sao tome", units[0]), ("Река", units[1])):
        ranking = search_pool(corpus, question, TreePool((Kind.PASSAGE,)), 5, "bm25")
        assert [hit.unit for hit in ranking] == [found]


def test_an_empty_pool_gives_nothing(tmp_path: Path) -> None:
    encoder = HashingEncoder()
    with writing_to(tmp_path, encoder.identity) as writer:
        writer.publish(Usage())
    corpus = Corpus(Snapshot.open(tmp_path), lambda: encoder)
    assert (
        search_pool(corpus, "towns", EVERYTHING, 5, "dense")
        == search_pool(corpus, "towns", EVERYTHING, 5, "bm25")
        == ()
    )


def test_late_interaction_needs_token_vectors(corpus: Corpus) -> None:
    with pytest.raises(UsageError, match="vector per token"):
        search_pool(corpus, "towns", EVERYTHING, 5, "late-interaction")


def test_late_interaction_orders_more_than_it_is_asked_for_by_the_best_match_of_every_word(corpus: Corpus) -> None:
    """The plain definition over the whole pool, of which it gives the best: not the best by the vectors of whole texts."""
    question, encoder = "harbour freezes in Dunmere", TokenHashingEncoder()
    late = Corpus(corpus.snapshot, TokenHashingEncoder)

    def matched(unit: Unit) -> float:
        (asked,), (said,) = encoder.encode_tokens([question]), encoder.encode_tokens([unit.searchable])
        return round(sum(max(float(word @ other) for other in said) for word in asked) / len(asked), 6)

    expected = sorted([*PASSAGES, *AGGREGATES, *SUMMARIES], key=lambda unit: (-matched(unit), unit.id))
    whole = search_pool(late, question, EVERYTHING, 99, "late-interaction")
    assert [hit.unit.id for hit in whole] == [unit.id for unit in expected]
    assert [hit.score for hit in whole] == pytest.approx([matched(unit) for unit in expected], abs=1e-5)
    assert search_pool(late, question, EVERYTHING, 2, "late-interaction") == whole[:2]
    assert whole[:2] != search_pool(late, question, EVERYTHING, 2, "dense")
