"""Documents that come, change and go are followed through all of indexing, wherever it is stopped."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import hoptrail.corpus.writer
from hoptrail.corpus.database import Database
from hoptrail.corpus.repairing import damage
from hoptrail.corpus.segments import SegmentWriter
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.corpus.writer import Change, writing_to
from hoptrail.documents.splitting import PassageLimits
from hoptrail.errors import Interrupted
from hoptrail.index.indexing import BuildLanguage, Watcher, remove_documents, update_index
from hoptrail.language.offline.performer import OfflineLanguage
from hoptrail.structures import title_mentions
from hoptrail.structures.build_context import BuildContext
from hoptrail.structures.catalogue import StructureSettings, structures_by_name, with_foundations
from hoptrail.structures.declaration import Row, Structure
from hoptrail.structures.title_mentions import TitleMentions
from hoptrail.types import Document, Usage
from world import HashingEncoder, make_document

ENCODER = HashingEncoder()

WRITES = {
    "every thirteenth row": (13, [(SegmentWriter, "add")]),
    "every step of a commit": (1, [(Database, "commit"), (Database, "empty_log"), (SegmentWriter, "sweep")]),
}
"""Steps of writing before which a process may die: within transactions, and at a commit."""


def structures() -> list[Structure]:
    known = structures_by_name(PassageLimits(), StructureSettings())
    return with_foundations(["mentions"], known)


def index(place: Path, sources: Path, watcher: Watcher | None = None) -> None:
    update_index(
        place,
        [sources],
        ENCODER,
        structures(),
        watcher or Watcher(),
        BuildLanguage(OfflineLanguage()),
    )


def contents(place: Path) -> dict[str, object]:
    with Snapshot.open(place) as snapshot:
        return {
            "units": sorted(str(unit) for kind in snapshot.table.kinds for unit in snapshot.units(kind)),
            "extractions": dict(snapshot.extractions()),
            "links": sorted(map(str, snapshot.links())),
            "settled": snapshot.head.settled,
        }


def change(world: Path) -> None:
    """One document comes, one says something else; both touch what others say."""
    (world / "Grey Hills.txt").write_text(
        "The Grey Hills rise above Dunmere. Orla Finch walked there.", encoding="utf-8"
    )
    first = min(world.glob("*.txt"))
    first.write_text(first.read_text(encoding="utf-8") + " It lies below the Grey Hills.", encoding="utf-8")


@pytest.fixture(autouse=True)
def _all_of_a_small_world_may_be_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(title_mentions, "SHARE", 1.0)


def test_what_came_changed_and_went_is_followed(world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "index"
    index(place, world)
    gone = max(world.glob("*.txt"))
    rows = TitleMentions.rows

    def following(one: TitleMentions, context: BuildContext, documents: Collection[str] | None) -> Iterator[Row]:
        assert documents is not None, "all sentences are looked at"
        return rows(one, context, documents)

    monkeypatch.setattr(TitleMentions, "rows", following)
    change(world)
    index(place, world)
    remove_documents(place, [gone.as_posix()], ENCODER, structures(), OfflineLanguage())
    found = contents(place)
    monkeypatch.undo()
    gone.unlink()
    index(tmp_path / "anew", world)
    assert found == contents(tmp_path / "anew")


def after(times: int) -> Callable[[], bool]:
    """Says yes when it has been asked so often."""
    asked = count()
    return lambda: next(asked) >= times


def test_stopped_anywhere_it_comes_to_the_same_in_the_end(world: Path, tmp_path: Path) -> None:
    before = tmp_path / "before"
    index(before, world)
    change(world)
    index(tmp_path / "anew", world)
    expected = contents(tmp_path / "anew")
    for pauses in count():
        place = shutil.copytree(before, tmp_path / str(pauses))
        try:
            index(place, world, Watcher(stopped=after(pauses)))
            break
        except Interrupted:
            index(place, world)
        assert contents(place) == expected
    assert pauses > 8
    assert contents(place) == expected


@pytest.mark.parametrize(("each", "steps"), WRITES.values(), ids=WRITES)
def test_killed_anywhere_it_comes_to_the_same_in_the_end(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, each: int, steps: list[tuple[type, str]]
) -> None:
    before = tmp_path / "before"
    index(before, world)
    change(world)
    index(tmp_path / "anew", world)
    expected = contents(tmp_path / "anew")
    for writes in count(0, each):
        dead = after(writes)

        def dying(do: Callable[..., Any], dead: Callable[[], bool] = dead) -> Callable[..., Any]:
            def doing(*arguments: Any, **named: Any) -> Any:
                if dead():
                    raise KeyboardInterrupt
                return do(*arguments, **named)

            return doing

        place = shutil.copytree(before, tmp_path / str(writes))
        try:
            with monkeypatch.context() as killing:
                for part, name in steps:
                    killing.setattr(part, name, dying(getattr(part, name)))
                index(place, world)
            break
        except KeyboardInterrupt:
            assert damage(place) == []
            index(place, world)
        assert contents(place) == expected
    assert writes > 5
    assert contents(place) == expected


def publish(folder: Path, *documents: Document) -> None:
    with writing_to(folder, ENCODER.identity) as writer:
        writer.put_documents(documents)
        writer.publish(Usage())


def test_no_change_is_known_before_the_first_commit_after_a_stop_or_where_documents_were_put(tmp_path: Path) -> None:
    first, second, third = (make_document(title, "Text.") for title in ("A", "B", "C"))

    def change_after(*documents: Document, put: Sequence[Document] = ()) -> Change | None:
        with writing_to(tmp_path, ENCODER.identity) as writer:
            writer.put_documents(documents)
            writer.put_documents(put)
            writer.checkpoint()
            return writer.change

    assert change_after(first) is None
    publish(tmp_path)
    found = change_after(second)
    assert found is not None
    assert (set(found.added), set(found.removed), found.nothing) == ({second.id}, set(), False)
    assert change_after() is None  # the one before did not publish
    publish(tmp_path)
    found = change_after()
    assert found is not None
    assert found.nothing
    assert change_after(put=[first]) is not None
    assert change_after(put=[third]) is None


def test_more_than_is_good_to_follow_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hoptrail.corpus.writer, "MOST_CHANGES", 2)
    publish(tmp_path, make_document("A", "Text."))
    with writing_to(tmp_path, ENCODER.identity) as writer:
        writer.put_documents([make_document(title, "Text.") for title in ("B", "C")])
        assert writer.change is not None
        writer.put_documents([make_document("D", "Text.")])
        assert writer.change is None


def test_what_came_and_went_is_told_apart(tmp_path: Path) -> None:
    old, new = make_document("Old", "Text."), make_document("New", "Text.")
    publish(tmp_path, old)
    with writing_to(tmp_path, ENCODER.identity) as writer:
        writer.put_documents([new])
        writer.remove_documents([new.id, old.id])
        writer.put_documents([old])
        change = writer.change
        assert change is not None
        assert (set(change.added), set(change.removed)) == ({old.id}, {old.id})
        assert set(change.before.register.ids()) == {old.id}
        writer.remove_documents([old.id])
        change = writer.change
        assert change is not None
        assert (set(change.added), set(change.removed)) == (set(), {old.id})
