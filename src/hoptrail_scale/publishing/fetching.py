"""Fetching publications: into a cache on this machine, following newer ones, or restoring an index from one.

The cache has a folder per address, with a subfolder per publication: an index folder plus its manifest. A publication is fetched
beside the earlier ones, reusing what it shares with the newest of them. Then all others that are not in use are removed.
"""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Self

from hoptrail.corpus.arrays import ARRAYS
from hoptrail.corpus.connecting import translating_errors
from hoptrail.corpus.copying import check_empty, copy_index
from hoptrail.corpus.durable import NEW, make_folder, move_folder, remove_folder, sync_folder, write_file
from hoptrail.corpus.locations import DATABASE, index_folder
from hoptrail.errors import IndexDamaged, IndexUnavailable
from hoptrail_scale.publishing.manifest import (
    CHUNKS,
    Manifest,
    MissingObject,
    Pointer,
    StoredFile,
    damaged,
    number_of,
    parse_manifest,
    read_manifest,
    read_pointer,
)
from hoptrail_scale.publishing.objects import STREAMS, Objects, StoreAddress, Unchanged

if TYPE_CHECKING:
    from filelock import BaseFileLock
    from obstore import UpdateVersion

_MANIFEST = "manifest.json"
_LOCK = "fetching.lock"


@dataclass(frozen=True, slots=True)
class Copy:
    """A publication in the cache, for `Snapshot.open(folder)`. It is kept until `close`, or until this process ends."""

    folder: Path
    number: int
    commit: int
    _pin: BinaryIO

    def close(self) -> None:
        """Release the copy, which may be removed once there is a newer one."""
        self._pin.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def default_cache() -> Path:
    """The cache in the system's folder for caches."""
    from platformdirs import user_cache_path

    return user_cache_path("hoptrail", appauthor=False) / "published"


class Follower:
    """Follows the publications of an address. Not thread-safe."""

    def __init__(self, address: str, cache: Path) -> None:
        """Raises: UsageError: it is not an address."""
        self._objects = Objects(StoreAddress.of(address))
        self._home = cache / StoreAddress.of(address).folder_name
        self._version: UpdateVersion | None = None
        self._folder: Path | None = None

    def look(self) -> Copy | None:
        """The current publication, fetched unless it is in the cache; None where it is the one of the last call, which costs one
        small request.
        Raises: as `first` does. Earlier copies remain usable.
        """
        try:
            current = read_pointer(self._objects, self._version)
        except Unchanged:
            with translating_errors(self._home):
                if self._folder and len(self._cached()) > 1:
                    with suppress(TimeoutError), _lock(self._home, timeout=0):  # unless another process is fetching
                        self._remove_others(self._folder)
            return None
        return self._fetch_current(current)

    def first(self) -> Copy:
        """The current publication, fetched unless it is in the cache.

        Raises:
            IndexUnavailable: nothing is published there.
            IndexDamaged: an object is missing or altered; the message names it.
            IndexMismatch: it was published by a newer hoptrail.
            StorageError: the store cannot be reached or refuses, or the disk refuses.
        """
        return self._fetch_current(read_pointer(self._objects))

    def _fetch_current(self, current: tuple[Pointer, UpdateVersion] | None) -> Copy:
        while current:
            pointer, version = current
            try:
                copy = self._fetch(pointer)
            except MissingObject:  # damage, unless the publication was removed since the pointer was read
                current = read_pointer(self._objects)
                if current and current[0] == pointer:
                    raise
                continue
            self._version, self._folder = version, copy.folder
            return copy
        raise _nothing_published(self._objects.address)

    def _fetch(self, pointer: Pointer) -> Copy:
        name = pointer.manifests[0]
        with translating_errors(self._home):
            make_folder(self._home)
            with _lock(self._home):
                folder = self._home / name
                manifest = _manifest_in(folder)
                if manifest is None:
                    manifest = read_manifest(self._objects, name)
                    remove_folder(folder)
                    newest = max(self._cached(), key=lambda path: number_of(path.name), default=None)
                    _place(self._objects, manifest, folder, newest, with_manifest=True)
                pin = (folder / _MANIFEST).open("rb")
                _flock(pin, shared=True)  # so that it is not removed
                copy = Copy(folder, manifest.number, manifest.commit, pin)
                self._remove_others(folder)
        return copy

    def _cached(self) -> list[Path]:
        return [path.parent for path in self._home.glob(f"*/{_MANIFEST}") if path.parent.suffix != NEW]

    def _remove_others(self, kept: Path) -> None:
        for folder in self._home.iterdir():
            if folder.suffix == NEW:
                remove_folder(folder)
            elif folder.is_dir() and folder != kept:
                _remove_unless_used(folder)


def restore(source: str, folder: Path) -> None:
    """Restore an index folder from a backup (a folder), or from the current publication of an address.

    Raises:
        UsageError: `folder` is not empty.
        HoptrailError: as `copy_index` and `Follower.first` do.
    """
    if "://" not in source:
        copy_index(index_folder(source), folder)
        return
    check_empty(folder)
    objects = Objects(StoreAddress.of(source))
    current = read_pointer(objects)
    if current is None:
        raise _nothing_published(objects.address)
    with translating_errors(folder):
        _place(objects, read_manifest(objects, current[0].manifests[0]), folder)


def _nothing_published(address: StoreAddress) -> IndexUnavailable:
    return IndexUnavailable(
        f"nothing is published at {address}. Publish an index with `hoptrail publish --index DIR {address}`."
    )


def _place(
    objects: Objects, manifest: Manifest, folder: Path, base: Path | None = None, *, with_manifest: bool = False
) -> None:
    """Write all files of a publication or none, reusing those of the publication in `base`."""
    new = folder.with_name(folder.name + NEW)
    remove_folder(new)
    make_folder(new / ARRAYS)
    source = _Source(objects, base)
    for file in manifest.files:
        source.write(file, new / file.name)
    if with_manifest:
        write_file(new / _MANIFEST, [manifest.content])
    sync_folder(new / ARRAYS)
    sync_folder(new)
    move_folder(new, folder)


class _Source:
    """Gets the chunks of a publication from another one on this machine, or from the store."""

    def __init__(self, objects: Objects, base: Path | None) -> None:
        self._objects = objects
        manifest = base and _manifest_in(base)
        self._base = {file.name: (base / file.name, file) for file in manifest.files} if base and manifest else {}

    def write(self, file: StoredFile, path: Path) -> None:
        near, known = self._base.get(file.name, (None, None))
        if near and known == file and file.name != DATABASE:  # an array, which never changes
            with suppress(OSError):  # it is missing, or the file system has no links
                os.link(near, path)
                return
        near = near if known and known.chunk_size == file.chunk_size else None
        write_file(path, _in_order(lambda place: self._chunk(file, place, near), len(file.chunks)))

    def _chunk(self, file: StoredFile, place: int, near: Path | None) -> bytes:
        """A chunk with the right hash, from the same place in the file `near` if possible. (Closing that file releases locks that
        this process has on an open database; nothing writes here, so none are needed.)
        """
        name = file.chunks[place]
        if near:
            with suppress(OSError), near.open("rb") as opened:
                opened.seek(place * file.chunk_size)
                content = opened.read(file.length(place))
                if _is_intact(content, name):
                    return content
        stored = self._objects.get(f"{CHUNKS}/{name}")
        if stored is None:
            raise MissingObject(f"{CHUNKS}/{name}", self._objects.address)
        if len(stored) != file.length(place) or not _is_intact(stored, name):
            raise damaged(f"{CHUNKS}/{name}", self._objects.address)
        return stored


def _is_intact(content: bytes, name: str) -> bool:
    return hashlib.sha256(content).hexdigest() == name.partition("/")[2]


def _in_order(chunk: Callable[[int], bytes], count: int) -> Iterator[bytes]:
    """All chunks in order; several are fetched at a time."""
    with ThreadPoolExecutor(STREAMS) as pool:
        places = iter(range(count))
        running: deque[Future[bytes]] = deque(pool.submit(chunk, place) for place in islice(places, 2 * STREAMS))
        try:
            while running:
                content = running.popleft().result()
                running.extend(pool.submit(chunk, place) for place in islice(places, 1))
                yield content
        finally:
            for future in running:
                future.cancel()


def _manifest_in(folder: Path) -> Manifest | None:
    """The manifest of a publication in the cache; None where it is missing or damaged."""
    try:
        return parse_manifest((folder / _MANIFEST).read_bytes(), folder.name, folder)
    except (FileNotFoundError, IndexDamaged):
        return None


def _remove_unless_used(folder: Path) -> None:
    """Remove a publication that no process has pinned."""
    with suppress(FileNotFoundError), (folder / _MANIFEST).open("rb") as pin:
        try:
            _flock(pin, shared=False)
        except BlockingIOError:
            return
    old = folder.with_name(folder.name + NEW)
    with suppress(PermissionError):  # Windows: a file of it is open
        folder.rename(old)
        remove_folder(old)


def _flock(file: BinaryIO, *, shared: bool) -> None:
    """Lock an open file. (On Windows, which has no `fcntl`, open files cannot be removed anyway.)"""
    try:
        import fcntl
    except ImportError:
        return
    fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)


def _lock(home: Path, timeout: float = -1) -> BaseFileLock:
    """Lets one process at a time change the cache of an address.
    Raises: TimeoutError: another process has the lock for `timeout` seconds.
    """
    from filelock import FileLock

    return FileLock(home / _LOCK, timeout=timeout)
