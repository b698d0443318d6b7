"""Trains one of the reader's heads by itself, over its layers as they ship, and writes it into the reader's weights.

    python -m training.head NAME [--epochs N] [--rate R] [--seed S]

NAME is one of `hoptrail.models.reader.WHOLE_HEADS`. It learns from `heads/NAME.jsonl`, whose rows have `question` (which may
be empty), `text` and `label`: the number of a column, or of a single column 1 or 0. The layers learn nothing, so that the other
heads judge as before; they are run once for each row.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hoptrail.models.local import WEIGHTS as ENCODER_WEIGHTS
from hoptrail.models.local import packaged_folder
from hoptrail.models.networks import read_reader_weights, whole_tokenizer
from hoptrail.models.onnx_runtime import read_weights
from hoptrail.models.reader import WHOLE_HEADS
from training.batches import encode, step_of
from training.descent import descend
from training.examples import Example, is_kept_for_validation
from training.manifest import PACKAGE, WEIGHTS, enter, in_eight_bits, own_source
from training.model import Reader, Sequences, judging
from training.sizes import COLUMNS, MINILM
from training.sources import HEADS, head_rows

_LONGEST, _TOGETHER = 112, 32  # word pieces of a text, rows of a step


def states_of(rows: Sequence[Mapping[str, Any]], reader: Reader) -> Tensor:
    """What the reader's last layer says of each row as a whole, shape (rows, width)."""
    examples = [Example("heads", row["question"], row["text"]) for row in rows]
    states = []
    with torch.no_grad():
        for pieces in encode(examples, whole_tokenizer(), _LONGEST, random.Random(0)):
            step = step_of([pieces], ())
            ids, segments, starts = map(torch.from_numpy, (step.ids, step.segments, step.starts))
            states.append(reader.hidden(ids, segments, Sequences.of(starts, step.longest, len(ids)))[0])
    return torch.stack(states)


def texts_of(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """What is learned from."""
    return (text for row in rows for text in (row["question"], row["text"]) if text)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("name", choices=WHOLE_HEADS)
    arguments.add_argument("--epochs", type=float, default=100)
    arguments.add_argument("--rate", type=float, default=1e-2)
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()
    source, columns = HEADS / f"{options.name}.jsonl", COLUMNS.get(options.name, 1)
    rows = head_rows(source, columns)
    shipped = read_reader_weights(PACKAGE)
    reader = Reader(MINILM, {**read_weights(packaged_folder() / ENCODER_WEIGHTS), **shipped}).eval()
    states, labels = states_of(rows, reader), torch.tensor([row["label"] for row in rows])
    kept = [at for at, row in enumerate(rows) if is_kept_for_validation(row["text"])]
    learned = [at for at in range(len(rows)) if at not in set(kept)]
    torch.manual_seed(options.seed)
    head = nn.Linear(MINILM.width, columns)

    def steps(rng: random.Random) -> Iterator[list[int]]:
        order = rng.sample(learned, len(learned))
        yield from (order[at : at + _TOGETHER] for at in range(0, len(order), _TOGETHER))

    def loss_of(step: list[int]) -> Tensor:
        return judging(head(states[step]), labels[step]).mean()

    descend([(list(head.parameters()), 1.0)], steps, loss_of, options.epochs, options.rate, options.seed)
    for what, own in (("learned", learned), ("kept apart", kept)):
        with torch.no_grad():
            logits = head(states[own])
        said = logits.argmax(1) if logits.shape[1] > 1 else (logits[:, 0] > 0).long()
        print(f"{what}: {int((said == labels[own]).sum())} of {len(own)} right")
    with np.load(PACKAGE / WEIGHTS, allow_pickle=False) as file:
        stored = dict(file)
    stored |= in_eight_bits({f"{options.name}.{part}": one.detach().numpy() for part, one in head.named_parameters()})
    np.savez(PACKAGE / WEIGHTS, allow_pickle=False, **stored)
    enter("weights", WEIGHTS, texts_of(rows), own_source(source))


if __name__ == "__main__":
    main()
