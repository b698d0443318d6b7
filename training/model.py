"""The reader in PyTorch: the trunk of the encoder that ships, and a head for each judgement.

Tensors have the names of the encoder's weights, so that these load unchanged; the word
embeddings are those of the encoder and are not trained. Devlin et al. 2019 (BERT), sections 3 and 4.2 to 4.3.

Sequences stand end to end, without padding: every layer but attention treats word pieces alone. On an accelerator attention
does so as well; elsewhere it pads (`attend`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from hoptrail.models.reader import PIECE_HEADS, WHOLE_HEADS
from training.batches import UNTAUGHT, Step
from training.examples import JUDGED
from training.sizes import COLUMNS, BertSizes

WORDS = "embeddings.word_embeddings.weight"
HEADS = (*PIECE_HEADS, *WHOLE_HEADS)
_SETTLES_WEIGHT = 0.5  # of this head's loss beside those of the others
_LARGEST_SCORE = 30.0


@dataclass(frozen=True, slots=True)
class Sequences:
    """Where sequences that stand end to end begin and end: `starts` has shape (sequences + 1)."""

    starts: Tensor
    longest: int
    owner: Tensor  # of each word piece, its sequence
    places: Tensor  # of each word piece, its place in its sequence

    @classmethod
    def of(cls, starts: Tensor, longest: int, pieces: int) -> Sequences:
        """The sequences of `pieces` word pieces in all."""
        lengths = starts.diff()
        owner = torch.repeat_interleave(torch.arange(len(lengths), device=starts.device), lengths, output_size=pieces)
        return cls(starts, longest, owner, torch.arange(pieces, device=starts.device) - starts[:-1][owner])


def attend(query: Tensor, key: Tensor, value: Tensor, sequences: Sequences) -> Tensor:
    """Attention within each sequence; all of shape (pieces, heads, size)."""
    if query.is_cuda:
        from torch.nn.attention.varlen import varlen_attn

        starts, longest = sequences.starts.int(), sequences.longest
        half = (part.to(torch.bfloat16) for part in (query, key, value))
        mixed: Tensor = varlen_attn(*half, starts, starts, longest, longest)
        return mixed.to(query.dtype)
    shape = (len(sequences.starts) - 1, sequences.longest, *query.shape[1:])
    at = (sequences.owner, sequences.places)
    padded = (query.new_zeros(shape).index_put(at, part).transpose(1, 2) for part in (query, key, value))
    present = torch.arange(sequences.longest) < sequences.starts.diff()[:, None]
    mixed = functional.scaled_dot_product_attention(*padded, attn_mask=present[:, None, None, :])
    return mixed.transpose(1, 2)[at]


class Layer(nn.Module):
    """One layer of BERT: attention, then the feed-forward network, each with a residual connection and normalisation."""

    def __init__(self, sizes: BertSizes, dropped: float) -> None:
        super().__init__()
        width = sizes.width
        self.drop = nn.Dropout(dropped)
        self.heads = sizes.heads
        inner = nn.ModuleDict({name: nn.Linear(width, width) for name in ("query", "key", "value")})
        outer = nn.ModuleDict({"dense": nn.Linear(width, width), "LayerNorm": nn.LayerNorm(width, sizes.epsilon)})
        self.attention = nn.ModuleDict({"self": inner, "output": outer})
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(width, 4 * width)})
        output = {"dense": nn.Linear(4 * width, width), "LayerNorm": nn.LayerNorm(width, sizes.epsilon)}
        self.output = nn.ModuleDict(output)

    def forward(self, hidden: Tensor, sequences: Sequences) -> Tensor:
        """Hidden states after this layer, shape (pieces, width) as before."""
        inner, outer = self.attention["self"], self.attention["output"]
        query, key, value = (inner[name](hidden).unflatten(-1, (self.heads, -1)) for name in ("query", "key", "value"))
        mixed = attend(query, key, value, sequences).flatten(-2)
        hidden = outer["LayerNorm"](hidden + self.drop(outer["dense"](mixed)))
        wide = self.output["dense"](functional.gelu(self.intermediate["dense"](hidden)))
        return self.output["LayerNorm"](hidden + self.drop(wide))


class Trunk(nn.Module):
    """Maps word pieces to hidden states. Training drops the share `dropped` of these. The word embeddings are not trained."""

    def __init__(self, sizes: BertSizes, weights: Mapping[str, NDArray[np.float32]], dropped: float) -> None:
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
        self.drop = nn.Dropout(dropped)
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList(Layer(sizes, dropped) for _ in range(sizes.layers))})
        self.embeddings["word_embeddings"].requires_grad_(requires_grad=False)

    def hidden(self, ids: Tensor, segments: Tensor, sequences: Sequences) -> Tensor:
        """The states of the last layer, shape (pieces, width)."""
        return self.layers(ids, segments, sequences)[-1]

    def layers(self, ids: Tensor, segments: Tensor, sequences: Sequences) -> list[Tensor]:
        """The states before the first layer and after each, shape (pieces, width)."""
        with torch.autocast(ids.device.type, torch.bfloat16, enabled=has_bfloat16(ids.device)):
            return [states.float() for states in self._layers(ids, segments, sequences)]

    def _layers(self, ids: Tensor, segments: Tensor, sequences: Sequences) -> list[Tensor]:
        embed = self.embeddings
        hidden = embed["word_embeddings"](ids) + embed["position_embeddings"](sequences.places)
        hidden = [self.drop(embed["LayerNorm"](hidden + embed["token_type_embeddings"](segments)))]
        for layer in self.encoder["layer"]:
            hidden.append(layer(hidden[-1], sequences))
        return hidden


def has_bfloat16(device: torch.device) -> bool:
    """Whether sixteen-bit products are faster on this device: several times, on processors that support them."""
    return device.type == "cuda" or bool(torch.cpu.get_capabilities().get("avx512_bf16"))


class Reader(Trunk):
    """Maps word pieces of questions and texts to the logits of its heads."""

    def __init__(self, sizes: BertSizes, weights: Mapping[str, NDArray[np.float32]], dropped: float = 0.0) -> None:
        super().__init__(sizes, weights, dropped)
        for name in HEADS:
            self.add_module(name, nn.Linear(sizes.width, COLUMNS.get(name, 1)))
        tensors = {name: torch.from_numpy(np.array(values)) for name, values in weights.items()}
        missing = self.load_state_dict(tensors, strict=False).missing_keys
        if surplus := [name for name in missing if name.partition(".")[0] not in HEADS]:
            raise ValueError(f"the encoder's weights lack {', '.join(surplus)}")

    def forward(self, ids: Tensor, segments: Tensor, sequences: Sequences) -> dict[str, Tensor]:
        """The logits of each head: shape (pieces, columns) of one for word pieces, else (sequences, columns)."""
        hidden = self.hidden(ids, segments, sequences)
        first = hidden[sequences.starts[:-1]]
        return {name: self.get_submodule(name)(hidden if name in PIECE_HEADS else first).float() for name in HEADS}


def loss_of(reader: Reader, step: Step, device: torch.device) -> Tensor:
    """The mean loss of the examples, and of the questions with statements, together."""
    given = {name: torch.from_numpy(getattr(step, name)).to(device, non_blocking=True) for name in Step.__slots__}
    sequences = Sequences.of(given["starts"], step.longest, len(step.ids))
    heads = reader(given["ids"], given["segments"], sequences)
    count, pieces = len(step.start), len(step.allowed)
    owner, first = sequences.owner[:pieces], sequences.starts[:count]
    span = heads["span"][:pieces].masked_fill(~given["allowed"][:, None], -1e4)
    labels = zip(JUDGED.items(), given["judged"].T, strict=True)
    loss = sum(weight * judging(heads[name][:count], own).sum() for (name, weight), own in labels)
    for column, name in enumerate(("start", "end")):
        right = span[first + given[name].clamp(min=0), column]
        unlikely = (_totals(span[:, column], owner, count) - right) * (given[name] != UNTAUGHT)
        loss = loss + 0.5 * unlikely.sum()
    settles = heads["settles"][count:].squeeze(-1)
    return loss / count + _SETTLES_WEIGHT * _choosing(settles, given["question"], given["settling"])


def judging(logits: Tensor, labels: Tensor) -> Tensor:
    """The loss of each judgement of a whole: a label is one of the columns, or of a single column 1 or 0."""
    if logits.shape[1] > 1:
        return functional.cross_entropy(logits, labels, ignore_index=UNTAUGHT, reduction="none")
    taught, right = (labels != UNTAUGHT).float(), labels.clamp(min=0).float()
    return functional.binary_cross_entropy_with_logits(logits.squeeze(-1), right, taught, reduction="none")


def _totals(logits: Tensor, owner: Tensor, count: int) -> Tensor:
    """The logarithm of the sum of the exponentials of each owner's logits."""
    top = logits.new_full((count,), -1e9).scatter_reduce(0, owner, logits.detach(), "amax")
    return logits.new_zeros(count).index_add(0, owner, (logits - top[owner]).exp()).log() + top


def _choosing(scores: Tensor, question: Tensor, settling: Tensor) -> Tensor:
    """The mean cross entropy of a softmax over the statements of each question and a score of 0 for "none of them"."""
    if not len(settling):
        return scores.sum()
    scores = scores.clamp(-_LARGEST_SCORE, _LARGEST_SCORE)
    total = torch.ones_like(settling, dtype=scores.dtype).index_add(0, question, scores.exp()).log()
    right = torch.where(settling == UNTAUGHT, torch.zeros_like(total), scores[settling.clamp(min=0)])
    return (total - right).mean()
