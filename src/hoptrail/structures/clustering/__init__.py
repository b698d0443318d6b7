"""Soft clustering of vectors: which units are summarised together. One file a method; this page is the door.

`leiden` (the default) cuts a graph of nearest neighbours into communities; `raptor` is the published recipe, UMAP and Gaussian
mixtures, and needs the extra of that name. Both are wrapped in `capping`, which holds for every method: equal vectors go
together, and no group is longer than the settings allow. Knows nothing of texts, trees or where vectors are stored. Not covered:
adding rows to groups that stand (clustering starts anew).
"""

from hoptrail.structures.clustering.capping import Capped, Cluster, Groups
from hoptrail.structures.clustering.leiden import Leiden
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
    return Capped(Leiden(settings).group, settings.most_words, settings.largest).cluster
