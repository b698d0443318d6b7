"""Looking links up by either end."""

from __future__ import annotations

from pathlib import Path

import pytest

from hoptrail.store.snapshot import Snapshot
from hoptrail.store.writer import writing_to
from hoptrail.types import Link, Usage
from world import HashingEncoder

LINKS = [
    *(Link(f"s{number}", f"p{number % 7}", "names", 1.0) for number in range(1200)),
    Link("s3", "p4", "names", 0.5),
    Link("s3", "p4", "tells", 0.25),
    Link("it's", "p4", "names", 1.0),
]


@pytest.fixture
def snapshot(tmp_path: Path, encoder: HashingEncoder) -> Snapshot:
    with writing_to(tmp_path, encoder.identity) as writer:
        writer.put_links(LINKS)
        writer.publish(Usage())
    return Snapshot.open(tmp_path)


def test_links_are_found_by_where_they_lead_from(snapshot: Snapshot) -> None:
    assert set(snapshot.links_from({"s3", "it's", "absent"}, "names")) == {LINKS[3], LINKS[-3], LINKS[-1]}
    assert list(snapshot.links_from(["s3"], "tells")) == [LINKS[-2]]


def test_links_are_found_by_where_they_lead_to(snapshot: Snapshot) -> None:
    assert set(snapshot.links_to(["p4"], "tells")) == {LINKS[-2]}
    assert set(snapshot.links_to(["p4"], "names")) == {
        link for link in LINKS if link.target == "p4" and link.kind == "names"
    }


def test_many_ends_give_every_link_once(snapshot: Snapshot) -> None:
    found = list(snapshot.links_from([f"s{number}" for number in range(1200)], "names"))
    assert sorted(found, key=str) == sorted(LINKS[:1201], key=str)


@pytest.mark.parametrize("ids", [[], ["absent"]])
def test_no_end_finds_nothing(snapshot: Snapshot, ids: list[str]) -> None:
    assert list(snapshot.links_from(ids, "names")) == []
    assert list(snapshot.links_to(ids, "names")) == []


def test_an_index_without_links_has_none(tmp_path: Path, encoder: HashingEncoder) -> None:
    with writing_to(tmp_path, encoder.identity) as writer:
        writer.publish(Usage())
    assert list(Snapshot.open(tmp_path).links_from(["s3"], "names")) == []
