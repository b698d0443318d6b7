"""Compares two runs on the same questions: a randomisation test and a bootstrap interval of the difference of their means.

Values come in pairs, one per question. Both methods cover the choice of questions, not a model's variation between runs. Not
covered: unpaired samples, and several runs of one system on the same question.

Sources: Fisher's randomisation test as Smucker, Allan and Carterette (CIKM 2007) use it to compare rankings; the percentile
bootstrap of Efron and Tibshirani (1993, chapter 13); Holm (1979) for several tests at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hoptrail.errors import UsageError
from hoptrail.evaluation.answer_scores import ConfidenceInterval, mean_interval

ROUNDS = 10_000  # random changes of sign. A p of 0.05 then has a standard error of 0.002.
MOST_EXACT = 13
"""With up to this many differing pairs, all changes of sign are tried: there are at most 8,192, fewer than ROUNDS."""

_PORTION = 1 << 20  # numbers in memory at a time
_TIE = 1e-12  # relative tolerance for equal sums: the same numbers summed in another order may differ slightly


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """The mean of second minus first over `n` questions, its 95 % interval, and the p value of the randomisation test.

    `p` is two-sided, under the null hypothesis that the values of a pair are exchangeable between the runs.
    """

    mean: float
    interval: ConfidenceInterval
    p: float
    n: int


def paired_difference(first: Sequence[float], second: Sequence[float], *, seed: int) -> PairedDifference:
    """Compare two runs by their values on the same questions, in the same order.
    Raises: UsageError: there are no values, or their numbers differ.
    """
    if len(first) != len(second):
        raise UsageError(f"pairs are needed: there are {len(first)} values of one run and {len(second)} of the other")
    if not first:
        raise UsageError("two runs cannot be compared without a question that both have")
    differences = np.asarray(second, dtype=np.float64) - np.asarray(first, dtype=np.float64)
    return PairedDifference(
        float(differences.mean()),
        mean_interval(differences.tolist(), seed),
        randomisation_p(differences, seed),
        len(first),
    )


def randomisation_p(differences: Sequence[float] | NDArray[np.floating[Any]], seed: int) -> float:
    """The share of changes of sign under which the absolute mean is at least the observed one.

    With up to MOST_EXACT differences other than 0, all changes of sign are tried; otherwise ROUNDS random ones, with the observed
    one counted in addition, so that p is never 0.
    """
    values = np.asarray(differences, dtype=np.float64)
    values = values[values != 0]
    if not values.size:
        return 1.0
    size, exact = values.size, values.size <= MOST_EXACT
    if exact:
        changes = iter([(np.arange(2**size)[:, np.newaxis] >> np.arange(size)) & 1])
    else:
        generator, rows = np.random.default_rng(seed), max(1, _PORTION // size)
        changes = (generator.integers(0, 2, (min(rows, ROUNDS - start), size)) for start in range(0, ROUNDS, rows))
    observed = abs(values.sum()) - _TIE * np.abs(values).sum()
    extreme = sum(int((np.abs((1.0 - 2.0 * change) @ values) >= observed).sum()) for change in changes)
    return extreme / 2**size if exact else (extreme + 1) / (ROUNDS + 1)


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """The p values corrected by Holm's method, which controls the chance of any false finding among them all."""
    values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    corrected = np.empty_like(values)
    corrected[order] = np.maximum.accumulate(np.minimum(1.0, values[order] * np.arange(len(values), 0, -1)))
    return tuple(corrected.tolist())
