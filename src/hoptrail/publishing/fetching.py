"""Fetching a publication: into the cache of this machine, following newer ones, or back into an index of one's own.

The cache has a folder for each address, and in it one for each publication that is there, which is an index folder with its
manifest beside it. A publication is fetched beside those before it: what it shares with the newest of them is taken from there.
Then the others go, but for those that are in use. So the cache holds, of each address, the newest publication and those in use.
"""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Self

from hoptrail.corpus.copying import check_empty
from hoptrail.corpus.durable import NEW, make_folder, move_folder, remove_folder, sync_folder, write_file
from hoptrail.corpus.places import DATABASE
from hoptrail.corpus.refusals import translating_errors
from hoptrail.corpus.segments import ARRAYS
from hoptrail.errors import IndexDamaged, IndexUnavailable
from hoptrail.publishing.address import Address
from hoptrail.publishing.manifest import (
    CHUNKS,
    Manifest,
    MissingObject,
    Pointer,
    StoredFile,
    damaged_chunk,
    number_of,
    parse_manifest,
    read_manifest,
    read_pointer,
)
from hoptrail.publishing.objects import STREAMS, Objects, Unchanged

if TYPE_CHECKING:
    from obstore import UpdateVersion

_MANIFEST = "manifest.json"
_LOCK = "fetching.lock"


@dataclass(frozen=True, slots=True)
class Copy:
    """A publication on this machine, which `Snapshot.open(folder)` reads. It stays until `close`, or until this process ends."""

    folder: Path
    number: int
    commit: int
    _pin: BinaryIO

    def close(self) -> None:
        """Give it up: it may go as soon as a newer one is there."""
        self._pin.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def usual_cache() -> Path:
    """Where the system has programs keep what they can fetch again."""
    from platformdirs import user_cache_path

    return user_cache_path("hoptrail", appauthor=False) / "published"


def fetch(address: str, cache: Path) -> Copy:
    """The current publication of an address, fetched into the cache as far as it is not there.

    Raises: as `Follower.look` does.
    """
    return Follower(address, cache).first()


class Follower:
    """Sees what is new at an address. For one thread."""

    def __init__(self, address: str, cache: Path) -> None:
        """Raises: UsageError: not an address."""
        self._objects = Objects(Address.of(address))
        self._home = cache / Address.of(address).folder_name
        self._version: UpdateVersion | None = None
        self._folder: Path | None = None

    def look(self) -> Copy | None:
        """The current publication, fetched as far as it is not there; None where it is the one of the last call. That costs one
        small request.

        Raises: as `first` does. What is in the cache can be used on.
        """
        try:
            found = read_pointer(self._objects, self._version)
        except Unchanged:
            self._clear()
            return None
        return self._current(found)

    def first(self) -> Copy:
        """The current publication, fetched as far as it is not there.

        Raises:
            IndexUnavailable: nothing is published there.
            IndexDamaged: an object is missing, or is not what it was; the message names it.
            IndexMismatch: published by a newer hoptrail.
            StorageError: the store cannot be reached or refuses, or the disk refuses.
        """
        return self._current(read_pointer(self._objects))

    def _current(self, found: tuple[Pointer, UpdateVersion] | None) -> Copy:
        while found:
            pointer, version = found
            try:
                copy = self._fetched(pointer)
            except MissingObject:  # damage, unless the pointer was read so long ago that the publication has gone
                found = read_pointer(self._objects)
                if found and found[0] == pointer:
                    raise
                continue
            self._version, self._folder = version, copy.folder
            return copy
        raise _nothing(self._objects.address)

    def _fetched(self, pointer: Pointer) -> Copy:
        name = pointer.manifests[0]
        with translating_errors(self._home):
            make_folder(self._home)
            with _lock(self._home):
                folder = self._home / name
                manifest = _manifest_in(folder)
                if manifest is None:
                    manifest = read_manifest(self._objects, name)
                    remove_folder(folder)
                    _place(self._objects, manifest, folder, self._newest(), with_manifest=True)
                copy = Copy(folder, manifest.number, manifest.commit, _pinned(folder))
                self._remove_others(folder)
        return copy

    def _clear(self) -> None:
        """Remove what is no longer in use, unless somebody fetches."""
        with translating_errors(self._home):
            if self._folder and len(self._there()) > 1:
                with suppress(TimeoutError), _lock(self._home, timeout=0):
                    self._remove_others(self._folder)

    def _newest(self) -> Path | None:
        return max(self._there(), key=lambda path: number_of(path.name), default=None)

    def _there(self) -> list[Path]:
        return [path.parent for path in self._home.glob(f"*/{_MANIFEST}") if path.parent.suffix != NEW]

    def _remove_others(self, kept: Path) -> None:
        for folder in self._home.iterdir():
            if folder.suffix == NEW:
                remove_folder(folder)
            elif folder.is_dir() and folder != kept:
                _remove_unless_used(folder)


def restore(source: str, folder: Path) -> None:
    """Make an index folder of a backup (a folder), or of the current publication of an address.

    Raises:
        UsageError: `folder` holds something.
        HoptrailError: as `copy_index` and `Follower.look` do.
    """
    from hoptrail.corpus.copying import copy_index
    from hoptrail.publishing.address import is_address

    if not is_address(source):
        copy_index(Path(source), folder)
        return
    check_empty(folder)
    objects = Objects(Address.of(source))
    found = read_pointer(objects)
    if found is None:
        raise _nothing(objects.address)
    with translating_errors(folder):
        _place(objects, read_manifest(objects, found[0].manifests[0]), folder)


def _nothing(address: Address) -> IndexUnavailable:
    return IndexUnavailable(
        f"nothing is published at {address}. Do that with `hoptrail publish --index DIR {address}`."
    )


def _place(
    objects: Objects, manifest: Manifest, folder: Path, base: Path | None = None, *, with_manifest: bool = False
) -> None:
    """Put the files of a publication on the disk, all of them or none; what another publication has is taken from there."""
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
    """Where the chunks of a publication come from: a publication that is on this machine, or the store."""

    def __init__(self, objects: Objects, base: Path | None) -> None:
        self._objects = objects
        manifest = base and _manifest_in(base)
        self._base = {file.name: (base / file.name, file) for file in manifest.files} if base and manifest else {}

    def write(self, file: StoredFile, path: Path) -> None:
        """Put a file on the disk."""
        near, known = self._base.get(file.name, (None, None))
        if near and known == file and file.name != DATABASE:  # an array, which nobody changes
            with suppress(OSError):  # not there, or a file system without links
                os.link(near, path)
                return
        near = near if known and known.chunk_size == file.chunk_size else None
        write_file(path, _in_order(lambda place: self._chunk(file, place, near), len(file.chunks)))

    def _chunk(self, file: StoredFile, place: int, near: Path | None) -> bytes:
        """A chunk whose hash is right, from the same place of a near file if it is there. (To close a database that is open
        elsewhere in this process takes away the locks on it; here nobody writes, so none is needed.)
        """
        name = file.chunks[place]
        if near:
            with suppress(OSError), near.open("rb") as opened:
                opened.seek(place * file.chunk_size)
                content = opened.read(file.length(place))
                if _is(content, name):
                    return content
        found = self._objects.get(f"{CHUNKS}/{name}")
        if found is None:
            raise MissingObject(f"{CHUNKS}/{name}", self._objects.address)
        if len(found) != file.length(place) or not _is(found, name):
            raise damaged_chunk(name, self._objects.address)
        return found


def _is(content: bytes, name: str) -> bool:
    return hashlib.sha256(content).hexdigest() == name.partition("/")[2]


def _in_order(chunk: Callable[[int], bytes], count: int) -> Iterator[bytes]:
    """Chunks in their order, of which some are fetched at a time."""
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
    """The manifest of a publication that is on this machine; None where it is not, or is damaged."""
    try:
        return parse_manifest((folder / _MANIFEST).read_bytes(), folder.name, folder)
    except (FileNotFoundError, IndexDamaged):
        return None


def _pinned(folder: Path) -> BinaryIO:
    """An open file that keeps a publication from being removed. To be called while the lock of the home is held."""
    pin = (folder / _MANIFEST).open("rb")
    _flock(pin, shared=True)
    return pin


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
    """Lock an open file. (Where there is no such lock, the system does not let open files be removed.)"""
    try:
        import fcntl
    except ImportError:
        return
    fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)


@contextmanager
def _lock(home: Path, timeout: float = -1) -> Iterator[None]:
    """Of those who fetch from one address or clear up, one at a time.

    Raises: TimeoutError: somebody else does, after so many seconds.
    """
    from filelock import FileLock

    with FileLock(home / _LOCK, timeout=timeout):
        yield
