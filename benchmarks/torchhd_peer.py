"""torchhd's holographic vectors, as the peer of `benchmarks.triples`; runs in an interpreter that has torch-hd.

    python -m benchmarks.torchhd_peer algebra FOLDER            FOLDER/given.npz to FOLDER/made.npz
    python -m benchmarks.torchhd_peer time METHOD TRIPLES DIMENSION      figures as JSON

Independent of hoptrail. Triples are bound pair by pair (`HRRTensor.bind`); `algebra` also writes, separately, the result of
`multibind` on three at once. One thread, as on our side.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

BLOCK = 4096
SEARCHES = 50
DISTINCT = 0.9

Vectors = Any
"""HRRTensor: rows are vectors."""


def product(slots: Vectors, _: Vectors) -> Vectors:
    """Subject, relation and object (axis 1) bound with one another."""
    return slots[:, 0].bind(slots[:, 1]).bind(slots[:, 2])


def roles(slots: Vectors, keys: Vectors) -> Vectors:
    """Each bound to the key of its role, then bundled."""
    subjects, relations, objects = (slots[:, place].bind(keys[place]) for place in range(3))
    return subjects.bundle(relations).bundle(objects)


METHODS: dict[str, Callable[[Vectors, Vectors], Vectors]] = {"roles": roles, "product": product}


def algebra(folder: Path) -> None:
    """`slots` has shape (n, 3, dimension), `keys` (3, dimension)."""
    import torch
    from torchhd import HRRTensor

    with np.load(folder / "given.npz") as given:
        slots, keys = (torch.from_numpy(given[name]).as_subclass(HRRTensor) for name in ("slots", "keys"))
    bound = slots[:, 0].bind(keys[0])
    results = {
        "bind": bound,
        "unbind": bound.bind(keys[0].inverse()),
        "roles": roles(slots, keys),
        "partial": slots[:, 0].bind(keys[0]).bundle(slots[:, 1].bind(keys[1])),
        "product": product(slots, keys),
        "filler": roles(slots, keys).bind(keys[2].inverse()),
        "multibind": slots.multibind(),
    }
    np.savez(folder / "made.npz", **{name: vectors.numpy() for name, vectors in results.items()})


def timed(method: str, triples: int, dimension: int) -> dict[str, float]:
    """Seconds of composing this many triples, milliseconds of finding the ten nearest to one of them."""
    import torch
    from torchhd import HRRTensor

    torch.set_num_threads(1)
    chance = torch.Generator().manual_seed(0)
    slots = torch.randn(int(DISTINCT * triples), dimension, generator=chance)
    slots = (slots / slots.norm(dim=1, keepdim=True)).as_subclass(HRRTensor)
    places = torch.randint(0, len(slots), (triples, 3), generator=chance)
    keys = HRRTensor.random(3, dimension, generator=chance)
    matrix = torch.empty(triples, dimension)
    started, busy = time.perf_counter(), time.process_time()
    for start in range(0, triples, BLOCK):
        composed = METHODS[method](slots[places[start : start + BLOCK]], keys)
        matrix[start : start + BLOCK] = composed / composed.norm(dim=1, keepdim=True)
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - busy
    searches = []
    for row in range(SEARCHES):
        started = time.perf_counter()
        found = torch.topk(matrix @ matrix[row], 10).indices
        searches.append(time.perf_counter() - started)
        assert int(found[0]) == row
    return {
        "compose_seconds": seconds,
        "compose_cpu_seconds": cpu_seconds,
        "milliseconds": 1000 * sorted(searches)[SEARCHES // 2],
    }


def main() -> None:
    if sys.argv[1] == "algebra":
        algebra(Path(sys.argv[2]))
    else:
        print(json.dumps(timed(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))))


if __name__ == "__main__":
    main()
