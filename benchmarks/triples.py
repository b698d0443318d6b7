"""Measures composing triples and searching them: seconds and memory of each composition, a plain NumPy product, and torchhd.

    python -m benchmarks.triples [--triples N] [--dimension D] [--peer-python PYTHON] [--out FILE.json]

Slots are random vectors of length 1, in a realistic number (nine distinct slots for ten triples), so nothing is read and no
encoder is needed; each composition runs in a separate process. Composing and searching are those of `composition.py` and
`space.py` in `retrieval/triples`: in blocks, then one product with all composed vectors. The ratio is the time of a search
(including the choice of the ten best) to that of the bare product of one question with a matrix of one vector of D numbers per
triple. It says nothing about the quality of the results.

With `--peer-python`, an interpreter that has torch-hd (pip install torch-hd, and torch, which is why it is no dependency), it
measures torchhd's compositions too; before that, the differences between the vectors of both, and the values that
the algebra predicts, from either.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from benchmarks.common import parser, print_table, run_measured, write_results

from hoptrail.corpus.searching import top_rows
from hoptrail.models.encoder import FloatMatrix
from hoptrail.retrieval.triples.composition import (
    BLOCK,
    SLOTS,
    CompositionSettings,
    Method,
    bind,
    compose,
    length_of,
    role_vectors,
    unbind,
    unit_length,
)

METHODS: tuple[Method, ...] = ("roles", "product", "permuted-product", "shift-sum", "concatenation", "mean")
PEER_METHODS = ("roles", "product")
PEER = "benchmarks.torchhd_peer"
SEARCHES = 50
DISTINCT = 0.9
COMPARED = 1000
"""Number of triples whose vectors are compared one by one."""


@dataclass(frozen=True, slots=True)
class Row:
    """`milliseconds` of one search and of one bare product (medians); `peak_megabytes` of the process, slots included."""

    method: str
    triples: int
    compose_seconds: float
    compose_cpu_seconds: float
    vector_megabytes: float
    peak_megabytes: float
    milliseconds: float
    product_milliseconds: float
    peer: PeerRow | None = None


@dataclass(frozen=True, slots=True)
class PeerRow:
    """The same by the peer; its process holds torch."""

    compose_seconds: float
    compose_cpu_seconds: float
    peak_megabytes: float
    milliseconds: float


@dataclass(frozen=True, slots=True)
class Agreement:
    """The `largest` difference between a number of our vectors and the peer's."""

    operation: str
    largest: float


@dataclass(frozen=True, slots=True)
class Identity:
    """A mean cosine that the algebra predicts."""

    what: str
    promised: float
    ours: float
    peer: float


def composed(slots: FloatMatrix, places: np.ndarray[tuple[int, int], np.dtype[np.intp]], method: Method) -> FloatMatrix:
    """The composed vectors of all triples, in blocks."""
    settings = CompositionSettings(method)
    known = np.ones((BLOCK, SLOTS), dtype=bool)
    composed = np.empty((len(places), length_of(slots.shape[1], settings)), dtype=np.float32)
    for start in range(0, len(places), BLOCK):
        block = slots[places[start : start + BLOCK]]
        composed[start : start + BLOCK] = compose(block, known[: len(block)], settings)
    return composed


def median_milliseconds(times: list[float]) -> float:
    """The median of times in seconds, as milliseconds."""
    return 1000 * sorted(times)[len(times) // 2]


def measure(method: Method, triples: int, dimension: int) -> dict[str, float]:
    """The measurements of one process."""
    chance = np.random.default_rng(0)
    slots = unit_length(chance.standard_normal((int(DISTINCT * triples), dimension), dtype=np.float32))
    places = chance.integers(0, len(slots), (triples, SLOTS))
    started, busy = time.perf_counter(), time.process_time()
    matrix = composed(slots, places, method)
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - busy
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
        "compose_cpu_seconds": cpu_seconds,
        "vector_megabytes": matrix.nbytes / 2**20,
        "milliseconds": median_milliseconds(searches),
        "product_milliseconds": median_milliseconds(products),
    }


def measured_row(method: Method, given: Namespace) -> Row:
    """Measure one composition in a separate process."""
    sizes = ["--triples", str(given.triples), "--dimension", str(given.dimension)]
    done = run_measured([sys.executable, "-m", "benchmarks.triples", "--method", method, *sizes])
    own = json.loads(done.output)
    return Row(method, given.triples, peak_megabytes=done.peak_megabytes, **own, peer=peer_row(method, given))


def peer_row(method: str, given: Namespace) -> PeerRow | None:
    """The same by the peer; None if there is none for this composition."""
    if given.peer_python is None or method not in PEER_METHODS:
        return None
    done = run_measured([given.peer_python, "-m", PEER, "time", method, str(given.triples), str(given.dimension)])
    return PeerRow(peak_megabytes=done.peak_megabytes, **json.loads(done.output))


def compare_algebra(python: str, dimension: int) -> tuple[list[Agreement], list[Identity]]:
    """Pass the same vectors through both libraries."""
    chance = np.random.default_rng(1)
    slots = unit_length(chance.standard_normal((COMPARED, SLOTS, dimension)).astype(np.float32))
    keys = role_vectors(dimension, 0)
    noise = unit_length(chance.standard_normal(slots.shape).astype(np.float32))
    noise = unit_length(noise - (noise * slots).sum(axis=2, keepdims=True) * slots)
    inputs = {"": slots, "swapped": slots[:, ::-1], "alike": 0.8 * slots + 0.6 * noise}
    ours = {name: by_us(of) for name, of in inputs.items()}
    peer = {name: by_peer(python, of, keys) for name, of in inputs.items()}
    agreements = [Agreement(name, float(np.abs(peer[""][name] - of).max())) for name, of in ours[""].items()]
    identities = [
        Identity(what, promised, *(cosine(first(made), second(made)) for made in (ours, peer)))
        for what, promised, first, second in promises(slots)
    ]
    multibind = cosine(peer[""]["multibind"], peer[""]["product"])
    return agreements, [*identities, Identity("three at once (multibind) and pair by pair", 1.0, 1.0, multibind)]


Made = Mapping[str, Mapping[str, FloatMatrix]]
Chosen = Callable[[Made], FloatMatrix]


def promises(slots: FloatMatrix) -> list[tuple[str, float, Chosen, Chosen]]:
    """What is compared, the expected cosine, and the two sides."""

    def of(given: str, name: str) -> Chosen:
        return lambda made: made[given][name]

    return [
        ("product, subject and object exchanged", 1.0, of("", "product"), of("swapped", "product")),
        ("roles, subject and object exchanged", 1 / 3, of("", "roles"), of("swapped", "roles")),
        ("roles, object left out", np.sqrt(2 / 3), of("", "roles"), of("", "partial")),
        ("product, slots alike by 0.8", 0.8**3, of("", "product"), of("alike", "product")),
        ("roles, slots alike by 0.8", 0.8, of("", "roles"), of("alike", "roles")),
        ("roles, object unbound", np.sqrt(1 / 3), of("", "filler"), lambda _: slots[:, 2]),
        ("bound to a key and unbound", 1.0, of("", "unbind"), lambda _: slots[:, 0]),
    ]


def by_us(slots: FloatMatrix) -> dict[str, FloatMatrix]:
    """Compositions under the peer's names; not scaled to length 1, which the peer does not do either."""
    keys = role_vectors(slots.shape[2], 0)
    bound = bind(slots, keys)
    return {
        "bind": bound[:, 0],
        "unbind": unbind(bound[:, 0], keys[0]),
        "roles": bound.sum(axis=1),
        "partial": bound[:, :2].sum(axis=1),
        "product": bind(bind(slots[:, 0], slots[:, 1]), slots[:, 2]),
        "filler": unbind(bound.sum(axis=1), keys[2]),
    }


def by_peer(python: str, slots: FloatMatrix, keys: FloatMatrix) -> dict[str, FloatMatrix]:
    """The peer's compositions of the same vectors."""
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder, "given.npz"), slots=np.ascontiguousarray(slots, dtype=np.float32), keys=keys)
        run_measured([python, "-m", PEER, "algebra", folder])
        with np.load(Path(folder, "made.npz")) as made:
            return dict(made)


def cosine(one: FloatMatrix, other: FloatMatrix) -> float:
    """The mean over rows."""
    return float((unit_length(one) * unit_length(other)).sum(axis=1).mean())


def show(rows: list[Row]) -> None:
    """Print the table."""
    header = ("composition", "composing s", "CPU s", "vectors MiB", "peak MiB", "search ms", "product ms", "ratio")
    print_table(
        (*header, "torchhd: s", "CPU s", "peak MiB", "search ms"),
        [
            (
                row.method,
                row.compose_seconds,
                row.compose_cpu_seconds,
                row.vector_megabytes,
                row.peak_megabytes,
                row.milliseconds,
                row.product_milliseconds,
                row.milliseconds / row.product_milliseconds,
                *(
                    ("", "", "", "")
                    if row.peer is None
                    else (
                        row.peer.compose_seconds,
                        row.peer.compose_cpu_seconds,
                        row.peer.peak_megabytes,
                        row.peer.milliseconds,
                    )
                ),
            )
            for row in rows
        ],
    )


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--triples", type=int, default=100_000, metavar="N")
    arguments.add_argument("--dimension", type=int, default=384, metavar="D")
    arguments.add_argument("--method", choices=METHODS, help="only this one, in this process, as JSON")
    arguments.add_argument("--peer-python", metavar="PYTHON", help="an interpreter that has torch-hd")
    options = arguments.parse_args()
    if options.method:
        print(json.dumps(measure(options.method, options.triples, options.dimension)))
        return
    agreements: list[Agreement] = []
    identities: list[Identity] = []
    if options.peer_python:
        agreements, identities = compare_algebra(options.peer_python, options.dimension)
        print_table(("operation", "largest difference"), [tuple(asdict(one).values()) for one in agreements])
        print_table(("mean cosine", "promised", "ours", "torchhd"), [tuple(asdict(one).values()) for one in identities])
    rows = [measured_row(method, options) for method in METHODS]
    show(rows)
    write_results(options.out, {"agreements": agreements, "identities": identities, "rows": rows})


if __name__ == "__main__":
    main()
