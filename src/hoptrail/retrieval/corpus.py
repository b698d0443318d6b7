"""What is searched: a snapshot of an index together with the encoder that made its vectors."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from hoptrail.corpus.head import check_encoder
from hoptrail.corpus.shared_snapshot import Lease
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.errors import UsageError
from hoptrail.models.encoder import Encoder, QuickEncoder
from hoptrail.types import Document

if TYPE_CHECKING:
    from hoptrail.structures.catalogue import StructureSettings

QUESTION_LIMIT = 8000
"""Longest question that is searched, in characters: far above any real one, and it bounds what a request can cost."""


class Corpus:
    """The encoder is opened when it is first needed: keyword search never waits for it. `structures` are the settings that its
    structures are built with, for those that are made anew for a question.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        open_encoder: Callable[[], Encoder],
        structures: StructureSettings | None = None,
        lease: Lease | None = None,
    ) -> None:
        """A `lease` of the snapshot is given back when nobody holds on to this any more."""
        if lease is not None:
            weakref.finalize(self, lease.give_back)
        self.snapshot = snapshot
        self._structures = structures
        self._open_encoder = open_encoder

    @cached_property
    def structures(self) -> StructureSettings:
        """The defaults unless they were given."""
        from hoptrail.structures.catalogue import StructureSettings

        return self._structures or StructureSettings()

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder that made the vectors of this index.

        Raises:
            IndexMismatch: the encoder at hand is another one.
        """
        encoder = self._open_encoder()
        check_encoder(str(self.snapshot.folder), self.snapshot.head.encoder, encoder.identity)
        return encoder

    @cached_property
    def quick_encoder(self) -> Encoder:
        """The quick form of the encoder, where it has one: for search that asks with many texts a question."""
        encoder = self.encoder
        return encoder.quick if isinstance(encoder, QuickEncoder) else encoder

    @cached_property
    def unleased(self) -> Corpus:
        """The same for what is derived from the snapshot, and must not keep it open."""
        return Corpus(self.snapshot, self._open_encoder, self._structures)

    def documents(self, ids: set[str]) -> dict[str, Document]:
        return {document.id: document for document in self.snapshot.documents(ids)}

    def sources(self, ids: set[str]) -> dict[str, str]:
        """Where each of some documents was first read from (a path, or `path#id` for a line), by document id."""
        return {entry.id: entry.sources[0] for entry in self.snapshot.register.of(ids) if entry.sources}


def checked_question(text: str) -> str:
    """The question without control characters and broken code points, which no document contains.

    Raises:
        UsageError: it is empty or longer than QUESTION_LIMIT.
    """
    if len(text) > QUESTION_LIMIT:
        raise UsageError(
            f"the question has {len(text):,} characters; at most {QUESTION_LIMIT:,} are searched. Shorten it."
        )
    printable = "".join(character if character.isprintable() else " " for character in text)
    question = " ".join(printable.split())
    if not question:
        raise UsageError("the question is empty. Ask something.")
    return question
