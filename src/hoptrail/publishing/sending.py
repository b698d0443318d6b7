"""Publishing: the chunks that the last publication lacks, the manifest, and then the pointer."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from hoptrail.corpus.copying import OpenCommit, open_commit
from hoptrail.corpus.places import DATABASE
from hoptrail.errors import IndexBusy, StorageError
from hoptrail.publishing.address import Address
from hoptrail.publishing.collecting import KEEP_HOURS, collect, kept
from hoptrail.publishing.manifest import (
    CHUNKS,
    FORMAT,
    POINTER,
    Manifest,
    Pointer,
    StoredFile,
    number_of,
    object_of,
    read_manifest,
    read_pointer,
)
from hoptrail.publishing.objects import STREAMS, Objects, Outdated

if TYPE_CHECKING:
    from obstore import UpdateVersion

SMALLEST_CHUNK = 1 << 14
"""Bytes of a chunk of the database, a whole number of its pages (which have 4,096)."""

MOST_CHUNKS = 1 << 14
"""Of the database; a larger one has larger chunks. Each takes 80 bytes in the manifest, which is sent with every publication."""

ARRAY_CHUNK = 1 << 22
"""Bytes of a chunk of an array. Arrays are never changed, so it matters only for how many requests there are."""


@dataclass(frozen=True, slots=True)
class Publication:
    """The current publication after a call, and what the call did. `size` is bytes of all files of the index; `sent_bytes` counts
    chunks and manifest, and is 0 where the commit was published already; `removed` counts objects.
    """

    number: int
    commit: int
    size: int
    chunks: int
    sent_chunks: int
    sent_bytes: int
    removed: int


def publish(folder: Path, address: str, *, keep_hours: float = KEEP_HOURS, afresh: bool = False) -> Publication:
    """Put the last commit of an index on an object store. Only chunks that the last publication lacks are sent; with `afresh` all
    are, which mends a damaged publication. Publications stay for `keep_hours` after a newer one has replaced them; the last but
    one stays in any case. Others may read and write the index meanwhile.

    Raises:
        UsageError: not an address.
        IndexUnavailable, IndexDamaged: the index cannot be read, or what is published cannot.
        IndexBusy: somebody else has published there meanwhile; the publication is theirs.
        StorageError: the store refuses; what was published before stays as it was.
    """
    objects = Objects(Address.of(address))
    found = read_pointer(objects)
    pointer, version = found or (None, None)
    with open_commit(folder) as commit:
        before = None if pointer is None or afresh else read_manifest(objects, pointer.manifests[0])
        sender = _Sender(objects, pointer.number + 1 if pointer else 1, before)
        manifest = sender.send(commit)
    if before and pointer and manifest.files == before.files:
        removed = collect(objects, pointer, keep_hours)
        return Publication(before.number, before.commit, before.size, len(before.chunks), 0, 0, removed)
    _put_manifest(objects, manifest, version)
    now = Pointer(FORMAT, (manifest.name, *kept(objects, pointer)))
    _switch(objects, now, version)
    return Publication(
        *(manifest.number, manifest.commit, manifest.size, len(manifest.chunks), sender.sent),
        sender.sent_bytes + len(manifest.content),
        collect(objects, now, keep_hours),
    )


class _Sender:
    """Sends the chunks of one publication."""

    def __init__(self, objects: Objects, number: int, before: Manifest | None) -> None:
        self.sent = self.sent_bytes = 0
        self._objects = objects
        self._number = number
        self._known = {chunk.partition("/")[2]: chunk for chunk in (before.chunks if before else ())}
        """What need not be sent, by its hash: of the last publication, and of a publisher that has failed since."""
        for chunk in objects.written(f"{CHUNKS}/{number}"):
            self._known.setdefault(chunk.rpartition("/")[2], f"{number}/{chunk.rpartition('/')[2]}")

    def send(self, commit: OpenCommit) -> Manifest:
        """Send what is missing of a commit; its manifest."""
        with ThreadPoolExecutor(STREAMS) as pool:
            running: deque[Future[None]] = deque()
            files = tuple(self._file(name, file, pool, running) for name, file in commit.files.items())
            for future in running:
                future.result()
        return Manifest(FORMAT, self._number, commit.number, files)

    def _file(self, name: str, file: BinaryIO, pool: ThreadPoolExecutor, running: deque[Future[None]]) -> StoredFile:
        size = file.seek(0, 2)
        chunk_size = database_chunk(size) if name == DATABASE else ARRAY_CHUNK
        chunks = []
        for content in _pieces(file, chunk_size):
            digest = hashlib.sha256(content).hexdigest()
            if digest not in self._known:
                self._known[digest] = f"{self._number}/{digest}"
                self.sent += 1
                self.sent_bytes += len(content)
                if len(running) >= 2 * STREAMS:
                    running.popleft().result()
                running.append(pool.submit(self._objects.put, f"{CHUNKS}/{self._number}/{digest}", content))
            chunks.append(self._known[digest])
        return StoredFile(name, size, chunk_size, tuple(chunks))


def database_chunk(size: int) -> int:
    """Bytes of a chunk of a database of so many bytes: a power of two."""
    chunk = SMALLEST_CHUNK
    while chunk * MOST_CHUNKS < size:
        chunk *= 2
    return chunk


def _pieces(file: BinaryIO, size: int) -> Iterator[bytes]:
    file.seek(0)
    return iter(lambda: file.read(size), b"")


def _put_manifest(objects: Objects, manifest: Manifest, version: UpdateVersion | None) -> None:
    """Write the manifest, and see that the store refuses to replace it on a condition that does not hold.

    Raises:
        StorageError: it does not, so two publishers could both believe to have won.
    """
    name = object_of(manifest.name)
    objects.put(name, manifest.content)
    try:
        objects.replace(name, manifest.content, version)
    except Outdated:
        return
    raise StorageError(
        f"the object store of {objects.address} does not heed conditions of writes (If-Match, If-None-Match), without which two "
        f"publishers could overwrite each other. Publish to another store."
    )


def _switch(objects: Objects, pointer: Pointer, version: UpdateVersion | None) -> None:
    """Write the pointer in place of the one that was read."""
    try:
        objects.replace(POINTER, pointer.content, version)
    except Outdated as error:
        found = read_pointer(objects)
        if found and found[0].manifests[0] == pointer.manifests[0]:  # it took effect, and the answer was lost
            return
        theirs = f"publication {number_of(found[0].manifests[0])}" if found else "nothing"
        raise IndexBusy(
            f"somebody else has published to {objects.address} meanwhile: {theirs} is current there, and nothing of this one. "
            f"Run the same command again if this index is to replace it."
        ) from error
