"""A small world that we wrote, and an encoder that needs no weights."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from hoptrail.models.encoder import EncoderIdentity, FloatMatrix, Progress
from hoptrail.types import Document, Kind, Span, Unit, content_id

FACTS = {
    "Orla Finch": "Orla Finch was born in Wrenmouth. She designed the Tallow Bridge in 1871.",
    "Wrenmouth": "Wrenmouth is a market town. The river Isk flows through Wrenmouth.",
    "Tallow Bridge": "The Tallow Bridge spans the harbour of Dunmere. It was designed by Orla Finch.",
    "Dunmere": "Dunmere is a port. Its harbour freezes in winter.",
    "Isk": "The Isk is a river. It rises in the Grey Hills and is 90 km long.",
    "Lindeth": "Lindeth is a village. The river Arrow flows through Lindeth.",
}


def write_facts(folder: Path) -> Path:
    """Write the facts into a folder, which is made if there is none: a text file each. Returns the folder."""
    folder.mkdir(exist_ok=True)
    for title, text in FACTS.items():
        (folder / f"{title}.txt").write_text(text, encoding="utf-8")
    return folder


@dataclass(frozen=True)
class HashingEncoder:
    """Bags of hashed words: deterministic, instant, and near for texts that share words."""

    name: str = "hashing"
    dimension: int = 64

    @property
    def identity(self) -> EncoderIdentity:
        return EncoderIdentity(self.name, hashlib.sha256(self.name.encode()).hexdigest(), self.dimension)

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> FloatMatrix:
        matrix = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            matrix[row, 0] = 0.01
            for word in text.lower().replace(".", " ").split():
                matrix[row, hashlib.sha256(word.encode()).digest()[0] % self.dimension] += 1
        if progress is not None:
            progress(len(texts), len(texts))
        scaled: FloatMatrix = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
        return scaled


@dataclass(frozen=True)
class TokenHashingEncoder(HashingEncoder):
    """With a vector a word."""

    def encode_tokens(self, texts: Sequence[str]) -> list[FloatMatrix]:
        return [
            self.encode(text.split()) if text.split() else np.zeros((0, self.dimension), dtype=np.float32)
            for text in texts
        ]


@dataclass(frozen=True)
class Counting(HashingEncoder):
    """Keeps every text that it was given."""

    texts: list[str] = field(default_factory=list)

    def encode(self, texts: Sequence[str], progress: Progress | None = None) -> FloatMatrix:
        self.texts.extend(texts)
        return super().encode(texts, progress)


def make_document(title: str, text: str, source: str | None = None) -> Document:
    """A document whose sentences end at full stops."""
    ends = [position + 1 for position, character in enumerate(text) if character == "."]
    ends = [*ends[:-1], len(text)] if ends else ([len(text)] if text else [])
    return Document(content_id("d", title, text), title, text, tuple(ends), (source or f"/world/{title}.txt",))


def make_passage(document: Document) -> Unit:
    """The whole document as one passage."""
    end = len(document.text)
    spans = (Span(document.id, 0, end),)
    id_ = content_id("p", document.id, "0", str(end))
    return Unit(id_, Kind.PASSAGE, document.title, document.text, spans, sentence_ends=document.sentence_ends)
