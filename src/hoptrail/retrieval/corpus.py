"""The corpus to search: a snapshot of an index with the encoder that made its vectors."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import cached_property
from typing import Any

from hoptrail.corpus.head import check_encoder
from hoptrail.corpus.snapshot import Snapshot
from hoptrail.errors import UsageError
from hoptrail.models.encoder import Encoder
from hoptrail.types import Document

QUESTION_LIMIT = 8000  # longest question in characters: far above any real one, and it bounds the cost of a request


class Corpus:
    """A snapshot with its encoder, opened on first use, and the settings of structures that are built for a single question
    (`structures.catalogue.StructureSettings`; None: the defaults).
    """

    def __init__(
        self,
        snapshot: Snapshot,
        open_encoder: Callable[[], Encoder],
        structures: Any = None,
        give_back: Callable[[], None] | None = None,
    ) -> None:
        """`give_back` ends the reading of a shared snapshot; it is called when this object is garbage-collected."""
        if give_back is not None:
            weakref.finalize(self, give_back)
        self.snapshot = snapshot
        self.structures = structures
        self._open_encoder = open_encoder

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder that made the vectors of this index. Raises: IndexMismatch: the configured encoder is another one."""
        encoder = self._open_encoder()
        check_encoder(str(self.snapshot.folder), self.snapshot.head.encoder, encoder.identity)
        return encoder

    @cached_property
    def without_lease(self) -> Corpus:
        """The same without `give_back`, for objects cached with the snapshot, which must not keep it open."""
        return Corpus(self.snapshot, self._open_encoder, self.structures)

    def documents(self, ids: set[str]) -> dict[str, Document]:
        """Documents by id; unknown ids are missing."""
        return {document.id: document for document in self.snapshot.documents(ids)}

    def sources(self, ids: set[str]) -> dict[str, str]:
        """The first source (a path, or `path#id` for a line) of each document, by document id."""
        return {entry.id: entry.sources[0] for entry in self.snapshot.register.of(ids) if entry.sources}


def check_question(text: str) -> str:
    """The question without control characters. Raises: UsageError: it is empty or longer than QUESTION_LIMIT."""
    if len(text) > QUESTION_LIMIT:
        raise UsageError(
            f"the question has {len(text):,} characters; at most {QUESTION_LIMIT:,} are allowed. Shorten it."
        )
    printable = "".join(character if character.isprintable() else " " for character in text)
    question = " ".join(printable.split())
    if not question:
        raise UsageError("the question is empty. Ask something.")
    return question
