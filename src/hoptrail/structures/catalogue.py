"""The structures by name, in the order they are built: the one table that a new structure is entered in."""

from __future__ import annotations

from hoptrail.documents.splitting import PassageLimits
from hoptrail.structures.building import Structure
from hoptrail.structures.passages import Passages


def structures_by_name(limits: PassageLimits) -> dict[str, Structure]:
    """Every structure there is, with its settings; each stands after those it is built from."""
    structures: list[Structure] = [Passages(limits)]
    return {structure.name: structure for structure in structures}
