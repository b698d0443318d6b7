"""The training loop of the question tagger and of the writer of follow-ups."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import torch
from torch import Tensor, nn

_WARM_UP, _LEAST_RATE, _DECAY, _LARGEST_GRADIENT = 100, 0.02, 0.01, 1.0

Step = TypeVar("Step")


def descend(
    parts: Sequence[tuple[list[nn.Parameter], float]],
    passes: Callable[[random.Random], Iterator[Step]],
    loss_of: Callable[[Step], Tensor],
    epochs: float,
    rate: float,
    seed: int,
) -> None:
    """Learn for so many passes over the steps (AdamW), at a rate that rises, then falls. `parts` are the learned weights, each
    with what its rate is as a multiple of `rate`.
    """
    rng = random.Random(seed)
    optimiser = torch.optim.AdamW([{"params": own, "times": times} for own, times in parts], weight_decay=_DECAY)
    learned = [one for own, _ in parts for one in own]
    count = int(sum(1 for _ in passes(random.Random(0))) * epochs)
    done, started = 0, time.time()
    while done < count:
        for step in passes(rng):
            if done == count:
                break
            share = min(1, (done + 1) / _WARM_UP) * max(_LEAST_RATE, 1 - done / count)
            for group in optimiser.param_groups:
                group["lr"] = rate * group["times"] * share
            loss = loss_of(step)
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(learned, _LARGEST_GRADIENT)
            optimiser.step()
            done += 1
            if done % 100 == 0:
                print(f"{done} of {count} steps, loss {loss.item():.3f}, {time.time() - started:.0f} s", flush=True)
