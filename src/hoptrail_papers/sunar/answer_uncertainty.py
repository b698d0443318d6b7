"""Answer semantic uncertainty: penalise a batch of evidence by how much the answers sampled from it differ in meaning.

SUNAR, section "LLM feedback for Neighborhood Aware Retrieval" (ASU): sample several answers from one prompt with the whole batch,
group them into sets of one meaning (Kuhn et al. 2023), and divide the batch's scores by the number of sets. One penalty for a
batch reorders batches, never documents within one.

Answers are compared, not rationales. Knows nothing of rankings, budgets or where evidence comes from.

The package sentence-transformers runs classifiers for natural language inference (NLI), which decide whether one statement
follows from another; `id2label` of its config.json says what its outputs mean. No such model ships
with hoptrail; one in this machine's cache of models is found (`installed_entailment`).
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np

from hoptrail.errors import ModelUnavailable
from hoptrail.language.listener import Meter
from hoptrail.language.tasks import Abstain, Equate, Sample
from hoptrail.models.encoder import FloatMatrix
from hoptrail.models.encoder_factory import loaded, optional_package
from hoptrail.models.prompt_text import whole_text
from hoptrail.setting_limits import AtLeast1, check_limits
from hoptrail.text.mentions import Shape, figure_shape
from hoptrail.text.normal_forms import same_words
from hoptrail.text.values import read_date, read_number
from hoptrail.types import Unit

Pair = tuple[str, str]  # a premise and a hypothesis

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


Same = Callable[[str, str], bool]  # whether two answers mean the same

_log = logging.getLogger(__name__)

ABSTENTION = ""
"""Stands for an abstention among answers: no answer is empty."""

EQUIVALENCES = ("rules", "installed", "string", "meaning")
"""All values of `equivalence` but `nli:MODEL`."""


@dataclass(frozen=True, slots=True)
class UncertaintySettings:
    """`samples` answers are drawn from a batch (m). A model is told not to abstain; rules do. With `abstentions` each abstention
    has a meaning of its own, else it counts only where nothing else was drawn: a batch that says nothing is the least certain.

    `equivalence` without a language: `rules`, the same words or the same date or number; `nli:MODEL`, entailment both ways by a
    classifier (the paper); `installed`, the paper's classifier if it is in this machine's cache of
    models, else rules (logged); `string`, equal but for case and articles. Judged by the language: `meaning`, one task a pair.

    `penalty`: the number of `sets` of one meaning, or half the number of pairs that differ, at least half of 1 (`reference`, the
    released code, which so doubles a score without dissent).
    """

    samples: AtLeast1 = 10
    equivalence: str = "string"
    penalty: Literal["sets", "reference"] = "sets"
    abstentions: bool = False

    def __post_init__(self) -> None:
        check_limits(self)
        if self.equivalence not in EQUIVALENCES and not self.entailment_model:
            raise ValueError(f"equivalence is {', '.join(EQUIVALENCES)} or nli:MODEL, not {self.equivalence!r}")

    @property
    def entailment_model(self) -> str:
        """MODEL where equivalence is `nli:MODEL`, else empty."""
        kind, _, model = self.equivalence.partition(":")
        return model if kind == "nli" else ""


@dataclass(frozen=True)
class Uncertainty:
    """Penalties on evidence for one question. Only `nli:MODEL` and `installed` need `open_classifier`."""

    question: str
    meter: Meter
    settings: UncertaintySettings
    open_classifier: Callable[[str], EntailmentModel] = EntailmentModel

    def penalties(self, evidence: Sequence[Unit]) -> list[float]:
        """For each unit of a batch (best first), the divisor of its score.
        Raises: TaskFailed: from the language. ModelUnavailable: the model of `nli:MODEL` cannot be opened or run.
        """
        if not evidence:
            return []
        sample = Sample(self.question, tuple(evidence), self.settings.samples, Abstain.NEVER)
        drawn = self.meter.perform(sample).answers
        abstentions = self.settings.abstentions or not any(drawn)
        counted: list[str] = []  # each in the wording of the first one with the same words
        for answer in (answer or ABSTENTION for answer in drawn if answer or abstentions):
            counted.append(next((before for before in counted if same_words(before, answer)), answer))
        same = self._same()
        if self.settings.penalty == "reference":
            return [reference_penalty(counted, same)] * len(evidence)
        return [float(max(1, len(semantic_sets(counted, same))))] * len(evidence)

    def _same(self) -> Same:
        """Compare each pair at most once, equal answers without judging. An abstention equals nothing."""
        judge = cache(self._judge())

        def same(one: str, other: str) -> bool:
            return ABSTENTION not in (one, other) and (one == other or judge(min(one, other), max(one, other)))

        return same

    def _judge(self) -> Same:
        match self.settings.equivalence:
            case "rules":
                return _same_by_rules
            case "installed":
                folder = installed_classifier()
                return self._entails_both_ways(str(folder)) if folder else _same_by_rules
            case "string":
                return same_words
            case "meaning":
                return lambda one, other: self.meter.perform(Equate(self.question, one, other))
            case _:
                return self._entails_both_ways(self.settings.entailment_model)

    def _entails_both_ways(self, model: str) -> Same:
        classifier = self.open_classifier(model)

        def same(one: str, other: str) -> bool:
            """Compares both directions, each answer behind the question, as the paper does."""
            first, second = f"{self.question} {one}", f"{self.question} {other}"
            return all(classifier.entails([(first, second), (second, first)]))

        return same


@cache
def installed_classifier() -> Path | None:
    """The folder of the paper's classifier, if it is on this machine. Looked up and logged once."""
    folder = installed_entailment()
    if folder is None:
        _log.warning(
            "answers are compared by rules, because no entailment classifier is installed. Put %s into the cache of models, or "
            'name one: equivalence = "nli:MODEL" under [recipes.sunar.uncertainty].',
            INSTALLED[0],
        )
    else:
        _log.info("answers are compared by the entailment classifier in %s", folder)
    return folder


def _same_by_rules(one: str, other: str) -> bool:
    """Whether two answers have the same words, or are the same date or number."""
    shapes = figure_shape(one), figure_shape(other)
    if shapes == (Shape.DATE, Shape.DATE):
        return read_date(one) == read_date(other)
    if shapes == (Shape.NUMBER, Shape.NUMBER):
        return read_number(one) == read_number(other)
    return same_words(one, other)


def semantic_sets(answers: Sequence[str], same: Same) -> list[list[str]]:
    """Group answers into sets of one meaning, in order: an answer joins the first set whose first member means the same."""
    sets: list[list[str]] = []
    for answer in answers:
        home = next((members for members in sets if same(members[0], answer)), None)
        if home is None:
            sets.append([answer])
        else:
            home.append(answer)
    return sets


def reference_penalty(answers: Sequence[str], same: Same) -> float:
    """Half the number of pairs of answers that differ, at least 1/2."""
    differing = sum(not same(one, other) for one, other in itertools.combinations(answers, 2))
    return max(1, differing) / 2
