"""The files of an index as bytes: listing, reading, moving them, in a folder or in an object store. Knows nothing of tables.

Object stores are reached by obstore, which stands on the same library as the table store and reads the same environment.
What fails there becomes a StorageError that says what to do (`refusals.py`).
"""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from hoptrail.store.place import Place, without_tls
from hoptrail.store.refusals import refusal

if TYPE_CHECKING:
    from obstore import ObjectMeta, UpdateVersion
    from obstore.store import ObjectStore

_BLOCK = 1 << 20
RETRIES = 5
RETRY_SECONDS = 30
"""How often and how long a request that an object store does not serve is tried again."""


class Files(Protocol):
    """The files below one place, by their names: paths from there, with slashes."""

    @property
    def streams(self) -> int:
        """How many files are best read at once."""
        ...

    def sizes(self, under: str = "") -> dict[str, int]:
        """The size in bytes of every file below a folder, or of all."""
        ...

    def written(self, under: str) -> dict[str, datetime]:
        """When each file below a folder was written, by the clock of whoever keeps it."""
        ...

    def blocks(self, name: str) -> Iterator[bytes]:
        """A file's content, in pieces."""
        ...

    def move(self, name: str, to: str) -> None: ...


def files_of(place: Place) -> Files:
    return LocalFiles(place.folder) if place.is_local else StoredFiles(place)


def copy_files(files: Files, folder: Path, keep: Callable[[str], bool]) -> None:
    """Copy the files whose names `keep` wants into a folder of this machine."""
    for name in filter(keep, files.sizes()):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with (folder / name).open("wb") as file:
            file.writelines(files.blocks(name))


def crc_of(files: Files, name: str) -> int:
    crc = 0
    for block in files.blocks(name):
        crc = zlib.crc32(block, crc)
    return crc


class LocalFiles:
    """Files of a folder."""

    streams = 1

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def sizes(self, under: str = "") -> dict[str, int]:
        return {name: found.st_size for name, found in self._below(under)}

    def written(self, under: str) -> dict[str, datetime]:
        return {name: datetime.fromtimestamp(found.st_mtime, UTC) for name, found in self._below(under)}

    def blocks(self, name: str) -> Iterator[bytes]:
        with (self._folder / name).open("rb") as file:
            while block := file.read(_BLOCK):
                yield block

    def move(self, name: str, to: str) -> None:
        (self._folder / name).rename(self._folder / to)

    def _below(self, under: str) -> Iterator[tuple[str, os.stat_result]]:
        """The files below a folder, but for those that a sweep takes away while we look."""
        for folder, _, names in os.walk(self._folder / under):
            for name in names:
                path = Path(folder, name)
                try:
                    found = path.stat()
                except FileNotFoundError:
                    continue
                if stat.S_ISREG(found.st_mode):
                    yield path.relative_to(self._folder).as_posix(), found


class Outdated(Exception):
    """A conditional write came too late: the object is not, or is no longer, what it was to replace. Never leaves `store`."""


class StoredFiles:
    """Objects under an address. Every failure is a StorageError, but for those that are named."""

    streams = 8

    def __init__(self, place: Place) -> None:
        from obstore.store import from_url

        self._place = place
        with self._failing():
            self._store: ObjectStore = from_url(
                place.address,
                client_options={"allow_http": without_tls(), "connect_timeout": timedelta(seconds=5)},
                retry_config={"max_retries": RETRIES, "retry_timeout": timedelta(seconds=RETRY_SECONDS)},
            )

    def sizes(self, under: str = "") -> dict[str, int]:
        return {item["path"]: item["size"] for item in self._listed(under)}

    def written(self, under: str) -> dict[str, datetime]:
        return {item["path"]: item["last_modified"] for item in self._listed(under)}

    def _listed(self, under: str) -> list[ObjectMeta]:
        import obstore

        with self._failing():
            return [item for items in obstore.list(self._store, under or None) for item in items]

    def blocks(self, name: str) -> Iterator[bytes]:
        import obstore

        with self._failing():
            for block in obstore.get(self._store, name).stream(min_chunk_size=_BLOCK):
                yield bytes(block)

    def move(self, name: str, to: str) -> None:
        import obstore

        with self._failing():
            obstore.rename(self._store, name, to)

    def read(self, name: str) -> tuple[bytes, UpdateVersion]:
        """A small object, and what tells whether it is still the same."""
        import obstore

        with self._failing():
            found = obstore.get(self._store, name)
            version: UpdateVersion = {"e_tag": found.meta["e_tag"], "version": found.meta["version"]}
            return bytes(found.bytes()), version

    def put(self, name: str, content: bytes, instead_of: UpdateVersion | None) -> UpdateVersion:
        """Write a small object in place of what it was when read, or (None) only if there is none.

        Raises:
            Outdated: there is one, or another one. (Also where this write took effect and only the word of it was lost.)
        """
        import obstore
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        known: UpdateVersion | None = None
        if instead_of is not None:  # what a store does not say of an object it must not be asked for either
            known = {key: value for key, value in instead_of.items() if value is not None}  # type: ignore[assignment]
        with self._failing():
            try:
                result = obstore.put(self._store, name, content, mode=known or "create", use_multipart=False)
            except (AlreadyExistsError, PreconditionError) as error:
                raise Outdated from error
        return {"e_tag": result["e_tag"], "version": result["version"]}

    @contextmanager
    def _failing(self) -> Iterator[None]:
        from obstore.exceptions import BaseError

        try:
            yield
        except (BaseError, OSError, ValueError) as error:
            raise refusal(self._place, error) from error
