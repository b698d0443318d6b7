"""The reader in PyTorch: the trunk of the encoder that ships, and three heads.

Tensors have the names of the encoder's weights, so that these load unchanged; the word
embeddings are those of the encoder and are not trained. Devlin et al. 2019 (BERT), sections 3 and 4.2 to 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from hoptrail.models.bert import BertSizes
from training.batches import UNTAUGHT, Batch

WORDS = "embeddings.word_embeddings.weight"
VERDICTS = 3
_HELPS_WEIGHT = 0.5  # of the second head's loss beside those of the reader


class Layer(nn.Module):
    """One layer of BERT: attention, then the feed-forward network, each with a residual connection and normalisation."""

    def __init__(self, sizes: BertSizes) -> None:
        super().__init__()
        width = sizes.width
        self.heads = sizes.heads
        self.attention = nn.ModuleDict(
            {
                "self": nn.ModuleDict({name: nn.Linear(width, width) for name in ("query", "key", "value")}),
                "output": nn.ModuleDict(
                    {"dense": nn.Linear(width, width), "LayerNorm": nn.LayerNorm(width, sizes.epsilon)}
                ),
            }
        )
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(width, 4 * width)})
        self.output = nn.ModuleDict(
            {"dense": nn.Linear(4 * width, width), "LayerNorm": nn.LayerNorm(width, sizes.epsilon)}
        )

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Hidden states after this layer, shape as before."""
        inner, outer = self.attention["self"], self.attention["output"]
        query, key, value = (
            inner[name](hidden).unflatten(-1, (self.heads, -1)).transpose(1, 2) for name in ("query", "key", "value")
        )
        mixed = functional.scaled_dot_product_attention(query, key, value, mask)
        hidden = outer["LayerNorm"](hidden + outer["dense"](mixed.transpose(1, 2).flatten(-2)))
        wide = self.output["dense"](functional.gelu(self.intermediate["dense"](hidden)))
        return self.output["LayerNorm"](hidden + wide)


class Reader(nn.Module):
    """Maps word pieces of a question and a text to start and end of the answer, verdict, and whether the text helps."""

    def __init__(self, sizes: BertSizes, weights: Mapping[str, NDArray[np.float32]]) -> None:
        super().__init__()
        words, places = weights[WORDS].shape[0], weights["embeddings.position_embeddings.weight"].shape[0]
        self.embeddings = nn.ModuleDict(
            {
                "word_embeddings": nn.Embedding(words, sizes.width),
                "position_embeddings": nn.Embedding(places, sizes.width),
                "token_type_embeddings": nn.Embedding(2, sizes.width),
                "LayerNorm": nn.LayerNorm(sizes.width, sizes.epsilon),
            }
        )
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList(Layer(sizes) for _ in range(sizes.layers))})
        self.span = nn.Linear(sizes.width, 2)
        self.verdict = nn.Linear(sizes.width, VERDICTS)
        self.helps = nn.Linear(sizes.width, 1)
        tensors = {name: torch.from_numpy(np.array(values)) for name, values in weights.items()}
        missing = self.load_state_dict(tensors, strict=False).missing_keys
        if surplus := [name for name in missing if not name.startswith(("span.", "verdict.", "helps."))]:
            raise ValueError(f"the encoder's weights lack {', '.join(surplus)}")
        self.embeddings["word_embeddings"].requires_grad_(requires_grad=False)

    def freeze(self, layers: int) -> None:
        """Freeze the embeddings and the first `layers` layers."""
        for part in (self.embeddings, *self.encoder["layer"][:layers]) if layers else ():
            part.requires_grad_(requires_grad=False)

    def forward(self, ids: Tensor, segments: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Logits: start and end, shape (texts, length, 2); verdict, shape (texts, 3); helps, shape (texts)."""
        embed = self.embeddings
        places = torch.arange(ids.shape[1], device=ids.device)
        hidden = embed["word_embeddings"](ids) + embed["position_embeddings"](places)
        hidden = embed["LayerNorm"](hidden + embed["token_type_embeddings"](segments))
        barrier = mask[:, None, None, :]
        for layer in self.encoder["layer"]:
            hidden = layer(hidden, barrier)
        first = hidden[:, 0]
        return self.span(hidden), self.verdict(first), self.helps(first).squeeze(-1)


def on_device(batch: Batch, device: torch.device) -> dict[str, Tensor]:
    """The arrays of a batch as tensors, by their names."""
    return {name: torch.from_numpy(getattr(batch, name)).to(device) for name in Batch.__slots__}


def loss_of(reader: Reader, batch: Mapping[str, Tensor]) -> Tensor:
    """Sum of the cross entropies of the known labels, per example of the batch."""
    spans, verdicts, helps = reader(batch["ids"], batch["segments"], batch["mask"])
    spans = spans.float().masked_fill(~batch["allowed"][..., None], -1e4)
    loss = sum(
        functional.cross_entropy(logits.float(), right, ignore_index=UNTAUGHT, reduction="sum") * weight
        for logits, right, weight in (
            (spans[..., 0], batch["start"], 0.5),
            (spans[..., 1], batch["end"], 0.5),
            (verdicts, batch["verdict"], 1.0),
        )
    )
    taught = batch["helps"] != UNTAUGHT
    loss = loss + _HELPS_WEIGHT * functional.binary_cross_entropy_with_logits(
        helps.float()[taught], batch["helps"][taught].float(), reduction="sum"
    )
    return loss / len(batch["ids"])
