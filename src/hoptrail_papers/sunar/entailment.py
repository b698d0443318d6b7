"""Deciding whether one statement follows from another, by a classifier for natural language inference (NLI).

The package sentence-transformers runs the model; `id2label` of its config.json says what its outputs mean. No such model ships
with hoptrail; one in this machine's cache of models is found (`installed_entailment`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from hoptrail.errors import ModelUnavailable
from hoptrail.models.encoder import FloatMatrix
from hoptrail.models.extras import loaded, optional_package
from hoptrail.models.prompt_text import whole_text

Pair = tuple[str, str]
"""A premise and a hypothesis."""

ENTAILMENT = "entailment"

INSTALLED = ("FacebookAI/roberta-large-mnli", "roberta-large-mnli")
"""SUNAR's classifier, under both of its names."""
_WEIGHTS = ("model.safetensors", "pytorch_model.bin")


def installed_entailment(cache: Path | None = None) -> Path | None:
    """The folder of a classifier in the cache of models (default: Hugging Face's) that can be opened without a network; None
    where there is none.
    """
    from huggingface_hub import try_to_load_from_cache

    for name in INSTALLED:
        config = try_to_load_from_cache(name, "config.json", cache_dir=cache)
        folder = Path(config).parent if isinstance(config, str) else None
        if folder and find_spec("sentence_transformers") and any((folder / weights).is_file() for weights in _WEIGHTS):
            return folder
    return None


class EntailmentModel:
    """A classifier, given by folder or name; a name may be downloaded.
    Raises: ModelUnavailable: the package is missing, the model cannot be loaded, or has no label `entailment`.
    """

    def __init__(self, name: str) -> None:
        package = optional_package("sentence_transformers", "sentence-transformers")
        self._model = loaded(package.CrossEncoder, name)
        self._entailment = _entailment_of(self._model.config.id2label, name)

    def entails(self, pairs: Sequence[Pair]) -> list[bool]:
        """Whether `entailment` is the most probable label of each pair."""
        if not pairs:
            return []
        texts = [(whole_text(one), whole_text(other)) for one, other in pairs]
        logits: FloatMatrix = np.asarray(self._model.predict(texts, show_progress_bar=False))
        return [place == self._entailment for place in np.argmax(logits, axis=1).tolist()]


def _entailment_of(labels: Any, name: str) -> int:
    """The position of `entailment` among the outputs; `labels` is the model's `id2label`."""
    names = labels if isinstance(labels, Mapping) else {}
    places = [int(place) for place, label in names.items() if str(label).lower() == ENTAILMENT]
    if len(places) != 1 or len(names) < 2:
        raise ModelUnavailable(
            f"the model {name} has the labels {', '.join(map(str, names.values())) or 'of no id2label'}, of which not exactly "
            f"one is {ENTAILMENT}: name a model that was trained for natural language inference"
        )
    return places[0]
