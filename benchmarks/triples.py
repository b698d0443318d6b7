"""Composing triples and searching them: seconds and memory of each composition beside a plain NumPy product.

    python -m benchmarks.triples [--triples N] [--dimension D] [--out FILE.json]

Slots are random vectors of length 1, as many as a real corpus has for so many triples (nine distinct slots for ten triples), so
nothing is read and no encoder is needed; each composition runs in a process of its own. Composing and searching are those of
`retrieval/composition.py` and `retrieval/triple_index.py`: in blocks, then one product with all composed vectors. The ratio is
the time of a search (with the choice of the ten best) to that of the bare product of one question with a matrix of one vector
of D numbers a triple. Says nothing about what is found.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, dataclass

import numpy as np
from benchmarks.common import parser, print_table, run_measured, write_results

from hoptrail.models.encoder import FloatMatrix
from hoptrail.retrieval.composition import BLOCK, SLOTS, CompositionSettings, compose, length_of, unit_length
from hoptrail.retrieval.dense import top_rows

METHODS = ("roles", "product", "permuted-product", "shift-sum", "concatenation", "mean")
SEARCHES = 50
DISTINCT = 0.9


@dataclass(frozen=True, slots=True)
class Row:
    """`milliseconds` of one search and of one bare product (medians); `peak_megabytes` of the process, slots included."""

    method: str
    triples: int
    compose_seconds: float
    vector_megabytes: float
    peak_megabytes: float
    milliseconds: float
    product_milliseconds: float


def composed(slots: FloatMatrix, places: np.ndarray[tuple[int, int], np.dtype[np.intp]], method: str) -> FloatMatrix:
    settings = CompositionSettings(method)  # type: ignore[arg-type]
    known = np.ones((BLOCK, SLOTS), dtype=bool)
    made = np.empty((len(places), length_of(slots.shape[1], settings)), dtype=np.float32)
    for start in range(0, len(places), BLOCK):
        block = slots[places[start : start + BLOCK]]
        made[start : start + BLOCK] = compose(block, known[: len(block)], settings)
    return made


def median_milliseconds(times: list[float]) -> float:
    return 1000 * sorted(times)[len(times) // 2]


def measure(method: str, triples: int, dimension: int) -> dict[str, float]:
    """What one process finds out."""
    chance = np.random.default_rng(0)
    slots = unit_length(chance.standard_normal((int(DISTINCT * triples), dimension), dtype=np.float32))
    places = chance.integers(0, len(slots), (triples, SLOTS))
    started = time.perf_counter()
    matrix = composed(slots, places, method)
    seconds = time.perf_counter() - started
    plain = slots if len(slots) >= triples else np.concatenate((slots, slots[: triples - len(slots)]))
    searches, products = [], []
    for row in range(SEARCHES):
        started = time.perf_counter()
        assert top_rows(matrix @ matrix[row], 10)[0] == row
        searches.append(time.perf_counter() - started)
        started = time.perf_counter()
        plain @ plain[row]
        products.append(time.perf_counter() - started)
    return {
        "compose_seconds": seconds,
        "vector_megabytes": matrix.nbytes / 2**20,
        "milliseconds": median_milliseconds(searches),
        "product_milliseconds": median_milliseconds(products),
    }


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--triples", type=int, default=100_000, metavar="N")
    arguments.add_argument("--dimension", type=int, default=384, metavar="D")
    arguments.add_argument("--method", choices=METHODS, help="this one only, in this process, as JSON")
    given = arguments.parse_args()
    if given.method:
        print(json.dumps(measure(given.method, given.triples, given.dimension)))
        return
    rows = []
    for method in METHODS:
        sizes = ["--triples", str(given.triples), "--dimension", str(given.dimension)]
        done = run_measured([sys.executable, "-m", "benchmarks.triples", "--method", method, *sizes])
        rows.append(Row(method, given.triples, peak_megabytes=done.peak_megabytes, **json.loads(done.output)))
    print_table(
        ("composition", "triples", "composing s", "vectors MiB", "peak MiB", "search ms", "product ms", "ratio"),
        [(*asdict(row).values(), row.milliseconds / row.product_milliseconds) for row in rows],
    )
    write_results(given.out, rows)


if __name__ == "__main__":
    main()
