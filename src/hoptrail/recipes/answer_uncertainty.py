"""Answer semantic uncertainty: how far answers drawn from a batch of evidence differ in meaning, as a penalty on its scores.

SUNAR, section "LLM feedback for Neighborhood Aware Retrieval" (ASU): several answers are sampled from one prompt with the whole
batch, put into sets of one meaning (Kuhn et al. 2023), and the batch's scores are divided by the number of sets. As one penalty
holds for a batch, it moves batches, never documents within one; the other granularities, which the paper has not, do.

Answers are compared, not rationales. Knows nothing of rankings, budgets or where evidence comes from.
"""

from __future__ import annotations

import itertools
import logging
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from hoptrail.language.meter import Meter
from hoptrail.language.tasks import Entail, Equate, Relation, Sample
from hoptrail.models.encoder import Encoder
from hoptrail.models.entailment import INSTALLED, EntailmentModel, Pair, installed_entailment, open_entailment
from hoptrail.text.mentions import Shape, figure_shape
from hoptrail.text.normal_forms import same_words
from hoptrail.text.values import read_date, read_number
from hoptrail.types import Unit

Same = Callable[[str, str], bool]
"""Whether two answers mean the same."""

_log = logging.getLogger(__name__)

ABSTENTION = ""
"""What an abstention counts as, where it counts: no answer is empty."""


EQUIVALENCES = ("rules", "installed", "string", "embedding", "meaning", "entailment", "not-contradicted")
"""Those that have a name of their own."""


@dataclass(frozen=True, slots=True)
class UncertaintySettings:
    """`samples` answers are drawn from a batch (m).

    `equivalence`, here: by `rules`, the same words or the same date or number; `nli:MODEL`, entailment both ways by a
    classifier (the paper; `models/entailment.py`); `installed`, by the paper's where it is in this machine's cache of models,
    else by rules, which the log says; equal `string`s but for case and articles; or `embedding`s at least as near
    as `likeness`. As the language judges: the same `meaning`, a task a pair, or, up to two tasks a pair, `entailment` both ways
    or `not-contradicted` either way (the released code). An answer joins the first set whose first member means
    the same (`first`), or all sets that it links become one (`linked`): entailment is not transitive. `penalty`: the number of
    `sets`, their `effective` number (the exponential of their entropy, milder where one answer prevails), or half the number
    of pairs that differ, at least 1 (`reference`, the released code, which so doubles a score without dissent). An abstention is
    an answer like others only with `abstentions`. `granularity`: one penalty a `batch`; for each document what it adds to
    the sets of its batch (`leave-one-out`); or for each alone (`document`).
    """

    samples: int = 10
    equivalence: str = "string"
    likeness: float = 0.85
    sets: Literal["first", "linked"] = "first"
    penalty: Literal["sets", "effective", "reference"] = "sets"
    abstentions: bool = False
    granularity: Literal["batch", "leave-one-out", "document"] = "batch"

    def __post_init__(self) -> None:
        if self.samples < 1 or not -1 <= self.likeness <= 1:
            raise ValueError("samples are at least 1, and likeness lies between -1 and 1")
        if self.equivalence not in EQUIVALENCES and not self.entailment_model:
            raise ValueError(f"equivalence is {', '.join(EQUIVALENCES)} or nli:MODEL, not {self.equivalence!r}")

    @property
    def entailment_model(self) -> str:
        """MODEL where equivalence is `nli:MODEL`, else empty."""
        kind, _, model = self.equivalence.partition(":")
        return model if kind == "nli" else ""


@dataclass(frozen=True)
class Uncertainty:
    """Penalties on evidence for one question. `open_encoder` serves the equivalence by embedding alone, `open_classifier` that
    by `nli:MODEL`.
    """

    question: str
    meter: Meter
    settings: UncertaintySettings
    open_encoder: Callable[[], Encoder]
    open_classifier: Callable[[str], EntailmentModel] = open_entailment

    def penalties(self, evidence: Sequence[Unit]) -> list[float]:
        """What to divide the score of each unit of a batch (best first) by.

        Raises:
            TaskFailed: as the language raised it.
            ModelUnavailable: the model of `nli:MODEL` cannot be opened, or does not compute.
        """
        if not evidence:
            return []
        match self.settings.granularity:
            case "batch":
                return [self._of(evidence)] * len(evidence)
            case "document":
                return [self._of([unit]) for unit in evidence]
            case "leave-one-out":
                whole = self._of(evidence)
                without = [self._of([*evidence[:at], *evidence[at + 1 :]]) for at in range(len(evidence))]
                return [max(1.0, 1.0 + whole - rest) for rest in without]

    def _of(self, evidence: Sequence[Unit]) -> float:
        if not evidence:
            return 1.0
        drawn = self.meter.perform(Sample(self.question, tuple(evidence), self.settings.samples)).answers
        counted = _alike([answer or ABSTENTION for answer in drawn if answer or self.settings.abstentions])
        same = self._same(counted)
        if self.settings.penalty == "reference":
            return reference_penalty(counted, same)
        sets = semantic_sets(counted, same, linked=self.settings.sets == "linked")
        return effective_number(sets) if self.settings.penalty == "effective" else float(max(1, len(sets)))

    def _same(self, answers: Sequence[str]) -> Same:
        """Pairs are judged once, and equal answers not at all; an abstention means the same as an abstention only."""
        judge = self._judge(answers)
        known: dict[tuple[str, str], bool] = {}

        def same(one: str, other: str) -> bool:
            if one == other or ABSTENTION in (one, other):
                return one == other
            pair = (min(one, other), max(one, other))
            if pair not in known:
                known[pair] = judge(*pair)
            return known[pair]

        return same

    def _judge(self, answers: Sequence[str]) -> Same:
        match self.settings.equivalence:
            case "rules":
                return _same_by_rules
            case "installed":
                folder = found_classifier()
                return self._entails_both_ways(str(folder)) if folder else _same_by_rules
            case "string":
                return same_words
            case "embedding":
                texts = sorted(set(answers))
                vectors = dict(zip(texts, self.open_encoder().encode(texts), strict=True)) if texts else {}
                return lambda one, other: float(vectors[one] @ vectors[other]) >= self.settings.likeness
            case "meaning":
                return lambda one, other: self.meter.perform(Equate(self.question, one, other))
            case "entailment":
                return lambda one, other: all(it is Relation.ENTAILMENT for it in self._relations(one, other))
            case "not-contradicted":
                return lambda one, other: all(it is not Relation.CONTRADICTION for it in self._relations(one, other))
            case _:
                return self._entails_both_ways(self.settings.entailment_model)

    def _entails_both_ways(self, model: str) -> Same:
        classifier = self.open_classifier(model)
        return lambda one, other: all(classifier.entails(self._statements(one, other)))

    def _relations(self, one: str, other: str) -> Iterator[Relation]:
        """Both ways, the second only when it is asked for."""
        yield self.meter.perform(Entail(self.question, one, other))
        yield self.meter.perform(Entail(self.question, other, one))

    def _statements(self, one: str, other: str) -> list[Pair]:
        """Both ways, each answer behind the question, as the paper compares them."""
        first, second = f"{self.question} {one}", f"{self.question} {other}"
        return [(first, second), (second, first)]


@cache
def found_classifier() -> Path | None:
    """The paper's classifier, if it is on this machine. Looked for, and logged, once."""
    folder = installed_entailment()
    if folder is None:
        _log.warning(
            "which answers mean the same is told by rules: no classifier of entailment is installed. Put %s into the cache of "
            'models, or name one: equivalence = "nli:MODEL" under [recipes.sunar.uncertainty].',
            INSTALLED[0],
        )
    else:
        _log.info("which answers mean the same is told by the classifier in %s", folder)
    return folder


def _same_by_rules(one: str, other: str) -> bool:
    """The same words, or the same date or number in other ones."""
    shapes = figure_shape(one), figure_shape(other)
    if shapes == (Shape.DATE, Shape.DATE):
        return read_date(one) == read_date(other)
    if shapes == (Shape.NUMBER, Shape.NUMBER):
        return read_number(one) == read_number(other)
    return same_words(one, other)


def semantic_sets(answers: Sequence[str], same: Same, *, linked: bool = False) -> list[list[str]]:
    """Answers in sets of one meaning, in order of appearance.

    An answer joins the first set whose first member means the same; with `linked` it joins, and so unites, all sets in
    which any member does.
    """
    sets: list[list[str]] = []
    for answer in answers:
        if linked:
            apart = [members for members in sets if not any(same(member, answer) for member in members)]
            united = [member for members in sets if members not in apart for member in members]
            sets = [*apart, [*united, answer]]
            continue
        home = next((members for members in sets if same(members[0], answer)), None)
        if home is None:
            sets.append([answer])
        else:
            home.append(answer)
    return sets


def _alike(answers: Sequence[str]) -> list[str]:
    """Answers with those of the same words worded as the first of them."""
    worded: list[str] = []
    for answer in answers:
        worded.append(next((before for before in worded if same_words(before, answer)), answer))
    return worded


def effective_number(sets: Sequence[Sequence[str]]) -> float:
    """The number of equal sets that would be as uncertain: the exponential of the entropy of their shares; at least 1."""
    total = sum(map(len, sets))
    return math.exp(-sum(len(members) / total * math.log(len(members) / total) for members in sets)) if total else 1.0


def reference_penalty(answers: Sequence[str], same: Same) -> float:
    """Half the number of pairs of answers that differ, at least half of 1."""
    differing = sum(not same(one, other) for one, other in itertools.combinations(answers, 2))
    return max(1, differing) / 2
