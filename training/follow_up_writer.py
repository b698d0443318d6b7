"""Trains the writer of follow-ups, and writes its weights in eight bits beside the reader's.

    python -m training.follow_up_writer [--epochs N] [--rate R] [--seed S] [--begun FILE] [--out FILE]

Its trunk begins with the question tagger's layers. Inputs are those of `hoptrail.models.follow_up_writer`. At each step the loss
is the negative log probability of the word piece that comes next, wherever it stands; the next step goes on from the place where
it was copied with the fewest jumps.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from hoptrail.models.follow_up_writer import SMALL, WRITER
from hoptrail.models.local import WEIGHTS, packaged_folder
from hoptrail.models.networks import read_reader_weights, reader_folder, whole_tokenizer
from hoptrail.models.onnx_runtime import read_weights
from hoptrail.models.question_tagger import QUESTIONS
from training.descent import descend
from training.follow_up_rows import Taught, rows, taught, unrelated
from training.manifest import PACKAGE, enter, in_eight_bits
from training.model import WORDS, Sequences, Trunk
from training.sizes import MINILM

_SEP = 102
_END = len(SMALL)
KEY, INPUT, STATE = 128, 192, 256  # sizes: of what points and is pointed at, of what a step is given, and of the state
UNTAUGHT = -100
_TOGETHER, _SORTED = 24, 384  # rows of a step, and rows that are sorted by length together
_DROPPED = 0.1
_OWN_RATE = 8.0  # of the writer's own weights, of which training begins with none, as a multiple of the trunk's


class Copying(nn.Module):
    """What points at word pieces, from the vectors of a source, shape (rows, length, width)."""

    def __init__(self) -> None:
        super().__init__()
        width = MINILM.width
        self.small = nn.Parameter(torch.randn(len(SMALL), width) * 0.3)
        self.start = nn.Parameter(torch.zeros(INPUT))
        self.init, self.inputs = nn.Linear(width, STATE), nn.Linear(width, INPUT)
        self.cell = nn.GRUCell(INPUT, STATE)
        self.near_keys, self.near = nn.Linear(width, KEY), nn.Linear(STATE, KEY)
        self.mix = nn.Linear(width + STATE, STATE)
        self.drop = nn.Dropout(2 * _DROPPED)
        self.keys, self.query = nn.Linear(width, KEY), nn.Linear(STATE, KEY)
        self.goes_on = nn.Linear(STATE, 1)
        self.next, self.again = nn.Parameter(torch.full((1,), 2.0)), nn.Parameter(torch.zeros(1))

    def forward(self, hidden: Tensor, allowed: Tensor, places: Tensor) -> Iterator[Tensor]:
        """The logits of all places at each step, where those before went on from `places`, shape (rows, steps)."""
        keys, near_keys, inputs = self.keys(hidden) / KEY**0.5, self.near_keys(hidden) / KEY**0.5, self.inputs(hidden)
        state, given = torch.tanh(self.init(hidden[:, _END])), self.start.expand(len(hidden), -1)
        last, copied = torch.full_like(places[:, 0], -1), torch.zeros(hidden.shape[:2])
        for step in range(places.shape[1]):
            state = self.cell(given, state)
            near = (near_keys @ self.near(state)[:, :, None]).squeeze(-1).masked_fill(~allowed, -1e9).softmax(-1)
            mixed = torch.cat([(near[:, None] @ hidden).squeeze(1), state], -1)
            context = self.drop(torch.tanh(self.mix(mixed)))
            logits = (keys @ self.query(context)[:, :, None]).squeeze(-1) + copied * self.again
            place = (last + 1).clamp(max=hidden.shape[1] - 1)
            following = functional.one_hot(place, hidden.shape[1]) * (last >= 0)[:, None]
            yield (logits + following * (self.next + self.goes_on(context))).masked_fill(~allowed, -1e9)
            last = places[:, step]
            given = inputs[torch.arange(len(hidden)), last]
            copied = copied.scatter(1, last[:, None], 1.0)


class Writer(Trunk):
    """The trunk of the question tagger, and what copies."""

    def __init__(self, weights: Mapping[str, NDArray[np.float32]], small: Sequence[int]) -> None:
        super().__init__(MINILM, weights, _DROPPED)
        self.small = torch.tensor(small)
        self.drop = nn.Identity()  # of what comes from the embeddings nothing is dropped
        self.writer = Copying()
        self.load_state_dict({name: torch.from_numpy(np.array(one)) for name, one in weights.items()}, strict=False)

    def forward(self, items: Sequence[Taught]) -> Tensor:
        """The mean loss of rows."""
        lengths = [len(item.ids) for item in items]
        starts = torch.tensor(np.cumsum([0, *lengths]))
        sequences = Sequences.of(starts, max(lengths), int(starts[-1]))
        ids = torch.tensor([one for item in items for one in item.ids])
        segments = torch.tensor([int(at > item.ids.index(_SEP)) for item in items for at in range(len(item.ids))])
        shape = (len(items), max(lengths))
        at = (sequences.owner, sequences.places)
        hidden = self.hidden(ids, segments, sequences)
        hidden = hidden.new_zeros((*shape, hidden.shape[-1])).index_put(at, hidden)
        pieces = torch.zeros(shape, dtype=torch.long).index_put(at, ids)
        pieces = torch.cat([self.small.expand(len(items), -1), pieces], 1)
        hidden = torch.cat([self.writer.small.expand(len(items), -1, -1), hidden], 1)
        allowed = (pieces != 0) & (pieces != _SEP)
        following, places = (_padded([getattr(item, name) for item in items]) for name in ("following", "places"))
        loss = hidden.sum() * 0
        for step, logits in enumerate(self.writer(hidden, allowed, places.clamp(min=0))):
            right = (pieces == following[:, step : step + 1]) & allowed
            likely = logits.log_softmax(-1).masked_fill(~right, -1e9).logsumexp(-1)
            loss = loss - likely[following[:, step] >= 0].sum()
        return loss / len(items)


def _padded(lists: Sequence[Sequence[int]]) -> Tensor:
    longest = max(map(len, lists))
    return torch.tensor([[*one, *[UNTAUGHT] * (longest - len(one))] for one in lists])


def steps(items: Sequence[Taught], rng: random.Random) -> Iterator[list[Taught]]:
    """One pass over the rows in groups of like length."""
    order = list(items)
    rng.shuffle(order)
    for start in range(0, len(order), _SORTED):
        alike = sorted(order[start : start + _SORTED], key=lambda one: len(one.places))
        groups = [alike[at : at + _TOGETHER] for at in range(0, len(alike), _TOGETHER)]
        rng.shuffle(groups)
        yield from groups


def train(items: Sequence[Taught], small: Sequence[int], epochs: float, rate: float, seed: int, begun: Path) -> Writer:
    """A writer after so many passes over the rows; it begins with the weights in the file `begun`. `small` are the word pieces
    of the small words.
    """
    torch.manual_seed(seed)
    weights = read_reader_weights(begun.parent, begun.name)
    writer = Writer({**read_weights(packaged_folder() / WEIGHTS), **weights}, small)
    own = [one for name, one in writer.named_parameters() if name.startswith("writer.")]
    trunk = [one for name, one in writer.named_parameters() if one.requires_grad and not name.startswith("writer.")]
    descend([(own, _OWN_RATE), (trunk, 1.0)], lambda rng: steps(items, rng), writer, epochs, rate, seed)
    return writer


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--epochs", type=float, default=6)
    arguments.add_argument("--rate", type=float, default=6e-5)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--begun", type=Path, metavar="FILE", default=reader_folder() / QUESTIONS)
    arguments.add_argument("--out", type=Path, default=PACKAGE / WRITER)
    options = arguments.parse_args()
    tokenizer = whole_tokenizer()
    learned = rows()
    small = [piece for word in SMALL if (piece := tokenizer.token_to_id(word)) is not None]
    known = [*learned, *unrelated(learned, random.Random(options.seed))]
    items = [item for row in known if (item := taught(row, small, tokenizer))]
    writer = train(items, small, options.epochs, options.rate, options.seed, options.begun)
    tensors = {name: one.numpy() for name, one in writer.state_dict().items() if name != WORDS}
    np.savez(options.out, allow_pickle=False, **in_eight_bits(tensors))
    if options.out == PACKAGE / WRITER:
        texts = (text for row in learned for text in (row.message, row.asked))
        enter("writer", WRITER, texts, writer_rows=len(learned))


if __name__ == "__main__":
    main()
