"""The algebra of composed triples: compose the vectors of subject, relation and object into one.

Holographic reduced representations (Plate, IEEE Transactions on Neural Networks 6(3), 1995; unitary vectors: Plate's book of
2003, section 3.6). Binding is circular convolution by FFT. Pure functions on arrays.

The product of the slots, as in CompRAG's released code, ignores direction (who does it to whom), and a triple with an open slot
resembles no whole one. Shifting cures neither, because it commutes with binding. Adding slots that are each bound to the vector
of their role cures both: the poster's role binding, and the default.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hoptrail.models.encoder import FloatMatrix, unit_length

Method = Literal["roles", "product", "permuted-product", "shift-sum", "concatenation", "mean", "text"]
PRODUCTS = ("product", "permuted-product")

SLOTS = 3
BLOCK = 4096  # triples composed at a time: about 100 MiB of spectra at 384 dimensions


@dataclass(frozen=True, slots=True)
class CompositionSettings:
    """How the vectors of subject, relation and object are composed and compared.

        roles               bind each to the vector of its role, then add: length of a slot, keeps direction
        product             bind them to one another: the released code's
        permuted-product    first permute each by the permutation of its place: keeps direction
        shift-sum           shift each by its place, then add: roles without random vectors
        concatenation       concatenate: the exact mean of the slots' cosines at three times the length; the control
        mean                add: ignores direction
        text                no composition: the vector of the whole text (the index must hold it)

    With `unitary` every slot's spectrum is first scaled to magnitude 1. With `centred` the mean of all subjects is subtracted
    from each subject, and so on; otherwise all vectors resemble one another. With `lemmatise` the base forms of words are
    compared (the index must hold them). `open_slots` is the text in open slots of patterns; if empty, they are ignored.
    """

    method: Method = "roles"
    unitary: bool = False
    centred: bool = True
    lemmatise: bool = False
    open_slots: str = ""

    @property
    def needed_setting(self) -> str:
        """The setting of the structure `triples` that stores the compared vectors; empty if they are always stored."""
        if self.method == "text":
            return "texts"
        return "lemmas" if self.lemmatise else ""


def bind(first: FloatMatrix, second: FloatMatrix) -> FloatMatrix:
    """Circular convolution along the last axis."""
    size = first.shape[-1]
    bound: FloatMatrix = np.fft.irfft(np.fft.rfft(first) * np.fft.rfft(second), size).astype(np.float32)
    return bound


def unitary(vectors: FloatMatrix) -> FloatMatrix:
    """Vectors with the same phases and spectra of magnitude 1; their length is 1."""
    spectra = np.fft.rfft(vectors)
    magnitudes = np.abs(spectra)
    phases = np.where(magnitudes > 1e-12, spectra / np.maximum(magnitudes, 1e-12), 1)
    projected: FloatMatrix = np.fft.irfft(phases, vectors.shape[-1]).astype(np.float32)
    return projected


@lru_cache(maxsize=8)
def role_vectors(dimension: int) -> FloatMatrix:
    """One random unitary vector for each slot: shape (3, dimension)."""
    chance = np.random.default_rng([0, dimension])
    return unitary(chance.standard_normal((SLOTS, dimension)).astype(np.float32))


@lru_cache(maxsize=8)
def permutations(dimension: int) -> NDArray[np.intp]:
    """One random permutation for each slot: shape (3, dimension)."""
    chance = np.random.default_rng([0, dimension, SLOTS])
    return np.stack([chance.permutation(dimension) for _ in range(SLOTS)])


def compose(slots: FloatMatrix, known: NDArray[np.bool_], settings: CompositionSettings) -> FloatMatrix:
    """One unit vector for each triple (0 if no slot is known), from `slots` of shape (n, 3, dimension).

    Slots that are not `known` (shape (n, 3)) are ignored.
    Raises: ValueError: the method is `text`, which composes nothing.
    """
    dimension = slots.shape[2]
    if settings.method == "permuted-product":  # first, because a permuted unitary vector is not unitary
        slots = np.take_along_axis(slots, permutations(dimension)[np.newaxis], axis=2)
    parts = unitary(slots) if settings.unitary else slots
    if settings.method in PRODUCTS:
        spectra = np.where(known[:, :, np.newaxis], np.fft.rfft(parts), 1)
        products = np.fft.irfft(spectra.prod(axis=1), dimension).astype(np.float32)
        products[np.flatnonzero(~known.any(axis=1))] = 0
        return unit_length(products)
    parts = parts * known[:, :, np.newaxis].astype(np.float32)
    match settings.method:
        case "roles":
            return unit_length(bind(parts, role_vectors(dimension)).sum(axis=1))
        case "shift-sum":
            shifted = [np.roll(parts[:, place], place, axis=1) for place in range(SLOTS)]
            return unit_length(np.stack(shifted).sum(axis=0))
        case "concatenation":
            return unit_length(parts.reshape(len(slots), SLOTS * dimension))
        case "mean":
            return unit_length(parts.sum(axis=1))
    raise ValueError(f"{settings.method} does not compose slots")
