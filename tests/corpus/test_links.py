"""Looking links up by either end."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hoptrail.corpus.columns import Directed
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import writing_to
from hoptrail.types import Link, Usage
from world import HashingEncoder

LINKS = [
    *(Link(f"s{number}", f"p{number % 7}", "names", 1.0) for number in range(40)),
    Link("s3", "p4", "names", 0.5),
    Link("s3", "p4", "tells", 0.25),
    Link("it's", "p4", "names", 1.0),
]


def test_links_of_several_kinds_may_join_the_same_two(tmp_path: Path, encoder: HashingEncoder) -> None:
    with writing_to(tmp_path, encoder.identity) as writer:
        writer.links.put(LINKS)
        writer.publish(Usage())
    graph = Snapshot.open(tmp_path).graph
    assert set(graph.leaving({"s3", "it's", "absent"}, "names")) == {LINKS[3], LINKS[-3], LINKS[-1]}
    assert list(graph.leaving(["s3"], "tells")) == list(graph.entering(["p4"], "tells")) == [LINKS[-2]]
    assert set(graph.entering(["p4"], "names")) == {
        link for link in LINKS if link.target == "p4" and link.kind == "names"
    }


def test_links_added_by_row_are_those_added_one_by_one(tmp_path: Path) -> None:
    ids = ["s1", "s22", "s3"]
    rows = Directed(np.array([0, 1, 2, 0, 1]), np.array([1, 2, 0, 2, 0]), np.array([0.5, 1, 0.25, 0.1, 0.2]))
    one = Directed(np.array([2]), np.array([1]), np.array([1.0]))
    with writing_to(tmp_path, HashingEncoder().identity) as writer:
        writer.links.put_rows(ids, {"SS": rows, "SA": one})
        writer.links.put_rows(ids, {"EC": Directed(rows.sources[:0], rows.targets[:0], rows.weights[:0])})
        writer.publish(Usage())
    snapshot = Snapshot.open(tmp_path)
    expected = {
        Link("s1", "s22", "SS", 0.5),
        Link("s22", "s3", "SS", 1.0),
        Link("s3", "s1", "SS", 0.25),
        Link("s1", "s3", "SS", 0.1),
        Link("s22", "s1", "SS", 0.2),
        Link("s3", "s22", "SA", 1.0),
    }
    assert set(snapshot.links()) == expected
    assert sum(snapshot.graph.count().values()) == 6
    read = snapshot.graph.rows("SS", ids)
    pairs = zip(read.sources.tolist(), read.targets.tolist(), read.weights.tolist(), strict=True)
    assert {Link(ids[source], ids[target], "SS", weight) for source, target, weight in pairs} == {
        link for link in expected if link.kind == "SS"
    }


def test_links_with_both_ends_known_are_rows(tmp_path: Path) -> None:
    names = [f"s{number:03}" for number in range(40)]
    chance = np.random.default_rng(0)
    pairs = {(int(a), int(b)) for a, b in chance.integers(40, size=(300, 2))}
    with writing_to(tmp_path, HashingEncoder().identity) as writer:
        for source, target in sorted(pairs):
            writer.links.put(
                [Link(names[source], names[target], "SS", source / 40), Link("a", names[target], "SA", 1.0)]
            )
        writer.publish(Usage())
    snapshot = Snapshot.open(tmp_path)
    known = names[::2]
    expected = {(a // 2, b // 2, a / 40) for a, b in pairs if a % 2 == b % 2 == 0}
    whole = snapshot.graph.rows("SS", known)
    assert set(zip(whole.sources.tolist(), whole.targets.tolist(), whole.weights.tolist(), strict=True)) == expected
    assert not len(snapshot.graph.rows("SS", []).sources)
    assert not len(snapshot.graph.rows("EC", known).sources)
