"""The small networks that ship, and what they learned from: the reader, the tagger of questions, the writer of follow-ups.

    [CLS] first text [SEP] further texts [SEP] ...

Each is a BERT with the tokeniser and the word embeddings of the encoder that ships; the rest is trained by `training/` and ships
as the package hoptrail_reader. Each sequence is its own batch, because rounding to eight bits depends on the batch.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hoptrail.errors import DataError, ModelUnavailable
from hoptrail.models.encoder import FloatMatrix
from hoptrail.models.local import WEIGHTS, WEIGHTS_SHA256, installed_folder, open_tokenizer, packaged_folder
from hoptrail.models.onnx_runtime import Session, Tensors, check_digest, in_eight_bits, kind_of_weights
from hoptrail.models.prompt_text import whole_text

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

CLS, SEP = 101, 102
"""The marks before a sequence and after each text."""
TRAINED = "trained.bin"
_PACKAGE = "hoptrail_reader"
READER, VALUE_READER = "weights.npz", "values.npz"
"""The weights of the reader, and of the same network where the value of one side of a comparison is asked for."""
_SCALE = ".scale"


class TrainedNetwork:
    """The network of a `graph` with weights of its `own` and the encoder's word embeddings. Thread-safe.
    Raises: ModelUnavailable: the weights are missing, unusable, or for another encoder.
    """

    def __init__(self, graph: str, own: Mapping[str, NDArray[np.float32]]) -> None:
        encoder = packaged_folder()
        # Where the numbers of the word embeddings begin is known for this file alone.
        check_digest(encoder / WEIGHTS, WEIGHTS_SHA256, "minilm")
        kind = kind_of_weights()
        products = in_eight_bits(own, kind)
        given = {name: values for name, values in own.items() if f"{name}.whole" not in products} | products
        self.tokenizer = whole_tokenizer()
        try:
            self._session = Session(f"{graph}-{kind}", 1, (encoder / WEIGHTS).resolve().parent, given)
        except ValueError as error:
            raise ModelUnavailable(f"the weights of {graph!r} do not fit: install hoptrail again ({error})") from error

    def encode(self, *texts: str) -> list[Encoding]:
        """The word pieces of texts, without marks."""
        return [self.tokenizer.encode(whole_text(text), add_special_tokens=False) for text in texts]

    def run(self, outputs: Sequence[str], ids: Sequence[int], second_from: int) -> list[FloatMatrix]:
        """These outputs for a sequence of word pieces, whose second segment begins at `second_from`."""
        places = np.arange(len(ids))
        given: Tensors = {
            "pieces": np.array([ids], np.int64),
            "positions": places,
            "mask": np.ones((1, len(ids)), np.float32),
            "segments": (places >= second_from).astype(np.int64)[np.newaxis],
        }
        return [values[0] for values in self._session.run(outputs, given)]


def whole_tokenizer() -> Tokenizer:
    """The encoder's tokeniser, without its length limit. Raises: ModelUnavailable: the encoder is not installed."""
    return open_tokenizer(packaged_folder() / "tokenizer.json")


def read_reader_weights(folder: Path, file_name: str = READER) -> dict[str, NDArray[np.float32]]:
    """The tensors of a file, stored as eight-bit integers with a scale per row. Raises: ModelUnavailable: it cannot be read."""
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


def reader_folder() -> Path:
    """The folder of the installed package hoptrail_reader. Raises: ModelUnavailable: the package is not installed."""
    if (folder := installed_folder(_PACKAGE)) is None:
        raise ModelUnavailable(
            "the reader's weights are not installed, though hoptrail's wheel has them: install hoptrail again (`pip install "
            ".` in its repository). Without them, `reader = false` under [offline] in the settings shows the closest statements"
        )
    return folder


def reader_version() -> str:
    """The first twelve digits of the SHA-256 of each of the weights that read; empty where none are installed."""
    try:
        manifest = json.loads((reader_folder() / "manifest.json").read_text(encoding="utf-8"))
    except (ModelUnavailable, OSError, ValueError):
        return ""
    return " ".join(manifest[f"{part}_sha256"][:12] for part in ("weights", "tagger", "values"))


def fingerprint(text: str) -> int:
    """64 bits of the SHA-256 of a text without case and runs of spaces: the same for the same words."""
    digest = hashlib.sha256(" ".join(text.lower().split()).encode()).digest()
    return int.from_bytes(digest[:8], "little")


_TELLING = 12  # characters that tell where a text or id is from: `17` may be any set's question, or anybody's message


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
            for candidate in (one for one in candidates if len(one) >= _TELLING):
                digest = np.uint64(fingerprint(candidate))
                if digest in self.fingerprints[np.searchsorted(self.fingerprints, digest) :][:1]:
                    said = f"the {kind} {candidate[:80]!r} was learned from"
                    raise DataError(f"{said}: measure with others, or remove it from training first")


def read_trained(path: Path) -> Trained:
    """The fingerprints in a file, little-endian numbers of eight bytes."""
    return Trained(np.frombuffer(path.read_bytes(), "<u8").astype(np.uint64))


def refuse_training_questions(ids: Iterable[str]) -> None:
    """Raises: DataError: the installed reader was trained on one of these questions. ModelUnavailable: there is none."""
    read_trained(reader_folder() / TRAINED).refuse(ids)
