"""Publishing: sending the chunks that the last publication lacks, then the manifest, then the pointer; and removing old ones.

A publication is removed, oldest first, some time after a newer one has replaced it, but never the current one or the one before
it. With it go the chunks that the next publication has dropped, and those that failed publishers sent under its number. Its
manifest is removed last, and the pointer names it until then, so that an interrupted removal is repeated.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, BinaryIO

from hoptrail.corpus.arrays import ARRAYS
from hoptrail.corpus.connecting import translating_errors
from hoptrail.corpus.copying import open_file
from hoptrail.corpus.database import Database
from hoptrail.corpus.head import read_head
from hoptrail.corpus.locations import DATABASE
from hoptrail.corpus.segments import array_files
from hoptrail.errors import IndexBusy, IndexDamaged, StorageError
from hoptrail_scale.publishing.manifest import (
    CHUNKS,
    FORMAT,
    MANIFESTS,
    POINTER,
    Manifest,
    Pointer,
    StoredFile,
    number_of,
    object_of,
    read_manifest,
    read_pointer,
)
from hoptrail_scale.publishing.objects import STREAMS, Objects, Outdated, StoreAddress

if TYPE_CHECKING:
    from obstore import UpdateVersion

SMALLEST_CHUNK = 1 << 14  # bytes of a chunk of the database, a multiple of its pages of 4,096 bytes

MOST_CHUNKS = 1 << 14
"""The most chunks of the database; a larger one has larger chunks. Each takes 80 bytes in the manifest of every publication."""

ARRAY_CHUNK = 1 << 22
"""Bytes of a chunk of an array. Arrays never change, so this only determines the number of requests."""

KEEP_HOURS = 48.0  # how long a replaced publication can still be fetched


@dataclass(frozen=True, slots=True)
class Publication:
    """The current publication after a call, and what the call did. `size` is that of all files in bytes; `sent_bytes` counts
    chunks and the manifest, and is 0 if the commit was published before; `removed` counts objects.
    """

    number: int
    commit: int
    size: int
    chunks: int
    sent_chunks: int
    sent_bytes: int
    removed: int


def publish(folder: Path, address: str, *, keep_hours: float = KEEP_HOURS, afresh: bool = False) -> Publication:
    """Publish the last commit of an index to an object store.

    Only chunks that the last publication lacks are sent; with `afresh` all are, which repairs a damaged publication. Replaced
    publications are kept for `keep_hours`, the last but one in any case. The index may be read and written meanwhile.

    Raises:
        UsageError: it is not an address.
        IndexUnavailable, IndexDamaged: the index, or what is published, cannot be read.
        IndexBusy: another process has published there meanwhile; its publication is current.
        StorageError: the store refuses; the earlier publication is unchanged.
    """
    objects = Objects(StoreAddress.of(address))
    pointer, version = read_pointer(objects) or (None, None)
    with open_commit(folder) as (commit, files):
        before = None if pointer is None or afresh else read_manifest(objects, pointer.manifests[0])
        sender = _Sender(objects, pointer.number + 1 if pointer else 1, before)
        manifest = sender.send(commit, files)
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


@contextmanager
def open_commit(folder: Path) -> Iterator[tuple[int, Mapping[str, BinaryIO]]]:
    """The number of the last commit of an index, and its files by their paths in the index folder (with slashes). They can be
    read until the end of the block, whatever happens to the index; no writer waits. The database is copied to the system's
    temporary folder, and the copy unlinked before the block begins. Raises: as `copy_index` does.
    """
    with ExitStack() as files:
        with (
            closing(Database.to_read(folder)) as database,
            TemporaryDirectory(prefix="hoptrail-", ignore_cleanup_errors=True) as temporary,
        ):
            names = [f"{ARRAYS}/{name}" for name in array_files(database)]
            opened = {name: files.enter_context(open_file(folder, name)) for name in names}
            copy = Path(temporary, DATABASE)
            with translating_errors(copy.parent):
                database.copy_to(copy)
                opened[DATABASE] = files.enter_context(copy.open("rb"))
            number = read_head(database).commit
        yield number, dict(sorted(opened.items()))


class _Sender:
    def __init__(self, objects: Objects, number: int, before: Manifest | None) -> None:
        self.sent = self.sent_bytes = 0
        self._objects = objects
        self._number = number
        self._known = {chunk.partition("/")[2]: chunk for chunk in (before.chunks if before else ())}
        """Chunks in the store, by hash: of the last publication, and of a publisher that has failed since."""
        for chunk in objects.written(f"{CHUNKS}/{number}"):
            self._known.setdefault(chunk.rpartition("/")[2], f"{number}/{chunk.rpartition('/')[2]}")

    def send(self, commit: int, opened: Mapping[str, BinaryIO]) -> Manifest:
        """Send the missing chunks of a commit's files. Returns its manifest."""
        with ThreadPoolExecutor(STREAMS) as pool:
            running: deque[Future[None]] = deque()
            files = tuple(self._file(name, file, pool, running) for name, file in opened.items())
            for future in running:
                future.result()
        return Manifest(FORMAT, self._number, commit, files)

    def _file(self, name: str, file: BinaryIO, pool: ThreadPoolExecutor, running: deque[Future[None]]) -> StoredFile:
        size = file.seek(0, 2)
        chunk_size = database_chunk(size) if name == DATABASE else ARRAY_CHUNK
        chunks = []
        file.seek(0)
        for content in iter(lambda: file.read(chunk_size), b""):
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
    """The chunk size of a database of `size` bytes: a power of two."""
    chunk = SMALLEST_CHUNK
    while chunk * MOST_CHUNKS < size:
        chunk *= 2
    return chunk


def _put_manifest(objects: Objects, manifest: Manifest, version: UpdateVersion | None) -> None:
    """Write the manifest, and check that the store refuses a conditional write whose condition does not hold.
    Raises: StorageError: it does not, so two publishers could both seem to win.
    """
    name = object_of(manifest.name)
    objects.put(name, manifest.content)
    try:
        objects.replace(name, manifest.content, version)
    except Outdated:
        return
    raise StorageError(
        f"the object store of {objects.address} ignores conditions of writes (If-Match, If-None-Match), without which two "
        f"publishers could overwrite each other. Publish to another store."
    )


def _switch(objects: Objects, pointer: Pointer, version: UpdateVersion | None) -> None:
    """Replace the pointer if it is still the version that was read. Raises: IndexBusy: it is another one."""
    try:
        objects.replace(POINTER, pointer.content, version)
    except Outdated as error:
        current = read_pointer(objects)
        if current and current[0].manifests[0] == pointer.manifests[0]:  # it took effect, but the response was lost
            return
        theirs = f"publication {current[0].number}" if current else "nothing"
        raise IndexBusy(
            f"somebody else has published to {objects.address} meanwhile: {theirs} is current there, and nothing of this one. "
            f"Run the same command again if this index is to replace it."
        ) from error


def kept(objects: Objects, pointer: Pointer | None) -> tuple[str, ...]:
    """The existing manifests that a pointer names; the current one always exists."""
    if pointer is None:
        return ()
    existing = objects.written(MANIFESTS)
    return tuple(name for name in pointer.manifests if object_of(name) in existing)


def collect(objects: Objects, pointer: Pointer, keep_hours: float) -> int:
    """Remove the publications that were replaced more than `keep_hours` ago. `pointer` is the current one. Returns the number of
    removed objects. Hours are counted by the clock of the store, from the writing of the newer manifest to that of the newest.
    """
    written = objects.written(MANIFESTS)
    names = [name for name in pointer.manifests if object_of(name) in written]
    oldest = max(written.values()) - timedelta(hours=keep_hours)
    replaced = [(old, new) for new, old in pairwise(names)][1:]
    gone = [(old, new) for old, new in replaced if written[object_of(new)] <= oldest]
    return sum(_remove(objects, old, new, written) for old, new in reversed(gone))


def _remove(objects: Objects, old: str, new: str, manifests: Iterable[str]) -> int:
    """Remove a publication, except the chunks that the next one reuses."""
    number = number_of(old)
    unused = (_chunks(objects, old) | set(objects.written(f"{CHUNKS}/{number}"))) - _chunks(objects, new)
    unused |= {name for name in manifests if number_of(name.rpartition("/")[2]) == number} - {object_of(old)}
    with ThreadPoolExecutor(STREAMS) as pool:
        list(pool.map(objects.delete, sorted(unused)))
    objects.delete(object_of(old))
    return len(unused) + 1


def _chunks(objects: Objects, manifest: str) -> set[str]:
    """The chunks of a manifest; none where it is damaged, because then it cannot be fetched either."""
    try:
        return {f"{CHUNKS}/{chunk}" for chunk in read_manifest(objects, manifest).chunks}
    except IndexDamaged:
        return set()
