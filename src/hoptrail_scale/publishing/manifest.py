"""The manifest of a publication and the pointer to it, as JSON."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from hoptrail.corpus.locations import DATABASE
from hoptrail.errors import IndexDamaged, IndexMismatch
from hoptrail.types.json_object import reader_of
from hoptrail_scale.publishing.objects import Objects, StoreAddress

if TYPE_CHECKING:
    from obstore import UpdateVersion

FORMAT = 1  # increased whenever an older hoptrail could misread what a newer one publishes

ALTERED = "its content does not have the checksum in its name"
POINTER = "current.json"
MANIFESTS = "manifests"
CHUNKS = "chunks"

_FILE = re.compile(rf"{re.escape(DATABASE)}|arrays/\d+-[\w-]+\.npy")
_CHUNK = re.compile(r"\d+/[0-9a-f]{64}")
_MANIFEST = re.compile(r"\d+-[0-9a-f]{64}")

Read = TypeVar("Read", "Manifest", "Pointer")


@dataclass(frozen=True)
class StoredFile:
    """A file of the index folder. `chunks` are NUMBER/SHA256, in order; all but the last have `chunk_size` bytes."""

    name: str
    size: int
    chunk_size: int
    chunks: tuple[str, ...]

    def length(self, place: int) -> int:
        """The length of a chunk in bytes."""
        return min(self.chunk_size, self.size - place * self.chunk_size)


@dataclass(frozen=True)
class Manifest:
    """Publication `number`: the files of an index at commit `commit`."""

    format: int
    number: int
    commit: int
    files: tuple[StoredFile, ...]

    @property
    def chunks(self) -> set[str]:
        """The names of the chunks of all files, each once even where files share it."""
        return {chunk for file in self.files for chunk in file.chunks}

    @property
    def size(self) -> int:
        """The size of all files in bytes."""
        return sum(file.size for file in self.files)

    @cached_property
    def content(self) -> bytes:
        """The JSON that is stored, whose checksum is a part of the name."""
        return _to_json(self)

    @property
    def name(self) -> str:
        """NUMBER-SHA256."""
        return f"{self.number}-{hashlib.sha256(self.content).hexdigest()}"


@dataclass(frozen=True)
class Pointer:
    """The names of the manifests that are kept; the first is the newest and the current one."""

    format: int
    manifests: tuple[str, ...]

    @property
    def content(self) -> bytes:
        """The JSON that is stored; equal pointers have equal bytes."""
        return _to_json(self)

    @property
    def number(self) -> int:
        return number_of(self.manifests[0])


def number_of(name: str) -> int:
    """The number of the publication in the name of a manifest or chunk."""
    return int(re.split("[-/]", name)[0])


def object_of(manifest: str) -> str:
    return f"{MANIFESTS}/{manifest}.json"


def read_pointer(objects: Objects, other_than: UpdateVersion | None = None) -> tuple[Pointer, UpdateVersion] | None:
    """The pointer and its version; None where nothing was published.

    Raises:
        Unchanged: it is still `other_than`.
        IndexMismatch: it was published by a newer hoptrail.
        IndexDamaged: it cannot be read.
    """
    stored = objects.get_version(POINTER, other_than)
    if stored is None:
        return None
    content, version = stored
    pointer = _from_json(Pointer, content, POINTER, objects.address)
    if not pointer.manifests or not all(map(_MANIFEST.fullmatch, pointer.manifests)):
        raise damaged(POINTER, objects.address, "it does not name manifests")
    return pointer, version


def read_manifest(objects: Objects, name: str) -> Manifest:
    """Read a manifest.

    Raises:
        MissingObject: it does not exist.
        IndexMismatch, IndexDamaged: see `read_pointer`.
    """
    content = objects.get(object_of(name))
    if content is None:
        raise MissingObject(object_of(name), objects.address)
    return parse_manifest(content, name, objects.address)


def parse_manifest(content: bytes, name: str, address: StoreAddress | Path) -> Manifest:
    """Parse the content of a manifest; errors name the address or folder that it is from.
    Raises: IndexMismatch, IndexDamaged: see `read_pointer`.
    """
    place = object_of(name)
    if hashlib.sha256(content).hexdigest() != name.partition("-")[2]:
        raise damaged(place, address)
    manifest = _from_json(Manifest, content, place, address)
    for file in manifest.files:
        count = -(-file.size // file.chunk_size) if file.size >= 0 and file.chunk_size > 0 else -1
        if not _FILE.fullmatch(file.name) or count != len(file.chunks) or not all(map(_CHUNK.fullmatch, file.chunks)):
            raise damaged(place, address, f"its entry {file.name!r} is not one of a file of an index")
    if DATABASE not in {file.name for file in manifest.files}:
        raise damaged(place, address, f"it has no {DATABASE}")
    return manifest


class MissingObject(IndexDamaged):
    """A publication names an object that does not exist: damage, unless the publication was removed meanwhile."""

    def __init__(self, name: str, address: StoreAddress) -> None:
        super().__init__(f"{name} of {address} is missing. Publish the index anew with `hoptrail publish --afresh`.")


def damaged(name: str, address: StoreAddress | Path, reason: str = ALTERED) -> IndexDamaged:
    """The error for what was published there under this name."""
    return IndexDamaged(
        f"{name} of {address} is damaged: {reason}. Publish the index anew with `hoptrail publish --afresh`."
    )


def _to_json(record: Manifest | Pointer) -> bytes:
    return json.dumps(asdict(record), separators=(",", ":"), sort_keys=True).encode()


def _from_json(kind: type[Read], content: bytes, name: str, address: StoreAddress | Path) -> Read:
    from pydantic import ValidationError

    try:
        parsed = json.loads(content)
        version = parsed.get("format") if isinstance(parsed, dict) else None
        if isinstance(version, int) and version > FORMAT:
            raise IndexMismatch(
                f"{address} was published in format {version}; this hoptrail reads {FORMAT}. Update hoptrail."
            )
        read: Read = reader_of(kind).validate_python(parsed)
    except (ValidationError, ValueError) as error:
        raise damaged(name, address, "it is not JSON of the expected form") from error
    return read
