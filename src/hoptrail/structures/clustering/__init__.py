"""Soft clustering of vectors: which units are summarised together. One file a method.

`leiden` (the default) cuts a graph of nearest neighbours into communities; `raptor` is the published recipe, UMAP and Gaussian
mixtures, and needs the extra of that name. `capping` holds for both. Knows nothing of texts, trees or where vectors are stored.
"""

from functools import partial

from hoptrail.structures.clustering.capping import Capped, Cluster, Groups
from hoptrail.structures.clustering.leiden import leiden_groups
from hoptrail.structures.clustering.raptor import Raptor, require_packages
from hoptrail.structures.clustering.settings import ClusteringSettings

__all__ = ["Cluster", "ClusteringSettings", "Groups", "open_clusterer"]


def open_clusterer(settings: ClusteringSettings) -> Cluster:
    """The clustering that the settings describe.
    Raises: UsageError: the method needs packages that are not installed; the message has the command that installs them.
    """
    if settings.method == "raptor":
        require_packages()
        return Capped(Raptor(settings).group, settings.most_words).cluster
    return Capped(partial(leiden_groups, settings), settings.most_words, settings.largest).cluster
