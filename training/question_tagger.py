"""Trains the question tagger, and writes its weights in eight bits beside the reader's.

    python -m training.question_tagger [--epochs N] [--rate R] [--seed S] [--begun FILE] [--alone LAYER] [--data DIR] [--out FILE]

It begins with the reader's layers. Inputs are those of `hoptrail.models.question_tagger`. Sequences stand end to end, as in
`training/model.py`. The loss of an example is the sum of what is taught: cross entropies of the judgements of the whole, of the
tags of word pieces (divided by the root of their number), and of the first and last piece of each place.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

from hoptrail.models.local import WEIGHTS, packaged_folder
from hoptrail.models.networks import read_reader_weights, reader_folder, whole_tokenizer
from hoptrail.models.onnx_runtime import read_weights
from hoptrail.models.question_tagger import (
    LAYERS,
    LONGEST,
    LONGEST_QUESTION,
    LONGEST_TEXT,
    QUESTIONS,
    Extent,
)
from training.descent import descend
from training.listed import listed
from training.manifest import PACKAGE, enter, in_eight_bits
from training.model import WORDS, Layer, Sequences, Trunk
from training.question_rows import QuestionExample, asking, compared, examples, planned, timed
from training.sizes import MINILM
from training.sources import DATA

NARROW_LAYERS = tuple(name for name in LAYERS if name)
_CLS, _SEP = 101, 102
_BUDGET, _SORTED = 1024, 512  # word pieces of a step, and examples that are sorted by length together
_DROPPED = 0.1
NARROW = 192  # the width of the narrow layers
UNTAUGHT = -100
TAGS = ("asked", "items", "sides", "when")
"""The heads that tag every piece of a text."""
Logits = dict[str, Tensor]
"""Of each head: shape (pieces, columns) of one for word pieces, else (sequences, columns)."""


@dataclass(frozen=True, slots=True)
class Taught:
    """An example's word pieces and segments, and its labels: of the whole, of each piece, and the first and last of `inner`."""

    ids: list[int]
    segments: list[int]
    weight: float
    whole: dict[str, int]
    tags: dict[str, list[int]] = field(default_factory=dict)
    inner: Extent | None = None


class Tagger(Trunk):
    """The trunk of the reader under the tagger's heads."""

    def __init__(self, weights: Mapping[str, NDArray[np.float32]]) -> None:
        super().__init__(MINILM, weights, _DROPPED)
        self.drop = nn.Identity()  # of what comes from the embeddings nothing is dropped
        last, *narrow = ({**pieces, **whole} for pieces, whole in LAYERS.values())
        for name, columns in last.items():
            self.add_module(name, nn.Linear(MINILM.width, columns))
        for name, heads in zip(NARROW_LAYERS, narrow, strict=True):
            self.add_module(name, _narrow(heads))
        trunk = {name: torch.from_numpy(np.array(one)) for name, one in weights.items()}
        self.load_state_dict(trunk, strict=False)

    def forward(self, ids: Tensor, segments: Tensor, sequences: Sequences) -> Logits:
        upper = self.upper(ids, segments, sequences)
        hidden, (pieces, whole) = upper[:, -MINILM.width :], LAYERS[""]
        found = {name: self.get_submodule(name)(hidden) for name in pieces}
        found |= {name: self.get_submodule(name)(hidden[sequences.starts[:-1]]) for name in whole}
        for name in NARROW_LAYERS:
            found |= self.narrow(name, upper.detach(), sequences)  # so that the trunk is taught nothing
        return found

    def upper(self, ids: Tensor, segments: Tensor, sequences: Sequences) -> Tensor:
        """The states of the last three layers beside each other, shape (pieces, 3 x width)."""
        return torch.cat(self.layers(ids, segments, sequences)[-3:], -1)

    def narrow(self, name: str, upper: Tensor, sequences: Sequences) -> Logits:
        """The logits of the heads over a narrow layer."""
        own, (pieces, whole) = self.get_submodule(name), LAYERS[name]
        hidden = own["layer"](own["narrow"](upper), sequences)
        first = hidden[sequences.starts[:-1]]
        return {head: own[head](hidden) for head in pieces} | {head: own[head](first) for head in whole}


def _narrow(heads: Mapping[str, int]) -> nn.ModuleDict:
    """A narrow layer over the last three, with its own heads and their columns."""
    parts = {"narrow": nn.Linear(3 * MINILM.width, NARROW), "layer": Layer(replace(MINILM, width=NARROW), _DROPPED)}
    return nn.ModuleDict({**parts, **{name: nn.Linear(NARROW, columns) for name, columns in heads.items()}})


def taught(example: QuestionExample, tokenizer: Tokenizer) -> Taught:
    """An example as word pieces with labels."""
    texts = (example.message, example.text) if example.text else (example.message,)
    longest = (LONGEST_QUESTION, LONGEST_TEXT) if example.text else (LONGEST,)
    ids, starts, offsets = [_CLS], [], []
    for text, most in zip(texts, longest, strict=False):
        encoded = tokenizer.encode(text, add_special_tokens=False)
        starts.append(len(ids))
        offsets.append(encoded.offsets[:most])
        ids += [*encoded.ids[:most], _SEP]
    own = len(offsets[0]) + 2
    segments = [0] * own + [1] * (len(ids) - own)
    judged = {name: getattr(example, name) for name in ("form", "reply", "rule", "relation")}
    whole = {"kind": example.kind} if example.kind is not None else {}
    whole |= {name: label.value for name, label in judged.items() if label is not None}
    tagged = zip(TAGS, (0, -1, 0, 0), (example.asked, example.items, example.sides, example.when), strict=True)
    tags = {name: _tags(offsets[at], places, starts[at], len(ids)) for name, at, places in tagged if places is not None}
    inner: Extent | None = None
    if example.form is not None:
        inner = _pieces(offsets[0], example.inner, 1) if example.inner else (0, 0)
    return Taught(ids, segments, example.weight, whole, tags, inner)


def _tags(offsets: Sequence[Extent], places: Sequence[Extent], first: int, length: int) -> list[int]:
    """The tag of each piece of the input: 1 begins a place, 2 belongs to it, 0 stands around; none outside the text."""
    tags = [UNTAUGHT] * length
    tags[first : first + len(offsets)] = [0] * len(offsets)
    for begins, ends in filter(None, (_pieces(offsets, place, first) for place in places)):
        tags[begins : ends + 1] = [1, *[2] * (ends - begins)]
    return tags


def _pieces(offsets: Sequence[Extent], place: Extent, first: int) -> Extent | None:
    """First and last piece of a place, `first` being the first of `offsets`; of an empty place the last is before the first."""
    start, end = place
    if start == end:
        at = next((at for at, (begins, _) in enumerate(offsets) if begins >= start), len(offsets))
        return first + at, first + at - 1
    own = [at for at, (begins, ends) in enumerate(offsets) if ends > start and begins < end]
    return (first + own[0], first + own[-1]) if own else None


def steps(items: Sequence[Taught], rng: random.Random) -> Iterator[list[Taught]]:
    """One pass over the examples in groups of like length."""
    order = list(items)
    rng.shuffle(order)
    for start in range(0, len(order), _SORTED):
        groups: list[list[Taught]] = [[]]
        for item in sorted(order[start : start + _SORTED], key=lambda one: len(one.ids)):
            if groups[-1] and (len(groups[-1]) + 1) * len(item.ids) > _BUDGET:
                groups.append([])
            groups[-1].append(item)
        rng.shuffle(groups)
        yield from groups


def inputs_of(step: Sequence[Taught]) -> tuple[Tensor, Tensor, Sequences]:
    """Word pieces and segments end to end, and where each example begins."""
    starts = torch.tensor(np.cumsum([0, *(len(item.ids) for item in step)]))
    ids, segments = (
        torch.tensor([one for item in step for one in getattr(item, name)]) for name in ("ids", "segments")
    )
    return ids, segments, Sequences.of(starts, max(len(item.ids) for item in step), int(starts[-1]))


def loss_of(logits: Logits, sequences: Sequences, step: Sequence[Taught]) -> Tensor:
    """The weighted mean loss of the examples, for the heads that have logits."""
    weights = torch.tensor([item.weight for item in step])
    total = torch.zeros(())
    for name, judged in logits.items():
        if name in TAGS:
            own = [item.tags.get(name, [UNTAUGHT] * len(item.ids)) for item in step]
            known = torch.tensor([max(1, sum(tag != UNTAUGHT for tag in tags)) ** 0.5 for tags in own])
            labels = torch.tensor([tag for tags in own for tag in tags])
            total = total + (_unlikely(judged, labels) * (weights / known)[sequences.owner]).sum()
        elif name == "inner":
            for at, item in enumerate(step):
                if item.inner is not None:
                    own_logits = judged[sequences.starts[at] : sequences.starts[at + 1]]
                    total = total + item.weight * functional.cross_entropy(own_logits.T, torch.tensor(item.inner))
        else:
            labels = torch.tensor([item.whole.get(name, UNTAUGHT) for item in step])
            total = total + (_unlikely(judged, labels) * weights).sum()
    return total / weights.sum()


def _unlikely(logits: Tensor, labels: Tensor) -> Tensor:
    return functional.cross_entropy(logits, labels, ignore_index=UNTAUGHT, reduction="none")


def train(
    items: Sequence[Taught], epochs: float, rate: float, seed: int, begun: Path | None = None, alone: str = ""
) -> Tagger:
    """A tagger after so many passes over the examples; it begins with the weights in the file `begun`, else with the reader's.
    With `alone`, only the narrow layer of that name learns, with its heads.
    """
    torch.manual_seed(seed)
    tagger = Tagger({**read_weights(packaged_folder() / WEIGHTS), **read_reader_weights(reader_folder())})
    if begun:
        known = read_reader_weights(begun.parent, begun.name)
        tagger.load_state_dict({name: torch.from_numpy(one) for name, one in known.items()}, strict=False)
    if alone:
        tagger.requires_grad_(requires_grad=False).eval()
        tagger.get_submodule(alone).requires_grad_().train()
    states = _upper(tagger, items) if alone else {}

    def loss(step: Sequence[Taught]) -> Tensor:
        ids, segments, sequences = inputs_of(step)
        if not alone:
            return loss_of(tagger(ids, segments, sequences), sequences, step)
        upper = torch.cat([states[id(item)] for item in step]).float()
        return loss_of(tagger.narrow(alone, upper, sequences), sequences, step)

    learned = [one for one in tagger.parameters() if one.requires_grad]
    descend([(learned, 1.0)], lambda rng: steps(items, rng), loss, epochs, rate, seed)
    return tagger


def _upper(tagger: Tagger, items: Sequence[Taught]) -> dict[int, Tensor]:
    """The states that a narrow layer stands on, in sixteen bits, by the identity of each example: they stay as they are while it
    learns alone.
    """
    found: dict[int, Tensor] = {}
    with torch.no_grad():
        for step in steps(items, random.Random(0)):
            upper = tagger.upper(*inputs_of(step)).half().split([len(item.ids) for item in step])
            found |= {id(item): own.clone() for item, own in zip(step, upper, strict=True)}
    return found


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--epochs", type=float, default=4)
    arguments.add_argument("--rate", type=float, default=1.2e-4)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--begun", type=Path, metavar="FILE", help="weights to go on from, such as those that ship")
    arguments.add_argument(
        "--alone",
        choices=NARROW_LAYERS,
        help="learn with this layer alone: the rest stays as it is in FILE",
    )
    arguments.add_argument("--data", type=Path, default=DATA)
    arguments.add_argument("--out", type=Path, default=PACKAGE / QUESTIONS)
    options = arguments.parse_args()
    tokenizer = whole_tokenizer()
    match options.alone:
        case "messages":
            learned = asking(options.data)
        case "plans":
            learned = planned(options.data)
        case "times":
            learned = timed()
        case "comparisons":
            learned = compared(options.data)
        case _:
            learned = [*examples(options.data), *listed(options.seed)]
    items = [taught(example, tokenizer) for example in learned]
    tagger = train(items, options.epochs, options.rate, options.seed, options.begun, options.alone)
    tensors = {name: one.numpy() for name, one in tagger.state_dict().items() if name != WORDS}
    np.savez(options.out, allow_pickle=False, **in_eight_bits(tensors))
    if options.out == PACKAGE / QUESTIONS:
        texts = (text for one in learned for text in (one.message, one.text) if text)
        enter("tagger", QUESTIONS, texts, tagger_examples=len(learned))


if __name__ == "__main__":
    main()
