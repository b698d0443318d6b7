"""RAPTOR's clustering (Sarthi et al. 2024, section 3), made to hold at small sizes: UMAP, then Gaussian mixtures by BIC.

Vectors are reduced for all rows and grouped; then each group's vectors are reduced and grouped on their own. Different from the
published code: seeded; double precision (single made covariances ill-defined); the number of groups of one mixture is at most
half its rows; a mixture that cannot be fitted is tried again with more added to its variances; a row that no group takes goes
to the likeliest; rows are followed by number, not by comparing vectors. UMAP compiles itself in every new process, for half a
minute of CPU time.
"""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from hoptrail.corpus.columns import Places
from hoptrail.errors import UsageError
from hoptrail.models.encoder import FloatMatrix

DIMENSIONS = 10
"""Of the reduced vectors; this many rows and one more are one group, unseen."""
COMPONENTS = 49
"""The most groups of one mixture."""
RESPONSIBILITY = 0.1
"""A row is in every group that takes more than this share of the responsibility for it."""

_LOCAL_NEIGHBOURS = 10
_ADDED_VARIANCES = (1e-6, 1e-4, 1e-2, 1.0)
"""Tried in turn until every mixture can be fitted; the first is scikit-learn's own."""


def require_packages() -> None:
    """Check that the packages of the extra are there, without importing them. Raises: UsageError: one is not."""
    missing = [name for name in ("umap", "sklearn") if find_spec(name) is None]
    if missing:
        raise UsageError(
            f"clustering by raptor needs packages that are not installed ({', '.join(missing)}); install them with "
            "`pip install hoptrail[raptor]`, or use the method leiden"
        )


def raptor_groups(vectors: FloatMatrix) -> list[Places]:
    """See `Method`. One group of hardly more rows than reduced dimensions. Raises: UsageError: no mixture can be fitted."""
    groups = _mixed(vectors, isqrt(max(0, len(vectors) - 1)))
    return [group[part] for group in groups for part in _mixed(vectors[group], _LOCAL_NEIGHBOURS)]


def _mixed(vectors: FloatMatrix, neighbours: int) -> list[Places]:
    if len(vectors) <= DIMENSIONS + 1:
        return [np.arange(len(vectors))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImportWarning)  # that its neural variant is not there
        from umap import UMAP

    near = max(2, min(neighbours, len(vectors) - 1))
    reducer = UMAP(near, n_components=DIMENSIONS, metric="cosine", random_state=0, n_jobs=1)
    shares = responsibilities(reducer.fit_transform(vectors).astype(np.float64))
    taken = shares > RESPONSIBILITY
    taken[np.arange(len(shares)), shares.argmax(axis=1)] = True
    return [np.flatnonzero(column) for column in taken.T if column.any()]


def responsibilities(reduced: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shape (rows, groups): of the mixture with the least BIC. Raises: UsageError: no mixture can be fitted."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    most = min(COMPONENTS, len(reduced) // 2)
    reason = ""
    for added in _ADDED_VARIANCES:
        mixtures = [GaussianMixture(count, random_state=0, reg_covar=added) for count in range(1, most + 1)]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "ignore", ConvergenceWarning
                )  # an unfinished fit has a worse BIC, and loses by it
                fitted = [mixture.fit(reduced) for mixture in mixtures]
        except ValueError as error:  # scikit-learn's word for a covariance that is not one
            reason = str(error)
            continue
        shares: NDArray[np.float64] = min(fitted, key=lambda mixture: mixture.bic(reduced)).predict_proba(reduced)
        return shares
    raise UsageError(
        f"clustering by raptor: no mixture fits these {len(reduced)} rows ({reason}); use the method leiden"
    )
