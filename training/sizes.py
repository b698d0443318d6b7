"""The shape of a BERT, and of the reader's heads."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BertSizes:
    """`width` is the length of a token's vector and splits evenly over the heads."""

    layers: int
    heads: int
    width: int
    epsilon: float = 1e-12


MINILM = BertSizes(layers=6, heads=12, width=384)  # that of the encoder and of the reader

COLUMNS = {"span": 2, "verdict": 3}
"""Those of the heads that have more than one."""
