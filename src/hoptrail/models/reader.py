"""The trained reader: which words of a text answer a question, what it says to a yes/no question, whether it helps.

    [CLS] question [SEP] (what was read before [SEP]) text [SEP]

One trunk, that of the encoder that ships, and three heads on it: start and end of the answer (both at [CLS] where the text
does not answer), the verdict on a yes/no question or a claim, and whether the text brings the answer nearer. Word embeddings
and tokeniser are the encoder's; the rest is trained by `training/`, and will be a package, hoptrail-reader, of its own. Texts
are cut at 512 word pieces. Knows nothing of hops, of evidence, or of how sure an answer must be: its probabilities are not
calibrated.

Devlin et al. 2019 (BERT), sections 4.2 and 4.3, for span and absence of an answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hoptrail.errors import ModelUnavailable
from hoptrail.models.bert import BertSizes, Inputs, trunk
from hoptrail.models.encoder import FloatMatrix
from hoptrail.models.folder import read_folder
from hoptrail.models.minilm import packaged_folder
from hoptrail.models.onnx_runtime import OnnxOperations, open_session
from hoptrail.models.text import whole_text
from hoptrail.models.weights import Weights, read_weights

_PACKAGE = "hoptrail_reader"
_WORDS = "embeddings.word_embeddings.weight"
_SCALE = ".scale"
_BATCH = 2048  # word pieces with padding
_LONGEST = 512  # word pieces, as many as the trunk has positions
_LONGEST_QUESTION, _LONGEST_BEFORE = 64, 96
_LONGEST_ANSWER = 30
_CLS, _SEP = 101, 102


@dataclass(frozen=True, slots=True)
class ToRead:
    """A question, a text, and what was read for that question before."""

    question: str
    text: str
    before: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text says to a question.

    `start` and `end` bound the likeliest answer within the text, without surrogates, and `answered` is the probability that it
    answers at all. `yes`, `no` and `neither` add up to 1 and mean nothing where neither yes nor no would answer. `helps` is
    the probability that the text brings the answer nearer.
    """

    start: int
    end: int
    answered: float
    yes: float
    no: float
    neither: float
    helps: float


@dataclass(frozen=True, slots=True)
class _Pieces:
    """Word pieces of question and text; `offsets` say where the text's pieces stand, the first of them at `text_at`."""

    index: int
    ids: list[int]
    text_at: int
    offsets: list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class _Heads:
    """Logits of a batch: shapes (texts, length, 2), (texts, 3) and (texts, 1)."""

    span: FloatMatrix
    verdict: FloatMatrix
    helps: FloatMatrix


class Reader:
    """Reads texts. `read` may be called from several threads at once.

    Raises:
        ModelUnavailable: the weights are missing, unusable, or made on another encoder.
    """

    def __init__(self, folder: Path | None = None, threads: int = 1) -> None:
        from tokenizers import Tokenizer

        model = read_folder(packaged_folder())
        weights = {**read_reader_weights(folder or reader_folder()), _WORDS: read_weights(model.weights)[_WORDS]}
        self._tokenizer = Tokenizer.from_file(str(model.tokenizer))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        try:
            self._graph = _Graph(weights, model.sizes, threads)
        except (KeyError, ValueError) as error:
            raise ModelUnavailable(f"the reader's weights do not fit the encoder: {error}") from error

    def read(self, pairs: Sequence[ToRead]) -> list[Reading]:
        """A reading of each, in their order."""
        readings: dict[int, Reading] = {}
        for batch in self._batches(pairs):
            heads = self._graph.run(*_padded(batch))
            for row, pieces in enumerate(batch):
                readings[pieces.index] = _reading(
                    pieces, heads.span[row], heads.verdict[row], float(heads.helps[row, 0])
                )
        return [readings[index] for index in range(len(pairs))]

    def _batches(self, pairs: Sequence[ToRead]) -> Iterator[list[_Pieces]]:
        """Batches of pairs of similar length, so that little is padded."""
        waiting: list[_Pieces] = []
        for pieces in sorted(self._encode(pairs), key=lambda pieces: len(pieces.ids)):
            if waiting and (len(waiting) + 1) * len(pieces.ids) > _BATCH:
                yield waiting
                waiting = []
            waiting.append(pieces)
        if waiting:
            yield waiting

    def _encode(self, pairs: Sequence[ToRead]) -> Iterator[_Pieces]:
        questions, befores, texts = (
            self._tokenizer.encode_batch([whole_text(part) for part in parts], add_special_tokens=False)
            for parts in (
                [pair.question for pair in pairs],
                [pair.before for pair in pairs],
                [pair.text for pair in pairs],
            )
        )
        for index, (question, before, text) in enumerate(zip(questions, befores, texts, strict=True)):
            ids = [_CLS, *question.ids[:_LONGEST_QUESTION], _SEP]
            if before.ids:
                ids += [*before.ids[:_LONGEST_BEFORE], _SEP]
            room = _LONGEST - len(ids) - 1
            yield _Pieces(index, [*ids, *text.ids[:room], _SEP], len(ids), text.offsets[:room])


class _Graph:
    """The loaded network."""

    def __init__(self, weights: Weights, sizes: BertSizes, threads: int) -> None:
        do = OnnxOperations()
        hidden = trunk(do, weights, sizes, Inputs("pieces", "positions", "mask", "segments"))
        first = do.first_places(hidden)

        def head(tensor: str, name: str) -> str:
            product = do.matmul(tensor, do.constant(weights[f"{name}.weight"].T))
            return do.add(product, do.constant(weights[f"{name}.bias"]))

        shapes: dict[str, Sequence[str | int]] = {
            head(hidden, "span"): ("texts", "length", 2),
            head(first, "verdict"): ("texts", 3),
            head(first, "helps"): ("texts", 1),
        }
        self._outputs = list(shapes)
        self._large = do.large  # the session reads them where they are, so they must outlive it
        self._session = open_session(do.model(shapes, segments=True), self._large, threads)

    def run(self, pieces: NDArray[np.int64], segments: NDArray[np.int64], mask: FloatMatrix) -> _Heads:
        places = np.arange(pieces.shape[1])
        given = {"pieces": pieces, "positions": places, "mask": mask, "segments": segments}
        return _Heads(*self._session.run(self._outputs, given))


def reader_folder() -> Path:
    """The folder of the installed package hoptrail-reader, found without importing it.

    Raises:
        ModelUnavailable: the package is not installed.
    """
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ModelUnavailable(
            "the reader's weights are not installed, and none are published yet: training/README.md says how to make them"
        )
    return Path(next(iter(spec.submodule_search_locations)))


def read_reader_weights(folder: Path) -> dict[str, NDArray[np.float32]]:
    """The tensors of `weights.npz` in `folder`: whole numbers of eight bits are multiplied by the scale of their row.

    Raises:
        ModelUnavailable: the file cannot be read.
    """
    path = folder / "weights.npz"
    try:
        with np.load(path, allow_pickle=False) as file:
            stored: dict[str, NDArray[Any]] = dict(file)
    except (OSError, ValueError) as error:
        raise ModelUnavailable(f"the reader's weights {path} cannot be read: {error}") from error
    return {
        name: values.astype(np.float32) * stored.get(name + _SCALE, np.float32(1))
        for name, values in stored.items()
        if not name.endswith(_SCALE)
    }


def _padded(batch: Sequence[_Pieces]) -> tuple[NDArray[np.int64], NDArray[np.int64], FloatMatrix]:
    shape = (len(batch), max(len(pieces.ids) for pieces in batch))
    ids, segments, mask = np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.float32)
    for row, pieces in enumerate(batch):
        ids[row, : len(pieces.ids)] = pieces.ids
        segments[row, pieces.text_at : len(pieces.ids)] = 1
        mask[row, : len(pieces.ids)] = 1.0
    return ids, segments, mask


def _reading(pieces: _Pieces, span: FloatMatrix, verdict: FloatMatrix, helps: float) -> Reading:
    shares = np.exp(verdict - verdict.max())
    yes, no, neither = (float(share) for share in shares / shares.sum())
    start, end, margin = _best_span(pieces, span)
    return Reading(start, end, _logistic(margin), yes, no, neither, _logistic(helps))


def _best_span(pieces: _Pieces, span: FloatMatrix) -> tuple[int, int, float]:
    """Where the likeliest answer stands in the text, and by how much its logits exceed those of no answer."""
    if not pieces.offsets:
        return 0, 0, -np.inf
    logits = span[pieces.text_at : pieces.text_at + len(pieces.offsets)]
    together = logits[:, None, 0] + logits[None, :, 1]
    possible = np.triu(np.ones_like(together, np.bool_)) & ~np.triu(np.ones_like(together, np.bool_), _LONGEST_ANSWER)
    first, last = divmod(int(np.argmax(np.where(possible, together, -np.inf))), len(logits))
    margin = float(together[first, last] - span[0].sum())
    return pieces.offsets[first][0], pieces.offsets[last][1], margin


def _logistic(value: float) -> float:
    return float(1 / (1 + np.exp(-np.clip(value, -60, 60))))
