"""Neighbours of passages: those of the plain definition, at the odd sizes, with ties, and where some passages have no vector."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.words import keyword_words
from hoptrail.corpus.writer import writing_to
from hoptrail.retrieval.passages import neighbourhood
from hoptrail.retrieval.passages.neighbourhood import bm25_neighbours, dense_neighbours
from hoptrail.types import Document, Kind, Usage
from structures.site import Site
from world import make_document

Around = Callable[[Snapshot, Sequence[str], int], Mapping[str, Sequence[str]]]
BOTH = pytest.mark.parametrize("around", [dense_neighbours, bm25_neighbours])
WORDS = "alder birch cedar dogwood elm fir gorse hazel ivy juniper larch maple".split()  # noqa: SIM905


def made(count: int) -> list[Document]:
    """Texts of a few words each, many of them alike."""
    chance = np.random.default_rng(0)
    texts = [" ".join(chance.choice(WORDS, 4)) + f" n{number}." for number in range(count)]
    return [make_document(f"T{number}", text) for number, text in enumerate(texts)]


def built(folder: Path, documents: Sequence[Document]) -> Site:
    site = Site(folder)
    site.build(add=documents)
    return site


def words_of(site: Site) -> dict[str, Counter[str]]:
    return {name: Counter(keyword_words(unit.searchable)) for name, unit in sorted(site.units(Kind.PASSAGE).items())}


def by_bm25(counts: Mapping[str, Counter[str]], name: str, most: int, heaviest: int) -> list[str]:
    """The neighbours of a passage by the formula of BM25."""
    mean = sum(map(Counter.total, counts.values())) / len(counts)

    def weight(word: str, text: Counter[str]) -> float:
        df = sum(word in other for other in counts.values())
        idf = math.log(1 + (len(counts) - df + 0.5) / (df + 0.5))
        return idf * text[word] / (text[word] + 1.2 * (0.25 + 0.75 * text.total() / mean))

    own = counts[name]
    asked = sorted(own, key=lambda word: (-weight(word, own), word))[:heaviest]
    scores = {other: round(sum(weight(word, text) for word in asked), 5) for other, text in counts.items()}
    others = [other for other, text in counts.items() if other != name and any(word in text for word in asked)]
    return sorted(others, key=lambda other: (-scores[other], other))[:most]


def test_neighbours_by_vector_are_the_nearest_by_cosine(tmp_path: Path) -> None:
    site = built(tmp_path, made(20))
    mirror = site.snapshot.search.vectors(Kind.PASSAGE)
    found = dense_neighbours(site.snapshot, mirror.ids, 3)
    for row, name in enumerate(mirror.ids):
        cosines = np.round(mirror.matrix @ mirror.matrix[row], 5)
        order = sorted((other for other in range(20) if other != row), key=lambda other: (-cosines[other], other))
        assert found[name] == [mirror.ids[other] for other in order[:3]]


@pytest.mark.parametrize("heaviest", [2, 25])
def test_neighbours_by_words_are_the_best_by_bm25(
    heaviest: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neighbourhood, "WORDS", heaviest)
    site = built(tmp_path, made(20))
    site.build(remove=made(3))
    counts = words_of(site)
    found = bm25_neighbours(site.snapshot, list(counts), 4)
    assert len(found) == 17
    for name in counts:
        assert found[name] == by_bm25(counts, name, 4, heaviest)


@BOTH
@pytest.mark.parametrize("count", [1, 3])
def test_few_passages_have_as_many_neighbours_as_there_are(around: Around, count: int, tmp_path: Path) -> None:
    site = built(tmp_path, [make_document(f"T{number}", f"Alder and birch {number}.") for number in range(count)])
    names = set(site.units(Kind.PASSAGE))
    for name, others in around(site.snapshot, list(names), 10).items():
        assert set(others) == names - {name}


@BOTH
def test_equal_passages_are_in_the_order_of_their_ids(around: Around, tmp_path: Path) -> None:
    site = built(tmp_path, [make_document("", f"Alder birch.{' ' * number}") for number in range(6)])
    ids = sorted(site.units(Kind.PASSAGE))
    for name, others in around(site.snapshot, ids, 2).items():
        assert others == [other for other in ids if other != name][:2]


def test_who_shares_no_word_is_no_neighbour(tmp_path: Path) -> None:
    site = built(
        tmp_path, [make_document("", text) for text in ("Alder.", "Birch.", "Alder birch.", "的。", "the of.")]
    )
    texts = {name: unit.text for name, unit in site.units(Kind.PASSAGE).items()}
    found = bm25_neighbours(site.snapshot, list(texts), 9)
    pairs = {(texts[name], texts[other]) for name, others in found.items() for other in others}
    both = "Alder birch."
    assert pairs == {("Alder.", both), ("Birch.", both), (both, "Alder."), (both, "Birch.")}


def test_a_passage_without_a_vector_has_no_nearest_and_is_nobodys(tmp_path: Path) -> None:
    site = built(tmp_path, made(5))
    with site.snapshot as snapshot:
        unit, *_ = snapshot.units(Kind.PASSAGE)
    with writing_to(tmp_path, site.encoder.identity) as writer:
        writer.remove_units(Kind.PASSAGE, [unit.id])
        writer.put_units([unit], None)
        writer.publish(Usage())
    found = dense_neighbours(site.snapshot, [unit.id, *site.units(Kind.PASSAGE)], 9)
    assert len(found) == 4
    assert unit.id not in found
    assert all(len(others) == 3 and unit.id not in others for others in found.values())
