"""Documents that wait to take the places of others, in a file without a name: it ends with the process, however that ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from tempfile import SpooledTemporaryFile

from hoptrail.errors import disk_errors
from hoptrail.execution.executor import batched
from hoptrail.types import Document
from hoptrail.types.json_object import reader_of

BATCH_DOCUMENTS = 8192
BATCH_CHARACTERS = 4_000_000
"""Documents are stored in batches of at most this many, or about this many characters, to limit memory."""

_IN_MEMORY = 1 << 20
"""Bytes that are kept in memory; more go to the disk of the index."""


class HeldDocuments:
    """First all documents are put, then they are taken in batches. Both raise StorageError where the disk refuses."""

    def __init__(self, index: Path) -> None:
        """`index`: the folder of the index, on whose disk the file is made."""
        self._index = index
        self._file = SpooledTemporaryFile(_IN_MEMORY, dir=str(index))  # noqa: SIM115 - it is held as long as this
        self._left = 0
        self._batches: Iterator[list[Document]] | None = None

    def __len__(self) -> int:
        """The number of documents that were not taken yet."""
        return self._left

    def put(self, documents: Sequence[Document]) -> None:
        """Append documents."""
        with disk_errors(f"cannot hold documents in {self._index}"):
            self._file.writelines(reader_of(Document).dump_json(document) + b"\n" for document in documents)
        self._left += len(documents)

    def take(self) -> list[Document]:
        """The next documents, at most BATCH_DOCUMENTS or about BATCH_CHARACTERS; empty after the last."""
        if self._batches is None:
            self._batches = batched(
                self._read(), BATCH_DOCUMENTS, lambda document: len(document.text), BATCH_CHARACTERS
            )
        batch = next(self._batches, [])
        self._left -= len(batch)
        return batch

    def __del__(self) -> None:
        with suppress(OSError):  # a full disk refuses what was not written yet, and `put` has said so
            self._file.close()

    def _read(self) -> Iterator[Document]:
        with disk_errors(f"cannot read held documents in {self._index}"):
            self._file.seek(0)
            yield from map(reader_of(Document).validate_json, islice(self._file, self._left))
