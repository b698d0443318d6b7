"""Indexes to publish, and what is seen of them elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from corpus.worlds import add, vectors_of
from hoptrail.corpus import row_writer
from hoptrail.corpus.row_writer import writing_rows
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.types import Document, Kind
from hoptrail_scale.publishing.fetching import Copy, Follower
from hoptrail_scale.publishing.manifest import Manifest, Pointer, object_of, read_manifest, read_pointer
from hoptrail_scale.publishing.objects import Objects, StoreAddress


def commit(folder: Path, documents: Sequence[Document], remove: Sequence[Document] = ()) -> None:
    """One more commit, of documents with a passage each; it waits for readers as long as slow disks make them take."""
    with pytest.MonkeyPatch.context() as patch, writing_rows(folder) as writer:
        patch.setattr(row_writer, "WAIT", 60.0)
        writer.remove_documents([document.id for document in remove])
        if documents:
            add(writer, documents)
        writer.commit()


def fetch(address: str, cache: Path) -> Copy:
    """The current publication of an address, fetched into the cache unless it is there."""
    return Follower(address, cache).first()


def titles(folder: Path) -> set[str]:
    """The titles in an index that is whole: each document has its passage, its vector and its words."""
    with Snapshot.open(folder) as snapshot:
        found = {document.title for document in snapshot.register.read()}
        passages = list(snapshot.units(Kind.PASSAGE))
        vectors = snapshot.search.vectors_in_order([Kind.PASSAGE], [unit.id for unit in passages])
        assert vectors.tobytes() == vectors_of(passages).tobytes()
        assert {unit.title for unit in passages} == found
        return found


def files_of(folder: Path) -> dict[str, bytes]:
    """The files of an index folder, but for what readers leave there."""
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {name: content for name, content in found.items() if not name.endswith(("-shm", "-wal"))}


@cache
def objects_of(address: str) -> Objects:
    """Opened once, which takes as long as several requests."""
    return Objects(StoreAddress.of(address))


def pointer_of(address: str) -> Pointer:
    found = read_pointer(objects_of(address))
    assert found
    return found[0]


def manifests_of(address: str) -> list[Manifest]:
    """All that the pointer names and that are there, the newest first."""
    objects = objects_of(address)
    there = objects.written("manifests")
    return [read_manifest(objects, name) for name in pointer_of(address).manifests if object_of(name) in there]


def stored(address: str, under: str) -> set[str]:
    return set(objects_of(address).written(under))
