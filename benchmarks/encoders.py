"""Measures all-MiniLM-L6-v2 in four runtimes on the same passages in one run: the table behind the choice of onnxruntime.

    python benchmarks/encoders.py [--sentence-transformers PYTHON] [--passages N] [--runtimes A,B]

The runtimes run one after the other in separate processes. NumPy, OpenVINO and onnxruntime execute the same
description (`hoptrail.models.bert`) with the same batching; sentence-transformers (in another interpreter if the option names
one) uses its own. A runtime that is not installed is reported and left out; OpenVINO needs `pip install openvino`.
Graphics processors, reduced precision and other models are not covered.

Columns: passages per second and CPU seconds over all passages, seconds from process start to the first vector,
milliseconds for one question (median of 50), peak memory, MB installed beyond NumPy and tokenizers (dependencies included),
and the largest difference of any number of any vector from sentence-transformers.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from hoptrail.models.bert import BertSizes
    from hoptrail.models.encoder import FloatMatrix
    from hoptrail.models.local import BertRuntime
    from hoptrail.models.weights import Weights

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT.parent / "shared" / "data" / "2wiki" / "corpus.jsonl"
QUESTION = "Who is the mother of the director of the film Polish-Russian War?"
PACKAGES = {
    "onnxruntime": ("onnxruntime", "onnx"),
    "openvino": ("openvino",),
    "numpy": ("scipy",),  # for the error function
    "sentence-transformers": ("sentence-transformers",),
}
Encode = Callable[[list[str]], "FloatMatrix"]


class NumpyOperations:
    """Executes operations immediately."""

    def constant(self, values: NDArray[Any]) -> NDArray[Any]:
        return values

    def rows(self, table: NDArray[Any], indices: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(table[indices])

    def add(self, left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(left + right)

    def multiply(self, left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(left * right)

    def matmul(self, left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
        if right.ndim > 2:
            return np.asarray(left @ right)
        flat = left.reshape(-1, left.shape[-1]) @ right  # one large product instead of one for each text
        return np.asarray(flat.reshape(*left.shape[:-1], right.shape[-1]))

    def reshape(self, tensor: NDArray[Any], shape: Sequence[int]) -> NDArray[Any]:
        new_shape = [tensor.shape[axis] if size == 0 else size for axis, size in enumerate(shape)]
        return tensor.reshape(new_shape)

    def transpose(self, tensor: NDArray[Any], axes: Sequence[int]) -> NDArray[Any]:
        return tensor.transpose(axes)

    def softmax(self, tensor: NDArray[Any]) -> NDArray[Any]:
        powers: NDArray[Any] = tensor - tensor.max(axis=-1, keepdims=True)
        np.exp(powers, out=powers)
        powers /= powers.sum(axis=-1, keepdims=True)
        return powers

    def layer_norm(
        self, tensor: NDArray[Any], scale: NDArray[Any], shift: NDArray[Any], epsilon: float
    ) -> NDArray[Any]:
        centred = tensor - tensor.mean(axis=-1, keepdims=True)
        variance = np.einsum("...i,...i->...", centred, centred)[..., None] / np.float32(tensor.shape[-1])
        centred /= np.sqrt(variance + np.float32(epsilon))
        centred *= scale
        centred += shift
        return np.asarray(centred)

    def gelu(self, tensor: NDArray[Any]) -> NDArray[Any]:
        from scipy.special import erf

        result = tensor * np.float32(2**-0.5)
        erf(result, out=result)
        result += 1
        result *= tensor
        result *= np.float32(0.5)
        return np.asarray(result)

    def total(self, tensor: NDArray[Any], axis: int) -> NDArray[Any]:
        return np.asarray(tensor.sum(axis=axis))

    def unit(self, tensor: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(tensor / np.linalg.norm(tensor, axis=-1, keepdims=True))


class NumpyBert:
    def __init__(self, weights: Weights, sizes: BertSizes, _threads: int) -> None:  # NumPy's BLAS chooses its own
        self._weights, self._sizes = weights, sizes

    def texts(self, pieces: NDArray[np.int64], mask: FloatMatrix) -> FloatMatrix:
        from hoptrail.models.bert import Inputs, bert

        inputs: Inputs[NDArray[Any]] = Inputs(pieces, np.arange(pieces.shape[1]), mask)
        return bert(NumpyOperations(), self._weights, self._sizes, inputs).texts

    def tokens(self, pieces: NDArray[np.int64], mask: FloatMatrix) -> FloatMatrix:
        raise NotImplementedError


class OpenVinoOperations:
    """Records operations as nodes of an OpenVINO model."""

    def __init__(self) -> None:
        self._op = silent_openvino().opset15

    def constant(self, values: NDArray[Any]) -> Any:
        return self._op.constant(np.ascontiguousarray(values))

    def rows(self, table: Any, indices: Any) -> Any:
        return self._op.gather(table, indices, self._numbers(0))

    def add(self, left: Any, right: Any) -> Any:
        return self._op.add(left, right)

    def multiply(self, left: Any, right: Any) -> Any:
        return self._op.multiply(left, right)

    def matmul(self, left: Any, right: Any) -> Any:
        return self._op.matmul(left, right, False, False)  # noqa: FBT003 (positional there)

    def reshape(self, tensor: Any, shape: Sequence[int]) -> Any:
        return self._op.reshape(tensor, self._numbers(list(shape)), special_zero=True)

    def transpose(self, tensor: Any, axes: Sequence[int]) -> Any:
        return self._op.transpose(tensor, self._numbers(list(axes)))

    def softmax(self, tensor: Any) -> Any:
        return self._op.softmax(tensor, -1)

    def layer_norm(self, tensor: Any, scale: Any, shift: Any, epsilon: float) -> Any:
        scaled = self._op.mvn(tensor, self._numbers([-1]), normalize_variance=True, eps=epsilon, eps_mode="inside_sqrt")
        return self._op.add(self._op.multiply(scaled, scale), shift)

    def gelu(self, tensor: Any) -> Any:
        return self._op.gelu(tensor, "erf")

    def total(self, tensor: Any, axis: int) -> Any:
        return self._op.reduce_sum(tensor, self._numbers([axis]), keep_dims=False)

    def unit(self, tensor: Any) -> Any:
        return self._op.normalize_l2(tensor, self._numbers([-1]), 1e-12, "add")

    def _numbers(self, values: int | list[int]) -> Any:
        return self._op.constant(np.array(values, np.int64))


class OpenVinoBert:
    def __init__(self, weights: Weights, sizes: BertSizes, threads: int) -> None:
        from hoptrail.models.bert import Inputs, bert

        openvino = silent_openvino()
        parameter = openvino.opset15.parameter
        inputs = Inputs(parameter([-1, -1], np.int64), parameter([-1], np.int64), parameter([-1, -1], np.float32))
        texts = bert(OpenVinoOperations(), weights, sizes, inputs).texts
        model = openvino.Model([texts], [inputs.pieces, inputs.positions, inputs.mask])
        options = {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads}
        self._compiled = openvino.Core().compile_model(model, "CPU", options)

    def texts(self, pieces: NDArray[np.int64], mask: FloatMatrix) -> FloatMatrix:
        inputs = [pieces, np.arange(pieces.shape[1]), mask]
        vectors: FloatMatrix = self._compiled.create_infer_request().infer(inputs)[0]
        return vectors

    def tokens(self, pieces: NDArray[np.int64], mask: FloatMatrix) -> FloatMatrix:
        raise NotImplementedError


def silent_openvino() -> Any:
    """The module openvino without telemetry: importing it sends a report unless its telemetry package cannot be imported."""
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]  # None: "do not import"
    import openvino

    return openvino


def local(runtime: Callable[[Weights, BertSizes, int], BertRuntime] | None) -> Encode:
    from hoptrail.models.minilm import MiniLmEncoder

    return MiniLmEncoder(runtime=runtime).encode


def sentence_transformers() -> Encode:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(sys.argv[sys.argv.index("--model") + 1], device="cpu")
    return lambda texts: np.asarray(model.encode(texts, normalize_embeddings=True, show_progress_bar=False))


OPENERS: dict[str, Callable[[], Encode]] = {
    "onnxruntime": lambda: local(None),
    "openvino": lambda: local(OpenVinoBert),
    "numpy": lambda: local(NumpyBert),
    "sentence-transformers": sentence_transformers,
}


@dataclass(frozen=True, slots=True)
class Figures:
    """The measurements of one runtime's process. `first` is the time of day of the first vector."""

    passages_per_second: float
    cpu_seconds: float
    first: float
    question_milliseconds: float
    peak_megabytes: float
    installed_megabytes: float


def measure(runtime: str, passages: Sequence[str], vectors: Path) -> Figures:
    encode = OPENERS[runtime]()
    encode([QUESTION])
    first = time.time()
    each = [seconds(lambda: encode([QUESTION])) for _ in range(50)]
    processor = time.process_time()
    started = time.perf_counter()
    np.save(vectors, encode(list(passages)))
    elapsed = time.perf_counter() - started
    return Figures(
        passages_per_second=len(passages) / elapsed,
        cpu_seconds=time.process_time() - processor,
        first=first,
        question_milliseconds=1000 * statistics.median(each),
        peak_megabytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        installed_megabytes=installed(runtime),
    )


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def installed(runtime: str) -> float:
    """MB of the distributions that a runtime needs beyond NumPy and tokenizers."""
    needed = closure(PACKAGES[runtime]) - closure(("numpy", "tokenizers"))
    files = [file for name in needed for file in metadata.files(name) or ()]
    paths = [Path(str(file.locate())) for file in files]
    return sum(path.stat().st_size for path in paths if path.exists()) / 1e6


def closure(names: Sequence[str]) -> set[str]:
    """The installed distributions reached by declared dependencies, without extras."""
    from packaging.requirements import Requirement

    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop().lower().replace("_", "-")
        if name in found or not any(True for _ in metadata.distributions(name=name)):
            continue
        found.add(name)
        requirements = [Requirement(line) for line in metadata.requires(name) or ()]
        waiting += [one.name for one in requirements if one.marker is None or one.marker.evaluate({"extra": ""})]
    return found


def run_one(runtime: str, python: str, arguments: argparse.Namespace, folder: Path) -> Figures | None:
    """Measure a runtime in a separate process; None if it is not installed there."""
    from hoptrail.models.minilm import packaged_folder

    module = runtime.replace("-", "_")
    if subprocess.run(
        [python, "-c", f"import importlib.util as u; exit(not u.find_spec('{module}'))"], check=False
    ).returncode:
        return None
    command = [python, str(Path(__file__)), "--worker", runtime, "--vectors", str(folder / f"{runtime}.npy")]
    command += ["--passages", str(arguments.passages), "--corpus", str(arguments.corpus)]
    command += ["--model", str(packaged_folder())]
    started = time.time()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    figures = json.loads(done.stdout)
    return Figures(**(figures | {"first": figures["first"] - started}))


def read_passages(corpus: Path, number: int) -> list[str]:
    with corpus.open(encoding="utf-8") as lines:
        records = [json.loads(line) for _, line in zip(range(number), lines, strict=False)]
    return [f"{record['title']}\n{record['text']}" for record in records]


def show(results: dict[str, Figures], folder: Path) -> None:
    reference = "sentence-transformers" if "sentence-transformers" in results else next(iter(results))
    expected = np.load(folder / f"{reference}.npy")
    print(
        "| runtime | passages/s | CPU s | first vector s | question ms | peak MB | installed MB | largest difference |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for name, one in results.items():
        difference = np.abs(np.load(folder / f"{name}.npy") - expected).max()
        print(
            f"| {name} | {one.passages_per_second:.1f} | {one.cpu_seconds:.1f} | {one.first:.2f} | "
            f"{one.question_milliseconds:.1f} | {one.peak_megabytes:.0f} | {one.installed_megabytes:.0f} | {difference:.1e} |"
        )
    print(f"\nDifferences are from {reference}.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentence-transformers", metavar="PYTHON", default=sys.executable)
    parser.add_argument("--passages", type=int, default=2000)
    parser.add_argument("--runtimes", default=",".join(OPENERS))
    parser.add_argument("--corpus", type=Path, default=CORPUS)
    for internal in ("--worker", "--vectors", "--model"):
        parser.add_argument(internal, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if not arguments.corpus.exists():
        sys.exit(f"there are no passages at {arguments.corpus}: name a corpus.jsonl with --corpus")
    if arguments.worker:
        passages = read_passages(arguments.corpus, arguments.passages)
        print(json.dumps(asdict(measure(arguments.worker, passages, Path(arguments.vectors)))))
        return
    with tempfile.TemporaryDirectory() as folder:
        results: dict[str, Figures] = {}
        for runtime in arguments.runtimes.split(","):
            python = arguments.sentence_transformers if runtime == "sentence-transformers" else sys.executable
            figures = run_one(runtime, python, arguments, Path(folder))
            if figures is None:
                print(f"{runtime} is not installed for {python}: left out", file=sys.stderr)
            else:
                results[runtime] = figures
        show(results, Path(folder))


if __name__ == "__main__":
    main()
